"""Verbs for recorded sessions: record, list, show, verify, export, import, replay, remove."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from node.verbs import rows
from node.verbs.verb import ALL_WHO_WORK, OWNER_AND_AGENTS, OWNER_ONLY, NoParams, Params, Row, Verb, argument, option
from protocol import limits
from protocol.page.secrets import GivenSecret, Name
from protocol.recording.diff import StepDiff
from protocol.recording.findings import Difference
from protocol.recording.session import BrowserInfo, ReplayReport, Session, Step, Verdict
from protocol.risk.allowed import AllowedRequest

# --- parameters ------------------------------------------------------------------------------------------------------

_SESSION: Final = argument("Id of the session.", metavar="SESSION")
_SECRETS: Final = option(
    "A secret that the actions name, read from a file, for the password fields of a site (docs/risk.md). Repeat for more.",
    flag="--secret",
    metavar="NAME@ORIGIN=@FILE",
    reads="secrets",
    max_length=limits.SECRETS_MAX,
)
_ALLOW: Final = option(
    "A request other than GET that may be sent, for example 'POST https://shop.example/login'.",
    metavar="'METHOD URL'",
)
_APPROVE: Final = option("Approve risk classes up to N for this run (docs/risk.md).", metavar="N", ge=0, le=7)

_HTML: Final = option(
    "Also write it as one HTML file that needs no network: steps, pictures, differences, signatures.",
    metavar="FILE",
    reads="path",
)


class RecordParams(Params, frozen=True, kw_only=True):
    """``session.record``"""

    actions: Annotated[str, argument("Content of the action file.", metavar="ACTIONS", reads="file-or-address")]
    name: Annotated[str, option("Title of the recording if the action file has none.", flag="-")] = ""
    secrets: Annotated[dict[Name, GivenSecret], _SECRETS] = msgspec.field(default_factory=dict)
    allow: Annotated[tuple[AllowedRequest, ...], _ALLOW] = ()
    approve_class: Annotated[int, _APPROVE] = 0

    def __repr__(self) -> str:
        return f"RecordParams(name={self.name!r}, secrets={sorted(self.secrets)})"


class ListParams(Params, frozen=True, kw_only=True):
    """``session.list``"""

    text: Annotated[str, argument("Only sessions with this text in title, address or id.", metavar="TEXT")] = ""
    limit: Annotated[int, option("At most this many.", ge=1, le=limits.LIST_ROWS_MAX)] = 50


class SessionParams(Params, frozen=True, kw_only=True):
    """Verbs about one session."""

    session: Annotated[str, _SESSION]


class ShowParams(SessionParams, frozen=True, kw_only=True):
    """``session.show``"""

    html: Annotated[str, _HTML] = ""


class DiffParams(Params, frozen=True, kw_only=True):
    """``session.diff``"""

    first: Annotated[str, argument("Id of a session.", metavar="FIRST")]
    second: Annotated[str, argument("Id of the session that is compared with it.", metavar="SECOND")]


class TargetParams(Params, frozen=True, kw_only=True):
    """``session.verify``"""

    target: Annotated[
        str,
        argument("Id of a session, or the absolute path of a bundle or report.", metavar="TARGET", reads="id-or-path"),
    ]


class ExportParams(Params, frozen=True, kw_only=True):
    """``session.export``"""

    session: Annotated[str, _SESSION]
    out: Annotated[
        str,
        option("Where to write the bundle.  [default: <session>.tmsession]", metavar="FILE", reads="path"),
    ] = ""
    force: Annotated[bool, option("Replace the file if it exists.")] = False


class ImportParams(Params, frozen=True, kw_only=True):
    """``session.import``"""

    path: Annotated[str, argument("Absolute path of the bundle.", metavar="BUNDLE", reads="path")]


class ReplayParams(Params, frozen=True, kw_only=True):
    """``session.replay``"""

    session: Annotated[str, _SESSION]
    base_url: Annotated[
        str, option("Replay at another origin, for example that of a staging server.", metavar="URL")
    ] = ""
    out: Annotated[
        str,
        option(
            "Write the signed replay report to this file, so that the recording node can verify it.",
            metavar="FILE",
            reads="path",
        ),
    ] = ""
    on_mismatch: Annotated[
        Literal["stop", "go"],
        option(
            "After a step that did not match: stop before the next step that writes (risk class 3 or higher), or "
            "go on and perform it."
        ),
    ] = "stop"
    level: Annotated[
        Literal["", "performed", "asserted", "structure", "text"],
        option(
            "What of each step must hold: that it was performed, its assertions and typed extracts, the structure of the page "
            "(address, controls, headings), or its text. Each includes those before it.  [default: asserted if the session "
            "asserts something, else text]"
        ),
    ] = ""
    strict: Annotated[
        Literal["", "text"],
        option("Require the text to be the same to the letter: compare also what changes by itself, such as times."),
    ] = ""
    secrets: Annotated[dict[Name, GivenSecret], _SECRETS] = msgspec.field(default_factory=dict)
    allow: Annotated[tuple[AllowedRequest, ...], _ALLOW] = ()
    approve_class: Annotated[int, _APPROVE] = 0
    junit: Annotated[
        str, option("Also write the result as JUnit XML: one test case a step.", metavar="FILE", reads="path")
    ] = ""
    markdown: Annotated[str, option("Also write a summary in Markdown.", metavar="FILE", reads="path")] = ""
    html: Annotated[str, _HTML] = ""

    def __repr__(self) -> str:
        return f"ReplayParams(session={self.session!r}, secrets={sorted(self.secrets)})"


# --- results ---------------------------------------------------------------------------------------------------------


class RecordedSession(Session, frozen=True, kw_only=True):
    """The recorded session."""

    blocked: tuple[str, ...]
    """What the network guard refused meanwhile, each ``METHOD /path``, with the site before the path if it is
    not that of the page."""
    extracted: dict[str, str]
    """Values that ``extract`` steps have read, by name."""


class SessionList(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions, newest first."""

    sessions: list[Session]
    text: str
    """Text that was searched for."""


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
    """For reports that reached no page: the error code as in ``Replayed.unreached``, by id of the report."""
    reports_refused: tuple[RefusedReport, ...] = ()
    """Stored reports that are no longer accepted."""
    html: str = ""
    """Path of the HTML file, if one was written."""


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


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """Result of removing a session."""

    session: str
    title: str
    steps: int


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


