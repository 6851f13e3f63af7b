"""How long an event loop stands still."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def longest_block(clock: Callable[[], float] = time.perf_counter) -> Iterator[list[float]]:
    """The longest time in seconds that the event loop did not get a turn; filled in at the end.

    ``clock``: ``time.thread_time`` counts what the loop itself has computed, so that a busy machine does not count.
    """
    longest, running = [0.0], True

    async def watch() -> None:
        while running:
            began = clock()
            await asyncio.sleep(0)
            longest[0] = max(longest[0], clock() - began)

    task = asyncio.get_running_loop().create_task(watch())
    try:
        yield longest
    finally:
        running = False
        task.cancel()
