"""Selects the next action: UCT with priors, risk, cost and the merged numbers of all peers.

For an action with n visits, pseudo-visits n0, live leases VL (counted as losses), below a node with N visits:

    score = (n·Q + n0·P) / (n + n0 + VL) + C·sqrt(ln(N + 2) / (n + VL + n0)) - lambda·risk - mu·cost

Q is half the mean and half the best value; with pseudo-visits, risk and cost count before the first visit. Risk classes from
``APPROVAL_CLASS`` up (unless ``open``), closed nodes and nodes not connected to the root are never chosen. Of a node with N
visits, the first ⌈2·sqrt(N + 1)⌉ selectable children take part, in the order of their priors (progressive widening).

How descending stays fast. Only C·sqrt(ln(N + 2)) depends on the parent, so every row caches ``base`` (all other terms) and
``inv`` = 1/sqrt(n + VL + n0) as float32, and only changed rows are computed again. For each parent the selectable children are
gathered once into contiguous arrays, in prior order, until one of them changes. Widening is then a slice, which copies nothing,
and a level costs one multiplication, one addition into a kept buffer, and one argmax. Dead children are not in the arrays at
all, so there is no mask to apply.

Sources: Kocsis and Szepesvári 2006 (UCT), Chaslot et al. 2008 (virtual loss), Couëtoux et al. 2011 (progressive widening).
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from protocol import limits
from protocol.risk.pressing.classes import APPROVAL_CLASS
from protocol.search.entry import SCALE
from protocol.search.share import BEST, CLOSED, COST_MS, PRIOR, RISK, VALUE_SUM, VISITS
from protocol.search.tree import Rows, SearchTree

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]

RISK_PENALTY: Final[F64] = np.array([0, 0, 0.05, 0.15, 0.5, 0.8, 0.9, 1.0])
"""Penalty by risk class; class 0 means that nobody names the node."""
UNVERIFIED_MAX: Final = 0.7
"""The cap on a value that this node has not seen itself."""
_MEDIAN_PEERS_MIN: Final = 3
_MEDIAN_VISITS_MIN: Final = 2


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    """The constants of the score."""

    exploration: float = 0.15
    """C: .15 for tens of iterations, .4 beyond fifty."""
    pseudo_visits: float = 1.0
    """n0"""
    risk: float = 0.5
    """lambda"""
    cost: float = 0.1
    """mu"""
    cost_reference_ms: float = 4_000.0
    """A mean cost of this much per visit gives half the cost penalty."""


def width(visits: int) -> int:
    """How many children of a node with ``visits`` take part: ⌈2·sqrt(visits + 1)⌉."""
    return math.ceil(2.0 * math.sqrt(visits + 1))


class _Family(NamedTuple):
    """The selectable children of one node, in prior order; contiguous."""

    rows: Rows
    base: F32
    inv: F32
    factor: float
    """C·sqrt(ln(N + 2))"""
    width: int


class Uct:
    """Scores of a ``SearchTree``. Pass every result of ``apply``, ``drop`` and ``dropping`` to ``refresh``."""

    def __init__(self, tree: SearchTree, own: str, *, weights: Weights | None = None) -> None:
        """``own``: the node id whose values need no verification, because this node saw them."""
        self._tree = tree
        self._own = own
        self._weights = weights or Weights()
        self._families: dict[int, _Family | None] = {}
        self._buffer: F32 = np.empty(limits.SEARCH_PARTICIPANTS_MAX * limits.CANDIDATES_PER_STATE_MAX, np.float32)
        self.base: F32 = np.empty(0, np.float32)
        """The score without the exploration term, shape ``(capacity,)``; -inf for rows that are never chosen."""
        self.inv: F32 = np.empty(0, np.float32)
        """1/sqrt(n + VL + n0), shape ``(capacity,)``."""
        self.refresh(np.arange(tree.rows, dtype=np.intp))

    def refresh(self, rows: Rows) -> None:
        """Compute ``rows`` again, and drop the families that contain them."""
        tree = self._tree
        if len(self.base) < len(tree.totals):
            missing = len(tree.totals) - len(self.base)
            self.base = np.concatenate([self.base, np.full(missing, -np.inf, np.float32)])
            self.inv = np.concatenate([self.inv, np.ones(missing, np.float32)])
        if not len(rows):
            return
        self.base[rows], self.inv[rows] = self._scores(rows)
        for row in rows.tolist():
            self._families.pop(row, None)
            # The cached arrays of the parent contain the score of this row.
            self._families.pop(tree.parent(row), None)

    def _scores(self, rows: Rows) -> tuple[F32, F32]:
        """``base`` and ``inv`` of ``rows``."""
        tree, weights = self._tree, self._weights
        totals = tree.totals[rows]
        visits = totals[:, VISITS].astype(np.float64)
        quality = self.quality(rows)
        # A live lease counts as a visit of value 0 (virtual loss), so that other workers choose other branches.
        weight = visits + tree.lease_count[rows] + weights.pseudo_visits
        value = (visits * quality + weights.pseudo_visits * totals[:, PRIOR] / SCALE) / weight
        cost_ms = totals[:, COST_MS] / np.maximum(visits, 1)
        cost = cost_ms / (cost_ms + weights.cost_reference_ms)
        risk = totals[:, RISK]
        base: F64 = value - weights.risk * RISK_PENALTY[risk] - weights.cost * cost
        # Not selectable: unnamed rows, classes that need an approval, closed nodes, and rows not connected to the root.
        never = (risk == 0) | (risk >= APPROVAL_CLASS) | (totals[:, CLOSED] > 0) | (tree.depth[rows] < 0)
        base[never] = -np.inf
        return base.astype(np.float32), (1.0 / np.sqrt(weight)).astype(np.float32)

    def quality(self, rows: Rows) -> F64:
        """Q of ``rows`` in 0..1: half the mean, half the best value; values of other nodes are capped.

        If at least three peers have at least two visits each, the mean is the median of their means. Otherwise it is the mean
        weighted by visits, in which no peer weighs more than all others together.
        """
        shares = self._tree.contributions(rows)
        if not len(shares):
            return np.zeros(len(rows))
        peers = self._tree.peers
        visits = shares[:, :, VISITS].astype(np.float64)
        means = shares[:, :, VALUE_SUM] / (np.maximum(visits, 1) * SCALE)
        best = shares[:, :, BEST] / SCALE
        # Only this node's own values reach 1.0, so that no peer can attract all workers by reporting perfect values.
        cap = np.full(means.shape, UNVERIFIED_MAX)
        cap[[place for place, peer in enumerate(peers) if peer == self._own]] = 1.0
        means, best = np.minimum(means, cap), np.minimum(best, cap)
        middle = _capped_mean(means, visits)
        ready = visits >= _MEDIAN_VISITS_MIN
        many = ready.sum(axis=0) >= _MEDIAN_PEERS_MIN
        if many.any():
            middle[many] = _median(means[:, many], ready[:, many])
        result: F64 = 0.5 * middle + 0.5 * best.max(axis=0)
        return result

    def score(self, row: int) -> float:
        """The score of ``row`` among its siblings."""
        parent = self._tree.parent(row)
        total = int(self._tree.totals[parent, VISITS])
        return float(self.base[row]) + self._factor(total) * float(self.inv[row])

    def _factor(self, visits: int) -> float:
        return self._weights.exploration * math.sqrt(math.log(visits + 2))

    def _gather(self, row: int) -> _Family | None:
        """The family below ``row``; None if nothing there can be chosen."""
        children = self._tree.children(row)
        alive = children[np.isfinite(self.base[children])]
        visits = int(self._tree.totals[row, VISITS])
        family = None
        if len(alive):
            family = _Family(alive, self.base[alive], self.inv[alive], self._factor(visits), width(visits))
        self._families[row] = family
        return family

    def descend(self, root_row: int) -> list[int]:
        """Rows from ``root_row`` (included) down to a node without selectable children, always by the highest score.

        Among equal scores the child with the higher prior wins.
        """
        families, buffer = self._families, self._buffer
        multiply, add = np.multiply, np.add
        path, row = [root_row], root_row
        while True:
            family = families[row] if row in families else self._gather(row)
            if family is None:
                return path
            rows, base, inv, factor, wide = family
            count = len(rows)
            if count > wide:
                count, base, inv = wide, base[:wide], inv[:wide]
            scores = multiply(inv, factor, buffer[:count])
            row = int(rows[add(scores, base, scores).argmax()])
            path.append(row)


def _capped_mean(values: F64, masses: F64) -> F64:
    """Mean over the first axis, where no mass exceeds the sum of the others (unless there are no others)."""
    # A peer could report any number of visits. So its weight is limited to the sum of all other peers.
    others = masses.sum(axis=0) - masses
    masses = np.where(others > 0, np.minimum(masses, others), masses)
    total = masses.sum(axis=0)
    mean: F64 = (values * masses).sum(axis=0) / np.where(total > 0, total, 1.0)
    return mean


def _median(values: F64, counted: NDArray[np.bool_]) -> F64:
    """Lower median over the first axis, of the counted values only; at least one is counted."""
    ordered = np.sort(np.where(counted, values, np.inf), axis=0)
    place = (counted.sum(axis=0) - 1) // 2
    median: F64 = np.take_along_axis(ordered, place[None, :], 0)[0]
    return median
