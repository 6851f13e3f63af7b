"""Prepares a page for matching with a goal: elements as word stems, their cards and sections, and the facts in a card.

Only the indentation of the snapshot's text shows which texts belong together. So cards are cut out of it: the lines of the
nearest list item, row or article around an element.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from urllib.parse import unquote_plus

from protocol.goal.goal import Goal
from protocol.goal.labels import (
    SORT_LIKELY,
    facts,
    is_applied,
    is_search,
    names_slot,
    own_path,
    same_address,
    sort_match,
    split_url,
    url_stems,
    verdict,
)
from protocol.goal.words import tokens
from protocol.page.seen.observation import Element, Observation

CARD_ROLES: Final = frozenset(["listitem", "row", "article"])
RESULT_COVERAGE_MIN: Final = 0.99
"""A card is one of the page's results only if it covers this much of the goal's words."""
HEADINGS_MAX: Final = 3
SORTED_RUN_MIN: Final = 3
"""Fewer numbers can be in order by chance."""
CARD_LINES_MAX: Final = 40
"""A card is small; a longer block is a list of cards."""
_NODE = re.compile(r'^( *)- ([a-z]+)(?: "(.*?)")?((?: \[[\w=-]+\])*)(?:: (.*))?$')
_WRAPPERS_MAX: Final = 4
_LINE_CHARS_MAX: Final = 2_000
_ANSWERS: Final = frozenset(
    ["link", "button", "cell", "gridcell", "row", "rowheader", "article", "listitem", "treeitem"]
)
"""Roles of the items in a list."""
_CELLS: Final = frozenset(["cell", "gridcell", "rowheader"])
_DECIMAL = re.compile(r"\d{1,9}(?:\.\d{1,4})?")


@dataclass(frozen=True, slots=True)
class _Line:
    indent: int
    role: str
    text: str
    """Its name and its text, without the words of the snapshot format."""
    heading: str
    """The last heading above this line."""
    landmark: str
    columns: tuple[str, ...]
    """In a table, the headers of its columns."""


class _Outline:
    """The snapshot's lines as a tree, with the line of each element."""

    def __init__(self, observation: Observation) -> None:
        self.lines: list[_Line] = []
        self._named: dict[tuple[str, str], list[int]] = {}
        self._texts: dict[int, str] = {}
        self._read(observation.text)
        self.line_of = self._align(observation)

    def _read(self, text: str) -> None:
        heading, landmark, landmark_indent = "", "", -1
        columns: tuple[str, ...] = ()
        for index, raw in enumerate(text.split("\n")):
            match = _NODE.match(raw[:_LINE_CHARS_MAX])
            indent = len(match[1]) if match else len(raw) - len(raw.lstrip())
            role, name, said = (
                (match[2], match[3] or "", match[5] or "") if match else ("", "", raw.strip().removeprefix("- "))
            )
            if indent <= landmark_indent:
                landmark, landmark_indent = "", -1
            if role in ("banner", "contentinfo", "navigation") and not landmark:
                landmark, landmark_indent = role, indent
            if role == "heading":
                heading = f"{name} {said}".strip()
            elif role == "table":
                columns = ()
            elif role == "columnheader":
                columns += (f"{name} {said}".strip(),)
            self.lines.append(_Line(indent, role, f"{name} {said}".strip(), heading, landmark, columns))
            if role:
                self._named.setdefault((role, name), []).append(index)

    def _align(self, observation: Observation) -> dict[str, int]:
        """The line of each element. Lines carry no refs, but both are in document order: each element is the next line of its
        role and name.

        A line omits a name that only repeats its content.
        """
        found: dict[str, int] = {}
        last = -1
        for item in observation.elements:
            lists = (self._named.get((item.role, name), ()) for name in {item.name, ""})
            following = [lines[place] for lines in lists if (place := bisect_right(lines, last)) < len(lines)]
            if following:
                last = found[item.ref] = min(following)
        return found

    def text_at(self, start: int) -> str:
        """The text of a line and the lines below it; in a table row each cell follows the header of its column."""
        if start not in self._texts:
            end, last = start + 1, min(len(self.lines), start + CARD_LINES_MAX)
            while end < last and self.lines[end].indent > self.lines[start].indent:
                end += 1
            below = self.lines[start:end]
            said = self._row(start, end) if below[0].role == "row" else [node.text for node in below]
            self._texts[start] = " ".join(text for text in said if text)
        return self._texts[start]

    def _row(self, start: int, end: int) -> list[str]:
        cells = [index for index in range(start + 1, end) if self.lines[index].role in _CELLS]
        heads = self.lines[start].columns
        return [
            f"{heads[place] if place < len(heads) else ''}: {self.text_at(index)}" for place, index in enumerate(cells)
        ]

    def card_of(self, index: int) -> int | None:
        """The line of the nearest list item, row or article around a line."""
        indent, place = self.lines[index].indent, index
        while place >= 0 and index - place < CARD_LINES_MAX:
            node = self.lines[place]
            if node.role in CARD_ROLES and node.indent < indent:
                return place
            indent = min(indent, node.indent)
            place -= 1
        return None


