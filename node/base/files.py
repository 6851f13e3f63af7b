"""Atomic file writes: a reader sees the complete old file or the complete new one. Also opens files that a person names."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path
from typing import BinaryIO, Final

STORE_FILE: Final = "store.db"
"""The database, in the data directory."""
MARK_FILE: Final = "contents.json"
"""The mark beside it, which says what the directory must contain."""


def open_named(path: Path) -> BinaryIO:
    """Open a file that a person named, for reading.

    Raises ``OSError``, also for a pipe or a terminal: a thread that waits for input there cannot be stopped, and would keep the
    node from stopping.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if stat.S_ISFIFO(os.fstat(handle).st_mode) or os.isatty(handle):
            raise OSError(errno.ESPIPE, "a pipe or a terminal is no file")
        return os.fdopen(handle, "rb")
    except OSError:
        os.close(handle)
        raise


def write_atomic(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Write ``data`` to ``path``, durably and with ``mode``; a crash leaves the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # In the same directory, because a rename is atomic only within one file system.
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            # Before the rename: otherwise a power cut could leave the new name with empty content.
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    # The rename is durable only after the directory has been synced too.
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def write_private(path: Path, data: bytes) -> None:
    """``write_atomic`` with permissions for the owner only."""
    write_atomic(path, data, mode=0o600)
