"""The file format of the recovery key, which is moved offline and used when the witness key is lost.

The key itself is 32 random bytes, the seed of an Ed25519 key; the log of the node commits to the hash of its public half.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from nacl.signing import SigningKey

from protocol import ids, limits
from protocol.errors import MeshError
from protocol.keys.key_event import recovery_commitment

SEED_BYTES: Final = 32
_CHECK_DOMAIN: Final = b"trailmesh-recovery-file-v1\x00"
_FINGERPRINT_DOMAIN: Final = b"trailmesh-fingerprint-v1\x00"
_TITLE: Final = (
    "trailmesh recovery key. Whoever holds it can take this node over: keep it offline, and not with the node."
)


def commitment(seed: bytes) -> bytes:
    """The commitment in a genesis to the recovery key of ``seed``."""
    return recovery_commitment(bytes(SigningKey(seed).verify_key))


def render(node: str, seed: bytes) -> str:
    """The text of the recovery file of ``node``."""
    return f"{_TITLE}\nnode {node}\nseed {seed.hex()}\ncheck {_check(node, seed)}\n"


def parse(text: str, node: str) -> bytes:
    """The seed in a recovery file.

    Checks, in order: size; its three fields, each once; a node id; the seed; checksum; it is of ``node``.
    Errors: ``recovery.invalid``, never with the text in it.
    """
    if len(text) > limits.RECOVERY_FILE_CHARS_MAX:
        raise MeshError("recovery.invalid", "the file is too long for a recovery file")
    fields = [line.split(" ") for line in text.splitlines() if line.startswith(("node ", "seed ", "check "))]
    try:
        (_, of), (_, hexadecimal), (_, check) = fields
        of = ids.parse_node_id(of)
        seed = bytes.fromhex(hexadecimal)
    except (ValueError, MeshError):
        # `from None`: the error of a parser can quote the seed.
        raise MeshError("recovery.invalid", "this is not a complete recovery file") from None
    if [name for name, _ in fields] != ["node", "seed", "check"] or len(seed) != SEED_BYTES:
        raise MeshError("recovery.invalid", "this is not a complete recovery file")
    if not hmac.compare_digest(check.encode(), _check(of, seed).encode()):
        raise MeshError("recovery.invalid", "the checksum does not match: a character is mistyped")
    if of != node:
        raise MeshError("recovery.invalid", f"this is the recovery key of {ids.short(of)}", node=of)
    return seed


def fingerprint(node: str) -> bytes:
    """The 32 bytes from which the fingerprint words of a node are made."""
    return hashlib.sha256(_FINGERPRINT_DOMAIN + node.encode()).digest()


def _check(node: str, seed: bytes) -> str:
    return hashlib.sha256(_CHECK_DOMAIN + node.encode() + b"\x00" + seed).hexdigest()[:8]
