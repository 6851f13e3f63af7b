"""Stores seeds in a file that only its owner can read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from adapters.keys import seeds as kept
from protocol.errors import MeshError

_TITLE: Final = "trailmesh witness key, Ed25519 seed. Whoever reads this file can sign as this node."


class FileKeyStore:
    """A ``KeyStore`` in plain text: mode 0600, the seeds in hexadecimal digits, the current one first."""

    form = "file"

    def __init__(self, path: Path, write: kept.WritePrivate) -> None:
        self._path, self._write = path, write

    def load(self) -> tuple[bytes, ...]:
        """As ``KeyStore.load``. Errors: ``node.not_initialised``, ``store.corrupt``."""
        lines = kept.read_lines(self._path)
        try:
            return kept.split(b"".join(bytes.fromhex(line) for line in lines), self._path)
        except ValueError:
            raise kept.corrupt(self._path) from None

    def save(self, seeds: Sequence[bytes]) -> None:
        """As ``KeyStore.save``. Errors: ``store.full``, ``store.corrupt``."""
        kept.join(seeds)
        kept.save(self._write, self._path, "\n".join([_TITLE, *(seed.hex() for seed in seeds)]) + "\n")


class MemoryKeyStore:
    """A ``KeyStore`` in memory only."""

    form = "memory"

    def __init__(self) -> None:
        self._seeds: tuple[bytes, ...] = ()

    def load(self) -> tuple[bytes, ...]:
        """As ``KeyStore.load``. Errors: ``node.not_initialised``."""
        if not self._seeds:
            raise MeshError("node.not_initialised", "no key is stored")
        return self._seeds

    def save(self, seeds: Sequence[bytes]) -> None:
        """As ``KeyStore.save``."""
        kept.join(seeds)
        self._seeds = tuple(seeds)
