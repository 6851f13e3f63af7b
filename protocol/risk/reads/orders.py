"""Finds in a request that more is done than reading."""

from __future__ import annotations

from typing import Final

from protocol.risk.addresses.address_words import STATEMENT_VERBS, STATEMENTS
from protocol.risk.addresses.segments import words_in
from protocol.risk.reads.bodies import KEY_PARTS, Pairs, name_of
from protocol.risk.reads.words import ACTION_FIELDS, READING_VERBS, SEARCH_WORDS, WRITING_NOUNS, WRITING_VERBS


def writes(name: object) -> bool:
    """True if a verb that writes stands in the name of a method, an operation or a value."""
    words = words_in(str(name)[:256])
    return any(word in WRITING_VERBS or any(map(word.startswith, ("delete", "remove", "destroy"))) for word in words)


_ACTIONS_OF_QWIK: Final = frozenset({"qaction", "qfunc"})
_EVENTS: Final = frozenset({"eventtarget", "eventargument"})


def orders(pairs: Pairs | None) -> bool:
    """True if a field that says what is done says anything but searching; so does what cannot be read."""
    if pairs is None:
        return True
    for key, value in pairs:
        if key.startswith("/") or (name_of(key) in _EVENTS and value):
            return True  # an action of SvelteKit, an event of ASP.NET: of those that read, ``turns`` knows
        if name_of(key) in _ACTIONS_OF_QWIK:
            return True
        if name_of(key) in ACTION_FIELDS and not isinstance(value, (int, float)):
            words = words_in(str(value)[:256])
            if any(word not in SEARCH_WORDS and word not in READING_VERBS for word in words):
                return True
    return False


def of_server_pages(key: str) -> bool:
    """True if it is a field of a framework (JSF, ASP.NET, Spring Web Flow, Struts) that sends all buttons of a page to its address,
    under names that say nothing.
    """
    return key.startswith(_SERVER_PAGES)


_SERVER_PAGES: Final = (
    "javax.faces.",
    "jakarta.faces.",
    "__VIEWSTATE",
    "__EVENTTARGET",
    "_eventId",
    "action:",
    "method:",
)


def does_more(pairs: Pairs) -> bool:
    """True if a field says, at any depth, that something is changed: the button “save” beside “preview”, which sends its name and
    perhaps no value; one operation of a list; a statement of SQL; or that it is no trial.
    """
    for key, value in pairs:
        parts = [part for part in KEY_PARTS.split(key) if part]
        # A button called “submit” says what it does by its value.
        named = value not in (None, False) and name_of(key) not in ACTION_FIELDS and writes(key)
        if named:
            return True
        if value in (False, "false", "0") and parts and name_of(parts[-1]) in _TRIALS:
            return True
        said = words_in(str(value)[:256]) if value is not None else []
        for name in map(name_of, parts):
            if name in ACTION_FIELDS and (writes(value) or not WRITING_NOUNS.isdisjoint(said[:1])):
                return True
            if name in STATEMENTS | {"query", "q"} and not STATEMENT_VERBS.isdisjoint(said[:1]):
                return True
    return False


_TRIALS: Final = frozenset({"dryrun", "simulate", "preview", "test"})
