"""Time with a browser, counted for callers that have a budget of it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable

from node.base import interruptible
from protocol.errors import MeshError

Metered = Callable[[Callable[[MeshError], None]], contextlib.AbstractAsyncContextManager[None]]
"""Counts a block for the current caller. What it is given ends whatever the block is about, once the caller may not go on."""


@contextlib.asynccontextmanager
async def unmetered(spent: Callable[[MeshError], None]) -> AsyncIterator[None]:
    """Nobody has a budget."""
    yield


@contextlib.asynccontextmanager
async def until_spent(metered: Metered) -> AsyncIterator[None]:
    """A block that ends with the error of ``metered`` when its caller may not go on."""
    async with interruptible() as end, metered(end):
        yield
