"""Results of the verbs for recorded sessions."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from node.verbs.sessions.session_gates import PersonalData, SpokenTo
from node.verbs.shown import shown
from protocol.recording.records.findings import Difference
from protocol.recording.records.session import BrowserInfo, ChangedInput, ReplayReport, Session, Step
from protocol.recording.records.verdict import Verdict
from protocol.recording.replays.diff import StepDiff
from protocol.recording.replays.report_diff import RunStep

_SENDS: Final = "step {step} sends {what}, class {level}"
_LISTED: Final = "{id} {verdict}, {steps}, {created_ms} UTC, by {node}: {title}, {start_url}"


class ShownEffect(msgspec.Struct, frozen=True, kw_only=True):
    """A request of a step that changes something, or may."""

    step: Annotated[int, shown("step")]
    what: Annotated[str, shown("what")]
    """The request, in words."""
    level: Annotated[int, shown("class")]
    """Its risk class."""


class Missed(msgspec.Struct, frozen=True, kw_only=True):
    """A step that could not be performed, because none of the requests before it has left. It may send further requests."""

    step: Annotated[int, shown("step")]
    what: Annotated[str, shown("what")]
    """The step, in words."""
    level: Annotated[int, shown("class")]
    """Its risk class, judged by its words alone."""
    why: Annotated[str, shown("why")]


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that must be given so that a file can be recorded or a session replayed."""

    secrets: Annotated[tuple[str, ...], shown("secrets")]
    """Names of the secrets that are typed."""
    uploads: Annotated[tuple[str, ...], shown("files")]
    """Names of the files that are uploaded."""
    capsule: Annotated[str, shown("login")]
    """The capsule that it begins with; empty for none."""
    sends: Annotated[tuple[ShownEffect, ...], shown("sends", brief=_SENDS)]
    """Requests of its steps that change something, or may."""
    allow: Annotated[tuple[str, ...], shown("to allow", as_="lines")] = ()
    """For a file: the values of `--allow` for these requests."""
    approve_class: Annotated[int, shown("class to approve")] = 0
    """The highest risk class to approve; 0 for none."""
    inputs: Annotated[dict[str, str], shown("inputs", as_="lines")] = {}
    """For a session: its inputs, with the values of the recording."""
    digest: Annotated[str, shown("writes")] = ""
    """For a session: the value of `--writes`; empty if the session lists no such request."""
    missed: Annotated[
        tuple[Missed, ...], shown("missed", brief="step {step}: {what}, class {level} by its words: {why}")
    ] = ()
    """For a file: the steps that could not be performed, so more may be needed."""


class RecordedSession(Session, frozen=True, kw_only=True):
    """The recorded session."""

    blocked: Annotated[tuple[str, ...], shown("guard refused")]
    """Requests that the network guard refused meanwhile, each ``METHOD /path``, with the site before the path if it differs from
    the page's site.
    """
    extracted: Annotated[dict[str, str], shown("read", as_="lines")]
    """Values read by ``extract`` steps, by name."""
    doubts: Annotated[tuple[str, ...], shown("doubts", as_="lines")] = ()
    """Steps that may compare nothing: an assertion that an element is absent which no earlier page has shown, or an extract that
    read no text. They do not change the verdict.
    """
    unguarded: Annotated[tuple[str, ...], shown("not guarded", as_="lines")] = ()
    """Requests that the network guard cannot see, because somebody else started the browser."""
    proposes: Annotated[str, shown("login for it", as_="argument", words="--capsule {}")] = ""
    """A capsule for the site of a page that asked for a login; empty if no page did, or no such capsule exists."""
    needs: Annotated[Needs | None, shown("needs", as_="block")] = None
    """Everything that the file needs, if that was requested."""


