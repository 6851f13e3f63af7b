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
        """The highest number so far."""
        self.begun = 0
        """How many there were so far, those included that never came."""
        self.refused = 0
        """How many were closed because there were too many."""

    def take(self, target: str) -> int:
        """The number of a window, from 1; 0 if it is one too many."""
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
        """It can be driven."""
        self._coming.discard(target)
        self._stir()

    def ended(self, target: str) -> None:
        """It is no more, or never came."""
        number = self._numbers.pop(target, 0)
        if target in self._coming and number == self.opened:
            self.opened -= 1  # the next one gets its number: nobody has seen it
        self._coming.discard(target)
        self._stir()

    def coming(self, after: int) -> list[str]:
        """Those with a higher number than ``after`` that are on their way."""
        return [target for target in self._coming if self._numbers[target] > after]

    def give_up(self, after: int) -> None:
        """Expect them no longer: a window whose document is a download never comes. One that does is a new one."""
        for target in self.coming(after):
            self.ended(target)

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
