"""The verbs of live browser sessions: opened, looked at, acted in and closed by separate calls."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec

from node.verbs import rows
from node.verbs.verb import OWNER_AND_AGENTS, Params, Row, Verb, argument, option
from protocol import limits
from protocol.page.secrets import GivenSecret, Name
from protocol.recording.session import Verdict

# --- what they take --------------------------------------------------------------------------------------------------

_SESSION: Final = argument("Id of the live session.", metavar="SESSION")
_REF: Final = argument("The element, by its ref in the last observation, for example s3e5.", metavar="REF")
_ELEMENT: Final = option(
    "What the element is, in the caller's words; kept on the audit trail.", flag="-", max_length=200
)
_PROFILE: Final = option(
    "width_px, height_px, locale, timezone, reduced_motion or color_scheme of the browser. Repeat for more.",
    metavar="KEY=VALUE",
    reads="pairs",
)


class OpenParams(Params, frozen=True, kw_only=True):
    """``live.open``"""

    url: Annotated[str, argument("Where to begin.", metavar="URL", max_length=limits.URL_CHARS_MAX)]
    title: Annotated[str, option("What the recording is called.  [default: the address]", max_length=200)] = ""
    profile: Annotated[dict[str, Any], _PROFILE] = msgspec.field(default_factory=dict)
    ttl: Annotated[int, option("Seconds until it ends.", ge=1, le=limits.LIVE_TTL_S_MAX)] = 1_800
    idle: Annotated[int, option("Seconds without a call until it ends.", ge=1, le=limits.LIVE_IDLE_S_MAX)] = 600
    actions: Annotated[int, option("Actions until it ends.", ge=1, le=limits.SESSION_STEPS_MAX)] = 200
    pages: Annotated[int, option("Pages that may be open at a time.", ge=1, le=limits.LIVE_PAGES_MAX)] = 4
    secrets: Annotated[
        dict[Name, GivenSecret],
        option(
            "A secret that actions may name, read from a file, for the password fields of a site (docs/risk.md). Repeat for more.",
            flag="--secret",
            metavar="NAME@ORIGIN=@FILE",
            reads="secrets",
            max_length=limits.SECRETS_MAX,
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
            "One step as in an action file, its element by ref or locator: 'click: {ref: s3e5}'.",
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
        str, argument("What the field holds afterwards.", metavar="TEXT", max_length=limits.ACTION_TEXT_CHARS_MAX)
    ] = ""
    secret: Annotated[str, option("Type the secret of this name instead of a text.", metavar="NAME", max_length=64)] = (
        ""
    )
    submit: Annotated[bool, option("Press Enter in the field then.")] = False
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
        str, argument("Enter, Escape, Control+A … on what has the focus.", metavar="KEY", min_length=1, max_length=32)
    ]


class WaitParams(Params, frozen=True, kw_only=True):
    """``live.wait``"""

    session: Annotated[str, _SESSION]
    text: Annotated[
        str,
        option(
            "Wait until this text is visible.  [default: until the page is still]",
            max_length=limits.ACTION_TEXT_CHARS_MAX,
        ),
    ] = ""
    time: Annotated[float, option("At most this many seconds.", ge=0.1, le=60)] = 5.0


class ScreenshotParams(Params, frozen=True, kw_only=True):
    """``live.screenshot``"""

    session: Annotated[str, _SESSION]
    out: Annotated[str, option("Write the PNG here instead of giving it back.", metavar="FILE", reads="path")] = ""


class PagesParams(Params, frozen=True, kw_only=True):
    """``live.pages``"""

    session: Annotated[str, _SESSION]
    action: Annotated[
        Literal["list", "new", "close", "select"], argument("list, new, close or select.", metavar="WHAT")
    ] = "list"
    index: Annotated[int | None, option("Which page, from 0; without, close means the current one.")] = None
    url: Annotated[str, option("What a new page opens.", max_length=limits.URL_CHARS_MAX)] = ""


class ListParams(Params, frozen=True, kw_only=True):
    """``live.list``"""

    all: Annotated[bool, option("Those that have ended too.")] = False
    limit: Annotated[int, option("At most this many.", ge=1, le=1_000)] = 50


# --- what they give --------------------------------------------------------------------------------------------------


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """What the current page shows, with refs that hold until the next observation."""

    session: str
    """Id of the live session."""
    number: int
    """Of this observation in its live session, from 1; the refs begin with it."""
    page: int
    """Index of the page, from 0."""
    url: str
    title: str
    lines: tuple[str, ...]
    """One line a node, indented; ``[ref=s3e5]`` at its beginning names it. All other words in them are those of the site."""


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """The live session that was opened."""

    session: str
    """Its id, a parameter of all other verbs."""
    ends_ms: int
    """When it ends at the latest, milliseconds since 1970."""
    idle_s: int
    """Seconds without a call after which it ends."""
    actions_left: int
    blocked: tuple[str, ...]
    """What the network guard refused meanwhile, each ``METHOD /path``."""
    observation: Observed


class Acted(msgspec.Struct, frozen=True, kw_only=True):
    """What was done, and the page after it."""

    session: str
    did: tuple[str, ...]
    """The actions that were performed, in words."""
    risk: int
    """The highest risk class among them."""
    reason: str
    """Why it is of that class."""
    blocked: tuple[str, ...]
    """What the network guard refused meanwhile, each ``METHOD /path``."""
    dialogs: tuple[str, ...]
    """Dialogs that were dismissed: their type."""
    extracted: str
    """What ``extract`` has read."""
    settled: bool
    """False when the page was still changing as it was looked at."""
    actions_left: int
    observation: Observed


class Pictured(msgspec.Struct, frozen=True, kw_only=True):
    """A picture of what the current page shows."""

    session: str
    bytes: int
    png: str
    """In base64; empty if it was written to ``out``."""
    out: str = ""


class PageInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One page."""

    index: int
    current: bool
    title: str
    url: str
    recorded: str
    """Id of the session that records it; empty while it has opened nothing."""


