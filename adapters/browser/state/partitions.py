"""Storage of frames that Chromium partitions by the site on top (docs/adr/0054-storage-of-frames.md).

Playwright's state does not include it. It is read in each visible frame, in an isolated world. For a frame that is no longer
visible, the last result is used.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.async_api import CDPSession, Frame, Page
from playwright.async_api import Error as PlaywrightError

from adapters.browser.state.storage_scripts import READ
from adapters.browser.state.unexportable_state import WHAT
from adapters.ports.browser import UnexportableState
from protocol import limits
from protocol.capsule.storage_key import site_on_top
from protocol.trust.origin import origin_of

_FRAMES_MAX: Final = 64
_KEYS_MAX: Final = limits.BROWSER_STATE_ORIGINS_MAX // 2
_READ: Final = READ.replace("CHARS_MAX", str(limits.BROWSER_STATE_BYTES_MAX), 1)
_WAIT_S: Final = 3
"""A frame that does not answer in time is left out."""


class Partitions:
    """The partitioned storage of one context, by key, as last read."""

    def __init__(self) -> None:
        self._held: dict[str, dict[str, Any]] = {}
        self._untaken: dict[str, tuple[UnexportableState, ...]] = {}

    def begin_with(self, stored: Iterable[Mapping[str, Any]]) -> None:
        """Add the storage written before the first page; entries without a ``storageKey`` belong to pages and are skipped."""
        self._held |= {each["storageKey"]: dict(each) for each in stored if "storageKey" in each}

    @property
    def held(self) -> tuple[Mapping[str, Any], ...]:
        """Each as in a ``storage_state``, with its ``storageKey``."""
        return tuple(self._held.values())

    @property
    def untaken(self) -> tuple[UnexportableState, ...]:
        """The parts that could not be read."""
        return tuple(each for found in self._untaken.values() for each in found)

    async def read(self, pages: Iterable[Page]) -> None:
        """Read the current storage of the frames of ``pages``. Never raises."""
        frames = [frame for page in pages for frame in page.frames if _elsewhere(frame, page)]
        await asyncio.gather(*map(self._of_process, frames[:_FRAMES_MAX]))

    async def _of_process(self, frame: Frame) -> None:
        """The storage of ``frame``, and of the frames below it in its process."""
        # it has gone, or runs in the process of another frame
        with contextlib.suppress(PlaywrightError, TimeoutError):
            async with asyncio.timeout(_WAIT_S):
                session = await frame.page.context.new_cdp_session(frame)
                try:
                    pending, left = [(await session.send("Page.getFrameTree"))["frameTree"]], _FRAMES_MAX
                    while pending and left:
                        tree, left = pending.pop(), left - 1
                        pending += tree.get("childFrames", ())
                        await self._of_frame(session, tree["frame"])
                finally:
                    await session.detach()

    async def _of_frame(self, session: CDPSession, frame: Mapping[str, Any]) -> None:
        origin = origin_of(str(frame["url"]))
        with contextlib.suppress(PlaywrightError):  # a frame of another process, or without storage
            key = (await session.send("Storage.getStorageKeyForFrame", {"frameId": frame["id"]}))["storageKey"]
            if not site_on_top(origin, key) or (key not in self._held and len(self._held) >= _KEYS_MAX):
                return
            world = await session.send("Page.createIsolatedWorld", {"frameId": frame["id"]})
            asked = {"expression": f"({_READ})()", "contextId": world["executionContextId"]}
            answer = await session.send("Runtime.evaluate", {**asked, "awaitPromise": True, "returnByValue": True})
            if "exceptionDetails" in answer:
                self._untaken[key] = (
                    UnexportableState(origin=origin, what=f"storage within {site_on_top(origin, key)}"),
                )
                return
            found = await asyncio.to_thread(json.loads, answer["result"]["value"])
            lost = found.pop("lost")
            self._held[key] = {"origin": origin, "storageKey": key, **found}
            self._untaken[key] = tuple(
                UnexportableState(origin=origin, what=f"{each} within {site_on_top(origin, key)}")
                for each in lost
                if WHAT.fullmatch(each)
            )


def _elsewhere(frame: Frame, page: Page) -> bool:
    """True if the frame may be of another site than its page: only such frames have partitioned storage."""
    return frame is not page.main_frame and _host(frame.url) not in ("", _host(page.url))


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
