"""A context of a launched or attached Chromium: its pages under one guard, and the windows that they open."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
from playwright.async_api import BrowserContext, CDPSession, Page, Response
from playwright.async_api import Error as PlaywrightError

from adapters.browser.egress import WINDOW_WITHOUT_FILES, Activity, BrowserJudge, NetworkGuard, Routing, Windows
from adapters.browser.page.closing import blank
from adapters.browser.page.kept_files import KeptFiles
from adapters.browser.page.page import ChromiumPage
from adapters.browser.page.tabs import Tabs
from adapters.browser.state.partitions import Partitions
from adapters.browser.state.passkeys import Authenticator
from adapters.browser.state.passkeys import opened as opened_authenticator
from adapters.browser.state.state import write_state
from adapters.browser.state.tab_storage import TabStorage
from adapters.browser.state.unexportable_state import untaken
from adapters.browser.wall import Destinations, TunnelRefusal
from adapters.ports.browser import BrowserState, HearPasskey, Passkey, UnexportableState, deaf
from protocol import limits
from protocol.capsule.slices import Slice
from protocol.errors import MeshError
from protocol.risk.requests.requests import GuardPolicy
from protocol.trust.origin import origin_of

_CLOSE_TIMEOUT_S: Final = limits.STEP_TIMEOUT_MS / 1000
_OFFERS = frozenset({"secure-session-registration", "sec-session-registration"})
"""Headers by which a site offers to bind a session to the device (DBSC), with their former names."""


class ChromiumContext:
    """``adapters.ports.Context`` on a Playwright context."""

    def __init__(
        self,
        context: BrowserContext,
        policy: GuardPolicy,
        judge: BrowserJudge | None,
        life: Activity,
        destinations: Destinations | None,
        *,
        tabs: bool = False,
        seeded: Page | None = None,
    ) -> None:
        """judge: judges every request of the browser; None if somebody else uses the browser too. life: ends with the context.
        destinations: resolves names; None if the browser resolves them by its own configured rules. tabs: True if a window that
        a page opens becomes a tab; only with a judge, which sees its first request. seeded: the blank page in which the initial
        storage was written; it becomes the first page.
        """
        self._context = context
        self._policy = policy
        self._seeded = seeded
        self._destinations = destinations
        self._judge = judge
        self._routing = Routing(context) if judge is None else None
        self._windows = Windows() if tabs and judge is not None else None
        self._tabs = Tabs(self._windows) if self._windows is not None else None
        self._life = life
        self._pages: dict[Page, ChromiumPage] = {}
        self._storage: dict[Page, TabStorage] = {}
        self._files = KeptFiles()
        self.begins: Mapping[str, Mapping[str, str]] = {}
        """The sessionStorage of the first page, by origin. A tab opened later starts empty, as in a person's browser."""
        self.apart = Partitions()
        """The storage of frames, partitioned by the site on top."""
        self.slicing: Callable[[Sequence[str]], Awaitable[Slice]] | None = None
        """Ends the browser, and reads the profile data of origins; None if there is no profile."""
        self._guards: set[NetworkGuard] = set()
        """The guards of the open pages."""
        self._activities: set[Activity] = set()
        self._authenticator: Authenticator | None = None
        self._opening = asyncio.Lock()
        self._closing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to judge; there must be no page yet."""
        rules: list[Awaitable[object]] = [
            NetworkGuard(self._policy, self._life, self._destinations).watch_sockets(self._context)
        ]
        if self._windows is None:  # content written into a window seems to come from the page that opened it
            rules.append(self._context.add_init_script(WINDOW_WITHOUT_FILES))
        await asyncio.gather(*rules)
        if self._routing is not None:
            await self._routing.start()
        self._context.on("page", self._window)

    # --- pages ---

    @property
    def pages(self) -> tuple[ChromiumPage | Tabs, ...]:
        """``adapters.ports.Context.pages``."""
        if self._tabs is not None:
            return (self._tabs,) if self._tabs.is_open else ()
        return tuple(page for page in self._pages.values() if page.is_open)

    async def page(self) -> ChromiumPage | Tabs:
        """``adapters.ports.Context.page``."""
        self._require_open()
        if self._tabs is not None and self._tabs.is_open:
            raise MeshError("action.not_possible", "a context with tabs has one first page: others are opened by it")
        activity = self._activity()
        try:
            return await activity.alive(
                self._open(activity),
                timeout_ms=limits.NAVIGATION_TIMEOUT_MS,
                otherwise="browser.launch",
                doing="opening a page",
            )
        except BaseException:
            activity.lost()
            raise

    def _activity(self) -> Activity:
        """A new activity of a page, which ends with the context."""
        activity = Activity()
        self._activities.add(activity)
        activity.gone.add_done_callback(lambda _: self._activities.discard(activity))
        return activity

    async def _open(self, activity: Activity) -> ChromiumPage | Tabs:
        async with self._opening:
            page, self._seeded = self._seeded, None
            page = page or await self._context.new_page()  # if the caller was cancelled, the page counts as a window
            try:
                driven = await self._admit(page, activity)
                begins, self.begins = self.begins, {}
                if begins:
                    await self._storage[page].begin_with(begins)
            except BaseException:
                activity.spawn(page.close())
                raise
            return driven if self._tabs is None else self._tabs

    async def _admit(self, page: Page, activity: Activity) -> ChromiumPage:
        guard = NetworkGuard(self._policy, activity, self._destinations, self._windows)
        session: CDPSession
        _, session = await asyncio.gather(guard.watch_sockets(page), self._context.new_cdp_session(page))
        guard.streams.watch(session)
        target = (await session.send("Target.getTargetInfo"))["targetInfo"]
        if self._windows is not None and not self._windows.take(target["targetId"]):
            raise MeshError("input.too_large", f"a session has at most {limits.TABS_MAX} tabs at a time")
        if self._routing is not None:
            await self._routing.admit(page, session, guard, activity)
            self._opens_wall(activity)
        elif self._judge is not None:
            await self._judge.admit(page, session, guard, target)
            activity.gone.add_done_callback(partial(self._released, guard))
        driven = ChromiumPage(page, session, activity, guard, cuts_off=self._judge is None, files=self._files)
        self._pages[page] = driven
        self._guards.add(guard)
        self._storage[page] = TabStorage(session, activity)
        activity.gone.add_done_callback(lambda _: (self._pages.pop(page, None), self._storage.pop(page, None)))
        activity.gone.add_done_callback(lambda _: self._guards.discard(guard))
        await driven.start()
        if self._windows is not None and self._tabs is not None:
            windows, name = self._windows, target["targetId"]
            activity.gone.add_done_callback(lambda _: windows.ended(name))
            self._tabs.add(windows.take(name), driven)
            windows.arrived(name)
        return driven

    def _opens_wall(self, activity: Activity) -> None:
        """Let the tunnel of an attached browser reach the hosts that a page may contact, while it is open."""
        if self._destinations is not None:
            wall = self._destinations.wall
            wall.opens(self._policy)
            activity.gone.add_done_callback(lambda _: wall.closes(self._policy))

    def turned_away(self, turned: TunnelRefusal) -> None:
        """The tunnel refused a connection that no guard of this context let through."""
        for guard in self._guards:
            guard.turned_away(turned)

    def _released(self, guard: NetworkGuard, _: object) -> None:
        if self._judge is not None:
            self._judge.release(guard)

    @property
    def windows(self) -> int:
        """How many windows are open beside the pages."""
        return len(self._context.pages) - len(self._pages) - (self._seeded is not None)

    def _window(self, page: Page) -> None:
        """A page that was not opened here is treated as a window of a page, because nothing else is known yet."""
        if self._tabs is not None:
            self._life.spawn(self._adopt(page))
        elif self._judge is not None:
            self._life.spawn(self._dismiss(page))
        elif self.windows > limits.WINDOWS_KEPT_MAX:
            self.lost()  # from here on it is unused, and its driver closes it

    async def _adopt(self, page: Page) -> None:
        """Make a window a tab; close it if it cannot be one."""
        async with self._opening:
            if page in self._pages:
                return
            activity = self._activity()
            try:
                await activity.alive(
                    self._admit(page, activity),
                    timeout_ms=limits.NAVIGATION_TIMEOUT_MS,
                    otherwise="browser.launch",
                    doing="opening a tab",
                )
            except BaseException:
                activity.lost()
                activity.spawn(page.close())
                raise

    async def _dismiss(self, page: Page) -> None:
        """Abort a window's navigation, then close it.

        In an attached browser windows are closed only with the context, after all of them were cut off from the network.
        """
        # The event for a page opened here comes before the call returns, just like that of a window.
        async with self._opening:
            if page in self._pages:
                return
        await blank(page)
        await page.close()

    # --- the rest ---

    async def state(self, *, whole: bool = False) -> BrowserState:
        """``adapters.ports.Context.state``."""
        self._require_open()
        stored, tabs, lost = await self._life.alive(
            self._held() if whole else self._plainly(),
            timeout_ms=limits.NAVIGATION_TIMEOUT_MS,
            otherwise="browser.timeout",
            doing="reading the state of a context",
        )
        if not whole:
            return await asyncio.to_thread(write_state, stored)
        return await asyncio.to_thread(write_state, stored, tabs, (*lost, *self.apart.untaken), self.apart.held)

    async def _plainly(self) -> tuple[Any, dict[str, dict[str, str]], tuple[UnexportableState, ...]]:
        return await self._context.storage_state(indexed_db=False), {}, ()

    async def _held(self) -> tuple[Any, dict[str, dict[str, str]], tuple[UnexportableState, ...]]:
        """Playwright's state, the sessionStorage of the pages, and the parts that the state leaves out; all are requested at
        once.
        """
        storages = list(self._storage.values())
        stored, _, lost, each = await asyncio.gather(
            self._context.storage_state(indexed_db=True),
            self.apart.read(list(self._storage)),
            untaken(self._context.pages),
            asyncio.gather(*map(_entries, storages)),
        )
        tabs: dict[str, dict[str, str]] = {}
        for entries in each:
            tabs |= entries  # if two pages show one origin, the newer page's entries count
        return stored, tabs, lost

    async def last_state(self, origins: Sequence[str]) -> BrowserState:
        """``adapters.ports.Context.last_state``."""
        held = await self.state(whole=True)
        return held if self.slicing is None else msgspec.structs.replace(held, slice=await self.slicing(origins))

    def keep_downloads(self, folder: str) -> None:
        """``adapters.ports.Context.keep_downloads``."""
        self._files.folder = Path(folder)

    def note_offers(self) -> list[str]:
        """``adapters.ports.Context.note_offers``."""
        found: list[str] = []

        def note(response: Response) -> None:
            origin = origin_of(response.url)
            if not _OFFERS.isdisjoint(response.headers) and origin not in found:
                found.append(origin)

        self._context.on("response", note)
        return found

    async def hold_passkeys(self, held: Sequence[Passkey], hear: HearPasskey = deaf) -> None:
        """``adapters.ports.Context.hold_passkeys``."""
        self._require_open()
        page = next(iter(self._pages.values()))
        self._authenticator = await self._life.alive(
            page.watched_by(lambda _, session: opened_authenticator(session, held, hear)),
            timeout_ms=limits.STEP_TIMEOUT_MS,
            otherwise="browser.timeout",
            doing="giving passkeys to a page",
        )

    async def passkeys(self) -> tuple[Passkey, ...]:
        """``adapters.ports.Context.passkeys``."""
        self._require_open()
        if self._authenticator is None:
            return ()
        return await self._life.alive(
            self._authenticator.held(),
            timeout_ms=limits.STEP_TIMEOUT_MS,
            otherwise="browser.timeout",
            doing="reading the passkeys of a page",
        )

    def _require_open(self) -> None:
        if self._life.gone.done() or self._closing is not None:
            raise MeshError("browser.crashed", "the context is closed, or its browser not running")

    def lost(self) -> None:
        """The context or its browser has ended."""
        for activity in (self._life, *self._activities):
            activity.lost()

    async def close(self) -> None:
        """``adapters.ports.Context.close``."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name="closing a context")
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        if self._judge is None:
            with contextlib.suppress(Exception):  # closing must not raise: the browser may be gone
                await asyncio.wait_for(self._cut_off(), _CLOSE_TIMEOUT_S)
        with contextlib.suppress(MeshError):
            await self._life.alive(
                self._context.close(), timeout_ms=limits.STEP_TIMEOUT_MS, otherwise="browser.crashed", doing="closing"
            )
        self.lost()

    async def _cut_off(self) -> None:
        """Stop windows from navigating, cut off the network, then close.

        Chromium would let go a request that is being judged when its window closes.
        """
        await asyncio.gather(*(blank(page) for page in self._pages))
        await asyncio.gather(*(blank(page) for page in self._context.pages))
        await self._context.set_offline(True)
        await self._context.close()


async def _entries(storage: TabStorage) -> dict[str, dict[str, str]]:
    """The sessionStorage of a page, by origin; empty if the page is closed, or has crashed."""
    try:
        return await storage.read()
    except PlaywrightError:
        return {}