class PageForGoal:
    """An observation, read once for one goal."""

    def __init__(self, goal: Goal, observation: Observation) -> None:
        self.goal = goal
        self.observation = observation
        self.parts, self.pairs = split_url(observation.url)
        self._outline = _Outline(observation)
        self.goal_words = words = frozenset(goal.words)
        self._facts: dict[str, dict[str, float]] = {}
        self._cards: dict[str, str] = {}
        self.pending: frozenset[tuple[str, str]] | None = None
        """Forms with a field whose value the address does not show yet; None until it is computed."""
        self.stems = {item.ref: frozenset(tokens(item.name)) for item in observation.elements}
        self._said: dict[str, frozenset[str]] = {}
        spread = Counter(
            word for item in observation.elements if item.interactive for word in self.stems[item.ref] & words
        )
        # A word in every link does not distinguish them.
        named = [part.attribute for part in goal.sorts] + [bound.attribute or "price" for bound in goal.thresholds]
        self.attributes = frozenset(named)
        self.rarity = {word: 1.0 / (1.0 + spread[word] / 4) for word in goal.words}
        self._weight = sum(self.rarity.values())

    def says(self, element: Element) -> frozenset[str]:
        """The words that name the element to a person: its name, else its title and icon, the name of its wrapper, and its
        address."""
        if element.ref not in self._said:
            words = self.stems[element.ref]
            if not words:
                address = own_path(element.url, self.observation.url) if element.url else ""
                words = frozenset(tokens(f"{' '.join(element.traits.tokens)} {self._wrapper(element)} {address}"))
            self._said[element.ref] = words
        return self._said[element.ref]

    def _wrapper(self, element: Element) -> str:
        """The name of a box around the element that holds no other control, such as the title of a list item around an icon; or
        that of the cell around the element, whatever else is in it.
        """
        page = self.observation
        node = page.nodes.get(element.ref, -1)
        for _ in range(_WRAPPERS_MAX):
            node = page.tree.parents[node] if node >= 0 else -1
            place = page.tree.elements[node] if node >= 0 else -1
            if place >= 0 and (box := page.elements[place]).name:
                return box.name if box.role in (*_CELLS, "columnheader") or page.sole_control(box) is element else ""
        return ""

    def _line(self, element: Element) -> _Line | None:
        index = self._outline.line_of.get(element.ref)
        return None if index is None else self._outline.lines[index]

    def landmark(self, element: Element) -> str:
        """``banner``, ``contentinfo`` or ``navigation`` if the element stands in one."""
        line = self._line(element)
        return line.landmark if line else ""

    def section(self, element: Element) -> str:
        """The heading above the element, and the name of its surroundings."""
        line = self._line(element)
        return f"{line.heading if line else ''} {element.context}"

    def card(self, element: Element) -> str:
        """The text of the list item, row or article around the element; its own and its context if there is none."""
        if element.ref not in self._cards:
            start = self._card_line(element)
            own = f"{element.name} {element.context}"
            self._cards[element.ref] = own if start is None else self._outline.text_at(start)
        return self._cards[element.ref]

    def _card_line(self, element: Element) -> int | None:
        index = self._outline.line_of.get(element.ref)
        return None if index is None else self._outline.card_of(index)

    def tells_no_record(self, element: Element) -> bool:
        """True if ``element`` does not identify its record among several: it has no words, or the same words as one of another
        record."""
        return not self.stems[element.ref] or self._alike[element.role, element.name] > 1

    @cached_property
    def _alike(self) -> Counter[tuple[str, str]]:
        """The number of cards that have controls of the same role and name."""
        controls = {(item.role, item.name, self.card(item)) for item in self.observation.elements if item.interactive}
        return Counter((role, name) for role, name, _ in controls)

    def facts(self, text: str) -> dict[str, float]:
        """The numbers in ``text`` that matter for the goal's orders and bounds, and prices and ratings."""
        if text not in self._facts:
            self._facts[text] = facts(text, self.attributes)
        return self._facts[text]

    def coverage(self, stems: frozenset[str]) -> float:
        """The share of the goal's words in ``stems``: 0 to 1, rare words count more."""
        found = self.goal_words & stems
        return sum(self.rarity[word] for word in self.goal.words if word in found) / self._weight if found else 0.0

    @cached_property
    def applied(self) -> tuple[Element, ...]:
        """Elements that show the settings of the page: chosen options, checked boxes, links to the current address."""
        here = self.observation.url
        return tuple(
            item
            for item in self.observation.elements
            if is_applied(item) or (item.link and self.pairs and same_address(item.link, here))
        )

    @cached_property
    def numbers(self) -> tuple[tuple[str, str], ...]:
        """The address's query pairs whose value is a number, in its shortest form."""
        return tuple((key, f"{float(value):g}") for key, value in self.pairs if _DECIMAL.fullmatch(value))

    @cached_property
    def sorted_as_wanted(self) -> bool:
        """True if the list is in the order of the goal's first sort: by its numbers, else by labels."""
        if not self.goal.sorts:
            return False
        wanted = self.goal.sorts[0]
        numbers = [stated[wanted.attribute] for stated in self.listed.values() if wanted.attribute in stated]
        if len(numbers) >= SORTED_RUN_MIN:
            return numbers == sorted(numbers, reverse=wanted.direction == "descending")
        labels = [(item.value if item.options else item.name, item.url) for item in self.applied]
        return any(
            sort_match(wanted, label, url) >= SORT_LIKELY for label, url in [*labels, ("", self.observation.url)]
        )

    @cached_property
    def listed(self) -> dict[str, dict[str, float]]:
        """The cards that contain all words of the goal, in order, with the facts that they state."""
        found: dict[str, dict[str, float]] = {}
        for item in self.observation.elements:
            if item.role == "link" and (card := self.card(item)) not in found:
                stated = self.facts(card)
                if stated and self.coverage(frozenset(tokens(card)) | self.stems[item.ref]) >= RESULT_COVERAGE_MIN:
                    found[card] = stated
        return found

    @cached_property
    def shared(self) -> frozenset[str]:
        """Addresses that several cards link to: a common property of the things, not the things themselves."""
        links = (item for item in self.observation.elements if item.url and item.role == "link")
        seen = {(item.url, self.card(item)) for item in links if self._card_line(item) is not None}
        return frozenset(url for url, count in Counter(url for url, _ in seen).items() if count > 1)

    @cached_property
    def results(self) -> dict[str, dict[str, float]]:
        """The listed cards that break no bound of the goal."""
        return {card: stated for card, stated in self.listed.items() if verdict(self.goal, stated) >= 0}

    @cached_property
    def leader(self) -> str:
        """The result that the goal's order puts first: the first of a list in that order, else the extreme of the page."""
        if not self.goal.sorts:
            return ""
        wanted = self.goal.sorts[0]
        known = [card for card, stated in self.results.items() if wanted.attribute in stated]
        if not known or self.sorted_as_wanted:
            return known[0] if known else ""
        extreme = min if wanted.direction == "ascending" else max
        return extreme(known, key=lambda card: self.results[card][wanted.attribute])

    @cached_property
    def shown(self) -> frozenset[str]:
        """The topic of the page, by its title, main heading and address."""
        return self.headline | url_stems(unquote_plus(self.observation.url))

    @cached_property
    def about_one(self) -> dict[str, float]:
        """The facts of a page about one thing that fits the goal; empty for a list or another thing."""
        if len(self.results) > 1 or self.coverage(self.headline) < RESULT_COVERAGE_MIN:
            return {}
        start = next((index for index, node in enumerate(self._outline.lines) if node.role == "heading"), 0)
        return self.facts(" ".join(node.text for node in self._outline.lines[start : start + CARD_LINES_MAX]))

    @cached_property
    def filled_search(self) -> bool:
        """True if a search field holds text that the address does not show yet."""
        shown = {value for _, value in self.pairs}
        return any(is_search(item) and item.value and item.value not in shown for item in self.observation.elements)

    @cached_property
    def asked(self) -> str:
        """The values of the address's query: mostly typed or chosen ones."""
        return " ".join(value for _, value in self.pairs)

    @cached_property
    def unanswered(self) -> frozenset[str]:
        """Values in the page's address that no link, row or button on the page contains: the page only repeats the question.

        Values of the goal as written, words as stems. An empty list repeats the typed words in address, title and text.
        """
        asked = frozenset(tokens(self.asked)) & self.goal_words
        values = [slot for slot in self.goal.slots if names_slot(slot, self.asked.casefold())]
        if not asked and not values:
            return frozenset()
        here = self.observation.url
        names = [
            item.name.casefold()
            for item in self.observation.elements
            if item.role in _ANSWERS and not (item.link and same_address(item.link, here))
        ]
        named = frozenset(tokens(" ".join(names)))
        vain = [slot.value for slot in values if not any(names_slot(slot, name) for name in names)]
        return frozenset(vain) | (asked - named)

    @cached_property
    def headings(self) -> tuple[str, ...]:
        """The first headings of the page."""
        return tuple([node.text for node in self._outline.lines if node.role == "heading"][:HEADINGS_MAX])

    @cached_property
    def headline(self) -> frozenset[str]:
        """The words of the title and of the main headings."""
        return frozenset(tokens(f"{self.observation.title} {' '.join(self.headings[:1])}"))
