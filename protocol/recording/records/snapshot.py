"""The stored form of a snapshot: UTF-8 text, compressed with zlib (RFC 1950) if that is smaller.

A compressed snapshot begins with the byte ``0x78``, the letter ``x``. A text that begins with this letter is always stored
compressed.
"""

from __future__ import annotations

import zlib
from typing import Final

from protocol import limits

_LEVEL: Final = 9
_FIRST: Final = b"\x78"


def stored_snapshot(text: str) -> bytes:
    """The form in which a recorder stores ``text``."""
    plain = text.encode()
    packed = zlib.compress(plain, _LEVEL)
    return packed if len(packed) < len(plain) or plain.startswith(_FIRST) else plain


def snapshot_text(snapshot: bytes | None) -> str | None:
    """The text of a stored snapshot; None if there is none, or if no recorder can have stored it.

    A small file can claim any size, so at most ``SNAPSHOT_BYTES_MAX`` bytes are unpacked.
    """
    if snapshot is None or len(snapshot) > limits.SNAPSHOT_BYTES_MAX:
        return None
    plain = _unpacked(snapshot) if snapshot.startswith(_FIRST) else snapshot
    try:
        return plain.decode() if plain is not None else None
    except UnicodeDecodeError:
        return None


def _unpacked(packed: bytes) -> bytes | None:
    inflating = zlib.decompressobj()
    try:
        plain = inflating.decompress(packed, limits.SNAPSHOT_BYTES_MAX + 1)
    except zlib.error:
        return None
    whole = inflating.eof and not inflating.unused_data and len(plain) <= limits.SNAPSHOT_BYTES_MAX
    return plain if whole else None
