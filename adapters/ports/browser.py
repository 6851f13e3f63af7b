"""Port: a running Chromium, its contexts and pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from protocol import limits
from protocol.approval.forms import RequestForm
from protocol.approval.leaving import Fate
from protocol.approval.question import Cover
from protocol.capsule.slices import NO_SLICE, Slice
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Locator
from protocol.page.actions.dialogs import Dialog, DialogAnswer
from protocol.page.actions.downloads import Download
from protocol.page.actions.fits import Grade
from protocol.page.instructions.hidden_text import HiddenTexts
from protocol.page.secrets.secrets import Secrets
from protocol.page.seen.observation import Cut, Element, Observation
from protocol.page.seen.turned_away import Putoff
from protocol.page.showing.covering import Covering
from protocol.page.showing.markup import Markup
from protocol.recording.records.manifest import Effect, StepRequests
from protocol.recording.records.session import BrowserInfo, Held, Profile, RequestFault
from protocol.risk.requests.requests import GuardPolicy


class Blocked(NamedTuple):
    """Requests that the guard refused."""

    requests: tuple[str, ...]
    """``METHOD /path`` at the origin of the page, else ``METHOD https://host/path``."""
    rules: tuple[str, ...]
    """For each of ``requests``, the rule that refused it (``protocol.risk.requests.refused``)."""
    forms: tuple[RequestForm, ...] = ()
    """The forms of the requests that an owner could allow, …"""
    exacts: tuple[bytes, ...] = ()
    """… and ``request_exact`` of each fully known one, in no order."""
    sent: tuple[Effect, ...] = ()
    """The effects that a failed action has sent: they are in no outcome."""


class Leaving(msgspec.Struct, frozen=True, kw_only=True):
    """One held request, as the page driver gives it. Its address is not redacted."""

    number: int
    """The number by which its page knows it."""
    url: str
    """Not redacted."""
    form: RequestForm
    exact: bytes
    """``request_exact``: 32 bytes."""
    effect: Effect
    """Its effect, as a recording lists it; not redacted."""
    document: bool = False
    """True if its answer replaces the page."""
    size: int = 0
    """Bytes of its body."""


class ActionOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an action."""

    observation: Observation
    """The page after it stopped changing (or reached the expected state)."""
    extracted: str = ""
    blocked: tuple[str, ...] = ()
    """Requests that the guard refused since the last report (``Page.blocked``), …"""
    blocked_by: tuple[str, ...] = ()
    """… and the rules that refused them."""
    blocked_forms: tuple[RequestForm, ...] = ()
    blocked_exacts: tuple[bytes, ...] = ()
    """``forms`` and ``exacts`` of ``Blocked``."""
    sent: tuple[Effect, ...] = ()
    """Requests of the action that change something, or may, and that the guard let through; not redacted."""
    leaving: tuple[Leaving, ...] = ()
    """Requests that wait for a yes and that no earlier outcome reported (``Page.let_go``)."""
    documents: int = 0
    """How many documents the page has loaded: a greater number than before means another document."""
    unconfirmed: bool = False
    """True if a request of the page was held or refused since its address was opened; set by the judge."""
    unsent: bool = False
    """True if the action needed no yes only because its requests are judged, and one was refused. Set by the judge."""
    question: str = ""
    """Id of the question to the owner about the refusal; set by the asker."""
    dialogs: tuple[Dialog, ...] = ()
    """Dialogs since the last outcome, and how they were answered."""
    downloads: tuple[Download, ...] = ()
    """Files that the page let the browser download since the last outcome."""
    chooser: bool = False
    """True if the page asked for a file to upload. It got none."""
    tab: bool = False
    """True if the page opened a new tab or window; in a context without tabs, its address was opened in the page instead."""
    on_tab: int = 0
    """The tab that is in front now, by its number from 1; 0 in a context without tabs."""
    asked: bool = False
    """True if a script asked for data because of the action, and the guard let that pass."""
    settled: bool = True
    """False if the page was still changing at the settle timeout."""
    faults: tuple[RequestFault, ...] = ()
    """Requests for documents and data that the action caused and that failed."""
    held: Held = ""
    """The result of the action's assertion; as ``Step.held``."""
    grade: Grade = "part"
    """For a wait for a text: how much of the shown text it matches; only if ``Given.graded``."""
    notes: tuple[str, ...] = ()
    """Remarks for a person on how the action was done: fields that show less than was entered, or that the page has emptied
    since; a page that was used while it still loaded."""
    basic: tuple[str, ...] = ()
    """Names of secrets that answered a site which asked for HTTP basic authentication."""
    challenges: tuple[str, ...] = ()
    """Sites that asked for HTTP authentication and got no answer: ``basic https://host``."""
    status: int = 0
    """The HTTP status of the document, if it came with the action."""
    putoffs: tuple[Putoff, ...] = ()
    """Answers of 429, or 503, to requests of the action; at most ``PUTOFFS_MAX``. Not redacted."""


class GivenFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file to upload."""

    name: str
    """The file name that the page sees, without a folder."""
    data: bytes

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.data)} bytes)"


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """The means with which an action is performed."""

    answer: DialogAnswer | None = None
    """The expected dialog, …"""
    accepts: Callable[[Dialog], bool] = lambda _: False
    """… and a test that selects the dialog to accept; every other one is dismissed."""
    files: tuple[GivenFile, ...] = ()
    """The files of an upload, in order."""
    holds: bool = False
    """True if a request that the guard refuses for want of a yes waits for it, if its kind can wait (``ActionOutcome.leaving``)."""
    decides: Callable[[Leaving], Awaitable[bool]] | None = None
    """Decides for each waiting request if it may leave. The action ends once all of them are decided and the page is still;
    requests that have left by then are ``sent``, the rest ``leaving``."""
    covers: tuple[Cover, ...] = ()
    """Requests that the owner has allowed until the action has ended, although the guard would refuse them."""
    level_min: int = 1
    """The gravest class that any fact about the action suggests: its requests get at least this class."""
    level_max: int = 7
    """The highest class of requests that may leave because they are named: also after the action, until the next one."""
    listed: StepRequests | None = None
    """Further requests that the action may send, each once. The wait for a still page also waits for them."""
    grade: Grade = "part"
    """For a wait for a text: how much of the shown text must match it."""
    onto: str = ""
    """Where a drag ends: the ref of an element in the last observation."""
    graded: bool = False
    """True if the outcome must report how much of the shown text the awaited text matches."""
    arrival_ms: int = 0
    """How long the next document of the page may take; 0: as long as the action itself allows."""
    followed: bool = False
    """True if the caller has given the next action too: a field to which the page does not react is then left sooner."""
    grave: bool = False
    """True if a control with grave words is pressed: until 10 s after the action each GET of the page is examined, and
    unreadable requests are refused."""


NOTHING = Given()


class UnexportableState(msgspec.Struct, frozen=True, kw_only=True):
    """Data that a site keeps in the browser and that no state includes."""

    origin: str
    what: str
    """``crypto-key in NAME/STORE``, ``blob in NAME/STORE``, ``cache-storage``, ``broken-text`` (no Unicode)."""


class BrowserState(msgspec.Struct, frozen=True, kw_only=True):
    """Cookies and storage of a context. A secret: it can be a login. Never logged, never shown."""

    storage: bytes
    """JSON of Playwright's ``storage_state``, with ``sessionStorage`` for each origin: the first page of a context begins with
    it; at the end it holds that of the origins shown then. Storage of a frame that is partitioned by the site on top has a
    ``storageKey`` beside its origin. Errors if it is too long: ``input.too_large``."""
    untaken: tuple[UnexportableState, ...] = ()
    """Data of the open pages that it lacks, as far as they report it."""
    slice: Slice = NO_SLICE
    """Files of a profile: a context that begins with them has a browser of its own (``OpenPersistent``). IndexedDB of these
    origins is in the files, whatever ``storage`` says about it."""

    def __post_init__(self) -> None:
        if len(self.storage) > limits.BROWSER_STATE_BYTES_MAX:
            raise MeshError("input.too_large", f"browser state of more than {limits.BROWSER_STATE_BYTES_MAX} bytes")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.storage)} bytes)"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        return [("bytes", len(self.storage))]


class SeenBeside(Protocol):
    """The parts of a page beyond its observation."""

    def downloads(self) -> tuple[Download, ...]:
        """The files that the page let the browser download so far, oldest first."""

    def console_errors(self) -> tuple[str, ...]:
        """The errors that scripts have logged to the console, or did not catch, so far: the first ``CONSOLE_ERRORS_MAX``.

        Without Chromium's own messages about failed requests.
        """

    async def markup(self, targets: Sequence[Locator] = (), near: Sequence[str] = ()) -> Markup:
        """The current document of the page, or of the frame that the first of ``targets`` names, with its elements that
        the ways to a target lead to. A last way without words leads to ``near``, if that is given.

        near: refs of the last observation. The contents of fields are left out. A secret that a page spreads over several
        elements is found only by ``protocol.page.showing.markup.shown``. Errors: ``browser.timeout`` (also without an
        observation), ``browser.crashed``.
        """

    async def hidden_texts(self) -> HiddenTexts:
        """Texts that the documents of the page hold but do not show, and that may address a model: at most ``HIDDEN_TEXTS_MAX``.

        Not ``whole`` if there are more, a frame is out of reach, or a document takes longer to read than ``HIDDEN_TEXT_MS``.
        Errors: ``browser.timeout``, ``browser.crashed``.
        """


class HeldRequests(Protocol):
    """The held requests of a page (``Given.holds``). All methods but ``late`` may be called while another call runs."""

    def refused_late(self) -> Mapping[int, tuple[str, ...]]:
        """Requests that may change something and were refused up to ``HELD_LATE_S`` after a press, by tab (0 without tabs):
        lines as in ``Blocked``, each returned once.
        """

    def untold(self) -> tuple[Leaving, ...]:
        """The held requests that nothing has reported, each returned once: a failed action has no outcome."""

    async def late(self) -> tuple[Leaving, ...]:
        """Requests of the last action that began to wait for a yes after its outcome, once there are any; empty after the time
        for them.

        May be called while nothing else runs, and is cancelled before the next action.
        """

    async def fate(self, number: int) -> Fate:
        """The fate of a held request (``ActionOutcome.leaving``), once it is known; ``withdrawn`` for an unknown number."""

    async def let_go(self, number: int) -> Fate:
        """Let a held request leave, once and unchanged, and return its fate. A second call changes nothing.

        For a document: not while another call runs.
        """

    def keep_back(self, number: int) -> None:
        """Refuse a held request: it does not leave."""


class Page(SeenBeside, HeldRequests, Protocol):
    """One page of a context. Used by one task at a time."""

    async def observe(self) -> Observation:
        """The page now. Errors: ``browser.crashed``, ``browser.timeout``, ``browser.unreadable``."""

    def identities(self) -> Mapping[str, str]:
        """The identity of each element of the last observation, by its ref. It stays the same in later observations as long as the
        element is in its document, whatever the element says, and no other element of the page ever gets it. An element without
        one is in a frame whose documents cannot be told apart.
        """

    async def unchanged(self) -> bool:
        """True if the page is as in the last observation, as far as it can be watched, and nothing pending could change it.

        Costs far less than a new observation. Some changes are not seen, such as that of a rule in a style sheet: no action of a
        caller may rely on it. Only after a successful action; False if it cannot be determined. Errors: ``browser.crashed``,
        ``browser.timeout``.
        """

    async def find(self, selector: str, frame: str = "", *, within: str = "", grade: Grade = "part") -> Element | None:
        """The one visible element, in the last observation, that ``selector`` matches; None if it matches none.

        selector: one of the forms of ``protocol.page.actions.locator.FORMS``, except ``aria/``. frame: the frame to search, by
        its prefix in the observation (``f1``). within: the ref of an element to search in. grade: how much of a text the text
        in the selector must match. An element that the observation leaves out is found too: its ref is valid until the next
        observation, and ``inside`` names the control around it. It is never replaced by an element around it, with one
        exception: the whole content of a link or button stands for that control, since an action on either reaches the same
        element. Errors: ``action.target_ambiguous`` (several visible elements), ``action.not_possible`` (not visible, or not in
        the accessibility tree), ``action.target_missing`` (not a selector), ``browser.*``.
        """

    async def hindrance(self, target: Locator, ref: str = "") -> str:
        """The obstacle to seeing or using an element, in words that end a sentence about it: ``it is disabled``, ``the dialog
        “Cookies” covers it``. Empty if there is no obstacle, or no such element, shown or hidden.

        ref: the element, by its ref in the last observation. Without a ref: the first element in the frame that matches
        ``target``, even one that no observation lists. Errors: ``browser.crashed``.
        """

    async def closed(self, *, within: str = "", framed: bool = False, said: bool = False) -> Cut | None:
        """The text in closed shadow trees of the page, which neither an observation nor ``read`` contains; None if there is none.

        Only the main frame, or the element with the ref ``within`` in the last observation. framed: all frames, including those
        inside closed trees. said: within an element, only parts with words or content, not shapes. The browser's own trees,
        such as those of fields, do not count. Call it before you conclude that a text is absent. Errors: ``browser.crashed``,
        ``browser.timeout``.
        """

    async def option_label(self, ref: str, value: str) -> str:
        """The label of the option with this ``value`` in the select with this ``ref``; empty if it has no such option.

        Errors: ``action.target_missing``, ``action.not_possible`` (another option has the label as well), ``browser.*``.
        """

    async def read(self, ref: str | None = None, attribute: str = "") -> str | None:
        """The text of the element with this ``ref`` in the last observation, or one of its attributes; without a ref the text
        of the page. None if it has no such attribute.

        A field gives its content; a list or a group of radio buttons gives the chosen labels, one a line.

        A password field's content is never read. Errors: ``action.target_missing`` (it is gone), ``browser.*``.
        """

    async def sent(self, ref: str) -> tuple[str, ...] | None:
        """The values that a form would send for the field or list with this ``ref``: the values of chosen options, not their
        labels.

        None for any other element, and for a password field. Errors: as ``read``.
        """

    async def pause(self, pause_ms: int) -> None:
        """Leave the page alone for ``pause_ms``. Errors: ``browser.crashed``, ``browser.timeout``."""

    async def perform(
        self,
        action: Action,
        *,
        ref: str | None = None,
        expect: bytes | None = None,
        secrets: Secrets | None = None,
        timeout_ms: int = 0,
        given: Given = NOTHING,
    ) -> ActionOutcome:
        """Do ``action`` and wait until the page is still. An assertion only waits here; ``read`` judges it.

        ref: the element, by its ref in the last observation; None for actions without a target. expect: a state hash; the wait
        ends as soon as the page has it. secrets: those the action may name, and where each may be typed; their values appear in
        no observation, error or log. timeout_ms: 0 for the limit of the kind of action. given: further means of the action.
        Errors: ``browser.crashed``, ``browser.timeout``, ``browser.unreadable``, ``browser.navigation``, ``browser.refused``,
        ``browser.scheme``, ``action.target_missing``, ``action.text_missing``, ``action.not_possible``,
        ``action.hits_another``, ``action.clipboard``, ``action.secret_literal``, ``action.secret_missing``,
        ``action.secret_elsewhere``.
        """

    def blocked(self) -> Blocked:
        """The requests that the guard refused since the last report, here or in an outcome: a failed action has no outcome."""

    async def screenshot(self, cover: Covering | None = None) -> bytes:
        """A PNG of the viewport, animations stopped, caret hidden, password fields never readable.

        cover: texts to black out wherever they are painted. Errors: ``action.not_possible`` (their places cannot be determined).
        """

    async def close(self) -> None:
        """Close the page; its context stays. Never raises; a second call does nothing."""


class Passkey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A passkey of this node: a key pair for one account of one site (WebAuthn, discoverable credential)."""

    rp: str
    """The site, as the browser checks it: a host or its parent domain."""
    credential: bytes
    """Its id at the site, in bytes."""
    private: bytes
    """PKCS #8. It is never written to a file in clear text, and never leaves the node."""
    user: bytes = b""
    """The site's handle of the account."""
    count: int = 0
    """How often it was used: sites refuse a count that does not grow."""
    name: str = ""
    """The site's name of the account; empty if the browser does not give one."""

    def __repr__(self) -> str:
        return f"Passkey(rp={self.rp!r}, count={self.count})"


