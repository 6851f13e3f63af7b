# Written by `make client` from node/verbs/; change the declarations instead.
"""Records of the verbs ``session.*`` (docs/verbs.md)."""

from __future__ import annotations

import msgspec

from trailmesh.client.record import Record


class RecordedSession(Record, frozen=True, kw_only=True):
    """The recorded session."""

    id: str
    """A session id. It and the following fields are plain texts, because stored sessions are read without
    validation; `protocol.recording.records.bundle` validates them.
    """

    node: str
    """Node id of the recorder."""

    created_ms: int

    title: str

    start_url: str

    profile: Profile

    browser: BrowserInfo

    verdict: str

    steps: int

    duration_ms: int

    parent: str = ""
    """Id of the session from which this one was forked or replayed; for a later page of a live session, the session
    of its first page.
    """

    search: str = ""
    """Id of the search that found it."""

    secrets: tuple[str, ...] = ()
    """Names of the secrets that a replay needs."""

    caller: str = ""
    """Caller of the recording, as stated by the recorder: `owner`, `agent:NAME`, `schedule:ID`, or the node id of a
    peer. Empty if it is not stated.
    """

    reason: str = ""
    """The reason why the verdict is not `pass`: the first step that prevents it. Empty if the session passed."""

    inputs: tuple[Input, ...] = ()
    """Values that its steps use as `${name}` and that a replay can change, as recorded."""

    skipped: tuple[Skipped, ...] = ()
    """Steps of an imported recording that were left out, in order. If there are any, the verdict is not `pass`."""

    capsule: str = ""
    """Id of the capsule whose login the recording began with; empty for none."""

    login: UsedLogin | None = None
    """Facts about that capsule; missing without a capsule, and in sessions that were recorded before this field
    existed.
    """

    program: str = ""
    """Name and version of the program that recorded the session; empty in sessions that were recorded before this
    field existed.
    """

    blocked: tuple[str, ...]
    """Requests that the network guard refused meanwhile, each `METHOD /path`, with the site before the path if it
    differs from the page's site.
    """

    extracted: dict[str, str]
    """Values read by `extract` steps, by name."""

    doubts: tuple[str, ...] = ()
    """Steps that may compare nothing: an assertion that an element is absent which no earlier page has shown, or an
    extract that read no text. They do not change the verdict.
    """

    unguarded: tuple[str, ...] = ()
    """Requests that the network guard cannot see, because somebody else started the browser."""

    proposes: str = ""
    """A capsule for the site of a page that asked for a login; empty if no page did, or no such capsule exists."""

    needs: Needs | None = None
    """Everything that the file needs, if that was requested."""


class SessionList(Record, frozen=True, kw_only=True):
    """Sessions, newest first."""

    sessions: tuple[Session, ...]

    text: str
    """The text that was searched for."""

    archived: bool = False
    """True if these are the archived sessions."""

    names: dict[str, str] = msgspec.field(default_factory=dict)
    """Names of these nodes, by node id. This node is called `this node`."""


class ShownSession(Record, frozen=True, kw_only=True):
    """A session with everything that is known about it."""

    session: Session

    steps: tuple[Step, ...]

    described: tuple[str, ...]
    """Description of each step."""

    signed_by: str = ""
    """Node id of the signer; empty until the session is committed."""

    manifest: str = ""
    """SHA-256 of the signed manifest, hex."""

    standing: str = ""
    """Error code that says why its signer is no longer relied on; empty if it is relied on."""

    replayable: int = 0
    """Number of steps that a replay performs: those that succeeded in the recording."""

    reports: tuple[ReplayReport, ...] = ()

    unreached: dict[str, str] = msgspec.field(default_factory=dict)
    """Error codes of reports whose replay could not reach the site (`ReplayedSession.unreached`), by id of the
    report.
    """

    uncounted: dict[str, dict[str, tuple[int, ...]]] = msgspec.field(default_factory=dict)
    """As `ReplayedSession.uncounted`, by id of the report."""

    reports_refused: tuple[RefusedReport, ...] = ()
    """Stored reports that are no longer accepted."""

    personal: tuple[PersonalData, ...] = ()

    spoken_to: tuple[SpokenTo, ...] = ()

    failed: FailedPage | None = None
    """The page of the last failed step; None if no step failed, or no page was seen."""

    html: str = ""
    """Path of the HTML file, if one was written."""

    archived: bool = False
    """True if `session.list` leaves it out."""

    names: dict[str, str] = msgspec.field(default_factory=dict)
    """Names of these nodes, by node id. This node is called `this node`."""

    sends: tuple[ShownEffect, ...] = ()
    """Requests of its steps that change something."""

    sends_digest: str = ""
    """The digest of `sends`, with which `session.replay` is told to send them again; empty if there are none."""


class WasRemoved(Record, frozen=True, kw_only=True):
    """Result of ``session.show`` for a removed session."""

    removed: Remains

    names: dict[str, str] = msgspec.field(default_factory=dict)
    """Name of the recorder, by node id. This node is called `this node`."""


class SessionVerification(Record, frozen=True, kw_only=True):
    """Result of a successful verification. A failed verification is an error."""

    what: str

    id: str

    session: str

    signer: str
    """Node id of the signer."""

    signer_name: str

    issued_s: int

    manifest: str

    steps: int
    """Number of recorded steps; for a replay report, the number of steps that a replay performs."""

    matched: int = 0
    """Number of matched steps. Only for replay reports."""

    stopped_at: int = 0
    """Number of the step that the replay could not or must not perform; 0 if there was none. Only for replay
    reports.
    """

    text: dict[str, int] = msgspec.field(default_factory=dict)
    """Number of steps by text comparison: same, masked, numbers, differs. Only for replay reports."""

    verdict: str = "pass"

    reason: str = ""
    """The reason why the verdict is not `pass`."""

    level: str = ""
    """The level at which each step had to match. Only for replay reports."""

    origin: str = ""
    """Origin of the replay, if it differs from the recorded one."""

    unreached: str = ""
    """As `ReplayedSession.unreached`."""

    uncounted: dict[str, tuple[int, ...]] = msgspec.field(default_factory=dict)
    """As `ReplayedSession.uncounted`."""

    inputs: tuple[ChangedInput, ...] = ()
    """Inputs that the replay changed. Only for replay reports."""


