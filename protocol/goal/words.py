"""Word lists for goals and labels, and the stemmer."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal

Direction = Literal["ascending", "descending"]
Bound = Literal["min", "max"]


def word_set(text: str) -> frozenset[str]:
    """The words of ``text``: the notation for word tables."""
    return frozenset(text.split())


STOP_WORDS: Final = word_set(
    """
    a an the and or of in on at to for from with without by as is are was be been it its this that these those
    there here which who whose what where when how me my we our you your i please can could would should will
    want need like have has do does than then so if into onto about out up all any some each every other find
    open show go get look search click press select choose pick view see navigate visit browse read check tell
    give bring take display list locate page pages site website web link thing things one ones detail details
    named called titled labelled labeled among
    """
)
"""Words about how to ask, not what for: grammar, the verbs of browsing, and names for any page or thing."""

KIND_WORDS: Final = word_set(
    """
    item items product products article articles result results entry entries record records row rows
    """
)
"""Names for any thing."""

ATTRIBUTES: Final = {
    "price": "price prices priced pricing cost costs expensive cheap euro euros eur dollar dollars usd pound pounds",
    "rating": "rating ratings rated stars star review reviews reviewed score scored",
    "date": "date dates recent new newest latest old oldest release released published created updated added joined",
    "popularity": "popularity popular selling bestselling bestseller sales",
    "name": "name alphabetical alphabetically title az",
}
"""Attributes that a thing can be ordered or bounded by, and the words for them. Any other word is an attribute of its own."""

SUPERLATIVES: Final[dict[str, tuple[str, Direction]]] = {
    "cheapest": ("price", "ascending"),
    "least expensive": ("price", "ascending"),
    "most affordable": ("price", "ascending"),
    "most expensive": ("price", "descending"),
    "priciest": ("price", "descending"),
    "dearest": ("price", "descending"),
    "newest": ("date", "descending"),
    "latest": ("date", "descending"),
    "most recent": ("date", "descending"),
    "most recently": ("date", "descending"),
    "oldest": ("date", "ascending"),
    "earliest": ("date", "ascending"),
    "best rated": ("rating", "descending"),
    "top rated": ("rating", "descending"),
    "best reviewed": ("rating", "descending"),
    "worst rated": ("rating", "ascending"),
    "most popular": ("popularity", "descending"),
    "best selling": ("popularity", "descending"),
    "biggest": ("size", "descending"),
    "largest": ("size", "descending"),
    "smallest": ("size", "ascending"),
    "longest": ("length", "descending"),
    "shortest": ("length", "ascending"),
    "heaviest": ("weight", "descending"),
    "lightest": ("weight", "ascending"),
    "best": ("rating", "descending"),
    "worst": ("rating", "ascending"),
}
EXTREMES: Final[dict[str, Direction]] = {
    "highest": "descending",
    "most": "descending",
    "maximum": "descending",
    "greatest": "descending",
    "lowest": "ascending",
    "least": "ascending",
    "fewest": "ascending",
    "minimum": "ascending",
}
"""Words that order by the word after them."""

COMPARATORS: Final[dict[str, Bound]] = {
    "more than": "min",
    "greater than": "min",
    "higher than": "min",
    "better than": "min",
    "at least": "min",
    "not less than": "min",
    "over": "min",
    "above": "min",
    "from": "min",
    "less than": "max",
    "lower than": "max",
    "cheaper than": "max",
    "fewer than": "max",
    "no more than": "max",
    "not more than": "max",
    "at most": "max",
    "up to": "max",
    "under": "max",
    "below": "max",
}
TRAILERS: Final[dict[str, Bound]] = {
    "and up": "min",
    "or up": "min",
    "or more": "min",
    "and more": "min",
    "or higher": "min",
    "or better": "min",
    "or above": "min",
    "and above": "min",
    "and over": "min",
    "or less": "max",
    "or lower": "max",
    "or below": "max",
    "and below": "max",
    "and under": "max",
    "or cheaper": "max",
    "& up": "min",
    "& above": "min",
    "& more": "min",
    "& below": "max",
    "& under": "max",
}
"""Comparators that stand after their number."""

LOW_WORDS: Final = word_set("low lowest ascending asc ascend increasing smallest cheapest a")
HIGH_WORDS: Final = word_set("high highest descending desc descend decreasing largest best top z")
INCLUSIVE: Final = frozenset({"at least", "at most", "up to", "from", "not less than", "no more than", "not more than"})

ORDINALS: Final = {
    word: place
    for place, words in enumerate(
        (
            "first 1st",
            "second 2nd",
            "third 3rd",
            "fourth 4th",
            "fifth 5th",
            "sixth 6th",
            "seventh 7th",
            "eighth 8th",
            "ninth 9th",
            "tenth 10th",
        ),
        1,
    )
    for word in words.split()
} | {"last": -1}

ATTRIBUTE_OF: Final = {word: attribute for attribute, words in ATTRIBUTES.items() for word in words.split()}
TOKEN: Final = re.compile(r"[^\W_]+")
CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


@lru_cache(maxsize=8_192)
def stem(word: str) -> str:
    """A lower-case word without its plural, ``-ing`` or ``-ed``; short words stay as they are."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending, length_min in (("ing", 7), ("ed", 6)):
        if len(word) >= length_min and word.endswith(ending):
            word = word[: -len(ending)]
            return word[:-1] if word[-1] == word[-2] and word[-1] not in "lsz" else word
    return word


@lru_cache(maxsize=8_192)
def tokens(text: str) -> tuple[str, ...]:
    """The stems of the words of ``text``; camelCase is split."""
    return tuple(stem(word) for word in TOKEN.findall(CAMEL.sub(" ", text).lower()))


def attribute_of(word: str) -> str:
    """The attribute that a word means; a word in no table means itself."""
    return ATTRIBUTE_OF.get(word.lower()) or stem(word.lower())


@lru_cache(maxsize=256)
def words_of(attribute: str) -> frozenset[str]:
    """The stems of the words that name ``attribute``."""
    return frozenset(stem(word) for word in ATTRIBUTES.get(attribute, attribute).split())
