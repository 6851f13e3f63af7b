"""Copies a store while it is in use, without delaying its users.

``Snapshot`` is made on the thread of the store, so it captures the state between two calls. A read transaction of a second
connection fixes the database (write-ahead logging lets others write meanwhile), and each blob gets a second name. A blob file
is never changed, so a hard link is a copy. ``finish`` copies the pages of that state on another thread.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from adapters.storage.files.blobs import make_directory
from adapters.storage.files.faults import translated
from adapters.storage.files.pins import PINS_DIRECTORY

_PAGES_AT_ONCE = 1_024
"""SQLite holds a lock on its files while it copies a batch."""


class Snapshot:
    """One state of a store, to be copied."""

    def __init__(self, database: Path, blobs: Path, directory: Path) -> None:
        """directory: the place of the copy, best on the same file system. Errors: ``store.*``."""
        self._path, self._target = database, directory / database.name
        with translated(database):
            # Used by two threads, one after the other.
            self._db = sqlite3.connect(database, isolation_level=None, check_same_thread=False)
            try:
                self._db.execute("BEGIN")
                self._db.execute(
                    "SELECT count(*) FROM sqlite_schema"
                ).fetchone()  # the transaction begins at its first read
                _link(blobs, directory / blobs.name)
            except BaseException:
                self._db.close()
                raise

    def finish(self) -> None:
        """Copy the database. Errors: ``store.*``."""
        with translated(self._target), closing(self._db):
            os.close(os.open(self._target, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
            with closing(sqlite3.connect(self._target, isolation_level=None)) as copy:
                self._db.backup(copy, pages=_PAGES_AT_ONCE)
                copy.execute("PRAGMA journal_mode = DELETE")  # so that the copy is one file


def _link(blobs: Path, target: Path) -> None:
    make_directory(target)
    for part in blobs.iterdir():
        if part.name == PINS_DIRECTORY or not part.is_dir():
            continue
        make_directory(target / part.name)
        for blob in part.iterdir():
            if blob.name.startswith("."):  # an unfinished file of another process
                continue
            try:
                os.link(blob, target / part.name / blob.name)
            except OSError:  # a file system without hard links, or with another limit of them
                shutil.copyfile(blob, target / part.name / blob.name)
