"""What this node itself says about a search: its cumulative registers, and what of them is not published yet."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from protocol import limits
from protocol.entry import SCALE, STATE_UNKNOWN, LeaseEntry, NodeEntry, Register, TreeUpdate, make_update
from protocol.errors import MeshError


class OwnShare:
    """Collects what a search finds. ``take`` is what has changed since the last call, ``everything`` starts a new
    epoch.
    """

    def __init__(self) -> None:
        self._nodes: dict[bytes, NodeEntry] = {}
        self._stats: dict[bytes, Register] = {}
        self._leases: dict[bytes, LeaseEntry] = {}
        self._changed: tuple[set[bytes], set[bytes], set[bytes]] = (set(), set(), set())

    def name(self, entry: NodeEntry) -> bytes:
        """Name a node; its key."""
        key = entry.key
        if self._nodes.get(key) != entry:
            self._nodes[key] = entry
            self._changed[0].add(key)
        return key

    def visit(
        self, path: Iterable[bytes], *, value: int, cost_ms: int, success: bool = False, failure: bool = False
    ) -> None:
        """Count one visit at every node of ``path`` (keys, the root's included).

        value: 0..``SCALE``. Errors: ``input.invalid``.
        """
        if not 0 <= value <= SCALE or not 0 <= cost_ms <= limits.REGISTER_COST_MS_MAX:
            raise MeshError("input.invalid", "value or cost is out of bounds")
        for key in path:
            old = self._stats.get(key, Register())
            self._put(
                key,
                msgspec.structs.replace(
                    old,
                    visits=old.visits + 1,
                    value_sum=old.value_sum + value,
                    best=max(old.best, value),
                    cost_ms=old.cost_ms + cost_ms,
                    successes=old.successes + success,
                    failures=old.failures + failure,
                ),
            )

    def saw(self, key: bytes, state: bytes) -> None:
        """The action of ``key`` led to ``state`` (a state hash; its first 16 bytes are kept)."""
        kept = state[: len(STATE_UNKNOWN)]
        self._put(key, msgspec.structs.replace(self._stats.get(key, Register()), state=kept))

    def close(self, key: bytes) -> None:
        """Nothing is left to try below ``key``."""
        self._put(key, msgspec.structs.replace(self._stats.get(key, Register()), closed=True))

    def lease(self, branch: bytes, entry: LeaseEntry) -> None:
        """Coordinator only: who works on ``branch``."""
        if self._leases.get(branch) != entry:
            self._leases[branch] = entry
            self._changed[2].add(branch)

    def _put(self, key: bytes, register: Register) -> None:
        if self._stats.get(key) != register:
            self._stats[key] = register
            self._changed[1].add(key)

    def take(self) -> TreeUpdate:
        """What has changed since the last ``take`` or ``everything``, for the own tree and the writer alike."""
        nodes, stats, leases = self._changed
        self._changed = (set(), set(), set())
        return make_update(
            {key: self._nodes[key] for key in sorted(nodes)},
            {key: self._stats[key] for key in sorted(stats)},
            {key: self._leases[key] for key in sorted(leases)},
        )

    def everything(self) -> TreeUpdate:
        """All of it: the first update of a new epoch."""
        self._changed = (set(), set(), set())
        return make_update(self._nodes, self._stats, self._leases)

    def restore(self, update: TreeUpdate) -> None:
        """Take over what an earlier process had published, so that a new epoch continues its sums."""
        self._nodes.update(update.nodes)
        self._leases.update(update.leases)
        for key, packed in zip(update.stat_keys, update.stats, strict=True):
            self._stats[key] = Register.unpack(packed.tobytes())
