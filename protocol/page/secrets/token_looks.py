"""Decides whether a piece of an address looks generated: a session id, a reset token, a key. Pure. docs/adr/0043.

A piece is scored by its characters. UUIDs, object ids and hashes of files and commits name things, so they are no tokens by their
looks. Only their place in an address can make them tokens.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from protocol.page.secrets import token_weights as learned

CHARS_MIN: Final = 16
"""Shorter pieces contain too little to be distinguished from ids of things."""
_CHARS_MAX: Final = 4_096
WEB_TOKEN: Final = re.compile(
    r"(?<![A-Za-z0-9_-])((?:(?!eyJ)[A-Za-z0-9_-])*+)eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]*"
)
"""A signed web token. The first group is the text before it in the same piece, so that each piece is read once: a page can contain
millions of ``eyJ``, and a search starting at each of them would take quadratic time.
"""
_VENDOR: Final = re.compile(
    r"(?:gh[oprsu]_|github_pat_|glpat-|xox[abeoprs]-|[spr]k_(?:live|test)_|whsec_|shp(?:at|ca|pa|ss)_|npm_|pypi-|hf_|dop_v1_|dapi"
    r"|sq0[a-z]{3}-|ya29\.|1//0|SG\.|AIza|EAAC|lin_api_|key-|rubygems_|sntrys_|secret_|hvs\.|tskey-)[A-Za-z0-9_.-]{16,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}|(?:AC|SK)[0-9a-f]{32}"
)
"""Keys whose prefix identifies them."""
_NAMES_A_THING: Final = re.compile(
    r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"  # UUID
    r"|[0-9a-f]{16}|[0-9a-f]{20}|[0-9a-f]{24}|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128}"
    r"|01[0-9A-HJKMNP-TV-Z]{24}"  # ULID
)
"""UUIDs, ids of databases, hashes."""
_HASHED: Final = re.compile(
    r"(?<=[-_])(?:[0-9a-f]{16}|[0-9a-f]{20}|[0-9a-f]{24}|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})$"
)
"""The id of a page at the end of its slug."""
_HEX: Final = re.compile(r"[0-9a-f]+")
_DJANGO: Final = re.compile(r"(?<![A-Za-z0-9])(?=[a-z]{0,5}[0-9])[a-z0-9]{6}-[0-9a-f]{32}(?![A-Za-z0-9])")
"""The token of a password-reset link: the time in base 36, and a hash."""
_PIECE: Final = re.compile(r"[A-Za-z0-9_~+=/-]+")
_PARTS: Final = re.compile(r"[A-Za-z]+|[0-9]+")
_CAMEL: Final = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])|[0-9]+")
_VOWELS: Final = frozenset("aeiouy")


def names_a_thing(piece: str) -> bool:
    """True if ``piece`` has the form of an id or a hash, with which sites name things."""
    return bool(_NAMES_A_THING.fullmatch(piece))


def is_key(text: str) -> bool:
    """True if ``text`` contains a signed web token or a key with the prefix of a known vendor."""
    return bool(WEB_TOKEN.search(text) or _VENDOR.search(text) or _DJANGO.search(text))


def looks_generated(text: str) -> bool:
    """True if a piece of ``text`` looks like a token: it has at least ``CHARS_MIN`` characters and scores over ``LIMIT``, or is
    hexadecimal with a length that no hash has.
    """
    return any(
        bool(_HEX.fullmatch(piece)) or score(piece) > learned.LIMIT
        for piece in scored_pieces(text)
        if not (piece.isdigit() or (piece.isalpha() and piece.islower()))
    )


def scored_pieces(text: str) -> list[str]:
    """The pieces of ``text`` that are long enough to be scored, without those that name a thing."""
    pieces = (_HASHED.sub("", piece) for piece in _PIECE.findall(text[:_CHARS_MAX]))
    return [piece for piece in pieces if len(piece) >= CHARS_MIN and not names_a_thing(piece.strip("=/"))]


def score(piece: str) -> float:
    """The weighted sum of the features of ``piece``: the higher, the more it looks generated."""
    return sum(weight * value for weight, value in zip(learned.WEIGHTS, features(piece), strict=True))


def features(piece: str) -> tuple[float, ...]:
    """The features of a score, each about 0 to 1: a constant, length, entropy, changes between kinds of characters, rareness of
    its pairs of letters in words, length of its longest part, capitals amid lower case, digits, vowels among its letters, and
    the share that reads as words.
    """
    size = len(piece)
    letters = [char for char in piece if char.isalpha()]
    parts: list[str] = _PARTS.findall(piece)
    words: list[str] = _CAMEL.findall(piece)
    changes = sum(one.isdigit() != other.isdigit() for one, other in itertools.pairwise(piece))
    odd = sum(one.islower() and other.isupper() for one, other in itertools.pairwise(piece))
    rare = list(_rareness(piece))
    return (
        1.0,
        min(math.log2(size) / 8, 1.0),
        _entropy(piece) / 6,
        changes / size,
        sum(rare) / len(rare) / 9 if rare else 0.5,
        min(max(map(len, re.split(r"[-_/]", piece))) / 40, 1.0),
        odd / size,
        sum(map(str.isdigit, piece)) / size,
        sum(char.lower() in _VOWELS for char in letters) / len(letters) if letters else 0.4,
        sum(len(word) for word in words if len(word) >= 4 and word.isalpha()) / size,
        len(parts) / size,
    )


def _entropy(text: str) -> float:
    size = len(text)
    return -sum(count / size * math.log2(count / size) for count in Counter(text).values())


def _rareness(piece: str) -> Iterator[int]:
    """The rareness in words of each pair of letters in it, from 0 to 9."""
    lowered = piece.lower()
    for one, other in itertools.pairwise(lowered):
        if "a" <= one <= "z" and "a" <= other <= "z":
            yield int(learned.BIGRAMS[(ord(one) - 97) * 26 + ord(other) - 97])
