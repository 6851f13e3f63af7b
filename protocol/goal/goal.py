"""Parses a goal, one sentence, by tables of words and by patterns; no language model is used.

Each reader takes its part out of the sentence (later readers do not see it again), in this order: quoted text, tags and
addresses, dates and times, ``key: value`` pairs, comparisons with a number ("rating over 4"), superlatives ("cheapest"),
ordinals, numbers, names. The remaining content words tell what the page should be about.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal

import msgspec

from protocol import limits
from protocol.errors import MeshError
from protocol.goal.words import (
    ATTRIBUTE_OF,
    CAMEL,
    COMPARATORS,
    EXTREMES,
    HIGH_WORDS,
    INCLUSIVE,
    KIND_WORDS,
    LOW_WORDS,
    ORDINALS,
    STOP_WORDS,
    SUPERLATIVES,
    TOKEN,
    TRAILERS,
    Bound,
    Direction,
    attribute_of,
    stem,
)

SlotKind = Literal["quote", "email", "tag", "date", "time", "pair", "number", "name"]


class Slot(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A value that the goal gives literally."""

    kind: SlotKind
    value: str
    key: str = ""
    """The goal's name for it (``from: Paris``); without one, the word before it."""


class Sort(msgspec.Struct, frozen=True, kw_only=True):
    """An order that the goal asks for: the first item in it is meant."""

    attribute: str
    direction: Direction


class Threshold(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A bound on a number; ``attribute`` is empty if the goal names none."""

    bound: Bound
    number: float
    attribute: str = ""
    strict: bool = False
    """True if the number itself is outside ("over 4", not "4 and up")."""

    def met_by(self, number: float) -> bool:
        """True if ``number`` lies within the bound."""
        if self.strict:
            return number > self.number if self.bound == "min" else number < self.number
        return number >= self.number if self.bound == "min" else number <= self.number


class Goal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A goal in parts."""

    text: str
    slots: tuple[Slot, ...] = ()
    words: tuple[str, ...] = ()
    """Stems of the content words that no other part took, in order, each once."""
    query: str = ""
    """The same words as they were written, in lower case: a text to type into a search field."""
    sorts: tuple[Sort, ...] = ()
    thresholds: tuple[Threshold, ...] = ()
    ordinal: int = 0
    """1 for "first", 2 for "second" …, −1 for "last", 0 when the goal names none."""
    kinds: tuple[str, ...] = ()
    """Stems of words for things in general ("product", "entry"): they say where to look, not what to look for."""
    question: bool = False
    """True if it asks how, what or when, not for a thing."""


_LABEL_CHARS_MAX: Final = 120
"""A label is short; a longer text offers no order or filter."""
_MONTHS: Final = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?"
)
_NUMBER: Final = r"\d{1,9}(?:[.,]\d{1,4})?"


