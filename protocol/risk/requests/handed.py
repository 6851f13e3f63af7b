"""Finds content of files that were handed to a page in what it sends as a read.

A file is searched for as it is, percent-encoded, in base64 and in hexadecimal. A page that encodes it otherwise is not found out.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import unquote_plus, unquote_to_bytes

_WINDOW_BYTES: Final = 12
_WINDOWS_MAX: Final = 16
_PART_BYTES_MIN: Final = 16
"""Shorter parts of a text say words that many files have."""
_READ_CHARS_MAX: Final = 65_536
_PARTS_MAX: Final = 1_000
_BETWEEN: Final = re.compile(r"[?&#;=]|(?<![A-Za-z0-9+/_-])/|/(?![A-Za-z0-9+/_=-]{24})|[\"'{}\[\],:\s]")
"""Separates the parts of an address or a body. A slash inside a long run of letters may belong to base64."""
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{22,}")
_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2}){16,}")


def carries_file(text: str, files: Sequence[bytes]) -> bool:
    """True if ``text``, an address or the body of a request, holds content of one of ``files``."""
    if not files:
        return False
    return any(_mostly_in(part, data) for part in _parts(text[:_READ_CHARS_MAX]) for data in files)


def _parts(text: str) -> Iterator[bytes]:
    """The parts of ``text``, each in the readings in which it may hold a file."""
    yield from _readings(text)
    for part in _BETWEEN.split(text, _PARTS_MAX):
        if len(part) >= _PART_BYTES_MIN:
            yield from _readings(part)


def _readings(part: str) -> Iterator[bytes]:
    yield part.encode()
    if "%" in part or "+" in part:
        yield unquote_to_bytes(part)
        yield unquote_plus(part).encode()
    for found in _HEX.finditer(part):
        yield binascii.unhexlify(found[0])
    for found in _BASE64.finditer(unquote_plus(part).replace(" ", "+")):
        plain = found[0].replace("-", "+").replace("_", "/")
        for start in range(4):  # words before it may look like its letters
            whole = plain[start : len(plain) - (len(plain) - start) % 4]
            yield base64.b64decode(whole)


def _mostly_in(part: bytes, data: bytes) -> bool:
    """True if at least half of the places that are tried in ``part`` stand in ``data`` too."""
    last = len(part) - _WINDOW_BYTES
    if len(part) < _PART_BYTES_MIN:
        return False
    places = sorted({last * number // _WINDOWS_MAX for number in range(_WINDOWS_MAX + 1)})
    hits = sum(part[place : place + _WINDOW_BYTES] in data for place in places)
    return hits * 2 >= len(places)