class SessionDiff(msgspec.Struct, frozen=True, kw_only=True):
    """Two recordings, compared."""

    first: Session
    second: Session
    steps: tuple[StepDiff, ...]
    same: bool
    """Whether no step differs and none is in one of them only."""


class TrustKey(msgspec.Struct, frozen=True, kw_only=True):
    """The key of this node, for machines that have no node."""

    node: str
    """Node id."""
    name: str
    key: str
    """One line (``protocol/trust/trust_key.py``): node id and key log."""


class Exported(Verified, frozen=True, kw_only=True):
    """The exported bundle."""

    out: str
    """Path of the file."""


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
    """Error code that says why no page was reached, so the report says nothing about the recording; empty if a page was reached."""
    stopped: str = ""
    """The step that was not performed because it writes after a mismatch, with the reason; empty if there was none."""
    replayable: int
    """Number of steps that a replay performs: those that succeeded in the recording."""
    stopped_at: int = 0
    """Number of the step that the replay could not or must not perform; 0 if there was none."""
    lacking: str = ""
    """What the call lacked at the first step that did not match, and the option to add: an approval, an allowed request, or the
    site of a secret. Empty if it lacked nothing; otherwise the report says nothing about the site."""


# --- the verbs -------------------------------------------------------------------------------------------------------

RECORD: Final = Verb(
    name="session.record",
    command="session record",
    takes=RecordParams,
    gives=RecordedSession,
    help="""Perform the actions of a file in a browser and record them as a signed session.

    ACTIONS is YAML (docs/action-files.md describes all actions), or JSON exported by the Chrome DevTools Recorder
    (docs/devtools-recorder.md). Requests other than GET are
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
    row=Row(risk=rows.approved, note=lambda given: {"actions": given.name, **rows.driven(given)}),
)
LIST: Final = Verb(
    name="session.list",
    command="session ls",
    takes=ListParams,
    gives=SessionList,
    help="List sessions, newest first. With TEXT: only those with this text in title, address or id.",
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
    help="Write a session to one signed file, which another node can verify and replay.",
    callers=OWNER_ONLY,
    row=Row(subject=lambda given: given.session, note=lambda given: {"out": given.out}),
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
REMOVE: Final = Verb(
    name="session.remove",
    command="session rm",
    takes=SessionParams,
    gives=Removed,
    help="""Remove a session with its steps, screenshots, signatures and replay reports.

    Exported bundles are not affected. The node keeps a redacted manifest (`session show`): time, recorder, number of steps,
    verdict and hash, but nothing of the pages or actions. The witness log still shows that the session was signed, and the audit
    trail that it was removed.
    """,
    callers=OWNER_ONLY,
    row=Row(subject=lambda given: given.session),
)
REPLAY: Final = Verb(
    name="session.replay",
    command="session replay",
    takes=ReplayParams,
    gives=Replayed,
    help="""Replay a session in a new browser context and sign a report of which steps matched.

    The replay passes if the recording passed, every step holds at the level, and no request for a document or data newly went
    wrong. At level text the page must have the recorded text and title, except for what changes by itself (times, dates,
    generated ids, counters; `session show` says how much that is). Differences are shown here and are not part of the report.

    After a step that did not match, steps that only read are still performed; the replay stops before the first step that writes
    (docs/risk.md).

    SESSION is an id; import a bundle first. With --trust it is a bundle, and no node is needed: only a signature by the named key
    counts, the replay runs in a temporary data directory that is removed afterwards, and a temporary key signs the report
    (docs/ci.md). Exit codes: 0 the replay passed; 1 it did not, and the reason comes first;
    2 the first step that did not match lacked an approval, an allowed request or a secret for its site, and the output says what
    to add; 3 the site could not be reached. A report is signed in all these cases. With 2 and 3 it says nothing about the site.
    """,
    callers=ALL_WHO_WORK,
    scope="replay",
    owner_fields=frozenset({"allow", "approve_class", "on_mismatch", "out", "junit", "markdown", "html"}),
    row=Row(
        subject=lambda given: given.session,
        risk=rows.approved,
        note=lambda given: {
            "base_url": rows.where(given.base_url) if given.base_url else "",
            "on_mismatch": given.on_mismatch,
            **rows.driven(given),
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
    gives=SessionDiff,
    help="""Compare two recordings: steps that only one of them has, and what differs after each step that both have.

    Steps are paired by their actions, in order. Compared are outcome, address, title, extracted text and the lines of the page. If
    the two began at different origins, addresses are compared without them. Exit codes: 0 nothing differs; 1 something does.
    """,
    callers=OWNER_AND_AGENTS,
    scope="read",
    read_only=True,
    row=None,
)

VERBS: Final[tuple[Verb, ...]] = (RECORD, LIST, SHOW, VERIFY, EXPORT, IMPORT, REMOVE, REPLAY, DIFF, TRUST_KEY)
