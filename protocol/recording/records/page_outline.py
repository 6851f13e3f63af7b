"""Parses the text of a page into an outline: one element on each line, indented below the element that contains it.

Wrappers have no meaning of their own: they are left out, and their content moves up. So two pages that differ only in wrappers and
indentation have the same outline. A wrapper may be added or removed; but if a wrapper of both pages contains other elements,
something has moved. A table, row, item or card is no wrapper, because its beginning and end have a meaning.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from protocol.page.seen.names import fold

_LINE: Final = re.compile(r'- ([a-z]+)(?: ("(?:[^"\\]|\\.)*"))?((?: \[[^\]]*\])*)(?:: ?(.*))?')
_WRAPPERS: Final = frozenset(
    f"- {role}"
    for role in (
        "banner",
        "complementary",
        "contentinfo",
        "document",
        "emphasis",
        "form",
        "generic",
        "group",
        "list",
        "main",
        "navigation",
        "none",
        "paragraph",
        "presentation",
        "region",
        "rowgroup",
        "search",
        "strong",
    )
)
"""Lines of elements without a name, state or text of their own, which only contain others."""
_LOOKED_THROUGH: Final = 40
"""The number of inner elements that are read for the text of an element."""


class OutlineLine(NamedTuple):
    """One line of a snapshot."""

    role: str
    name: str
    states: str
    text: str

    @property
    def said(self) -> str:
        """Its text, folded: its name or, without a name, its content."""
        return fold(self.name or self.text)


def parsed(line: str) -> OutlineLine:
    """A line of a snapshot, split into its parts."""
    stripped = line.strip()
    found = _LINE.fullmatch(stripped)
    if found is None:
        return OutlineLine("", "", "", stripped.removeprefix("- "))
    return OutlineLine(found[1], (found[2] or "")[1:-1], found[3] or "", found[4] or "")


class Wrapper(NamedTuple):
    """A wrapper that was left out."""

    line: str
    start: int
    """Number of the first element that it contains."""
    end: int
    """Number of the element after the last one that it contains."""


class Outline:
    """A page without its wrappers. Elements are numbered in the order of the page, so an element comes after the one that contains
    it.
    """

    def __init__(self, lines: Sequence[str], parents: Sequence[int], wrappers: Sequence[Wrapper]) -> None:
        """lines: the line of each element, without indentation; parents: the number of the element that contains it, -1 if none
        does.
        """
        self.lines = lines
        self.parents = parents
        self.wrappers = wrappers
        self._parsed: dict[int, OutlineLine] = {}

    def at(self, place: int) -> OutlineLine:
        """An element, split into its parts."""
        if place not in self._parsed:
            self._parsed[place] = parsed(self.lines[place])
        return self._parsed[place]

    @cached_property
    def text(self) -> str:
        """The page as text, indented by the remaining elements."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(depths[parent] + 1 if parent >= 0 else 0)
        return "\n".join("  " * depth + line for depth, line in zip(depths, self.lines, strict=True))

    @cached_property
    def children(self) -> Mapping[int, Sequence[int]]:
        """The direct children of each element; under -1, the elements without a parent."""
        held: dict[int, list[int]] = {}
        for place, parent in enumerate(self.parents):
            held.setdefault(parent, []).append(place)
        return held

    @cached_property
    def ends(self) -> Sequence[int]:
        """For each element, the number of the first element after its content."""
        ends = list(range(1, len(self.lines) + 1))
        for place in range(len(ends) - 1, -1, -1):
            parent = self.parents[place]
            if parent >= 0:
                ends[parent] = max(ends[parent], ends[place])
        return ends

    def leaves(self, place: int, most: int) -> list[str]:
        """The first texts inside an element that has no text of its own, as they are written."""
        said: list[str] = []
        for inner in range(place, min(self.ends[place], place + _LOOKED_THROUGH)):
            text = self.at(inner).text or self.at(inner).name
            if text and not (said and inner in self.children and said[-1] == text):
                said.append(text)
            if len(said) == most:
                break
        return said


def outline(text: str) -> Outline:
    """The outline of a snapshot."""
    lines = text.split("\n")
    kept: list[str] = []
    parents: list[int] = []
    around: list[tuple[int, int]] = []
    wrappers: list[Wrapper] = []
    open_wrappers: list[tuple[int, str, int]] = []
    indents = [len(line) - len(line.lstrip(" ")) for line in lines]
    for place, line in enumerate(lines):
        stripped, indent = line.strip(), indents[place]
        if not stripped:
            continue
        while around and around[-1][0] >= indent:
            around.pop()
        while open_wrappers and open_wrappers[-1][0] >= indent:
            wrappers.append(Wrapper(*open_wrappers.pop()[1:], len(kept)))
        parent = around[-1][1] if around else -1
        if stripped in _WRAPPERS and place + 1 < len(lines) and indents[place + 1] > indent:
            around.append((indent, parent))
            open_wrappers.append((indent, stripped, len(kept)))
            continue
        around.append((indent, len(kept)))
        kept.append(stripped)
        parents.append(parent)
    wrappers += [Wrapper(line, start, len(kept)) for _, line, start in open_wrappers]
    return Outline(kept, parents, wrappers)


def regrouped(old: Iterable[Wrapper], new: Iterable[Wrapper]) -> bool:
    """True if a wrapper of both pages contains other elements, by their common numbers. A wrapper that was added or removed does
    not count.
    """
    gone, come = Counter(old), Counter(new)
    return bool({wrapper.line for wrapper in gone - come} & {wrapper.line for wrapper in come - gone})
