"""Verbs for recorded sessions: record, list, show, verify, export, import, replay, diff."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from node.verbs import rows
from node.verbs.session_gates import PersonalData, SpokenTo
from node.verbs.session_params import (
    DiffParams,
    ExportParams,
    ImportParams,
    ListParams,
    RecordParams,
    ReplayParams,
    ShowParams,
    TargetParams,
)
from node.verbs.verb import ALL_WHO_WORK, OWNER_AND_AGENTS, OWNER_ONLY, NoParams, Row, Verb
from protocol.recording.diff import StepDiff
from protocol.recording.findings import Difference
from protocol.recording.report_diff import RunStep
from protocol.recording.session import BrowserInfo, ChangedInput, ReplayReport, Session, Step, Verdict

# --- results ---------------------------------------------------------------------------------------------------------


class RecordedSession(Session, frozen=True, kw_only=True):
    """The recorded session."""

    blocked: tuple[str, ...]
    """What the network guard refused meanwhile, each ``METHOD /path``, with the site before the path if it is
    not that of the page."""
    extracted: dict[str, str]
    """Values that ``extract`` steps have read, by name."""
    doubts: tuple[str, ...] = ()
    """Assertions that may hold of every page: that something is absent which no page before has shown. They decide nothing."""
    unguarded: tuple[str, ...] = ()
    """What the network guard does not see in the browser, because somebody else started it."""
    proposes: str = ""
    """A capsule for the site of a page that asked for a login; empty if none did, or there is no such capsule."""


class SessionList(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions, newest first."""

    sessions: list[Session]
    text: str
    """Text that was searched for."""
    archived: bool = False
    """Whether these are the archived ones."""
    names: dict[str, str] = msgspec.field(default_factory=dict)
    """Names of the nodes above, by node id; the own one is ``this node``."""


class RefusedReport(msgspec.Struct, frozen=True, kw_only=True):
    """A replay report that was accepted when it was stored and is rejected now."""

    node: str
    """Node id of its signer."""
    name: str
    code: str
    """Error code of the rejection: ``peer.distrusted``, ``keylog.revoked``, …"""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
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
    """For reports of replays whose site could not be reached: the error code as in ``Replayed.unreached``, by id of the report."""
    reports_refused: tuple[RefusedReport, ...] = ()
    """Stored reports that are no longer accepted."""
    personal: tuple[PersonalData, ...] = ()
    spoken_to: tuple[SpokenTo, ...] = ()
    html: str = ""
    """Path of the HTML file, if one was written."""
    archived: bool = False
    """Whether `session.list` leaves it out."""
    names: dict[str, str] = msgspec.field(default_factory=dict)
    """Names of the nodes above, by node id; the own one is ``this node``."""


class Remains(msgspec.Struct, frozen=True, kw_only=True):
    """The redacted manifest of a removed session. It shows that the session existed, but nothing of its pages or actions."""

    id: str
    node: str
    """Node id of the recorder."""
    created_ms: int
    duration_ms: int
    steps: int
    verdict: Verdict
    browser: BrowserInfo
    manifest: str
    """SHA-256 of the signed manifest, hex; it identifies exported bundles of the session. Empty if nothing was signed."""
    removed_ms: int


class WasRemoved(msgspec.Struct, frozen=True, kw_only=True):
    """Result of ``session.show`` for a removed session."""

    removed: Remains
    names: dict[str, str] = msgspec.field(default_factory=dict)
    """Name of its recorder, by node id; the own one is ``this node``."""


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a successful verification. A failed one is an error."""

    what: Literal["session", "bundle", "replay-report"]
    id: str
    session: str
    signer: str
    """Node id."""
    signer_name: str
    issued_s: int
    manifest: str
    steps: int
    """Number of recorded steps; for a replay report, of those that a replay performs."""
    matched: int = 0
    """Only for replay reports."""
    stopped_at: int = 0
    """Number of the step that the replay could not or must not perform; 0 if there was none. Only for replay reports."""
    text: dict[str, int] = {}
    """Number of steps by text comparison: same, masked, numbers, differs. Only for replay reports."""
    verdict: Verdict = Verdict.PASS
    reason: str = ""
    """Why the verdict is not ``pass``."""
    level: str = ""
    """What had to hold. Only for replay reports."""
    origin: str = ""
    """Origin of the replay, if it differs from the recorded one."""
    unreached: str = ""
    """As ``Replayed.unreached``."""
    inputs: tuple[ChangedInput, ...] = ()
    """Inputs that the replay changed. Only for replay reports."""


class SessionDiff(msgspec.Struct, frozen=True, kw_only=True):
    """Two recordings, compared."""

    first: Session
    second: Session
    steps: tuple[StepDiff, ...]
    same: bool
    """Whether no step differs and none is in one of them only."""
    html: str = ""
    """Path of the HTML file, if one was written."""


class RunDiff(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs of one session, compared by what their reports say."""

    session: Session
    first: ReplayReport | None
    """None for the recording itself."""
    second: ReplayReport | None
    steps: tuple[RunStep, ...]
    same: bool
    """Whether both say the same of every step."""
    html: str = ""
    """Path of the HTML file, if one was written."""


