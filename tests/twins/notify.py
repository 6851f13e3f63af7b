"""The in-memory twin of the notifier: keeps what it was told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from protocol.errors import MeshError


class MemoryNotifier:
    """Implements ``adapters.ports.Notifier``."""

    def __init__(self) -> None:
        self.posted: list[tuple[str, dict[str, Any]]] = []
        self.ran: list[tuple[tuple[str, ...], dict[str, Any]]] = []
        self.deaf = False
        """Whether nobody can be told."""

    async def post(self, url: str, body: bytes) -> None:
        """Implements ``Notifier.post``."""
        self._check()
        self.posted.append((url, json.loads(body)))

    async def run(self, command: Sequence[str], body: bytes) -> None:
        """Implements ``Notifier.run``."""
        self._check()
        self.ran.append((tuple(command), json.loads(body)))

    def _check(self) -> None:
        if self.deaf:
            raise MeshError("schedule.notify", "nobody listens")