def _alternatives(words: dict[str, Bound] | dict[str, tuple[str, Direction]] | dict[str, Direction]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_QUOTED = re.compile(r"[\"“”«»]([^\"“”«»]{1,200})[\"“”«»]|(?<!\w)['‘]([^'‘’]{1,200})['’](?!\w)")
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{1,64}\w")
_TAG = re.compile(r"(?<!\w)[@#]\w[\w-]{0,63}")
_DATE = re.compile(
    rf"\b(?:\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,2}}[/.]\d{{1,2}}[/.]\d{{4}}"
    rf"|\d{{1,2}} (?:{_MONTHS}),? \d{{4}}|(?:{_MONTHS}) \d{{1,2}},? \d{{4}})\b",
    re.IGNORECASE,
)
_TIME = re.compile(r"\b\d{1,2}:\d{2}(?: ?[ap]m)?\b", re.IGNORECASE)
_PAIR = re.compile(
    r"\b([A-Za-z]\w{0,31}):(?!//) ?([^\s,;][^,;]{0,99}?)(?=\s*(?:[,;]|$|\b\w+:|\b(?:and|by|on|at|with)\b|  ))"
)
_COMPARED = re.compile(
    rf"(?:\b(?P<attribute>[a-z]+) (?:of |is |that is )?)?\b(?P<word>{_alternatives(COMPARATORS)})"
    rf" ?[€$£]? ?(?P<number>{_NUMBER})(?![\w/:])(?: (?P<unit>[a-z]+))?|"
    rf"(?<![\w.])[€$£]?(?P<number2>{_NUMBER})(?P<plus>\+)?(?: (?P<unit2>stars?|euros?|dollars?|pounds?))?"
    rf"(?: (?P<trailer>{_alternatives(TRAILERS)})\b)?",
    re.IGNORECASE,
)
_BETWEEN = re.compile(rf"\b(?:between) [€$£]?({_NUMBER}) (?:and|to) [€$£]?({_NUMBER})\b", re.IGNORECASE)
_SUPERLATIVE = re.compile(
    rf"\b(?:({_alternatives(SUPERLATIVES)})|({_alternatives(EXTREMES)}) ([a-z]+))\b", re.IGNORECASE
)
_ORDINAL = re.compile(rf"\b({'|'.join(ORDINALS)})\b(?! name)", re.IGNORECASE)
_PLAIN_NUMBER = re.compile(rf"(?<![\w.,-])-?{_NUMBER}(?![\w/:])")
_NAME = re.compile(r"(?<=[\w,] )[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*")
_QUESTION = re.compile(r"(?:how|what|when|where|why|can|does|do|is|are|which)\b", re.IGNORECASE)


def parse_goal(text: str) -> Goal:
    """The parts of ``text``; any text has some. Errors: ``input.too_large``."""
    if len(text) > limits.GOAL_CHARS_MAX:
        raise MeshError("input.too_large", f"a goal can have at most {limits.GOAL_CHARS_MAX} characters")
    rest = _Rest(" ".join(text.split()))
    slots = [*_literal_slots(rest)]
    thresholds = _thresholds(rest)
    sorts = _sorts(rest)
    ordinal = 0
    for match in rest.take(_ORDINAL):
        ordinal = ORDINALS[match[1].lower()]
    slots += [
        (m.start(), Slot(kind="number", value=m[0], key=rest.word_before(m.start()))) for m in rest.take(_PLAIN_NUMBER)
    ]
    # Names stay in the sentence: "Maria" is a value to fill in and also a topic of the page.
    slots += [(m.start(), Slot(kind="name", value=m[0])) for m in _NAME.finditer(rest.text)]
    told = [word for word in TOKEN.findall(rest.text.lower()) if word not in STOP_WORDS and len(word) > 1]
    written = [word for word in told if word not in KIND_WORDS]
    return Goal(
        text=text,
        slots=tuple(slot for _, slot in sorted(slots, key=lambda placed: placed[0])),
        words=tuple(dict.fromkeys(stem(word) for word in written)),
        query=" ".join(dict.fromkeys(written)),
        sorts=tuple(dict.fromkeys(sorts)),
        thresholds=tuple(dict.fromkeys(thresholds)),
        ordinal=ordinal,
        kinds=tuple(dict.fromkeys(stem(word) for word in told if word in KIND_WORDS)),
        question=bool(_QUESTION.match(text.strip())) or text.rstrip().endswith("?"),
    )


class _Rest:
    """The rest of the sentence: taken parts are blanked, so that positions stay."""

    def __init__(self, text: str) -> None:
        self.text = text

    def take(self, pattern: re.Pattern[str]) -> list[re.Match[str]]:
        matches = list(pattern.finditer(self.text))
        for match in matches:
            self.blank(*match.span())
        return matches

    def blank(self, start: int, end: int) -> None:
        self.text = self.text[:start] + " " * (end - start) + self.text[end:]

    def word_before(self, position: int) -> str:
        words = [word for word in TOKEN.findall(self.text[:position].lower()) if word not in STOP_WORDS]
        return words[-1] if words else ""


def _literal_slots(rest: _Rest) -> list[tuple[int, Slot]]:
    """Values that are recognised by their form."""
    kinds: tuple[tuple[SlotKind, re.Pattern[str]], ...] = (
        ("quote", _QUOTED),
        ("email", _EMAIL),
        ("tag", _TAG),
        ("date", _DATE),
        ("time", _TIME),
        ("pair", _PAIR),
    )
    found: list[tuple[int, Slot]] = []
    for kind, pattern in kinds:
        for match in rest.take(pattern):
            key = match[1].lower() if kind == "pair" else rest.word_before(match.start())
            # The last group is the text between quotes, or after the colon.
            value = match[match.lastindex or 0].strip()
            found.append((match.start(), Slot(kind=kind, value=value, key=key)))
    return found


def _thresholds(rest: _Rest) -> list[Threshold]:
    found: list[Threshold] = []
    for match in rest.take(_BETWEEN):
        found += [Threshold(bound="min", number=_float(match[1])), Threshold(bound="max", number=_float(match[2]))]
    for match in _COMPARED.finditer(rest.text):
        bound = bound_of(match["word"] or match["trailer"] or ("+" if match["plus"] else ""))
        if bound is None:
            continue
        own = ATTRIBUTE_OF.get((match["attribute"] or "").lower(), "")
        unit = ATTRIBUTE_OF.get((match["unit"] or match["unit2"] or "").lower(), "")
        # Only the understood words leave the sentence: in "a mug under 20 pieces" mug and pieces stay.
        start = match.start() if own or not match["word"] else match.start("word")
        end = match.end() if unit or not match["unit"] else match.end("number")
        rest.blank(start, end)
        strict = bool(match["word"]) and match["word"].lower() not in INCLUSIVE
        number = _float(match["number"] or match["number2"])
        found.append(Threshold(bound=bound, number=number, attribute=own or unit, strict=strict))
    return found


@lru_cache(maxsize=4_096)
def thresholds_in(label: str) -> tuple[Threshold, ...]:
    """The bounds that a short label states ("4 and up", "under £25")."""
    return tuple(_thresholds(_Rest(label[:_LABEL_CHARS_MAX])))


@lru_cache(maxsize=4_096)
def sort_in(label: str) -> tuple[str, Direction | None]:
    """Attribute and direction of the order that a short label offers ("Price: low to high"); empty for one that it does not
    name."""
    for sort in _sorts(_Rest(label[:_LABEL_CHARS_MAX])):
        return sort.attribute, sort.direction
    words = TOKEN.findall(CAMEL.sub(" ", label[:_LABEL_CHARS_MAX]).lower())
    attribute = next((ATTRIBUTE_OF[word] for word in words if word in ATTRIBUTE_OF), "")
    low = next((place for place, word in enumerate(words) if word in LOW_WORDS), None)
    high = next((place for place, word in enumerate(words) if word in HIGH_WORDS), None)
    if low is None and high is None:
        return attribute, None
    # "low to high" ascends: the list begins with the word that comes first.
    return attribute, "ascending" if high is None or (low is not None and low < high) else "descending"


def bound_of(words: str) -> Bound | None:
    """The bound that a comparator ("over", "and up", "+") sets."""
    folded = words.lower()
    return "min" if folded == "+" else COMPARATORS.get(folded) or TRAILERS.get(folded)


def _sorts(rest: _Rest) -> list[Sort]:
    found = []
    for match in list(_SUPERLATIVE.finditer(rest.text)):
        if match[1]:
            attribute, direction = SUPERLATIVES[match[1].lower()]
        else:
            attribute, direction = attribute_of(match[3]), EXTREMES[match[2].lower()]
            if match[3].lower() in STOP_WORDS:
                continue
        rest.blank(*match.span())
        found.append(Sort(attribute=attribute, direction=direction))
    return found


def _float(number: str) -> float:
    return float(number.replace(",", "."))
