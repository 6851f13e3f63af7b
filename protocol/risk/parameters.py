"""The parameters of an address: whether one of them says what is to be done, and whether one names a record."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import unquote_plus

import msgspec

from protocol.risk.action_values import KEY_PARTS, last_part, value_order
from protocol.risk.address_words import (
    ACTIONS,
    ADDS,
    CARTS,
    CHANGING_LAST,
    CLEAR,
    FILES,
    IMPLIED,
    MARKS,
    METHODS,
    NO,
    NOT_GLUED,
    NOUNS,
    ON_OFF,
    OPTIONS,
    OVERRIDES,
    PAIRS,
    RECORD_VALUES,
    ROUTES,
    STATEMENT_VERBS,
    STATEMENTS,
    SWITCHED,
    SWITCHES,
    WEAK,
    word_set,
)
from protocol.risk.letters import decoded, plain
from protocol.risk.proofs import Last, Proofs
from protocol.risk.segments import Order, is_glued, is_id, leaves, order_of, without_extension, words_in

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
_IDS: Final = word_set("id ids uid gid pid tid cid fid nid pk no nr num idx item uuid")
"""As the last word of a key they name a record."""
_STRICT: Final = frozenset({"drop", "kill", "ban", "trash", "cancel", "wipe"})
"""Weak verbs that are an order as a key whose value is an id: ``?kill=7``."""
_MARKED: Final = frozenset({"forums", "topics"})
"""What ``mark`` marks as read. Elsewhere it is a make of cars, a grade, or a word that is shown in colour."""
_PAIRS_MAX: Final = 1_000  # as PHP
_JSON_CHARS_MAX: Final = 8_192
_JSON_PAIRS_MAX: Final = 256
_AUDITS: Final = word_set(
    "audit audits auditlog audit-log audit_log auditlogs audit-logs audit_logs audit-trail audittrail"
)
_LOGS: Final = _AUDITS | word_set("log logs activity activity-log activitylog activity_log")
_OF_LOG: Final = word_set("from to since until page level user sort limit q start end date actor")
_DECISIONS: Final = word_set("decision response rsvp answer approval verdict")
_DECIDED: Final = word_set("approve approved reject rejected accept accepted decline declined yes no deny denied")
_SHOWN_BY: Final = word_set(
    "q s query search term kw keyword keywords word t tab state status name title slug set label event events ea ev evt en e_a e "
    "reason from source ref scope permission lemma kind change_type glyph"
)
"""Keys of what is searched for or shown, whatever their value says."""
_DIRECT: Final = frozenset(
    {
        "stream.body",
        "_switch_user",
        "add2queue",
        "invoke",
        "invokeop",
        "change_subscription_to",
        "order_again",
        "apply_coupon",
        "newuseremail",
        "adminhash",
    }
)
"""Keys that are an order whatever their value: of Solr, Symfony, TeamCity, JMX, WooCommerce."""
_BUTTONS: Final = (CLEAR | WEAK | CHANGING_LAST) - {"close", "cancel", "reset", "exit", "clear"} | word_set(
    "save change connect send pay buy"
)
_QUERIED: Final = re.compile(
    r"\s*(?:drop\s+(?:table|database|view|measurement|user|index)|truncate\s+table|insert\s+into|delete\s+from|"
    r"alter\s+(?:table|user|database)|update\s+\w+\s+set|create\s+(?:table|database|user))\b",
    re.IGNORECASE,
)
"""Statements of SQL that write, in words that nobody searches for where databases are asked."""
_BARE: Final = ("delete", "remove", "destroy", "purge", "clear", "empty", "flush")
"""A key without a value that begins so is an order: ``?clearcache``."""


class Parameters:
    """The parameters of one address, in order."""

    def __init__(self, query: str) -> None:
        self._pairs: list[tuple[str, str]] = []
        self.has_id = False
        """Whether one of them names a record."""
        self.has_number = False
        """Whether one of them does by an id."""
        self._called: set[str] = set()
        """What they are called, as words are compared: each is asked for it, and there can be a thousand."""
        self.add(query)

    @property
    def keys(self) -> set[str]:
        """What they are called."""
        return {key for key, _ in self._pairs}

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Names and values, decoded."""
        return tuple(self._pairs)

    @property
    def proves(self) -> bool:
        """Whether one of them is a token that proves where the link stood, or that whoever has it got it by mail."""
        return Proofs(self._pairs).clearly

    def __bool__(self) -> bool:
        return bool(self._pairs)

    def add(self, text: str) -> None:
        """More of them, as they are written in an address."""
        for piece in re.split("[&;]", text):
            if piece and len(self._pairs) < _PAIRS_MAX:
                key, _, value = piece.partition("=")
                self._pairs.append((decoded(unquote_plus(key)).strip(), decoded(unquote_plus(value)).strip()))
                self._called.add(plain(self._pairs[-1][0]))
                names = _names_record(*self._pairs[-1])
                self.has_id = self.has_id or names
                self.has_number = self.has_number or (names and _is_number(*self._pairs[-1]))

    def order(self, route: Callable[[str, Parameters], Order | None], *, path_has_id: bool, ends: Last) -> Order | None:
        """What the first of them that says it orders.

        route: reads a value as a path within the application. path_has_id: whether the path names a record.
        ends: the last segment of the path.
        """
        has_object, last, proofs = path_has_id or self.has_id, ends.name, Proofs(self._pairs)
        logged = self._is_log(last) and not (path_has_id or self.has_number)
        commanded = any(key == "type" and value == "command" for key, value in self._pairs)
        for key, value in self._all():
            key = "cmd" if commanded and key == "param" else key  # of Domoticz
            found = (
                _hidden(key, value)
                or _key_order(key, value)
                or (
                    not (logged and _looks_for(key, value))
                    and value_order(key, value, has_object, len(self._pairs) > 1)
                )
                or proofs.of_pair(key, value)
                or self._routed(key, value, route, has_object)
                or self._switch(key, value, last)
                or self._decided(key, value)
                or self._put(key, value, last)
            )
            if found:
                return found
        return proofs.at_end(ends, has_object=has_object)

    def _is_log(self, last: str) -> bool:
        """Whether a log is read, in which an action is looked for: ``/audit?action=delete&from=2024-01-01``."""
        by = self._called & _OF_LOG
        return (last in _AUDITS or last in _LOGS) and bool(
            by - {"until"} or (last in _AUDITS and len(self._pairs) == 1)
        )

    def _all(self) -> Iterator[tuple[str, str]]:
        for key, value in self._pairs:
            yield key, value
            if value[:1] in ("{", "[") and len(value) <= _JSON_CHARS_MAX:
                yield from _flat(value)

    def _put(self, key: str, value: str, last: str) -> Order | None:
        """What puts something into a cart: ``/cart?add=7``, ``/cart.php?do=add&item=7``."""
        name = plain(key)
        if (
            name in ("q", "query", "statement")
            and last in ("query", "exec", "sql", "execute")
            and _QUERIED.match(value)
        ):
            return Order(words_in(value[:64])[0], "clear", whole=True)
        if last in ("relay", "light", "roller", "switch", "cover") and name in ("state", "go", "brightness") and value:
            return Order(f"{last} {name}", "changing", whole=True)
        if name == "name" and plain(value) in CLEAR and "value" in self._called:
            return Order(plain(value), "clear", whole=True)  # the name of a call, and what it is given
        said = words_in(value)
        if name in ACTIONS and self.has_id and words_in(last)[:1] == ["mark"] and said[-1:] and said[-1] in MARKS:
            return Order(f"mark {said[-1]}", "changing", whole=False)
        adds = last in CARTS and (
            (name in ADDS and is_id(value)) or (name in ACTIONS and plain(value) in ADDS and self.has_id)
        )
        return Order(f"add to {last}", "changing", whole=False) if adds else None

    def _switch(self, key: str, value: str, last: str) -> Order | None:
        """A verb as a key, beside an id: ``?publish=1&id=7``; or what is on or off: ``/set?lamp=7&state=on``."""
        name = plain(key)
        if value.lower() in ON_OFF and (last in SWITCHES or name in SWITCHED):
            return Order(f"{name}={value.lower()}", "changing", whole=True)
        if name in CHANGING_LAST and self.has_number and value.lower() in ("", "0", "1", "true", "yes", "on"):
            return Order(name, "changing", whole=True)
        if name in RECORD_VALUES and _is_real_id(value):
            return Order(name, "changing", whole=True)
        if name == "mark" and plain(value) in _MARKED:
            return Order(f"mark {plain(value)}", "changing", whole=True)
        return None

    def _decided(self, key: str, value: str) -> Order | None:
        """A decision on a record, by any key: ``decision=approve``; or a clear verb: ``x=delete&id=7``."""
        name, said = plain(last_part(key)), plain(value)
        done = said.endswith("ed")  # what lists are filtered by, unless it is said of one
        one = not done or not {"id", "item"}.isdisjoint(self._called)
        if name in _DECISIONS and said in _DECIDED and self.has_number and one:
            return Order(f"{name} {said}", "changing", whole=True)
        shown = name in _QUIET | _SHOWN_BY or name.startswith("utm_") or leaves(said)
        clear = said in CLEAR and self.has_number and not shown
        return Order(said, "clear", whole=True) if clear else None

    def _routed(
        self, key: str, value: str, route: Callable[[str, Parameters], Order | None], has_object: bool
    ) -> Order | None:
        name = (words_in(last_part(key)) or [""])[-1]
        if not value and key.count("/") > 1:
            return route(key, self)
        if name not in ROUTES or "://" in value or not _ROUTE.fullmatch(value):
            return None
        stem, extension = without_extension(value)
        if extension in FILES:
            return None
        if name == "q" and "/" not in stem:
            return None  # a search, perhaps in a field: “delete:true”
        if "/" in stem or ":" in stem:
            return route(stem, self)
        if leaves(stem):
            return Order("log out", "clear", whole=True)
        found = order_of(stem)
        return found if found and found.kind == "clear" and (has_object or not found.whole) else None


