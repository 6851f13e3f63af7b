"""Which weights of the text model a label has: hashes of its characters in runs of one to five, of its words, and of the whole.

No list of words and no language is needed, and no spaces. Two texts may share a weight; training has seen the same sharing.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

BITS: Final = 17
BUCKETS: Final = 1 << BITS
RUN_MAX: Final = 5
CHARS_MAX: Final = 160
"""What lies behind it is not looked at; a longer label is never called harmless."""
_PRIME: Final = np.uint64(0x100000001B3)
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_SHIFT: Final = np.uint64(64 - BITS)
_FIRST: Final = (0xCBF29CE484222325, 0x84222325CBF29CE4, 0x2325CBF29CE48422)
_MASK: Final = (1 << 64) - 1


def features(text: str) -> NDArray[np.int32]:
    """The buckets of ``text`` as ``read`` gives it; int32, one for each run of characters and each word, in no special order."""
    text = text[:CHARS_MAX]
    codes = np.frombuffer(f" {text} ".encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
    found = []
    hashed = np.full(len(codes), _FIRST[0], dtype=np.uint64)
    for length in range(1, RUN_MAX + 1):
        if length > len(codes):
            break
        ends = codes[length - 1 :]
        hashed = (hashed[: len(ends)] ^ ends) * _PRIME
        found.append(hashed ^ np.uint64(length))
    words = text.split()
    hashes = [_hash(word, _FIRST[1]) for word in words]
    hashes += [_hash(f"{one} {two}", _FIRST[1]) for one, two in zip(words, words[1:], strict=False)]
    hashes.append(_hash(text, _FIRST[2]))
    if words:
        hashes.append(_hash(f"^{words[0]}", _FIRST[2]))
        hashes.append(_hash(f"{words[-1]}$", _FIRST[2]))
    found.append(np.array(hashes, dtype=np.uint64))
    return ((np.concatenate(found) * _MIX) >> _SHIFT).astype(np.int32)


def _hash(text: str, first: int) -> int:
    value = first
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & _MASK
    return value
