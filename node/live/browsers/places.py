"""The places for browser contexts: how many there are, how many of them are the owner's, and who waits for one."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from typing import Final

from node.verbs import CallerKind, current_caller
from protocol.errors import MeshError

_GUESTS: Final = frozenset({CallerKind.AGENT, CallerKind.PEER})
"""Callers that leave the share of the owner alone. Schedules and what the node does by itself are the owner's work."""


class Places:
    """So many places, taken in the order in which they are asked for; agents and peers together never hold all of them."""

    def __init__(self, total: int, *, for_owner: int, queue_max: int, queue_s: float) -> None:
        """for_owner: places that only the owner's work takes; at least one is left to others. queue_max: how many may wait, each
        of the owner's work and of others; queue_s: how long each.
        """
        self._all = asyncio.Semaphore(total)
        # A guest takes one of these first, and so never stands in the common queue in more places than guests may hold.
        self._guests = asyncio.Semaphore(max(1, total - for_owner))
        self._queue_max, self._queue_s = queue_max, queue_s
        self._waiting: Counter[bool] = Counter()
        """By whether it is a guest: agents that fill their queue must not keep the owner from waiting."""

    @property
    def waiting(self) -> int:
        """How many callers wait."""
        return self._waiting.total()

    async def take(self, wait_s: float | None = None) -> Callable[[], None]:
        """A place for whoever calls now; what is returned gives it back. wait_s: None for as long as is configured.

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
        """Let everybody pass who waits: what they were waiting for has ended, and refuses them."""
        for guest, count in self._waiting.items():
            for _ in range(count):
                self._all.release()
                if guest:
                    self._guests.release()
