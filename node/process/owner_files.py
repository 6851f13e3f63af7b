"""Keys of owners on this machine: sealed files in the data directory. Only commands open them, never a running node."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from nacl.signing import SigningKey

from node.process.machine import system_clock
from node.process.passphrase import new_owner_passphrase, owner_passphrase
from node.process.wiring import owner_key_store
from protocol.approval.owners import owner_id
from protocol.errors import MeshError

DIRECTORY: Final = "owners"
SEED_BYTES: Final = 32


def file_of(home: Path, id: str) -> Path:
    """The path of the key with this id, if it is stored here."""
    return home / DIRECTORY / f"{id}.key"


def make_key(home: Path, name: str) -> tuple[SigningKey, Path]:
    """A new key, sealed with a typed passphrase, and its file. Errors: ``owner.locked``, ``input.invalid``, ``store.*``."""
    passphrase = new_owner_passphrase(name)
    key = SigningKey(system_clock().random(SEED_BYTES))
    path = file_of(home, owner_id(bytes(key.verify_key)))
    path.parent.mkdir(mode=0o700, exist_ok=True)
    owner_key_store(path, lambda: passphrase).save([bytes(key)])
    return key, path


def open_key(home: Path, id: str, name: str) -> SigningKey:
    """The key with this id, opened by its passphrase, which is asked for.

    Errors: ``owner.unknown`` (it is stored elsewhere), ``owner.locked``, ``owner.passphrase``, ``store.corrupt``.
    """
    path = file_of(home, id)
    if not path.exists():
        told = f"the key of {name} is not kept in {path}: sign a statement where it is (`trailmesh approve show --statement`)"
        raise MeshError("owner.unknown", told)
    (seed, *_) = owner_key_store(path, lambda: owner_passphrase(name)).load()
    key = SigningKey(seed)
    if owner_id(bytes(key.verify_key)) != id:
        raise MeshError("store.corrupt", f"{path} holds another key than its name says")
    return key
