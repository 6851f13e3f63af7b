"""Observes a page during the wait for it to become still. The observation is used if nothing has changed since.

That wait takes 80 ms and more for each step, in which Chromium is idle. Reading the page and its hidden texts and taking its
picture fit into that time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from protocol.errors import MeshError
from protocol.page.instructions.hidden_text import HiddenTexts

T = TypeVar("T")

_FRESH_S: Final = 0.1
"""The time for which a picture stays current after the page was found unchanged."""


class EarlyObservations:
    """Early observations of one page, at most one at a time."""

    def __init__(
        self,
        observe: Callable[[], Awaitable[object]],
        picture: Callable[[], Awaitable[bytes]],
        hidden: Callable[[], Awaitable[HiddenTexts]],
    ) -> None:
        self._observe = observe
        self._picture = picture
        self._hidden = hidden
        self._picture_asked = self._hidden_asked = False
        """True if it was requested since the last observation, so that it will probably be requested again."""
        self._task: asyncio.Task[tuple[bytes, HiddenTexts | None]] | None = None
        self._kept: tuple[bytes, HiddenTexts | None] = (b"", None)
        self._fresh_until_s = 0.0

    def begin(self) -> None:
        """Observe now."""
        self._task = asyncio.create_task(self._look(), name="looking ahead")
        # If it failed, the observation that follows meets the same error.
        self._task.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _look(self) -> tuple[bytes, HiddenTexts | None]:
        async with asyncio.TaskGroup() as all_of_it:
            picture = all_of_it.create_task(_awaited(self._picture())) if self._picture_asked else None
            all_of_it.create_task(_awaited(self._observe()))
            hidden = all_of_it.create_task(self._read_hidden()) if self._hidden_asked else None
        return picture.result() if picture else b"", hidden.result() if hidden else None

    async def _read_hidden(self) -> HiddenTexts | None:
        try:
            return await self._hidden()
        except MeshError:
            return None  # a page whose hidden texts never arrive is observed all the same

    async def counts(self, *, unchanged: bool) -> bool:
        """True if the observation shows the present page. unchanged: True if the page has not changed since ``begin``."""
        task, self._task = self._task, None
        if task is None:
            return False
        if not unchanged:
            task.cancel()
            return False
        await asyncio.wait({task})
        if task.cancelled() or task.exception() is not None:
            return False
        self._kept = task.result()
        self._picture_asked = self._hidden_asked = False
        self._fresh_until_s = time.monotonic() + _FRESH_S
        return True

    def picture(self) -> bytes:
        """The current picture of the page; empty if a new one must be taken. Returned once."""
        (kept, hidden), self._picture_asked = self._kept, True
        self._kept = b"", hidden
        return kept if time.monotonic() < self._fresh_until_s else b""

    def hidden(self) -> HiddenTexts | None:
        """The current hidden texts of the page; None if they must be read. Returned once."""
        (picture, kept), self._hidden_asked = self._kept, True
        self._kept = picture, None
        return kept if time.monotonic() < self._fresh_until_s else None

    def forget(self) -> None:
        """An action is performed on the page, so earlier observations are dropped."""
        self._kept = b"", None
        if self._task is not None:
            self._task.cancel()
            self._task = None


async def _awaited(work: Awaitable[T]) -> T:
    return await work
