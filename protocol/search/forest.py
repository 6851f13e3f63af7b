"""Rows of the search tree: the position of each node, its parent, and which rows are connected to the root.

A row lives as long as something refers to it: a peer's share (``hold``) or a named child (its parent's row). Children may
arrive before their parents; they are attached, with all nodes below them, once the parent is named and attached itself. A row
is freed with its last reference, so that it leaves no trace in the tree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from protocol import limits

ROOT = 0
"""Row of the root."""
_DETACHED = -1


class Forest:
    """Nodes by row. Rows are reused; ``touched`` collects every row whose position changed."""

    def __init__(self, root_key: bytes, capacity: int) -> None:
        self.index: dict[bytes, int] = {root_key: ROOT}
        """The row of each key."""
        self.keys: list[bytes] = [root_key]
        """The key of each row; empty for a free row."""
        self.parent: list[int] = [_DETACHED]
        """The parent's row of each row; -1 while nobody names the node."""
        self.action: list[bytes] = [b""]
        """The encoded action of each row."""
        self.depth: NDArray[np.int16] = np.full(capacity, _DETACHED, np.int16)
        """Steps from the root by row, shape ``(capacity,)``; -1 for free and unattached rows, and below
        ``TREE_DEPTH_MAX``.
        """
        self.depth[ROOT] = 0
        self.children: dict[int, list[int]] = {}
        """The named children of each row, in no order."""
        self.touched: set[int] = set()
        self._names = [0]
        self._holds = [1]
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self.index)

    @property
    def rows(self) -> int:
        """The upper bound of row numbers, in use or free."""
        return len(self.keys)

    def grow(self, capacity: int) -> None:
        """Make room for ``capacity`` rows in ``depth``."""
        depth = np.full(capacity, _DETACHED, np.int16)
        depth[: self.depth.size] = self.depth
        self.depth = depth

    def intern(self, key: bytes) -> int:
        """The row of ``key``, a new unreferenced one if needed. The caller must hold it, or name a child of it."""
        row = self.index.get(key)
        if row is not None:
            return row
        if self._free:
            row = self._free.pop()
            self.keys[row] = key
        else:
            row = len(self.keys)
            self.keys.append(key)
            self.parent.append(_DETACHED)
            self.action.append(b"")
            self._names.append(0)
            self._holds.append(0)
        self.index[key] = row
        return row

    def hold(self, row: int) -> None:
        """Add a reference to ``row``."""
        self._holds[row] += 1

    def release(self, row: int) -> None:
        """Remove a reference. The last one frees the row, and then its parent's row if that has no other reference."""
        self._holds[row] -= 1
        if self._holds[row] == 0:
            del self.index[self.keys[row]]
            self.keys[row] = b""
            self._free.append(row)
            self.touched.add(row)

    def name(self, row: int, parent: bytes, action: bytes) -> None:
        """One more peer names ``row`` as ``action`` after ``parent``; the first peer to name it sets its position."""
        self._names[row] += 1
        if self._names[row] > 1:
            return
        above = self.intern(parent)
        self.hold(above)
        self.parent[row], self.action[row] = above, action
        self.children.setdefault(above, []).append(row)
        self.touched.add(row)
        self._attach(row)

    def unname(self, row: int) -> None:
        """One peer fewer names ``row``; without the last one it loses its position, with all nodes below it."""
        self._names[row] -= 1
        if self._names[row]:
            return
        self._detach(row)
        above = self.parent[row]
        siblings = self.children[above]
        if len(siblings) > 1:
            siblings.remove(row)
        else:
            del self.children[above]
        self.parent[row], self.action[row] = _DETACHED, b""
        self.touched.add(row)
        self.touched.add(above)
        self.release(above)

    def _attach(self, row: int) -> None:
        """Set the depth of ``row`` and all rows below it that are connected to the root."""
        pending = [row]
        while pending:
            row = pending.pop()
            above = int(self.depth[self.parent[row]])
            if _DETACHED < above < limits.TREE_DEPTH_MAX:
                self.depth[row] = above + 1
                self.touched.add(row)
                pending.extend(self.children.get(row, ()))

    def _detach(self, row: int) -> None:
        if row not in self.children:
            self.depth[row] = _DETACHED
            return
        pending = [row]
        while pending:
            row = pending.pop()
            if self.depth[row] != _DETACHED:
                self.depth[row] = _DETACHED
                self.touched.add(row)
                pending.extend(self.children.get(row, ()))
