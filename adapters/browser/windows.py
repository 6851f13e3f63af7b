"""Counts the windows that the pages of one context open beside themselves, from their first request on.

A window has no page that could be driven before its first document has come. What it loads after that waits until it has one.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from protocol import limits

_ADMITTED_S: Final = 2.0  # a script that waits for an answer can keep its page from being driven


class Windows:
    """Those of one context that has tabs. They are known by their target ids."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        """Of those that are there or on their way."""
        self._coming: set[str] = set()
        self._changed = asyncio.Event()
        self.opened = 0
        """How many there were so far, from the first page on."""
        self.refused = 0
        """How many were closed because there were too many."""

    def take(self, target: str) -> int:
        """The number of a window, from 1; 0 if it is one too many."""
        if target not in self._numbers:
            if len(self._numbers) >= limits.TABS_MAX or self.opened >= limits.TABS_OPENED_MAX:
                self.refused += 1
                self._stir()
                return 0
            self.opened += 1
            self._numbers[target] = self.opened
            self._coming.add(target)
            self._stir()
        return self._numbers[target]

    def arrived(self, target: str) -> None:
        """It can be driven."""
        self._coming.discard(target)
        self._stir()

    def ended(self, target: str) -> None:
        """It is no more, or never came."""
        self._numbers.pop(target, None)
        self._coming.discard(target)
        self._stir()

    def is_coming(self, target: str) -> bool:
        """Whether it has begun to open, and cannot be driven yet."""
        return target in self._coming

    @property
    def coming(self) -> bool:
        """Whether any is on its way."""
        return bool(self._coming)

    async def until_arrived(self, target: str) -> None:
        """Return once it can be driven, or is no more; after a moment in any case."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ADMITTED_S):
                while target in self._coming:
                    await self._changed.wait()

    async def changed(self, limit_s: float) -> None:
        """Wait for the next change, at most ``limit_s``."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), limit_s)

    def _stir(self) -> None:
        # A new event for each change: of several that wait for it, none may take it from another.
        self._changed.set()
        self._changed = asyncio.Event()
