# Written by `make client` from node/verbs/; change the declarations instead.
"""Records of the verbs ``live.*`` (docs/verbs.md)."""

from __future__ import annotations

from trailmesh.client.record import Record


class Opened(Record, frozen=True, kw_only=True):
    """The live session that was opened."""

    session: str
    """Its id, which all other verbs take."""

    ends_ms: int
    """The latest possible end, in milliseconds since 1970."""

    idle_s: int
    """Seconds without a call after which it ends."""

    actions_left: int

    blocked: tuple[str, ...]
    """Requests that the network guard refused meanwhile, each `METHOD /path`, with the site before the path if it
    differs from the page's site.
    """

    notes: tuple[str, ...]
    """Notes on how the page was loaded, and advice if a site asked for HTTP authentication in vain."""

    observation: Observed


class Observed(Record, frozen=True, kw_only=True):
    """A part of the current page in lines. An id in it names its element as long as the element is on the page."""

    session: str
    """Id of the live session."""

    page: int
    """Index of the page, from 0."""

    told: bool
    """True if the caller was told address and title before, and both are the same."""

    url: str

    title: str

    unconfirmed: bool
    """True if the page may show what is not true: something that it sent was held or refused since its address was
    opened.
    """

    held: tuple[HeldRequest, ...]
    """Requests that were held after their action had been answered; each is told once."""

    shows: str

    lines: tuple[str, ...]
    """Lines that begin with the id of an element (`e17`), or hold text. All text but ids and roles comes from the
    site.
    """

    parts: int
    """How many parts there are, of which this is one."""

    more: str
    """Which part this is, if there are several."""


class Chosen(Record, frozen=True, kw_only=True):
    """The action that a search for a goal would try first on the current page. It was not performed."""

    session: str

    ref: str
    """Id of its element (`e17`); empty if nothing on the page speaks for any action."""

    deed: str

    line: str
    """The line of the element."""

    value: str = ""
    """The text, option or key."""

    why: str = ""


class Acted(Record, frozen=True, kw_only=True):
    """Result of an action, with the page after it."""

    session: str

    did: tuple[str, ...]
    """The performed actions, in words."""

    risk: int
    """The highest risk class among them."""

    reason: str
    """The reason for the risk class."""

    blocked: tuple[str, ...]
    """Requests that the network guard refused meanwhile, each `METHOD /path`, with the site before the path if it
    differs from the page's site.
    """

    held: tuple[HeldRequest, ...]
    """Requests that are held until the owner says yes. They have not left yet, even if the page shows them as done."""

    question: str
    """Id of the question to the owner about the first refused request that a yes would let through; empty if nobody
    is asked. The request has not left, even if the page shows it as done.
    """

    notes: tuple[str, ...]
    """Notes on how the actions were performed (a field that shows less than was typed, a page that was used while
    it still loaded), and advice if a site asked for HTTP authentication in vain.
    """

    dialogs: tuple[str, ...]
    """Dialogs that the actions caused, each with its text and the answer."""

    downloads: tuple[Downloaded, ...]
    """Files that the actions downloaded."""

    extracted: str
    """Values read by `extract`."""

    settled: bool
    """False if the page was still changing when it was observed."""

    actions_left: int

    observation: Observed


class Pictured(Record, frozen=True, kw_only=True):
    """A screenshot of the current page."""

    session: str

    bytes: int

    png: str
    """The PNG in base64; empty if it was written to `out`."""

    out: str = ""


class PageList(Record, frozen=True, kw_only=True):
    """The open pages."""

    session: str

    pages: tuple[PageInfo, ...]

    observation: Observed | None = None
    """Observation of the current page, if the call made another page current."""


class LiveClosed(Record, frozen=True, kw_only=True):
    """Result of closing a live session."""

    session: str

    recorded: tuple[RecordedPage, ...]
    """The signed sessions, one for each page that was used: `session verify`, `replay` and `export` take their ids."""


class LiveList(Record, frozen=True, kw_only=True):
    """Live sessions, newest first."""

    sessions: tuple[LiveSummary, ...]


class LiveShown(Record, frozen=True, kw_only=True):
    """A live session, open or ended."""

    live: LiveSummary

    recorded: tuple[RecordedPage, ...]

    pages: tuple[PageInfo, ...]


class GivenSecret(Record, frozen=True, kw_only=True):
    """A value, and the sites at which it may be typed."""

    value: str

    origins: tuple[str, ...] = ()
    """Patterns of the origins of pages and frames; if empty, the origin at which the work begins."""

    text: bool = False
    """True if it may be typed into other fields than password fields."""

    totp: bool = False
    """True if it is the seed of one-time codes; a code is typed in its place."""

    basic: bool = False
    """True if it is `user:password` for HTTP basic authentication of its origins. It is never typed."""


class HeldRequest(Record, frozen=True, kw_only=True):
    """A request that is held until the owner says yes. Most of its text was chosen by the page and its site."""

    question: str
    """Id of the question (`approve.state`); empty if no more questions can be asked, in which case the request was
    refused.
    """

    method: str

    address: str

    fields: tuple[str, ...]
    """Names of the fields in address and body; `name=value` for fields that select the operation."""

    size: int
    """Size of the body in bytes."""

    risk: int
    """The risk class (docs/risk.md)."""

    control: str
    """The action that caused it, in words."""

    row: str
    """Text of the row or card around the control; empty if there is none."""

    page: str

    waits_s: int
    """Seconds for which it is held. After that, a yes lets the request through when the action is repeated."""


class Downloaded(Record, frozen=True, kw_only=True):
    """A file that an action has downloaded. The recording has its name, size and hash."""

    name: str
    """The name that the site or the page proposes."""

    size_bytes: int

    sha256: str
    """In hexadecimal; empty with a `fault`."""

    fault: str

    path: str
    """The file, on the machine of the node, for a week; empty if it is not kept."""


class PageInfo(Record, frozen=True, kw_only=True):
    """One page."""

    index: int

    current: bool

    title: str

    url: str

    recorded: str
    """Id of the session that records the page; empty until it has opened an address."""


class RecordedPage(Record, frozen=True, kw_only=True):
    """The recorded session of one page."""

    id: str

    verdict: str
    """`open` while it is being recorded; `interrupted` if the node stopped before signing it."""

    steps: int

    title: str

    start_url: str


class LiveSummary(Record, frozen=True, kw_only=True):
    """A live session in numbers."""

    session: str

    caller: str
    """Caller that opened it."""

    opened_ms: int

    ends_ms: int
    """The latest possible end. After the end, its time; for an interrupted session, the time of the last step."""

    idle_s: int

    actions: int

    actions_max: int

    pages: int
    """Number of open pages."""

    pages_max: int

    reason: str = ""
    """The reason for the end: closed, ttl, idle, actions, size, crashed, budget, expired, removed, uncounted,
    capsule, failed, stopped, interrupted. Empty while it is open.
    """

    sessions: tuple[str, ...] = ()
    """Ids of its recorded sessions, one for each page that was used."""
