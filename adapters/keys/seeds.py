"""Shared by all key stores: a store contains one or two seeds of 32 bytes each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from protocol.errors import MeshError
from protocol.store_faults import store_code

SEED_BYTES: Final = 32
SEEDS_MAX: Final = 2

WritePrivate = Callable[[Path, bytes], None]
"""Writes a file that only its owner can read, whole or not at all."""


def join(seeds: Sequence[bytes]) -> bytes:
    """The seeds concatenated."""
    assert 0 < len(seeds) <= SEEDS_MAX and all(len(seed) == SEED_BYTES for seed in seeds)
    return b"".join(seeds)


def split(data: bytes, path: Path) -> tuple[bytes, ...]:
    """The seeds in ``data``. Errors: ``store.corrupt``."""
    count, rest = divmod(len(data), SEED_BYTES)
    if rest or not 0 < count <= SEEDS_MAX:
        raise corrupt(path)
    return tuple(data[i * SEED_BYTES : (i + 1) * SEED_BYTES] for i in range(count))


def read_lines(path: Path) -> list[str]:
    """The lines of a key file, except the first one, which is for people.

    Errors: ``node.not_initialised``, ``store.unwritable``, ``store.corrupt``.
    """
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except FileNotFoundError as error:
        raise MeshError("node.not_initialised", f"no node in {path.parent}", home=str(path.parent)) from error
    except OSError as error:
        raise MeshError(store_code(error.errno), f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        # `from None`, here and below: the message of a parser can contain the seed.
        raise corrupt(path) from None
    if len(lines) < 2:
        raise corrupt(path)
    return lines[1:]


def corrupt(path: Path) -> MeshError:
    """The error for a key file that cannot be read."""
    return MeshError("store.corrupt", f"{path} holds no witness key")


def save(write: WritePrivate, path: Path, text: str) -> None:
    """Write ``text`` to ``path``. Errors: ``store.full``, ``store.unwritable``, ``store.corrupt``."""
    try:
        write(path, text.encode("ascii"))
    except OSError as error:
        raise MeshError(store_code(error.errno), f"{path} cannot be written: {error.strerror}") from error
