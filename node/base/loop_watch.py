"""Measures how long the event loop is blocked, by the delay of a repeating timer."""

from __future__ import annotations

import asyncio
import time
from typing import Final

_EVERY_S: Final = 0.05
_WINDOW_S: Final = 60.0


class LoopWatch:
    """The longest block since the start, and during the last one to two minutes."""

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None
        self._due_s = 0.0
        self._window_ends_s = 0.0
        self._windows = (0.0, 0.0)
        self.longest_s = 0.0
        """Since the start."""

    @property
    def recent_s(self) -> float:
        """The longest block in the last minute or two, in seconds."""
        return max(self._windows)

    def start(self) -> None:
        """Watch the running loop from now on."""
        self._window_ends_s = time.monotonic() + _WINDOW_S
        self._wait()

    def stop(self) -> None:
        """Stop watching. A second call does nothing."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self) -> None:
        self._due_s = time.monotonic() + _EVERY_S
        self._timer = asyncio.get_running_loop().call_later(_EVERY_S, self._wake)

    def _wake(self) -> None:
        now_s = time.monotonic()
        if now_s >= self._window_ends_s:
            self._windows = (0.0, self._windows[0])
            self._window_ends_s = now_s + _WINDOW_S
        late_s = max(0.0, now_s - self._due_s)
        self._windows = (max(self._windows[0], late_s), self._windows[1])
        self.longest_s = max(self.longest_s, late_s)
        self._wait()
