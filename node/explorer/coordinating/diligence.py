"""Finds idle workers: those that return leases without results get fewer leases, then none.

Work on a lease produces at least one delta, because every iteration is counted in one. A worker that returns leases without a
delta keeps branches from other workers. The second such lease in a row costs it a pause, each further one a longer pause,
and after ``EMPTY_LEASES_PER_PEER_MAX`` it gets no more branches of this search. A delta that arrives later resets the count,
because a result may overtake the deltas of its lease.

The counts are part of ``Progress``, which is stored, so a restart of the coordinator does not reset them.
"""

from __future__ import annotations

from typing import Final

from node.explorer.progress import Progress
from node.explorer.sharing.replica import Replica
from protocol import limits

_FIRST_PAUSE_S: Final = 3.0


class Diligence:
    """Counts, for each worker of one search, its leases in a row that brought no delta."""

    def __init__(self, progress: Progress, replica: Replica) -> None:
        self._progress, self._replica = progress, replica

    def returned(self, worker: str) -> float:
        """Record that ``worker`` has ended a lease; returns for how many seconds it gets no other."""
        if self.made_up(worker):
            return 0.0
        empty = self._progress.leases_empty.get(worker, 0) + 1
        self._progress.leases_empty[worker] = empty
        return 0.0 if empty == 1 else _FIRST_PAUSE_S * 2.0 ** (empty - 2)

    def made_up(self, worker: str) -> bool:
        """True if deltas of ``worker`` have come since the last call; then its empty leases are forgotten."""
        have = self._replica.have(worker)
        if have <= self._progress.deltas_seen.get(worker, (0, 0)):
            return False
        self._progress.deltas_seen[worker] = have
        self._progress.leases_empty.pop(worker, None)
        return True

    def is_idle(self, worker: str) -> bool:
        """True if ``worker`` gets no more branches, unless it sends a delta."""
        return self._progress.leases_empty.get(worker, 0) >= limits.EMPTY_LEASES_PER_PEER_MAX
