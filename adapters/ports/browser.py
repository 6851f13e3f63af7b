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
from protocol.page.actions.dialogs import Answer, Dialog
from protocol.page.actions.downloads import Download
from protocol.page.actions.fits import Grade
from protocol.page.instructions.hidden_text import HiddenTexts
from protocol.page.secrets.secrets import Secrets
from protocol.page.seen.observation import Cut, Element, Observation
from protocol.page.showing.covering import Covering
from protocol.page.showing.markup import Markup
from protocol.recording.records.manifest import Effect, Listed
from protocol.recording.records.session import BrowserInfo, Held, Profile, RequestFault
from protocol.risk.requests import GuardPolicy


class Blocked(NamedTuple):
    """Requests that the guard refused."""

    requests: tuple[str, ...]
    """``METHOD /path`` at the origin of the page, else ``METHOD https://host/path``."""
    rules: tuple[str, ...]
    """For each of them the rule that refused it (``protocol.risk.refused``)."""
    forms: tuple[RequestForm, ...] = ()
    """The forms of those that an owner could allow, …"""
    exacts: tuple[bytes, ...] = ()
    """… and ``request_exact`` of each of which all is known, in no order."""


class Leaving(msgspec.Struct, frozen=True, kw_only=True):
    """One held request, as the page driver tells it. Its address is not redacted."""

    number: int
    """By which its page knows it."""
    url: str
    """Not redacted."""
    form: RequestForm
    exact: bytes
    """``request_exact``: 32 bytes."""
    effect: Effect
    """Its effect, as a recording lists it; not redacted."""
    document: bool = False
    """True if its answer takes the place of the page."""
    size: int = 0
    """Bytes of its body."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What an action led to."""

    observation: Observation
    """The page after it stopped changing (or reached the expected state)."""
    extracted: str = ""
    blocked: tuple[str, ...] = ()
    """What the guard refused since it was last told (``Page.blocked``), …"""
    blocked_by: tuple[str, ...] = ()
    """… and by which rules."""
    blocked_forms: tuple[RequestForm, ...] = ()
    blocked_exacts: tuple[bytes, ...] = ()
    """``forms`` and ``exacts`` of ``Blocked``."""
    sent: tuple[Effect, ...] = ()
    """What the guard let through that changes something, or may, because of the action: not redacted."""
    leaving: tuple[Leaving, ...] = ()
    """Requests that wait for a yes and that no outcome has told of before (``Page.let_go``)."""
    documents: int = 0
    """How many documents the page has come to: a greater number than before is another document."""
    unconfirmed: bool = False
    """True if something that the page sent was held or refused since its address was opened; set by who judges."""
    unsent: bool = False
    """Whether the action needed no yes only because what it sends is judged, and that was refused. Set by who judges."""
    question: str = ""
    """Id of the question to the owner about what was refused; set by who asks."""
    dialogs: tuple[Dialog, ...] = ()
    """Dialogs since the last outcome, and how they were answered."""
    downloads: tuple[Download, ...] = ()
    """Files that the page let the browser download since the last outcome."""
    chooser: bool = False
    """Whether the page asked for a file to upload. It got none."""
    tab: bool = False
    """Whether the page opened a new tab or window; in a context without tabs, its address was opened in the page instead."""
    on_tab: int = 0
    """The tab that is in front now, by its number from 1; 0 in a context without tabs."""
    asked: bool = False
    """Whether a script asked for data because of the action, and the guard let that pass."""
    settled: bool = True
    """False when the page was still changing at the settle timeout."""
    faults: tuple[RequestFault, ...] = ()
    """Requests for documents and data that the action caused and that went wrong."""
    held: Held = ""
    """Whether the assertion held that the action made; as ``Step.held``."""
    grade: Grade = "part"
    """Of a wait for a text: how much of what is shown it is; only if ``Given.graded``."""
    notes: tuple[str, ...] = ()
    """What a person should know of how the action was done: fields that show less, or that the page has emptied since; a page
    that was used while it still loaded."""
    basic: tuple[str, ...] = ()
    """Names of secrets that answered a site which asked for HTTP basic authentication."""
    challenges: tuple[str, ...] = ()
    """Who asked for HTTP authentication and got no answer: ``basic https://host``."""


class GivenFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file to upload."""

    name: str
    """What the page learns of its name: no folder."""
    data: bytes

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.data)} bytes)"


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """What an action is performed with."""

    answer: Answer | None = None
    """The dialog that is waited for, …"""
    accepts: Callable[[Dialog], bool] = lambda _: False
    """… and whether a dialog is the one that is to be accepted; every other one is dismissed."""
    files: tuple[GivenFile, ...] = ()
    """The files of an upload, in order."""
    holds: bool = False
    """True if what the guard refuses for want of a yes waits for it, where it is of a kind that can (``Outcome.leaving``)."""
    decides: Callable[[Leaving], Awaitable[bool]] | None = None
    """Says of each request that waits if it may leave. The action is over once all of them are decided and the page is still;
    what has left then is ``sent``, and the rest ``leaving``."""
    covers: tuple[Cover, ...] = ()
    """Requests that the owner has allowed until the action has ended, although the guard refuses them otherwise."""
    level_min: int = 1
    """The gravest class that anything about the action speaks for: what it causes is of no lower one."""
    level_max: int = 7
    """The highest class of what may leave because it is named: also after the action, until the next one."""
    listed: Listed | None = None
    """What the action may send besides, each once. The wait for a still page also waits for that."""
    grade: Grade = "part"
    """Of a wait for a text: how much of what is shown must be this text."""
    onto: str = ""
    """Where a drag ends: the ref of an element in the last observation."""
    graded: bool = False
    """Whether the outcome is to say how much of what is shown a text is that was waited for."""
    arrival_ms: int = 0
    """How long a document may take that the page is on its way to; 0: as long as the action itself says."""
    grave: bool = False
    """A control of grave words is pressed: until 10 s after the action each GET of the page is looked at, and what nobody can read
    is refused."""


NOTHING = Given()


class Untaken(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a site keeps in the browser and no state takes."""

    origin: str
    what: str
    """``crypto-key in NAME/STORE``, ``blob in NAME/STORE``, ``cache-storage``, ``broken-text`` (no Unicode)."""


class BrowserState(msgspec.Struct, frozen=True, kw_only=True):
    """Cookies and storage of a context. A secret: it can be a login. Never logged, never shown."""

    storage: bytes
    """JSON as Playwright's ``storage_state`` gives it, and for each origin ``sessionStorage``: the first page of a context begins
    with it; at the end it stands for the origins that pages showed then. What is kept for a frame and the site on top has a
    ``storageKey`` beside its origin. Errors when it is too long: ``input.too_large``."""
    untaken: tuple[Untaken, ...] = ()
    """What of the pages that were open is not in it, as far as they say."""
    slice: Slice = NO_SLICE
    """Files of a profile: a context that begins with them is one of a browser of its own (``OpenPersistent``). IndexedDB
    of these origins is in the files, whatever ``storage`` says of it."""

    def __post_init__(self) -> None:
        if len(self.storage) > limits.BROWSER_STATE_BYTES_MAX:
            raise MeshError("input.too_large", f"browser state of more than {limits.BROWSER_STATE_BYTES_MAX} bytes")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.storage)} bytes)"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        return [("bytes", len(self.storage))]


class SeenBeside(Protocol):
    """A page, as far as it tells more than its observation."""

    def downloads(self) -> tuple[Download, ...]:
        """The files that the page let the browser download so far, oldest first."""

    def console_errors(self) -> tuple[str, ...]:
        """What scripts have written to the console as errors, or did not catch, so far: the first ``CONSOLE_ERRORS_MAX``.

        Not what Chromium writes there of requests that went wrong.
        """

    async def markup(self, targets: Sequence[Locator] = (), near: Sequence[str] = ()) -> Markup:
        """The document of the page as it stands, or of the frame that the first of ``targets`` names, and which of its elements the
        ways of each of them lead to. A last way without words leads to ``near``, if that is given.

        near: refs of the last observation. Of what fields hold nothing is in it. A secret that a page has spread over elements is
        found only by ``protocol.page.showing.markup.shown``.
        Errors: ``browser.timeout`` (also without an observation), ``browser.crashed``.
        """

    async def hidden_texts(self) -> HiddenTexts:
        """What the documents of the page hold, do not show, and may say to a model: at most ``HIDDEN_TEXTS_MAX`` texts.

        Not ``whole`` if there are more, a frame is out of reach, or a document takes longer to read than ``HIDDEN_TEXT_MS``.
        Errors: ``browser.timeout``, ``browser.crashed``.
        """


class Holding(Protocol):
    """A page, as far as requests of it wait for a yes (``Given.holds``). All but ``late`` may be called while another call runs."""

    def refused_late(self) -> Mapping[int, tuple[str, ...]]:
        """Requests that may change something and were refused up to ``HELD_LATE_S`` after a press, by tab (0 without tabs): lines
        as in ``Blocked``, each told once.
        """

    async def late(self) -> tuple[Leaving, ...]:
        """Requests of the last action that wait for a yes since its outcome, once there are any; empty once it is too late.

        May be called while nothing else runs, and is cancelled before the next action.
        """

    async def fate(self, number: int) -> Fate:
        """The fate of a held request (``Outcome.leaving``), once that is known; ``withdrawn`` for one that is not known here."""

    async def let_go(self, number: int) -> Fate:
        """Let a held request leave, once and exactly as it is, and say what became of it. A second call changes nothing.

        Of a document: not while another call runs.
        """

    def keep_back(self, number: int) -> None:
        """A held request does not leave."""