class ExportedFile(Record, frozen=True, kw_only=True):
    """The exported file."""

    what: str

    id: str

    session: str

    signer: str
    """Node id of the signer."""

    signer_name: str

    issued_s: int

    manifest: str

    steps: int
    """Number of recorded steps; for a replay report, the number of steps that a replay performs."""

    matched: int = 0
    """Number of matched steps. Only for replay reports."""

    stopped_at: int = 0
    """Number of the step that the replay could not or must not perform; 0 if there was none. Only for replay
    reports.
    """

    text: dict[str, int] = msgspec.field(default_factory=dict)
    """Number of steps by text comparison: same, masked, numbers, differs. Only for replay reports."""

    verdict: str = "pass"

    reason: str = ""
    """The reason why the verdict is not `pass`."""

    level: str = ""
    """The level at which each step had to match. Only for replay reports."""

    origin: str = ""
    """Origin of the replay, if it differs from the recorded one."""

    unreached: str = ""
    """As `ReplayedSession.unreached`."""

    uncounted: dict[str, tuple[int, ...]] = msgspec.field(default_factory=dict)
    """As `ReplayedSession.uncounted`."""

    inputs: tuple[ChangedInput, ...] = ()
    """Inputs that the replay changed. Only for replay reports."""

    out: str
    """Path of the file."""

    form: str = "bundle"
    """Its form: `bundle`, `recorder` or `playwright`."""

    lost: tuple[str, ...] = ()
    """Parts of the session that the form cannot express; the file has them as comments."""


class ReplayedSession(Record, frozen=True, kw_only=True):
    """Result of a replay, with its signed report."""

    report: ReplayReport

    described: tuple[str, ...]

    signed_by: str

    differences: tuple[Difference, ...]
    """The differences, in the order of their importance within each step; not part of the report."""

    secrets_missing: tuple[str, ...]
    """Secrets that were not given. Without them, pages cannot be redacted as in the recording, so `differences`
    stays empty.
    """

    out: str = ""

    unreached: str = ""
    """Error code that says why the first step that did not match reached no page; empty if it reached one. With
    such a code, the report says nothing about the recording.
    """

    uncounted: dict[str, tuple[int, ...]] = msgspec.field(default_factory=dict)
    """Numbers of the steps that matched at the required level but differ in something else, by that difference
    (`text`, `address`, `title`, `extracted value`, `assertion`, `alerts`). Follows from the report.
    """

    stopped: str = ""
    """The step that was not performed because it writes after a mismatch, with the reason; empty if there was none."""

    replayable: int
    """Number of steps that a replay performs: those that succeeded in the recording."""

    stopped_at: int = 0
    """Number of the step that the replay could not or must not perform; 0 if there was none."""

    lacking: str = ""
    """The permission that the call lacked at the first step that did not match, and the option to add: an approval,
    an allowed request, or the site of a secret. Empty if it lacked nothing; otherwise the report says nothing
    about the site.
    """

    call_log: tuple[str, ...] = ()
    """The attempts at the last step, if it was not performed or its assertion failed: how its element was looked
    for, on which page, how that ended, and the most similar elements. Empty if secrets of the recording were not
    given.
    """

    agreed: tuple[int, ...] = ()
    """Steps that write and were performed after a mismatch, because the owner said yes. Not part of the report."""

    names: dict[str, str] = msgspec.field(default_factory=dict)
    """Names of these nodes, by node id. This node is called `this node`."""

    proposes: str = ""
    """As `RecordedSession.proposes`."""


class Needs(Record, frozen=True, kw_only=True):
    """Everything that must be given so that a file can be recorded or a session replayed."""

    secrets: tuple[str, ...]
    """Names of the secrets that are typed."""

    uploads: tuple[str, ...]
    """Names of the files that are uploaded."""

    capsule: str
    """The capsule that it begins with; empty for none."""

    sends: tuple[ShownEffect, ...]
    """Requests of its steps that change something, or may."""

    allow: tuple[str, ...] = ()
    """For a file: the values of `--allow` for these requests."""

    approve_class: int = 0
    """The highest risk class to approve; 0 for none."""

    inputs: dict[str, str] = msgspec.field(default_factory=dict)
    """For a session: its inputs, with the values of the recording."""

    digest: str = ""
    """For a session: the value of `--writes`; empty if the session lists no such request."""

    missed: tuple[Missed, ...] = ()
    """For a file: the steps that could not be performed, so more may be needed."""


class SessionDiff(Record, frozen=True, kw_only=True):
    """Two recordings, compared."""

    first: Session

    second: Session

    steps: tuple[StepDiff, ...]

    same: bool
    """True if no step differs and both have the same steps."""

    html: str = ""
    """Path of the HTML file, if one was written."""


class RunDiff(Record, frozen=True, kw_only=True):
    """Two runs of one session, compared by their reports."""

    session: Session

    first: ReplayReport | None
    """None for the recording itself."""

    second: ReplayReport | None

    steps: tuple[RunStep, ...]

    same: bool
    """True if both say the same about every step."""

    html: str = ""
    """Path of the HTML file, if one was written."""


class TrustKey(Record, frozen=True, kw_only=True):
    """The key of this node, for machines that have no node."""

    node: str
    """Node id."""

    name: str

    key: str
    """One line (`protocol/trust/trust_key.py`): node id and key log."""


class Answered(Record, frozen=True, kw_only=True):
    """The answer as it was accepted."""

    question: str

    session: str
    """The session that is being replayed or recorded."""

    step: int

    yes: bool


