"""The verbs of recorded sessions."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from node.verbs import rows
from node.verbs.verb import ALL_WHO_WORK, OWNER_AND_AGENTS, OWNER_ONLY, Params, Row, Verb, argument, option
from protocol import limits
from protocol.page.secrets import GivenSecret, Name
from protocol.recording.replay import Difference
from protocol.recording.session import BrowserInfo, ReplayReport, Session, Step, Verdict

# --- what they take --------------------------------------------------------------------------------------------------

_SESSION: Final = argument("Id of the session.", metavar="SESSION")
_SECRETS: Final = option(
    "A secret the actions name, read from a file, for the password fields of a site (docs/risk.md). Repeat for more.",
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


class RecordParams(Params, frozen=True, kw_only=True):
    """``session.record``"""

    actions: Annotated[str, argument("The text of the action file.", metavar="ACTIONS", reads="file")]
    name: Annotated[str, option("What the recording is called if its file gives no title.", flag="-")] = ""
    secrets: Annotated[dict[Name, GivenSecret], _SECRETS] = msgspec.field(default_factory=dict)
    allow: Annotated[tuple[str, ...], _ALLOW] = ()
    approve_class: Annotated[int, _APPROVE] = 0

    def __repr__(self) -> str:
        return f"RecordParams(name={self.name!r}, secrets={sorted(self.secrets)})"


class ListParams(Params, frozen=True, kw_only=True):
    """``session.list``"""

    text: Annotated[str, argument("Searched in title, address and id.", metavar="TEXT")] = ""
    limit: Annotated[int, option("At most this many.", ge=1, le=limits.LIST_ROWS_MAX)] = 50


class SessionParams(Params, frozen=True, kw_only=True):
    """Verbs about one session."""

    session: Annotated[str, _SESSION]


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
    force: Annotated[bool, option("Replace the file if there is one.")] = False


class ImportParams(Params, frozen=True, kw_only=True):
    """``session.import``"""

    path: Annotated[str, argument("Absolute path of the bundle.", metavar="BUNDLE", reads="path")]


class ReplayParams(Params, frozen=True, kw_only=True):
    """``session.replay``"""

    session: Annotated[str, _SESSION]
    base_url: Annotated[str, option("Replay at another origin, for example a staging server.", metavar="URL")] = ""
    out: Annotated[
        str,
        option("Write the signed replay report here, for the recorder to verify.", metavar="FILE", reads="path"),
    ] = ""
    on_mismatch: Annotated[
        Literal["stop", "go"],
        option(
            "After a step that did not match: stop before the next step that writes (risk class 3 and up), or perform it too."
        ),
    ] = "stop"
    secrets: Annotated[dict[Name, GivenSecret], _SECRETS] = msgspec.field(default_factory=dict)
    allow: Annotated[tuple[str, ...], _ALLOW] = ()
    approve_class: Annotated[int, _APPROVE] = 0

    def __repr__(self) -> str:
        return f"ReplayParams(session={self.session!r}, secrets={sorted(self.secrets)})"


# --- what they give --------------------------------------------------------------------------------------------------


class RecordedSession(Session, frozen=True, kw_only=True):
    """The session that was recorded."""

    blocked: tuple[str, ...]
    """What the network guard refused meanwhile, each ``METHOD /path``."""
    extracted: dict[str, str]
    """What ``extract`` steps have read, by their names."""


class SessionList(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions, newest first."""

    sessions: list[Session]
    text: str
    """What was searched for."""


class RefusedReport(msgspec.Struct, frozen=True, kw_only=True):
    """A replay report that was believed when it was stored, and is not now."""

    node: str
    """Who signed it."""
    name: str
    code: str
    """Why: ``peer.distrusted``, ``keylog.revoked``, …"""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A session with everything that is known about it."""

    session: Session
    steps: tuple[Step, ...]
    described: tuple[str, ...]
    """What each step does, in words."""
    signed_by: str = ""
    """Node id; empty while it is not committed."""
    manifest: str = ""
    """SHA-256 of the signed manifest, hex."""
    standing: str = ""
    """Error code of why its signer is not relied on any more; empty when it is."""
    reports: tuple[ReplayReport, ...] = ()
    unreached: dict[str, str] = msgspec.field(default_factory=dict)
    """As ``Replayed.unreached``, by id of those reports that met no page."""
    reports_refused: tuple[RefusedReport, ...] = ()
    """Stored reports that are not believed any more."""


class Remains(msgspec.Struct, frozen=True, kw_only=True):
    """The redacted manifest of a session that was removed: that it was, and nothing of what was seen or done in it."""

    id: str
    node: str
    """Node id of the recorder."""
    created_ms: int
    duration_ms: int
    steps: int
    verdict: Verdict
    browser: BrowserInfo
    manifest: str
    """SHA-256 of the manifest that was signed, hex: a bundle that was exported can be told by it. Empty if none was."""
    removed_ms: int


class WasRemoved(msgspec.Struct, frozen=True, kw_only=True):
    """What ``session.show`` gives of a session that was removed."""

    removed: Remains


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """What was removed."""

    session: str
    title: str
    steps: int


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What a verification found. An error is the other outcome."""

    what: Literal["session", "bundle", "replay-report"]
    id: str
    session: str
    signer: str
    """Node id."""
    signer_name: str
    issued_s: int
    manifest: str
    steps: int
    matched: int = 0
    """Replay reports only."""
    text: dict[str, int] = {}
    """How many steps' text was same, numbers, differs; replay reports only."""
    verdict: Verdict = Verdict.PASS
    origin: str = ""
    """Where it was replayed, if that was another origin than the recorded one."""
    unreached: str = ""
    """As ``Replayed.unreached``."""


