"""Looks at a page while it is still being watched whether it rests: what was seen counts if nothing has changed since.

Waiting for a page to rest takes 80 ms and more for each step, in which Chromium has nothing else to do. Reading the page and
taking its picture fits into that time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

T = TypeVar("T")

_FRESH_S: Final = 0.1
"""How long after it was found unchanged a picture is one of the page as it is."""


class Ahead:
    """Of one page. At most one look at a time."""

    def __init__(self, observe: Callable[[], Awaitable[object]], picture: Callable[[], Awaitable[bytes]]) -> None:
        self._observe = observe
        self._picture = picture
        self._asked = False
        """Whether a picture was asked for since the last look: then the next one is likely to be, too."""
        self._task: asyncio.Task[bytes] | None = None
        self._kept = b""
        self._fresh_until_s = 0.0

    def begin(self) -> None:
        """Look now."""
        self._task = asyncio.create_task(self._look(), name="looking ahead")
        # Whatever went wrong, the look that is then needed meets it again.
        self._task.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _look(self) -> bytes:
        if not self._asked:
            await self._observe()
            return b""
        async with asyncio.TaskGroup() as both:
            picture = both.create_task(_awaited(self._picture()))
            both.create_task(_awaited(self._observe()))
        return picture.result()

    async def counts(self, *, unchanged: bool) -> bool:
        """Whether the page was seen as it is now. unchanged: since ``begin``."""
        task, self._task = self._task, None
        if task is None:
            return False
        if not unchanged:
            task.cancel()
            return False
        await asyncio.wait({task})
        if task.cancelled() or task.exception() is not None:
            return False
        self._kept, self._asked = task.result(), False
        self._fresh_until_s = time.monotonic() + _FRESH_S
        return True

    def taken(self) -> bytes:
        """The picture of the page as it is; empty if a new one is to be taken. It is given once."""
        kept, self._kept, self._asked = self._kept, b"", True
        return kept if time.monotonic() < self._fresh_until_s else b""

    def forget(self) -> None:
        """Something is done on the page: nothing seen before counts."""
        self._kept = b""
        if self._task is not None:
            self._task.cancel()
            self._task = None


async def _awaited(work: Awaitable[T]) -> T:
    return await work
