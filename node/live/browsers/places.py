"""The places for browser contexts: their number, the owner's share, and the queue."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from typing import Final

from node.verbs import CallerKind, current_caller
from protocol.errors import MeshError

_GUESTS: Final = frozenset({CallerKind.AGENT, CallerKind.PEER})
"""Callers that may not use the owner's share. Schedules and the node's own work count as the owner's work."""


class Places:
    """A limited number of places, given in the order of the requests. Agents and peers together never hold all of them."""

    def __init__(self, total: int, *, for_owner: int, queue_max: int, queue_s: float) -> None:
        """for_owner: the number of places reserved for the owner's work; at least one is left for others. queue_max, queue_s: how
        many callers may wait and how long, counted separately for the owner's work and for others.
        """
        self._all = asyncio.Semaphore(total)
        # A guest takes one of these first, so guests never wait in the common queue for more places than they may hold.
        self._guests = asyncio.Semaphore(max(1, total - for_owner))
        self._queue_max, self._queue_s = queue_max, queue_s
        self._waiting: Counter[bool] = Counter()
        """Waiting callers, by whether they are guests: agents that fill their queue must not keep the owner from waiting."""

    @property
    def waiting(self) -> int:
        """The number of waiting callers."""
        return self._waiting.total()

    async def take(self, wait_s: float | None = None) -> Callable[[], None]:
        """Take a place for the current caller. Returns a function that gives it back. wait_s: None for the configured time.

        Errors: ``live.busy``.
        """
        guest = current_caller().kind in _GUESTS
        lanes = (self._guests, self._all) if guest else (self._all,)
        if self._waiting[guest] >= self._queue_max and any(lane.locked() for lane in lanes):
            raise MeshError(
                "live.busy", "all browser contexts are in use, and the queue is full", waiting=self._waiting[guest]
            )
        wait_s = self._queue_s if wait_s is None else wait_s
        self._waiting[guest] += 1
        try:
            async with asyncio.timeout(wait_s):
                with contextlib.ExitStack() as taken:
                    for lane in lanes:
                        await lane.acquire()
                        taken.callback(lane.release)
                    return taken.pop_all().close
        except TimeoutError:
            raise MeshError("live.busy", f"no browser context became free within {wait_s:g} s") from None
        finally:
            self._waiting[guest] -= 1

    def open_to_all(self) -> None:
        """Let all waiting callers pass: the pool has closed and refuses them."""
        for guest, count in self._waiting.items():
            for _ in range(count):
                self._all.release()
                if guest:
                    self._guests.release()
