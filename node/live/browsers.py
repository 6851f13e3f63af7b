"""The node's one running browser: started when first needed, started again after a crash."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping

from adapters.ports import Browser, OpenBrowser, Outcome, Page
from node.live.metering import Metered, unmetered, until_spent
from protocol import limits
from protocol.errors import MeshError
from protocol.page.action import Action, Goto, Wait
from protocol.recording.session import BrowserInfo, Profile
from protocol.risk.classes import GuardPolicy


class Browsers:
    """Hands out isolated pages of one shared browser."""

    def __init__(
        self,
        open_browser: OpenBrowser,
        *,
        step_timeout_ms: int = limits.STEP_TIMEOUT_MS,
        navigation_timeout_ms: int = limits.NAVIGATION_TIMEOUT_MS,
    ) -> None:
        self._open_browser = open_browser
        self._step_timeout_ms = step_timeout_ms
        self._navigation_timeout_ms = navigation_timeout_ms
        self._browser: Browser | None = None
        self._lock = asyncio.Lock()
        self.contexts = 0
        """How many pages are open, each in a context of its own."""
        self.metered: Metered = unmetered
        """Counts the time that a caller has a page open. Set by whoever knows the budgets of callers."""

    async def info(self) -> BrowserInfo:
        """Which browser it is; starts it if need be. Errors: ``browser.missing``, ``browser.launch``, ``browser.unreachable``."""
        return (await self._running()).info

    async def _running(self) -> Browser:
        async with self._lock:
            if self._browser is None:
                self._browser = await self._open_browser()
            return self._browser

    @contextlib.asynccontextmanager
    async def page(self, profile: Profile, guard: GuardPolicy) -> AsyncIterator[Page]:
        """A page in a fresh isolated context, closed at the end.

        A browser that crashed since its last use is replaced once. Errors: those of ``info``, ``browser.crashed``; those of
        ``metered``, also in the block, which then ends.
        """
        async with until_spent(self.metered), self._page(profile, guard) as page:
            yield page

    @contextlib.asynccontextmanager
    async def _page(self, profile: Profile, guard: GuardPolicy) -> AsyncIterator[Page]:
        browser = await self._running()
        try:
            page = await browser.open(profile, guard)
        except MeshError as error:
            if error.code != "browser.crashed":
                raise
            await self._discard(browser)
            page = await (await self._running()).open(profile, guard)
        self.contexts += 1
        try:
            yield _PatientPage(page, self._step_timeout_ms, self._navigation_timeout_ms)
        except MeshError as error:
            if error.code == "browser.crashed":
                await self._discard(browser)
            raise
        finally:
            self.contexts -= 1
            await page.close()

    async def _discard(self, crashed: Browser) -> None:
        async with self._lock:
            if self._browser is crashed:
                self._browser = None
                await crashed.close()

    async def close(self) -> None:
        """Stop the browser, if one was started."""
        async with self._lock:
            browser, self._browser = self._browser, None
        if browser is not None:
            await browser.close()


class _PatientPage:
    """A page that waits as long as the configuration says, unless the caller says otherwise."""

    def __init__(self, page: Page, step_timeout_ms: int, navigation_timeout_ms: int) -> None:
        self._page = page
        self._step_timeout_ms = step_timeout_ms
        self._navigation_timeout_ms = navigation_timeout_ms
        self.observe = page.observe
        self.find = page.find
        self.option_label = page.option_label
        self.screenshot = page.screenshot
        self.close = page.close

    async def perform(
        self,
        action: Action,
        *,
        ref: str | None = None,
        expect: bytes | None = None,
        secrets: Mapping[str, str] | None = None,
        timeout_ms: int = 0,
    ) -> Outcome:
        """``adapters.ports.Page.perform``."""
        timeout_ms = timeout_ms or self._patience(action)
        return await self._page.perform(action, ref=ref, expect=expect, secrets=secrets, timeout_ms=timeout_ms)

    def _patience(self, action: Action) -> int:
        match action:
            case Goto():
                return self._navigation_timeout_ms
            case Wait():
                return 0  # it says itself how long
            case _:
                return self._step_timeout_ms
