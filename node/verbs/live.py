"""Verbs for live browser sessions, which are opened, observed, acted in and closed by separate calls."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec

from node.verbs import rows
from node.verbs.verb import OWNER_AND_AGENTS, Params, Row, Verb, argument, option
from protocol import limits
from protocol.recording.session import Verdict

# --- parameters ------------------------------------------------------------------------------------------------------

_SESSION: Final = argument("Id of the live session.", metavar="SESSION")
_REF: Final = argument("The element, by its ref in the last observation, for example s3e5.", metavar="REF")
_ELEMENT: Final = option(
    "Description of the element by the caller; stored in the audit trail.", flag="-", max_length=200
)
_PROFILE: Final = option(
    "width_px, height_px, locale, timezone, reduced_motion or color_scheme of the browser. Repeat for more.",
    metavar="KEY=VALUE",
    reads="pairs",
)


class OpenParams(Params, frozen=True, kw_only=True):
    """``live.open``"""

    url: Annotated[str, argument("Start address.", metavar="URL", max_length=limits.URL_CHARS_MAX)]
    title: Annotated[str, option("Title of the recording. [default: the address]", max_length=200)] = ""
    profile: Annotated[dict[str, Any], _PROFILE] = msgspec.field(default_factory=dict)
    ttl: Annotated[int, option("Seconds until the live session ends.", ge=1, le=limits.LIVE_TTL_S_MAX)] = 1_800
    idle: Annotated[
        int, option("Seconds without a call until the live session ends.", ge=1, le=limits.LIVE_IDLE_S_MAX)
    ] = 600
    actions: Annotated[
        int, option("Number of actions until the live session ends.", ge=1, le=limits.SESSION_STEPS_MAX)
    ] = 200
    pages: Annotated[int, option("Number of pages that may be open at a time.", ge=1, le=limits.LIVE_PAGES_MAX)] = 4
    secrets: Annotated[
        dict[str, str],
        option(
            "A secret that actions may name, read from a file. Repeat for more.",
            flag="--secret",
            metavar="NAME=@FILE",
            reads="secrets",
        ),
    ] = msgspec.field(default_factory=dict)
    allow: Annotated[
        tuple[str, ...],
        option(
            "A request other than GET that may be sent, for example 'POST https://shop.example/login'.",
            metavar="'METHOD URL'",
        ),
    ] = ()
    approve_class: Annotated[
        int, option("Approve risk classes up to N for the whole live session (docs/risk.md).", metavar="N", ge=0, le=7)
    ] = 0

    def __repr__(self) -> str:
        return f"OpenParams(url={rows.where(self.url)!r}, secrets={sorted(self.secrets)})"


class LiveParams(Params, frozen=True, kw_only=True):
    """Verbs about one live session."""

    session: Annotated[str, _SESSION]


class ActParams(Params, frozen=True, kw_only=True):
    """``live.act``"""

    session: Annotated[str, _SESSION]
    action: Annotated[
        str,
        argument(
            "One step as in an action file, with its element given by ref or locator: 'click: {ref: s3e5}'.",
            metavar="ACTION",
            max_length=limits.LIVE_STEP_CHARS_MAX,
        ),
    ]
    approve_class: Annotated[
        int, option("Approve risk classes up to N for this action (docs/risk.md).", metavar="N", ge=0, le=7)
    ] = 0

    def __repr__(self) -> str:
        return f"ActParams(session={self.session!r})"


class NavigateParams(Params, frozen=True, kw_only=True):
    """``live.navigate``"""

    session: Annotated[str, _SESSION]
    url: Annotated[str, argument("The address to open.", metavar="URL", max_length=limits.URL_CHARS_MAX)]


class ClickParams(Params, frozen=True, kw_only=True):
    """``live.click``"""

    session: Annotated[str, _SESSION]
    ref: Annotated[str, _REF]
    element: Annotated[str, _ELEMENT] = ""


class TypeParams(Params, frozen=True, kw_only=True):
    """``live.type``"""

    session: Annotated[str, _SESSION]
    ref: Annotated[str, _REF]
    text: Annotated[
        str, argument("The new content of the field.", metavar="TEXT", max_length=limits.ACTION_TEXT_CHARS_MAX)
    ] = ""
    secret: Annotated[str, option("Type the secret of this name instead of a text.", metavar="NAME", max_length=64)] = (
        ""
    )
    submit: Annotated[bool, option("Press Enter in the field afterwards.")] = False
    element: Annotated[str, _ELEMENT] = ""

    def __repr__(self) -> str:
        return f"TypeParams(session={self.session!r}, ref={self.ref!r}, secret={self.secret!r})"


class SelectParams(Params, frozen=True, kw_only=True):
    """``live.select``"""

    session: Annotated[str, _SESSION]
    ref: Annotated[str, _REF]
    values: Annotated[
        list[str],
        argument("The option to choose, by its label or its value; exactly one.", metavar="OPTION", max_length=1),
    ]
    element: Annotated[str, _ELEMENT] = ""


class PressParams(Params, frozen=True, kw_only=True):
    """``live.press``"""

    session: Annotated[str, _SESSION]
    key: Annotated[
        str,
        argument(
            "Enter, Escape, Control+A …; sent to the element that has the focus.",
            metavar="KEY",
            min_length=1,
            max_length=32,
        ),
    ]


class WaitParams(Params, frozen=True, kw_only=True):
    """``live.wait``"""

    session: Annotated[str, _SESSION]
    text: Annotated[
        str,
        option(
            "Wait until this text is visible. [default: wait until the page stops changing]",
            max_length=limits.ACTION_TEXT_CHARS_MAX,
        ),
    ] = ""
    time: Annotated[float, option("At most this many seconds.", ge=0.1, le=60)] = 5.0


class ScreenshotParams(Params, frozen=True, kw_only=True):
    """``live.screenshot``"""

    session: Annotated[str, _SESSION]
    out: Annotated[str, option("Write the PNG to this file instead of returning it.", metavar="FILE", reads="path")] = (
        ""
    )


class PagesParams(Params, frozen=True, kw_only=True):
    """``live.pages``"""

    session: Annotated[str, _SESSION]
    action: Annotated[
        Literal["list", "new", "close", "select"], argument("list, new, close or select.", metavar="WHAT")
    ] = "list"
    index: Annotated[int | None, option("Index of the page, from 0. [default for close: the current page]")] = None
    url: Annotated[str, option("Address that a new page opens.", max_length=limits.URL_CHARS_MAX)] = ""


class ListParams(Params, frozen=True, kw_only=True):
    """``live.list``"""

    all: Annotated[bool, option("Include live sessions that have ended.")] = False
    limit: Annotated[int, option("At most this many.", ge=1, le=1_000)] = 50


# --- results ---------------------------------------------------------------------------------------------------------


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """Observation of the current page. Its refs are valid until the next observation."""

    session: str
    """Id of the live session."""
    number: int
    """Number of this observation in its live session, from 1; the refs begin with it."""
    page: int
    """Index of the page, from 0."""
    url: str
    title: str
    lines: tuple[str, ...]
    """One indented line per node, which begins with its ref: ``[ref=s3e5]``. All other text comes from the site."""


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """The live session that was opened."""

    session: str
    """Its id, which all other verbs take."""
    ends_ms: int
    """Latest end, in milliseconds since 1970."""
    idle_s: int
    """Seconds without a call after which it ends."""
    actions_left: int
    blocked: tuple[str, ...]
    """What the network guard refused meanwhile, each ``METHOD /path``."""
    observation: Observed


class Acted(msgspec.Struct, frozen=True, kw_only=True):
    """Result of an action, with the page after it."""

    session: str
    did: tuple[str, ...]
    """The performed actions, described."""
    risk: int
    """The highest risk class among them."""
    reason: str
    """Reason for the risk class."""
    blocked: tuple[str, ...]
    """What the network guard refused meanwhile, each ``METHOD /path``."""
    dialogs: tuple[str, ...]
    """Types of the dialogs that were dismissed."""
    extracted: str
    """Values that ``extract`` has read."""
    settled: bool
    """False if the page was still changing when it was observed."""
    actions_left: int
    observation: Observed


class Pictured(msgspec.Struct, frozen=True, kw_only=True):
    """A screenshot of the current page."""

    session: str
    bytes: int
    png: str
    """The PNG in base64; empty if it was written to ``out``."""
    out: str = ""


class PageInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One page."""

    index: int
    current: bool
    title: str
    url: str
    recorded: str
    """Id of the session that records the page; empty until it has opened an address."""


