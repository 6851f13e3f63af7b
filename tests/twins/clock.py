"""A clock that stands still until it is moved, and randomness that follows from a seed."""

from __future__ import annotations

import asyncio
import hashlib
import heapq
import itertools
import math
from typing import Final

START_MS: Final = 1_767_225_600_000
"""2026-01-01T00:00:00Z."""
_SETTLE_TURNS: Final = 20
"""Turns of the event loop a woken task gets, in ``run``, before time moves on."""


class ManualClock:
    """Implements ``adapters.ports.Clock``; its owner calls ``advance`` or ``run``. For one event loop."""

    def __init__(self, *, now_ms: int = START_MS, seed: int = 0) -> None:
        self._now_ms = now_ms
        self._seed = seed
        self._drawn = 0
        self._ticket = itertools.count()
        # Due time, then the order of falling asleep: equal deadlines wake first come, first served.
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []

    def now_ms(self) -> int:
        """The time it was last moved to."""
        return self._now_ms

    def random(self, count: int) -> bytes:
        """The next ``count`` bytes that follow from the seed: equal for equal seeds and calls. Never for real keys."""
        self._drawn += 1
        return hashlib.shake_256(f"{self._seed}:{self._drawn}".encode()).digest(count)

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock was moved by ``seconds``; none or less gives way to other tasks once, like asyncio."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        due_ms = self._now_ms + math.ceil(seconds * 1_000)
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (due_ms, next(self._ticket), future))
        await future

    @property
    def sleepers(self) -> int:
        """How many tasks wait for the clock."""
        return sum(not future.done() for _, _, future in self._sleepers)

    @property
    def next_due_ms(self) -> int | None:
        """When the first of them is to be woken."""
        return min((due_ms for due_ms, _, future in self._sleepers if not future.done()), default=None)

    def advance(self, ms: int) -> None:
        """Move by ``ms`` at once and wake who is due, earliest first; they run when the caller next waits."""
        if ms < 0:
            raise ValueError("time does not run backwards here")
        self._now_ms += ms
        while self._sleepers and self._sleepers[0][0] <= self._now_ms:
            future = heapq.heappop(self._sleepers)[2]
            if not future.done():  # a cancelled sleeper has left
                future.set_result(None)

    async def run(self, ms: int) -> None:
        """Move by ``ms`` from deadline to deadline, so that a task that sleeps again and again is woken each time."""
        end_ms = self._now_ms + ms
        await _settle()  # whoever is about to fall asleep does so at the old time
        while (due_ms := self.next_due_ms) is not None and due_ms <= end_ms:
            self.advance(max(0, due_ms - self._now_ms))
            await _settle()
        self.advance(end_ms - self._now_ms)


async def _settle() -> None:
    for _ in range(_SETTLE_TURNS):
        await asyncio.sleep(0)
