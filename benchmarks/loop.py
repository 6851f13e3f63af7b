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
    longest, began = [0.0], [clock()]

    def turn() -> None:
        now = clock()
        longest[0], began[0] = max(longest[0], now - began[0]), now

    async def watch() -> None:
        while True:
            turn()
            await asyncio.sleep(0)

    task = asyncio.get_running_loop().create_task(watch())
    try:
        yield longest
    finally:
        turn()  # what ends without giving it a last turn counts as well
        task.cancel()
