"""The local network without sockets."""

from __future__ import annotations

from adapters.discovery.words import sighting
from adapters.ports.discovery import Announcement, Sighting


class MemoryNeighbourhood:
    """A local network: who announces on it, by short id."""

    def __init__(self) -> None:
        self.announced: dict[str, Announcement] = {}


class MemoryDiscovery:
    """A ``Discovery`` in a ``MemoryNeighbourhood``; browsing takes no time."""

    def __init__(self, neighbourhood: MemoryNeighbourhood) -> None:
        self._neighbourhood = neighbourhood
        self._own = ""

    async def announce(self, announcement: Announcement) -> None:
        """Say it until ``close``."""
        self._neighbourhood.announced.pop(self._own, None)
        self._own = announcement.short
        self._neighbourhood.announced[self._own] = announcement

    async def browse(self, seconds: float) -> list[Sighting]:
        """Who is there."""
        seen = [
            sighting(said.short, said.addresses, said.port) for _, said in sorted(self._neighbourhood.announced.items())
        ]
        return [each for each in seen if each is not None]

    async def close(self) -> None:
        """Be gone."""
        self._neighbourhood.announced.pop(self._own, None)
        self._own = ""
