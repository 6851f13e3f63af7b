"""Finds content of files that were handed to a page in what it sends as a read.

A file is searched for as it is, percent-encoded, in base64 and in hexadecimal, also over the values of a query together. A page
that encodes it otherwise, or sends it in several requests, is not found out.
The time of a search depends on the length of the request alone, because a page chooses that and may have been given a large file.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import parse_qsl, unquote_plus, unquote_to_bytes

import numpy as np

_WINDOW_BYTES: Final = 8
_WINDOWS_MAX: Final = 16
_WINDOWS_MIN: Final = 4
_PART_BYTES_MIN: Final = 16
"""Shorter parts of a text say words that many files have."""
_SHORT_BYTES_MIN: Final = 6
"""A shorter file says a word that many addresses have."""
_VALUES_MAX: Final = 1_000
_READ_CHARS_MAX: Final = 32_768
"""A longer request is no read."""
_BETWEEN: Final = re.compile(r"[?&#;=]|(?<![A-Za-z0-9+/_-])/|/(?![A-Za-z0-9+/_=-]{24})|[\"'{}\[\],:\s]")
"""Separates the parts of an address or a body. A slash inside a long run of letters may belong to base64."""
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{22,}")
_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2}){16,}")
_SPREAD: Final = 0x9E3779B97F4A7C15  # 2**64 divided by the golden ratio: Fibonacci hashing
_BITS_MIN: Final = 16
_BITS_MAX: Final = 28
_AT_ONCE: Final = 1 << 17
"""Windows that are noted at once. The interpreter is free in between."""


class HandedFile:
    """The runs of 8 bytes that a file has, as a set that now and then says yes to another one."""

    def __init__(self, data: bytes) -> None:
        """Takes a second for the largest file: not for the event loop."""
        self.size = len(data)
        short = data.strip() if self.size < 2 * _PART_BYTES_MIN else b""
        self._short = short if _SHORT_BYTES_MIN <= len(short) < _PART_BYTES_MIN else b""
        self._bits = min(max((self.size * 8).bit_length(), _BITS_MIN), _BITS_MAX)
        self._noted = np.zeros(1 << (self._bits - 3), dtype=np.uint8)
        for start in range(_WINDOW_BYTES):
            count = (self.size - start) // _WINDOW_BYTES
            words = np.frombuffer(data, dtype="<u8", count=max(count, 0), offset=min(start, self.size))
            for first in range(0, count, _AT_ONCE):
                places = (words[first : first + _AT_ONCE] * np.uint64(_SPREAD)) >> np.uint64(64 - self._bits)
                marks = np.left_shift(np.uint8(1), (places & np.uint64(7)).astype(np.uint8))
                np.bitwise_or.at(self._noted, places >> np.uint64(3), marks)

    def mostly_has(self, part: bytes) -> bool:
        """True if three of four of the places that are tried in ``part`` stand in the file too."""
        if len(part) < _PART_BYTES_MIN or self.size < _WINDOW_BYTES:
            return False
        last = len(part) - _WINDOW_BYTES
        places = (last * number // _WINDOWS_MAX for number in range(_WINDOWS_MAX + 1))
        # What repeats itself says nothing, and would count one false yes often.
        windows = {part[place : place + _WINDOW_BYTES] for place in places}
        return len(windows) >= _WINDOWS_MIN and sum(map(self._has, windows)) * 4 >= len(windows) * 3

    def is_in(self, text: str) -> bool:
        """True if ``text`` holds the whole of this file, and it is too short to be known by its parts."""
        if not (data := self._short):
            return False
        plain = [text.encode(), unquote_to_bytes(text), unquote_plus(text).encode()]
        whole = len(data) * 4 // 3  # the letters that what follows the file does not change
        forms = [data, *(each(data)[:whole] for each in (base64.b64encode, base64.urlsafe_b64encode))]
        return any(form in each for form in forms for each in plain) or data.hex() in text.lower()

    def _has(self, window: bytes) -> bool:
        place = (int.from_bytes(window, "little") * _SPREAD & 0xFFFF_FFFF_FFFF_FFFF) >> (64 - self._bits)
        return bool(self._noted[place >> 3] >> (place & 7) & 1)


def carries_file(text: str, files: Sequence[HandedFile]) -> bool:
    """True if ``text``, an address or the body of a request, holds content of one of ``files``, or is too long to be looked at."""
    if not files:
        return False
    if len(text) > _READ_CHARS_MAX:
        return True
    every = [text, *(part for part in _BETWEEN.split(text) if len(part) >= _PART_BYTES_MIN)]
    if any(file.is_in(text) for file in files) or any(file.mostly_has(_values(text)) for file in files):
        return True
    return any(file.mostly_has(reading) for part in every for reading in _readings(part) for file in files)


def _values(text: str) -> bytes:
    """The values of the query in ``text``, in one piece."""
    with contextlib.suppress(ValueError):  # they are too many
        return "".join(value for _, value in parse_qsl(text.partition("?")[2], max_num_fields=_VALUES_MAX)).encode()
    return b""


def _readings(part: str) -> Iterator[bytes]:
    """The readings of a part in which it may hold a file."""
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
