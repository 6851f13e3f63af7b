"""One peer's numbers about a search tree, for each row (a row is one tree node, see ``forest.py``).

``tree.py`` sums the shares of all peers.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from protocol.search.entry import LeaseEntry

VISITS, VALUE_SUM, COST_MS, SUCCESSES, FAILURES, BEST, CLOSED, PRIOR, RISK = range(9)
FIELDS: Final = 9
"""Columns of a share and of the totals. The first ``SUMMED`` are summed over peers, the others are the maximum over peers."""
SUMMED: Final = 5
NAMES: Final = ("visits", "value_sum", "cost_ms", "successes", "failures", "best", "closed")
"""The fields of a register, in the order of the columns. They never decrease within an epoch."""


class Share:
    """One peer's share, by row."""

    def __init__(self, epoch: int, capacity: int) -> None:
        self.epoch = epoch
        self.table: NDArray[np.int64] = np.zeros((capacity, FIELDS), np.int64)
        self.state: NDArray[np.uint64] = np.zeros((capacity, 2), np.uint64)
        self.held: NDArray[np.bool_] = np.zeros(capacity, np.bool_)
        """Rows that this peer named or has a register for."""
        self.fanout: Counter[bytes] = Counter()
        """How many children this peer named, by key of the parent."""
        self.leases: dict[bytes, LeaseEntry] = {}
        self.live: set[bytes] = set()
        """Branches among ``leases`` whose lease is live."""

    def grow(self, capacity: int) -> None:
        """Make room for ``capacity`` rows."""
        for name in ("table", "state", "held"):
            setattr(self, name, grown(getattr(self, name), capacity))


def grown(array: NDArray[Any], capacity: int) -> NDArray[Any]:
    """A copy of ``array`` with ``capacity`` rows, filled up with zeros."""
    # The kernel provides zeros lazily: memory pages that no row uses cost nothing.
    larger = np.zeros((capacity, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