class Page(SeenBeside, Holding, Protocol):
    """One page of a context. Used by one task at a time."""

    async def observe(self) -> Observation:
        """The page now. Errors: ``browser.crashed``, ``browser.timeout``, ``browser.unreadable``."""

    async def unchanged(self) -> bool:
        """Whether the page is certainly as it was in the last observation, and nothing is on its way that would change it.

        Costs far less than to observe it again. Only after an action that has succeeded; False where it cannot be told.
        Errors: ``browser.crashed``, ``browser.timeout``.
        """

    async def find(self, selector: str, frame: str = "", *, within: str = "", grade: Grade = "part") -> Element | None:
        """The one visible element, in the last observation, that ``selector`` matches; None if it matches none.

        selector: one of the forms of ``protocol.page.actions.locator.FORMS``, but for ``aria/``. frame: the frame to search, by its
        prefix in the observation (``f1``). within: the ref of an element, to search in that. grade: how much of a text must be
        what the selector says.
        An element that the observation leaves out is found too: its ref is good until the next observation, and ``inside``
        names the control around it. It is never exchanged for one around it, with one exception: the whole content of a link or
        button stands for it, since an action on either is received by the same element.
        Errors: ``action.target_ambiguous`` (several visible elements), ``action.not_possible`` (not visible, or not in the
        accessibility tree), ``action.target_missing`` (not a selector), ``browser.*``.
        """

    async def hindrance(self, target: Locator, ref: str = "") -> str:
        """What keeps an element from being seen or used, in words that end a sentence about it: ``it is disabled``, ``the dialog
        “Cookies” covers it``. Empty if nothing does, or there is no such element, shown or hidden.

        ref: the element, by its ref in the last observation; without it the first in the frame that fits ``target``, also one that
        no observation lists. Errors: ``browser.crashed``.
        """

    async def closed(self, *, within: str = "", framed: bool = False, said: bool = False) -> Cut | None:
        """What the page shows in closed shadow trees, which no observation lists and no text has; None if there is nothing.

        Only the main frame, or the element with the ref ``within`` in the last observation. framed: all frames, also those that
        stand in closed trees. said: within an element, only what says something, and no shape. Trees of the browser's own, such as
        those of fields, do not count. Asked before it is concluded that something is absent.
        Errors: ``browser.crashed``, ``browser.timeout``.
        """

    async def option_label(self, ref: str, value: str) -> str:
        """The label of the option with this ``value`` in the select with this ``ref``; empty if it has no such option.

        Errors: ``action.target_missing``, ``action.not_possible`` (another option has the label as well), ``browser.*``.
        """

    async def read(self, ref: str | None = None, attribute: str = "") -> str | None:
        """The text of the element with this ``ref`` in the last observation, or one of its attributes; without a ref the text of
        the page. None if it has no such attribute.

        Of a field its content, of a list or a group of radio buttons the labels of what is chosen, one a line.

        Nothing of a password field's content is read. Errors: ``action.target_missing`` (it is gone), ``browser.*``.
        """

    async def sent(self, ref: str) -> tuple[str, ...] | None:
        """The values that a form would send of the field or list with this ``ref``: of each chosen option its value, not its label.

        None for what is neither, and for a password field. Errors: as ``read``.
        """

    async def pause(self, pause_ms: int) -> None:
        """Let the page go on for so long. Errors: ``browser.crashed``, ``browser.timeout``."""

    async def perform(
        self,
        action: Action,
        *,
        ref: str | None = None,
        expect: bytes | None = None,
        secrets: Secrets | None = None,
        timeout_ms: int = 0,
        given: Given = NOTHING,
    ) -> Outcome:
        """Do ``action`` and wait until the page is still. Of an assertion only the wait is done here; ``read`` is what judges it.

        ref: the element, by its ref in the last observation; None for actions without a target.
        expect: a state hash; the wait ends as soon as the page has it.
        secrets: those the action may name, and where each may be typed; their values appear in no observation, error or log.
        timeout_ms: 0 for the limit of the kind of action. given: what else the action needs.
        Errors: ``browser.crashed``, ``browser.timeout``, ``browser.unreadable``, ``browser.navigation``,
        ``browser.refused``, ``browser.scheme``, ``action.target_missing``, ``action.text_missing``, ``action.not_possible``,
        ``action.hits_another``,
        ``action.clipboard``, ``action.secret_literal``, ``action.secret_missing``, ``action.secret_elsewhere``.
        """

    def blocked(self) -> Blocked:
        """What the guard refused since it was last told, here or in an outcome: of an action that failed, there is none."""

    async def screenshot(self, cover: Covering | None = None) -> bytes:
        """A PNG of the viewport, animations stopped, caret hidden, password fields never readable.

        cover: what is black in it, wherever it is painted as text. Errors: ``action.not_possible`` (its places cannot be told).
        """

    async def close(self) -> None:
        """Close the page; its context stays. Never raises; a second call does nothing."""


