"""Port: time and randomness."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol


class Clock(Protocol):
    """Time and randomness, so that tests can control both."""

    def now_ms(self) -> int:
        """Milliseconds since 1970."""

    def random(self, count: int) -> bytes:
        """``count`` unpredictable bytes."""

    async def sleep(self, seconds: float) -> None: ...


class Notifier(Protocol):
    """Reports an event to somebody outside. The report holds ids, states and codes only."""

    async def post(self, url: str, body: bytes) -> None:
        """Send JSON by POST; one more try if the first one fails. No redirect is followed, no answer is read.

        Errors: ``schedule.notify``.
        """

    async def run(self, command: Sequence[str], body: bytes) -> None:
        """Run a program with JSON on its standard input, without a shell and without the secrets of this process.

        Errors: ``schedule.notify`` (it did not start, did not end in time, or ended with another status than 0).
        """


Events = AsyncIterator[dict[str, object]]
"""Progress of a long verb: plain values, ready for JSON."""
