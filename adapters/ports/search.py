"""Port: writes this node's own document about a search."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # these import numpy, which most commands never use
    from protocol.search.delta import Delta
    from protocol.search.entry import TreeUpdate


class TreeWriter(Protocol):
    """Writes this node's own document of one search and epoch. One task at a time."""

    @property
    def full(self) -> bool:
        """True if it is time for a new epoch."""

    def flush(self, update: TreeUpdate) -> list[Delta]:
        """The deltas that encode ``update``, in order; none if there is nothing new. Errors: ``input.too_large``."""


NewTreeWriter = Callable[[bytes, str, int], TreeWriter]
"""``(public key, search id, epoch) -> writer``"""