class Passkey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A passkey of this node: a key pair for one account of one site (WebAuthn, discoverable credential)."""

    rp: str
    """The site, as the browser checks it: a host or its parent domain."""
    credential: bytes
    """Its id at the site."""
    private: bytes
    """PKCS #8. It is in no file in clear, and in nothing that leaves the node."""
    user: bytes = b""
    """The site's handle of the account."""
    count: int = 0
    """How often it was used: sites refuse a count that does not go up."""
    name: str = ""
    """What the site calls the account; empty if the browser does not say."""

    def __repr__(self) -> str:
        return f"Passkey(rp={self.rp!r}, count={self.count})"


HearPasskey = Callable[[Passkey, bool], None]
"""Told of a passkey that a page has just made (True) or used (False), as it is now. Never raises."""


def deaf(key: Passkey, made: bool) -> None:
    """A ``HearPasskey`` that does nothing."""


class Context(Protocol):
    """Pages that share cookies and storage, under one guard, isolated from every other context.

    Without tabs (``Browser.open``), a window that a page opens is no page of the context: it sends nothing, and where it leads is
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
        """The whole state, as the last thing that is asked of a context: nothing but ``close`` may follow.

        origins: patterns. Of a persistent browser, which ends by this, the slice of these origins is in it too.
        Errors: those of ``state``; ``browser.state`` (files that no browser gives).
        """

    def note_offers(self) -> list[str]:
        """From now on, the origins whose answers offer to bind a session to this device; the list grows, each once.

        Such a session ends soon in any other browser. That it was bound is not seen: what a site offers is all that is told.
        """

    async def hold_passkeys(self, held: Sequence[Passkey], hear: HearPasskey = deaf) -> None:
        """From now on its first page has an authenticator of its own with these passkeys, which agrees to everything that is asked.

        No authenticator of the machine is reached from there any more. ``hear`` is told at once of what a page makes and uses.
        Errors: ``browser.crashed``, ``browser.timeout``,
        ``browser.no_passkeys``.
        """

    async def passkeys(self) -> tuple[Passkey, ...]:
        """What that authenticator holds now: new ones too. Errors: ``browser.crashed``, ``browser.timeout``."""

    async def close(self) -> None:
        """Close its pages, and forget its cookies and storage. Never raises; a second call does nothing."""


class Browser(Protocol):
    """A running Chromium."""

    @property
    def info(self) -> BrowserInfo: ...

    @property
    def turned_away(self) -> Mapping[tuple[str, str], int]:
        """How often its tunnel refused what no guard had let through, by who asked (``browser`` or ``page``) and method."""

    async def open(
        self, profile: Profile, guard: GuardPolicy, *, state: BrowserState | None = None, tabs: bool = False
    ) -> Context:
        """A fresh isolated context under ``guard``, without a page.

        state: the cookies, localStorage and IndexedDB that it begins with: all of it is there, or the call fails.
        tabs: whether a window that a page opens becomes a tab beside it,
        each of its requests judged before it is sent; the context then has one page, which stands for the tab in front. An
        attached browser has no tabs: there a window's first request cannot be held.
        Errors: ``browser.crashed``, ``browser.timeout``, ``browser.launch``, ``browser.state``; ``input.invalid`` (not a state).
        """

    async def ended(self) -> None:
        """Wait until the browser runs no more, whatever ended it."""

    async def close(self) -> None:
        """Stop what was started; leave running what was only attached to. Never raises; a second call does nothing."""


OpenBrowser = Callable[[], Awaitable[Browser]]
"""Starts or attaches to a browser. Errors: ``browser.missing``, ``browser.launch``, ``browser.unreachable``."""
OpenPersistent = Callable[[Profile, Slice], Awaitable[Browser]]
"""Starts a browser of its own, whose one context is written to a fresh profile, which begins with a slice.

Errors: ``browser.missing``, ``browser.launch``; ``browser.no_profile`` (browsers are somebody else's), ``capsule.slice_version``.
"""


async def no_persistent(profile: Profile, given: Slice) -> Browser:
    """An ``OpenPersistent`` where no browser has a profile of ours."""
    raise MeshError("browser.no_profile")