class LearnedSession(Record, frozen=True, kw_only=True):
    """The new session. All its masks are signed in its steps; ``learned`` lists the new ones."""

    id: str
    """A session id. It and the following fields are plain texts, because stored sessions are read without
    validation; `protocol.recording.records.bundle` validates them.
    """

    node: str
    """Node id of the recorder."""

    created_ms: int

    title: str

    start_url: str

    profile: Profile

    browser: BrowserInfo

    verdict: str

    steps: int

    duration_ms: int

    parent: str = ""
    """Id of the session from which this one was forked or replayed; for a later page of a live session, the session
    of its first page.
    """

    search: str = ""
    """Id of the search that found it."""

    secrets: tuple[str, ...] = ()
    """Names of the secrets that a replay needs."""

    caller: str = ""
    """Caller of the recording, as stated by the recorder: `owner`, `agent:NAME`, `schedule:ID`, or the node id of a
    peer. Empty if it is not stated.
    """

    reason: str = ""
    """The reason why the verdict is not `pass`: the first step that prevents it. Empty if the session passed."""

    inputs: tuple[Input, ...] = ()
    """Values that its steps use as `${name}` and that a replay can change, as recorded."""

    skipped: tuple[Skipped, ...] = ()
    """Steps of an imported recording that were left out, in order. If there are any, the verdict is not `pass`."""

    capsule: str = ""
    """Id of the capsule whose login the recording began with; empty for none."""

    login: UsedLogin | None = None
    """Facts about that capsule; missing without a capsule, and in sessions that were recorded before this field
    existed.
    """

    program: str = ""
    """Name and version of the program that recorded the session; empty in sessions that were recorded before this
    field existed.
    """

    blocked: tuple[str, ...]
    """Requests that the network guard refused meanwhile, each `METHOD /path`, with the site before the path if it
    differs from the page's site.
    """

    extracted: dict[str, str]
    """Values read by `extract` steps, by name."""

    doubts: tuple[str, ...] = ()
    """Steps that may compare nothing: an assertion that an element is absent which no earlier page has shown, or an
    extract that read no text. They do not change the verdict.
    """

    unguarded: tuple[str, ...] = ()
    """Requests that the network guard cannot see, because somebody else started the browser."""

    proposes: str = ""
    """A capsule for the site of a page that asked for a login; empty if no page did, or no such capsule exists."""

    needs: Needs | None = None
    """Everything that the file needs, if that was requested."""

    learned: tuple[LearnedLine, ...]


class Archived(Record, frozen=True, kw_only=True):
    """Result of archiving a session, or of undoing that."""

    session: str

    title: str

    archived: bool

    changed: bool
    """True if this call changed it."""


class Purged(Record, frozen=True, kw_only=True):
    """Result of purging a session."""

    session: str

    title: str

    steps: int

    may_hold: tuple[MayHold, ...]
    """Nodes that may still hold it. Anybody who has an exported bundle holds it too."""


class GivenSecret(Record, frozen=True, kw_only=True):
    """A value, and the sites at which it may be typed."""

    value: str

    origins: tuple[str, ...] = ()
    """Patterns of the origins of pages and frames; if empty, the origin at which the work begins."""

    text: bool = False
    """True if it may be typed into other fields than password fields."""

    totp: bool = False
    """True if it is the seed of one-time codes; a code is typed in its place."""

    basic: bool = False
    """True if it is `user:password` for HTTP basic authentication of its origins. It is never typed."""


class Profile(Record, frozen=True, kw_only=True):
    """Settings that are fixed so that a page looks the same on every machine."""

    width_px: int = 1280
    """Width of the page's viewport."""

    height_px: int = 800
    """Height of the page's viewport."""

    locale: str = "en-GB"
    """Language, script, region (BCP 47): `de`, `zh-Hant-TW`, `es-419`."""

    timezone: str = "UTC"
    """A name of the IANA database, in its case (`protocol/recording/records/time_zones.py`)."""

    reduced_motion: bool = True
    """True if pages are asked to leave out animations (`prefers-reduced-motion`)."""

    color_scheme: str = "light"
    """The preferred colours as reported to pages (`prefers-color-scheme`)."""

    mobile: bool = False
    """True for a browser with touch that keeps to the width a page names for phones (`<meta name=viewport>`)."""


class BrowserInfo(Record, frozen=True, kw_only=True):
    """The browser, and the backend that controls it."""

    backend: str
    """`launched`; for a browser that somebody else started, `attached-walled` behind the tunnel of the node, or
    `attached`.
    """

    name: str

    version: str


class Input(Record, frozen=True, kw_only=True):
    """A value that the author of a session has named, and that a replay can change."""

    name: str

    value: str
    """The value of the recording."""

    kind: str = "text"


class Skipped(Record, frozen=True, kw_only=True):
    """A step of an imported recording that could not be performed here and was left out."""

    place: str
    """Its position in the file: `steps[3].target`, `line 12`."""

    what: str
    """The kind of step, such as `hover`."""

    reason: str

    before: int
    """Index of the step that followed it; one more than the number of steps if it was the last."""


class UsedLogin(Record, frozen=True, kw_only=True):
    """The login with which a recording began, as stated by its recorder."""

    name: str

    tenant: str
    """The issuer of the capsule."""

    generation: int

    policy: Policy


