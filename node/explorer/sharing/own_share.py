"""This node's own contribution to a search: its registers, and those of them that no delta holds yet."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence

import msgspec

from node.explorer.sharing.visit import Visit, register_of
from protocol import limits
from protocol.errors import MeshError
from protocol.goal.heuristics import Candidate
from protocol.search.entry import (
    SCALE,
    LeaseEntry,
    NodeEntry,
    Register,
    TreeUpdate,
    decode_action,
    encode_action,
    make_update,
)

log = logging.getLogger(__name__)

_TAKEN_AT_ONCE = 256
"""Entries of one update: writing them takes some ten milliseconds, and reading them delays nobody either."""


class OwnShare:
    """This node's nodes, registers and leases in one search, by key."""

    def __init__(self, root: bytes) -> None:
        self._root = root
        self.nodes: dict[bytes, NodeEntry] = {}
        self.registers: dict[bytes, Register] = {}
        self.children: dict[bytes, list[bytes]] = {}
        """Child keys that this node named, by the key of their parent."""
        self._leases: dict[bytes, LeaseEntry] = {}
        self._new_nodes: set[bytes] = set()
        self._new_registers: set[bytes] = set()
        self._new_leases: set[bytes] = set()

    # This node's nodes, registers and leases in one search, by key.

    def forget(self) -> None:
        """Drop the whole share: a later epoch replaces the earlier ones."""
        self.nodes, self.registers, self.children, self._leases = {}, {}, {}, {}

    def recall(self, update: TreeUpdate) -> None:
        """Read back the content of an own delta after a restart."""
        for key, entry in update.nodes.items():
            if key not in self.nodes:
                self.children.setdefault(entry.parent, []).append(key)
        self.nodes |= update.nodes
        self._leases |= update.leases
        self.registers |= zip(update.stat_keys, map(register_of, update.stats), strict=True)

    # --- adding ------------------------------------------------------------------------------------------------------

    def add_children(self, parent: bytes, candidates: Sequence[Candidate]) -> None:
        """Name the possible actions after ``parent``; existing names stay.

        Actions that do not belong into a tree or are too large for it are left out, and so are those beyond the number that one
        peer may name after one node.
        """
        for candidate in candidates:
            try:
                action = encode_action(candidate.action)
            except MeshError as error:
                log.debug("a candidate is left out: %s", error)
                continue
            prior = round(candidate.prior * SCALE)
            self._name(NodeEntry(parent=parent, action=action, prior=prior, risk=candidate.risk))

    def _name(self, entry: NodeEntry) -> None:
        siblings = self.children.setdefault(entry.parent, [])
        if entry.key not in self.nodes and len(siblings) < limits.CANDIDATES_PER_STATE_MAX:
            self.nodes[entry.key] = entry
            self._new_nodes.add(entry.key)
            siblings.append(entry.key)

    def adopt(self, branch: bytes, prefix: Sequence[bytes], known: Callable[[bytes], bool]) -> None:
        """Name the nodes of an assigned prefix that are not ``known``, because their deltas may not have come yet.

        Errors: ``delta.invalid``.
        """
        parent = self._root
        entries = []
        for action in prefix:
            decode_action(action)
            entry = NodeEntry(parent=parent, action=action, prior=0, risk=1)
            entries.append(entry)
            parent = entry.key
        if parent != branch:
            raise MeshError("delta.invalid", "the branch does not follow from its prefix")
        for entry in entries:
            if not known(entry.key):
                self._name(entry)

    def record(self, visit: Visit) -> None:
        """Add one iteration to the registers of every node it passed, the root included."""
        for key in (self._root, *visit.path):
            self.registers[key] = visit.added_to(self.registers.get(key, Register()), key)
            self._new_registers.add(key)

    def close_node(self, key: bytes) -> None:
        """Nothing is left to try below ``key``."""
        self.registers[key] = msgspec.structs.replace(self.registers.get(key, Register()), closed=True)
        self._new_registers.add(key)

    def note_lease(self, branch: bytes, lease: LeaseEntry) -> None:
        """Record, as the coordinator, which worker has ``branch``."""
        self._leases[branch] = lease
        self._new_leases.add(branch)

    def live_leases(self) -> dict[bytes, LeaseEntry]:
        """The live leases in this node's document as coordinator, by branch."""
        return {branch: entry for branch, entry in self._leases.items() if entry.live}

    # --- writing -----------------------------------------------------------------------------------------------------

    def renew(self) -> None:
        """Write the whole share again at the next ``take``."""
        self._new_nodes, self._new_registers = set(self.nodes), set(self.registers)
        self._new_leases = set(self._leases)

    def take(self) -> Iterator[TreeUpdate]:
        """The entries that are new since the last ``take``, in updates of a bounded size. They count as taken once it has begun."""
        new = [(self._new_nodes, 0), (self._new_registers, 1), (self._new_leases, 2)]
        keys = [(key, part) for found, part in new for key in sorted(found)]  # one order for one seed
        self._new_nodes, self._new_registers, self._new_leases = set(), set(), set()
        for start in range(0, len(keys), _TAKEN_AT_ONCE):
            chosen = keys[start : start + _TAKEN_AT_ONCE]
            yield make_update(
                {key: self.nodes[key] for key, part in chosen if part == 0},
                {key: self.registers[key] for key, part in chosen if part == 1},
                {key: self._leases[key] for key, part in chosen if part == 2},
            )
