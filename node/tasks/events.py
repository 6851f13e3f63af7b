"""The events of one running task, and who waits for them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from node.tasks.stored import EventRecord
from protocol import limits


class Events:
    """The newest events of a task, numbered without gaps."""

    def __init__(self, now_ms: Callable[[], int], redact: Callable[[str], str]) -> None:
        """redact: takes secrets and personal data out of a text that is kept."""
        self._now_ms, self._redact = now_ms, redact
        self._kept: deque[EventRecord] = deque(maxlen=limits.TASK_EVENTS_MAX)
        self._number = 0
        self._grown = asyncio.Event()
        self.progress = ""
        """The last progress, in JSON."""

    @property
    def kept(self) -> tuple[EventRecord, ...]:
        """The events, in order."""
        return tuple(self._kept)

    @property
    def last(self) -> int:
        """The number of the newest event."""
        return self._number

    def state(self, state: str) -> None:
        """The task has another state."""
        self._add("state", state)

    def tell(self, event: dict[str, Any]) -> None:
        """Progress of the verb; a ``Tell``."""
        self.progress = msgspec.json.encode(_mapped(event, self._redact)).decode()[: limits.TASK_EVENT_CHARS_MAX]
        self._add("progress", self.progress)

    def _add(self, kind: str, said: str) -> None:
        self._number += 1
        self._kept.append(EventRecord(number=self._number, at_ms=self._now_ms(), kind=kind, said=said))
        # Replaced and not cleared: who holds the old one still wakes up.
        self._grown.set()
        self._grown = asyncio.Event()

    async def grows(self, after: int) -> None:
        """Wait until there is an event after number ``after``."""
        while self._number <= after:
            await self._grown.wait()


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """Plain values with ``change`` applied to all texts."""
    match value:
        case str():
            return change(value)
        case dict():
            return {key: _mapped(each, change) for key, each in value.items()}
        case list() | tuple():
            return [_mapped(each, change) for each in value]
        case _:
            return value
