"""Takes the screenshots of a page.

Chromium can write a PNG in half of the time if it may be a third larger, which Playwright does not ask for; a recorder makes
it small afterwards. Pages with a password field or with a frame out of reach go Playwright's way, which covers such fields.
"""

from __future__ import annotations

import asyncio
import base64
from typing import Final

from playwright.async_api import CDPSession
from playwright.async_api import Page as PlaywrightPage

from adapters.browser import scripts
from adapters.browser.worlds import Worlds

_FAST: Final = {"format": "png", "optimizeForSpeed": True}


class Camera:
    """Of one page."""

    def __init__(self, page: PlaywrightPage, session: CDPSession, worlds: Worlds) -> None:
        self._page = page
        self._session = session
        self._worlds = worlds
        self._one = asyncio.Lock()  # the end of a picture that nobody waits for any more lets the page go on

    async def picture(self) -> bytes:
        """The page as PNG: without caret, finite animations at their end, password fields covered."""
        async with self._one:
            frames = len(self._page.frames)
            try:
                seen = await self._worlds.everywhere(scripts.HOLD_STILL, wait=True)
                if len(seen) == frames == len(self._page.frames) and not any(seen):
                    shot = await self._session.send("Page.captureScreenshot", _FAST)
                    return base64.b64decode(shot["data"])
            finally:
                await self._worlds.everywhere(scripts.GO_ON)
            return await self._covered()

    async def _covered(self) -> bytes:
        hidden = [frame.locator("input[type=password]") for frame in self._page.frames]
        return await self._page.screenshot(type="png", animations="disabled", caret="hide", scale="css", mask=hidden)
