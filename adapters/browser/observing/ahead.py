"""Looks at a page while it is still being watched whether it rests: what was seen counts if nothing has changed since.

Waiting for a page to rest takes 80 ms and more for each step, in which Chromium has nothing else to do. Reading the page, what it
hides too, and taking its picture fits into that time.
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
"""How long after it was found unchanged a picture is one of the page as it is."""


class Ahead:
    """Of one page. At most one look at a time."""

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
        """Whether it was asked for since the last look: then the next one is likely to be, too."""
        self._task: asyncio.Task[tuple[bytes, HiddenTexts | None]] | None = None
        self._kept: tuple[bytes, HiddenTexts | None] = (b"", None)
        self._fresh_until_s = 0.0

    def begin(self) -> None:
        """Look now."""
        self._task = asyncio.create_task(self._look(), name="looking ahead")
        # Whatever went wrong, the look that is then needed meets it again.
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
            return None  # a page that hides something for ever is seen all the same

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
        self._kept = task.result()
        self._picture_asked = self._hidden_asked = False
        self._fresh_until_s = time.monotonic() + _FRESH_S
        return True

    def picture(self) -> bytes:
        """The picture of the page as it is; empty if a new one is to be taken. It is given once."""
        (kept, hidden), self._picture_asked = self._kept, True
        self._kept = b"", hidden
        return kept if time.monotonic() < self._fresh_until_s else b""

    def hidden(self) -> HiddenTexts | None:
        """What the page hides as it is; None if it is to be read. It is given once."""
        (picture, kept), self._hidden_asked = self._kept, True
        self._kept = picture, None
        return kept if time.monotonic() < self._fresh_until_s else None

    def forget(self) -> None:
        """Something is done on the page: nothing seen before counts."""
        self._kept = b"", None
        if self._task is not None:
            self._task.cancel()
            self._task = None


async def _awaited(work: Awaitable[T]) -> T:
    return await work
