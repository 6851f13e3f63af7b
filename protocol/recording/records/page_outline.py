"""Reads the text of a page as the outline that it is: one element a line, indented below the one that holds it.

Wrappers say nothing: they are left out, and what they hold moves up. So two pages that differ in wrappers and indentation alone
have the same outline. A wrapper may come or go; but where one stands on both pages and holds other elements, something has
moved. A table, row, item or card is no wrapper: where it begins and ends is part of what the page says.
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
"""Lines of elements without a name, state and text of their own that only hold others."""
_LOOKED_THROUGH: Final = 40
"""Elements within one that are looked at for what it says."""


class Line(NamedTuple):
    """One line of a snapshot."""

    role: str
    name: str
    states: str
    text: str

    @property
    def said(self) -> str:
        """What it says, folded: its name or, without one, its text."""
        return fold(self.name or self.text)


def parsed(line: str) -> Line:
    """A line of a snapshot in its parts."""
    stripped = line.strip()
    found = _LINE.fullmatch(stripped)
    if found is None:
        return Line("", "", "", stripped.removeprefix("- "))
    return Line(found[1], (found[2] or "")[1:-1], found[3] or "", found[4] or "")


class Wrapper(NamedTuple):
    """A wrapper that was left out."""

    line: str
    start: int
    """Number of the first element that it holds."""
    end: int
    """The one behind the last."""


class Outline:
    """A page without its wrappers. Elements are numbered in the order of the page, so one comes after the one that holds it."""

    def __init__(self, lines: Sequence[str], parents: Sequence[int], wrappers: Sequence[Wrapper]) -> None:
        """lines: of each element, without indentation; parents: of each the one that holds it, -1 if none does."""
        self.lines = lines
        self.parents = parents
        self.wrappers = wrappers
        self._parsed: dict[int, Line] = {}

    def at(self, place: int) -> Line:
        """An element in its parts."""
        if place not in self._parsed:
            self._parsed[place] = parsed(self.lines[place])
        return self._parsed[place]

    @cached_property
    def text(self) -> str:
        """The page as text, indented by what is left."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(depths[parent] + 1 if parent >= 0 else 0)
        return "\n".join("  " * depth + line for depth, line in zip(depths, self.lines, strict=True))

    @cached_property
    def children(self) -> Mapping[int, Sequence[int]]:
        """What each element holds directly; by -1, what none holds."""
        held: dict[int, list[int]] = {}
        for place, parent in enumerate(self.parents):
            held.setdefault(parent, []).append(place)
        return held

    @cached_property
    def ends(self) -> Sequence[int]:
        """Of each element the place behind all that it holds."""
        ends = list(range(1, len(self.lines) + 1))
        for place in range(len(ends) - 1, -1, -1):
            parent = self.parents[place]
            if parent >= 0:
                ends[parent] = max(ends[parent], ends[place])
        return ends

    def leaves(self, place: int, most: int) -> list[str]:
        """The first texts within an element that is no more than the sum of what it holds, as they are written."""
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
    """Whether wrappers that stand on both pages hold other elements, numbered alike on both. One that came or went holds what was
    there before.
    """
    gone, come = Counter(old), Counter(new)
    return bool({wrapper.line for wrapper in gone - come} & {wrapper.line for wrapper in come - gone})
