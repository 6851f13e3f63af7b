"""Reads the parameters of an address: finds orders, ids of records, and tokens that prove where a link came from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import unquote_plus

import msgspec

from protocol.risk.addresses import address_words as V
from protocol.risk.addresses.address_words import word_set
from protocol.risk.addresses.letters import decoded, plain
from protocol.risk.addresses.segments import Order, is_id, kind_of, leaves, order_of, without_extension, words_in

_KEY_PARTS: Final = re.compile(r"[\[\].:]+")
_ROUTE: Final = re.compile(r"[\w./:~-]{1,200}")
_PROOF: Final = re.compile(r"t|tok|sig|signature|code|\w*(?:token|key|hash)")
_PROOF_CHARS: Final = 3
_TIME: Final = re.compile(r"\d{1,13}|(?:\d+[hms])+|all|day|week|month|year")
"""``t`` is often the time of loading, or a position in a video."""
_CURRENCY: Final = re.compile(r"[A-Z]{2,3}")
_PAIRS_MAX: Final = 1_000  # the limit of PHP
_VALUE_CHARS_MAX: Final = 200
_JSON_CHARS_MAX: Final = 8_192
_JSON_PAIRS_MAX: Final = 256
_PERIODS: Final = word_set("start end order close reset clear exit save disable enable leave")
"""Verbs that, as a key, name a period, a button or an option."""
_BUTTONS: Final = V.NOUNS | word_set("btn button do bulk mass submit action confirm")
_QUERIES: Final = word_set("query exec sql execute")
Route = Callable[[str], Order | None]
"""Reads a value as a path within the application."""


class Parameters:
    """The parameters of one address, in order."""

    def __init__(self, query: str) -> None:
        self.pairs: list[tuple[str, str]] = []
        """Names and values, decoded."""
        self.has_id = False
        """True if one of them names a record."""
        self.has_number = False
        """True if one of them names a record by an id."""
        self.guarded = False
        """True if one of them is a framework's token against forgery."""
        self.nonce = False
        """True if one of them is WordPress's token, which every action there needs."""
        self._proofs: set[str] = set()
        """The names of tokens of any kind, as in links in mails."""
        self.add(query)

    @property
    def proves(self) -> bool:
        """True if one of them is a token of any kind. A code together with a state is none: both come back from a login at another
        site.
        """
        return bool(self._proofs - {"code"}) or (
            "code" in self._proofs and all(key != "state" for key, _ in self.pairs)
        )

    def add(self, text: str) -> None:
        """Add further parameters, given as they are written in an address."""
        for piece in re.split("[&;]", text):
            if piece and len(self.pairs) < _PAIRS_MAX:
                key, _, value = piece.partition("=")
                self._note(decoded(unquote_plus(key)).strip(), decoded(unquote_plus(value)).strip())

    def _note(self, key: str, value: str) -> None:
        self.pairs.append((key, value))
        name, words = plain(_last_part(key)), words_in(_last_part(key))
        numbered = is_id(value) and (value not in ("0", "1") or name.endswith(("id", "ids")))
        if _names_record(name, words, value):
            self.has_id, self.has_number = True, self.has_number or numbered
        if value and "".join(words) in V.TOKENS:
            self.guarded, self.nonce = True, self.nonce or words[-1] == "wpnonce"
        if len(value) >= _PROOF_CHARS and _PROOF.fullmatch(name) and name not in V.OF_CLIENTS:
            self._proofs |= {name} - ({"t"} if _TIME.fullmatch(value) else set())

    def order(self, route: Route, *, path_has_id: bool, end: str) -> Order | None:
        """The first order that one of them gives. path_has_id: True if the path names a record. end: the last segment of the
        path.
        """
        record = path_has_id or self.has_id
        keys = {plain(key) for key, _ in self.pairs}
        looked_up = not V.LOGS.isdisjoint(words_in(end)[:1]) and not (path_has_id or self.has_number)
        for key, value in self._all():
            name = plain(_last_part(key))
            found = _hidden(name, value, end) or self._key(key, value)
            found = (
                found
                or (None if looked_up and _looks_for(name, value) else self._value(key, value, record))
                or self._elsewhere(name, value)
            )
            if found := found or self._put(name, value, end) or _routed(key, value, route, record):
                return found
        return _pays(end, self.pairs) if keys & V.SUMS else None

    def _all(self) -> Iterator[tuple[str, str]]:
        for key, value in self.pairs:
            yield key, value
            if value[:1] in ("{", "[") and len(value) <= _JSON_CHARS_MAX:
                yield from _flat(value)

    def _key(self, key: str, value: str) -> Order | None:
        """The order in a key, such as ``?delete=7``, ``op[delete]``, ``remove_item``, ``empty-cart`` or ``like=7``."""
        for part in _KEY_PARTS.split(key) if plain(value) not in V.NO else ():
            order, words = order_of(part), words_in(part)
            if order and self._keyed(order, words, value):
                return order
            if self.guarded and words and kind_of(words[0]) and words[0] not in _PERIODS:
                return Order(words[0], "changing")
        return None

    def _keyed(self, order: Order, words: list[str], value: str) -> bool:
        real = is_id(value) and value not in ("0", "1")
        switched = not value or plain(value) in V.YES
        if self.guarded and order.word not in _PERIODS:
            return True
        if order.kind == "clear":
            return order.whole or real or not value or len(words) == 1 or not _BUTTONS.isdisjoint(words)
        if plain(value) == "".join(words) and order.whole and order.word not in _PERIODS:
            return order.kind != "token"  # the button of a form, whose name is its label
        if order.word in ("del", "rm"):
            return "_" not in value
        if order.kind == "weak" and plain(value) in V.IMPLIED:
            return True
        if order.word in V.BEFORE_RECORD:
            return real
        if order.word in _PERIODS or order.kind in ("name", "token") or order.word.startswith("set "):
            return False
        return real or (switched and (order.own or (order.whole and self.has_number)))

    def _value(self, key: str, value: str, record: bool) -> Order | None:
        """The order in the value of a key for operations, such as ``action=delete``, ``do=markRead`` or ``op=ban&id=7``."""
        words = words_in(_last_part(key))
        name = "".join(words)
        core = name in V.ACTIONS or name.endswith(("action", "cmd"))
        core = core or (len(words) > 1 and words[-1] in V.ACTIONS and len(words[-1]) > 1)
        if not value or len(value) > _VALUE_CHARS_MAX or not (core or name in V.ACTIONS_TOO or words[:1] == ["submit"]):
            return None
        if leaves(value):
            return Order("log out", "clear")
        order, said = order_of(without_extension(value)[0]), words_in(value)
        many = len(self.pairs) > 1
        if order and self._says(order, name, core=core, record=record, many=many):
            return order
        if not core or not said or " " in value:
            return None
        if self.nonce and key == "action" and V.SHOWN.isdisjoint(said) and not said[0].isdigit():
            return Order(value[:40], "changing")
        if record and (
            said[0] in V.BESIDE_RECORD or (said[-1] in V.ON_OFF and (len(said) == 1 or said[0] in V.SWITCHED))
        ):
            return Order(said[0], "changing")
        return _edge(said) if record or many or said[-1] in V.IMPLIED else None

    def _says(self, order: Order, name: str, *, core: bool, record: bool, many: bool) -> bool:
        if order.kind == "clear":
            return core or record or name not in V.GENERIC
        if order.kind == "weak":
            return core or record
        if order.kind == "changing":
            asked = record or many or order.word.startswith("set ")
            return self.guarded or (asked and (core or name in ("what", "mode", "submit")))
        return self.guarded or (core and record and order.kind == "name")

    def _elsewhere(self, name: str, value: str) -> Order | None:
        """A decision about a record under any key (``decision=approve``), or a clear verb (``x=delete&id=7``)."""
        said = plain(value)
        decides = name in V.DECISIONS and (kind_of(said) or said in V.YES | {"no"})
        shown = name in V.SEARCHED | V.QUIET or name.startswith("utm_") or leaves(said)
        return Order(said, "clear") if self.has_number and (decides or (said in V.CLEAR and not shown)) else None

    def _put(self, name: str, value: str, end: str) -> Order | None:
        """The order to put something into a cart (``/cart?add=7``, ``/cart.php?do=add&item=7``), or to switch something on
        (``/set?lamp=on``).
        """
        there = plain(end)
        puts = (name in V.ADDS and is_id(value)) or (name in V.ACTIONS and plain(value) in V.ADDS and self.has_id)
        if there in V.CARTS and puts:
            return Order(f"add to {there}", "changing")
        switched = plain(value) in V.ON_OFF and (name in V.SWITCHED or there in V.SWITCHES)
        return Order(f"{name} {value.lower()}", "changing") if switched else None


