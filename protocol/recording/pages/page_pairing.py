"""Pairs the elements of two pages that are the same, by their text and their place in the outline.

Equal lines in the same order are paired first. Remaining elements are then paired below paired elements, in this order: with the
same role and name; with lines that differ only in numbers; at the same place of a row; the most similar; all in order, if both
sides have the same number. Remaining equal elements at different places have moved.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Final

from protocol.page.seen.names import fold
from protocol.recording.pages.aligning import align, increasing
from protocol.recording.records.page_outline import Outline

CELLS: Final = frozenset({"cell", "gridcell", "rowheader", "columnheader"})
RECORDS: Final = frozenset({"row", "listitem", "article", "figure", "treeitem"}) | CELLS
"""Roles of elements that hold a record, or a part of it. An element in one record is never paired with one in another."""
_NUMBER: Final = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_BARE: Final = re.compile(r"- [a-z]+\Z")
_UNTELLING: Final = frozenset({"checkbox", "radio", "button", "img", "switch"})
_ALIKE_MIN: Final = 0.5
_ALIKE_COMPARED_MAX: Final = 2_500
_COLUMNS_MAX: Final = 200
_PASSES: Final = 6
_WORD: Final = re.compile(r"\w+")


class Side:
    """One of the two pages."""

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.mates = [-1] * len(outline.lines)
        """For each element, the paired element of the other page; -1 if there is none."""

    def __len__(self) -> int:
        return len(self.mates)

    @cached_property
    def keys(self) -> list[str]:
        """The keys for aligning the elements. A key is the element's line; for an element without text, the first line with text
        inside it is added.
        """
        return [self._key(place) for place in range(len(self))]

    def _key(self, place: int) -> str:
        lines, ends = self.outline.lines, self.outline.ends
        if not _BARE.match(lines[place]):
            return lines[place]
        inner = range(place + 1, min(ends[place], place + 9))
        telling = (lines[i] for i in inner if not _BARE.match(lines[i]) and self.outline.at(i).role not in _UNTELLING)
        return f"{lines[place]} ⟨{next(telling, '')}⟩"

    def slot(self, place: int) -> int | None:
        """The nearest paired element that holds this one, -1 for the page; None within a record that is not paired."""
        parent = self.outline.parents[place]
        while parent >= 0 and self.mates[parent] < 0:
            if self.outline.at(parent).role in RECORDS:
                return None
            parent = self.outline.parents[parent]
        return parent

    def left(self) -> Iterator[int]:
        """The elements that are not paired."""
        return (place for place, mate in enumerate(self.mates) if mate < 0)


class Pairing:
    """The elements of ``old`` and ``new`` in pairs."""

    def __init__(self, old: Outline, new: Outline) -> None:
        self.old, self.new = Side(old), Side(new)
        pairs, whole = align(self.old.keys, self.new.keys)
        for i, j in pairs:
            self._mate(i, j)
        self._mate_holders(pairs)
        self._part_strangers(pairs)
        self._pair_moved(early=True)
        self._pair_rest()
        self._pair_by(self._said, same_role=False)
        self._pair_moved()
        self._pair_rest()
        self.whole = whole or not any(self.old.left())
        """True if everything was compared."""

    def _mate(self, i: int, j: int) -> None:
        self.old.mates[i], self.new.mates[j] = j, i

    def _mate_holders(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Pair different elements that contain equal ones, such as a row in which one cell changed."""
        votes: Counter[tuple[int, int]] = Counter()
        for i, j in pairs:
            p, q = self.old.outline.parents[i], self.new.outline.parents[j]
            while p >= 0 and q >= 0 and self.old.mates[p] < 0 and self.new.mates[q] < 0:
                votes[p, q] += 1
                p, q = self.old.outline.parents[p], self.new.outline.parents[q]
        for (p, q), _ in votes.most_common():
            if self.old.mates[p] < 0 and self.new.mates[q] < 0 and self._same_role(p, q):
                self._mate(p, q)

    def _part_strangers(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Separate equal elements in two different records, such as the same price of another product."""
        for i, j in pairs:
            p, q = self.old.outline.parents[i], self.new.outline.parents[j]
            if (p >= 0 and self._is_record(self.old, p) and self.old.mates[p] != q) or (
                q >= 0 and self._is_record(self.new, q) and self.new.mates[q] != p
            ):
                self.old.mates[i] = self.new.mates[j] = -1

    def _pair_rest(self) -> None:
        for _ in range(_PASSES):
            before = sum(mate < 0 for mate in self.old.mates)
            self._pair_by(self._named)
            self._pair_by(lambda side, place: _NUMBER.sub("#", side.outline.lines[place]))
            self._pair_by(self._column)
            self._pair_alike()
            if before == sum(mate < 0 for mate in self.old.mates):
                return

    def _pair_by(self, key: Callable[[Side, int], str], *, same_role: bool = True) -> None:
        """Pair, in order, elements of the same slot with the same key. An empty key pairs nothing."""
        waiting: dict[tuple[int, str, str], list[int]] = defaultdict(list)
        for j in self.new.left():
            slot = self.new.slot(j)
            if slot is not None and (said := key(self.new, j)):
                waiting[slot, self._role(self.new, j) if same_role else "", said].append(j)
        taken: Counter[tuple[int, str, str]] = Counter()
        for i in list(self.old.left()):
            slot = self.old.slot(i)
            if slot is None or not (said := key(self.old, i)):
                continue
            group = (self.old.mates[slot] if slot >= 0 else -1, self._role(self.old, i) if same_role else "", said)
            if taken[group] < len(waiting.get(group, ())):
                self._mate(i, waiting[group][taken[group]])
                taken[group] += 1

    def _pair_alike(self) -> None:
        """Pair the remaining elements of one role in the same slot: the most similar first, the rest in order if both sides have
        the same number.
        """
        ours, theirs = self._in_slots(self.old), self._in_slots(self.new)
        for (slot, role), places in ours.items():
            others = theirs.get((self.old.mates[slot] if slot >= 0 else -1, role), [])
            if len(places) * len(others) <= _ALIKE_COMPARED_MAX:
                self._mate_alike(places, others)
            left = [[i for i in places if self.old.mates[i] < 0], [j for j in others if self.new.mates[j] < 0]]
            # Two rows without a common word are different rows.
            if len(left[0]) == len(left[1]) and all(self._says(self.old, i) for i in left[0]):
                for i, j in zip(*left, strict=True):
                    self._mate(i, j)

    def _in_slots(self, side: Side) -> dict[tuple[int, str], list[int]]:
        found: dict[tuple[int, str], list[int]] = defaultdict(list)
        for place in side.left():
            slot = side.slot(place)
            if slot is not None:
                found[slot, self._role(side, place)].append(place)
        return found

    def _mate_alike(self, places: Sequence[int], others: Sequence[int]) -> None:
        words = [
            [self._words(side, place) for place in some] for side, some in ((self.old, places), (self.new, others))
        ]
        graded = [
            (_alike(words[0][a], words[1][b]), -abs(a - b), i, j)
            for a, i in enumerate(places)
            for b, j in enumerate(others)
        ]
        for grade, _, i, j in sorted(graded, reverse=True):
            if grade >= _ALIKE_MIN and self.old.mates[i] < 0 and self.new.mates[j] < 0:
                self._mate(i, j)

    def _pair_moved(self, *, early: bool = False) -> None:
        """Pair equal elements at different places. early: only elements that occur once on both sides, and in no record."""
        there: dict[str, list[int]] = defaultdict(list)
        for j in self.new.left():
            there[self.new.keys[j]].append(j)
        mine = Counter(self.old.keys[i] for i in self.old.left())
        for i in list(self.old.left()):
            found = there.get(self.old.keys[i])
            parent = self.old.outline.parents[i]
            if not found or (parent >= 0 and self.old.mates[parent] < 0) or not self._words(self.old, i):
                continue
            if not early or (len(found) == 1 and mine[self.old.keys[i]] == 1 and not self._is_in_record(i, found[0])):
                self._mate(i, found.pop(0))

    def _is_in_record(self, i: int, j: int) -> bool:
        p, q = self.old.outline.parents[i], self.new.outline.parents[j]
        return (p >= 0 and self._is_record(self.old, p)) or (q >= 0 and self._is_record(self.new, q))

    def moved(self) -> set[int]:
        """The elements of ``old`` that are now in another element, or at another place in the same one."""
        elsewhere: set[int] = set()
        together: dict[tuple[int, int], list[int]] = defaultdict(list)
        for i, j in enumerate(self.old.mates):
            if j < 0:
                continue
            if self._is_elsewhere(i, j):
                elsewhere.add(i)
            else:
                together[self.old.outline.parents[i], self.new.outline.parents[j]].append(i)
        for places in together.values():
            kept = {places[index] for index in increasing([self.old.mates[i] for i in places])}
            elsewhere.update(i for i in places if i not in kept)
        return elsewhere

    def _is_elsewhere(self, i: int, j: int) -> bool:
        """True if it is in another element now. A wrapper that was added or removed around it does not count."""
        p, q = self.old.outline.parents[i], self.new.outline.parents[j]
        if (p < 0 and q < 0) or (p >= 0 and self.old.mates[p] == q):
            return False
        ours, theirs = self.old.slot(i), self.new.slot(j)
        if ours is None or theirs is None:
            return True
        return (self.old.mates[ours] if ours >= 0 else -1) != theirs

    # --- the text of an element ---

    def _same_role(self, i: int, j: int) -> bool:
        return self._role(self.old, i) == self._role(self.new, j)

    @staticmethod
    def _role(side: Side, place: int) -> str:
        return side.outline.at(place).role

    def _is_record(self, side: Side, place: int) -> bool:
        return self._role(side, place) in RECORDS

    @staticmethod
    def _says(side: Side, place: int) -> bool:
        line = side.outline.at(place)
        return bool(line.name or line.text) or line.role not in RECORDS

    @staticmethod
    def _named(side: Side, place: int) -> str:
        return side.outline.at(place).name

    @staticmethod
    def _said(side: Side, place: int) -> str:
        return side.outline.at(place).said

    @staticmethod
    def _column(side: Side, place: int) -> str:
        """The place of a cell in its row, and the number of cells."""
        parent = side.outline.parents[place]
        if parent < 0 or side.outline.at(place).role not in CELLS:
            return ""
        cells = side.outline.children[parent]
        return f"{cells.index(place)} of {len(cells)}" if len(cells) <= _COLUMNS_MAX else ""

    @staticmethod
    def _words(side: Side, place: int) -> Counter[str]:
        return Counter(_WORD.findall(fold(" ".join(side.outline.leaves(place, 12)))))


def _alike(one: Counter[str], other: Counter[str]) -> float:
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0
