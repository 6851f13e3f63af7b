"""Locks a data directory for one process.

The lock is the kernel's (``flock`` through filelock), so it ends with its process, even after a crash; child processes do not
inherit it. The pid in a separate file only tells a person which process to stop; it decides nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from adapters.storage.files.blobs import make_directory
from adapters.storage.files.faults import translated
from protocol.errors import MeshError
from protocol.store_faults import store_code

LOCK_FILE: Final = "node.lock"
PID_FILE: Final = "node.pid"
_FILE_MODE: Final = 0o600


class DirectoryLock:
    """Ownership of a data directory, from ``acquire`` to ``release``."""

    def __init__(self, directory: Path, *, wait_s: float = 0) -> None:
        """wait_s: how long ``acquire`` waits, and blocks its thread, while a short command owns the directory."""
        self._directory = directory
        # Not per thread, because one thread may acquire the lock that another one released.
        self._lock = FileLock(directory / LOCK_FILE, timeout=wait_s, mode=_FILE_MODE, thread_local=False)

    def acquire(self) -> None:
        """Own the directory (created if missing), or raise once the wait is over.

        Errors: ``node.locked`` (detail: the holder's ``pid``, 0 if unknown), ``store.full``, ``store.corrupt``.
        """
        with translated():
            make_directory(self._directory)
            try:
                self._lock.acquire()
            except Timeout:
                pid = holder(self._directory)
                raise MeshError("node.locked", f"process {pid or '?'} is using the data directory", pid=pid) from None
            try:
                self._write_pid()
            except OSError as error:
                # The pid is only for display. Commands that need no disk space, above all the doctor, must still run on a full
                # disk.
                if store_code(error.errno) != "store.full":
                    self._lock.release()
                    raise

    def release(self) -> None:
        """Give the directory up. Never raises; a second call does nothing."""
        if not self._lock.is_locked:
            return
        with suppress(OSError):  # the pid is only for display; releasing the lock is what matters
            (self._directory / PID_FILE).unlink()
        # force: the lock counts nested acquisitions, but an owner gives it up completely.
        self._lock.release(force=True)

    def _write_pid(self) -> None:
        path = self._directory / PID_FILE
        temporary = path.with_suffix(".tmp")
        temporary.unlink(missing_ok=True)  # left by a crash; the lock is ours
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE), "w") as file:
            file.write(f"{os.getpid()}\n")
        os.replace(temporary, path)  # a reader sees a whole number


def holder(directory: Path) -> int:
    """The pid last written by an owner of ``directory``; 0 if there is none or that process has ended."""
    try:
        pid = int((directory / PID_FILE).read_text())
        if pid <= 0:
            return 0  # for kill(), 0 and negative numbers mean process groups
        os.kill(pid, 0)
    except PermissionError:
        return pid  # it is alive, under another user
    except (OSError, ValueError, OverflowError):
        return 0
    return pid


@contextmanager
def locked(directory: Path, *, wait_s: float = 0) -> Iterator[None]:
    """Own ``directory`` for a block. Errors: those of ``DirectoryLock.acquire``."""
    lock = DirectoryLock(directory, wait_s=wait_s)
    lock.acquire()
    try:
        yield
    finally:
        lock.release()
