"""Finds the corresponding lines of two texts, in time that grows with their length and not with its square.

Lines that occur exactly once on both sides are landmarks; the search continues between each two of them. Short stretches without a
landmark are compared line by line. A long one stays unaligned, and the result says so.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Final, NamedTuple

_SHORT: Final = 64
"""The number of lines in a stretch that is compared line by line."""
_ROUNDS: Final = 12
"""The maximum number of passes through a text for landmarks."""
_COMPARISONS_MAX: Final = 2_000_000
_COST: Final = 8
"""The weight of one comparison, because the search for the longest common stretch starts again after each find."""


class Aligned(NamedTuple):
    """Positions of equal lines in both texts, in order, none twice."""

    pairs: list[tuple[int, int]]
    whole: bool
    """False if the texts were too long to be compared completely."""


def align(old: Sequence[str], new: Sequence[str]) -> Aligned:
    """The lines that ``old`` and ``new`` share, in their order."""
    pairs: list[tuple[int, int]] = []
    whole, left = True, _ROUNDS * (len(old) + len(new)) + _COMPARISONS_MAX
    pending = [(0, len(old), 0, len(new))]
    while pending:
        a, b, c, d = _trimmed(old, new, pending.pop(), pairs)
        if a == b or c == d:
            continue
        left -= b - a + d - c
        landmarks = _landmarks(old[a:b], new[c:d]) if left > 0 else []
        is_short = max(b - a, d - c) <= _SHORT
        if landmarks:
            ends = [(a - 1, c - 1), *((a + i, c + j) for i, j in landmarks), (b, d)]
            pairs += ends[1:-1]
            pending += [(i + 1, k, j + 1, m) for (i, j), (k, m) in pairwise(ends)]
        elif is_short and left > 0:
            left -= _COST * (b - a) * (d - c)
            for i, j, size in SequenceMatcher(None, old[a:b], new[c:d], autojunk=False).get_matching_blocks():
                pairs += [(a + i + k, c + j + k) for k in range(size)]
        else:
            whole = False
    return Aligned(sorted(pairs), whole)


def _trimmed(
    old: Sequence[str], new: Sequence[str], stretch: tuple[int, int, int, int], pairs: list[tuple[int, int]]
) -> tuple[int, int, int, int]:
    """``stretch`` without the equal lines at its beginning and end, which are added to ``pairs``."""
    a, b, c, d = stretch
    while a < b and c < d and old[a] == new[c]:
        pairs.append((a, c))
        a, c = a + 1, c + 1
    while a < b and c < d and old[b - 1] == new[d - 1]:
        b, d = b - 1, d - 1
        pairs.append((b, d))
    return a, b, c, d


def _landmarks(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The longest series of lines that stand once on both sides and come in the same order on both."""
    counts = Counter(old), Counter(new)
    at = {line: place for place, line in enumerate(new) if counts[1][line] == 1}
    both = [(i, at[line]) for i, line in enumerate(old) if line in at and counts[0][line] == 1]
    return [both[index] for index in increasing([j for _, j in both])]


def increasing(values: Sequence[int]) -> list[int]:
    """The indices of the longest increasing subsequence of ``values`` (patience sorting)."""
    ends: list[int] = []
    """For each length, the smallest last value of such a subsequence."""
    last: list[int] = []
    before: list[int] = []
    for index, value in enumerate(values):
        length = bisect_left(ends, value)
        before.append(last[length - 1] if length else -1)
        if length == len(ends):
            ends.append(value)
            last.append(index)
        else:
            ends[length], last[length] = value, index
    series: list[int] = []
    index = last[-1] if last else -1
    while index >= 0:
        series.append(index)
        index = before[index]
    return series[::-1]
