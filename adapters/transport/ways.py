"""Chooses the order in which the addresses of a peer are tried, from the results of earlier calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from protocol import limits

HELD: Final = "held"
"""Stands for the connection that the peer keeps open."""


class Ways:
    """Remembers which way took the last call to each peer."""

    def __init__(self) -> None:
        self._last: dict[str, str] = {}

    def order(self, node: str, addresses: Sequence[str], *, held: bool) -> list[str]:
        """The way that worked last time, then the addresses as given, then the held connection if there is one."""
        ways = [*addresses[: limits.PEER_ADDRESSES_MAX], *([HELD] if held else [])]
        last = self._last.get(node)
        if last in ways:
            ways.remove(last)
            ways.insert(0, last)
        return ways

    def took(self, node: str, way: str) -> None:
        """``way`` took a call."""
        # Remove and insert again, so that the first entry is always the least recently used one.
        self._last.pop(node, None)
        self._last[node] = way
        if len(self._last) > limits.PEERS_MAX:
            del self._last[next(iter(self._last))]

    def last(self, node: str) -> str:
        """The way that took the last call to ``node``; empty if there was none."""
        return self._last.get(node, "")
