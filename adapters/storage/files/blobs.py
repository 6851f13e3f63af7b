"""Stores blobs as files named by their SHA-256: ``blobs/ab/<64 hex>``.

A blob is written to a temporary file in its own directory, synced, renamed, and the directory synced. So a file under that name
is complete, even after a power cut. Used from one thread of a process. Another process on the same directory does not remove a
blob that this one has put but not yet named (``pins.py``).
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from adapters.storage.files.faults import translated
from adapters.storage.files.pins import Pins
from protocol.errors import MeshError

DIGEST_BYTES: Final = 32
DIRECTORY_MODE: Final = 0o700
_TEMPORARY: Final = ".tmp-"


def make_directory(path: Path) -> None:
    """Create ``path`` for its owner only, durably; an existing directory is closed to others."""
    if not path.is_dir():
        missing = [path, *(parent for parent in path.parents if not parent.exists())]
        for directory in reversed(missing):
            directory.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
            sync_directory(directory.parent)
    if path.stat().st_mode & 0o077:
        path.chmod(DIRECTORY_MODE)


def sync_directory(path: Path) -> None:
    """Make names in ``path`` durable: syncing a file alone does not save its name."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Blobs:
    """The blob files under one directory."""

    def __init__(self, root: Path) -> None:
        """Open ``root`` and remove files that a crash left unfinished. Errors: ``store.full``, ``store.corrupt``."""
        self._root = root
        with translated():
            make_directory(root)
            self._pins = Pins(root)
            with self._pins.sweeping():  # a temporary file of another process is in use and not a leftover
                for stale in root.glob(f"*/{_TEMPORARY}*"):
                    stale.unlink()

    @property
    def root(self) -> Path:
        """The directory."""
        return self._root

    def path_of(self, digest: bytes) -> Path:
        """The path of the blob with this digest, if it exists."""
        name = digest.hex()
        return self._root / name[:2] / name

    def put(self, data: bytes) -> bytes:
        """Write ``data`` to disk and return its SHA-256; no process removes the blob before it was ``named``.

        Errors: ``store.full``, ``store.corrupt``.

        An intact file of that name is kept; a damaged one is replaced, so importing a session again heals it.
        """
        digest = hashlib.sha256(data).digest()
        path = self.path_of(digest)
        with translated(), self._pins.putting():
            # Pin before looking for the file: a sweep in between could remove an existing blob.
            self._pins.add(digest)
            if self._read(path) == data:
                # The writer may have crashed between rename and fsync, so make the name durable before relying on it.
                sync_directory(path.parent)
                return digest
            make_directory(path.parent)
            self._write(path, data)
        return digest

    def get(self, digest: bytes) -> bytes:
        """The bytes of a blob, checked against ``digest``. Errors: ``blob.missing``, ``store.corrupt``."""
        data: bytes | None = None
        if len(digest) == DIGEST_BYTES:
            with translated():
                data = self._read(self.path_of(digest))
        if data is None:
            raise MeshError("blob.missing", f"no blob {digest.hex()[:16]}…", digest=digest.hex())
        # Checked on every read, because a damaged disk can change a file unnoticed.
        if hashlib.sha256(data).digest() != digest:
            raise MeshError("blob.missing", f"blob {digest.hex()[:16]}… does not match its hash", digest=digest.hex())
        return data

    def named(self, digests: Iterable[bytes]) -> None:
        """A record on disk names these blobs now. Errors: ``store.corrupt``, ``store.unwritable``."""
        with translated():
            self._pins.drop(digests)

    def remove(self, digests: Iterable[bytes]) -> set[bytes]:
        """Remove these blobs, except those that were put but not named yet. Returns the kept ones.

        Errors: ``store.unwritable``, ``store.corrupt``.
        """
        wanted = set(digests)
        with translated(), self._pins.sweeping():
            kept = wanted & self._pins.held()
            for digest in wanted - kept:
                self.path_of(digest).unlink(missing_ok=True)
        return kept

    def close(self) -> None:
        """End the protection of blobs that this process has put but not named."""
        self._pins.close()

    def has(self, digest: bytes) -> bool:
        """True if a file of this digest exists; ``get`` checks its content."""
        return len(digest) == DIGEST_BYTES and self.path_of(digest).is_file()

    @staticmethod
    def _read(path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None

    @staticmethod
    def _write(path: Path, data: bytes) -> None:
        handle, name = tempfile.mkstemp(prefix=_TEMPORARY, dir=path.parent)  # mkstemp creates files with mode 0600
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            with suppress(OSError):  # a disk error is already being raised; the next open removes the leftover
                os.unlink(name)
            raise
        sync_directory(path.parent)