class Exported(Verified, frozen=True, kw_only=True):
    """The bundle that was written."""

    out: str
    """Path of the file."""


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """A replay and where its signed report lies."""

    report: ReplayReport
    described: tuple[str, ...]
    signed_by: str
    differences: tuple[Difference, ...]
    """What was not as recorded, the first of each step; not in the report."""
    secrets_missing: tuple[str, ...]
    """Without these, pages cannot be redacted as the recording was, and ``differences`` is empty."""
    out: str = ""
    unreached: str = ""
    """Error code of why no page was met, so that the report says nothing about the recording; empty if one was."""
    stopped: str = ""
    """Which step was not performed because it writes after a mismatch, and why; empty if none was held back."""


# --- the verbs -------------------------------------------------------------------------------------------------------

RECORD: Final = Verb(
    name="session.record",
    command="session record",
    takes=RecordParams,
    gives=RecordedSession,
    help="""Drive the actions of a file in a browser and record them as a signed session.

    ACTIONS is YAML, or JSON exported by the Chrome DevTools Recorder (docs/devtools-recorder.md). Requests other than GET
    are refused unless --allow names them; what was refused stands behind its step, here and in `session show`.

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
    help="List sessions, newest first; TEXT is searched in title, address and id.",
    callers=OWNER_AND_AGENTS,
    scope="read",
    read_only=True,
    row=None,
)
SHOW: Final = Verb(
    name="session.show",
    command="session show",
    takes=SessionParams,
    gives=Shown | WasRemoved,
    help="Show a session step by step, who signed it, and its replays; of one that was removed, what is left of it.",
    callers=OWNER_AND_AGENTS,
    scope="read",
    read_only=True,
    row=None,
)
VERIFY: Final = Verb(
    name="session.verify",
    command="session verify",
    takes=TargetParams,
    gives=Verified,
    help="""Check signatures and content of a session (id), a bundle or a replay report (file).

    The name of a file that exists, or that ends in .tmsession, is a file, also when it begins like an id.
    A fault names the element that does not match. A replay report that verifies is kept with its session.
    """,
    callers=OWNER_ONLY,
    row=None,
)
EXPORT: Final = Verb(
    name="session.export",
    command="session export",
    takes=ExportParams,
    gives=Exported,
    help="Write a session as one signed file that another node can verify and replay.",
    callers=OWNER_ONLY,
    row=Row(subject=lambda given: given.session, note=lambda given: {"out": given.out}),
)
IMPORT: Final = Verb(
    name="session.import",
    command="session import",
    takes=ImportParams,
    gives=Verified,
    help="Verify a bundle and keep it. Its signer must be a peer of this node.",
    callers=OWNER_ONLY,
    row=Row(note=lambda given: {"path": given.path}),
)
REMOVE: Final = Verb(
    name="session.remove",
    command="session rm",
    takes=SessionParams,
    gives=Removed,
    help="""Remove a session with its steps, pictures, signatures and replay reports.

    Bundles that were exported stay what they are. What stays here is a manifest without what was seen or done (`session show`):
    when, by whom, how many steps, which verdict, its hash; that it was signed, in the witness log; that it was removed, on the
    audit trail.
    """,
    callers=OWNER_ONLY,
    row=Row(subject=lambda given: given.session),
)
REPLAY: Final = Verb(
    name="session.replay",
    command="session replay",
    takes=ReplayParams,
    gives=Replayed,
    help="""Drive a session again in a fresh browser context and sign, step by step, what matched.

    A step matches by address, title, controls and headings without their numbers, and extracted text. How the whole text of its
    page compares is said beside that: same, only numbers differ, differs. What differs is shown, and is not in the report.

    Once a step did not match, steps that read go on, and the replay ends before the first step that writes (docs/risk.md).

    SESSION is an id: a bundle is imported first. Exit code 1 when it did not match throughout; text does not count for that. Exit
    code 3 when the site could not be reached: a report is signed then as well, and says nothing about the recording.
    """,
    callers=ALL_WHO_WORK,
    scope="replay",
    owner_fields=frozenset({"allow", "approve_class", "on_mismatch", "out"}),
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

VERBS: Final[tuple[Verb, ...]] = (RECORD, LIST, SHOW, VERIFY, EXPORT, IMPORT, REMOVE, REPLAY)
