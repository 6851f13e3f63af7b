"""The sealed stream of a capsule: the state in chunks, under a key that commits to the header.

From the content key (32 bytes, random for each sealing) and the hash of the header, HKDF-SHA256 (RFC 5869) makes a commitment
and the key of the chunks. The stream begins with the commitment. An AEAD alone does not commit: for ChaCha20-Poly1305 one can
find two keys that open the same bytes to two plaintexts, and so give two recipients different logins under one signature. Here
the other key would have to give the same commitment.

Each chunk has 64 KiB of the state, the last one the rest. Its nonce is its number (11 bytes) and whether it is the last (1
byte), as in STREAM (Hoang, Reyhanitabar, Rogaway, Vizár 2015): so no chunk can be left out, moved or added.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from protocol import limits
from protocol.errors import MeshError

CONTENT_KEY_BYTES: Final = 32
COMMITMENT_BYTES: Final = 32
TAG_BYTES: Final = 16
_CHUNK_BYTES: Final = limits.CAPSULE_CHUNK_BYTES
_SEALED_BYTES: Final = _CHUNK_BYTES + TAG_BYTES
_HEADER_DOMAIN: Final = b"trailmesh-capsule-v1\x00"
_INFO: Final = b"trailmesh-capsule-stream-v1"


def header_digest(header: bytes) -> bytes:
    """The digest of an encoded header that everything sealed is bound to."""
    return hashlib.sha256(_HEADER_DOMAIN + header).digest()


def stream_bytes(state_bytes: int) -> int:
    """The size of the stream of a state with ``state_bytes`` bytes."""
    return COMMITMENT_BYTES + state_bytes + TAG_BYTES * _chunks(state_bytes)


def seal_stream(state: bytes, header: bytes, content_key: bytes) -> bytes:
    """``state`` sealed to ``header``. content_key: 32 random bytes, never used before. Errors: ``input.too_large``."""
    if len(state) > limits.CAPSULE_STATE_BYTES_MAX:
        raise MeshError("input.too_large", f"{len(state)} bytes where {limits.CAPSULE_STATE_BYTES_MAX} are allowed")
    commitment, key = _derived(header, content_key)
    count = _chunks(len(state))
    parts = [commitment]
    for number in range(count):
        chunk = state[number * _CHUNK_BYTES : (number + 1) * _CHUNK_BYTES]
        parts.append(key.encrypt(_nonce(number, last=number == count - 1), chunk, None))
    return b"".join(parts)


def open_stream(stream: bytes, header: bytes, content_key: bytes, *, state_bytes: int) -> bytes:
    """The state in ``stream``. state_bytes: its size, as the header says.

    Checks, in order: the commitment fits content key and header; the last chunk is there; every chunk is whole and in its place.
    Errors: ``capsule.altered``, ``capsule.truncated``, ``capsule.chunks``.
    """
    commitment, key = _derived(header, content_key)
    if not hmac.compare_digest(commitment, stream[:COMMITMENT_BYTES]):
        raise MeshError("capsule.altered")
    body = memoryview(stream)[COMMITMENT_BYTES:]
    if len(stream) < stream_bytes(state_bytes):
        raise MeshError("capsule.truncated", f"{len(stream)} bytes of {stream_bytes(state_bytes)}")
    if len(stream) > stream_bytes(state_bytes):
        raise MeshError("capsule.chunks", "there are bytes after the last chunk")
    count = _chunks(state_bytes)
    parts = []
    for number in range(count):
        sealed = body[number * _SEALED_BYTES : (number + 1) * _SEALED_BYTES]
        try:
            parts.append(key.decrypt(_nonce(number, last=number == count - 1), sealed, None))
        except InvalidTag:
            raise MeshError("capsule.chunks", f"chunk {number + 1} of {count}") from None
    return b"".join(parts)


def _derived(header: bytes, content_key: bytes) -> tuple[bytes, ChaCha20Poly1305]:
    assert len(content_key) == CONTENT_KEY_BYTES
    hkdf = HKDF(algorithm=SHA256(), length=COMMITMENT_BYTES + 32, salt=header_digest(header), info=_INFO)
    made = hkdf.derive(content_key)
    return made[:COMMITMENT_BYTES], ChaCha20Poly1305(made[COMMITMENT_BYTES:])


def _chunks(state_bytes: int) -> int:
    # An empty state has one empty chunk, so that there is always a last one.
    return max(1, -(-state_bytes // _CHUNK_BYTES))


def _nonce(number: int, *, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([last])
