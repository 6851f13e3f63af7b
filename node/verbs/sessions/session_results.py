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
    """The request, in words."""
    level: int
    """Its risk class."""


class Missed(msgspec.Struct, frozen=True, kw_only=True):
    """A step that could not be performed, because none of the requests before it has left. It may send further requests."""

    step: int
    what: str
    """The step, in words."""
    level: int
    """Its risk class, judged by its words alone."""
    why: str


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that must be given so that a file can be recorded or a session replayed."""

    secrets: tuple[str, ...]
    """Names of the secrets that are typed."""
    uploads: tuple[str, ...]
    """Names of the files that are uploaded."""
    capsule: str
    """The capsule that it begins with; empty for none."""
    sends: tuple[Sends, ...]
    """Requests of its steps that change something, or may."""
    allow: tuple[str, ...] = ()
    """For a file: the values of `--allow` for these requests."""
    approve_class: int = 0
    """The highest risk class to approve; 0 for none."""
    inputs: dict[str, str] = {}
    """For a session: its inputs, with the values of the recording."""
    digest: str = ""
    """For a session: the value of `--writes`; empty if the session lists no such request."""
    missed: tuple[Missed, ...] = ()
    """For a file: the steps that could not be performed, so more may be needed."""


class RecordedSession(Session, frozen=True, kw_only=True):
    """The recorded session."""

    blocked: tuple[str, ...]
    """Requests that the network guard refused meanwhile, each ``METHOD /path``, with the site before the path if it differs from
    the page's site.
    """
    extracted: dict[str, str]
    """Values read by ``extract`` steps, by name."""
    doubts: tuple[str, ...] = ()
    """Steps that may compare nothing: an assertion that an element is absent which no earlier page has shown, or an extract that
    read no text. They do not change the verdict.
    """
    unguarded: tuple[str, ...] = ()
    """Requests that the network guard cannot see, because somebody else started the browser."""
    proposes: str = ""
    """A capsule for the site of a page that asked for a login; empty if no page did, or no such capsule exists."""
    needs: Needs | None = None
    """Everything that the file needs, if that was requested."""


class SessionList(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions, newest first."""

    sessions: list[Session]
    text: str
    """The text that was searched for."""
    archived: bool = False
    """True if these are the archived sessions."""
    names: dict[str, str] = msgspec.field(default_factory=dict)
    """Names of these nodes, by node id. This node is called ``this node``."""


class RefusedReport(msgspec.Struct, frozen=True, kw_only=True):
    """A replay report that was accepted when it was stored and is rejected now."""

    node: str
    """Node id of its signer."""
    name: str
    code: str
    """Error code of the rejection: ``peer.distrusted``, ``keylog.revoked``, …"""


class FailedPage(msgspec.Struct, frozen=True, kw_only=True):
    """The page on which a step of a recording failed, with the elements that are there instead."""

    step: int
    """Number of the step."""
    url: str
    title: str
    lines: tuple[str, ...]
    """The page as it was recorded, without secrets: one line for each element or text. All text comes from the site."""
    more: int = 0
    """Number of further lines."""


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
    """Error codes of the reports whose replay could not reach the site, as in ``Replayed.unreached``, by id of the report."""
    uncounted: dict[str, dict[str, tuple[int, ...]]] = msgspec.field(default_factory=dict)
    """As ``Replayed.uncounted``, by id of the report."""
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
    """Names of these nodes, by node id. This node is called ``this node``."""
    sends: tuple[Sends, ...] = ()
    """Requests of its steps that change something."""
    sends_digest: str = ""
    """The digest of ``sends``, with which `session.replay` is told to send them again; empty if there are none."""


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
    """Name of the recorder, by node id. This node is called ``this node``."""


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a successful verification. A failed verification is an error."""

    what: Literal["session", "bundle", "replay-report"]
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
    """Number of the step that the replay could not or must not perform; 0 if there was none. Only for replay reports."""
    text: dict[str, int] = {}
    """Number of steps by text comparison: same, masked, numbers, differs. Only for replay reports."""
    verdict: Verdict = Verdict.PASS
    reason: str = ""
    """The reason why the verdict is not ``pass``."""
    level: str = ""
    """The level at which each step had to match. Only for replay reports."""
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
    """True if no step differs and both have the same steps."""
    html: str = ""
    """Path of the HTML file, if one was written."""


class RunDiff(msgspec.Struct, frozen=True, kw_only=True):
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
    """Its form: ``bundle``, ``recorder`` or ``playwright``."""
    lost: tuple[str, ...] = ()
    """Parts of the session that the form cannot express; the file has them as comments."""


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a replay, with its signed report."""

    report: ReplayReport
    described: tuple[str, ...]
    signed_by: str
    differences: tuple[Difference, ...]
    """The differences, in the order of their importance within each step; not part of the report."""
    secrets_missing: tuple[str, ...]
    """Secrets that were not given. Without them, pages cannot be redacted as in the recording, so ``differences`` stays empty."""
    out: str = ""
    unreached: str = ""
    """Error code that says why the first step that did not match reached no page; empty if it reached one. With such a code, the
    report says nothing about the recording.
    """
    uncounted: dict[str, tuple[int, ...]] = msgspec.field(default_factory=dict)
    """Numbers of the steps that matched at the required level but differ in something else, by that difference (``text``,
    ``address``, ``title``, ``extracted value``, ``assertion``, ``alerts``). Follows from the report.
    """
    stopped: str = ""
    """The step that was not performed because it writes after a mismatch, with the reason; empty if there was none."""
    replayable: int
    """Number of steps that a replay performs: those that succeeded in the recording."""
    stopped_at: int = 0
    """Number of the step that the replay could not or must not perform; 0 if there was none."""
    lacking: str = ""
    """The permission that the call lacked at the first step that did not match, and the option to add: an approval, an allowed
    request, or the site of a secret. Empty if it lacked nothing; otherwise the report says nothing about the site.
    """
    call_log: tuple[str, ...] = ()
    """The attempts at the last step, if it was not performed or its assertion failed: how its element was looked for, on which
    page, how that ended, and the most similar elements. Empty if secrets of the recording were not given.
    """
    agreed: tuple[int, ...] = ()
    """Steps that write and were performed after a mismatch, because the owner said yes. Not part of the report."""
    names: dict[str, str] = msgspec.field(default_factory=dict)
    """Names of these nodes, by node id. This node is called ``this node``."""
    proposes: str = ""
    """As ``RecordedSession.proposes``."""
