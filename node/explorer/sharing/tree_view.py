"""A node's view of a search tree, by key: the merged tree, and its own findings that are not merged yet."""

from __future__ import annotations

import math

from node.explorer.sharing.own_share import OwnShare
from node.explorer.sharing.visit import WalkStep
from protocol.errors import MeshError
from protocol.search.entry import STATE_UNKNOWN, NodeEntry, decode_action, root_key
from protocol.search.share import CLOSED, VISITS
from protocol.search.tree import SearchTree
from protocol.search.uct import Uct


class TreeView:
    """Reads the tree of one search, and changes nothing in it."""

    def __init__(self, tree: SearchTree, uct: Uct, own: OwnShare) -> None:
        self._tree, self._uct, self._own = tree, uct, own
        self._root = root_key(tree.search_id)
        self._by_state: dict[bytes, bytes] = {}
        """By state, the node nearest to the start page at which it was seen."""

    def steps_to(self, key: bytes) -> list[WalkStep]:
        """The path from the start page to ``key``, with the states known on the way. Errors: ``input.not_found``."""
        steps: list[WalkStep] = []
        while key != self._root:
            entry = self._entry(key)
            steps.append(WalkStep(key=key, action=decode_action(entry.action), state=self.state(key)))
            key = entry.parent
        return steps[::-1]

    def _entry(self, key: bytes) -> NodeEntry:
        own = self._own.nodes.get(key)
        row = self._tree.row(key)
        if own is None and row is None:
            raise MeshError("input.not_found", "no such node in the search tree")
        return own or self._tree.node(row or 0)

    def action(self, key: bytes) -> bytes:
        """The encoded action that leads to ``key``, merged or not yet."""
        return self._entry(key).action

    def state(self, key: bytes) -> bytes:
        """The state hash seen at ``key``: by this node, else by most peers; empty if unknown."""
        own = self._own.registers.get(key)
        if own is not None and own.state != STATE_UNKNOWN:
            return own.state
        row = self._tree.row(key)
        state = self._tree.agreement(row).state if row is not None else STATE_UNKNOWN
        return b"" if state == STATE_UNKNOWN else state

    def visits(self, key: bytes) -> int:
        """Visits of all peers, merged so far."""
        row = self._tree.row(key)
        return int(self._tree.totals[row, VISITS]) if row is not None else 0

    def depth(self, key: bytes) -> int:
        """Steps from the start page; a large number when it is not connected yet."""
        row = self._tree.row(key)
        depth = int(self._tree.depth[row]) if row is not None else -1
        return depth if depth >= 0 else 1_000

    def leased(self, key: bytes) -> bool:
        """True if a worker has a lease of the branch of ``key`` now, as far as its coordinator reported."""
        row = self._tree.row(key)
        return row is not None and bool(self._tree.lease_count[row])

    def is_below(self, key: bytes, branch: bytes) -> bool:
        """True if the path from the start page to ``key`` passes ``branch``."""
        while key not in (branch, self._root):
            key = self._entry(key).parent
        return key == branch

    def closed(self, key: bytes) -> bool:
        """True if any node reports that nothing is left to try below ``key``."""
        row = self._tree.row(key)
        return row is not None and bool(self._tree.totals[row, CLOSED])

    def expanded(self, key: bytes) -> bool:
        """True if any peer has named the possible actions after ``key``."""
        row = self._tree.row(key)
        return key in self._own.children or (row is not None and bool(len(self._tree.children(row))))

    def children(self, key: bytes) -> list[bytes]:
        """The named children of ``key``, most promising first, merged so far."""
        row = self._tree.row(key)
        return [self._tree.key(child) for child in self._tree.children(row).tolist()] if row is not None else []

    def choosable(self, key: bytes) -> list[bytes]:
        """The children of ``key`` that may be chosen, most promising by prior first: neither risky nor closed."""
        row = self._tree.row(key)
        if row is None:
            return []
        return [
            self._tree.key(child) for child in self._tree.children(row).tolist() if self._uct.base[child] > -math.inf
        ]

    def untried(self, key: bytes, *, risk_class_max: int) -> list[tuple[bytes, NodeEntry]]:
        """Children of ``key`` that nobody has tried and that may be performed.

        New nodes of this node are merged only at the next flush, so the own share is included.
        """
        found = {child: self._entry(child) for child in (*self._own.children.get(key, ()), *self.children(key))}
        return [
            (child, entry)
            for child, entry in found.items()
            if entry.risk <= risk_class_max and child not in self._own.registers and not self.visits(child)
        ]

    def descend(self, key: bytes) -> list[bytes]:
        """The most promising way down from ``key`` (excluded), by production-aware UCT; empty if nothing can be chosen."""
        row = self._tree.row(key)
        if row is None:
            return []
        return [self._tree.key(below) for below in self._uct.descend(row)[1:]]

    # --- states ------------------------------------------------------------------------------------------------------

    def note_state(self, key: bytes, state: bytes) -> None:
        """Note that ``state`` was seen at ``key``."""
        if state == STATE_UNKNOWN:
            return
        known = self._by_state.get(state)
        if known is None or (self.depth(key), key) < (self.depth(known), known):
            self._by_state[state] = key

    def forget_states(self) -> None:
        """Forget all seen states, so that they are noted again."""
        self._by_state = {}

    def nearest_with_state(self, state: bytes) -> bytes | None:
        """The node nearest to the start page at which ``state`` was seen."""
        return self._by_state.get(state)
