"""Which weights of the text model a label has: hashes of its characters in runs of one to five, of its words, and of the whole.

No list of words and no language is needed, and no spaces. Two texts may share a weight; training has seen the same sharing.
"""

from __future__ import annotations

import itertools
import zlib
from typing import Final

import numpy as np
from numpy.typing import NDArray

BUCKETS: Final = 196_608
"""With ten kinds and a byte for each weight the file stays below 2 MB."""
RUN_MAX: Final = 5
CHARS_MAX: Final = 160
"""Characters behind these are not looked at."""
_PRIME: Final = np.uint64(0x100000001B3)
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_HALF: Final = np.uint64(32)
_FIRST: Final = np.uint64(0xCBF29CE484222325)


def features(text: str) -> NDArray[np.int32]:
    """The buckets of ``text`` as ``read`` gives it; int32, one for each run of characters and each word, in no special order."""
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
