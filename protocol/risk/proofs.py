"""Tokens in an address: they prove where a link stood, or that whoever has it got it by mail. What only reads needs none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from protocol.risk.action_values import last_part
from protocol.risk.address_words import (
    ACTIONS,
    ACTIONS_TOO,
    CHANGING_LAST,
    CHANGING_NAMES,
    CLEAR,
    NO,
    NOUNS,
    PROVED,
    PROVED_ALONE,
    PROVED_LAST,
    TOKENS,
    WEAK,
    word_set,
)
from protocol.risk.letters import plain
from protocol.risk.segments import Order, words_in

_VERBS: Final = PROVED | CHANGING_LAST | WEAK
_BEGINNING: Final = re.compile(
    "|".join(sorted({*_VERBS, "set", "switchrole", "loginas", "startattempt", "add", "stick"}, key=len, reverse=True))
)
_GLUED: Final = word_set("attempt tracking completion posts picture")
"""What a verb goes on with in the names of scripts of Moodle, beside nouns."""
_PERIODS: Final = word_set("end start")
"""Verbs that as a key name the end of a period."""
_PROOF: Final = re.compile(r"t|tok|sig|signature|code|\w*(?:token|key|hash)")
_PROOF_CHARS: Final = 3
_TIME: Final = re.compile(r"\d{1,13}|(?:\d+[hms])+|all|day|week|month|year")
"""What ``t`` is as often: when something was loaded, or where a film begins."""
_PAYPAL: Final = re.compile(r"EC-\w+|[0-9A-Z]{17}")
"""By what PayPal leads back, from a purchase that was given up too."""
_OF_CLIENT: Final = word_set("apikey api_key access_key access_token accesskey accesstoken")
"""Keys by which a program is known, whatever it does."""
_NO_COMMAND: Final = word_set("pin rate star like stop close")
"""Verbs that in front of a noun are names: ``/pin-codes``, ``/rate_limit``."""
_SHOWN_WITH_NONCE: Final = word_set(
    "edit view show list search find query get fetch load filter preview new heartbeat export download diff compare generate print"
)
"""What ``action`` says beside a nonce of WordPress where nothing is changed."""
_SHOWN_BY_JIRA: Final = word_set("view configure dashboard export viewprojects")
_SETTINGS: Final = frozenset({"state", "val", "output"})
_RATINGS: Final = frozenset({"vote", "rating", "rate", "score"})
_MOVES_MONEY: Final = word_set("transfer pay send withdraw tip donate")
_SUMS: Final = word_set("amount sum value betrag montant importe")
_PAYEES: Final = word_set("to recipient payee account iban dest destination receiver toaccount")
_CURRENCY: Final = re.compile(r"[A-Z]{2,3}")


class Last(NamedTuple):
    """The last segment of a path."""

    name: str
    """In the form in which words are compared, without its extension."""
    is_file: bool = False
    """Whether it is a file that is loaded or downloaded, by its extension."""
    titled: bool = False
    """Whether titles of texts stand there."""


class Proofs:
    """The tokens among the parameters of one address."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self._pairs = [(plain(last_part(key)), value) for key, value in pairs]
        names = {name for name, _ in self._pairs}
        self.known = any(value and "".join(words_in(last_part(key))) in TOKENS for key, value in pairs)
        """Whether one of them is a token of a framework."""
        self.nonce = any(value and plain(key) in ("_wpnonce", "wpnonce") for key, value in pairs)
        proofs = {name for name, value in self._pairs if _proves(name, value)}
        # Who logs in with another site comes back with both.
        self.any = bool(proofs - {"code"}) or ("code" in proofs and "state" not in names)
        self.clearly = self.known or bool(proofs - {"code", "t"})
        """Whether one of them is a token and nothing else."""
        self._of_client = proofs <= _OF_CLIENT

    def at_end(self, last: Last, *, has_object: bool) -> Order | None:
        """What the last segment orders beside a token, or beside what it needs to act. has_object: whether a record is named."""
        if last.name == "formresponse" and any(name == "entry" for name, _ in self._pairs):
            return Order("form response", "changing", whole=True)
        if self._orders(last, has_object):
            return Order(last.name, "changing", whole=True)
        return self._moves_money(last.name)

    def _orders(self, last: Last, has_object: bool) -> bool:
        names = {name for name, value in self._pairs if value}
        words = words_in(last.name)
        if last.name in ("update", "control") and (names & _SETTINGS or (self.any and len(self._pairs) > 1)):
            return not last.is_file
        if "atl_token" in names:
            return "!default" not in last.name and _SHOWN_BY_JIRA.isdisjoint(words)
        if self.known and last.name in PROVED_LAST:
            return True
        if last.is_file or not words:
            return False
        if self.known and has_object and _is_script(last.name):
            return True
        if self.any and not self._of_client and "password" not in words and _commands(words, last):
            return True
        return has_object and bool(names & _RATINGS) and last.name.endswith(("rate", "vote", "ratethread"))

    def _moves_money(self, last: str) -> Order | None:
        """``/transfer?to=bob&amount=100``; not what converts into another currency."""
        given = {name: value for name, value in self._pairs if value}
        to = [given[name] for name in given.keys() & _PAYEES]
        moves = words_in(last)[:1] and words_in(last)[0] in _MOVES_MONEY and given.keys() & _SUMS
        pays = bool(to) and not all(map(_CURRENCY.fullmatch, to))
        return Order(last, "changing", whole=False) if moves and pays else None

    def of_pair(self, key: str, value: str) -> Order | None:
        """A verb as a key or a value beside a token of a framework: ``watch=topic&hash=ab12``."""
        if not self.known or value.lower() in NO:
            return None
        if not value:
            verb = next((word for word in words_in(key) if word in (_VERBS | CLEAR) - _PERIODS), "")
            return Order(verb, "changing", whole=True) if verb else None
        words, said = words_in(last_part(key)), words_in(value)
        if key == "action" and self.nonce and said and not said[0].isdigit() and _SHOWN_WITH_NONCE.isdisjoint(said):
            return Order(value[:40], "changing", whole=True)
        if words and words[0] in _VERBS - _PERIODS:
            return Order(words[0], "changing", whole=True)
        if "".join(words) not in ACTIONS | ACTIONS_TOO or not 0 < len(said) <= 2:
            return None
        said = said[1:] if said[0] == "do" and len(said) > 1 else said
        begins = _BEGINNING.match(said[0])
        joined = begins and said[0][begins.end() :]
        return Order(begins[0], "changing", whole=True) if begins and (not joined or joined in NOUNS) else None


def _proves(name: str, value: str) -> bool:
    if len(value) < _PROOF_CHARS or _PAYPAL.fullmatch(value) or (name == "t" and _TIME.fullmatch(value)):
        return False
    return _PROOF.fullmatch(name) is not None


def _is_script(last: str) -> bool:
    """Whether it is a verb, perhaps with what it is done to: ``togglecompletion``, ``subscribe``."""
    begins = _BEGINNING.match(last)
    rest = last[begins.end() :] if begins else ""
    ends = not rest or not rest[0].isalpha() or rest in NOUNS | _GLUED
    return begins is not None and ends and last not in (CHANGING_NAMES - PROVED_LAST) | {"reset"}


def _commands(words: list[str], last: Last) -> bool:
    """Whether it is a verb, alone or with what it is done to (``confirm-email``), or the last of two (``wp-activate``)."""
    if last.name in PROVED_ALONE:
        return not last.titled or last.name in _ANSWERS
    if len(words) != 2:
        return False
    if words[1] in _ANSWERS:
        return True
    return words[0] in PROVED_ALONE - _NO_COMMAND and words[1] in NOUNS


_ANSWERS: Final = word_set("activate confirm verify approve reject accept decline")
"""What a link in a mail is for, on hosts of texts as well."""