class PageList(msgspec.Struct, frozen=True, kw_only=True):
    """The open pages."""

    session: str
    pages: tuple[PageInfo, ...]
    observation: Observed | None = None
    """Observation of the current page, if the call changed which page is current."""


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded session of one page."""

    id: str
    verdict: Verdict
    """``open`` while it is being recorded; ``interrupted`` if the node stopped before signing it."""
    steps: int
    title: str
    start_url: str


class LiveSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A live session in numbers."""

    session: str
    caller: str
    """Caller that opened it."""
    opened_ms: int
    ends_ms: int
    """Latest end; once it has ended, the time of the end."""
    idle_s: int
    actions: int
    actions_max: int
    pages: int
    """Number of open pages."""
    pages_max: int
    reason: str = ""
    """Why it ended: closed, ttl, idle, actions, size, crashed, stopped, interrupted. Empty while it is open."""
    sessions: tuple[str, ...] = ()
    """Ids of its recorded sessions, one for each page that was used."""


class LiveList(msgspec.Struct, frozen=True, kw_only=True):
    """Live sessions, newest first."""

    sessions: list[LiveSummary]


class LiveShown(msgspec.Struct, frozen=True, kw_only=True):
    """A live session, open or ended."""

    live: LiveSummary
    recorded: tuple[Recorded, ...]
    pages: tuple[PageInfo, ...]


