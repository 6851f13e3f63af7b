"""Stores the seeds of a witness key or an owner's key sealed with a passphrase: argon2id, XChaCha20-Poly1305.

The parameters are stored in plain text beside the encrypted seeds and are authenticated as additional data, so nobody can
change them. A wrong passphrase and a changed file give the same error, so that the error does not help in guessing.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec
from nacl import pwhash, utils
from nacl.exceptions import CryptoError
from nacl.secret import Aead

from adapters.keys import seeds as kept
from protocol import limits
from protocol.errors import MeshError

FORM: Final = "passphrase"
_TITLE: Final = "trailmesh witness key, sealed with a passphrase (argon2id, XChaCha20-Poly1305)."
_OWNER_TITLE: Final = "trailmesh key of an owner, sealed with a passphrase (argon2id, XChaCha20-Poly1305)."
_MEMORY_BYTES_MAX: Final = limits.MIB * 1024
_OPERATIONS_MAX: Final = 16

Passphrase = Callable[[], bytes]
"""Asks for the passphrase. Errors: ``key.locked`` when nobody can be asked."""


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of one guess."""

    operations: int = pwhash.argon2id.OPSLIMIT_MODERATE
    memory_bytes: int = pwhash.argon2id.MEMLIMIT_MODERATE


class PassphraseKeyStore:
    """A ``KeyStore`` whose file is useless without the passphrase. It asks for the passphrase once."""

    form = FORM

    def __init__(
        self, path: Path, write: kept.WritePrivate, ask: Passphrase, cost: Cost | None = None, *, owner: bool = False
    ) -> None:
        """owner: True for the key of an owner, which the node itself never opens."""
        self._title = _OWNER_TITLE if owner else _TITLE
        self._wrong = "owner.passphrase" if owner else "key.passphrase"
        self._path, self._write, self._ask = path, write, ask
        self._cost = cost or Cost()
        self._box: Aead | None = None
        self._terms = ""

    def __repr__(self) -> str:
        return f"PassphraseKeyStore({self._path})"

    def load(self) -> tuple[bytes, ...]:
        """As ``KeyStore.load``. Errors: ``node.not_initialised``, ``store.corrupt``, ``key.locked``, ``key.passphrase``."""
        lines = kept.read_lines(self._path)
        try:
            terms, (operations, memory_bytes, salt) = lines[0], _parse_terms(lines[0])
            sealed = base64.b64decode(lines[1], validate=True)
        except (ValueError, IndexError, binascii.Error):
            raise kept.corrupt(self._path) from None
        # Check the cost parameters first, so that a foreign file cannot make argon2id exhaust all memory.
        if not 0 < operations <= _OPERATIONS_MAX or not 0 < memory_bytes <= _MEMORY_BYTES_MAX:
            raise kept.corrupt(self._path)
        box = _box(self._ask(), salt, Cost(operations=operations, memory_bytes=memory_bytes), self._path)
        try:
            # The cost parameters are authenticated with the seeds, so that nobody can lower them in the file.
            opened = box.decrypt(sealed, terms.encode())
        except (CryptoError, ValueError):
            raise MeshError(self._wrong, "the key does not open with this passphrase") from None
        self._box, self._terms = box, terms
        return kept.split(opened, self._path)

    def save(self, seeds: Sequence[bytes]) -> None:
        """As ``KeyStore.save``. Errors: ``store.full``, ``store.corrupt``, ``key.locked``."""
        if self._box is None:
            salt = utils.random(pwhash.argon2id.SALTBYTES)
            self._terms = f"argon2id {self._cost.operations} {self._cost.memory_bytes} {salt.hex()}"
            self._box = _box(self._ask(), salt, self._cost, self._path)
        sealed = base64.b64encode(self._box.encrypt(kept.join(seeds), self._terms.encode())).decode()
        kept.save(self._write, self._path, f"{self._title}\n{self._terms}\n{sealed}\n")


def is_sealed(line: str) -> bool:
    """True if the second line of a key file names this form."""
    return line.startswith("argon2id ")


def _parse_terms(line: str) -> tuple[int, int, bytes]:
    """Operations, memory in bytes, salt. Errors: ``ValueError``."""
    name, operations, memory_bytes, salt = line.split(" ")
    raw = bytes.fromhex(salt)
    if name != "argon2id" or len(raw) != pwhash.argon2id.SALTBYTES:
        raise ValueError
    return int(operations), int(memory_bytes), raw


def _box(passphrase: bytes, salt: bytes, cost: Cost, path: Path) -> Aead:
    """Errors: ``store.corrupt`` (parameters argon2id does not know)."""
    try:
        key = pwhash.argon2id.kdf(Aead.KEY_SIZE, passphrase, salt, opslimit=cost.operations, memlimit=cost.memory_bytes)
    except (CryptoError, ValueError, MemoryError):
        raise kept.corrupt(path) from None
    return Aead(key)