def _looks_for(key: str, value: str) -> bool:
    """Whether a parameter of a log says what is looked for in it. What clears the log itself, it does not."""
    words = words_in(value)
    clears = not _OF_WHOLE_LOG.isdisjoint(words)
    return plain(key) in ("action", "event", "type", "operation") and not clears and len(words) <= 2


_OF_WHOLE_LOG: Final = word_set("clear purge empty flush truncate prune reset all wipe")


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


def _names_record(key: str, value: str) -> bool:
    name = plain(last_part(key))
    if value.startswith(("cs_test_", "cs_live_")) and name == "session_id":
        return False  # where Stripe leads back to, of a purchase that was given up
    if not value or value.lower() in _NO_ID_VALUE or not name or name in _NO_RECORD:
        return False
    words = words_in(last_part(key))
    if name.endswith(("id", "ids")) and (len(name) <= 4 or _is_real_id(value)):
        return True
    return bool(words) and (words[-1] in _IDS or (words[-1] in NOUNS and words[-1] not in _QUIET))


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
    if name == lowered and name in _BUTTONS:
        return Order(name, "changing", whole=True)  # a button of a form, which is called as it says
    if name in _DIRECT and value:
        return Order(name, "clear", whole=True)
    if name == "cmd_mod" and value == "2":
        return Order("commit", "changing", whole=True)  # of Nagios
    if _SPACE_NAME.fullmatch(value) and leaves(value.partition(":")[2]):
        return Order("log out", "clear", whole=True)
    return None


