"""When calls came in last, through all doors. A node that was started in the background ends when nobody calls."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator


class CallTimes:
    """The calls that run, and the end of the last one."""

    def __init__(self) -> None:
        self.called_s = 0.0
        """When a call began or ended last, by ``time.monotonic``; infinity while one runs."""
        self._running = 0

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        """One call."""
        self._running += 1
        self.called_s = math.inf
        try:
            yield
        finally:
            self._running -= 1
            self.called_s = math.inf if self._running else time.monotonic()
