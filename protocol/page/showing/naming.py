"""Names elements for the author of an action: locators by which ``resolve`` finds one element of an observation and no other.
Pure.

The shortest locator comes first: role and name; then the same within a row, card, section or dialog; then a test id. If nothing
distinguishes an element from its look-alikes, its position among them is used.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from protocol import limits
from protocol.page.actions.action import Locator, Within
from protocol.page.actions.evidence import RECORD_ROLES
from protocol.page.seen.names import fold, visible
from protocol.page.seen.observation import Element, Observation

SCOPE_ROLES: Final = RECORD_ROLES | frozenset(
    [
        "alertdialog",
        "banner",
        "complementary",
        "contentinfo",
        "dialog",
        "form",
        "grid",
        "group",
        "list",
        "main",
        "menu",
        "navigation",
        "radiogroup",
        "region",
        "search",
        "table",
        "tablist",
        "tabpanel",
        "toolbar",
        "tree",
    ]
)
"""Roles of the elements that ``within`` can name."""
_NAME_CHARS_MAX: Final = 60
"""A longer name is usually the content of an element, and changes with it."""
_TEXTS_TRIED_MAX: Final = 16
_CLOCK: Final = re.compile(r"\b(ago|just now|yesterday|today|tomorrow)\b|\d\d?:\d\d")
_PLAIN_ID: Final = re.compile(r"[A-Za-z][A-Za-z_-]{0,63}\Z")
"""An id without digits, because an id with digits may be numbered anew in each visit."""

_Key = tuple[str, str]
"""Frame and role."""


class Naming:
    """The elements of one observation, by their names."""

    def __init__(self, observation: Observation) -> None:
        self._observation = observation
        self._elements = observation.elements
        self._place = {item.ref: place for place, item in enumerate(self._elements)}
        self._node = [observation.nodes.get(item.ref, -1) for item in self._elements]
        self._ends = observation.tree.ends
        self._folded = [fold(item.name) for item in self._elements]
        self._by_fold: dict[tuple[str, str, str], list[int]] = defaultdict(list)
        self._by_role: dict[_Key, list[int]] = defaultdict(list)
        for place, item in enumerate(self._elements):
            self._by_fold[item.frame, item.role, self._folded[place]].append(place)
            self._by_role[item.frame, item.role].append(place)
        self._attributes: dict[tuple[str, str, str], int] = defaultdict(int)
        for item in self._elements:
            for name, value in item.traits.attributes:
                self._attributes[item.frame, name, value] += 1
        self._texts: dict[_Key, dict[str, list[int]]] = {}
        self._called: dict[str, str] = {}

    def locator(self, element: Element) -> Locator:
        """The shortest locator of ``element`` that no other element fits."""
        return next(self.locators(element))

    def locators(self, element: Element) -> Iterator[Locator]:
        """Locators of ``element``, an element of the observation, each of which finds it and no other; the best first.

        Locators by attribute are less sure, because the observation does not have the attributes of all elements.
        """
        place = self._place[element.ref]
        names = _names(element.name)
        named = [name for name in names if len(name) <= _NAME_CHARS_MAX] if element.name else [""]
        for name in named:
            if self._fits(element, name) == [place]:
                yield Locator(role=element.role, name=name, frame=element.frame)
                break
        yield from self._scoped(element, place, named)
        yield from self._by_attribute(element, named[0] if named else "")
        for name in names:
            fitting = self._fits(element, name)
            if place in fitting:
                nth = fitting.index(place) if len(fitting) > 1 else None
                yield Locator(role=element.role, name=name, nth=nth, frame=element.frame)
                return

    def is_place(self, locator: Locator, element: Element) -> bool:
        """True if only a position in ``locator`` distinguishes ``element`` from its look-alikes."""
        if locator.selectors or locator.within is not None:
            return False
        return len(self._fits(element, locator.name)) > 1

    def scopes(self, element: Element) -> list[Element]:
        """The elements around ``element`` that divide a page for people, from the outside in."""
        return [self._elements[outer] for outer in reversed(list(self._around(self._place[element.ref])))]

    def said(self, element: Element) -> str:
        """The text of ``element`` itself, without its content; empty for fields."""
        node = self._node[self._place[element.ref]]
        return self._observation.tree.said[node] if node >= 0 else ""

    def called(self, element: Element) -> str:
        """The name of a container for people: a text that only this record has, else its name; empty if neither is unique."""
        if element.ref not in self._called:
            within = next(self._withins(self._place[element.ref]), None)
            self._called[element.ref] = (within.text or within.name) if within else ""
        return self._called[element.ref]

    # --- by name ---

    def _fits(self, element: Element, name: str, within: int = -1) -> list[int]:
        """The elements that ``fitting`` would find: those of this role with exactly ``name``, otherwise those whose name looks the
        same.
        within: the place of the element to search; -1 for the whole frame.
        """
        folded = fold(name)
        pool = self._by_fold.get((element.frame, element.role, folded), [])
        if within >= 0:
            # Elements are in document order, so the content of one is a contiguous range.
            start, end = self._span(within)
            node_of = self._node.__getitem__
            pool = pool[bisect_right(pool, start, key=node_of) : bisect_left(pool, end, key=node_of)]
        exact = [place for place in pool if self._elements[place].name == name]
        alike = pool if folded else [place for place in pool if self._elements[place].name.strip() == name.strip()]
        return exact or alike

    # --- within ---

    def _scoped(self, element: Element, place: int, names: list[str]) -> Iterator[Locator]:
        found = [
            (name, outer)
            for outer in self._around(place)
            for name in [each for each in names if self._fits(element, each, outer) == [place]][:1]
        ]
        # People use the name, or a text of the record. The text of a whole list is a last resort.
        for withins in (self._withins, self._by_text):
            for name, outer in found:
                for within in withins(outer):
                    yield Locator(role=element.role, name=name, frame=element.frame, within=within)

    def _around(self, place: int) -> Iterator[int]:
        """The places of the elements around it with one of ``SCOPE_ROLES`` in the same frame, from the inside out."""
        node = self._node[place]
        tree = self._observation.tree
        while node >= 0:
            node = tree.parents[node]
            outer = tree.elements[node] if node >= 0 else -1
            if outer < 0:
                continue
            found = self._elements[outer]
            if found.role in SCOPE_ROLES and found.frame == self._elements[place].frame:
                yield outer

    def _withins(self, outer: int) -> Iterator[Within]:
        """Each ``Within`` by which ``container`` finds the element at ``outer`` and no other. A text inside is preferred for
        naming a record.
        """
        found = self._elements[outer]
        by_name = [
            Within(role=found.role, name=name)
            for name in _names(found.name)[:1]
            if name and len(name) <= _NAME_CHARS_MAX and self._named(found, name) == [outer]
        ]
        if found.role in RECORD_ROLES:
            yield from self._by_text(outer)
        yield from by_name

    def _named(self, outer: Element, name: str) -> list[int]:
        folded = fold(name)
        return self._by_fold[outer.frame, outer.role, folded] if folded else []

    def _by_text(self, outer: int) -> Iterator[Within]:
        found = self._elements[outer]
        known = self._said_by(found.frame, found.role)
        for text in _telling(self._said(outer)):
            if self._innermost(known[fold(text)]) == [outer]:
                yield Within(role=found.role, text=_names(text)[0])

    def _said_by(self, frame: str, role: str) -> dict[str, list[int]]:
        """The elements of a role by their folded texts, for the comparison with whole texts in ``container``."""
        if (frame, role) not in self._texts:
            said: dict[str, list[int]] = defaultdict(list)
            for place in self._by_role[frame, role]:
                for text in dict.fromkeys(map(fold, self._said(place))):
                    said[text].append(place)
            self._texts[frame, role] = said
        return self._texts[frame, role]

    def _said(self, place: int) -> list[str]:
        start, end = self._span(place)
        if start < 0:
            return [self._elements[place].name]
        said = self._observation.tree.said
        return [text for text in said[start + 1 : end] if text] or [said[start]]

    def _span(self, place: int) -> tuple[int, int]:
        node = self._node[place]
        return (node, self._ends[node]) if node >= 0 else (-1, -1)

    def _innermost(self, pool: list[int]) -> list[int]:
        """The elements of ``pool`` that contain no other element of it; ``container`` also chooses the inner one of two rows."""
        nodes = sorted(self._span(place)[0] for place in pool)
        inner = []
        for place in pool:
            start, end = self._span(place)
            following = bisect_left(nodes, start + 1)
            if start < 0 or following == len(nodes) or nodes[following] >= end:
                inner.append(place)
        return inner

    # --- by attribute ---

    def _by_attribute(self, element: Element, name: str) -> Iterator[Locator]:
        for known, value in element.traits.attributes:
            if self._attributes[element.frame, known, value] > 1 or len(value) > _NAME_CHARS_MAX:
                continue
            if known == "data-testid":
                selector = f"testid={value}"
            elif known == "id" and _PLAIN_ID.match(value):
                selector = f"css=#{value}"
            else:
                continue
            yield Locator(role=element.role, name=name, frame=element.frame, selectors=(selector,))


def _telling(texts: list[str]) -> list[str]:
    """The ``texts`` that can serve as a name, at most ``_TEXTS_TRIED_MAX``; texts with letters and without a time come first."""
    sorts: list[dict[str, None]] = [{}, {}, {}, {}]
    for text in texts:
        if len(text) <= _NAME_CHARS_MAX and (folded := fold(text)):
            sorts[2 * bool(_CLOCK.search(folded)) + (not any(map(str.isalpha, text)))][text] = None
            if len(sorts[0]) == _TEXTS_TRIED_MAX:
                break  # a table can have a hundred thousand texts
    return [text for sort in sorts for text in sort][:_TEXTS_TRIED_MAX]


def _names(name: str) -> list[str]:
    """The spellings of ``name``: as a person reads it, then unchanged. A name of invisible characters has the second only."""
    kept = "".join(char for char in unicodedata.normalize("NFC", name) if char.isspace() or visible(char) == char)
    readable = " ".join(kept.split())
    whole = [name] if len(name) <= limits.ACTION_TEXT_CHARS_MAX else []
    return list(dict.fromkeys([readable, *whole])) if readable else whole
