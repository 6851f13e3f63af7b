"""Verbs for live browser sessions, which are opened, observed, acted in and closed by separate calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

import msgspec

from node.verbs import rows
from node.verbs.caller import CallerKind
from node.verbs.live.live_params import (
    ActingParams,
    ActParams,
    AssertParams,
    CheckParams,
    ChooseParams,
    ClickParams,
    DragParams,
    ElementParams,
    EmulateParams,
    EvaluateParams,
    ExtractParams,
    FillParams,
    FindParams,
    ListParams,
    LiveParams,
    NavigateParams,
    OpenParams,
    PagesParams,
    PressParams,
    ScreenshotParams,
    ScrollParams,
    SelectParams,
    ShowParams,
    SnapshotParams,
    TableParams,
    TypeParams,
    UploadParams,
    WaitParams,
)
from node.verbs.shown import shown
from node.verbs.verb import OWNER_AND_AGENTS, PAGE, AuditedPart, Verb
from protocol.kinds import Done, PageAddress, PageText, Plain, Request
from protocol.recording.records.verdict import Verdict

_DONE_NOT = "the page may show that it was done: it was not. The owner is asked: `trailmesh approve show {}`"
_PAGE = "{index} {url} {title} {recorded} {current}"
_RECORDED = "{id}, {verdict}, {steps}, {title}"
_DONE_SHOWN: Final = 3
_HELD = "{method} {address}{fields}, {size} (risk class {risk}{row}): {question}{waits_s}"
_DOWNLOADED = "{name}{size_bytes}{fault}{path}"


def _unless_settled(settled: bool) -> str:
    return "" if settled else "no: the page was still changing"


def _done(did: Sequence[str]) -> str:
    """The actions in words; of many, their number and the last."""
    return ", ".join(did) if len(did) <= _DONE_SHOWN else f"{len(did)} actions, the last: {did[-1]}"


# --- what they give --------------------------------------------------------------------------------------------------


class HeldRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request that is held until the owner says yes. Most of its text was chosen by the page and its site."""

    question: Annotated[
        Plain,
        shown(
            "question",
            words="it leaves if the owner says yes: `trailmesh approve yes {}`",
            empty="refused: too many questions about this site are open (`trailmesh approve ls`)",
        ),
    ]
    """Id of the question (``approve.state``); empty if no more questions can be asked, in which case the request was refused."""
    method: Annotated[Plain, shown("method")]
    address: Annotated[PageAddress, shown("address")]
    fields: Annotated[tuple[PageText, ...], shown("fields", words=" with {}")]
    """Names of the fields in address and body; ``name=value`` for fields that select the operation."""
    size: Annotated[int, shown("size", as_="bytes", unit="bytes")]
    """Size of the body in bytes."""
    risk: Annotated[int, shown("risk class")]
    """The risk class (docs/risk.md)."""
    control: Annotated[PageText, shown("action")]
    """The action that caused it, in words."""
    row: Annotated[PageText, shown("row", words=", {}")]
    """Text of the row or card around the control; empty if there is none."""
    page: Annotated[PageAddress, shown("page")]
    waits_s: Annotated[int, shown("waits", as_="duration", unit="s", words=", within {}")]
    """Seconds for which it is held. After that, a yes lets the request through when the action is repeated."""


