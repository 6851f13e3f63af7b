"""Takes the screenshots of a page.

Chromium can write a PNG in half of the time if it may be a third larger, an option that Playwright does not use; a recorder
makes it small afterwards. For pages with a password field or an unreachable frame, Playwright takes the picture, as it covers
such fields. Other secret text is covered where it is painted (``covering``).
"""

from __future__ import annotations

import asyncio
import base64
from typing import Final, Literal

from playwright.async_api import CDPSession, Frame
from playwright.async_api import Page as PlaywrightPage

from adapters.browser.observing import still_scripts
from adapters.browser.observing.covering import placed, with_boxes
from adapters.browser.observing.worlds import Worlds
from protocol.errors import MeshError
from protocol.page.showing.covering import Covering, covered_boxes

_ATTEMPTS: Final = 3
_FAST: Final = {"format": "png", "optimizeForSpeed": True}


class Camera:
    """The camera of one page."""

    def __init__(self, page: PlaywrightPage, session: CDPSession, worlds: Worlds) -> None:
        self._page = page
        self._session = session
        self._worlds = worlds
        self._one = asyncio.Lock()  # a picture that nobody waits for any more still resumes the page when it ends

    async def picture(self, cover: Covering | None = None) -> bytes:
        """The page as PNG: without caret, finite animations at their end, password fields covered.

        cover: text to cover where it is painted. Errors: ``action.not_possible`` (its place cannot be determined).
        """
        async with self._one:
            frames = len(self._with_documents())
            try:
                seen = await self._worlds.everywhere(still_scripts.HOLD_STILL, wait=True)
                plain = len(seen) == frames == len(self._with_documents()) and not any(seen)
                if cover is not None:
                    return await self._covering(cover, plain=plain)
                if plain:
                    return await self._shot()
            finally:
                await self._worlds.everywhere(still_scripts.GO_ON)
            return await self._hiding("disabled")

    def _with_documents(self) -> list[Frame]:
        """The frames of the page that have a document. A frame without one shows nothing, and never answers."""
        return [frame for frame in self._page.frames if frame.url]

    async def _covering(self, cover: Covering, *, plain: bool) -> bytes:
        for _ in range(_ATTEMPTS):
            before = await placed(self._session)
            # The frames are held still already: if Playwright stopped them again, text would move from its known place.
            png = await (self._shot() if plain else self._hiding("allow"))
            after = await placed(self._session)
            # A hostile page can hold a megabyte of text to search.
            boxes, later = [await asyncio.to_thread(covered_boxes, seen.pieces, cover.find) for seen in (before, after)]
            if boxes != later or before.closed != after.closed:
                continue
            if (boxes and after.doubled) or (cover.must and not boxes):
                break
            width_px = await self._worlds.main("innerWidth")
            return await asyncio.to_thread(with_boxes, png, (*boxes, *before.closed), width_px)
        raise MeshError("action.not_possible", "what must be covered in the picture cannot be placed on the page")

    async def _shot(self) -> bytes:
        shot = await self._session.send("Page.captureScreenshot", _FAST)
        return base64.b64decode(shot["data"])

    async def _hiding(self, animations: Literal["allow", "disabled"]) -> bytes:
        hidden = [frame.locator("input[type=password]") for frame in self._with_documents()]
        return await self._page.screenshot(type="png", animations=animations, caret="hide", scale="css", mask=hidden)
