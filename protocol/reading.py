"""What a page offers a goal: its elements as word stems, the cards and sections they stand in, and the facts a card states.

The snapshot's indented text is the only place that tells which texts belong together, so cards are cut out of it: the lines of
the nearest list item, row or article around an element.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final
from urllib.parse import SplitResult, parse_qsl, unquote_plus, urlsplit

from protocol.goal import Direction, Goal, Sort, Threshold, sort_in, stem, thresholds_in, tokens, words_of
from protocol.observation import Element, Observation

CARD_ROLES: Final = frozenset("listitem row article".split())
RESULT_COVERAGE_MIN: Final = 0.99
"""Only a card that says all the goal asks about is one of its results."""
HEADINGS_MAX: Final = 3
SORTED_RUN_MIN: Final = 3
"""Fewer numbers are in order by chance."""
SORT_LIKELY: Final = 0.7
"""How well an order matches that is named without its direction, when the direction is the usual one."""
_DESCENDING_BY_CUSTOM: Final = frozenset({"rating", "popularity", "date"})
CARD_LINES_MAX: Final = 40
"""A card is small; what is longer is a list of cards."""
_NODE = re.compile(r'^( *)- ([a-z]+)(?: "(.*?)")?((?: \[[\w=-]+\])*)(?:: (.*))?$')
_LINE_CHARS_MAX: Final = 2_000
_CELLS: Final = frozenset("cell gridcell rowheader".split())
_PRICE = re.compile(r"[€$£] ?(\d+(?:[.,]\d{1,2})?)|(\d+(?:[.,]\d{1,2})?) ?(?:€|EUR|USD|GBP)")
_RATING = re.compile(r"(\d(?:[.,]\d)?)(?: ?/ ?| out of )(?:5|10)\b|(\d(?:[.,]\d)?) stars?\b|★ ?(\d(?:[.,]\d)?)|\brat(?:ing|ed):? (\d(?:[.,]\d)?)", re.I)
_DECIMAL = re.compile(r"\d{1,9}(?:\.\d{1,4})?")
_ORDER_KEY = re.compile(r"(?:^|[_-])(?:sort|order|ordering|o|ord|orderby)(?:$|[_-])|^sort|^order", re.I)


@lru_cache(maxsize=4_096)
def split_url(url: str) -> tuple[SplitResult, tuple[tuple[str, str], ...]]:
    """An address and its query pairs; an address that cannot be read is an empty one."""
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    return parts, tuple(parse_qsl(parts.query, keep_blank_values=True))


@lru_cache(maxsize=4_096)
def url_stems(url: str) -> frozenset[str]:
    """The words of path and query of an address."""
    parts, pairs = split_url(url)
    return frozenset(tokens(parts.path + " " + " ".join(value for _, value in pairs)))


def same_address(left: str, right: str) -> bool:
    """Whether two addresses open the same page: the fragment and the order of the query do not count."""
    (a, a_pairs), (b, b_pairs) = split_url(left), split_url(right)
    return (a.scheme, a.netloc, a.path or "/", sorted(a_pairs)) == (b.scheme, b.netloc, b.path or "/", sorted(b_pairs))


@dataclass(frozen=True, slots=True)
class _Line:
    indent: int
    role: str
    text: str
    """Its name and its text, without the snapshot's own words."""
    heading: str
    """The last heading above this line."""
    landmark: str
    columns: tuple[str, ...]
    """In a table, the heads of its columns."""


