"""Counts the windows that the pages of one context open, from the first request of each window on.

A window has no drivable page until its first document has loaded. Its later requests wait until then.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from protocol import limits

_ADMITTED_S: Final = 2.0  # a script that waits for an answer can delay its page's start


class Windows:
    """The windows of one context that has tabs, identified by their target ids."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        """The numbers of the windows that are open or opening."""
        self._coming: set[str] = set()
        self._changed = asyncio.Event()
        self.opened = 0
        """The highest number so far."""
        self.begun = 0
        """How many windows began to open so far, including those that never came."""
        self.refused = 0
        """How many windows were closed because there were too many."""

    def take(self, target: str) -> int:
        """The number of a window, from 1; 0 if there are too many."""
        if target not in self._numbers:
            if len(self._numbers) >= limits.TABS_MAX or self.begun >= limits.TABS_OPENED_MAX:
                self.refused += 1
                self._stir()
                return 0
            self.opened, self.begun = self.opened + 1, self.begun + 1
            self._numbers[target] = self.opened
            self._coming.add(target)
            self._stir()
        return self._numbers[target]

    def arrived(self, target: str) -> None:
        """The window can be driven."""
        self._coming.discard(target)
        self._stir()

    def ended(self, target: str) -> None:
        """The window has closed, or never came."""
        number = self._numbers.pop(target, 0)
        if target in self._coming and number == self.opened:
            self.opened -= 1  # the next window gets its number: nobody has seen it
        self._coming.discard(target)
        self._stir()

    def coming(self, after: int) -> list[str]:
        """The opening windows with a higher number than ``after``."""
        return [target for target in self._coming if self._numbers[target] > after]

    def give_up(self, after: int) -> None:
        """Stop expecting the opening windows: a window whose document is a download never comes. One that still comes counts
        as new.
        """
        for target in self.coming(after):
            self.ended(target)

    async def until_arrived(self, target: str) -> None:
        """Return once the window can be driven, or has closed; after a moment in any case."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ADMITTED_S):
                while target in self._coming:
                    await self._changed.wait()

    async def changed(self, limit_s: float) -> None:
        """Wait for the next change, at most ``limit_s``."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), limit_s)

    def _stir(self) -> None:
        # A new event for each change, so that each of several waiters sees it.
        self._changed.set()
        self._changed = asyncio.Event()
