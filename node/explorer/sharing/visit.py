"""The records that walks and the tree exchange: the steps to a tree node, and the contribution of one iteration to a node's
share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from protocol.page.actions.action import Action
from protocol.search.entry import SCALE, Register


class WalkStep(msgspec.Struct, frozen=True, kw_only=True):
    """One edge of a path: the tree node it leads to, the action, and the state expected there (empty: unknown)."""

    key: bytes
    action: Action
    state: bytes = b""


class Visit(msgspec.Struct, frozen=True, kw_only=True):
    """One iteration: the nodes that it passed, and its result."""

    path: tuple[bytes, ...]
    """Keys from below the root to the last node."""
    value: float
    """0 to 1."""
    cost_ms: int
    success: bool = False
    failed: bool = False
    """The last action of the path could not be performed."""
    closed: bool = False
    """Nothing is left to try below the last node."""
    states: Mapping[bytes, bytes] = {}
    """State hashes seen, by node key."""

    def added_to(self, old: Register, key: bytes) -> Register:
        """The register of ``key``, one of the passed nodes, after this iteration."""
        value = round(max(0.0, min(1.0, self.value)) * SCALE)
        last = bool(self.path) and key == self.path[-1]
        return Register(
            visits=old.visits + 1,
            value_sum=old.value_sum + value,
            best=max(old.best, value),
            cost_ms=old.cost_ms + max(0, self.cost_ms),
            successes=old.successes + self.success,
            failures=old.failures + (self.failed and last),
            closed=old.closed or (self.closed and last),
            state=self.states.get(key, old.state),
        )


def register_of(row: Any) -> Register:
    """One row of a decoded update (dtype ``REGISTER``) as a record."""
    return Register(
        visits=int(row["visits"]),
        value_sum=int(row["value_sum"]),
        best=int(row["best"]),
        cost_ms=int(row["cost_ms"]),
        successes=int(row["successes"]),
        failures=int(row["failures"]),
        closed=bool(row["closed"]),
        state=row["state"].tobytes(),
    )
