"""One SQLite database on one thread: settings, transactions, translation of errors.

All calls run on a single-thread executor, so the event loop never waits for the disk, calls keep their order, and the
connection is never shared.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from adapters.storage import migrations
from adapters.storage.blobs import make_directory, sync_directory
from adapters.storage.faults import translated
from adapters.storage.records import closed

T = TypeVar("T")

BUSY_TIMEOUT_MS: Final = 5_000
_FILE_MODE: Final = 0o600
_SETTINGS: Final = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA foreign_keys = ON",
    # NORMAL would sync only at checkpoints: a power cut could take transactions whose call had returned.
    "PRAGMA synchronous = FULL",
    # On macOS fsync leaves data in the drive's cache; elsewhere these two change nothing.
    "PRAGMA fullfsync = ON",
    "PRAGMA checkpoint_fullfsync = ON",
    "PRAGMA trusted_schema = OFF",
)


class Database:
    """An open database. ``read`` and ``write`` each run one function in one transaction."""

    def __init__(self, db: sqlite3.Connection, path: Path, executor: ThreadPoolExecutor) -> None:
        self._db = db
        self._path = path
        self._executor = executor
        self._closed = False
        self.waiting = 0
        """Calls that have begun and not ended."""

    @classmethod
    async def open(cls, path: Path) -> Database:
        """The database at ``path``, created (0600, in a 0700 directory) or migrated to the newest version.

        Errors: ``store.corrupt``, ``store.newer``, ``store.full``, ``store.unwritable``, ``node.locked``.
        """
        executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        try:
            db = await asyncio.get_running_loop().run_in_executor(executor, _connect, path)
        except BaseException:
            executor.shutdown(wait=False)
            raise
        return cls(db, path, executor)

    async def write(
        self, work: Callable[[sqlite3.Connection], T], *, then: Callable[[sqlite3.Connection], None] | None = None
    ) -> T:
        """What ``work`` returned, once it is committed and on disk; if it raises, nothing of it stays.

        then: a transaction of its own that follows at once, also for a caller who no longer waits.
        """

        def both() -> T:
            # IMMEDIATE takes the write lock first: a deferred transaction can fail halfway when it has to upgrade.
            result = self._transaction("BEGIN IMMEDIATE", work)
            if then is not None:
                self._transaction("BEGIN IMMEDIATE", then)
            return result

        return await self.run(both)

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What ``work`` returned on one consistent state of the database."""
        return await self.run(lambda: self._transaction("BEGIN", work))

    async def run(self, work: Callable[[], T]) -> T:
        """What ``work`` returned on this thread, without a transaction. Errors: ``node.stopped`` once closed."""
        if self._closed:
            raise closed()
        self.waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, work)
        finally:
            self.waiting -= 1

    async def close(self) -> None:
        """Finish what was begun, fold the WAL into the file, end the thread. Never raises; twice is once."""
        if self._closed:
            return
        self._closed = True
        await asyncio.get_running_loop().run_in_executor(self._executor, self._close)
        self._executor.shutdown()  # returns at once: the call above was the last one

    def _close(self) -> None:
        with suppress(sqlite3.Error):  # all is committed; a checkpoint that fails here runs at the next open
            self._db.close()

    def _transaction(self, begin: str, work: Callable[[sqlite3.Connection], T]) -> T:
        with translated(self._path):
            self._db.execute(begin)
            try:
                result = work(self._db)
                self._db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # SQLite may have rolled back already; the first error counts
                    self._db.execute("ROLLBACK")
                raise
            return result


def _connect(path: Path) -> sqlite3.Connection:
    with translated(path):
        make_directory(path.parent)
        created = not path.exists()
        # SQLite would create the file by the umask; its WAL takes the mode of the database file.
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, _FILE_MODE)
        try:
            os.fchmod(handle, _FILE_MODE)
        finally:
            os.close(handle)
        if created:
            sync_directory(path.parent)
        db = sqlite3.connect(path, timeout=BUSY_TIMEOUT_MS / 1_000, isolation_level=None)
        try:
            migrations.version_of(db)  # first of all: a store that is refused is not changed
            for setting in _SETTINGS:
                db.execute(setting)
            migrations.migrate(db)
        except BaseException:
            db.close()
            raise
        return db
