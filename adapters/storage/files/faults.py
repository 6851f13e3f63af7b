"""Translates exceptions of disk and database to ``MeshError``."""

from __future__ import annotations

import errno
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from protocol.errors import MeshError
from protocol.limits import KIB
from protocol.store_faults import store_code

_NOT_OURS = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_CANTOPEN})
_ROOM_BYTES = 256 * KIB
"""If less than this is free, the disk counts as full, because SQLite needs some pages in addition to the data."""
_PRIMARY = 0xFF
"""SQLite keeps its primary result code in the low byte of an extended one."""


@contextmanager
def translated(path: Path | None = None) -> Iterator[None]:
    """Run a block; its errors about disk, database or an unstorable value leave as ``MeshError``.

    path: the database, which SQLite does not name. Errors: ``store.full``, ``store.unwritable``, ``store.corrupt``,
    ``node.locked`` (another process writes), ``input.invalid`` (a number or text the database cannot hold),
    ``input.too_large``.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise of_sqlite(error, path) from error
    except OSError as error:
        raise of_os(error) from error
    except (OverflowError, UnicodeEncodeError) as error:
        raise MeshError("input.invalid", "a number or a text is outside the range that can be stored") from error


def of_sqlite(error: sqlite3.Error, path: Path | None = None) -> MeshError:
    """The ``MeshError`` for a database error."""
    primary = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
    name = getattr(error, "sqlite_errorname", "")
    if primary == sqlite3.SQLITE_FULL or (primary == sqlite3.SQLITE_IOERR and _no_room(name, path)):
        return MeshError("store.full", sqlite=name)
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return MeshError("node.locked", "another process writes to the store", sqlite=name)
    if primary == sqlite3.SQLITE_TOOBIG:
        return MeshError("input.too_large", "the record is larger than the database allows", sqlite=name)
    if primary == sqlite3.SQLITE_CONSTRAINT or isinstance(error, sqlite3.ProgrammingError):
        # The methods check before they write, so a violated constraint is a bug in this package and not a disk fault.
        return MeshError("internal.fault", str(error), sqlite=name)
    code = "store.unwritable" if primary in _NOT_OURS else "store.corrupt"
    return MeshError(code, f"{path or 'the database'} reports: {error}", sqlite=name)


def _no_room(name: str, path: Path | None) -> bool:
    """True if an input/output error means a full disk.

    SQLite calls only ENOSPC full. To it, a quota, a limit on file sizes, or a mapped file that cannot grow is an input/output
    error, like a defective disk. So this tries what SQLite could not do: to write beyond the end of the database.
    """
    if name == "SQLITE_IOERR_SHMSIZE":
        return True
    if path is None:
        return False
    try:
        if shutil.disk_usage(path.parent).free < _ROOM_BYTES:
            return True
        with tempfile.TemporaryFile(dir=path.parent) as probe:
            probe.seek(path.stat().st_size)  # leaves a hole, which takes no room
            probe.write(bytes(_ROOM_BYTES))
            probe.flush()
    except OSError as error:
        return store_code(error.errno) == "store.full"
    return False


def of_os(error: OSError) -> MeshError:
    """The ``MeshError`` for a file system error."""
    reason = errno.errorcode.get(error.errno or 0, "")
    code = store_code(error.errno)
    if code == "store.full":
        return MeshError(code, errno=reason)
    where = error.filename if isinstance(error.filename, str | Path) else "the data directory"
    return MeshError(code, f"{where} reports: {error.strerror}", errno=reason)
