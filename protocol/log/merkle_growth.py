"""A Merkle tree that grows leaf by leaf, and proofs out of its stored hashes.

What is stored are the roots of complete subtrees: of level *l* the *n*-th is the subtree over the leaves *n* · 2^l up to
(*n* + 1) · 2^l. Such a subtree never changes, so each is written once: a leaf adds one hash for itself and, on average, one
more. Every root and proof, of the tree at any earlier size too, folds at most 64 of them, so it needs O(log n) reads.

This module reads no storage: the functions ``…_parts`` say which hashes are needed, and ``folded`` builds the proof from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from protocol.log.merkle import EMPTY_ROOT, node_hash


class Subtree(NamedTuple):
    """One complete subtree: the leaves ``number << level`` up to ``(number + 1) << level``."""

    level: int
    number: int


Part = tuple[Subtree, ...]
"""Neighbouring complete subtrees, left to right; folded they are one hash of a root or proof."""


def cover(first: int, last: int) -> Part:
    """The complete subtrees that make up the RFC 6962 tree over the leaves ``first`` up to ``last`` (exclusive).

    ``first`` must be where such a tree can begin: a multiple of a power of two that is not below ``last - first``.
    """
    places = []
    while first < last:
        level = (last - first).bit_length() - 1
        places.append(Subtree(level, first >> level))
        first += 1 << level
    return tuple(places)


def fold(hashes: Iterable[bytes]) -> bytes:
    """The one hash over complete subtrees, given left to right, largest first."""
    result = b""
    for left in reversed(list(hashes)):
        result = node_hash(left, result) if result else left
    return result or EMPTY_ROOT


def folded(parts: Sequence[Part], hashes: Sequence[bytes]) -> list[bytes]:
    """The proof of ``parts``; ``hashes`` are those of all their places, in order."""
    assert len(hashes) == sum(map(len, parts))
    source = iter(hashes)
    return [fold([next(source) for _ in part]) for part in parts]


def root_parts(count: int) -> list[Part]:
    """The parts from which the root of the first ``count`` leaves (at least one) is folded."""
    assert count > 0
    return [cover(0, count)]


def inclusion_parts(index: int, count: int) -> list[Part]:
    """The parts from which the proof of leaf ``index`` in a tree of ``count`` leaves is folded, lowest first (RFC 6962, 2.1.1)."""
    assert 0 <= index < count
    parts, first, last = [], 0, count
    while last - first > 1:
        middle = first + _split(last - first)
        if index < middle:
            parts.append(cover(middle, last))
            last = middle
        else:
            parts.append(cover(first, middle))
            first = middle
    return parts[::-1]


def consistency_parts(old_count: int, new_count: int) -> list[Part]:
    """The parts from which the proof from ``old_count`` leaves to ``new_count`` is folded, lowest first (RFC 6962, 2.1.2)."""
    assert 0 <= old_count <= new_count
    if old_count in (0, new_count):
        return []
    parts, first, last = [], 0, new_count
    while last > old_count:
        middle = first + _split(last - first)
        if old_count <= middle:
            parts.append(cover(middle, last))
            last = middle
        else:
            parts.append(cover(first, middle))
            first = middle
    if first:  # the rest is the end of the old tree; a reader already knows a complete old tree
        parts.append(cover(first, last))
    return parts[::-1]


def _split(count: int) -> int:
    return 1 << ((count - 1).bit_length() - 1)


class Frontier:
    """The right edge of a growing tree: it is sufficient to append leaves and to compute the root."""

    def __init__(self, count: int = 0, peaks: Sequence[bytes] = ()) -> None:
        """``peaks``: the hashes of ``cover(0, count)``."""
        assert len(peaks) == count.bit_count()
        self.count = count
        self._peaks = list(peaks)

    def append(self, leaf: bytes) -> list[tuple[Subtree, bytes]]:
        """Add a leaf hash. Returns the newly complete subtrees, smallest first."""
        place, current = Subtree(0, self.count), leaf
        made = [(place, current)]
        while place.number & 1:
            place, current = Subtree(place.level + 1, place.number >> 1), node_hash(self._peaks.pop(), current)
            made.append((place, current))
        self._peaks.append(current)
        self.count += 1
        return made

    @property
    def root(self) -> bytes:
        """The root (32 bytes) over all leaves so far."""
        return fold(self._peaks)

    def copy(self) -> Frontier:
        """A copy that grows independently."""
        return Frontier(self.count, self._peaks)
