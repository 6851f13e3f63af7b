"""Port: discovery of nodes on the local network."""

from __future__ import annotations

from typing import Protocol

import msgspec


class Announcement(msgspec.Struct, frozen=True, kw_only=True):
    """The announcement of a node to the local network: it contains nothing to trust."""

    short: str
    addresses: tuple[str, ...]
    """IP addresses as text."""
    port: int


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """An announcement heard on the local network: a node and its ``https://host:port``. Known, not trusted."""

    short: str
    addresses: tuple[str, ...]


class Discovery(Protocol):
    """Nodes on the local network."""

    async def announce(self, announcement: Announcement) -> None:
        """Announce until ``close``; a second announcement replaces the first. Errors: ``discovery.unavailable``."""

    async def browse(self, seconds: float) -> list[Sighting]:
        """The nodes heard within ``seconds``, by short id. Errors: ``discovery.unavailable``."""

    async def close(self) -> None:
        """Announce that this node is gone. Never raises; a second call does nothing."""