class Session(Record, frozen=True, kw_only=True):
    """The container of a recorded run: everything but its steps and files."""

    id: str
    """A session id. It and the following fields are plain texts, because stored sessions are read without
    validation; `protocol.recording.records.bundle` validates them.
    """

    node: str
    """Node id of the recorder."""

    created_ms: int

    title: str

    start_url: str

    profile: Profile

    browser: BrowserInfo

    verdict: str

    steps: int

    duration_ms: int

    parent: str = ""
    """Id of the session from which this one was forked or replayed; for a later page of a live session, the session
    of its first page.
    """

    search: str = ""
    """Id of the search that found it."""

    secrets: tuple[str, ...] = ()
    """Names of the secrets that a replay needs."""

    caller: str = ""
    """Caller of the recording, as stated by the recorder: `owner`, `agent:NAME`, `schedule:ID`, or the node id of a
    peer. Empty if it is not stated.
    """

    reason: str = ""
    """The reason why the verdict is not `pass`: the first step that prevents it. Empty if the session passed."""

    inputs: tuple[Input, ...] = ()
    """Values that its steps use as `${name}` and that a replay can change, as recorded."""

    skipped: tuple[Skipped, ...] = ()
    """Steps of an imported recording that were left out, in order. If there are any, the verdict is not `pass`."""

    capsule: str = ""
    """Id of the capsule whose login the recording began with; empty for none."""

    login: UsedLogin | None = None
    """Facts about that capsule; missing without a capsule, and in sessions that were recorded before this field
    existed.
    """

    program: str = ""
    """Name and version of the program that recorded the session; empty in sessions that were recorded before this
    field existed.
    """


class Step(Record, frozen=True, kw_only=True):
    """One performed action and the page after it."""

    index: int
    """From 1."""

    action: (
        Goto
        | Back
        | Forward
        | Reload
        | SwitchTab
        | CloseTab
        | Click
        | Hover
        | Drag
        | Focus
        | ScrollTo
        | Fill
        | Select
        | Upload
        | Check
        | Press
        | Scroll
        | Wait
        | Extract
        | Emulate
        | Evaluate
        | Assert
    )

    ok: bool

    url: str
    """Address after the action, with user info and secret query values redacted."""

    title: str

    state: str
    """State hash after the action, 16 bytes."""

    risk: int
    """Risk class, 1 to 7."""

    started_ms: int
    """Time since the session began."""

    duration_ms: int

    snapshot: str = ""
    """SHA-256 of the stored snapshot (docs/protocol/bundle.md), 32 bytes; empty if none was taken."""

    screenshot: str = ""
    """SHA-256 of the picture (lossless WebP or PNG), 32 bytes; empty if none was taken."""

    ref: str = ""
    """Ref of the target element, in the observation before the action."""

    extracted: str = ""
    """The text that the action read; for a failed assertion, what it found instead."""

    error: str = ""
    """Error code, if the action failed."""

    blocked: tuple[str, ...] = ()
    """Requests that the network guard refused: `METHOD /path` at the origin of the page, otherwise `METHOD
    https://host/path`.
    """

    evidence: ElementEvidence | None = None
    """The evidence that distinguishes the target element from others; none if it was not found, or the action has
    no target.
    """

    faults: tuple[RequestFault, ...] = ()
    """Failed requests for documents and data that the step caused, including the expected ones."""

    expect: Expect | None = None
    """The expected effects of the step."""

    held: str = ""
    """The result of the step's assertion, or of the type check of its typed extract."""

    masks: tuple[Mask, ...] = ()
    """Parts of the snapshot that change by themselves and are not compared, in the order of the text."""

    lines: int = 0
    """Number of lines of the snapshot."""

    dialogs: tuple[Dialog, ...] = ()
    """The dialogs that the step caused, including the expected one."""

    downloads: tuple[Download, ...] = ()
    """The files that the browser downloaded in the step."""

    evidence_onto: ElementEvidence | None = None
    """The evidence of the element that a drag ended on."""

    tab: bool = False
    """True if the page opened a new tab or window. If `on_tab` is 0, its address was opened in the page instead."""

    unseen: bool = False
    """True if the step asserts the absence of an element that no page of the recording has shown before, so the
    assertion may hold on every page.
    """

    console: tuple[str, ...] = ()
    """Errors that appeared in the page's console during the step, without secrets, and without tokens in addresses."""

    on_tab: int = 0
    """Number of the tab in front after the step, from 1; 0 if new tabs are opened in the page itself."""

    hidden: tuple[HiddenText, ...] = ()
    """Hidden texts of the page that address a model, without secrets. Nothing obeys them, and no replay compares
    them.
    """

    hidden_more: bool = False
    """True if there may be more hidden texts: the page was not read to its end, or has more than a step keeps."""

    notes: tuple[str, ...] = ()
    """Notes for a person on how the step was performed, without secrets, such as a field that shows less than was
    typed or was emptied by the page. No replay compares them.
    """

    written: str = ""
    """A keyed hash of the text that the action types or opens, if its author wrote a text that equals or contains a
    secret. The action has the secret's name in its place (docs/adr/0043). `lost` if the text cannot be restored.
    """

    basic: tuple[str, ...] = ()
    """Names of the secrets that answered a site's HTTP basic authentication. A replay needs them."""

    effects: tuple[Effect, ...] = ()
    """Requests of the step that change something, in the order in which they left
    (docs/protocol/replay.md#effects).
    """

    effects_more: bool = False
    """True if the step sent more such requests. A replay sends only those that are listed."""


class ReplayReport(Record, frozen=True, kw_only=True):
    """The result of a replay of a session, signed by the node that replayed it."""

    id: str

    session: str

    manifest: str
    """SHA-256 of the signed manifest of the replayed bundle."""

    node: str
    """Node id of the replayer."""

    replayed_ms: int

    browser: BrowserInfo

    steps: tuple[StepMatch, ...]

    matched: int

    verdict: str

    duration_ms: int

    blocked: tuple[str, ...] = ()
    """Requests that the network guard of the replaying node refused, as in `Step.blocked`."""

    origin: str = ""
    """The origin of the replay (`https://host:port`), if it differs from the recorded one."""

    level: str = "text"
    """The level at which each step had to match."""

    strict: bool = False
    """True if nothing was masked: at level `text`, the text had to be exactly equal."""

    reason: str = ""
    """The reason why the verdict is not `pass`: the first step that prevents it, or the recording. Empty if the
    replay passed.
    """

    inputs: tuple[ChangedInput, ...] = ()
    """Inputs that had other values than in the recording, by name."""

    differences: tuple[Difference, ...] = ()
    """If inputs were changed: the differences besides the changed values. Otherwise a report contains no text of a
    page.
    """


