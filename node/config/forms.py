"""Error messages for malformed configuration values: each regular expression is replaced by a description."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from protocol.page.action import SECRET_NAME_PATTERN
from protocol.recording.session import LOCALE_PATTERN

_SAID_CHARS_MAX: Final = 200

NAME_PATTERN: Final = r"^[\w][\w .-]*\Z"
ORIGIN_PATTERN: Final = r"^https?://(\*\.)?([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?\Z"

_WORDS: Final[Mapping[str, str]] = {
    NAME_PATTERN: "letters, digits, spaces and . _ - (starting with a letter, a digit or _)",
    ORIGIN_PATTERN: "an origin in lower case, such as https://shop.example, https://*.shop.example or http://127.0.0.1:8080",
    LOCALE_PATTERN: "a language, such as de, en-GB or zh-Hant-TW",
    SECRET_NAME_PATTERN: "letters, digits and . _ -",
}
_PATTERN: Final = re.compile(r"""`str` matching regex ('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")


def invalid_in_words(error: msgspec.ValidationError) -> str:
    """The message of ``error``, with every regular expression replaced by its description."""
    said = str(error)
    for pattern, words in _WORDS.items():
        said = said.replace(f"`str` matching regex {pattern!r}", words)
    return _PATTERN.sub("text of another form", said)[:_SAID_CHARS_MAX]