def _looks_for(name: str, value: str) -> bool:
    """True if a parameter filters the entries of a log instead of changing the log."""
    words = words_in(value)
    return name in ("action", "event", "type", "operation") and len(words) <= 2 and V.LOG_ORDERS.isdisjoint(words)


def _edge(said: list[str]) -> Order | None:
    """The verb of a name, beside a record or other parameters: ``reset_hitcounters``, ``article.trash``, ``add_product``."""
    for at, word in enumerate(said):
        kind = kind_of(word)
        edge = at in (0, len(said) - 1) or said[at + 1] in V.NOUNS
        if kind == "clear" or (edge and (kind in ("weak", "changing") or (word == "add" and len(said) > 1))):
            return Order(word, kind or "changing", whole=False)
    return Order("add", "changing") if said[0].startswith("add") and said[0][3:] in V.NOUNS else None


def _hidden(name: str, value: str, end: str) -> Order | None:
    """An order that overrides the method, or is written in a query language."""
    lowered, said = value.lower(), words_in(value[:64])
    if (name in V.OVERRIDES or name == "method") and lowered in V.METHODS and (name, lowered) != ("method", "post"):
        return Order(f"{name}={value.upper()}", "clear")
    if "mutation" in lowered and "{" in lowered.partition("mutation")[2]:
        return Order("mutation", "clear")
    if name == lowered and name in V.BUTTONS:
        return Order(name, "changing")
    asked = name in V.STATEMENTS or (name in ("q", "query") and plain(end) in _QUERIES)
    if asked and said and (said[0] in V.STATEMENT_VERBS or (said[0] == "truncate")):
        return Order(said[0], "clear")
    space, colon, page = value.partition(":")
    return (
        Order("log out", "clear") if colon and not set(" /") & set(value) and len(space) > 1 and leaves(page) else None
    )