Shows = Literal["table", "change", "page", "found"]
"""The kind of lines: the action table, the difference to what the caller saw last, the whole page, or what was looked for."""


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the current page in lines. An id in it names its element as long as the element is on the page."""

    session: Annotated[Plain, shown("live session", as_="hidden")]
    """Id of the live session."""
    page: Annotated[int, shown("page", as_="hidden")]
    """Index of the page, from 0."""
    told: Annotated[bool, shown("told before", as_="hidden")]
    """True if the caller was told address and title before, and both are the same."""
    url: Annotated[PageAddress, shown("url", unless="told")]
    title: Annotated[PageText, shown("title", unless="told")]
    unconfirmed: Annotated[
        bool,
        shown("unconfirmed", words="something that this page sent did not leave, so what it shows may not be true"),
    ]
    """True if the page may show what is not true: something that it sent was held or refused since its address was opened."""
    held: Annotated[tuple[HeldRequest, ...], shown("held", brief=_HELD)]
    """Requests that were held after their action had been answered; each is told once."""
    shows: Annotated[Shows, shown("shows", as_="hidden")]
    lines: Annotated[tuple[PageText, ...], shown("lines", as_="bare")]
    """Lines that begin with the id of an element (``e17``), or hold text. All text but ids and roles comes from the site."""
    parts: Annotated[int, shown("parts", as_="hidden")]
    """How many parts there are, of which this is one."""
    more: Annotated[Plain, shown("more")]
    """Which part this is, if there are several."""


Deed = Literal["", "click", "fill", "select", "check", "press"]
"""The action that an element offers for a goal; empty for none."""


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """The action that a search for a goal would try first on the current page. It was not performed."""

    session: Annotated[Plain, shown("live session", as_="hidden")]
    ref: Annotated[Plain, shown("id", as_="hidden")]
    """Id of its element (``e17``); empty if nothing on the page speaks for any action."""
    deed: Annotated[Deed, shown("deed", empty="none")]
    line: Annotated[PageText, shown("line", into="deed", words=" {}")]
    """The line of the element."""
    value: Annotated[PageText, shown("value", into="deed", words=", with “{}”")] = ""
    """The text, option or key."""
    why: Annotated[Plain, shown("because")] = ""


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """The live session that was opened."""

    session: Annotated[Plain, shown("opened")]
    """Its id, which all other verbs take."""
    ends_ms: Annotated[int, shown("until", as_="time", unit="ms")]
    """The latest possible end, in milliseconds since 1970."""
    idle_s: Annotated[int, shown("idle limit", as_="duration", unit="s")]
    """Seconds without a call after which it ends."""
    actions_left: Annotated[int, shown("actions left")]
    blocked: Annotated[tuple[Request, ...], shown("guard refused")]
    """Requests that the network guard refused meanwhile, each ``METHOD /path``, with the site before the path if it differs from
    the page's site.
    """
    notes: Annotated[tuple[PageText, ...], shown("notes", as_="lines")]
    """Notes on how the page was loaded, and advice if a site asked for HTTP authentication in vain."""
    observation: Annotated[Observed, shown("page", as_="inline")]


class Downloaded(msgspec.Struct, frozen=True, kw_only=True):
    """A file that an action has downloaded. The recording has its name, size and hash."""

    name: Annotated[PageText, shown("name")]
    """The name that the site or the page proposes."""
    size_bytes: Annotated[int, shown("size", as_="bytes", unit="bytes", words=", {}")]
    sha256: Annotated[Plain, shown("SHA-256", as_="hidden")]
    """In hexadecimal; empty with a ``fault``."""
    fault: Annotated[Literal["", "failed", "too_large"], shown("fault", words=", {}: not downloaded")]
    path: Annotated[PageText, shown("path", words=", kept at {}")]
    """The file, on the machine of the node, for a week; empty if it is not kept."""


class Acted(msgspec.Struct, frozen=True, kw_only=True):
    """Result of an action, with the page after it."""

    session: Annotated[Plain, shown("live session", as_="hidden")]
    did: Annotated[tuple[Done, ...], shown("did", said=_done)]
    """The performed actions, in words."""
    risk: Annotated[int, shown("risk class", into="did", words=", risk class {}")]
    """The highest risk class among them."""
    reason: Annotated[PageText, shown("reason", into="risk", words=" ({})")]
    """The reason for the risk class."""
    blocked: Annotated[tuple[Request, ...], shown("guard refused")]
    """Requests that the network guard refused meanwhile, each ``METHOD /path``, with the site before the path if it differs from
    the page's site.
    """
    held: Annotated[tuple[HeldRequest, ...], shown("held", brief=_HELD)]
    """Requests that are held until the owner says yes. They have not left yet, even if the page shows them as done."""
    question: Annotated[Plain, shown("asked", words=_DONE_NOT)]
    """Id of the question to the owner about the first refused request that a yes would let through; empty if nobody is asked. The
    request has not left, even if the page shows it as done.
    """
    notes: Annotated[tuple[PageText, ...], shown("notes", as_="lines")]
    """Notes on how the actions were performed (a field that shows less than was typed, a page that was used while it still
    loaded), and advice if a site asked for HTTP authentication in vain.
    """
    dialogs: Annotated[tuple[Done, ...], shown("dialogs", as_="lines")]
    """Dialogs that the actions caused, each with its text and the answer."""
    downloads: Annotated[tuple[Downloaded, ...], shown("downloaded", brief=_DOWNLOADED)]
    """Files that the actions downloaded."""
    extracted: Annotated[PageText, shown("read")]
    """Values read by ``extract``."""
    settled: Annotated[bool, shown("settled", said=_unless_settled)]
    """False if the page was still changing when it was observed."""
    actions_left: Annotated[int, shown("actions left", as_="hidden")]
    observation: Annotated[Observed, shown("page", as_="inline")]


class Pictured(msgspec.Struct, frozen=True, kw_only=True):
    """A screenshot of the current page."""

    session: Annotated[str, shown("live session", as_="hidden")]
    bytes: Annotated[int, shown("size", as_="bytes", unit="bytes", into="out", words=" ({})")]
    png: Annotated[str, shown("picture", as_="hidden")]
    """The PNG in base64; empty if it was written to ``out``."""
    out: Annotated[str, shown("wrote")] = ""


class PageInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One page."""

    index: Annotated[int, shown("index")]
    current: Annotated[bool, shown("current", words="*")]
    title: Annotated[PageText, shown("title")]
    url: Annotated[PageAddress, shown("url")]
    recorded: Annotated[Plain, shown("recorded as")]
    """Id of the session that records the page; empty until it has opened an address."""