class _Outline:
    """The snapshot's lines as a tree, and which line each element is."""

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
            role, name, said = (match[2], match[3] or "", match[5] or "") if match else ("", "", raw.strip().removeprefix("- "))
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
        """Lines carry no refs, but both are in document order: each element is the next line of its role and name.

        A line leaves out a name that only repeats its content.
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
        """What a line and the lines below it say; of a table row each cell with the head of its column."""
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
        return [f"{heads[place] if place < len(heads) else ''}: {self.text_at(index)}" for place, index in enumerate(cells)]

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


class Page:
    """An observation, read once for one goal."""

    def __init__(self, goal: Goal, observation: Observation) -> None:
        self.goal = goal
        self.observation = observation
        self.parts, self.pairs = split_url(observation.url)
        self._outline = _Outline(observation)
        words = frozenset(goal.words)
        self.stems = {item.ref: frozenset(tokens(item.name)) for item in observation.elements}
        spread = Counter(word for item in observation.elements if item.interactive for word in self.stems[item.ref] & words)
        # A word that every link carries tells none of them apart; one that is nowhere in a name still counts where it turns up.
        self.attributes = frozenset(part.attribute or "price" for part in (*goal.sorts, *goal.thresholds))
        self.rarity = {word: 1.0 / (1.0 + spread[word] / 4) for word in goal.words}

    def _line(self, element: Element) -> _Line | None:
        index = self._outline.line_of.get(element.ref)
        return None if index is None else self._outline.lines[index]

    def landmark(self, element: Element) -> str:
        """``banner``, ``contentinfo`` or ``navigation`` if the element stands in one."""
        line = self._line(element)
        return line.landmark if line else ""

    def section(self, element: Element) -> str:
        """The heading the element stands under, and the name of its surroundings."""
        line = self._line(element)
        return f"{line.heading if line else ''} {element.context}"

    def card(self, element: Element) -> str:
        """The text of the list item, row or article around the element; its own and its context when it stands in none."""
        index = self._outline.line_of.get(element.ref)
        start = None if index is None else self._outline.card_of(index)
        return f"{element.name} {element.context}" if start is None else self._outline.text_at(start)

    def facts(self, text: str) -> dict[str, float]:
        """The numbers in ``text`` that the goal orders or bounds by, and prices and ratings."""
        return facts(text, self.attributes)

    def coverage(self, stems: frozenset[str]) -> float:
        """How much of what the goal is about is among ``stems``: 0 to 1, rare words count more."""
        total = sum(self.rarity.values())
        return sum(weight for word, weight in self.rarity.items() if word in stems) / total if total else 0.0

    @cached_property
    def applied(self) -> tuple[Element, ...]:
        """Elements that say what the page is set to: chosen options, checked boxes, links that lead to where we are."""
        here = self.observation.url
        return tuple(item for item in self.observation.elements if is_applied(item) or (item.url and self.pairs and same_address(item.url, here)))

    @cached_property
    def numbers(self) -> tuple[tuple[str, str], ...]:
        """The address's query pairs whose value is a number, the number in its shortest form."""
        return tuple((key, f"{float(value):g}") for key, value in self.pairs if _DECIMAL.fullmatch(value))

    @cached_property
    def sorted_as_wanted(self) -> bool:
        """Whether the list is in the order of the goal's first sort: by its numbers if it states some, else by what the page says."""
        if not self.goal.sorts:
            return False
        wanted = self.goal.sorts[0]
        numbers = [stated[wanted.attribute] for stated in self.listed.values() if wanted.attribute in stated]
        if len(numbers) >= SORTED_RUN_MIN:
            return numbers == sorted(numbers, reverse=wanted.direction == "descending")
        labels = [(item.value if item.options else item.name, item.url) for item in self.applied]
        return any(sort_match(wanted, label, url) >= SORT_LIKELY for label, url in [*labels, ("", self.observation.url)])

    @cached_property
    def listed(self) -> dict[str, dict[str, float]]:
        """The cards that say all the goal is about, in order, with the facts they state."""
        found: dict[str, dict[str, float]] = {}
        for item in self.observation.elements:
            if item.role == "link" and (card := self.card(item)) not in found:
                stated = self.facts(card)
                if stated and self.coverage(frozenset(tokens(card)) | self.stems[item.ref]) >= RESULT_COVERAGE_MIN:
                    found[card] = stated
        return found

    @cached_property
    def shared(self) -> frozenset[str]:
        """Addresses that several cards link to: what the things have in common, not the things."""
        seen = {(item.url, self.card(item)) for item in self.observation.elements if item.url and item.role == "link"}
        return frozenset(url for url, count in Counter(url for url, _ in seen).items() if count > 1)

    @cached_property
    def results(self) -> dict[str, dict[str, float]]:
        """The listed cards that break no bound of the goal."""
        return {card: stated for card, stated in self.listed.items() if verdict(self.goal, stated) >= 0}

    @cached_property
    def leader(self) -> str:
        """The result that the goal's order puts first: the first one of a list in that order, else the extreme of those on the page."""
        if not self.goal.sorts or not self.results:
            return ""
        wanted = self.goal.sorts[0]
        known = [card for card, stated in self.results.items() if wanted.attribute in stated]
        if not known or self.sorted_as_wanted:
            return known[0] if known else ""
        sign = 1 if wanted.direction == "ascending" else -1
        return min(known, key=lambda card: sign * self.results[card][wanted.attribute])

    @cached_property
    def shown(self) -> frozenset[str]:
        """What the page is about by its title, main heading and address."""
        return self.headline | url_stems(unquote_plus(self.observation.url))

    @cached_property
    def about_one(self) -> dict[str, float]:
        """The facts of a page about one thing that is what the goal is about; empty for a list or another thing."""
        if len(self.results) > 1 or self.coverage(self.headline) < RESULT_COVERAGE_MIN:
            return {}
        start = next((index for index, node in enumerate(self._outline.lines) if node.role == "heading"), 0)
        return self.facts(" ".join(node.text for node in self._outline.lines[start : start + CARD_LINES_MAX]))

    @cached_property
    def filled_search(self) -> bool:
        """Whether a search field holds text that the address does not yet show."""
        shown = {value for _, value in self.pairs}
        return any(is_search(item) and item.value and item.value not in shown for item in self.observation.elements)

    @cached_property
    def headings(self) -> tuple[str, ...]:
        """The first headings of the page."""
        return tuple([node.text for node in self._outline.lines if node.role == "heading"][:HEADINGS_MAX])

    @cached_property
    def headline(self) -> frozenset[str]:
        """The words of the title and of the main headings."""
        return frozenset(tokens(f"{self.observation.title} {' '.join(self.headings[:1])}"))