def _routed(key: str, value: str, route: Route, record: bool) -> Order | None:
    name = (words_in(_last_part(key)) or [""])[-1]
    if not value and key.count("/") > 1:
        return route(key)
    stem, extension = without_extension(value)
    if name not in V.ROUTES or "://" in value or not _ROUTE.fullmatch(value) or extension in V.FILES:
        return None
    if name == "q" and "/" not in stem:
        return None  # a search, perhaps within a field: “delete:true”
    if "/" in stem or ":" in stem:
        return route(stem)
    if leaves(stem):
        return Order("log out", "clear")
    found = order_of(stem)
    return found if found and found.kind == "clear" and (record or not found.whole) else None


def _pays(end: str, pairs: list[tuple[str, str]]) -> Order | None:
    """The order in ``/transfer?to=bob&amount=100``; a conversion into another currency is none."""
    to = [value for key, value in pairs if plain(key) in V.PAYEES and value]
    moves = words_in(end)[:1] and words_in(end)[0] in V.MONEY
    return Order(end, "changing") if moves and to and not all(map(_CURRENCY.fullmatch, to)) else None


def _last_part(key: str) -> str:
    """The last name in a key: ``id`` in ``item[id]``, ``op`` in ``op[7]``."""
    parts = [part for part in _KEY_PARTS.split(key) if part]
    names = [part for part in parts if not part.isdigit()]
    return (names or parts or [""])[-1]


def _names_record(name: str, words: list[str], value: str) -> bool:
    if not value or not words or name in V.NO_RECORDS or plain(value) in V.NO | {"asc", "desc", "all", "true", "new"}:
        return False
    if name.endswith(("id", "ids")) and (len(name) <= 4 or (is_id(value) and value not in ("0", "1"))):
        return True
    return words[-1] in V.IDS or (words[-1] in V.NOUNS and words[-1] not in V.QUIET)


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
