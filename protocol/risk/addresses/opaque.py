"""Recognises addresses without a readable meaning (``/u/Zx81kq``), and values that no address should contain, such as a card
number.

An unreadable address may be an order. So it is stopped while a control with grave words takes effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from protocol.page.secrets.personal_forms import is_card_number
from protocol.risk.addresses.address_words import FILES, NOUNS, word_set
from protocol.risk.addresses.letters import decoded, plain
from protocol.risk.addresses.segments import is_id, without_extension, words_in

_READ_CHARS_MAX: Final = 16_384
_PAIRS_MAX: Final = 1_000
_MIXED: Final = re.compile(r"[\w~=.-]*(?:[^\W\d_]\d+[^\W\d_]|\d[^\W\d_]+\d|[a-z]\d+[A-Z]|[A-Z][a-z]?\d)[\w~=.-]*")
_TOKEN_CHARS: Final = 6
_LETTERS_TOKEN_CHARS: Final = 12
_WORD_CHARS: Final = 3
_WORD_CHARS_IN_TOKEN: Final = 3.0
"""The minimum average word length in a readable name. Random letters, split at their capitals, have shorter words."""
_CAPABILITIES: Final = word_set(
    "email emails mail mails link links token tokens key keys invite invitation sub subscriber subscription list lists "
    "newsletter newsletters confirm location"
)
"""Nouns after which a token is as often an order as the name of a record."""
_STATES: Final = word_set(
    "v ver version rev hash build cb ts cursor after before page etag lang locale session sid state code nonce challenge"
)
"""Keys whose value selects a part or a version to read, and keys of a login that moves between pages (OAuth)."""
_LOGINS: Final = frozenset({"access token", "auth token", "id token", "csrf token", "xsrf token"})
"""Keys with which a page identifies its sender."""
_CARD_KEYS: Final = re.compile(
    r"(?:cc|card|credit card|debit card)(?: ?(?:no|nr|num|number))?|pan|(?:(?:cc|card) )?(?:cvc2?|cvv2?|csc|security code)|iban"
)
_CODE: Final = re.compile(r"\d{3,4}")
_IBAN: Final = re.compile(r"[A-Za-z]{2}\d{2}[ A-Za-z0-9]{11,38}")


def is_opaque(url: str) -> bool:
    """True if an address contains a token or an id, and does not name a page that usually has one."""
    try:
        parts = urlsplit(url[:_READ_CHARS_MAX])
        pairs = parse_qsl(parts.query, keep_blank_values=True, max_num_fields=_PAIRS_MAX)
    except ValueError:
        return True
    segments = [segment for segment in decoded(parts.path).split("/") if segment]
    given = any(_orders(key, value) for key, value in pairs)
    _, extension = without_extension(segments[-1]) if segments else ("", "")
    if extension in FILES - {"gif"} and not given:
        return False  # a file with a hash of its content in its name
    named = [without_extension(each)[0] for each in segments]
    for at, name in enumerate(named):
        if is_token(name) and not (at and _is_noun(named[at - 1])):
            return True
    ids = any(map(is_id, named)) or any(is_id(value) or (not value and is_id(key)) for key, value in pairs)
    return given or (ids and not any(map(_is_word, [*named, *(key for key, value in pairs if value)])))


def is_token(text: str) -> bool:
    """True if decoded text consists of random characters: ``Zx81kq``, ``8f14e45fceea167a``; not ``mug-7``, ``v2`` or ``3d``."""
    if len(text) >= _TOKEN_CHARS and _MIXED.fullmatch(text):
        return True
    words = words_in(text)
    scattered = text.isalnum() and len(text) >= _LETTERS_TOKEN_CHARS and len(text) / len(words) < _WORD_CHARS_IN_TOKEN
    return bool(words) and scattered


def _orders(key: str, value: str) -> bool:
    """True if a parameter is a token without a noun or a state as its key."""
    if not value:
        return is_token(key)
    names = words_in(key)
    known = names and (names[-1] in _STATES or _is_noun(names[-1]) or " ".join(names) in _LOGINS)
    return is_token(value) and not known


def _is_noun(name: str) -> bool:
    said = (words_in(name) or [""])[-1]
    return said in NOUNS and said not in _CAPABILITIES


def _is_word(name: str) -> bool:
    return not is_token(name) and any(len(word) >= _WORD_CHARS and word.isalpha() for word in words_in(name))


def holds_card(url: str) -> bool:
    """True if a parameter of an address is the number or the code of a card, or an IBAN, according to its name and its value."""
    if "=" not in url:
        return False
    return any(_is_card(key, value) for key, value in _pairs(url))


def _pairs(url: str) -> Iterator[tuple[str, str]]:
    try:
        query = urlsplit(url[:_READ_CHARS_MAX]).query
        yield from parse_qsl(query, max_num_fields=_PAIRS_MAX)
    except ValueError:
        return


def _is_card(key: str, value: str) -> bool:
    name, said = " ".join(words_in(key)), plain(value).strip()
    if is_card_number(said):
        return True
    return _CARD_KEYS.fullmatch(name) is not None and bool(_CODE.fullmatch(said) or _IBAN.fullmatch(said))
