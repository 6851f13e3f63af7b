"""Who this node is: its witness key, and what is signed with it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec
from nacl.signing import SigningKey

from adapters.ports import ArtefactRecord, Clock
from node.files import write_private
from protocol import cbor, envelope, ids, limits
from protocol.errors import MeshError
from protocol.messages import KIND_MESSAGE

KEY_FILE = "witness.key"
_HEADER = "trailmesh witness key, Ed25519 seed. Whoever reads this file can sign as this node.\n"


class Identity:
    """A node's id and witness key. The key never leaves this object except to the channel adapter."""

    def __init__(self, key: SigningKey, clock: Clock) -> None:
        self.key = key
        self.public_key = bytes(key.verify_key)
        self.node = ids.node_id(self.public_key)
        self._clock = clock

    def __repr__(self) -> str:
        return f"Identity({ids.short(self.node)})"

    def artefact(self, kind: str, subject: str, record: msgspec.Struct | bytes) -> ArtefactRecord:
        """``record`` signed as a durable artefact about ``subject``.

        Only ``node.witness`` calls this: an artefact that is not in the log must not leave the node.
        """
        payload = record if isinstance(record, bytes) else cbor.encode(record)
        issued_s = self._clock.now_ms() // 1000
        claims = envelope.Claims(
            issuer=self.node, issued_s=issued_s, unique=self._clock.random(envelope.UNIQUE_ID_BYTES)
        )
        return artefact_record(envelope.seal(payload, kind=kind, key=self.key, claims=claims), kind, subject, claims)

    def message(self, record: msgspec.Struct, *, audience: str, path: str) -> bytes:
        """``record`` signed as a message to ``audience`` over ``POST path``."""
        issued_s = self._clock.now_ms() // 1000
        claims = envelope.Claims(
            issuer=self.node,
            audience=audience,
            issued_s=issued_s,
            expires_s=issued_s + limits.MESSAGE_LIFETIME_S,
            unique=self._clock.random(envelope.UNIQUE_ID_BYTES),
        )
        binding = envelope.route_binding("POST", path)
        return envelope.seal(cbor.encode(record), kind=KIND_MESSAGE, key=self.key, claims=claims, binding=binding)


def artefact_record(sealed: bytes, kind: str, subject: str, claims: envelope.Claims) -> ArtefactRecord:
    """The stored form of a signed artefact."""
    return ArtefactRecord(
        digest=hashlib.sha256(sealed).digest(),
        kind=kind,
        subject=subject,
        issuer=claims.issuer,
        issued_s=claims.issued_s,
        envelope=sealed,
    )


def create(home: Path, clock: Clock) -> Identity:
    """A new witness key in ``home``, readable by its owner only. Errors: ``node.already_initialised``."""
    path = home / KEY_FILE
    if path.exists():
        raise MeshError("node.already_initialised", f"{path} exists", home=str(home))
    seed = clock.random(32)
    write_private(path, (_HEADER + seed.hex() + "\n").encode())
    return Identity(SigningKey(seed), clock)


def load(home: Path, clock: Clock) -> Identity:
    """The identity in ``home``. Errors: ``node.not_initialised``, ``store.corrupt``."""
    path = home / KEY_FILE
    try:
        lines = path.read_text().splitlines()
        return Identity(SigningKey(bytes.fromhex(lines[-1])), clock)
    except FileNotFoundError as error:
        raise MeshError("node.not_initialised", f"no node in {home}", home=str(home)) from error
    except (OSError, ValueError, IndexError) as error:
        # `from None`: a parse error of this file could quote the key.
        raise MeshError("store.corrupt", f"{path} holds no witness key") from (
            error if isinstance(error, OSError) else None
        )


def key_is_private(home: Path) -> bool:
    """Whether only the owner can read the witness key."""
    return (os.stat(home / KEY_FILE).st_mode & 0o077) == 0
