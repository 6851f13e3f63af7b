"""Recognises searches, computations, and the choice of a language."""

from __future__ import annotations

import re
from typing import Final

from protocol.risk.addresses.address_words import word_set
from protocol.risk.addresses.letters import plain
from protocol.risk.addresses.segments import without_extension, words_in
from protocol.risk.reads.bodies import FIELDS_MAX, KEY_PARTS, Pairs, decoded, name_of
from protocol.risk.reads.orders import does_more, of_server_pages, orders, writes
from protocol.risk.reads.statements import IN_SELECT
from protocol.risk.reads.words import (
    ACTION_FIELDS,
    COMPUTED_THINGS,
    COMPUTING_WORDS,
    LANGUAGE_ADDRESSES,
    LANGUAGE_FIELDS,
    PERSON_FIELDS,
    READING_VERBS,
    SEARCH_FIELDS,
    SEARCH_SIGNS,
    SEARCH_WORDS,
    SEARCHING_PLACES,
    TOKEN_FIELDS,
    WRITING_VERBS,
)

_VALUE_CHARS_MAX: Final = 2_000
ELASTIC: Final = word_set(
    "_search _count _mget _msearch _validate/query _field_caps _explain _terms_enum _search/scroll _search/template "
    "_analyze _rank_eval"
)


def ends_in_search(last: list[str]) -> bool:
    """True if the last part of a path is a word for searching, alone or in a name (``searchProducts``)."""
    words = words_in(without_extension(last[-1])[0]) if last else []
    if len(last) > 1 and last[0] == "search" and _SEARCHED.fullmatch(last[1]):
        words = ["search"]
    if not words or len(words) > 4 or any(word in WRITING_VERBS or word in _ABOUT_SEARCHES for word in words):
        return False
    if len(last) > 1 and not WHERE_KEPT.isdisjoint(words_in(last[0])):
        return False
    # A request to “queries” or “suggestions” alone adds one, which is stored.
    named = len(words) > 1 and words[-1] in SEARCHING_PLACES
    return named or words[0] in SEARCH_WORDS or words[-1] in SEARCH_WORDS


_SEARCHED: Final = re.compile(r"v\d|jql|products?|users?|orders?|customers?|node|issues|documents|people|all")
"""Words after ``/search/`` that name the searched collection."""
_ABOUT_SEARCHES: Final = word_set(
    "saved history log logs alert alerts index indexes indexing click clicks track event events recent user my custom watched mail "
    "quick blocked job"
)
WHERE_KEPT: Final = word_set("saved setting settings config configuration preferences subscriptions webhooks bookmarks")
"""After one of these words come the settings of searches, or stored searches."""


def is_search(pairs: Pairs, last: list[str]) -> bool:
    """True if all fields belong to a search, and one of them is the searched text."""
    if not pairs or orders(pairs) or _states(pairs, last):
        return False
    names = [name_of(key) for key, _ in pairs]
    known = SEARCH_FIELDS | TOKEN_FIELDS | ACTION_FIELDS
    filters = _is_plainly_search(last)
    if not all(name in known or (filters and _filters(key)) for name, (key, _) in zip(names, pairs, strict=True)):
        return False
    fits = all(not isinstance(value, str) or len(value) <= _VALUE_CHARS_MAX for _, value in pairs)
    return fits and any(name in SEARCH_SIGNS for name in names)


def _is_plainly_search(last: list[str]) -> bool:
    return bool(last) and words_in(without_extension(last[-1])[0]) == ["search"]


def _filters(key: str) -> bool:
    """True if a field that no list has is named like a filter: ``cabinClass``, ``brandIds``."""
    words = words_in(KEY_PARTS.split(key)[0][:_NAME_CHARS])
    return len(words) > 1 and words[-1] in _FILTER_ENDS and _NO_FILTER.isdisjoint(words) and not writes(key)


_NAME_CHARS: Final = 64
_FILTER_ENDS: Final = word_set("type types id ids class code number mode range column columns size field fields")
_NO_FILTER: Final = word_set(
    "alert alerts email mail phone notify notification subscription frequency saved save webhook message comment vote list "
    "cart order share owner"
)
_FILTERED: Final = word_set("filter filters where sort orderby criteria conditions facets fields columns")
"""Below one of these fields, a name is the name of a filtered column: ``filters[name]``."""


