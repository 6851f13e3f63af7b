"""Extracts sort orders, bounds and facts from labels, addresses and short texts, and recognises selected controls."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from protocol.goal.goal import Goal, Slot, Sort, Threshold, sort_in, thresholds_in
from protocol.goal.words import Direction, stem, tokens, words_of
from protocol.page.seen.observation import Element

SORT_LIKELY: Final = 0.7
"""The match of an order that is named without its direction, if the direction is the usual one."""
_DESCENDING_BY_CUSTOM: Final = frozenset({"rating", "popularity", "date"})
_PRICE = re.compile(r"[€$£] ?(\d+(?:[.,]\d{1,2})?)|(\d+(?:[.,]\d{1,2})?) ?(?:€|EUR|USD|GBP)")
_RATING = re.compile(
    r"(\d(?:[.,]\d)?)(?: ?/ ?| out of )(?:5|10)\b|(\d(?:[.,]\d)?) stars?\b"
    r"|★ ?(\d(?:[.,]\d)?)|\brat(?:ing|ed):? (\d(?:[.,]\d)?)",
    re.I,
)
_WHOLE_NUMBER: Final = re.compile(r"(?<![\w.,-])[0-9]{1,18}(?![\w.,]*[0-9])")
_JOINTS: Final = re.compile(r"[-_+]")
_ORDER_KEY = re.compile(r"(?:^|[_-])(?:sort|order|ordering|o|ord|orderby)(?:$|[_-])|^sort|^order", re.I)


@lru_cache(maxsize=4_096)
def split_url(url: str) -> tuple[SplitResult, tuple[tuple[str, str], ...]]:
    """An address and its query pairs; an unreadable address counts as empty."""
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


def own_path(url: str, here: str) -> str:
    """The part of an address's path that the page at ``here`` does not share: ``alerts`` of ``/projects/2/alerts/``."""
    known = set(split_url(here)[0].path.split("/"))
    parts = (part for part in split_url(url)[0].path.split("/") if part not in known)
    return _JOINTS.sub(" ", unquote(" ".join(parts)))


def names_slot(slot: Slot, text: str) -> bool:
    """True if ``text``, in lower case, contains a value of the goal; a number only as a whole, with or without leading zeros."""
    value = slot.value.casefold().lstrip("@#")
    if slot.kind != "number" or not value.isdecimal():
        return bool(value) and value in text
    return any(int(found) == int(value) for found in _WHOLE_NUMBER.findall(text))


def same_address(left: str, right: str) -> bool:
    """True if two addresses open the same page: the fragment and the order of the query do not count."""
    (a, a_pairs), (b, b_pairs) = split_url(left), split_url(right)
    return (a.scheme, a.netloc, a.path or "/", sorted(a_pairs)) == (b.scheme, b.netloc, b.path or "/", sorted(b_pairs))


def is_applied(element: Element) -> bool:
    """True if the element is chosen already."""
    if element.options:
        return bool(element.value)
    return any(
        state.split("=")[0] in ("checked", "selected", "pressed", "current") and not state.endswith("false")
        for state in element.states
    )


def is_search(element: Element) -> bool:
    """True if a text field is for searching or filtering, not for an entry."""
    if element.role == "searchbox" or element.traits.input_type == "search":
        return True
    if element.role not in ("textbox", "combobox") or element.options:
        return False
    words = {stem(word) for word in element.traits.tokens} | set(tokens(element.name))
    return bool(words & {"search", "find", "query", "q", "keyword", "filter"}) and element.traits.form_method != "post"


@lru_cache(maxsize=4_096)
def sort_match(wanted: Sort, label: str, url: str) -> float:
    """1 for the wanted order, −.6 for the opposite, −.2 for another.

    ``SORT_LIKELY`` or .3 if the label does not state the direction.
    """
    attribute, direction = sort_in(label)
    words = frozenset(tokens(label))
    key, by_url, url_direction = order_of(url)
    if words & words_of(wanted.attribute):
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
    """True if the address orders a list; the words of the order; its direction."""
    for key, value in split_url(url)[1]:
        if value and _ORDER_KEY.search(key):
            _, direction = sort_in(f"{key} {value}".replace("_", " ").replace("-", " "))
            return (
                True,
                frozenset(tokens(value.replace("_", " "))),
                "descending" if value.startswith("-") else direction,
            )
    return False, frozenset(), None


def threshold_match(goal: Goal, label: str, section: str) -> float:
    """How well a filter fits a bound of the goal: 1 exact, less if wider or narrower, below 0 for the opposite."""
    best = 0.0
    for offered in thresholds_in(label):
        for wanted in goal.thresholds:
            best = max(best, _fit(wanted, offered, label, section), key=abs)
    return best


def _fit(wanted: Threshold, offered: Threshold, label: str, section: str) -> float:
    if not speaks_of(wanted.attribute or "price", f"{label} {section}") and offered.attribute != wanted.attribute:
        return 0.0
    if offered.bound != wanted.bound:
        return -0.4
    if offered.number == wanted.number:
        return 1.0
    wider = (offered.number < wanted.number) == (wanted.bound == "min")
    # A wider filter loses nothing; a narrower one may filter out the answer.
    return 0.4 if wider else 0.15


def speaks_of(attribute: str, text: str) -> bool:
    """True if ``text`` names the attribute, by word or by sign."""
    if attribute == "price" and any(sign in text for sign in "€$£"):
        return True
    if attribute == "rating" and "★" in text:
        return True
    return not words_of(attribute).isdisjoint(tokens(text))


def facts(text: str, attributes: frozenset[str] = frozenset()) -> dict[str, float]:
    """The price and rating that a card states, and the numbers after words for other ``attributes`` ("stock: 5")."""
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
    return re.compile(rf"\b(?:{names})\w{{0,3}}[^\w]{{1,5}}?(-?\d{{1,9}}(?:[.,]\d{{1,4}})?)\b(?!-)", re.IGNORECASE)


def verdict(goal: Goal, stated: dict[str, float]) -> float:
    """1 if the facts meet every bound that they concern, −1 if they break one, 0 if they concern none."""
    known = [
        (bound, stated[bound.attribute or "price"])
        for bound in goal.thresholds
        if (bound.attribute or "price") in stated
    ]
    if not known:
        return 0.0
    return 1.0 if all(bound.met_by(number) for bound, number in known) else -1.0
