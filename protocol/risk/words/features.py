"""Selects the weights of the text model for a label, by hashes of its runs of one to five characters, its words, and the whole
text.

This needs no list of words, no known language and no spaces. Two texts may share a weight; training has seen the same sharing.
"""

from __future__ import annotations

import itertools
import zlib
from typing import Final

import numpy as np
from numpy.typing import NDArray

BUCKETS: Final = 196_608
"""With ten kinds and one byte for each weight, the file stays below 2 MB."""
RUN_MAX: Final = 5
CHARS_MAX: Final = 160
"""Characters after this length are ignored."""
_PRIME: Final = np.uint64(0x100000001B3)
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_HALF: Final = np.uint64(32)
_FIRST: Final = np.uint64(0xCBF29CE484222325)


def features(text: str) -> NDArray[np.int32]:
    """The buckets of ``text``, which is a result of ``read``: int32, one for each run of characters and each word, in no special
    order.
    """
    text = text[:CHARS_MAX]
    codes = np.frombuffer(f" {text} ".encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
    found = []
    hashed = np.full(len(codes), _FIRST, dtype=np.uint64)
    for length in range(1, RUN_MAX + 1):
        if length > len(codes):
            break
        ends = codes[length - 1 :]
        hashed = (hashed[: len(ends)] ^ ends) * _PRIME
        found.append(hashed ^ np.uint64(length))
    words = text.split()
    whole = [f"w{word}" for word in words]
    whole += [f"p{one} {two}" for one, two in itertools.pairwise(words)]
    whole += [f"a{text}", f"f{words[0]}", f"l{words[-1]}"] if words else [f"a{text}"]
    found.append(np.array([zlib.crc32(each.encode()) for each in whole], dtype=np.uint64))
    mixed = (np.concatenate(found) * _MIX) >> _HALF
    return ((mixed * np.uint64(BUCKETS)) >> _HALF).astype(np.int32)
