"""The parameters of an address: whether one of them says what is to be done, and whether one names a record."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import unquote_plus

import msgspec

from protocol.risk.address_words import (
    ACTIONS,
    ACTIONS_TOO,
    ADDS,
    CARTS,
    CHANGING,
    CHANGING_LAST,
    CHANGING_NAMES,
    CLEAR,
    FILES,
    IMPLIED,
    METHODS,
    NO,
    NOT_GLUED,
    NOUNS,
    ON_OFF,
    OPTIONS,
    OVERRIDES,
    PAIRS,
    ROUTES,
    STATEMENT_VERBS,
    STATEMENTS,
    STOPS,
    SWITCHED,
    SWITCHES,
    WEAK,
    word_set,
)
from protocol.risk.letters import decoded, plain
from protocol.risk.segments import Order, is_glued, is_id, leaves, order_of, without_extension, words_in

_KEY_PARTS: Final = re.compile(r"[\[\].:]+")
_ROUTE: Final = re.compile(r"[\w./:~-]{1,200}")
_SPACE_NAME: Final = re.compile(r"[^\s/:]{2,24}:[^\s/:]{2,60}")
_QUIET: Final = word_set(
    "page pages view mode lang language sort order filter search tab template theme layout version section q term "
    "category cat tag tags form label status list type title content text location date time field column link like "
    "site app api format style all my own me this it these selected many batch login key token theme variant post "
    "story reply quote exam expense plan host history"
)
"""Nouns that as a key choose what is shown."""
_NO_ID_VALUE: Final = word_set(" 0 asc desc all none null true false new")
_NO_RECORD: Final = word_set("sid sessionid phpsessid jsessionid gclid fbclid clientid trackid langid width")
_GENERIC: Final = word_set("param job m f type what request req func2 verb event component name call process")
"""Of the keys that may say what is to be done, those that say anything else as often: they need an object."""
_STRICT: Final = frozenset({"del", "rm", "drop", "kill", "ban", "trash", "cancel", "wipe"})
_PAIRS_MAX: Final = 1_000  # as PHP
_JSON_CHARS_MAX: Final = 8_192
_JSON_PAIRS_MAX: Final = 256
_CORE_ENDINGS: Final = ("action", "cmd")
_BARE: Final = ("delete", "remove", "destroy", "purge", "clear", "empty", "flush")
"""A key without a value that begins so is an order: ``?clearcache``."""
_PUT: Final = CARTS | {"product", "item"}
_VERBS: Final = tuple(
    sorted(
        (verb for verb in (CLEAR | WEAK | CHANGING) - CHANGING_NAMES if verb.isascii() and len(verb) > 2),
        key=len,
        reverse=True,
    )
)
_ENDINGS: Final = frozenset({"ing", "ings", "ers", "ion", "ions", "able", "ance", "ment", "ments", "edit"})
_PASSWORD: Final = re.compile(
    r"(?:reset|lost|forgot|recover|change)[a-z_-]*pass|pass[a-z_-]*(?:reset|lost|forgot|recover|change)"
)


class Parameters:
    """The parameters of one address, in order."""

    def __init__(self, query: str) -> None:
        self._pairs: list[tuple[str, str]] = []
        self.has_id = False
        """Whether one of them names a record."""
        self.has_number = False
        """Whether one of them does by an id."""
        self.add(query)

    def __bool__(self) -> bool:
        return bool(self._pairs)

    def add(self, text: str) -> None:
        """More of them, as they are written in an address."""
        for piece in re.split("[&;]", text):
            if piece and len(self._pairs) < _PAIRS_MAX:
                key, _, value = piece.partition("=")
                self._pairs.append((decoded(unquote_plus(key)).strip(), decoded(unquote_plus(value)).strip()))
                names = _names_record(*self._pairs[-1])
                self.has_id = self.has_id or names
                self.has_number = self.has_number or (names and _is_number(*self._pairs[-1]))

    def order(
        self, route: Callable[[str, Parameters], Order | None], *, path_has_id: bool, last: str = ""
    ) -> Order | None:
        """What the first of them that says it orders.

        route: reads a value as a path within the application. path_has_id: whether the path names a record.
        last: name of the last segment of the path.
        """
        has_object = path_has_id or self.has_id
        for key, value in self._all():
            found = (
                _hidden(key, value)
                or _key_order(key, value)
                or _value_order(key, value, has_object, len(self._pairs) > 1)
                or self._routed(key, value, route, has_object)
                or self._switch(key, value, last)
                or self._put(key, value, last)
            )
            if found:
                return found
        return None

    def _all(self) -> Iterator[tuple[str, str]]:
        for key, value in self._pairs:
            yield key, value
            if value[:1] in ("{", "[") and len(value) <= _JSON_CHARS_MAX:
                yield from _flat(value)

    def _put(self, key: str, value: str, last: str) -> Order | None:
        """What puts something into a cart: ``/cart?add=7``, ``/cart.php?do=add&item=7``."""
        name = plain(key)
        adds = last in CARTS and (
            (name in ADDS and is_id(value)) or (name in ACTIONS and plain(value) in ADDS and self.has_id)
        )
        return Order(f"add to {last}", "changing", whole=False) if adds else None

    def _switch(self, key: str, value: str, last: str) -> Order | None:
        """A verb as a key, beside an id: ``?publish=1&id=7``; or what is on or off: ``/set?lamp=7&state=on``."""
        name = plain(key)
        if value.lower() in ON_OFF and (last in SWITCHES or name in SWITCHED):
            return Order(f"{name}={value.lower()}", "changing", whole=True)
        switched = self.has_number and name in CHANGING_LAST and value.lower() in ("", "0", "1", "true", "yes", "on")
        return Order(name, "changing", whole=True) if switched else None

    def _routed(
        self, key: str, value: str, route: Callable[[str, Parameters], Order | None], has_object: bool
    ) -> Order | None:
        name = (words_in(_last(key)) or [""])[-1]
        if not value and key.count("/") > 1:
            return route(key, self)
        if name not in ROUTES or "://" in value or not _ROUTE.fullmatch(value):
            return None
        stem, extension = without_extension(value)
        if extension in FILES:
            return None
        if "/" in stem or ":" in stem:
            return route(stem, self)
        if name == "q":
            return None  # a search
        if leaves(stem):
            return Order("log out", "clear", whole=True)
        found = order_of(stem)
        return found if found and found.kind == "clear" and (has_object or not found.whole) else None


def _flat(text: str) -> Iterator[tuple[str, str]]:
    """Names and values of a JSON text."""
    try:
        waiting = [("", msgspec.json.decode(text))]
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return
    for _ in range(_JSON_PAIRS_MAX):
        if not waiting:
            return
        key, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(str(name), each) for name, each in value.items()]
        elif isinstance(value, list):
            waiting += [(key, each) for each in value]
        elif key:
            yield key, "" if value is None else str(value)


def _last(key: str) -> str:
    parts = [part for part in _KEY_PARTS.split(key) if part]
    return parts[-1] if parts else ""


def _names_record(key: str, value: str) -> bool:
    name = plain(_last(key))
    if not value or value.lower() in _NO_ID_VALUE or not name or name in _NO_RECORD:
        return False
    words = words_in(_last(key))
    if words and (
        words[-1]
        in (
            "id",
            "ids",
            "uid",
            "gid",
            "pid",
            "tid",
            "cid",
            "fid",
            "nid",
            "pk",
            "no",
            "nr",
            "num",
            "idx",
            "item",
            "uuid",
        )
    ):
        return True
    if is_id(value) and words and words[-1] not in _QUIET and words[-1] in NOUNS:
        return True
    if len(name) <= 4 and name.endswith("id"):
        return True
    return bool(words) and words[-1] in NOUNS and words[-1] not in _QUIET


def _hidden(key: str, value: str) -> Order | None:
    """What replaces the method, or is a language of its own."""
    name = plain(key)
    lowered = value.lower()
    if (name in OVERRIDES or name == "method") and lowered in METHODS and not (name == "method" and lowered == "post"):
        return Order(f"{name}={value.upper()}", "clear", whole=True)
    if "mutation" in lowered and "{" in lowered.partition("mutation")[2]:
        return Order("mutation", "clear", whole=True)
    if name in STATEMENTS and (words_in(value[:64]) or [""])[0] in STATEMENT_VERBS:
        return Order(words_in(value[:64])[0], "clear", whole=True)
    if name == "stream.body" and value:
        return Order("stream.body", "clear", whole=True)
    if _SPACE_NAME.fullmatch(value) and leaves(value.partition(":")[2]):
        return Order("log out", "clear", whole=True)
    return None


def _key_order(key: str, value: str) -> Order | None:
    """The order in a key: ``?delete=7``, ``op[delete]``, ``remove_item``, ``empty-cart``."""
    if value.lower() in NO:
        return None
    for part in _KEY_PARTS.split(key):
        words = words_in(part)
        if not words or len(words) > 5:
            continue
        found = _key_words(words, value)
        if found:
            return found
    return None


def _key_words(words: list[str], value: str) -> Order | None:
    first, last = words[0], words[-1]
    if tuple(words[:2]) in PAIRS or (len(words) > 2 and (first, last) in PAIRS):
        return Order(" ".join((first, last)), "clear" if first != "add" else "changing", whole=False)
    if first.startswith("from") and len(words) == 1:
        return None
    if any(map(is_glued, words)) or (first in CLEAR and len(words) == 2 and last.isdigit()):
        return Order(first, "clear", whole=False)
    if len(words) == 1:
        if first in CLEAR or (not value and first.startswith(_BARE) and first not in NOT_GLUED):
            return Order(first, "clear", whole=True)
        short = first in ("del", "rm", "wipe") and (not value or is_id(value) or "_" not in value)
        chosen = short or (first in _STRICT and is_id(value) and value != "1")
        chosen = chosen or (first in ("empty", "clear") and plain(value) in IMPLIED)
        return Order(first, "weak", whole=True) if chosen else None
    if first in CLEAR and words[1] not in OPTIONS and (last in NOUNS or _is_real_id(value) or last in ("x", "y")):
        return Order(first, "clear", whole=False)
    if last in CLEAR and (
        words[-2] in NOUNS or words[-2] in ("btn", "button", "do", "bulk", "mass", "submit", "action", "confirm")
    ):
        return Order(last, "clear", whole=False)
    if first in ("del", "rm") and words[1] not in OPTIONS:
        return Order(first, "weak", whole=False)
    owned = last in IMPLIED or last in CARTS or (last in NOUNS and _is_real_id(value))
    if first in WEAK and first not in ("disable", "block") and owned:
        return Order(first, "weak", whole=False)
    return None


def _is_number(key: str, value: str) -> bool:
    return is_id(value) and (value not in ("0", "1") or plain(key).endswith(("id", "ids")))


def _is_real_id(value: str) -> bool:
    return value not in ("0", "1") and is_id(value)


def _value_order(key: str, value: str, has_object: bool, is_one_of_many: bool) -> Order | None:
    """The order in the value of a key that says what is to be done."""
    words = words_in(_last(key))
    if not words or not value or len(value) > 200:
        return None
    name = "".join(words)
    core = (
        name in ACTIONS
        or name.endswith(_CORE_ENDINGS)
        or (len(words) > 1 and words[-1] in ACTIONS and len(words[-1]) > 1)
    )
    if not core and name not in ACTIONS_TOO and words[:1] != ["submit"]:
        return None
    if leaves(value) and len(words_in(value)) <= 3:
        return Order("log out", "clear", whole=True)
    if _PASSWORD.search(plain(value)):
        return None
    found = order_of(without_extension(value)[0])
    if found and found.word in CHANGING_NAMES and not (core and has_object):
        found = None
    if found and found.kind == "clear":
        return found if core or name not in _GENERIC or has_object else None
    if found and found.kind == "weak" and (core or has_object):
        return found
    if found and found.kind == "changing" and found.whole and has_object and name in ("what", "mode", "submit"):
        return found
    named = words_in(value)
    if core and 1 < len(named) <= 4 and named[0] in WEAK and named[-1] in NOUNS | IMPLIED:
        return Order(named[0], "weak", whole=False)
    if not core:
        return _named_verb(value) if name in ("method", "operationname") else None
    if found and found.kind == "changing" and found.whole and is_one_of_many:
        return found
    return _named_verb(value) or (_verb_beside(value, has_object) if has_object or is_one_of_many else None)


def _verb_beside(value: str, has_object: bool) -> Order | None:
    """The verb of an action beside an id, as in ``banuser``, ``activate_user`` or ``article.trash``."""
    words = words_in(value)
    if not 0 < len(words) <= 4 or " " in value:
        return None
    if words[0] == "add" and words[-1] in _PUT:
        return Order("add", "changing", whole=False)
    for index, word in enumerate(words):
        named = index in (0, len(words) - 1) or words[index + 1] in NOUNS
        changing = word in CHANGING and (word not in CHANGING_NAMES or (has_object and len(words) == 1))
        if named and (word in WEAK or changing):
            return Order(word, "changing" if changing else "weak", whole=False)
    verb = next((verb for verb in _VERBS if words[0].startswith(verb)), "")
    rest = words[0].removeprefix(verb)
    named = (rest in NOUNS and has_object) or (len(verb) >= 5 and len(rest) >= 3 and rest not in _ENDINGS)
    return Order(verb, "weak", whole=False) if verb and named else None


def _named_verb(value: str) -> Order | None:
    """``posts.publish``, ``item_remove_dq``: the clear verb of a longer name."""
    words = words_in(value)
    if len(words) > 6 or " " in value:
        return None
    for index, word in enumerate(words):
        after = words[index + 1] if index + 1 < len(words) else ""
        if word in STOPS:
            return None
        if (word in CLEAR or is_glued(word)) and after not in OPTIONS:
            return Order(word, "clear", whole=False)
    return None
