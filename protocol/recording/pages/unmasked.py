"""Recognises text that looks like a time, an id or a counter but has a meaning. Such text is compared and never masked."""

from __future__ import annotations

import re
from typing import Final

_IBAN: Final = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}")
_WALLET: Final = re.compile(r"0x[0-9a-fA-F]{40}|(?:bc|tb)1[02-9ac-hj-np-z]{11,71}")
"""Addresses of wallets, in forms that no other word has (EIP-55, BIP-173)."""
_ADDRESS_OR_VERSION: Final = re.compile(r"(?:\bversion|\brelease|\bfirmware|\bbuild|\bv\.?) ?$", re.IGNORECASE)
_NUMERIC: Final = re.compile(r"([0-9]{1,2})[./]([0-9]{1,2})[./]([0-9]{2}|[0-9]{4})")
_WORD: Final = re.compile(r"[a-z]{3,}")
_YEAR: Final = re.compile(r"[0-9]{4}")
_LEFT: Final = re.compile(r" [a-z]+ (?:left|remaining|available|included)\b", re.IGNORECASE)
_BEFORE_CHARS: Final = 12
_AFTER_CHARS: Final = 40


def means_something(form: str, text: str, start: int, end: int) -> bool:
    """True if ``text[start:end]`` has a meaning, although its ``form`` is one of text that changes by itself. For ``token``: the
    number of a bank account, or a wallet. For ``counter``: zero, or a number of remaining items. For ``date``: a part of an IP
    address, a version, an impossible day, or words such as "5 may".
    """
    said = text[start:end]
    match form:
        case "token":
            return _is_account(said) or bool(_WALLET.fullmatch(said))
        case "counter":
            return not said.strip("0,.") or bool(_LEFT.match(text[end : end + _AFTER_CHARS]))
        case "date":
            return _is_no_date(said, text[max(0, start - _BEFORE_CHARS) : start], text[end : end + 2])
        case _:
            return False


def _is_account(word: str) -> bool:
    """True if it is an IBAN with valid check digits (ISO 13616, ISO 7064 MOD 97-10)."""
    if not _IBAN.fullmatch(word):
        return False
    return int("".join(str(int(char, 36)) for char in word[4:] + word[:4])) % 97 == 1


def _is_no_date(said: str, before: str, after: str) -> bool:
    numeric = _NUMERIC.fullmatch(said)
    if numeric:
        one, other = int(numeric[1]), int(numeric[2])
        goes_on = after[:1] == "." and after[1:].isdigit()
        is_day = min(one, other) >= 1 and min(one, other) <= 12 and max(one, other) <= 31
        return goes_on or not is_day or bool(_ADDRESS_OR_VERSION.search(before))
    if "/" in said:
        return True  # a year of three digits
    # Months are written with a capital letter; "5 may" is a rule, unless a year follows.
    return bool(_WORD.search(said)) and said == said.lower() and not _YEAR.search(said) and "-" not in said
