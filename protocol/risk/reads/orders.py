"""Finds orders in a request: signs that it does more than read."""

from __future__ import annotations

from typing import Final

from protocol.risk.addresses.address_words import STATEMENT_VERBS, STATEMENTS
from protocol.risk.addresses.segments import words_in
from protocol.risk.reads.bodies import KEY_PARTS, Pairs, name_of
from protocol.risk.reads.words import ACTION_FIELDS, READING_VERBS, SEARCH_WORDS, WRITING_NOUNS, WRITING_VERBS


def writes(name: object) -> bool:
    """True if the name of a method, an operation or a value contains a writing verb."""
    words = words_in(str(name)[:256])
    return any(word in WRITING_VERBS or any(map(word.startswith, ("delete", "remove", "destroy"))) for word in words)


_ACTIONS_OF_QWIK: Final = frozenset({"qaction", "qfunc"})
_EVENTS: Final = frozenset({"eventtarget", "eventargument"})


def orders(pairs: Pairs | None) -> bool:
    """True if a field that names the operation has any value but searching; also for unreadable fields."""
    if pairs is None:
        return True
    for key, value in pairs:
        if key.startswith("/") or (name_of(key) in _EVENTS and value):
            return True  # an action of SvelteKit or an event of ASP.NET; ``turns`` knows those that read
        if name_of(key) in _ACTIONS_OF_QWIK:
            return True
        if name_of(key) in ACTION_FIELDS and not isinstance(value, (int, float)):
            words = words_in(str(value)[:256])
            if any(word not in SEARCH_WORDS and word not in READING_VERBS for word in words):
                return True
    return False


def of_server_pages(key: str) -> bool:
    """True if it is a field of a framework (JSF, ASP.NET, Spring Web Flow, Struts) that sends all buttons of a page to the page's
    address, under meaningless names.
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
    """True if a field, at any depth, shows that something is changed: the name of the button “save” beside “preview”, perhaps
    without a value; one operation of a list; a statement of SQL; or a sign that it is no trial.
    """
    for key, value in pairs:
        parts = [part for part in KEY_PARTS.split(key) if part]
        # A button called “submit” has its meaning in its value.
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
