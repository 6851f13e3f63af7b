"""Port: discovery of nodes on the local network."""

from __future__ import annotations

from typing import Protocol

import msgspec


class Announcement(msgspec.Struct, frozen=True, kw_only=True):
    """What a node says about itself to everybody on the local network: nothing that anybody could trust."""

    short: str
    addresses: tuple[str, ...]
    """IP addresses as text."""
    port: int


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody on the local network says about a node and its ``https://host:port``. Known, not trusted."""

    short: str
    addresses: tuple[str, ...]


class Discovery(Protocol):
    """Nodes on the local network."""

    async def announce(self, announcement: Announcement) -> None:
        """Say it until ``close``; a second one replaces the first. Errors: ``discovery.unavailable``."""

    async def browse(self, seconds: float) -> list[Sighting]:
        """Who was heard within ``seconds``, by short id. Errors: ``discovery.unavailable``."""

    async def close(self) -> None:
        """Say that this node is gone. Never raises; a second call does nothing."""
