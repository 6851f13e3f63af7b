"""The system clock and random numbers of the operating system."""

from __future__ import annotations

import asyncio
import os
import time


class SystemClock:
    """Implements ``adapters.ports.Clock`` on the operating system."""

    def now_ms(self) -> int:
        """Milliseconds since 1970, as the machine's clock has it: it can be set, also backwards."""
        return time.time_ns() // 1_000_000

    def random(self, count: int) -> bytes:
        """``count`` bytes of the system's generator, fit for keys and tokens."""
        return os.urandom(count)

    async def sleep(self, seconds: float) -> None:
        """Wait on the monotonic clock: setting the machine's clock neither shortens nor lengthens it."""
        await asyncio.sleep(seconds)
