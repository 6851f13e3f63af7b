"""The merged search tree of one node: the sum of the shares of all trusted peers.

Each peer has a *share*: its registers by row. Totals are folds over shares that do not depend on order (sums of
integers, and maxima), so the same shares give the same tree in any order of arrival. Dropping a peer gives
the tree of a node that never received its share: tree nodes that only this peer named are gone.

Rows are struct-of-arrays with growth, int64, one line of ``FIELDS`` numbers per row (line-major, because an update
touches all numbers of few rows).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from protocol import limits
from protocol.errors import MeshError
from protocol.search.entry import STATE_UNKNOWN, LeaseEntry, NodeEntry, TreeUpdate, root_key
from protocol.search.forest import ROOT, Forest
from protocol.search.share import COST_MS, FIELDS, NAMES, PRIOR, RISK, SUMMED, VISITS, Share, grown

_CAPACITY_MIN: Final = 256
_DROPPED_AT_ONCE: Final = 2_000
"""Rows that ``dropping`` and ``states`` process between two yields: a few milliseconds of work."""

Rows = NDArray[np.intp]
"""Rows of the tree, shape ``(count,)``."""


class StateVote(msgspec.Struct, frozen=True, kw_only=True):
    """The peers' reports of the state that a node leads to."""

    state: bytes
    """The state that most peers saw (the smallest one in a tie); zeros if no peer saw one."""
    votes: int
    """How many peers saw it."""
    peers: int
    """How many peers saw any state."""


class Effort(msgspec.Struct, frozen=True, kw_only=True):
    """The work that a peer reports for a search."""

    visits: int
    cost_ms: int


CheckRoom = Callable[[int], None]