class RefusedReport(Record, frozen=True, kw_only=True):
    """A replay report that was accepted when it was stored and is rejected now."""

    node: str
    """Node id of its signer."""

    name: str

    code: str
    """Error code of the rejection: `peer.distrusted`, `keylog.revoked`, …"""


class PersonalData(Record, frozen=True, kw_only=True):
    """Personal data of one kind in one place of a session."""

    kind: str
    """`email`, `phone`, `card`, `iban` or `id` (a national number)."""

    where: str
    """`text`, `title`, `address`, `extracted`, `dialog`, `evidence` or `hidden` text of pages; `action`: written by
    the author of an action.
    """

    replaced: bool
    """True if it is replaced by tokens. Text of an author is kept, because a replay needs it."""

    count: int


class SpokenTo(Record, frozen=True, kw_only=True):
    """Text of a page that addresses a model. Nothing obeys it."""

    step: int

    where: str
    """`text`, `title`, `address`, `extracted`, `dialog`, `evidence`, or `hidden`: the page does not show it."""

    line: int

    rules: tuple[str, ...]
    """The kinds of such text that it matches: override, persona, mark, addressed, reveal, send, tool, reply, hide,
    decode, …
    """

    quote: str

    hidden: bool
    """True if a person cannot see it: encoded, in invisible characters, or in a hidden place of the page."""

    origin: str
    """Origin of the page."""

    why: str = ""
    """For `hidden`: the reason why it cannot be seen, such as `not displayed`, `in a comment`."""


class FailedPage(Record, frozen=True, kw_only=True):
    """The page on which a step of a recording failed, with the elements that are there instead."""

    step: int
    """Number of the step."""

    url: str

    title: str

    lines: tuple[str, ...]
    """The page as it was recorded, without secrets: one line for each element or text. All text comes from the
    site.
    """

    more: int = 0
    """Number of further lines."""


class ShownEffect(Record, frozen=True, kw_only=True):
    """A request of a step that changes something, or may."""

    step: int

    what: str
    """The request, in words."""

    level: int
    """Its risk class."""


class Remains(Record, frozen=True, kw_only=True):
    """The redacted manifest of a removed session. It shows that the session existed, but nothing of its pages or
    actions.
    """

    id: str

    node: str
    """Node id of the recorder."""

    created_ms: int

    duration_ms: int

    steps: int

    verdict: str

    browser: BrowserInfo

    manifest: str
    """SHA-256 of the signed manifest, hex; it identifies exported bundles of the session. Empty if nothing was
    signed.
    """

    removed_ms: int


class ChangedInput(Record, frozen=True, kw_only=True):
    """An input that a replay has changed."""

    name: str
    """Name of the input; or the number of a step that types or chooses a text."""

    recorded: str

    value: str


class Difference(Record, frozen=True, kw_only=True):
    """One difference from the recording, cut to ``DIFFERENCE_CHARS_MAX`` around its beginning."""

    step: int
    """Index of the step."""

    what: str
    """`text`: one line of it. `action`: it was not performed; `assertion`: it did not hold; `met` has the reason.
    `alert`: the page shows an alert that the recording lacks. `sent`: a request that the step had to send did
    not leave.
    """

    recorded: str
    """Empty for a line that was added."""

    met: str
    """Empty for a line that was removed."""

    also: tuple[int, ...] = ()
    """Later steps that differ in the same way."""

    place: str = ""
    """The elements around the line on the page: `table “Orders” › row “Pump 2” › cell “Price”`."""

    note: str = ""
    """Further remarks: the line has moved, it contains more lines, more differences are not listed."""


class Missed(Record, frozen=True, kw_only=True):
    """A step that could not be performed, because none of the requests before it has left. It may send further
    requests.
    """

    step: int

    what: str
    """The step, in words."""

    level: int
    """Its risk class, judged by its words alone."""

    why: str


class StepDiff(Record, frozen=True, kw_only=True):
    """A step of one recording, or of both."""

    first: int = 0
    """Its index in the first recording; 0 if that recording lacks it."""

    second: int = 0

    did: str
    """The action in words."""

    status: str

    differences: tuple[Difference, ...] = ()
    """In each difference, `recorded` belongs to the first recording and `met` to the second."""


class RunStep(Record, frozen=True, kw_only=True):
    """One step that a replay performs, in two runs."""

    index: int

    did: str
    """The action in words."""

    status: str

    first: str
    """Its result in the first run: `as recorded`, `not reached`, or the differences."""

    second: str


class LearnedLine(Record, frozen=True, kw_only=True):
    """A line of a page in which a number is masked from now on."""

    step: int

    recorded: str

    met: str
    """The text of the line this time."""


class MayHold(Record, frozen=True, kw_only=True):
    """A node that has shown that it holds the session."""

    node: str
    """Node id."""

    name: str
    """Its name on this node; empty if it has none."""


class Policy(Record, frozen=True, kw_only=True):
    """How a capsule may be used. Every field is required, so that a reader never guesses a missing one."""

    purpose: str
    """The purpose of the login, in words of the person who gives it."""

    origins: tuple[str, ...]
    """The origins that the browser may contact while it holds the state: sorted patterns, never `*`."""

    tasks: tuple[str, ...]
    """Sorted, each once."""

    class_max: int
    """The highest risk class of requests that leave the browser. Up to 3 only reads leave."""

    replays_max: int
    """How often it may be used, by all holders together."""

    expires_ms: int

    fresh_s: int
    """How long it may be used without an answer from its issuer; with 0 each use is reported first."""

    mfa_s: int
    """The maximum age of the last second factor of the login; with 0 none is needed."""

    cross_device: bool
    """True if it may be used on another machine."""

    cross_installation: bool
    """True if another node may use it."""

    consent: bool
    """True if a person must have signed a consent."""

    probes: bool
    """True if controls other than links and certain reads may be pressed without an approval."""