HearPasskey = Callable[[Passkey, bool], None]
"""Called with the current state of a passkey that a page has just made (True) or used (False). Never raises."""


def deaf(key: Passkey, made: bool) -> None:
    """A ``HearPasskey`` that does nothing."""


class Context(Protocol):
    """Pages that share cookies and storage, under one guard, isolated from every other context.

    Without tabs (``Browser.open``), a window that a page opens is no page of the context. It sends nothing, and its address is
    opened in the page itself.
    """

    @property
    def pages(self) -> tuple[Page, ...]:
        """The open pages, oldest first."""

    async def page(self) -> Page:
        """A new blank page.

        Errors: ``browser.crashed`` (also once the context is closed), ``browser.timeout``, ``browser.launch``.
        """

    async def state(self, *, whole: bool = False) -> BrowserState:
        """Cookies and localStorage now; whole: IndexedDB and sessionStorage too, which takes longer.

        Errors: ``browser.crashed``, ``browser.timeout``, ``input.too_large``.
        """

    async def last_state(self, origins: Sequence[str]) -> BrowserState:
        """The whole state, as the last request to a context: only ``close`` may follow.

        origins: patterns. A persistent browser ends with this call; its state also has the slice of these origins. Errors:
        those of ``state``; ``browser.state`` (files that no browser writes).
        """

    def keep_downloads(self, folder: str) -> None:
        """Keep each complete download from now on: in ``folder``, which is made for the first one, at ``kept_at``. At most
        ``DOWNLOADS_KEPT_BYTES_MAX`` are kept; otherwise, and without this call, a download is only hashed.
        """

    def note_offers(self) -> list[str]:
        """The origins whose answers offer to bind a session to this device, from now on; the list grows, each once.

        A bound session soon ends in any other browser. Only the offer is visible, not whether a session was bound.
        """

    async def hold_passkeys(self, held: Sequence[Passkey], hear: HearPasskey = deaf) -> None:
        """From now on its first page has an authenticator of its own with these passkeys, which agrees to every request.

        That page can no longer reach any authenticator of the machine. ``hear`` is called at once with each passkey that a page
        makes or uses. Errors: ``browser.crashed``, ``browser.timeout``, ``browser.no_passkeys``.
        """

    async def passkeys(self) -> tuple[Passkey, ...]:
        """The current passkeys of that authenticator, new ones too. Errors: ``browser.crashed``, ``browser.timeout``."""

    async def close(self) -> None:
        """Close its pages, and forget its cookies and storage. Never raises; a second call does nothing."""