def _key_order(key: str, value: str) -> Order | None:
    """The order in a key: ``?delete=7``, ``op[delete]``, ``remove_item``, ``empty-cart``."""
    if value.lower() in NO:
        return None
    for part in KEY_PARTS.split(key):
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
    if any(map(is_glued, words)) or (first in CLEAR and len(words) == 2 and last.isdigit()):
        return Order(first, "clear", whole=False)
    if len(words) == 1:
        switches = not value and first.startswith(("status", "duplicate")) and first[6:].removeprefix("ate") in NOUNS
        if switches:
            return Order(first, "changing", whole=True)
        if first in CLEAR or (not value and first.startswith(_BARE) and first not in NOT_GLUED):
            return Order(first, "clear", whole=True)
        chosen = (first in ("del", "rm") and "_" not in value) or (first in _STRICT and _is_real_id(value))
        return Order(first, "weak", whole=True) if chosen or (first in WEAK and plain(value) in IMPLIED) else None
    if first in CLEAR and words[1] not in OPTIONS and (last in NOUNS or _is_real_id(value)):
        return Order(first, "clear", whole=False)
    if last in CLEAR and (
        words[-2] in NOUNS or words[-2] in ("btn", "button", "do", "bulk", "mass", "submit", "action", "confirm")
    ):
        return Order(last, "clear", whole=False)
    if first in ("del", "rm") and words[1] not in OPTIONS:
        return Order(first, "weak", whole=False)
    owned = last in IMPLIED or last in CARTS or (last in NOUNS and _is_real_id(value))
    if first in WEAK and first != "disable" and owned:
        return Order(first, "weak", whole=False)
    return None


def _is_number(key: str, value: str) -> bool:
    return is_id(value) and (value not in ("0", "1") or plain(key).endswith(("id", "ids")))


def _is_real_id(value: str) -> bool:
    return value not in ("0", "1") and is_id(value)