class Goto(Record, frozen=True, kw_only=True, tag_field="type", tag="goto"):
    """Open an http(s) address."""

    timeout_ms: int = 0
    """The time limit, which includes the wait for its element. 0 means the limit of its kind."""

    url: str


class Back(Record, frozen=True, kw_only=True, tag_field="type", tag="back"):
    """Go back to the page before, as a person does with the browser's button."""

    timeout_ms: int = 0
    """The time limit, which includes the wait for its element. 0 means the limit of its kind."""


class Forward(Record, frozen=True, kw_only=True, tag_field="type", tag="forward"):
    """Go forward again, to the page from which the browser went back."""

    timeout_ms: int = 0
    """The time limit, which includes the wait for its element. 0 means the limit of its kind."""


class Reload(Record, frozen=True, kw_only=True, tag_field="type", tag="reload"):
    """Load the page again, unless that would send a form again."""

    timeout_ms: int = 0
    """The time limit, which includes the wait for its element. 0 means the limit of its kind."""


class SwitchTab(Record, frozen=True, kw_only=True, tag_field="type", tag="switch_tab"):
    """Bring a tab to the front; later actions are performed in it. If the tab is not open yet, wait for it."""

    timeout_ms: int = 0
    """The time limit, which includes the wait for its element. 0 means the limit of its kind."""

    tab: int
    """The number of the tab, from 1, in the order in which the session's tabs were opened. A tab keeps its number."""


class CloseTab(Record, frozen=True, kw_only=True, tag_field="type", tag="close_tab"):
    """Close the front tab. The tab that was in front before returns to the front, if it is still open."""

    timeout_ms: int = 0
    """The time limit, which includes the wait for its element. 0 means the limit of its kind."""


class Click(Record, frozen=True, kw_only=True, tag_field="type", tag="click"):
    """Click the middle of an element."""

    timeout_ms: int = 0
    """The time limit, which includes the wait for its element. 0 means the limit of its kind."""

    target: Locator

    button: str = "left"
    """`right` opens the menu of the page, if it has one."""

    count: int = 1
    """2 for a double click."""


class Hover(Record, frozen=True, kw_only=True, tag_field="type", tag="hover"):
    """Move the pointer to the middle of an element."""

    timeout_ms: int = 0
    """The time limit, which includes the wait for its element. 0 means the limit of its kind."""

    target: Locator


class Drag(Record, frozen=True, kw_only=True, tag_field="type", tag="drag"):
    """Press the mouse in the middle of an element, and release it in the middle of another one."""

    timeout_ms: int = 0
    """The time limit, which includes the wait for its element. 0 means the limit of its kind."""

    target: Locator

    onto: Locator
    """The element at which the mouse is released."""


class Focus(Record, frozen=True, kw_only=True, tag_field="type", tag="focus"):
    """Give an element the focus."""

    timeout_ms: int = 0
    """The time limit, which includes the wait for its element. 0 means the limit of its kind."""

    target: Locator


class ScrollTo(Record, frozen=True, kw_only=True, tag_field="type", tag="scroll_to"):
    """Scroll until an element is in view."""

    timeout_ms: int = 0
    """The time limit, which includes the wait for its element. 0 means the limit of its kind."""

    target: Locator


class Fill(Record, frozen=True, kw_only=True, tag_field="type", tag="fill"):
    """Replace the content of a text field."""

    timeout_ms: int = 0
    """The time limit, which includes the wait for its element. 0 means the limit of its kind."""

    target: Locator

    value: str | Secret

    typed: bool = False
    """True to type key by key at the caret, and replace nothing. Not allowed for secrets, because a page could move
    the focus meanwhile.
    """


class Select(Record, frozen=True, kw_only=True, tag_field="type", tag="select"):
    """Choose the option with this label. A list that takes several then has exactly the named ones."""

    timeout_ms: int = 0
    """The time limit, which includes the wait for its element. 0 means the limit of its kind."""

    target: Locator

    option: str

    also: tuple[str, ...] = ()
    """Further options to choose."""


class Upload(Record, frozen=True, kw_only=True, tag_field="type", tag="upload"):
    """Give files to a file field, or to the file chooser that a click opens."""

    timeout_ms: int = 0
    """The time limit, which includes the wait for its element. 0 means the limit of its kind."""

    target: Locator

    files: tuple[str, ...]
    """Names inside the folders of `browser.upload_folders`, with `/` between the parts."""

    digests: tuple[str, ...] = ()
    """The recorded SHA-256 of each file. A replay needs the same files."""


class Check(Record, frozen=True, kw_only=True, tag_field="type", tag="check"):
    """Bring a check box, switch or radio button into a state."""

    timeout_ms: int = 0
    """The time limit, which includes the wait for its element. 0 means the limit of its kind."""

    target: Locator

    checked: bool = True


class Press(Record, frozen=True, kw_only=True, tag_field="type", tag="press"):
    """Press a key (``Enter``, ``Control+A``), on an element or on the focused one."""

    timeout_ms: int = 0
    """The time limit, which includes the wait for its element. 0 means the limit of its kind."""

    key: str

    target: Locator | None = None


class Scroll(Record, frozen=True, kw_only=True, tag_field="type", tag="scroll"):
    """Scroll the page by ``amount_px``."""

    timeout_ms: int = 0
    """The time limit, which includes the wait for its element. 0 means the limit of its kind."""

    direction: str = "down"

    amount_px: int = 600


