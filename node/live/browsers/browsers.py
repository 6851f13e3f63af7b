"""Provides browser contexts and pages within the limits of the node; callers wait in a queue."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial

from adapters.ports.browser import (
    NOTHING,
    ActionOutcome,
    Browser,
    BrowserState,
    Context,
    Given,
    OpenBrowser,
    OpenPersistent,
    OpenProxied,
    Page,
    no_persistent,
    no_proxied,
)
from node.live.acting.codes import NO_CODES, Codes
from node.live.acting.uploads import NO_UPLOADS, Uploads
from node.live.browsers.first_look import LoginShown
from node.live.browsers.metering import UNMETERED, Metering, until_spent
from node.live.browsers.mounting import Mounts, no_capsules
from node.live.browsers.places import Places
from node.live.browsers.pool import Pool, Seat
from protocol import limits
from protocol.capsule.slices import NO_SLICE, Slice
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Back, Forward, Goto, Reload, Wait
from protocol.page.secrets.secrets import Secrets
from protocol.recording.records.session import BrowserInfo, Profile
from protocol.risk.requests.requests import GuardPolicy

TakeLogin = Callable[[], LoginShown | None]
"""Returns the judge of the first page of a context; None from the second call on, and for work without a login."""


class Browsers:
    """Provides isolated contexts in a pool of browsers, in the order of the requests."""

    def __init__(
        self,
        open_browser: OpenBrowser,
        *,
        step_timeout_ms: int = limits.STEP_TIMEOUT_MS,
        navigation_timeout_ms: int = limits.NAVIGATION_TIMEOUT_MS,
        contexts_max: int = limits.CONTEXTS_MAX,
        contexts_for_owner: int = limits.CONTEXTS_FOR_OWNER,
        contexts_per_browser_max: int = limits.CONTEXTS_PER_BROWSER_MAX,
        queue_max: int = limits.CONTEXT_QUEUE_MAX,
        queue_s: float = limits.CONTEXT_QUEUE_S,
        idle_s: float = limits.BROWSER_IDLE_S,
        open_persistent: OpenPersistent = no_persistent,
        open_proxied: OpenProxied = no_proxied,
        attached: bool = False,
        metering: Metering = UNMETERED,
        codes: Codes = NO_CODES,
        uploads: Uploads = NO_UPLOADS,
        mounts: Callable[[Browsers], Mounts] = no_capsules,
    ) -> None:
        """contexts_max: limit of the node. contexts_for_owner, queue_max, queue_s: as for ``Places``. metering: counts the time
        for which a caller has a context. codes: makes one-time codes. uploads: reads files. mounts: creates the ``Mounts`` that
        opens capsules in these browsers.
        """
        self._open_browser, self._open_persistent = open_browser, open_persistent
        self._open_proxied = open_proxied
        self._attached = attached
        """True if the browsers were started by somebody else: some of their requests do not pass the guard."""
        self._step_timeout_ms = step_timeout_ms
        self._navigation_timeout_ms = navigation_timeout_ms
        self._places = Places(contexts_max, for_owner=contexts_for_owner, queue_max=queue_max, queue_s=queue_s)
        self._pool = Pool(self._start, contexts_per_browser_max=contexts_per_browser_max, idle_s=idle_s)
        self._info: BrowserInfo | None = None
        self.metering, self.codes, self.uploads, self.mounts = metering, codes, uploads, mounts(self)

    def wall(self, guard: GuardPolicy) -> GuardPolicy | None:
        """The policy that judges each message that leaves under ``guard``; None if a message can leave unjudged."""
        return None if self._attached else guard

    async def _start(self) -> Browser:
        browser = await self._open_browser()
        self._info = browser.info
        return browser

    async def _start_proxied(self, proxy: str) -> Browser:
        browser = await self._open_proxied(proxy)
        self._info = browser.info
        return browser

    async def _start_persistent(self, profile: Profile, given: Slice) -> Browser:
        browser = await self._open_persistent(profile, given)
        self._info = browser.info
        return browser

    @property
    def waiting(self) -> int:
        """The number of callers that wait for a place."""
        return self._places.waiting

    @property
    def contexts(self) -> int:
        """The number of contexts that are open or being opened."""
        return self._pool.contexts

    @property
    def turned_away(self) -> Mapping[tuple[str, str], int]:
        """The number of requests that tunnels refused because no guard had let them through, by sender (``browser`` or ``page``)
        and method.
        """
        return self._pool.turned_away

    @property
    def running(self) -> int:
        """The number of browsers that run or are starting."""
        return self._pool.browsers

    async def info(self) -> BrowserInfo:
        """Describes the browser; starts one if none runs. Errors: those of ``Pool.seat``."""
        if self._info is None or not self._pool.browsers:
            (await self._pool.seat()).leave()
        assert self._info is not None, "a seat is in a browser that was started"
        return self._info

    async def info_for_work(self) -> BrowserInfo:
        """As ``info``, but starts no browser for a caller that has used up its browser time. Errors: also ``Metering.check``."""
        await self.metering.check()
        return await self.info()

    async def context(
        self,
        profile: Profile,
        guard: GuardPolicy,
        *,
        state: BrowserState | None = None,
        wait_s: float | None = None,
        tabs: bool = False,
        persistent: bool = False,
        proxy: str = "",
    ) -> Lent:
        """A fresh isolated context. The caller closes it, which frees its place.

        persistent: give the context a browser and a profile of its own; a ``state`` with a slice implies it. proxy: give it a
        browser of its own that goes through the proxy of this name.

        A caller without browser time left gets no place; waiting for a place is not counted. A browser that turns out to be gone
        is replaced once. wait_s: time limit of the wait for a place; None for the configured one. tabs: as ``Browser.open``.
        Errors: those of ``Metering.check``, ``live.busy``, those of ``Pool.seat`` and of ``Browser.open``.
        """
        await self.metering.check()
        free = await self._places.take(wait_s)
        try:
            try:
                seat, context = await self._seated(profile, guard, state, tabs, persistent, proxy)
            except MeshError as error:
                if error.code != "browser.crashed":
                    raise
                seat, context = await self._seated(profile, guard, state, tabs, persistent, proxy)
        except BaseException:
            free()
            raise
        return Lent(context, seat.gone, self._patient, [seat.leave, free])

    async def _seated(
        self, profile: Profile, guard: GuardPolicy, state: BrowserState | None, tabs: bool, persistent: bool, proxy: str
    ) -> tuple[Seat, Context]:
        given = state.slice if state is not None else NO_SLICE
        own = partial(self._start_persistent, profile, given) if persistent or given else None
        if proxy and own is not None:
            raise MeshError("input.invalid", "a login with a profile of its own takes no proxy for one session")
        if proxy:
            own = partial(self._start_proxied, proxy)
        seat = await self._pool.seat(own)
        try:
            return seat, await seat.browser.open(profile, guard, state=state, tabs=tabs)
        except BaseException as error:
            # A browser that crashes or hangs while it opens a context would fail for the next caller too.
            seat.leave(retire=isinstance(error, MeshError) and error.code in ("browser.crashed", "browser.timeout"))
            raise

    def _patient(self, page: Page, login: TakeLogin) -> Page:
        return _PatientPage(page, self._step_timeout_ms, self._navigation_timeout_ms, self._refused, login)

    async def _refused(self, error: MeshError) -> None:
        await self.metering.refused(error)

    @contextlib.asynccontextmanager
    async def page(
        self, profile: Profile, guard: GuardPolicy, *, wait_s: float | None = None, tabs: bool = False
    ) -> AsyncIterator[Page]:
        """The one page of a fresh isolated context, which is closed at the end of the block. tabs: as ``Browser.open``.

        Errors: those of ``context`` and ``Context.page``; those of ``metering``, which also end a running block.
        """
        async with self.opened(profile, guard, wait_s=wait_s, tabs=tabs) as (_, page):
            yield page

    @contextlib.asynccontextmanager
    async def opened(
        self,
        profile: Profile,
        guard: GuardPolicy,
        *,
        state: BrowserState | None = None,
        wait_s: float | None = None,
        tabs: bool = False,
        persistent: bool = False,
    ) -> AsyncIterator[tuple[Lent, Page]]:
        """A fresh isolated context and its one page; otherwise as ``page``. state: as ``Browser.open``.

        persistent: as ``context``.
        """
        context = await self.context(profile, guard, state=state, wait_s=wait_s, tabs=tabs, persistent=persistent)
        try:
            async with until_spent(self.metering.counted):
                yield context, await context.page()
        finally:
            await context.close()

    async def close(self) -> None:
        """Stop every browser, including one that is being started. Callers that wait for a place, or come later, are refused."""
        await self._pool.close()
        self._places.open_to_all()


class Lent:
    """A context that frees its place when it is closed. Implements ``adapters.ports.Context``."""

    def __init__(
        self,
        context: Context,
        gone: asyncio.Event,
        patient: Callable[[Page, TakeLogin], Page],
        free: list[Callable[[], None]],
    ) -> None:
        """gone: set when the browser has ended by itself."""
        self.gone = gone
        self.login: LoginShown | None = None
        """Judges the first page that is opened. Set by the code that mounts a capsule."""
        self._context = context
        self._patient = patient
        self._free = free
        self._pages: dict[Page, Page] = {}
        self._closing: asyncio.Task[None] | None = None
        self.state, self.last_state, self.note_offers = context.state, context.last_state, context.note_offers
        self.hold_passkeys, self.passkeys = context.hold_passkeys, context.passkeys
        self.keep_downloads = context.keep_downloads

    @property
    def pages(self) -> tuple[Page, ...]:
        """``adapters.ports.Context.pages``."""
        self._pages = {
            page: self._pages.get(page) or self._patient(page, self._take_login) for page in self._context.pages
        }
        return tuple(self._pages.values())

    async def page(self) -> Page:
        """``adapters.ports.Context.page``."""
        page = await self._context.page()
        self._pages[page] = self._patient(page, self._take_login)
        return self._pages[page]

    def _take_login(self) -> LoginShown | None:
        login, self.login = self.login, None
        return login

    async def close(self) -> None:
        """``adapters.ports.Context.close``. A cancelled caller still leaves nothing open."""
        if self._closing is None:
            # In a separate task, because a cancelled caller must not leave the context open.
            self._closing = asyncio.create_task(self._close(), name="closing a context")
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        try:
            await self._context.close()
        finally:
            for free in self._free:
                free()


class _PatientPage:
    """A page with the configured time limits, unless a call gives its own. Reports its refused addresses to ``Metering``."""

    def __init__(
        self,
        page: Page,
        step_timeout_ms: int,
        navigation_timeout_ms: int,
        refused: Callable[[MeshError], Awaitable[None]],
        login: TakeLogin,
    ) -> None:
        self._page = page
        self._refused = refused
        self._login = login
        self._step_timeout_ms = step_timeout_ms
        self._navigation_timeout_ms = navigation_timeout_ms
        self.observe = page.observe
        self.unchanged = page.unchanged
        self.identities = page.identities
        self.find = page.find
        self.hindrance = page.hindrance
        self.closed = page.closed
        self.option_label = page.option_label
        self.read = page.read
        self.sent = page.sent
        self.pause = page.pause
        self.downloads = page.downloads
        self.console_errors = page.console_errors
        self.hidden_texts = page.hidden_texts
        self.markup = page.markup
        self.blocked = page.blocked
        self.refused_late, self.untold, self.late = page.refused_late, page.untold, page.late
        self.fate, self.let_go, self.keep_back = page.fate, page.let_go, page.keep_back
        self.screenshot = page.screenshot
        self.close = page.close

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
        """``adapters.ports.Page.perform``."""
        timeout_ms = timeout_ms or self._patience(action)
        perform = partial(self._page.perform, expect=expect, secrets=secrets, timeout_ms=timeout_ms, given=given)
        try:
            if isinstance(action, Goto) and (login := self._login()) is not None:
                return await login.opened(action, perform)
            return await perform(action, ref=ref)
        except MeshError as error:
            # Counted here, because recordings, live sessions, replays and searches all pass this point, and a replay does not
            # raise the error.
            if error.code == "browser.refused":
                await self._refused(error)
            raise

    def _patience(self, action: Action) -> int:
        match action:
            case Goto() | Back() | Forward() | Reload():
                return self._navigation_timeout_ms
            case Wait():
                return 0  # the action has its own timeout
            case _:
                return self._step_timeout_ms
