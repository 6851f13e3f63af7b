"""The state of the peer listener, with its address. The serving process sets it; every room can read it."""

from __future__ import annotations

from pathlib import Path

from protocol.errors import MeshError


class Serving:
    """The state of the peer listener. False while nobody can reach this node."""

    def __init__(self, home: Path) -> None:
        """home: the data directory, named in errors."""
        self.home = home
        self.address = ""
        """Where peers reach this node; empty while it does not serve."""

    def __bool__(self) -> bool:
        return bool(self.address)

    def need(self) -> None:
        """Errors: ``node.not_serving``."""
        if not self:
            raise MeshError("node.not_serving", home=str(self.home))