class Wait(Record, frozen=True, kw_only=True, tag_field="type", tag="wait"):
    """Wait until ``text`` or an element is visible, an address is reached, or a request is answered; without any of
    these, until the page is still.
    """

    timeout_ms: int = 5000
    """The time limit, which includes the wait for its element. 0 means the limit of its kind."""

    text: str = ""

    target: Locator | None = None

    state: str = "visible"
    """The state of the element to wait for."""

    address: str = ""
    """A part of the address."""

    response: str = ""
    """A part of the address of a request that a script of the page sent since the last action that acts; `*` is
    anything.
    """

    method: str = ""
    """The method of that request; empty for any."""

    still_ms: int = 0
    """The time without a change that counts as still. With 0 a moment is enough, and the action succeeds without
    it.
    """


class Extract(Record, frozen=True, kw_only=True, tag_field="type", tag="extract"):
    """Read the text of an element (or of the page) under a name. A later action can use it as ``${name}``."""

    timeout_ms: int = 0
    """The time limit, which includes the wait for its element. 0 means the limit of its kind."""

    name: str

    target: Locator | None = None

    kind: str = "text"
    """A replay compares values of this type, and not their spelling."""

    pattern: str = ""
    """The form of the value (`pattern`): `#` is a run of digits, `*` anything within the line."""

    compare: str = "value"
    """`value`: a replay must read the same value. `none`: it may read any value, for example an id that is new in
    each run.
    """


class Emulate(Record, frozen=True, kw_only=True, tag_field="type", tag="emulate"):
    """Change what the page is told of its browser, from now on. What is left out stays as it is."""

    timeout_ms: int = 0
    """The time limit, which includes the wait for its element. 0 means the limit of its kind."""

    width_px: int = 0
    """Width of the viewport; 0 leaves it."""

    height_px: int = 0
    """Height of the viewport; 0 leaves it."""

    color_scheme: str = ""
    """The preferred colours."""

    reduced_motion: bool | None = None
    """True to ask pages to leave out animations."""

    offline: bool | None = None
    """True to cut all pages of the session off from the network."""

    location: str = ""
    """Latitude and longitude in degrees, `52.52,13.405`. The site of the page is then allowed to ask for it."""


class Evaluate(Record, frozen=True, kw_only=True, tag_field="type", tag="evaluate"):
    """Run a script in an isolated world of the page: it sees and changes the document, but no variable of the
    page's own scripts. What it sends is judged as what the page sends. A replay runs it again and does not
    compare its value.
    """

    timeout_ms: int = 0
    """The time limit, which includes the wait for its element. 0 means the limit of its kind."""

    script: str
    """JavaScript: an expression, a function that gets the element, or statements with `return`. A promise is
    awaited.
    """

    target: Locator | None = None
    """The element that the script gets as `element`; it runs in the frame of the element."""


class Assert(Record, frozen=True, kw_only=True, tag_field="type", tag="assert"):
    """Check the page or an element repeatedly, until the condition holds or the time is over."""

    timeout_ms: int = 5000
    """The time limit, which includes the wait for its element. 0 means the limit of its kind."""

    what: str
    """`address`, `title`, `text` (of the page, without a target), or a property of the element. `value` is the text
    that a field shows, or the label of the chosen option of a list; `sent` is the value that its form would
    send.
    """

    expected: str = ""
    """The expected text, address or number (`count`); not used for states."""

    match: str = "is"
    """`is`: the whole text must be equal. `contains`: a part of it. White space is folded."""

    target: Locator | None = None

    attribute: str = ""
    """The name of the attribute (`attribute`)."""

    soft: bool = False
    """True to go on with the session if it fails. Its step is not ok in either case."""

    sha256: str = ""
    """The expected hash of the file (`download`), in hexadecimal."""

    row: str = ""
    """A text in the row (`cell`)."""

    column: str = ""
    """The header of the column (`cell`, `order`)."""

    items: tuple[str, ...] = ()
    """The expected texts in their order (`order`); without them, `expected` is `ascending` or `descending`. For
    `sent`, the values of all chosen options; without them, `expected` is the only value.
    """


class ElementEvidence(Record, frozen=True, kw_only=True):
    """The identity and place of an element when it was acted on."""

    role: str = ""

    name: str = ""

    label: str = ""
    """Name of the nearest group or heading."""

    alike: int = 0
    """Number of other elements with the same role and name."""

    group: str = ""
    """Role of the row, item or card around it; empty if there was none."""

    cells: tuple[str, ...] = ()
    """The texts of the row, item or card, in order; a row has one for each column."""

    telling: tuple[int, ...] = ()
    """Positions in `cells` of the texts that at least one look-alike lacked."""

    only: tuple[int, ...] = ()
    """The positions among them whose text every look-alike lacked."""

    links: tuple[str, ...] = ()
    """The link targets of the element and its row that no look-alike had, without secrets."""

    attributes: tuple[tuple[str, str], ...] = ()
    """`id`, `name`, `type` and `data-testid`."""

    fits: tuple[Fit, ...] = ()
    """How closely the texts of the action's target were matched. A text without an entry is matched anew. An action
    without an element may have only this field.
    """


class RequestFault(Record, frozen=True, kw_only=True):
    """A request for a document or for data that a step caused and that failed."""

    request: str
    """As in `Step.blocked`."""

    fault: str
    """`refused`: by the network guard; `status`: answered with 400 or more; `failed`: without an answer; `open`:
    not answered when the step ended.
    """

    status: int = 0
    """HTTP status, if `fault` is `status`."""


class Expect(Record, frozen=True, kw_only=True):
    """The expected effects of a step: failing requests, a dialog, a new tab. They are no faults; an expected effect
    that is missing is one.
    """

    status: int = 0
    """A request is answered with this status; 0 if none is expected."""

    refused: bool = False
    """A request is refused by the network guard."""

    failed: bool = False
    """A request fails without an answer."""

    open: bool = False
    """A request is still unanswered when the step ends."""

    dialog: DialogAnswer | None = None
    """The dialog that the step causes, and the answer to it. With another dialog, or none, the step fails."""

    tab: bool = False
    """The step opens a new tab or window."""


