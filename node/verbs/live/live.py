"""Verbs for live browser sessions, which are opened, observed, acted in and closed by separate calls."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from node.verbs import rows
from node.verbs.live.live_params import (
    ActParams,
    ClickParams,
    ListParams,
    LiveParams,
    NavigateParams,
    OpenParams,
    PagesParams,
    PressParams,
    ScreenshotParams,
    SelectParams,
    SnapshotParams,
    TypeParams,
    WaitParams,
)
from node.verbs.verb import OWNER_AND_AGENTS, Row, Verb
from protocol.recording.records.session import Verdict

# --- what they give --------------------------------------------------------------------------------------------------


class HeldRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request that waits for the owner's yes before it leaves. The page and its site have chosen most of its texts."""

    question: str
    """Id of the question (``approve.state``); empty where no more can be asked: then it was refused."""
    method: str
    address: str
    fields: tuple[str, ...]
    """Names of the fields in address and body; ``name=value`` of those that choose what is done."""
    size: int
    """Bytes of the body."""
    risk: int
    """The class (docs/risk.md)."""
    control: str
    """The action that caused it, in words."""
    row: str
    """The row or card that the control stands in; empty if none."""
    page: str
    waits_s: int
    """Seconds that it waits. After that a yes lets it through when the action is done again."""


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
    unconfirmed: bool
    """True if the page may show what is not true: something that it sent was held or refused since its address was opened."""
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
    """What the network guard refused meanwhile, each ``METHOD /path``, with the site before the path if it is
    not that of the page."""
    notes: tuple[str, ...]
    """What there is to say of how the page came, and what helps where a site asked for HTTP authentication in vain."""
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
    """What the network guard refused meanwhile, each ``METHOD /path``, with the site before the path if it is
    not that of the page."""
    held: tuple[HeldRequest, ...]
    """Requests that wait for the owner's yes. The page may show that it was done: it was not, yet."""
    question: str
    """Id of the question to the owner about the first of them that a yes would let through; empty if nobody is asked. The page may
    show that it was done: it was not."""
    notes: tuple[str, ...]
    """What there is to say of how it was done (a field that shows less than was typed, a page that was used while it still loaded),
    and what helps where a site asked for HTTP authentication in vain."""
    dialogs: tuple[str, ...]
    """Dialogs that the actions caused, each with what it says and how it was answered."""
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
    """Latest end; once it has ended, the time of the end, or of the last step if it was interrupted."""
    idle_s: int
    actions: int
    actions_max: int
    pages: int
    """Number of open pages."""
    pages_max: int
    reason: str = ""
    """Why it ended: closed, ttl, idle, actions, size, crashed, budget, expired, removed, uncounted, capsule, failed, stopped,
    interrupted. Empty while it is open."""
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
    row=Row(
        risk=rows.approved,
        note=lambda given: {"url": rows.where(given.url), **rows.driven(given), **rows.with_login(given)},
    ),
)
SNAPSHOT: Final = _verb(
    "snapshot",
    command="live snapshot",
    tool="browser_snapshot",
    takes=SnapshotParams,
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
BACK: Final = _verb(
    "back",
    command="live back",
    tool="browser_navigate_back",
    takes=LiveParams,
    gives=Acted,
    help="Go back to the page before, in the current page.",
    row=Row(subject=_about),
)
CLICK: Final = _verb(
    "click",
    command="live click",
    tool="browser_click",
    takes=ClickParams,
    gives=Acted,
    help="Click an element.",
    owner_fields=frozenset({"approve_class"}),
    row=Row(subject=_about, risk=rows.approved, note=_note),
)
TYPE: Final = _verb(
    "type",
    command="live type",
    tool="browser_type",
    takes=TypeParams,
    gives=Acted,
    help="Replace the content of a text field. A password field takes a secret by its name, never a text.",
    owner_fields=frozenset({"approve_class"}),
    row=Row(subject=_about, risk=rows.approved, note=_note),
)
SELECT: Final = _verb(
    "select",
    command="live select",
    tool="browser_select_option",
    takes=SelectParams,
    gives=Acted,
    help="Choose an option of a list.",
    owner_fields=frozenset({"approve_class"}),
    row=Row(subject=_about, risk=rows.approved, note=_note),
)
PRESS: Final = _verb(
    "press",
    command="live press",
    tool="browser_press_key",
    takes=PressParams,
    gives=Acted,
    help="Press a key in the element that has the focus.",
    owner_fields=frozenset({"approve_class"}),
    row=Row(subject=_about, risk=rows.approved),
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

    Password fields are covered, and secrets of this live session wherever the page shows them as text. There is no screenshot if
    it cannot be told where that is.
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
    BACK,
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
