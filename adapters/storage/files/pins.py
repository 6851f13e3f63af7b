"""Protects new blobs that no record refers to yet from the sweep of any process.

Each process has a directory of its own, ``.pins/<random>``, with an empty file for each pinned blob, and locks it for its
lifetime: pins of dead processes do not count. Nothing here needs to survive a power cut, which ends all processes.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

PINS_DIRECTORY: Final = ".pins"
_FILE_MODE: Final = 0o600


class Pins:
    """The pins of this process, and those of other living ones. Used from one thread."""

    def __init__(self, root: Path) -> None:
        """Create the directory of this process. Errors: ``OSError``."""
        self._root = root / PINS_DIRECTORY
        self._root.mkdir(mode=0o700, exist_ok=True)
        self._lock = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY)
        self._count: Counter[bytes] = Counter()
        """How often each blob was stored: two recordings may have the same screenshot, and one of them may refer to it first."""
        try:
            with self.sweeping():  # without its lock the directory would look like that of a dead process
                self._own = Path(tempfile.mkdtemp(dir=self._root))
                self._alive = _hold(self._own)
        except BaseException:
            os.close(self._lock)
            raise

    @contextmanager
    def putting(self) -> Iterator[None]:
        """In this block no process sweeps; several may put."""
        fcntl.flock(self._lock, fcntl.LOCK_SH)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    @contextmanager
    def sweeping(self) -> Iterator[None]:
        """In this block no other process puts or sweeps."""
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def add(self, digest: bytes) -> None:
        """Pin a blob; within ``putting``."""
        self._count[digest] += 1
        os.close(os.open(self._own / digest.hex(), os.O_WRONLY | os.O_CREAT, _FILE_MODE))

    def drop(self, digests: Iterable[bytes]) -> None:
        """A record names these blobs now: each loses one pin, if it has one."""
        for digest in digests:
            if digest in self._count:
                self._count[digest] -= 1
                if not self._count[digest]:
                    del self._count[digest]
                    (self._own / digest.hex()).unlink(missing_ok=True)

    def held(self) -> set[bytes]:
        """The blobs that any living process has pinned; removes the pins of dead ones. Within ``sweeping``."""
        found = set(self._count)
        for other in self._root.iterdir():
            if other == self._own:
                continue
            try:
                os.close(_hold(other))
            except BlockingIOError:
                found |= {bytes.fromhex(pin.name) for pin in other.iterdir()}
            else:
                shutil.rmtree(other)
        return found

    def close(self) -> None:
        """End the pins of this process."""
        with suppress(OSError):  # the next sweep removes the rest
            shutil.rmtree(self._own)
        os.close(self._alive)
        os.close(self._lock)


def _hold(directory: Path) -> int:
    """A handle that locks ``directory`` until it is closed. Errors: ``BlockingIOError`` while another process locks it."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(handle)
        raise
    return handle
