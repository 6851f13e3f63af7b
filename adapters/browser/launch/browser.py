"""Shared by launched and attached Chromium: opens new contexts with a profile and a guard."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from playwright.async_api import Browser, BrowserContext, Page, Playwright
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from adapters.browser.base.faults import is_gone, translated
from adapters.browser.base.text import started
from adapters.browser.egress import Activity, BrowserJudge
from adapters.browser.launch.attached_tunnel import AttachedTunnel
from adapters.browser.launch.browser_resources import BrowserResources
from adapters.browser.observing.label_scripts import ENGINES
from adapters.browser.page.context import ChromiumContext
from adapters.browser.state.seeding import seeded
from adapters.browser.state.state import StoredState, of_tabs, plain_state, read_state
from adapters.browser.wall import TunnelRefusal
from adapters.ports.browser import BrowserState
from protocol import limits
from protocol.errors import MeshError
from protocol.recording.records.session import ATTACHED, ATTACHED_WALLED, LAUNCHED, BrowserInfo, Profile
from protocol.risk.requests.requests import GuardPolicy

_CLOSE_TIMEOUT_S = 5.0


class ChromiumBrowser:
    """``adapters.ports.Browser`` on a connected Playwright browser."""

    def __init__(
        self,
        driver: Playwright,
        browser: Browser,
        backend: str,
        judge: BrowserJudge | None,
        ground: BrowserResources | AttachedTunnel,
    ) -> None:
        """judge: judges every request of the browser; None if somebody else uses the browser too. ground: resources that end with
        the browser.
        """
        self._ground = ground
        self._destinations = ground.destinations
        self._closing: asyncio.Task[None] | None = None
        self._driver = driver
        self._browser = browser
        self._judge = judge
        self._info = BrowserInfo(backend=backend, name="chromium", version=browser.version)
        self._contexts: dict[Activity, ChromiumContext] = {}
        self._life = Activity()
        browser.on("disconnected", lambda _: self._gone())
        if judge is not None:
            judge.watch(self._unjudged)
        elif ground.wall is not None:
            ground.wall.watch(self._turned_away)

    @property
    def info(self) -> BrowserInfo:
        """Backend, name and version."""
        return self._info

    @property
    def turned_away(self) -> Mapping[tuple[str, str], int]:
        """``adapters.ports.Browser.turned_away``."""
        return self._destinations.wall.refused if self._destinations is not None else {}

    @property
    def profile_directory(self) -> Path:
        """Where a launched browser keeps its files."""
        assert isinstance(self._ground, BrowserResources), "an attached browser has a directory of its owner's choice"
        return self._ground.profile_directory

    @property
    def contexts(self) -> int:
        """How many contexts Chromium has."""
        return len(self._browser.contexts)

    def _gone(self) -> None:
        """The browser or the connection to it is gone, so its remaining requests are not permitted."""
        self._ground.cut()
        self._lost()

    def _lost(self) -> None:
        for context in list(self._contexts.values()):
            context.lost()
        self._life.lost()

    def _unjudged(self) -> None:
        """Judging has stopped, so nothing may be sent, and the browser is ended. Its pages are notified at once."""
        self._ground.cut()
        self._lost()
        self._begin_to_close()

    def _turned_away(self, turned: TunnelRefusal) -> None:
        """The tunnel of an attached browser refused a connection that no guard let through."""
        asking = [context for context in self._contexts.values() if context.pages]
        if not turned.own and len(asking) == 1:
            asking[0].turned_away(turned)

    async def open(
        self, profile: Profile, guard: GuardPolicy, *, state: BrowserState | None = None, tabs: bool = False
    ) -> ChromiumContext:
        """``adapters.ports.Browser.open``."""
        if self._closing is not None or not self._browser.is_connected():
            raise MeshError("browser.crashed", "the browser is not running")
        stored = await asyncio.to_thread(read_state, state) if state is not None else None
        return await self._life.alive(
            self._open(profile, guard, stored, tabs=tabs),
            timeout_ms=limits.NAVIGATION_TIMEOUT_MS,
            otherwise="browser.launch",
            doing="opening a context",
        )

    async def _open(
        self, profile: Profile, policy: GuardPolicy, stored: StoredState | None, *, tabs: bool
    ) -> ChromiumContext:
        # In a thread: a login can hold megabytes.
        state = await asyncio.to_thread(plain_state, stored or StoredState())
        making = asyncio.ensure_future(self._made(profile, state))
        try:
            made, page = await asyncio.shield(making)
        except asyncio.CancelledError:
            self._life.spawn(_closed(making))  # the driver would create it even after a cancel
            raise
        life = Activity()
        context = ChromiumContext(made, policy, self._judge, life, self._destinations, tabs=tabs, seeded=page)
        if stored is not None:
            context.begins = of_tabs(stored)
            context.apart.begin_with(state["origins"])
        self._contexts[life] = context
        life.gone.add_done_callback(lambda _: self._contexts.pop(life))
        try:
            await context.start()
        except BaseException:
            self._life.spawn(context.close())
            raise
        return context

    async def _made(self, profile: Profile, state: Mapping[str, Any]) -> tuple[BrowserContext, Page | None]:
        """A fresh context with ``state``, and the page in which its storage was written, if it has any.

        Errors: ``browser.state``, ``browser.launch``; those of Playwright.
        """
        try:
            context = await self._fresh(profile, state["cookies"])
        except PlaywrightError as error:
            if not state["cookies"] or is_gone(error) or isinstance(error, PlaywrightTimeoutError):
                raise
            # Playwright's message may hold a cookie.
            raise MeshError("browser.state", "the browser does not take one of the cookies") from None
        try:
            return context, await seeded(context, state["origins"]) if state["origins"] else None
        except BaseException:
            await asyncio.shield(context.close())
            raise

    async def _fresh(self, profile: Profile, cookies: Sequence[Mapping[str, Any]]) -> BrowserContext:
        """A fresh context with ``cookies``. Errors: those of Playwright."""
        state = {"cookies": cookies, "origins": []}
        return await self._browser.new_context(**self._options(profile), storage_state=cast(Any, state))

    async def ended(self) -> None:
        """``adapters.ports.Browser.ended``."""
        await asyncio.shield(self._life.gone)

    async def close(self) -> None:
        """``adapters.ports.Browser.close``."""
        await asyncio.shield(self._begin_to_close())

    def _begin_to_close(self) -> asyncio.Task[None]:
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name="closing a browser")
        return self._closing

    async def _close(self) -> None:
        await asyncio.gather(*(context.close() for context in list(self._contexts.values())))
        for work in (self._browser.close, self._driver.stop):
            # Closing must not raise: the browser may be gone, or the driver's process with it.
            with contextlib.suppress(Exception):
                await asyncio.wait_for(cast(Any, work)(), _CLOSE_TIMEOUT_S)
        await self._ground.close()
        self._lost()

    def _options(self, profile: Profile) -> dict[str, Any]:
        return context_options(profile) | (self._ground.options if isinstance(self._ground, AttachedTunnel) else {})


def context_options(profile: Profile) -> dict[str, Any]:
    """The options of a context: no permissions, deleted downloads, no service workers that answer for a site."""
    return {
        "viewport": {"width": profile.width_px, "height": profile.height_px},
        "screen": {"width": profile.width_px, "height": profile.height_px},
        "device_scale_factor": 1,
        "is_mobile": profile.mobile,
        "has_touch": profile.mobile,
        "locale": profile.locale,
        "timezone_id": profile.timezone,
        "reduced_motion": "reduce" if profile.reduced_motion else "no-preference",
        "color_scheme": profile.color_scheme,
        "service_workers": "block",
        "accept_downloads": True,
        "permissions": [],
    }


async def _closed(making: asyncio.Future[tuple[BrowserContext, Page | None]]) -> None:
    await (await making)[0].close()


_starting = 0
_OUTLIVES: Final = "--unhandled-rejections=none"


@contextlib.contextmanager
def _outliving_faults() -> Iterator[None]:
    """Make a driver that starts in this block survive an answer that it cannot encode. Otherwise it would end, and its browser
    with it.

    A page can cause such an answer by an object in a database that contains itself. That answer never comes, and times out.
    """
    global _starting
    before = os.environ.get("NODE_OPTIONS", "")
    if not _starting:
        os.environ["NODE_OPTIONS"] = f"{before} {_OUTLIVES}".strip()
    _starting += 1
    try:
        yield
    finally:
        _starting -= 1
        if not _starting:
            rest = os.environ.get("NODE_OPTIONS", "").removesuffix(_OUTLIVES).strip()
            os.environ.pop("NODE_OPTIONS", None)
            if rest:
                os.environ["NODE_OPTIONS"] = rest


async def connected(
    connect: Callable[[Playwright], Awaitable[Browser]],
    *,
    ground: BrowserResources | AttachedTunnel,
    otherwise: str,
    doing: str,
    kind: type[ChromiumBrowser] = ChromiumBrowser,
) -> ChromiumBrowser:
    """A browser over a fresh Playwright driver.

    ground: resources that end with the browser. A ``BrowserResources`` belongs to a browser that nobody else uses, so all its
    requests may
    be paused. Errors: ``otherwise`` for any error of Playwright.
    """
    try:
        with translated("browser.launch", "starting the browser driver"), _outliving_faults():
            driver = await started()
            for name, engine in ENGINES.items():
                await driver.selectors.register(name, script=engine, content_script=True)
    except BaseException:
        await ground.close()
        raise
    try:
        try:
            with translated(otherwise, doing):
                browser = await connect(driver)
                judge = await _grounded(browser, ground)
        except MeshError as error:
            if error.code in ("browser.crashed", "browser.timeout"):
                raise MeshError(otherwise, f"{doing} failed") from None
            raise
    except BaseException:
        with contextlib.suppress(Exception):  # report the failure above instead
            await driver.stop()
        await ground.close()
        raise
    return kind(driver, browser, _backend(ground), judge, ground)


async def _grounded(browser: Browser, ground: BrowserResources | AttachedTunnel) -> BrowserJudge | None:
    """Begin to judge the requests of ``browser``. Returns the judge of all its requests, if nobody else uses it."""
    if isinstance(ground, AttachedTunnel):
        await ground.prove(browser)
        return None
    judge = BrowserJudge(await browser.new_browser_cdp_session(), ground.wall)
    await judge.start()
    return judge


def _backend(ground: BrowserResources | AttachedTunnel) -> str:
    if isinstance(ground, BrowserResources):
        return LAUNCHED
    return ATTACHED_WALLED if ground.walled else ATTACHED