def _states(pairs: Pairs, last: list[str]) -> bool:
    """True if a field may contain a statement that writes, at an address for database queries (``/query`` of InfluxDB), or if a
    query is stored under a name (``query[name]``).
    """
    at_query = bool(last) and words_in(last[-1])[-1:] in (["query"], ["queries"])
    for key, value in pairs:
        inner = {name_of(part) for part in KEY_PARTS.split(key)[1:] if part}
        filtered = name_of(key) in _FILTERED and _is_plainly_search(last)
        if (not inner.isdisjoint(_OF_RECORDS) and not filtered) or (
            at_query and name_of(key) == "type" and writes(value)
        ):
            return True
        if not inner.isdisjoint(ACTION_FIELDS) and orders([("action", value)]):
            return True
        stated = isinstance(value, str) and (at_query or not inner.isdisjoint(_RAW))
        if stated and ("\\u" in value or not (IN_SELECT | WRITING_VERBS).isdisjoint(words_in(value))):
            return True
    return False


_OF_RECORDS: Final = word_set("name title description email phone fullname body content notes message")
_RAW: Final = word_set("sql rawsql statement")


def computes(last: list[str], pairs: Pairs) -> bool:
    """True if the path ends in a word for a computation (``/shipping/estimate``), it has input, and no field shows that more is
    done. Fields about a person exclude it, because their sender expects an answer by mail.
    """
    words = words_in(without_extension(last[-1])[0]) if last else []
    if not 0 < len(words) <= 3 or any(map(writes, last)) or any(of_server_pages(key) for key, _ in pairs):
        return False
    if words[0] in _THINGS_TOO and len(words) == 1 < len(last) and _OF_PRICES.isdisjoint(words_in(last[0])):
        return False
    if any(name_of(key) in ("calcexpression", "where") for key, _ in pairs):
        return False  # a field of all matching records (ArcGIS)
    # “Suggestions” and “availability” alone are lists to which one more is added.
    if not ({words[0], words[-1]} & COMPUTING_WORDS or (words[-1] in COMPUTED_THINGS and words[0] in READING_VERBS)):
        return False
    names = {name_of(key) for key, _ in pairs}
    return bool(names - TOKEN_FIELDS) and not names & PERSON_FIELDS and not orders(pairs) and not does_more(pairs)


_THINGS_TOO: Final = word_set("estimate compute")
"""Alone they are also items of a list: an estimate for a customer, a virtual machine."""
_OF_PRICES: Final = word_set(
    "shipping delivery price prices cost costs tax taxes fee fees rate rates route gas freight postage cart basket trip"
)


def chooses_language(last: list[str], pairs: Pairs) -> bool:
    """True if the request only chooses the language of the site: at an address for that, or by ``lang`` alone at an address that
    stores nothing about a person.
    """
    names = [name_of(key) for key, _ in pairs]
    if not names or not all(name in LANGUAGE_FIELDS or name in TOKEN_FIELDS for name in names):
        return False
    if last and plain(last[-1]).replace("-", "").replace("_", "") in LANGUAGE_ADDRESSES:
        return True
    kept = any(not _OF_PERSON.isdisjoint(words_in(part)) or writes(part) for part in last)
    return (
        "lang" in names
        and not kept
        and all(len(str(value)) <= _LANGUAGE_CHARS for key, value in pairs if key == "lang")
    )


_OF_PERSON: Final = word_set(
    "account accounts profile profiles preference preferences prefs setting settings config configuration user users me my "
    "member members api admin site sites org team options"
)
_LANGUAGE_CHARS: Final = 12


def read_elastic(last: list[str], lines: list[str]) -> str:
    """“a search of Elasticsearch” if it is one, by the last parts of its path; otherwise empty."""
    named = bool(last) and (last[-1] in ELASTIC or "/".join(last) in ELASTIC)
    values = [decoded(line) if line.strip() else {} for line in lines[: FIELDS_MAX + 1]]
    return (
        "a search of Elasticsearch"
        if named and len(values) <= FIELDS_MAX and all(isinstance(each, dict) for each in values)
        else ""
    )