class SearchTree:
    """The merged tree of one search. Methods that change it return the rows whose numbers or position changed."""

    def __init__(self, search_id: str, check_room: CheckRoom = lambda count: None) -> None:
        """check_room: raises if there is no room for that many new nodes; the limit of this tree is checked separately."""
        self._check_room = check_room
        self.search_id = search_id
        self.root_key = root_key(search_id)
        self.totals: NDArray[np.int64] = np.zeros((_CAPACITY_MIN, FIELDS), np.int64)
        """Shape ``(capacity, FIELDS)``: the fold over all shares."""
        self.lease_count: NDArray[np.int32] = np.zeros(_CAPACITY_MIN, np.int32)
        """Live leases at or below each row, shape ``(capacity,)``; they count as losses."""
        self._forest = Forest(self.root_key, _CAPACITY_MIN)
        self._shares: dict[str, Share] = {}
        self._sorted: dict[int, Rows] = {}
        self._leased: dict[int, int] = {}

    # --- change ------------------------------------------------------------------------------------------------------

    def apply(self, peer: str, epoch: int, update: TreeUpdate) -> Rows:
        """Merge the update of ``peer`` in ``epoch``; an earlier epoch is ignored, a later one replaces the peer's share.

        Changes nothing if it raises. Errors: ``delta.invalid`` (a cumulative number fell, too many children of one node);
        ``peer.limit`` (too many nodes or peers); those of ``check_room``.
        """
        share = self._shares.get(peer)
        # A late delta of a replaced epoch; the peer has written all of it again in the later one.
        if share is not None and epoch < share.epoch:
            return np.empty(0, np.intp)
        current = share if share is not None and epoch == share.epoch else None
        # All checks come before the first change, so that a refused update leaves the tree unchanged.
        self._reserve(self._check(current, share is None, update))
        if current is None:
            self._forest.touched.update(self.drop(peer).tolist())
            current = self._shares[peer] = Share(epoch, len(self.totals))
        rows = self._write(current, update)
        self._fold(rows)
        self._forest.touched.update(rows.tolist())
        current.leases.update(update.leases)
        for key, entry in update.leases.items():
            (current.live.add if entry.live else current.live.discard)(key)
        return self._changed(recount=bool(update.leases))

    def drop(self, peer: str) -> Rows:
        """Remove the share of ``peer``. An unknown peer is no error."""
        changed = [*self.dropping(peer)]
        return np.unique(np.concatenate(changed)) if changed else np.empty(0, np.intp)

    def dropping(self, peer: str) -> Iterator[Rows]:
        """Remove the share of ``peer`` in slices, so that a large share does not block for long.

        A node counts with the share until its slice; all leases end with the first slice. Between two slices the tree may be
        read and changed, but not by ``peer``. The caller must run it to its end.
        """
        share = self._shares.pop(peer, None)
        if share is None:
            return
        rows = np.flatnonzero(share.held)
        # The deepest first: nodes below a node are removed before it.
        rows = rows[np.argsort(-self._forest.depth[rows], kind="stable")]
        for start in range(0, max(1, len(rows)), _DROPPED_AT_ONCE):  # at least once: a share may hold only leases
            part = rows[start : start + _DROPPED_AT_ONCE]
            self._fold(part)
            self._remove(part.tolist(), (share.table[part, RISK] > 0).tolist())
            yield self._changed(recount=not start and bool(share.live))

    def _check(self, current: Share | None, is_new: bool, update: TreeUpdate) -> int:
        """How many new rows the update may need, after all checks."""
        if is_new and len(self._shares) >= limits.SEARCH_PARTICIPANTS_MAX:
            raise MeshError("peer.limit", "too many peers in one search")
        index = self._forest.index
        unknown = {key for key in update.stat_keys if key not in index}
        for key, entry in update.nodes.items():
            unknown.update(name for name in (key, entry.parent) if name not in index)
        if len(index) + len(unknown) > limits.TREE_NODES_MAX:
            raise MeshError("peer.limit", f"more than {limits.TREE_NODES_MAX} nodes in one search")
        self._check_room(len(unknown))
        # Limited for each peer and parent, so that one peer cannot fill the memory with children of one node.
        fanout = Counter(entry.parent for key, entry in update.nodes.items() if not self._names(current, key))
        known = current.fanout if current is not None else Counter[bytes]()
        if any(count + known[parent] > limits.CANDIDATES_PER_STATE_MAX for parent, count in fanout.items()):
            raise MeshError("delta.invalid", "too many children of one node")
        if current is not None:
            rows = np.fromiter((index.get(key, -1) for key in update.stat_keys), np.intp, len(update.stat_keys))
            old = current.table[rows[rows >= 0]]
            for column, name in enumerate(NAMES):
                if (update.stats[name][rows >= 0].astype(np.int64) < old[:, column]).any():
                    raise MeshError("delta.invalid", f"{name} decreased within an epoch")
        return len(unknown)

    def _names(self, share: Share | None, key: bytes) -> bool:
        row = self._forest.index.get(key)
        return share is not None and row is not None and bool(share.table[row, RISK])

    def _reserve(self, count: int) -> None:
        """Make room for ``count`` more rows in every array."""
        needed, capacity = self._forest.rows + count, len(self.totals)
        if needed <= capacity:
            return
        while capacity < needed:
            capacity *= 2
        self.totals = grown(self.totals, capacity)
        self.lease_count = grown(self.lease_count, capacity)
        self._forest.grow(capacity)
        for share in self._shares.values():
            share.grow(capacity)

    def _row(self, share: Share, key: bytes) -> int:
        row = self._forest.intern(key)
        if not share.held[row]:
            share.held[row] = True
            self._forest.hold(row)
        return row

    def _write(self, share: Share, update: TreeUpdate) -> Rows:
        """Write the update into the share. Returns the rows in it."""
        named = []
        for key, entry in update.nodes.items():
            row = self._row(share, key)
            if not share.table[row, RISK]:
                self._forest.name(row, entry.parent, entry.action)
                share.fanout[entry.parent] += 1
            share.table[row, PRIOR], share.table[row, RISK] = entry.prior, entry.risk
            self._sorted.pop(self._forest.parent[row], None)
            named.append(row)
        rows = np.fromiter((self._row(share, key) for key in update.stat_keys), np.intp, len(update.stat_keys))
        for column, name in enumerate(NAMES):
            share.table[rows, column] = update.stats[name]
        share.state[rows] = update.stats["state"]
        return np.unique(np.concatenate([rows, np.array(named, np.intp)]))

    def _remove(self, rows: list[int], named: list[bool]) -> None:
        """Remove one peer's references to ``rows``, and the positions of those that it ``named``."""
        forest = self._forest
        forest.touched.update(rows)
        for row, is_named in zip(rows, named, strict=True):
            if is_named:
                self._sorted.pop(forest.parent[row], None)
                forest.unname(row)
            forest.release(row)

    def _fold(self, rows: Rows) -> None:
        """Compute the totals of ``rows`` anew from all shares."""
        # Computed from all shares instead of adding differences: the result cannot depend on the order of arrival.
        folded = np.zeros((len(rows), FIELDS), np.int64)
        for share in self._shares.values():
            part = share.table[rows]
            folded[:, :SUMMED] += part[:, :SUMMED]
            np.maximum(folded[:, SUMMED:], part[:, SUMMED:], out=folded[:, SUMMED:])
        self.totals[rows] = folded

    def _changed(self, recount: bool) -> Rows:
        """The rows that changed since the last call."""
        touched = self._forest.touched
        if recount or (touched and (self._leased or self._live())):
            self._recount()
        rows = np.fromiter(touched, np.intp, len(touched))
        touched.clear()
        return rows

    def _live(self) -> list[bytes]:
        """Branches with a live lease, one entry for each lease."""
        return [key for share in self._shares.values() for key in share.live]

    def _recount(self) -> None:
        """Recount the leases along their paths; few are live at a time."""
        counts: Counter[int] = Counter()
        for key in self._live():
            row = self._forest.index.get(key, -1)
            while row >= 0:
                counts[row] += 1
                row = self._forest.parent[row]
        for row in counts.keys() | self._leased.keys():
            if counts[row] != self._leased.get(row, 0):
                self.lease_count[row] = counts[row]
                self._forest.touched.add(row)
        self._leased = dict(counts)

    # --- structure ---------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._forest)

    def row(self, key: bytes) -> int | None:
        """The row of ``key``; None if nobody has mentioned it."""
        return self._forest.index.get(key)

    def key(self, row: int) -> bytes:
        """The key of a row in use."""
        return self._forest.keys[row]

    @property
    def rows(self) -> int:
        """The upper bound of row numbers, in use or free."""
        return self._forest.rows

    @property
    def root(self) -> int:
        """Row of the root."""
        return ROOT

    @property
    def depth(self) -> NDArray[np.int16]:
        """Steps from the root by row, shape ``(capacity,)``; -1 for rows that are not connected to the root."""
        return self._forest.depth

    def parent(self, row: int) -> int:
        """The parent's row; -1 for the root and for nodes that nobody names."""
        return self._forest.parent[row]

    def children(self, row: int) -> Rows:
        """The named children, highest prior first, then by key. Do not modify the result."""
        found = self._sorted.get(row)
        if found is None:
            keys = self._forest.keys
            unsorted = self._forest.children.get(row, [])
            found = np.array(sorted(unsorted, key=lambda child: (-self.totals[child, PRIOR], keys[child])), np.intp)
            self._sorted[row] = found
        return found

    def node(self, row: int) -> NodeEntry:
        """The node at ``row``, with prior and risk merged from all peers. Errors: ``input.not_found`` for an unnamed one."""
        if self._forest.parent[row] < 0:
            raise MeshError("input.not_found", "no peer names this node")
        parent, action = self._forest.keys[self._forest.parent[row]], self._forest.action[row]
        prior, risk = int(self.totals[row, PRIOR]), int(self.totals[row, RISK])
        return NodeEntry(parent=parent, action=action, prior=prior, risk=risk)

    def path(self, row: int) -> list[bytes]:
        """Encoded actions from the root to ``row``. Errors: ``input.not_found`` if it is not connected to the root."""
        if self._forest.depth[row] < 0:
            raise MeshError("input.not_found", "the node is not connected with the root")
        actions = []
        while row != ROOT:
            actions.append(self._forest.action[row])
            row = self._forest.parent[row]
        return actions[::-1]

    # --- peers -------------------------------------------------------------------------------------------------------

    @property
    def peers(self) -> tuple[str, ...]:
        """Peers that have a share, in the order of ``contributions``."""
        return tuple(self._shares)

    def contributions(self, rows: Rows) -> NDArray[np.int64]:
        """Shares at ``rows``, shape ``(peers, rows, FIELDS)``."""
        if not self._shares:
            return np.zeros((0, len(rows), FIELDS), np.int64)
        return np.stack([share.table[rows] for share in self._shares.values()])

    def effort(self, peer: str) -> Effort:
        """The largest numbers that the peer reports at any node: numbers accumulate along paths, so that is its total."""
        share = self._shares.get(peer)
        if share is None:
            return Effort(visits=0, cost_ms=0)
        return Effort(visits=int(share.table[:, VISITS].max()), cost_ms=int(share.table[:, COST_MS].max()))

    def agreement(self, row: int) -> StateVote:
        """The states that peers saw after the action of ``row``."""
        seen = Counter(share.state[row].tobytes() for share in self._shares.values())
        del seen[STATE_UNKNOWN]
        if not seen:
            return StateVote(state=STATE_UNKNOWN, votes=0, peers=0)
        state = min(seen, key=lambda name: (-seen[name], name))
        return StateVote(state=state, votes=seen[state], peers=seen.total())

    def states(self) -> Iterator[dict[bytes, bytes]]:
        """The nodes where peers saw states: key of the node by state, in slices of bounded size. Of several nodes in one slice,
        the nearest to the root counts, then the smallest key. Changes during the iteration are missed.
        """
        for share in list(self._shares.values()):
            rows = np.flatnonzero(share.held & share.state.any(axis=1))
            for start in range(0, len(rows), _DROPPED_AT_ONCE):
                part = rows[start : start + _DROPPED_AT_ONCE]
                part = part[share.held[part]]
                keys = [self._forest.keys[row] for row in part.tolist()]
                # As unsigned numbers, unattached nodes are the farthest.
                places = zip(self._forest.depth[part].view(np.uint16).tolist(), keys, strict=True)
                nearest: dict[bytes, tuple[int, bytes]] = {}
                for state, place in zip(map(bytes, share.state[part].view("V16")[:, 0].tolist()), places, strict=True):
                    if state not in nearest or place < nearest[state]:
                        nearest[state] = place
                yield {state: key for state, (_, key) in nearest.items()}

    def leases(self) -> dict[bytes, LeaseEntry]:
        """Leases by branch key; of two for one branch, the one with the higher term, then id."""
        merged: dict[bytes, LeaseEntry] = {}
        for share in self._shares.values():
            for key, lease in share.leases.items():
                if key not in merged or (lease.term, lease.lease) > (merged[key].term, merged[key].lease):
                    merged[key] = lease
        return merged

    def digest(self) -> bytes:
        """SHA-256 of the whole content, independent of its order of arrival: totals, positions, shares, leases."""
        forest, hasher = self._forest, hashlib.sha256()
        order = [forest.index[key] for key in sorted(forest.index)]
        for row in order:
            above = forest.keys[forest.parent[row]] if forest.parent[row] >= 0 else b""
            _feed(hasher, forest.keys[row], above, forest.action[row], self.totals[row].tobytes())
            _feed(hasher, bytes(str((int(forest.depth[row]), int(self.lease_count[row]))), "ascii"))
        for peer, share in sorted(self._shares.items()):
            rows = [row for row in order if share.held[row]]
            _feed(
                hasher,
                peer.encode(),
                str(share.epoch).encode(),
                share.table[rows].tobytes(),
                share.state[rows].tobytes(),
            )
            _feed(
                hasher,
                *(part for key in sorted(share.leases) for part in (key, msgspec.json.encode(share.leases[key]))),
            )
        return hasher.digest()


def _feed(hasher: Any, *parts: bytes) -> None:
    for part in parts:
        hasher.update(len(part).to_bytes(4, "big") + part)