class TrustKey(msgspec.Struct, frozen=True, kw_only=True):
    """The key of this node, for machines that have no node."""

    node: str
    """Node id."""
    name: str
    key: str
    """One line (``protocol/trust/trust_key.py``): node id and key log."""


class Exported(Verified, frozen=True, kw_only=True):
    """The exported file."""

    out: str
    """Path of the file."""
    form: str = "bundle"
    """What it is: ``bundle``, ``recorder`` or ``playwright``."""
    lost: tuple[str, ...] = ()
    """What the format cannot say, and the file has as a comment."""


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a replay, with its signed report."""

    report: ReplayReport
    described: tuple[str, ...]
    signed_by: str
    differences: tuple[Difference, ...]
    """What differs, those of a step in the order in which they matter; not part of the report."""
    secrets_missing: tuple[str, ...]
    """Secrets that were not given. Without them pages cannot be redacted as in the recording, so ``differences`` stays empty."""
    out: str = ""
    unreached: str = ""
    """Error code that says why the first step that did not match reached no page, so the report says nothing about the recording;
    empty if it reached one."""
    stopped: str = ""
    """The step that was not performed because it writes after a mismatch, with the reason; empty if there was none."""
    replayable: int
    """Number of steps that a replay performs: those that succeeded in the recording."""
    stopped_at: int = 0
    """Number of the step that the replay could not or must not perform; 0 if there was none."""
    lacking: str = ""
    """What the call lacked at the first step that did not match, and the option to add: an approval, an allowed request, or the
    site of a secret. Empty if it lacked nothing; otherwise the report says nothing about the site."""
    call_log: tuple[str, ...] = ()
    """What was tried at the last step, if it was not performed or its assertion did not hold: how its element was looked for, on
    which page, how that ended, and the elements most like it. Empty if secrets of the recording were not given."""
    agreed: tuple[int, ...] = ()
    """Steps that write and were performed after a mismatch, because the owner was asked and said yes. Not part of the report."""
    names: dict[str, str] = msgspec.field(default_factory=dict)
    """Names of the nodes above, by node id; the own one is ``this node``."""
    proposes: str = ""
    """As ``RecordedSession.proposes``."""


# --- the verbs -------------------------------------------------------------------------------------------------------

RECORD: Final = Verb(
    name="session.record",
    command="session record",
    takes=RecordParams,
    gives=RecordedSession,
    help="""Perform the actions of a file in a browser and record them as a signed session.

    ACTIONS is YAML (docs/actions.md lists all actions), JSON exported by the Chrome DevTools Recorder (docs/devtools-recorder.md),
    or Python as `playwright codegen` writes it (docs/playwright.md); which one is seen by its content. Requests other than GET are
    refused unless --allow names them; refused requests are shown after their step, here and in `session show`.

    The recording passes if every step was performed and no request for a document or data was refused, failed, was answered with
    400 or more, or was still unanswered when its step ended. `expect:` of a step names what is meant to fail. Exit codes: 0 it
    passed; 1 it did not, and the reason comes first.

    With --headed or --attach ACTIONS is an address: a window opens there, and what a person does in it is written to an action
    file. It is not recorded as a session; the command that does so is printed at the end.

    \b
    Example:
      title: The blue mugs
      start: https://shop.example/
      steps:
        - click: {role: link, name: Mugs}
        - select: {role: combobox, name: Sort by, option: "Price: low to high"}
        - extract: {as: cheapest, role: heading, name: Mugs}
    """,
    callers=ALL_WHO_WORK,
    scope="record",
    owner_fields=frozenset({"allow", "approve_class"}),
    row=Row(
        risk=rows.approved, note=lambda given: {"actions": given.name, **rows.driven(given), **rows.with_login(given)}
    ),
)
LIST: Final = Verb(
    name="session.list",
    command="session ls",
    takes=ListParams,
    gives=SessionList,
    help="List sessions, newest first, without archived ones. With TEXT: only those with this text in title, address or id.",
    callers=OWNER_AND_AGENTS,
    scope="read",
    read_only=True,
    row=None,
)
SHOW: Final = Verb(
    name="session.show",
    command="session show",
    takes=ShowParams,
    gives=Shown | WasRemoved,
    help="Show a session: its steps, signer and replays. For a removed session, show what is still stored.",
    callers=OWNER_AND_AGENTS,
    scope="read",
    owner_fields=frozenset({"html"}),
    read_only=True,
    row=None,
)
VERIFY: Final = Verb(
    name="session.verify",
    command="session verify",
    takes=TargetParams,
    gives=Verified,
    help="""Verify signatures and content of a session (id), a bundle or a replay report (file).

    If a file of the given name exists, or the name ends in .tmsession, it is read as a file even if it looks like an id. A fault
    names the element that does not match. A valid replay report is stored with its session.

    With --trust, TARGET is a bundle and no node is needed: only a signature by the named key counts (docs/ci.md).
    """,
    callers=OWNER_ONLY,
    row=None,
)
EXPORT: Final = Verb(
    name="session.export",
    command="session export",
    takes=ExportParams,
    gives=Exported,
    help="""Write a session to one signed file, which another node can verify and replay.

    With --as the steps of the session become a file of another tool, which is not signed and compares no pages: a recording that
    Chrome's DevTools play (docs/devtools-recorder.md), or a Playwright test that runs by itself and under pytest
    (docs/playwright.md). Secrets are looked up in environment variables. What the format cannot say is a comment in the file and
    listed. Exit codes: 0 the file says all; 1 it does not.
    """,
    callers=OWNER_ONLY,
    row=Row(subject=lambda given: given.session, note=lambda given: {"out": given.out, "as": given.form}),
)
IMPORT: Final = Verb(
    name="session.import",
    command="session import",
    takes=ImportParams,
    gives=Verified,
    help="Verify a bundle and store it. Its signer must be a peer of this node.",
    callers=OWNER_ONLY,
    row=Row(note=lambda given: {"path": given.path}),
)
REPLAY: Final = Verb(
    name="session.replay",
    command="session replay",
    takes=ReplayParams,
    gives=Replayed,
    help="""Replay a session in a new browser context and sign a report of which steps matched.

    The replay passes if the recording passed, every step holds at the level, and no request for a document or data newly went
    wrong. At level text the page must have the recorded text and title, except for what changes by itself (times, dates,
    generated ids, counters; `session show` says how much that is). Differences are shown here and are not part of the report,
    unless --input is given.

    --input gives an input of the session another value. The page is then expected to say the new value wherever it said the
    recorded one; what differs besides is a difference, and stands in the signed report together with the changed inputs. Elements
    are still those of the recording.

    After a step that did not match, steps that only read are still performed; the replay stops before the first step that writes
    (docs/risk.md). With --on-mismatch ask the person at the terminal is asked before each such step: what it would do, what did
    not match, and why. Yes performs this one step; no, no terminal (--json, CI) and no answer within two minutes end the replay.

    SESSION is an id; import a bundle first. With --trust it is a bundle, and no node is needed: only a signature by the named key
    counts, the replay runs in a temporary data directory that is removed afterwards, and a temporary key signs the report
    (docs/ci.md). Exit codes: 0 the replay passed; 1 it did not, and the reason comes first;
    2 the first step that did not match lacked an approval, an allowed request or a secret for its site, and the output says what
    to add; 3 the site could not be reached. A report is signed in all these cases. With 2 and 3 it says nothing about the site.
    """,
    callers=ALL_WHO_WORK,
    scope="replay",
    owner_fields=frozenset({"allow", "approve_class", "on_mismatch", "out", "junit", "markdown", "html", "inputs"}),
    row=Row(
        subject=lambda given: given.session,
        risk=rows.approved,
        note=lambda given: {
            "base_url": rows.where(given.base_url) if given.base_url else "",
            "on_mismatch": given.on_mismatch,
            **({"inputs": ", ".join(sorted(given.inputs))} if given.inputs else {}),
            **rows.driven(given),
            **rows.with_login(given),
        },
    ),
)
TRUST_KEY: Final = Verb(
    name="session.trust_key",
    command="session trust-key",
    takes=NoParams,
    gives=TrustKey,
    help="""Print the key of this node in the form that --trust of `session verify` and `session replay` takes.

    Commit the output beside the exported sessions, so that a CI job can verify and replay them without a node and without peers
    (docs/ci.md). It holds nothing secret. Print it again after the key of this node was rotated or recovered.
    """,
    callers=OWNER_ONLY,
    read_only=True,
    row=None,
)
DIFF: Final = Verb(
    name="session.diff",
    command="session diff",
    takes=DiffParams,
    gives=SessionDiff | RunDiff,
    help="""Compare two recordings: steps that only one of them has, and what differs after each step that both have.

    Steps are paired by their actions, in order. Compared are outcome, address, title, extracted text and the lines of the page. If
    the two began at different origins, addresses are compared without them. Exit codes: 0 nothing differs; 1 something does.

    Two replay reports of one session (`session show` lists them), or a report and its session, are compared by what the reports
    say of each step: they contain no page. To compare the pages of two runs, record the second one with `session fork`. With
    --html, pictures and texts of both recordings stand side by side.
    """,
    callers=OWNER_AND_AGENTS,
    scope="read",
    owner_fields=frozenset({"html"}),
    read_only=True,
    row=None,
)

VERBS: Final[tuple[Verb, ...]] = (RECORD, LIST, SHOW, VERIFY, EXPORT, IMPORT, REPLAY, DIFF, TRUST_KEY)
