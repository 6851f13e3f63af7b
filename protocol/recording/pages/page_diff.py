"""Describes the differences between two snapshots for a person: each change with its place, the most important first.

A place is named by the elements around it: ``table “Orders” › row “Pump 2” › cell “Price”``. An element that was added, removed or
moved is reported once, with its content. An element whose name changed only because its content did (a row is named by its cells)
is not reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from protocol import limits
from protocol.page.seen.names import fold, shortened
from protocol.page.seen.observation import INTERACTIVE_ROLES
from protocol.recording.pages.page_pairing import CELLS, RECORDS, Pairing, Side
from protocol.recording.records.page_outline import Outline, Wrapper, outline, regrouped

_MONEY: Final = re.compile(r"[£$€¥₹₽₩] ?[0-9]|[0-9] ?(?:[£$€¥₹₽₩]|EUR|USD|GBP|CHF)")
_NUMBER: Final = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_WORD: Final = re.compile(r"\w+")
_LETTER: Final = re.compile(r"[^\W\d_]")
_FIELDS: Final = frozenset(
    {"textbox", "searchbox", "combobox", "listbox", "spinbutton", "slider", "option", "checkbox", "radio", "switch"}
)
_MATTERING: Final = RECORDS | _FIELDS | INTERACTIVE_ROLES | {"heading", "alert", "dialog", "alertdialog"}
_DECORATION: Final = frozenset({"img", "separator", "none", "presentation"})
_NAMED_BY_CONTENT: Final = (
    RECORDS | INTERACTIVE_ROLES | {"heading", "option", "generic", "group", "caption", "term", "definition", "listbox"}
)
_TABLES: Final = frozenset({"table", "grid", "treegrid"})
_PLACE_PARTS_MAX: Final = 3
_NAME_CHARS_MAX: Final = 40
_HEADING_WITHIN: Final = 200
_LEAVES_SHOWN: Final = 4
_GROUPED_MAX: Final = 5_000_000
_MOVED_SHOWN: Final = 3
_ELSEWHERE: Final = "the same elements, grouped in another way"


class PageDifference(NamedTuple):
    """One difference between two pages."""

    weight: int
    """Its rank by importance; the lowest comes first (``weight``)."""
    place: str
    """The names of the elements around it; empty for the page."""
    recorded: str
    """The line of the recorded snapshot; empty for a new element."""
    met: str
    """The line of the other snapshot; empty for a removed element."""
    note: str = ""
    """A further remark."""


class PageDiff(NamedTuple):
    """The differences between two pages."""

    found: list[PageDifference]
    """The most important first; changes of one weight in the order of the page."""
    more: int
    """The number of further changes."""
    whole: bool
    """False if the pages were not compared to the end."""


def differing(recorded: str, met: str, most: int) -> PageDiff:
    """The ``most`` important differences of the snapshot ``met`` from ``recorded``.

    Wrappers and indentation do not count. Only the first ``OUTLINE_LINES_MAX`` lines of each are compared.
    """
    old, new, whole = _within_limit(recorded, met)
    if (old.lines, old.parents) == (new.lines, new.parents) and not regrouped(old.wrappers, new.wrappers):
        return PageDiff([], 0, whole)
    pairing = Pairing(old, new)
    telling = _Telling(pairing)
    all_found = telling.found() if whole else _before_the_end(telling.found(), pairing)
    found = sorted(all_found, key=lambda one: one.weight)
    told = list(map(telling.told, found[:most]))
    if not found or _regrouped(pairing):
        told = [*told[: most - 1], PageDifference(3, "", _ELSEWHERE, _ELSEWHERE)]
        told.sort(key=lambda one: one.weight)
    return PageDiff(told, max(0, len(found) - most), whole and pairing.whole)


def _regrouped(pairing: Pairing) -> bool:
    """True if a wrapper of both pages holds different elements. Only paired elements count."""
    old, new = pairing.old, pairing.new
    numbers = [[i if mate >= 0 else -1 for i, mate in enumerate(old.mates)], new.mates]
    sides: list[list[Wrapper]] = []
    if sum(one.end - one.start for side in (old, new) for one in side.outline.wrappers) > _GROUPED_MAX:
        return False  # no application nests wrappers so deeply; other differences are found without this
    for side, number in zip((old, new), numbers, strict=True):
        held = [
            (one.line, [number[i] for i in range(one.start, one.end) if number[i] >= 0])
            for one in side.outline.wrappers
        ]
        sides.append([Wrapper(line, min(places), max(places)) for line, places in held if places])
    return regrouped(*sides)


def _within_limit(recorded: str, met: str) -> tuple[Outline, Outline, bool]:
    """Both outlines, and True if they are complete. The equal ends of long pages are cut off first."""
    texts, most = [text.split("\n") for text in (recorded, met)], limits.OUTLINE_LINES_MAX
    if max(map(len, texts)) > most:
        ends = zip(reversed(texts[0]), reversed(texts[1]), strict=False)
        alike = next((i for i, (old, new) in enumerate(ends) if old != new), min(map(len, texts)))
        texts = [lines[: len(lines) - alike] for lines in texts]
    old, new = (outline("\n".join(lines[:most])) for lines in texts)
    return old, new, max(map(len, texts)) <= most


def _before_the_end(found: Iterable[_Found], pairing: Pairing) -> list[_Found]:
    """The differences between two cut pages, without those that may come only from the different places of the cuts."""
    ends = [
        max((place for place, mate in enumerate(side.mates) if mate >= 0), default=-1)
        for side in (pairing.old, pairing.new)
    ]
    return [one for one in found if one.old <= ends[0] and one.new <= ends[1]]


_LEAST: Final = 6


def weight(roles: Sequence[str], recorded: str, met: str) -> int:
    """The weight of a change of these lines: 1 for a value (an amount of money, a cell, a record, the content of a field), 2 for a
    control or heading, 3 for another text, 5 for a number inside a text, 6 for decoration.
    """
    if any(map(_MONEY.search, (recorded, met))) or any(role in RECORDS | _FIELDS for role in roles):
        return 1
    if any(role in INTERACTIVE_ROLES | {"heading", "alert", "dialog", "alertdialog"} for role in roles):
        return 2
    if any(role in _DECORATION for role in roles):
        return _LEAST
    return 5 if recorded and met and _NUMBER.sub("#", recorded) == _NUMBER.sub("#", met) else 3


class _Found(NamedTuple):
    """A difference that is not yet in words."""

    weight: int
    old: int
    """Position in the recorded page; -1 for a new element."""
    new: int
    """Position in the page of the replay; -1 for a removed element."""
    others: int = 0
    """The number of other elements that moved with it."""


class _Telling:
    """Describes the differences of a pairing from the inside out, so that the description of an element knows which differences
    inside it were described.
    """

    def __init__(self, pairing: Pairing) -> None:
        self._old, self._new = pairing.old, pairing.new
        self._pairing = pairing
        self._said: dict[int, set[str]] = {}
        """Words already described within an element of the recorded page."""

    def found(self) -> list[_Found]:
        """All differences in the order of the page; new elements come last."""
        added = [self._one_sided(self._new, j) for j in self._new.left() if self._is_outermost(self._new, j)]
        found: list[_Found] = []
        moved = self._pairing.moved()
        for i in range(len(self._old) - 1, -1, -1):
            j = self._old.mates[i]
            if j < 0:
                if self._is_outermost(self._old, i):
                    found.append(self._one_sided(self._old, i))
            elif self._old.outline.lines[i] != self._new.outline.lines[j]:
                self._rise(i)
                if not self._follows(i, j):
                    found.append(self._changed(i, j))
            else:
                self._rise(i)
        return [*found[::-1], *self._order(moved), *added]

    def told(self, found: _Found) -> PageDifference:
        """A difference in words."""
        old, new = self._old.outline, self._new.outline
        if found.new < 0:
            shown, note = self._shown_whole(self._old, found.old)
            return PageDifference(found.weight, place_of(old, found.old), shown, "", note)
        if found.old < 0:
            shown, note = self._shown_whole(self._new, found.new)
            return PageDifference(found.weight, place_of(new, found.new), "", shown, note)
        before, after = old.lines[found.old], new.lines[found.new]
        if before != after:
            itself = old.at(found.old).role in CELLS - {"columnheader"}
            return PageDifference(found.weight, place_of(old, found.old, itself=itself), before, after)
        shown, _ = self._shown_whole(self._old, found.old)
        here, there = place_of(old, found.old), place_of(new, found.new)
        more = f", with {found.others} more" if found.others else ""
        note = "in another order" if here == there else f"moved to {there or 'the page'}"
        return PageDifference(found.weight, here, shown, shown, note + more)

    @staticmethod
    def _is_outermost(side: Side, place: int) -> bool:
        parent = side.outline.parents[place]
        return parent < 0 or side.mates[parent] >= 0

    def _one_sided(self, side: Side, place: int) -> _Found:
        """A removed or new element, with its content."""
        lines, parent = side.outline, side.outline.parents[place]
        is_gone = side is self._old
        holder = parent if is_gone or parent < 0 else self._new.mates[parent]
        self._note(holder, fold(" ".join(lines.lines[place : min(lines.ends[place], place + _HEADING_WITHIN)])))
        shown, _ = self._shown_whole(side, place)
        inner = range(place + 1, lines.ends[place])
        is_wrapper = len(inner) > 0 and all(side.mates[each] >= 0 for each in inner)
        weighs = 3 if is_wrapper else weight([lines.at(place).role], shown, "")
        return _Found(weighs, place if is_gone else -1, -1 if is_gone else place)

    @staticmethod
    def _shown_whole(side: Side, place: int) -> tuple[str, str]:
        """The line of a removed, new or moved element, and how many such elements it contains."""
        lines = side.outline
        within = sum(side.mates[inner] < 0 for inner in range(place + 1, lines.ends[place]))
        shown = lines.lines[place]
        if not (lines.at(place).name or lines.at(place).text) and lines.ends[place] > place + 1:
            shown = f"{shown}: {' · '.join(lines.leaves(place, _LEAVES_SHOWN))}"
        return shown, f"with {within} line{'s' if within > 1 else ''} in it" if within else ""

    def _changed(self, i: int, j: int) -> _Found:
        before, after = self._old.outline.at(i), self._new.outline.at(j)
        shown = self._old.outline.lines[i], self._new.outline.lines[j]
        self._note(i, fold(" ".join(shown)))
        self._rise(i)
        roles = [before.role, after.role]
        is_only_dress = before.role != after.role and before.said == after.said and not _MATTERING & set(roles)
        return _Found(_LEAST if is_only_dress else weight(roles, *shown), i, j)

    def _order(self, moved: set[int]) -> Iterator[_Found]:
        """The moved elements. If many in one element changed their order, only the first is given."""
        by_holder: dict[int, list[int]] = {}
        for i in sorted(moved):
            if self._old.outline.lines[i] == self._new.outline.lines[self._old.mates[i]]:
                by_holder.setdefault(self._old.outline.parents[i], []).append(i)
        for places in by_holder.values():
            kept = places if len(places) <= _MOVED_SHOWN else places[:1]
            for i in kept:
                weighs = 2 if self._old.outline.at(i).role in INTERACTIVE_ROLES else 3
                yield _Found(weighs, i, self._old.mates[i], len(places) - len(kept))

    def _note(self, place: int, words: str) -> None:
        if place >= 0:
            self._said.setdefault(place, set()).update(_WORD.findall(words))

    def _rise(self, place: int) -> None:
        """Pass the words of a described difference to the elements around ``place`` that may be named by their content."""
        parent, said = self._old.outline.parents[place], self._said.get(place)
        if said and parent >= 0 and self._old.outline.at(parent).role in _NAMED_BY_CONTENT:
            self._said.setdefault(parent, set()).update(said)

    def _follows(self, i: int, j: int) -> bool:
        """True if an element differs only in a name that comes from its content, and the difference there was described."""
        before, after = self._old.outline.at(i), self._new.outline.at(j)
        said = self._said.get(i)
        if not said or (before.role, before.states, before.text) != (after.role, after.states, after.text):
            return False
        if before.role not in _NAMED_BY_CONTENT:
            return False
        one, other = (set(_WORD.findall(fold(line.name))) for line in (before, after))
        return (one ^ other) <= said


# --- places ----------------------------------------------------------------------------------------------------------


def place_of(page: Outline, place: int, *, itself: bool = False) -> str:
    """The names of the elements around an element, the innermost last; if none has a name, the heading above it."""
    parts: list[str] = []
    at = place if itself else page.parents[place]
    while at >= 0 and len(parts) < _PLACE_PARTS_MAX:
        if part := _called(page, at):
            parts.append(part)
        at = page.parents[at]
    if parts:
        return " › ".join(parts[::-1])
    above = range(place - 1, max(-1, place - _HEADING_WITHIN), -1)
    heading = next((page.at(i).name for i in above if page.at(i).role == "heading" and page.at(i).name), "")
    return f"under “{_brief(heading)}”" if heading else ""


def _called(page: Outline, place: int) -> str:
    line = page.at(place)
    if line.role in CELLS and page.parents[place] >= 0 and page.at(page.parents[place]).role == "row":
        return _column(page, place)
    if line.role in RECORDS:
        label = next(iter(page.leaves(place, 1)), "") if not line.name or line.role == "row" else line.name
        if line.role == "row" and (cells := page.children.get(place)):
            label = next((said for cell in cells for said in page.leaves(cell, 1) if _LETTER.search(said)), label)
        return f"{line.role} “{_brief(label)}”" if label else ""
    return f"{line.role} “{_brief(line.name)}”" if line.name and line.role else ""


def _column(page: Outline, place: int) -> str:
    """The name of a cell: the header of its column, or its number."""
    row = page.parents[place]
    cells = page.children[row]
    index = cells.index(place)
    table = row
    while table >= 0 and page.at(table).role not in _TABLES:
        table = page.parents[table]
    first = next((each for each in page.children.get(table, ()) if page.at(each).role == "row"), -1)
    heads = page.children.get(first, ()) if first >= 0 else ()
    if len(heads) == len(cells) and page.at(heads[index]).role == "columnheader" and first != row:
        head = next(iter(page.leaves(heads[index], 1)), "")
        if head:
            return f"{page.at(place).role} “{_brief(head)}”"
    return f"{page.at(place).role} {index + 1}"


def _brief(text: str) -> str:
    return shortened(text, _NAME_CHARS_MAX)
