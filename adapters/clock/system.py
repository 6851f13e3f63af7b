"""The system clock and random numbers of the operating system."""

from __future__ import annotations

import asyncio
import os
import time


class SystemClock:
    """Implements ``adapters.ports.Clock`` on the operating system."""

    def now_ms(self) -> int:
        """Milliseconds since 1970 by the machine's clock, which can be set, even backwards."""
        return time.time_ns() // 1_000_000

    def random(self, count: int) -> bytes:
        """``count`` random bytes of the operating system, fit for keys and tokens."""
        return os.urandom(count)

    async def sleep(self, seconds: float) -> None:
        """Wait by the monotonic clock: setting the machine's clock does not change the wait."""
        await asyncio.sleep(seconds)
