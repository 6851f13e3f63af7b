"""Counts browser time for callers that have a budget."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Final

from node.base import interruptible
from protocol.errors import MeshError

Metered = Callable[[Callable[[MeshError], None]], contextlib.AbstractAsyncContextManager[None]]
"""Counts a block for the current caller. What it is given ends whatever the block is about, once the caller may not go on."""


@contextlib.asynccontextmanager
async def unmetered(spent: Callable[[MeshError], None]) -> AsyncIterator[None]:
    """A meter for callers without a budget: counts nothing."""
    yield


@contextlib.asynccontextmanager
async def until_spent(metered: Metered) -> AsyncIterator[None]:
    """A block that ends with the error of ``metered`` when its caller may not go on."""
    async with interruptible() as end, metered(end):
        yield


class Meter:
    """Counts the time of one live session, from before it is opened to its end, and says when its agent may not go on."""

    def __init__(self) -> None:
        self._held = contextlib.AsyncExitStack()
        self.reason = ""
        """Why it has to end; empty while it may go on."""
        self.spent = asyncio.Event()

    async def start(self, metered: Metered) -> None:
        """Take the first time for whoever calls now. Errors: those of ``metered``."""
        await self._held.enter_async_context(metered(self._end))

    def _end(self, error: MeshError) -> None:
        # The session is ended by its watch and refused to the next call: this is called where nothing can be waited for.
        self.reason = self.reason or _REASONS.get(error.code, "uncounted")
        self.spent.set()

    async def stop(self) -> None:
        """Count no longer; what was not used is given back. A second call does nothing."""
        await self._held.aclose()


_REASONS: Final = {"agent.budget": "budget", "agent.expired": "expired", "control.unauthorised": "removed"}
"""Why a live session ends, by the code with which its agent is told that it may not go on."""
