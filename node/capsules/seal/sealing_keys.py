"""Makes, certifies and renews the sealing keys of this node, and destroys them when they end.

Each private key is in a file of its own, encrypted under the witness key. If that key has a passphrase, the files are useless
without it. Backups do not contain them, so a restored node cannot open capsules sealed before.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from nacl.signing import SigningKey

from adapters.ports.clock import Clock
from adapters.ports.store import Store
from node.base.files import write_private
from node.signing import Witness
from protocol import limits
from protocol.capsule.artefacts import KIND_SEALING_KEY, SealingCertificate
from protocol.capsule.capsule import sealing_key_id
from protocol.errors import MeshError
from protocol.store_faults import store_code
from protocol.wire import cbor, envelope

log = logging.getLogger(__name__)

DIRECTORY: Final = "sealing"
_DAY_MS: Final = 86_400_000
_LIFE_MS: Final = limits.SEALING_KEY_DAYS_MAX * _DAY_MS
_RENEW_MS: Final = _LIFE_MS // 2
_FILE_BYTES_MAX: Final = 32 * limits.KIB
_AT_REST: Final = b"trailmesh: sealing key at rest"
_NONCE_BYTES: Final = 12


class Wrap(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The private key, encrypted under one witness key."""

    by: bytes
    """Key id of that witness key."""
    nonce: bytes
    sealed: bytes


class KeyFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a sealing key file."""

    certificate: bytes
    """The signed ``SealingCertificate``."""
    wraps: tuple[Wrap, ...]
    """There are two while the witness key changes, so that a crash loses nothing."""


class SealingKey(msgspec.Struct, frozen=True, kw_only=True):
    """A sealing key whose private half is in memory."""

    certificate: bytes
    said: SealingCertificate
    private: X25519PrivateKey

    def __repr__(self) -> str:
        return f"SealingKey({sealing_key_id(self.said.key).hex()})"


class SealingKeys:
    """The sealing keys of this node. ``load`` comes first."""

    def __init__(self, home: Path, witness: Witness, store: Store, clock: Clock) -> None:
        self._directory, self._witness, self._store, self._clock = home / DIRECTORY, witness, store, clock
        self._keys: dict[bytes, SealingKey] = {}
        self._making = asyncio.Lock()

    async def load(self) -> None:
        """Read the keys, and destroy those that have ended. An unreadable file is skipped, and left for its owner.

        Errors: ``store.*``.
        """
        for path in await asyncio.to_thread(self._files):
            try:
                key = await asyncio.to_thread(self._read, path)
            except MeshError as error:
                log.error("a sealing key cannot be used: %s", error)
                continue
            self._keys[sealing_key_id(key.said.key)] = key
        await self.sweep()

    def _files(self) -> list[Path]:
        return sorted(self._directory.glob("*.key"))

    def _read(self, path: Path) -> SealingKey:
        try:
            with path.open("rb") as opened:
                file = cbor.decode_as(opened.read(_FILE_BYTES_MAX + 1), KeyFile, bytes_max=_FILE_BYTES_MAX)
            said = cbor.decode_as(envelope.peek(file.certificate).payload, SealingCertificate)
        except OSError as error:
            raise MeshError(store_code(error.errno), f"{path} cannot be read: {error.strerror}") from error
        except MeshError as error:
            raise MeshError("store.corrupt", f"{path}: {error.code}") from error
        key_id = envelope.key_id(self._witness.public_key)
        wrap = next((each for each in file.wraps if each.by == key_id), None)
        if wrap is None:
            raise MeshError("store.corrupt", f"{path} is encrypted under another witness key")
        try:
            private = ChaCha20Poly1305(_at_rest(self._witness.identity.key)).decrypt(wrap.nonce, wrap.sealed, said.key)
        except (InvalidTag, ValueError):
            raise MeshError("store.corrupt", f"{path} was changed") from None
        return SealingKey(certificate=file.certificate, said=said, private=X25519PrivateKey.from_private_bytes(private))

    async def current(self) -> SealingKey:
        """The key to which others seal now; a new one if there is none, or if the newest key is in the second half of its life.

        Errors: ``keylog.*``, ``log.rollback``, ``store.*``.
        """
        async with self._making:
            await self.sweep()
            now_ms = self._clock.now_ms()
            newest = max(self._keys.values(), key=lambda key: key.said.ends_ms, default=None)
            if newest is not None and newest.said.begins_ms <= now_ms < newest.said.begins_ms + _RENEW_MS:
                return newest
            return await self._make(now_ms)

    async def _make(self, now_ms: int) -> SealingKey:
        private = X25519PrivateKey.generate()
        public = private.public_key().public_bytes_raw()
        said = SealingCertificate(node=self._witness.node, key=public, begins_ms=now_ms, ends_ms=now_ms + _LIFE_MS)
        artefact = await self._witness.artefact(KIND_SEALING_KEY, self._witness.node, said)
        key = SealingKey(certificate=artefact.envelope, said=said, private=private)
        # The file is written before the certificate leaves, so that nobody seals to a key that a crash would lose.
        await asyncio.to_thread(self._write, key, (self._witness.identity.key,))
        await self._store.put_artefact(artefact)
        self._keys[sealing_key_id(public)] = key
        return key

    def _write(self, key: SealingKey, under: Sequence[SigningKey]) -> None:
        wraps = []
        for witness_key in under:
            nonce = self._clock.random(_NONCE_BYTES)
            cipher = ChaCha20Poly1305(_at_rest(witness_key))
            sealed = cipher.encrypt(nonce, key.private.private_bytes_raw(), key.said.key)
            wraps.append(Wrap(by=envelope.key_id(bytes(witness_key.verify_key)), nonce=nonce, sealed=sealed))
        try:
            self._directory.mkdir(mode=0o700, exist_ok=True)
            write_private(self._path(key), cbor.encode(KeyFile(certificate=key.certificate, wraps=tuple(wraps))))
        except OSError as error:
            raise MeshError(store_code(error.errno), f"{self._directory}: {error.strerror}") from error

    def _path(self, key: SealingKey) -> Path:
        return self._directory / f"{sealing_key_id(key.said.key).hex()}.key"

    def rewrap(self, under: Sequence[SigningKey]) -> None:
        """Encrypt the files under these keys: under both while the witness key changes, then under the new one.

        Errors: ``store.*``.
        """
        for key in self._keys.values():
            self._write(key, under)

    def private(self, key_id: bytes) -> X25519PrivateKey:
        """The private half of a key that has not ended. Errors: ``capsule.key_ended``."""
        found = self._keys.get(key_id)
        if found is None or found.said.ends_ms <= self._clock.now_ms():
            raise MeshError("capsule.key_ended", f"sealing key {key_id.hex()}")
        return found.private

    def ends_ms(self, key_id: bytes) -> int:
        """The end of a key; 0 if this node does not have it."""
        found = self._keys.get(key_id)
        return found.said.ends_ms if found else 0

    async def sweep(self) -> int:
        """Overwrite and remove the keys that have ended. Returns their number. Errors: ``store.*``."""
        now_ms = self._clock.now_ms()
        ended = [id for id, key in self._keys.items() if key.said.ends_ms <= now_ms]
        for id in ended:
            await asyncio.to_thread(destroy, self._path(self._keys.pop(id)))
        return len(ended)


def destroy(path: Path) -> None:
    """Overwrite a file, and remove it; nothing if there is none. Errors: ``store.*``."""
    # A file system that copies on write keeps the old blocks for a while: docs/THREATS.md says so.
    try:
        with path.open("r+b") as file:
            file.write(os.urandom(path.stat().st_size))
            file.flush()
            os.fsync(file.fileno())
        path.unlink()
    except FileNotFoundError:
        return
    except OSError as error:
        raise MeshError(store_code(error.errno), f"{path} cannot be destroyed: {error.strerror}") from error


def _at_rest(key: SigningKey) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=_AT_REST).derive(bytes(key))
