"""The letters of an address in one form, however they are written in it."""

from __future__ import annotations

import unicodedata
from typing import Final
from urllib.parse import unquote

_DECODINGS_MAX: Final = 5  # servers and the frameworks behind them decode once or twice
_LETTERS: Final = str.maketrans({"ł": "l", "ı": "i", "ø": "o", "đ": "d"})
"""Letters of their own to Unicode that people write as these."""


def decoded(text: str) -> str:
    """``text`` without escapes, however often it was escaped, each letter in its usual form."""
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
