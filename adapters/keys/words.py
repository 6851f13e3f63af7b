"""Encodes bytes as words that people can write down and read aloud: BIP-39, English, by the ``mnemonic`` package."""

from __future__ import annotations

import functools
from typing import Final

from mnemonic import Mnemonic

from protocol.errors import MeshError

SECRET_BYTES: Final = 32
WORDS: Final = 24
_WORD_BITS: Final = 11
FINGERPRINT_WORDS: Final = 6


@functools.cache
def _english() -> Mnemonic:
    return Mnemonic("english")


def to_words(secret: bytes) -> str:
    """32 bytes as 24 words; the last eight bits of the last word are a checksum."""
    assert len(secret) == SECRET_BYTES
    return str(_english().to_mnemonic(secret))


def from_words(text: str) -> bytes:
    """The 32 bytes in 24 words. Case, line breaks and numbers before the words (``1. abandon``) do not matter.

    Checks, in order: the number of words; each is on the list; checksum. Errors: ``recovery.invalid``, never with a word in it:
    words are the secret.
    """
    words = [word for word in text.lower().split() if not word.rstrip(".:)").isdigit()]
    if len(words) != WORDS:
        raise MeshError("recovery.invalid", f"there are {len(words)} words where {WORDS} are expected")
    for place, word in enumerate(words, 1):
        if word not in _english().wordlist:
            raise MeshError("recovery.invalid", f"word {place} is not in the word list: check its spelling", word=place)
    try:
        return bytes(_english().to_entropy(words))
    except (ValueError, LookupError):
        raise MeshError(
            "recovery.invalid", "the checksum does not match: a word is wrong, or two are swapped"
        ) from None


def fingerprint(digest: bytes) -> str:
    """The first 66 bits of ``digest`` as six words: to compare by telephone, never to type."""
    bits = int.from_bytes(digest, "big") >> (len(digest) * 8 - FINGERPRINT_WORDS * _WORD_BITS)
    mask = (1 << _WORD_BITS) - 1
    places = [(bits >> _WORD_BITS * i) & mask for i in reversed(range(FINGERPRINT_WORDS))]
    return " ".join(_english().wordlist[place] for place in places)