class PageList(msgspec.Struct, frozen=True, kw_only=True):
    """The open pages."""

    session: Annotated[str, shown("live session", as_="hidden")]
    pages: Annotated[tuple[PageInfo, ...], shown("pages", brief=_PAGE)]
    observation: Annotated[Observed | None, shown("page", as_="inline")] = None
    """Observation of the current page, if the call made another page current."""


class RecordedPage(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded session of one page."""

    id: Annotated[str, shown("id")]
    verdict: Annotated[Verdict, shown("verdict")]
    """``open`` while it is being recorded; ``interrupted`` if the node stopped before signing it."""
    steps: Annotated[int, shown("steps", unit="step")]
    title: Annotated[str, shown("title")]
    start_url: Annotated[str, shown("start")]


class LiveSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A live session in numbers."""

    session: Annotated[str, shown("live session", column=True)]
    caller: Annotated[str, shown("for", as_="node", column=True)]
    """Caller that opened it."""
    opened_ms: Annotated[int, shown("opened", as_="time", unit="ms")]
    ends_ms: Annotated[int, shown("ends", as_="time", unit="ms", column=True)]
    """The latest possible end. After the end, its time; for an interrupted session, the time of the last step."""
    idle_s: Annotated[int, shown("idle limit", as_="duration", unit="s")]
    actions: Annotated[int, shown("actions", column=True)]
    actions_max: Annotated[int, shown("at most", into="actions", words=" of {}")]
    pages: Annotated[int, shown("pages", column=True)]
    """Number of open pages."""
    pages_max: Annotated[int, shown("at most", into="pages", words=" of {}")]
    reason: Annotated[str, shown("ended", column=True)] = ""
    """The reason for the end: closed, ttl, idle, actions, size, crashed, budget, expired, removed, uncounted, capsule, failed,
    stopped, interrupted. Empty while it is open.
    """
    sessions: Annotated[tuple[str, ...], shown("recorded as", as_="hidden")] = ()
    """Ids of its recorded sessions, one for each page that was used."""


class LiveList(msgspec.Struct, frozen=True, kw_only=True):
    """Live sessions, newest first."""

    sessions: Annotated[list[LiveSummary], shown("live sessions", empty="no live sessions: `trailmesh live open`")]


class LiveShown(msgspec.Struct, frozen=True, kw_only=True):
    """A live session, open or ended."""

    live: Annotated[LiveSummary, shown("live session", as_="inline")]
    recorded: Annotated[tuple[RecordedPage, ...], shown("recorded", brief=_RECORDED)]
    pages: Annotated[tuple[PageInfo, ...], shown("pages", brief=_PAGE)]


class LiveClosed(msgspec.Struct, frozen=True, kw_only=True):
    """Result of closing a live session."""

    session: Annotated[str, shown("closed")]
    recorded: Annotated[tuple[RecordedPage, ...], shown("recorded", brief=_RECORDED)]
    """The signed sessions, one for each page that was used: `session verify`, `replay` and `export` take their ids."""


# --- the verbs -------------------------------------------------------------------------------------------------------


def _note(given: Any) -> dict[str, str]:
    return {"element": given.element} if given.element else {}


def _about(given: Any) -> str:
    return str(given.session)


def _verb(name: str, callers: frozenset[CallerKind] = OWNER_AND_AGENTS, **more: Any) -> Verb:
    """A verb of live sessions. The node's owner may call it; agents with the scope ``live`` may call it for their own live
    sessions.
    """
    return Verb(name=f"live.{name}", callers=callers, scope="live", **more)


def _acting(name: str, takes: Any, tool: str, text: str) -> Verb:
    """A verb that acts on the current page."""
    approves = issubclass(takes, ActingParams)
    return _verb(
        name,
        command=f"live {name}",
        tool=tool,
        takes=takes,
        gives=Acted,
        help=text,
        owner_fields=frozenset({"approve_class"} if approves else ()),
        row=AuditedPart(
            subject=_about,
            risk=rows.approved if approves else (lambda given: 0),
            note=_note if issubclass(takes, ElementParams) else (lambda given: {}),
        ),
    )


OPEN: Final = _verb(
    "open",
    command="live open",
    takes=OpenParams,
    gives=Opened,
    help="""Open a live browser session and show the page at URL.

    The live session stays open after the call, in a node that is started if none runs. Its actions are recorded, one session
    for each page, and signed when it ends: by `live close`, its time to live, its idle limit, its actions being used up, or
    the node's end. A request that changes something is held until the owner says yes, unless --allow names it. Only the
    caller that opened it and the node's owner can use it.
    """,
    owner_fields=frozenset({"allow", "approve_class"}),
    row=AuditedPart(
        risk=rows.approved,
        note=lambda given: {"url": rows.where(given.url), **rows.driven(given), **rows.with_login(given)},
    ),
)
TABLE: Final = _verb(
    "table",
    command="live table",
    takes=TableParams,
    gives=Observed,
    help="""Show what can be done on the current page: one line for each control.

    A line begins with the id of its element, which other commands take. The id stays the same as long as the element is on
    the page.
    """,
    read_only=True,
    row=None,
)
FIND: Final = _verb(
    "find",
    command="live find",
    tool="browser_find",
    takes=FindParams,
    gives=Observed,
    help="Show the lines of the current page that contain TEXT, or the elements of a role.",
    read_only=True,
    row=None,
)
CHOOSE: Final = _verb(
    "choose",
    command="live choose",
    takes=ChooseParams,
    gives=Chosen,
    help="""Name the element of the current page that leads to GOAL, by the rule of searches, and say why.

    The rule knows no site and asks no model (docs/live.md). Nothing is done; what needs an approval is never named.
    """,
    read_only=True,
    row=None,
)
SNAPSHOT: Final = _verb(
    "snapshot",
    command="live snapshot",
    tool="browser_snapshot",
    takes=SnapshotParams,
    gives=Observed,
    help="Show the whole current page as lines, or what has changed, or the content of one element.",
    read_only=True,
    row=None,
)
ACT: Final = _verb(
    "act",
    long=True,
    command="live act",
    tool="browser_act",
    takes=ActParams,
    gives=Acted,
    help="""Perform one or several actions on the current page and show what has changed.

    ACTION is a step as in an action file, or a list of steps, which ends with the first that fails. An element is given by a
    `ref`, which is an id that was shown, or by a locator. If its element is gone or says something else since, it is refused
    (`live.stale_ref`).

    \b
    Examples of ACTION:
      click: {ref: e17}
      fill: {ref: e7, value: {secret: password}}
      [{fill: {ref: e7, value: mug}}, {press: Enter}]
    """,
    owner_fields=frozenset({"approve_class"}),
    row=AuditedPart(subject=_about, risk=rows.approved),
)
NAVIGATE: Final = _verb(
    "navigate",
    command="live navigate",
    tool="browser_navigate",
    takes=NavigateParams,
    gives=Acted,
    help="Open an address in the current page.",
    owner_fields=frozenset({"approve_class"}),
    row=AuditedPart(subject=_about, risk=rows.approved, note=lambda given: {"url": rows.where(given.url)}),
)
BACK: Final = _acting("back", LiveParams, "browser_navigate_back", "Go back to the page before, in the current page.")
FORWARD: Final = _acting("forward", LiveParams, "browser_navigate_forward", "Go forward again, in the current page.")
RELOAD: Final = _acting("reload", LiveParams, "browser_refresh", "Load the current page again.")
CLICK: Final = _acting("click", ClickParams, "browser_click", "Click an element.")
HOVER: Final = _acting("hover", ElementParams, "browser_hover", "Move the pointer over an element.")
TYPE: Final = _acting(
    "type",
    TypeParams,
    "browser_type",
    "Replace the content of a text field. A password field takes a secret by its name, never a text.",
)
FILL: Final = _acting(
    "fill",
    FillParams,
    "browser_fill_form",
    "Fill several fields of a form: texts, lists and boxes. It ends with the first field that cannot be filled.",
)
SELECT: Final = _acting("select", SelectParams, "browser_select_option", "Choose options of a list.")
CHECK: Final = _acting("check", CheckParams, "browser_check", "Mark a check box, switch or radio button.")
DRAG: Final = _acting("drag", DragParams, "browser_drag", "Drag an element onto another one.")
UPLOAD: Final = _acting(
    "upload", UploadParams, "browser_file_upload", "Give files to a file field, or to the button that asks for them."
)
PRESS: Final = _acting("press", PressParams, "browser_press_key", "Press a key.")
SCROLL: Final = _acting("scroll", ScrollParams, "browser_scroll", "Scroll the page, or an element into view.")
WAIT: Final = _acting(
    "wait",
    WaitParams,
    "browser_wait_for",
    "Wait for a text, an element or an address, or until the page stops changing.",
)
EXTRACT: Final = _acting("extract", ExtractParams, "browser_extract", "Read a value into the recording under a name.")
EMULATE: Final = _acting(
    "emulate",
    EmulateParams,
    "browser_emulate",
    """Change what pages are told of their browser: screen, preferences, network, place.

    Language and time zone are those with which the live session was opened.
    """,
)
EVALUATE: Final = _acting(
    "evaluate",
    EvaluateParams,
    "browser_evaluate",
    """Run a script on the current page, apart from the page's own scripts, and show its value as JSON.

    It sees and changes the document, but no variable of the page. What it sends is held or refused as what a click sends.
    """,
)
ASSERT: Final = _acting(
    "assert", AssertParams, "browser_assert", "Check the page or an element. A replay of the recording checks it again."
)
SCREENSHOT: Final = _verb(
    "screenshot",
    command="live screenshot",
    tool="browser_take_screenshot",
    takes=ScreenshotParams,
    gives=Pictured,
    help="""Take a screenshot of the current page.

    Password fields are covered, and secrets of this live session wherever the page shows them as text. No screenshot is taken if
    their places cannot be determined.
    """,
    owner_fields=frozenset({"out"}),
    row=AuditedPart(subject=_about, note=lambda given: {"out": given.out}),
)
PAGES: Final = _verb(
    "pages",
    command="live tab",
    tool="browser_tabs",
    takes=PagesParams,
    gives=PageList,
    help="""List the pages, open a new one, close one, or make one the current page.

    \b
    live tab                what is open
    live tab 1              make a page the current one, by its number
    live tab new [URL]      open another page
    live tab close [1]      close a page, or the current one

    Each page is recorded as a session of its own, which is signed when the page is closed. The last page is closed by `live close`.
    """,
    row=AuditedPart(
        subject=_about, note=lambda given: {"action": given.action, "url": rows.where(given.url) if given.url else ""}
    ),
)
CLOSE: Final = _verb(
    "close",
    command="live close",
    tool="browser_close",
    takes=LiveParams,
    gives=LiveClosed,
    help="Close a live session: sign its recordings and close its pages.",
    row=AuditedPart(subject=_about),
)
LIST: Final = _verb(
    "list",
    callers=OWNER_AND_AGENTS | PAGE,
    command="live ls",
    takes=ListParams,
    gives=LiveList,
    help="List live sessions, newest first: the caller's own, or all for the owner of the node.",
    read_only=True,
    row=None,
)
SHOW: Final = _verb(
    "show",
    callers=OWNER_AND_AGENTS | PAGE,
    command="live show",
    takes=ShowParams,
    gives=LiveShown,
    help="Show a live session: limits, pages, recorded sessions, and the reason why it ended.",
    read_only=True,
    row=None,
)

VERBS: Final[tuple[Verb, ...]] = (
    OPEN,
    TABLE,
    FIND,
    CHOOSE,
    SNAPSHOT,
    ACT,
    NAVIGATE,
    BACK,
    FORWARD,
    RELOAD,
    CLICK,
    HOVER,
    TYPE,
    FILL,
    SELECT,
    CHECK,
    DRAG,
    UPLOAD,
    PRESS,
    SCROLL,
    WAIT,
    EXTRACT,
    EMULATE,
    EVALUATE,
    ASSERT,
    SCREENSHOT,
    PAGES,
    CLOSE,
    LIST,
    SHOW,
)