def is_applied(element: Element) -> bool:
    """Whether the element is chosen already."""
    if element.options:
        return bool(element.value)
    return any(state.split("=")[0] in ("checked", "selected", "pressed", "current") and not state.endswith("false") for state in element.states)


def is_search(element: Element) -> bool:
    """Whether a text field searches or filters rather than takes an entry."""
    if element.role == "searchbox" or element.traits.input_type == "search":
        return True
    if element.role not in ("textbox", "combobox") or element.options:
        return False
    words = {stem(word) for word in element.traits.tokens} | set(tokens(element.name))
    return bool(words & {"search", "find", "query", "q", "keyword", "filter"}) and element.traits.form_method != "post"


def sort_match(wanted: Sort, label: str, url: str) -> float:
    """1 for the wanted order, ``SORT_LIKELY`` or .3 if the direction is left to custom, −.6 for the opposite, −.2 for another order."""
    attribute, direction = sort_in(label)
    words = frozenset(tokens(label))
    key, by_url, url_direction = order_of(url)
    if attribute != wanted.attribute and words & words_of(wanted.attribute):
        attribute = wanted.attribute
    if not attribute and by_url:
        attribute = wanted.attribute if by_url & words_of(wanted.attribute) else "other"
    direction = direction or url_direction
    if not attribute or (direction is None and not key and len(words) > 3):
        return 0.0
    if attribute != wanted.attribute:
        return -0.2 if key or direction else 0.0
    if direction is None:
        usual = "descending" if attribute in _DESCENDING_BY_CUSTOM else "ascending"
        return SORT_LIKELY if usual == wanted.direction else 0.3
    return 1.0 if direction == wanted.direction else -0.6


@lru_cache(maxsize=4_096)
def order_of(url: str) -> tuple[bool, frozenset[str], Direction | None]:
    """Whether the address orders a list, by which words, in which direction."""
    for key, value in split_url(url)[1]:
        if value and _ORDER_KEY.search(key):
            _, direction = sort_in(f"{key} {value}".replace("_", " ").replace("-", " "))
            return True, frozenset(tokens(value.replace("_", " "))), "descending" if value.startswith("-") else direction
    return False, frozenset(), None


def threshold_match(goal: Goal, label: str, section: str) -> float:
    """How well a filter fits a bound of the goal: 1 exact, less for a wider or narrower one, below 0 for the opposite."""
    best = 0.0
    for offered in thresholds_in(label):
        for wanted in goal.thresholds:
            best = max(best, _fit(wanted, offered, label, section), key=abs)
    return best


def _fit(wanted: Threshold, offered: Threshold, label: str, section: str) -> float:
    if not speaks_of(wanted.attribute or "price", f"{label} {section}") and not (offered.attribute == wanted.attribute):
        return 0.0
    if offered.bound != wanted.bound:
        return -0.4
    if offered.number == wanted.number:
        return 1.0
    wider = (offered.number < wanted.number) == (wanted.bound == "min")
    # A wider filter loses nothing; a narrower one may filter out the answer.
    return 0.4 if wider else 0.15


def speaks_of(attribute: str, text: str) -> bool:
    """Whether ``text`` names the attribute, by word or by sign."""
    if attribute == "price" and any(sign in text for sign in "€$£"):
        return True
    if attribute == "rating" and "★" in text:
        return True
    return not words_of(attribute).isdisjoint(tokens(text))


def facts(text: str, attributes: frozenset[str] = frozenset()) -> dict[str, float]:
    """The price and rating a card states, and the numbers behind words for other ``attributes`` ("stock: 5")."""
    found: dict[str, float] = {}
    for attribute, pattern in (("price", _PRICE), ("rating", _RATING)):
        if match := pattern.search(text):
            found[attribute] = float(next(group for group in match.groups() if group).replace(",", "."))
    for attribute in attributes - found.keys():
        if match := _labelled(attribute).search(text):
            found[attribute] = float(match[1].replace(",", "."))
    return found


@lru_cache(maxsize=256)
def _labelled(attribute: str) -> re.Pattern[str]:
    names = "|".join(sorted(words_of(attribute)))
    return re.compile(rf"\b(?:{names})\w{{0,3}}[^\w]{{1,5}}(-?\d{{1,9}}(?:[.,]\d{{1,4}})?)\b(?!-)", re.IGNORECASE)


def verdict(goal: Goal, stated: dict[str, float]) -> float:
    """1 if the facts meet every bound they speak of, −1 if they break one, 0 if they are silent."""
    known = [(bound, stated[bound.attribute or "price"]) for bound in goal.thresholds if (bound.attribute or "price") in stated]
    if not known:
        return 0.0
    return 1.0 if all(bound.met_by(number) for bound, number in known) else -1.0
