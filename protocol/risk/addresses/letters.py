"""Brings the letters of an address into one form, whatever their encoding."""

from __future__ import annotations

import unicodedata
from typing import Final
from urllib.parse import unquote

_DECODINGS_MAX: Final = 5  # servers and the frameworks behind them decode once or twice
_LETTERS: Final = str.maketrans({"ł": "l", "ı": "i", "ø": "o", "đ": "d"})
"""Letters that Unicode does not decompose, with the plain letters that people write instead."""


def decoded(text: str) -> str:
    """``text`` decoded repeatedly until no escapes are left, with each letter in its usual form."""
    for _ in range(_DECODINGS_MAX):
        if "%" not in text:
            break
        once = unquote(text, errors="replace")
        if once == text:
            break
        text = once
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKC", text)
    return "".join(letter for letter in text if unicodedata.category(letter) not in ("Cf", "Cc", "Mn") or letter == " ")


def plain(text: str) -> str:
    """Decoded text in lower case, without accents."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKD", text.casefold()).translate(_LETTERS)
    return "".join(letter for letter in folded if unicodedata.category(letter) != "Mn")
