"""How the pages of two snapshots differ, as a person would tell it: what changed where, and what matters most first.

The place is told by what stands around it: ``table “Orders” › row “Pump 2” › cell “Price”``. What is added, gone or has moved is
told once, with all that it holds. What differs only since something in it does (a row that is named by its cells) is not told.
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


class Change(NamedTuple):
    """One difference of two pages."""

    weight: int
    """How much it matters, 0 most (``weight``)."""
    place: str
    """The place around it; empty for the page."""
    recorded: str
    """Line of the snapshot; empty if it is new."""
    met: str
    """Empty if it is gone."""
    note: str = ""
    """More that is to be said."""


class Changes(NamedTuple):
    """How two pages differ."""

    found: list[Change]
    """Those that matter most first; those that matter alike in the order of the page."""
    more: int
    """How many there are besides."""
    whole: bool
    """False if the pages were not compared to the end."""


def differing(recorded: str, met: str, most: int) -> Changes:
    """How the page ``met`` differs from ``recorded``, two snapshots: the ``most`` important changes. Wrappers and indentation are
    no difference.

    Compared are the first ``OUTLINE_LINES_MAX`` lines of each.
    """
    old, new, whole = _within_limit(recorded, met)
    if (old.lines, old.parents) == (new.lines, new.parents) and not regrouped(old.wrappers, new.wrappers):
        return Changes([], 0, whole)
    pairing = Pairing(old, new)
    telling = _Telling(pairing)
    all_found = telling.found() if whole else _before_the_end(telling.found(), pairing)
    found = sorted(all_found, key=lambda one: one.weight)
    told = list(map(telling.told, found[:most]))
    if not found or _regrouped(pairing):
        told = [*told[: most - 1], Change(3, "", _ELSEWHERE, _ELSEWHERE)]
        told.sort(key=lambda one: one.weight)
    return Changes(told, max(0, len(found) - most), whole and pairing.whole)


def _regrouped(pairing: Pairing) -> bool:
    """Whether a wrapper that stands on both pages holds other elements: of those that are paired, by their recorded numbers."""
    old, new = pairing.old, pairing.new
    numbers = [[i if mate >= 0 else -1 for i, mate in enumerate(old.mates)], new.mates]
    sides: list[list[Wrapper]] = []
    if sum(one.end - one.start for side in (old, new) for one in side.outline.wrappers) > _GROUPED_MAX:
        return False  # wrappers in wrappers, as no application nests them; whether anything differs is decided without this
    for side, number in zip((old, new), numbers, strict=True):
        held = [
            (one.line, [number[i] for i in range(one.start, one.end) if number[i] >= 0])
            for one in side.outline.wrappers
        ]
        sides.append([Wrapper(line, min(places), max(places)) for line, places in held if places])
    return regrouped(*sides)


def _within_limit(recorded: str, met: str) -> tuple[Outline, Outline, bool]:
    """Both outlines, and whether they are those of the whole pages. What long pages end with alike is left out first."""
    texts, most = [text.split("\n") for text in (recorded, met)], limits.OUTLINE_LINES_MAX
    if max(map(len, texts)) > most:
        ends = zip(reversed(texts[0]), reversed(texts[1]), strict=False)
        alike = next((i for i, (old, new) in enumerate(ends) if old != new), min(map(len, texts)))
        texts = [lines[: len(lines) - alike] for lines in texts]
    old, new = (outline("\n".join(lines[:most])) for lines in texts)
    return old, new, max(map(len, texts)) <= most


def _before_the_end(found: Iterable[_Found], pairing: Pairing) -> list[_Found]:
    """What was found in two pages that were cut, but for what may be gone or new only since they were cut at different places."""
    ends = [
        max((place for place, mate in enumerate(side.mates) if mate >= 0), default=-1)
        for side in (pairing.old, pairing.new)
    ]
    return [one for one in found if one.old <= ends[0] and one.new <= ends[1]]


_LEAST: Final = 6


def weight(roles: Sequence[str], recorded: str, met: str) -> int:
    """How much a change of these lines matters: 1 a value (an amount of money, a cell, a record, what a field holds); 2 a control
    or heading; 3 another text; 5 only a number in a text; 6 decoration."""
    if any(map(_MONEY.search, (recorded, met))) or any(role in RECORDS | _FIELDS for role in roles):
        return 1
    if any(role in INTERACTIVE_ROLES | {"heading", "alert", "dialog", "alertdialog"} for role in roles):
        return 2
    if any(role in _DECORATION for role in roles):
        return _LEAST
    return 5 if recorded and met and _NUMBER.sub("#", recorded) == _NUMBER.sub("#", met) else 3


class _Found(NamedTuple):
    """A difference, before it is put into words."""

    weight: int
    old: int
    """Place in the recorded page, -1 for what is new."""
    new: int
    """Place in the page that was met, -1 for what is gone."""
    others: int = 0
    """How many others have moved with it."""


class _Telling:
    """Tells the differences of a pairing, from the inside out, so that what holds another one knows what was told of it."""

    def __init__(self, pairing: Pairing) -> None:
        self._old, self._new = pairing.old, pairing.new
        self._pairing = pairing
        self._said: dict[int, set[str]] = {}
        """Words of what was told within an element of the recorded page."""

    def found(self) -> list[_Found]:
        """All differences in the order of the page: what is new stands behind the rest."""
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

    def told(self, found: _Found) -> Change:
        """A difference in words."""
        old, new = self._old.outline, self._new.outline
        if found.new < 0:
            shown, note = self._shown_whole(self._old, found.old)
            return Change(found.weight, place_of(old, found.old), shown, "", note)
        if found.old < 0:
            shown, note = self._shown_whole(self._new, found.new)
            return Change(found.weight, place_of(new, found.new), "", shown, note)
        before, after = old.lines[found.old], new.lines[found.new]
        if before != after:
            itself = old.at(found.old).role in CELLS - {"columnheader"}
            return Change(found.weight, place_of(old, found.old, itself=itself), before, after)
        shown, _ = self._shown_whole(self._old, found.old)
        here, there = place_of(old, found.old), place_of(new, found.new)
        more = f", with {found.others} more" if found.others else ""
        note = "in another order" if here == there else f"moved to {there or 'the page'}"
        return Change(found.weight, here, shown, shown, note + more)

    @staticmethod
    def _is_outermost(side: Side, place: int) -> bool:
        parent = side.outline.parents[place]
        return parent < 0 or side.mates[parent] >= 0

    def _one_sided(self, side: Side, place: int) -> _Found:
        """What is gone or new, with all that it holds."""
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
        """The line of an element that is gone, new or has moved, and how much it holds that is so too."""
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
        """What has moved; of many that stand in another order in the same element only the first."""
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
        """Let what holds ``place`` know what was told in it, if it may be named by that."""
        parent, said = self._old.outline.parents[place], self._said.get(place)
        if said and parent >= 0 and self._old.outline.at(parent).role in _NAMED_BY_CONTENT:
            self._said.setdefault(parent, set()).update(said)

    def _follows(self, i: int, j: int) -> bool:
        """Whether an element differs only in a name that comes from what it holds, where the difference was told."""
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
    """What an element stands in, the innermost last; without anything that has a name, the heading above it."""
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
    """A cell by the header of its column, or by its number."""
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