class Mask(Record, frozen=True, kw_only=True, array_like=True):
    """A part of a snapshot that changes by itself and is not compared. Encoded as an array, because a page can have
    hundreds.
    """

    line: int
    """Line of the snapshot, from 1."""

    start: int
    """First character in the line, from 0."""

    end: int
    """The position after its last character."""

    form: str
    """The form of the masked text. `number`: a number that changed while the page was idle, or between two
    recordings.
    """


class Dialog(Record, frozen=True, kw_only=True):
    """A dialog that a step caused, and how it was answered."""

    kind: str
    """`beforeunload`: the page asks before it is left."""

    message: str = ""
    """The message of the page, cut at the limit. For `beforeunload` browsers show a text of their own."""

    accepted: bool = False


class Download(Record, frozen=True, kw_only=True):
    """A file that the browser downloaded in a step."""

    name: str
    """The name that the site or the page proposes."""

    size_bytes: int = 0

    sha256: str = ""
    """32 bytes; empty with a `fault`."""

    fault: str = ""
    """`failed`: it broke off, or did not end in time. `too_large`: it was stopped because the downloads of the step
    reached `DOWNLOAD_BYTES_MAX`.
    """


class HiddenText(Record, frozen=True, kw_only=True):
    """A text, and the reason why it is hidden."""

    why: str

    at: str = ""
    """The name of the attribute, of the metadata, or the pseudo-element; empty for text."""

    text: str
    """White space folded, and cut."""


class Effect(Record, frozen=True, kw_only=True):
    """One request of a step that changes something, or may."""

    method: str
    """The method as the site understands it: `POST as DELETE` if a header overrides the real method."""

    url: str
    """The whole address without its fragment, with the names of secrets in place of their values."""

    fields: tuple[str, ...] = ()
    """Names of the body's fields, sorted; `name=value` for fields that select the operation (`RequestForm.fields`)."""

    body: str = ""
    """`RequestForm.body`."""

    chosen: tuple[str, ...] = ()
    """Headers that select the operation, as `name: value`, sorted."""

    files: tuple[SentFile, ...] = ()
    """The files that were given to the page, if the body may contain them."""

    level: int
    """The class of the request, as judged by the node that sent it."""


class StepMatch(Record, frozen=True, kw_only=True):
    """The comparison of one replayed step with its recording."""

    index: int

    performed: bool

    state: bool
    """True if the page after the step has the recorded state hash."""

    url: bool
    """True if the address equals the recorded one, except for generated ids and for numbers that changed in the
    same way in an earlier step.
    """

    title: bool
    """True if the title equals the recorded one, except for parts that change by themselves and for changes that an
    earlier step has shown.
    """

    extracted: bool

    matched: bool
    """True if the step holds at the level of the report, and no request failed that succeeded in the recording."""

    duration_ms: int

    text: str = ""
    """The comparison of the page's text with the snapshot (docs/protocol/replay.md); empty exactly if the step was
    not performed or its recording has no snapshot.
    """

    error: str = ""
    """Error code, if the step was not performed."""

    held: bool = True
    """True if the assertion of the step held, and its `extract` read the recorded value or is not compared."""

    faults: tuple[RequestFault, ...] = ()
    """As `Step.faults`, in the replay."""

    dialogs: tuple[Dialog, ...] = ()
    """As `Step.dialogs`, in the replay."""

    downloads: tuple[Download, ...] = ()
    """As `Step.downloads`, in the replay."""

    tab: bool = False
    """As `Step.tab`, in the replay."""

    alert: str = ""
    """Role of an alert on the page that the recording lacks (docs/protocol/replay.md); empty if there is none."""

    unsent: tuple[int, ...] = ()
    """Positions in `Step.effects` of requests that did not leave; only for a replay that sends the effects of the
    recording.
    """


class Locator(Record, frozen=True, kw_only=True):
    """An element, by what a person sees: role, name, and its place among those that look alike.

    ``selectors`` are alternatives in order (``css=…``, ``testid=…``: ``protocol.page.actions.locator.FORMS``),
    as the author of the action wrote them. Where there are any, the first that matches decides, now and in every
    replay: it must match one visible element, of the role and name given here, and ``nth`` is not used. A
    recorder adds no selectors of its own.
    """

    role: str = ""

    name: str = ""

    nth: int | None = None
    """The place among the elements of this role and name, from 0. Without it only one element may fit, or links to
    one address.
    """

    frame: str = ""
    """The frame's prefix in the observation (`f1`); empty for the main frame."""

    selectors: tuple[str, ...] = ()

    within: Within | None = None
    """Limits the search to this container; without it, the whole frame is searched."""


class Secret(Record, frozen=True, kw_only=True):
    """The name of a value that is passed in when the action is performed. The value is never stored."""

    secret: str


class Fit(Record, frozen=True, kw_only=True):
    """How closely one text of a target was matched."""

    what: str
    """The matched text: `name`, `text` of `within` or a selector of the locator; `row` of a cell; `text` of a wait."""

    grade: str

    place: int = 0
    """The place in the list, for a selector."""

    text: str = ""
    """The longer text that contained a `row` or the text of `within`; empty if it was matched whole."""


class DialogAnswer(Record, frozen=True, kw_only=True):
    """The dialog that a step should cause, and the answer to it."""

    kind: str

    text: str = ""
    """A part of its message; empty for any message."""

    accept: bool = False
    """True to accept it. An alert has only one answer."""

    reply: str = ""
    """The text to enter in an accepted prompt."""


class SentFile(Record, frozen=True, kw_only=True):
    """A file that was sent with a request."""

    name: str

    sha256: str


class Within(Record, frozen=True, kw_only=True):
    """The row, card, section or dialog in which an element is looked for.

    It is given by role, with a name or a text in it unless it is the only one, or by selectors, of which the
    first that matches decides. Exactly one element must fit.
    """

    role: str = ""

    name: str = ""

    text: str = ""

    selectors: tuple[str, ...] = ()
