"""A fast filter before the judgement of addresses: an address without any of these parts needs no judgement
(``adapters/browser/egress/plain.py``).
"""

from __future__ import annotations

from typing import Final

from protocol.risk.addresses import address_words as V
from protocol.risk.addresses.address_words import word_set
from protocol.risk.addresses.known_applications import literals
from protocol.risk.addresses.segments import folded

PLAIN_CHARACTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789&+,-./:=?_~"
"""An address with only these characters is read without decoding. Any other character can hide a word."""
_BEFORE_WORD: Final = "/-_.=?&+,:~"
_SHORT_CHARS: Final = 4
"""A verb of at most this length occurs inside many words, so it counts only after a punctuation character."""
_LONG_CHARS: Final = 8
"""A verb of at least this length counts anywhere, so that one part covers many addresses."""
_MORE: Final = word_set(
    "mutation add-to add_to /set_ /set- =set /confirm /verify /optin /opt- /query? /exec? /sql? /execute? del. del? del="
)


def _parts() -> tuple[str, ...]:
    ending = {verb for verb in V.CLEAR | V.WEAK if verb.isascii()}
    ending |= {verb.replace("-", "_") for verb in ending}
    short = {verb for verb in ending if len(verb) <= _SHORT_CHARS}
    long = {verb for verb in V.CHANGING if len(verb) >= _LONG_CHARS}
    keyed = (V.CHANGING - long - V.NAMES) | V.BEFORE_RECORD
    found = (ending - short) | long | {f"{sign}{verb}" for sign in _BEFORE_WORD for verb in short}
    found |= {f"{sign}{verb}" for sign in "/=?&" for verb in keyed} | {f"/{verb}" for verb in V.NAMES}
    found |= {f"/{verb}" for verb in V.TOKEN_VERBS | V.ADDS | V.ON_OFF | V.MONEY | V.OPERATIONS}
    found |= (
        {f"/{verb.replace('-', '_')}" for verb in V.OPERATIONS}
        | {f"{sign}add" for sign in "=?&"}
        | {f"={each}" for each in V.BUTTONS}
    )
    found |= {f"{key}=" for key in V.TOKENS | V.DECISIONS} | {f"{key}=" for key in V.ACTIONS if len(key) > 1}
    found |= {f"{switch}{sign}{letter}" for switch in V.SWITCHED for sign in "=/-_" for letter in "ot"}
    found |= (
        {f"/{switch}{end}" for switch in V.SWITCHES for end in ("?", "/?")}
        | V.OVERRIDES
        | V.STATEMENTS
        | V.GLUED
        | V.PAIRS
        | literals()
        | _MORE
    )
    found |= (
        {f"mark {mark}" for mark in V.MARKS}
        | {f"add {each}" for each in V.LISTS}
        | {f"change {kept}" for kept in V.KEPT}
    )
    found |= {f"{verb} {role}" for verb in V.GIVING for role in V.ROLES} | {"move up", "move down"}
    return tuple(sorted(part for part in found if not _holds_another(part, found)))


def _holds_another(part: str, parts: set[str]) -> bool:
    size = len(part)
    pieces = (part[start:end] for start in range(size) for end in range(start + 1, size + 1) if end - start < size)
    return any(piece in parts for piece in pieces)


DOUBTFUL_PARTS: Final = _parts()
"""Every address of ``PLAIN_CHARACTERS`` that needs judgement contains one of these. Between two words with a blank, any text may
stand.
"""
_PAIRED: Final = tuple(tuple(part.split()) for part in DOUBTFUL_PARTS if " " in part)
_WORDS: Final = tuple(part for part in DOUBTFUL_PARTS if " " not in part)
_FOLDED: Final = tuple({folded(part) for part in (*_WORDS, *V.CLEAR)})
"""The same for addresses that are decoded before reading (``segments.folded_twice``)."""


def is_doubtful(text: str, *, folds: bool) -> bool:
    """True if ``text``, an address or the result of ``folded_twice``, must be judged."""
    return any(part in text for part in (_FOLDED if folds else _WORDS)) or any(
        first in text and second in text.partition(first)[2] for first, second in _PAIRED
    )