class PageList(msgspec.Struct, frozen=True, kw_only=True):
    """The open pages."""

    session: str
    pages: tuple[PageInfo, ...]
    observation: Observed | None = None
    """The current page, when it is another one than before."""


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """A session that was recorded of one page."""

    id: str
    verdict: Verdict
    """``open`` while it goes on; ``interrupted`` where the node ended without signing it."""
    steps: int
    title: str
    start_url: str


class LiveSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A live session in numbers."""

    session: str
    caller: str
    """Who opened it."""
    opened_ms: int
    ends_ms: int
    """When it ends at the latest; when it has ended."""
    idle_s: int
    actions: int
    actions_max: int
    pages: int
    """How many are open."""
    pages_max: int
    reason: str = ""
    """Why it ended: closed, ttl, idle, actions, size, crashed, stopped, interrupted. Empty while it is open."""
    sessions: tuple[str, ...] = ()
    """Ids of the sessions recorded of it, one for each page that was used."""


class LiveList(msgspec.Struct, frozen=True, kw_only=True):
    """Live sessions, newest first."""

    sessions: list[LiveSummary]


class LiveShown(msgspec.Struct, frozen=True, kw_only=True):
    """A live session, open or ended."""

    live: LiveSummary
    recorded: tuple[Recorded, ...]
    pages: tuple[PageInfo, ...]


class LiveClosed(msgspec.Struct, frozen=True, kw_only=True):
    """What is left of a live session."""

    session: str
    recorded: tuple[Recorded, ...]
    """The signed sessions, one for each page that was used: `session verify`, `replay` and `export` take their ids."""


# --- the verbs -------------------------------------------------------------------------------------------------------


def _note(given: Any) -> dict[str, str]:
    return {"element": given.element} if given.element else {}


def _about(given: Any) -> str:
    return str(given.session)


def _verb(name: str, **more: Any) -> Verb:
    """A verb of live sessions: for their owners, who are the node's owner and agents with the scope ``live``."""
    return Verb(name=f"live.{name}", callers=OWNER_AND_AGENTS, scope="live", **more)


OPEN: Final = _verb(
    "open",
    command="live open",
    takes=OpenParams,
    gives=Opened,
    help="""Open a browser session that outlives the call, and show the page at URL.

    Needs a running node. What is done in it is recorded, one session for each page, and signed when it ends: by `live close`, its
    time to live, its idle limit, its actions being used up, or the node's end. Requests other than GET are refused unless --allow
    names them. Only its caller and the node's owner can use it.
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
    help="Show the current page as lines with refs. Refs of earlier observations are void from now on.",
    read_only=True,
    row=None,
)
ACT: Final = _verb(
    "act",
    command="live act",
    takes=ActParams,
    gives=Acted,
    help="""Do one action on the current page, and show the page after it.

    ACTION is a step as in an action file; its element is named by `ref`, of the last observation, or by a locator. A ref of an
    older observation, or of an element that may be another one by now, is refused: `live.stale_ref`.

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
    help="Replace the content of a text field. Into a password field goes a secret, by its name.",
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
    help="Press a key on what has the focus.",
    row=Row(subject=_about),
)
WAIT: Final = _verb(
    "wait",
    command="live wait",
    tool="browser_wait_for",
    takes=WaitParams,
    gives=Acted,
    help="Wait until a text is visible, or until the page is still.",
    row=Row(subject=_about),
)
SCREENSHOT: Final = _verb(
    "screenshot",
    command="live screenshot",
    tool="browser_take_screenshot",
    takes=ScreenshotParams,
    gives=Pictured,
    help="""Take a picture of what the current page shows.

    Password fields are covered. A page on which a secret of this live session stands readable is not pictured.
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
    help="End a live session: what was done in it is signed, and its pages are closed.",
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
    help="Show a live session: its limits, its pages, what was recorded, and why it ended.",
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