class Browser(Protocol):
    """A running Chromium."""

    @property
    def info(self) -> BrowserInfo: ...

    @property
    def turned_away(self) -> Mapping[tuple[str, str], int]:
        """How often its tunnel refused traffic that no guard had let through, by asker (``browser`` or ``page``) and method."""

    async def open(
        self, profile: Profile, guard: GuardPolicy, *, state: BrowserState | None = None, tabs: bool = False
    ) -> Context:
        """A fresh isolated context under ``guard``, without a page.

        state: the initial cookies, localStorage and IndexedDB: all of it is restored, or the call fails. tabs: True if a window
        that a page opens becomes a tab beside it, and each of its requests is judged before it is sent. The context then has
        one page, which stands for the tab in front. An attached browser has no tabs: there a window's first request cannot be
        held. Errors: ``browser.crashed``, ``browser.timeout``, ``browser.launch``, ``browser.state``; ``input.invalid`` (not a
        state).
        """

    async def ended(self) -> None:
        """Wait until the browser no longer runs, whatever ended it."""

    async def close(self) -> None:
        """Stop a launched browser; leave an attached one running. Never raises; a second call does nothing."""


OpenBrowser = Callable[[], Awaitable[Browser]]
"""Starts or attaches to a browser. Errors: ``browser.missing``, ``browser.launch``, ``browser.unreachable``."""
OpenPersistent = Callable[[Profile, Slice], Awaitable[Browser]]
"""Starts a browser of its own, with one context and a fresh profile that begins with a slice.

Errors: ``browser.missing``, ``browser.launch``; ``browser.no_profile`` (browsers belong to somebody else),
``capsule.slice_version``.
"""


OpenProxied = Callable[[str], Awaitable[Browser]]
"""Starts a browser of its own that contacts all sites through the proxy of this name.

Errors: ``browser.missing``, ``browser.launch``, ``config.invalid``; ``input.not_found`` (there is no such proxy).
"""


async def no_proxied(proxy: str) -> Browser:
    """An ``OpenProxied`` for nodes without proxies."""
    raise MeshError("input.not_found", "`browser.proxies` names no proxy of this name", proxy=proxy[:64])


async def no_persistent(profile: Profile, given: Slice) -> Browser:
    """An ``OpenPersistent`` for nodes whose browsers have no profile of ours."""
    raise MeshError("browser.no_profile")