class SessionList(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions, newest first."""

    sessions: Annotated[
        list[Session],
        shown("sessions", as_="lines", brief=_LISTED, empty="no such sessions (`trailmesh session record` makes one)"),
    ]
    text: Annotated[str, shown("text", as_="hidden")]
    """The text that was searched for."""
    archived: Annotated[bool, shown("archived", as_="hidden")] = False
    """True if these are the archived sessions."""
    names: Annotated[dict[str, str], shown("names", as_="names")] = msgspec.field(default_factory=dict)
    """Names of these nodes, by node id. This node is called ``this node``."""


class RefusedReport(msgspec.Struct, frozen=True, kw_only=True):
    """A replay report that was accepted when it was stored and is rejected now."""

    node: Annotated[str, shown("replayed by", as_="node")]
    """Node id of its signer."""
    name: Annotated[str, shown("name", as_="hidden")]
    code: Annotated[str, shown("code")]
    """Error code of the rejection: ``peer.distrusted``, ``keylog.revoked``, …"""


class FailedPage(msgspec.Struct, frozen=True, kw_only=True):
    """The page on which a step of a recording failed, with the elements that are there instead."""

    step: Annotated[int, shown("step")]
    """Number of the step."""
    url: Annotated[str, shown("url")]
    title: Annotated[str, shown("title")]
    lines: Annotated[tuple[str, ...], shown("lines", as_="lines")]
    """The page as it was recorded, without secrets: one line for each element or text. All text comes from the site."""
    more: Annotated[int, shown("left out", unit="line", words="{} more")] = 0
    """Number of further lines."""


class ShownSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session with everything that is known about it."""

    session: Annotated[Session, shown("session", as_="inline")]
    steps: Annotated[tuple[Step, ...], shown("steps")]
    described: Annotated[tuple[str, ...], shown("action", beside="steps")]
    """Description of each step."""
    signed_by: Annotated[str, shown("signed by", as_="node", empty="not committed")] = ""
    """Node id of the signer; empty until the session is committed."""
    manifest: Annotated[str, shown("manifest")] = ""
    """SHA-256 of the signed manifest, hex."""
    standing: Annotated[str, shown("standing", into="signed_by", words=", no longer relied on [{}]")] = ""
    """Error code that says why its signer is no longer relied on; empty if it is relied on."""
    replayable: Annotated[int, shown("steps of a replay", as_="hidden")] = 0
    """Number of steps that a replay performs: those that succeeded in the recording."""
    reports: Annotated[tuple[ReplayReport, ...], shown("replays", as_="hidden")] = ()
    unreached: Annotated[dict[str, str], shown("not reached", as_="hidden")] = msgspec.field(default_factory=dict)
    """Error codes of reports whose replay could not reach the site (``ReplayedSession.unreached``), by id of the report."""
    uncounted: Annotated[dict[str, dict[str, tuple[int, ...]]], shown("not counted", as_="hidden")] = msgspec.field(
        default_factory=dict
    )
    """As ``ReplayedSession.uncounted``, by id of the report."""
    reports_refused: Annotated[
        tuple[RefusedReport, ...], shown("no longer relied on", brief="replayed by {node}: {code}")
    ] = ()
    """Stored reports that are no longer accepted."""
    personal: Annotated[tuple[PersonalData, ...], shown("personal data", as_="hidden")] = ()
    spoken_to: Annotated[tuple[SpokenTo, ...], shown("to models", as_="hidden")] = ()
    failed: Annotated[FailedPage | None, shown("failed page")] = None
    """The page of the last failed step; None if no step failed, or no page was seen."""
    html: Annotated[str, shown("page")] = ""
    """Path of the HTML file, if one was written."""
    archived: Annotated[bool, shown("archived", words="`trailmesh session unarchive` lists it again")] = False
    """True if `session.list` leaves it out."""
    names: Annotated[dict[str, str], shown("names", as_="names")] = msgspec.field(default_factory=dict)
    """Names of these nodes, by node id. This node is called ``this node``."""
    sends: Annotated[tuple[ShownEffect, ...], shown("sends", brief=_SENDS)] = ()
    """Requests of its steps that change something."""
    sends_digest: Annotated[str, shown("writes", words="{} (`session replay --writes`)")] = ""
    """The digest of ``sends``, with which `session.replay` is told to send them again; empty if there are none."""


class Remains(msgspec.Struct, frozen=True, kw_only=True):
    """The redacted manifest of a removed session. It shows that the session existed, but nothing of its pages or actions."""

    id: Annotated[str, shown("session")]
    node: Annotated[str, shown("recorded by", as_="node")]
    """Node id of the recorder."""
    created_ms: Annotated[int, shown("recorded", as_="time", unit="ms")]
    duration_ms: Annotated[int, shown("took", as_="duration", unit="ms")]
    steps: Annotated[int, shown("length", unit="step")]
    verdict: Annotated[Verdict, shown("verdict")]
    browser: Annotated[BrowserInfo, shown("browser", brief="{name} {version} ({backend})")]
    manifest: Annotated[str, shown("manifest", empty="none: it was not committed")]
    """SHA-256 of the signed manifest, hex; it identifies exported bundles of the session. Empty if nothing was signed."""
    removed_ms: Annotated[int, shown("removed", as_="time", unit="ms")]


class WasRemoved(msgspec.Struct, frozen=True, kw_only=True):
    """Result of ``session.show`` for a removed session."""

    removed: Annotated[Remains, shown("removed", as_="inline")]
    names: Annotated[dict[str, str], shown("names", as_="names")] = msgspec.field(default_factory=dict)
    """Name of the recorder, by node id. This node is called ``this node``."""


class SessionVerification(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a successful verification. A failed verification is an error."""

    what: Annotated[Literal["session", "bundle", "replay-report"], shown("verified")]
    id: Annotated[str, shown("id")]
    session: Annotated[str, shown("session")]
    signer: Annotated[str, shown("signer", as_="node")]
    """Node id of the signer."""
    signer_name: Annotated[str, shown("signed by")]
    issued_s: Annotated[int, shown("signed", as_="time", unit="s")]
    manifest: Annotated[str, shown("manifest")]
    steps: Annotated[int, shown("length", unit="step")]
    """Number of recorded steps; for a replay report, the number of steps that a replay performs."""
    matched: Annotated[int, shown("matched", unit="step")] = 0
    """Number of matched steps. Only for replay reports."""
    stopped_at: Annotated[int, shown("stopped at step")] = 0
    """Number of the step that the replay could not or must not perform; 0 if there was none. Only for replay reports."""
    text: Annotated[dict[str, int], shown("text")] = {}
    """Number of steps by text comparison: same, masked, numbers, differs. Only for replay reports."""
    verdict: Annotated[Verdict, shown("verdict")] = Verdict.PASS
    reason: Annotated[str, shown("reason", into="verdict", words=" ({})")] = ""
    """The reason why the verdict is not ``pass``."""
    level: Annotated[str, shown("level")] = ""
    """The level at which each step had to match. Only for replay reports."""
    origin: Annotated[str, shown("replayed at")] = ""
    """Origin of the replay, if it differs from the recorded one."""
    unreached: Annotated[str, shown("not reached")] = ""
    """As ``ReplayedSession.unreached``."""
    uncounted: Annotated[dict[str, tuple[int, ...]], shown("not counted", as_="hidden")] = msgspec.field(
        default_factory=dict
    )
    """As ``ReplayedSession.uncounted``."""
    inputs: Annotated[tuple[ChangedInput, ...], shown("inputs", brief="{name} “{value}” for “{recorded}”")] = ()
    """Inputs that the replay changed. Only for replay reports."""


class SessionDiff(msgspec.Struct, frozen=True, kw_only=True):
    """Two recordings, compared."""

    first: Annotated[Session, shown("first")]
    second: Annotated[Session, shown("second")]
    steps: Annotated[tuple[StepDiff, ...], shown("steps")]
    same: Annotated[bool, shown("same")]
    """True if no step differs and both have the same steps."""
    html: Annotated[str, shown("page")] = ""
    """Path of the HTML file, if one was written."""


class RunDiff(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs of one session, compared by their reports."""

    session: Annotated[Session, shown("session")]
    first: Annotated[ReplayReport | None, shown("first run")]
    """None for the recording itself."""
    second: Annotated[ReplayReport | None, shown("second run")]
    steps: Annotated[tuple[RunStep, ...], shown("steps")]
    same: Annotated[bool, shown("same")]
    """True if both say the same about every step."""
    html: Annotated[str, shown("page")] = ""
    """Path of the HTML file, if one was written."""


class TrustKey(msgspec.Struct, frozen=True, kw_only=True):
    """The key of this node, for machines that have no node."""

    node: Annotated[str, shown("node")]
    """Node id."""
    name: Annotated[str, shown("name")]
    key: Annotated[str, shown("key")]
    """One line (``protocol/trust/trust_key.py``): node id and key log."""


class ExportedFile(SessionVerification, frozen=True, kw_only=True):
    """The exported file."""

    out: Annotated[str, shown("wrote")]
    """Path of the file."""
    form: Annotated[str, shown("form")] = "bundle"
    """Its form: ``bundle``, ``recorder`` or ``playwright``."""
    lost: Annotated[tuple[str, ...], shown("not written", as_="lines")] = ()
    """Parts of the session that the form cannot express; the file has them as comments."""


class ReplayedSession(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a replay, with its signed report."""

    report: Annotated[ReplayReport, shown("report")]
    described: Annotated[tuple[str, ...], shown("actions")]
    signed_by: Annotated[str, shown("signed by", as_="node")]
    differences: Annotated[tuple[Difference, ...], shown("differences")]
    """The differences, in the order of their importance within each step; not part of the report."""
    secrets_missing: Annotated[tuple[str, ...], shown("secrets not given")]
    """Secrets that were not given. Without them, pages cannot be redacted as in the recording, so ``differences`` stays empty."""
    out: Annotated[str, shown("wrote")] = ""
    unreached: Annotated[str, shown("not reached")] = ""
    """Error code that says why the first step that did not match reached no page; empty if it reached one. With such a code, the
    report says nothing about the recording.
    """
    uncounted: Annotated[dict[str, tuple[int, ...]], shown("not counted", as_="hidden")] = msgspec.field(
        default_factory=dict
    )
    """Numbers of the steps that matched at the required level but differ in something else, by that difference (``text``,
    ``address``, ``title``, ``extracted value``, ``assertion``, ``alerts``). Follows from the report.
    """
    stopped: Annotated[str, shown("stopped")] = ""
    """The step that was not performed because it writes after a mismatch, with the reason; empty if there was none."""
    replayable: Annotated[int, shown("steps of a replay")]
    """Number of steps that a replay performs: those that succeeded in the recording."""
    stopped_at: Annotated[int, shown("stopped at step")] = 0
    """Number of the step that the replay could not or must not perform; 0 if there was none."""
    lacking: Annotated[str, shown("lacking")] = ""
    """The permission that the call lacked at the first step that did not match, and the option to add: an approval, an allowed
    request, or the site of a secret. Empty if it lacked nothing; otherwise the report says nothing about the site.
    """
    call_log: Annotated[tuple[str, ...], shown("tried", as_="lines")] = ()
    """The attempts at the last step, if it was not performed or its assertion failed: how its element was looked for, on which
    page, how that ended, and the most similar elements. Empty if secrets of the recording were not given.
    """
    agreed: Annotated[tuple[int, ...], shown("agreed steps")] = ()
    """Steps that write and were performed after a mismatch, because the owner said yes. Not part of the report."""
    names: Annotated[dict[str, str], shown("names", as_="names")] = msgspec.field(default_factory=dict)
    """Names of these nodes, by node id. This node is called ``this node``."""
    proposes: Annotated[str, shown("login for it", as_="argument", words="--capsule {}")] = ""
    """As ``RecordedSession.proposes``."""
