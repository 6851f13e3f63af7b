"""Results of the verbs for recorded sessions."""

from __future__ import annotations

from typing import Literal

import msgspec

from node.verbs.sessions.session_gates import PersonalData, SpokenTo
from protocol.recording.records.findings import Difference
from protocol.recording.records.session import BrowserInfo, ChangedInput, ReplayReport, Session, Step, Verdict
from protocol.recording.replays.diff import StepDiff
from protocol.recording.replays.report_diff import RunStep


class Sends(msgspec.Struct, frozen=True, kw_only=True):
    """A request of a step that changes something, or may."""

    step: int
    what: str
    """In words."""
    level: int
    """Its class."""


class Missed(msgspec.Struct, frozen=True, kw_only=True):
    """A step that could not be performed, as nothing of what comes before it has left: it may send more."""

    step: int
    what: str
    """In words."""
    level: int
    """Its class, by its words alone."""
    why: str


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """What a file, or a replay, needs so that it can be performed."""

    secrets: tuple[str, ...]
    """Names of the secrets that are typed."""
    uploads: tuple[str, ...]
    """Names of the files that are uploaded."""
    capsule: str
    """The login that it begins with; empty for none."""
    sends: tuple[Sends, ...]
    """Requests that its steps send and that change something, or may."""
    allow: tuple[str, ...] = ()
    """Of a file: what `--allow` takes for them."""
    approve_class: int = 0
    """The highest class that has to be approved; 0 for none."""
    inputs: dict[str, str] = {}
    """Of a session: its inputs, with the values of the recording."""
    digest: str = ""
    """Of a session: what `--writes` takes; empty if it lists nothing."""
    missed: tuple[Missed, ...] = ()
    """Of a file: the steps that could not be performed, so that more may be needed."""


class RecordedSession(Session, frozen=True, kw_only=True):
    """The recorded session."""

    blocked: tuple[str, ...]
    """What the network guard refused meanwhile, each ``METHOD /path``, with the site before the path if it is
    not that of the page."""
    extracted: dict[str, str]
    """Values that ``extract`` steps have read, by name."""
    doubts: tuple[str, ...] = ()
    """Steps that may compare nothing: an assertion that something is absent which no page before has shown, an extract that read no
    text. They decide nothing."""
    unguarded: tuple[str, ...] = ()
    """What the network guard does not see in the browser, because somebody else started it."""
    proposes: str = ""
    """A capsule for the site of a page that asked for a login; empty if none did, or there is no such capsule."""
    needs: Needs | None = None
    """What the file needs, if that was asked for."""


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


class FailedPage(msgspec.Struct, frozen=True, kw_only=True):
    """The page on which a step of a recording failed: where its element was missing, all that is there instead."""

    step: int
    """Number of the step."""
    url: str
    title: str
    lines: tuple[str, ...]
    """The page as it was recorded, without secrets: one line for each element or text. All other text comes from the site."""
    more: int = 0
    """How many lines there are beyond them."""


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
    uncounted: dict[str, dict[str, tuple[int, ...]]] = msgspec.field(default_factory=dict)
    """As ``Replayed.uncounted``, by id of the report."""
    reports_refused: tuple[RefusedReport, ...] = ()
    """Stored reports that are no longer accepted."""
    personal: tuple[PersonalData, ...] = ()
    spoken_to: tuple[SpokenTo, ...] = ()
    failed: FailedPage | None = None
    """The page of the last step that failed; None if none did, or nothing was seen."""
    html: str = ""
    """Path of the HTML file, if one was written."""
    archived: bool = False
    """Whether `session.list` leaves it out."""
    names: dict[str, str] = msgspec.field(default_factory=dict)
    """Names of the nodes above, by node id; the own one is ``this node``."""
    sends: tuple[Sends, ...] = ()
    """What its steps send that changes something, …"""
    sends_digest: str = ""
    """… and the digest by which `session.replay` is told to send it again; empty if nothing is sent."""


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
    uncounted: dict[str, tuple[int, ...]] = msgspec.field(default_factory=dict)
    """As ``Replayed.uncounted``."""
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
    uncounted: dict[str, tuple[int, ...]] = msgspec.field(default_factory=dict)
    """Steps that matched though they are not as recorded in what the level does not ask for: their numbers, by what differs
    (``text``, ``address``, ``title``, ``extracted value``, ``assertion``, ``alerts``). Follows from the report."""
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
