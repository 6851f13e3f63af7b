"""The node's one running browser: started when first needed, started again after a crash."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from adapters.ports import Browser, OpenBrowser, Page
from protocol.errors import MeshError
from protocol.risk import GuardPolicy
from protocol.session import BrowserInfo, Profile


class Browsers:
    """Hands out isolated pages of one shared browser."""

    def __init__(self, open_browser: OpenBrowser) -> None:
        self._open_browser = open_browser
        self._browser: Browser | None = None
        self._lock = asyncio.Lock()

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

        A browser that crashed since its last use is replaced once. Errors: those of ``info``, ``browser.crashed``.
        """
        browser = await self._running()
        try:
            page = await browser.open(profile, guard)
        except MeshError as error:
            if error.code != "browser.crashed":
                raise
            await self._discard(browser)
            page = await (await self._running()).open(profile, guard)
        try:
            yield page
        except MeshError as error:
            if error.code == "browser.crashed":
                await self._discard(browser)
            raise
        finally:
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
