"""Counts browser time for callers that have a budget."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Final, Protocol

from node.base.tasks import interruptible
from protocol.errors import MeshError

End = Callable[[MeshError], None]
"""Ends a block when its caller may not go on."""


class Metering(Protocol):
    """Counts the browser time of callers, and the addresses that they are refused."""

    async def check(self) -> None:
        """Return if the current caller has time left. Called before the wait for a browser, because waiting is not counted.

        Errors: ``agent.budget``, ``control.unauthorised``, ``store.*``.
        """

    def counted(self, spent: End) -> contextlib.AbstractAsyncContextManager[None]:
        """Count the time of a block for the current caller. Errors: those of ``check``."""

    async def refused(self, error: MeshError) -> None:
        """Count an address that the network guard refused to the current caller. Never raises."""


class Unmetered:
    """Sets no budget for anybody. Implements ``Metering``."""

    async def check(self) -> None:
        """Implements ``Metering.check``."""

    @contextlib.asynccontextmanager
    async def counted(self, spent: End) -> AsyncIterator[None]:
        """Implements ``Metering.counted``."""
        yield

    async def refused(self, error: MeshError) -> None:
        """Implements ``Metering.refused``."""


UNMETERED: Final = Unmetered()


@contextlib.asynccontextmanager
async def until_spent(counted: Callable[[End], contextlib.AbstractAsyncContextManager[None]]) -> AsyncIterator[None]:
    """A block that ends with the error of ``counted`` when its caller may not go on."""
    async with interruptible() as end, counted(end):
        yield


class Meter:
    """Counts the time of one live session, from the opening of its context to its end, and knows when its agent may not go on."""

    def __init__(self) -> None:
        self._held = contextlib.AsyncExitStack()
        self.reason = ""
        """The reason why the session has to end; empty while it may go on."""
        self.spent = asyncio.Event()

    async def start(self, metering: Metering) -> None:
        """Reserve the first time for the current caller. Errors: those of ``Metering.counted``."""
        await self._held.enter_async_context(metering.counted(self.end))

    def end(self, error: MeshError) -> None:
        """The session may not go on, for this reason. Only the first reason counts."""
        # Nothing can be awaited here, so only the reason is noted: the watch of the session ends it, and the next call is refused.
        capsule = "capsule" if error.code.startswith("capsule.") else "uncounted"
        self.reason = self.reason or _REASONS.get(error.code, capsule)
        self.spent.set()

    async def stop(self) -> None:
        """Stop counting and give unused time back. A second call does nothing."""
        await self._held.aclose()


_REASONS: Final = {"agent.budget": "budget", "agent.expired": "expired", "control.unauthorised": "removed"}
"""The reason why a live session ends, by the error code with which its agent is told."""
