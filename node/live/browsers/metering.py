"""Counts browser time for callers that have a budget."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Final, Protocol

from node.base import interruptible
from protocol.errors import MeshError

End = Callable[[MeshError], None]
"""Ends whatever a block is about, once its caller may not go on."""


class Metering(Protocol):
    """Counts the time that callers have with a browser, and what they are refused there."""

    async def check(self) -> None:
        """Nothing, if the current caller has time left. Asked before it waits for a browser, as waiting is not counted.

        Errors: ``agent.budget``, ``control.unauthorised``, ``store.*``.
        """

    def counted(self, spent: End) -> contextlib.AbstractAsyncContextManager[None]:
        """Count a block for the current caller. Errors: those of ``check``."""

    async def refused(self, error: MeshError) -> None:
        """Count that the network guard refused the current caller an address. Never raises."""


class Unmetered:
    """Nobody has a budget. Implements ``Metering``."""

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
    """Counts the time of one live session, from when it has a context to its end, and says when its agent may not go on."""

    def __init__(self) -> None:
        self._held = contextlib.AsyncExitStack()
        self.reason = ""
        """Why it has to end; empty while it may go on."""
        self.spent = asyncio.Event()

    async def start(self, metering: Metering) -> None:
        """Take the first time for whoever calls now. Errors: those of ``Metering.counted``."""
        await self._held.enter_async_context(metering.counted(self.end))

    def end(self, error: MeshError) -> None:
        """It may not go on, for this reason; only the first one counts."""
        # The session is ended by its watch and refused to the next call: this is called where nothing can be waited for.
        capsule = "capsule" if error.code.startswith("capsule.") else "uncounted"
        self.reason = self.reason or _REASONS.get(error.code, capsule)
        self.spent.set()

    async def stop(self) -> None:
        """Count no longer; what was not used is given back. Twice is once."""
        await self._held.aclose()


_REASONS: Final = {"agent.budget": "budget", "agent.expired": "expired", "control.unauthorised": "removed"}
"""Why a live session ends, by the code with which its agent is told that it may not go on."""