class LiveClosed(msgspec.Struct, frozen=True, kw_only=True):
    """Result of closing a live session."""

    session: str
    recorded: tuple[Recorded, ...]
    """The signed sessions, one for each page that was used: `session verify`, `replay` and `export` take their ids."""


# --- the verbs -------------------------------------------------------------------------------------------------------


def _note(given: Any) -> dict[str, str]:
    return {"element": given.element} if given.element else {}


def _about(given: Any) -> str:
    return str(given.session)


def _verb(name: str, **more: Any) -> Verb:
    """A verb of live sessions. The node's owner may call it, and agents with the scope ``live`` for their own live sessions."""
    return Verb(name=f"live.{name}", callers=OWNER_AND_AGENTS, scope="live", **more)


OPEN: Final = _verb(
    "open",
    command="live open",
    takes=OpenParams,
    gives=Opened,
    help="""Open a live browser session and show the page at URL.

    The live session stays open after the call. Needs a running node. Its actions are recorded, one session for each page,
    and signed when it ends: by `live close`, its time to live, its idle limit, its actions being used up, or the node's
    end. Requests other than GET are refused unless --allow names them. Only the caller that opened it and the node's owner
    can use it.
    """,
    owner_fields=frozenset({"allow", "approve_class"}),
    row=Row(risk=rows.approved, note=lambda given: {"url": rows.where(given.url), **rows.driven(given)}),
)
SNAPSHOT: Final = _verb(
    "snapshot",
    command="live snapshot",
    tool="browser_snapshot",
    takes=LiveParams,
    gives=Observed,
    help="Show the current page as lines with refs. Refs of earlier observations become invalid.",
    read_only=True,
    row=None,
)
ACT: Final = _verb(
    "act",
    command="live act",
    takes=ActParams,
    gives=Acted,
    help="""Perform one action on the current page and show the page after it.

    ACTION is a step as in an action file. Its element is given by a `ref` of the latest observation or by a locator. A ref of an
    older observation, or of an element that may have been replaced since, is refused with `live.stale_ref`.

    \\b
    Examples of ACTION:
      click: {ref: s3e5}
      fill: {ref: s3e7, value: {secret: password}}
      select: {role: combobox, name: Sort by, option: "Price: low to high"}
    """,
    owner_fields=frozenset({"approve_class"}),
    row=Row(subject=_about, risk=rows.approved),
)
NAVIGATE: Final = _verb(
    "navigate",
    command="live navigate",
    tool="browser_navigate",
    takes=NavigateParams,
    gives=Acted,
    help="Open an address in the current page.",
    row=Row(subject=_about, note=lambda given: {"url": rows.where(given.url)}),
)
CLICK: Final = _verb(
    "click",
    command="live click",
    tool="browser_click",
    takes=ClickParams,
    gives=Acted,
    help="Click an element.",
    row=Row(subject=_about, note=_note),
)
TYPE: Final = _verb(
    "type",
    command="live type",
    tool="browser_type",
    takes=TypeParams,
    gives=Acted,
    help="Replace the content of a text field. A password field takes a secret by its name, never a text.",
    row=Row(subject=_about, note=_note),
)
SELECT: Final = _verb(
    "select",
    command="live select",
    tool="browser_select_option",
    takes=SelectParams,
    gives=Acted,
    help="Choose an option of a list.",
    row=Row(subject=_about, note=_note),
)
PRESS: Final = _verb(
    "press",
    command="live press",
    tool="browser_press_key",
    takes=PressParams,
    gives=Acted,
    help="Press a key in the element that has the focus.",
    row=Row(subject=_about),
)
WAIT: Final = _verb(
    "wait",
    command="live wait",
    tool="browser_wait_for",
    takes=WaitParams,
    gives=Acted,
    help="Wait until a text is visible, or until the page stops changing.",
    row=Row(subject=_about),
)
SCREENSHOT: Final = _verb(
    "screenshot",
    command="live screenshot",
    tool="browser_take_screenshot",
    takes=ScreenshotParams,
    gives=Pictured,
    help="""Take a screenshot of the current page.

    Password fields are covered. No screenshot is taken of a page that shows a secret of this live session in readable form.
    """,
    owner_fields=frozenset({"out"}),
    row=Row(subject=_about, note=lambda given: {"out": given.out}),
)
PAGES: Final = _verb(
    "pages",
    command="live pages",
    tool="browser_tabs",
    takes=PagesParams,
    gives=PageList,
    help="""List the pages, open a new one, close one, or make one the current page.

    Each page is recorded as a session of its own, which is signed when the page is closed. The last page is closed by `live close`.
    """,
    row=Row(
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
    row=Row(subject=_about),
)
LIST: Final = _verb(
    "list",
    command="live ls",
    takes=ListParams,
    gives=LiveList,
    help="List live sessions, newest first: the caller's own, or all for the owner of the node.",
    read_only=True,
    row=None,
)
SHOW: Final = _verb(
    "show",
    command="live show",
    takes=LiveParams,
    gives=LiveShown,
    help="Show a live session: limits, pages, recorded sessions, and the reason why it ended.",
    read_only=True,
    row=None,
)

VERBS: Final[tuple[Verb, ...]] = (
    OPEN,
    SNAPSHOT,
    ACT,
    NAVIGATE,
    CLICK,
    TYPE,
    SELECT,
    PRESS,
    WAIT,
    SCREENSHOT,
    PAGES,
    CLOSE,
    LIST,
    SHOW,
)
