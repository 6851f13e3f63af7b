"""Runs one SQLite database on one thread: settings, transactions, translation of errors.

All calls run on a single-thread executor, so the event loop never waits for the disk, reads and writes keep their order, and
the connection is never shared.

Group commit: calls that arrive while the thread is busy wait together, and the next transaction takes all of them. Each has a
savepoint of its own, so one that fails is undone alone. Each call, a read too, is answered only after the commit is on disk, so
no caller sees data that a power cut could still undo.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from adapters.storage.files import migrations
from adapters.storage.files.blobs import make_directory, sync_directory
from adapters.storage.files.faults import translated
from adapters.storage.files.records import closed
from protocol.errors import MeshError

T = TypeVar("T")

BUSY_TIMEOUT_MS: Final = 5_000
BATCH_CALLS_MAX: Final = 256
"""Maximum number of calls in one transaction. With more, the first would wait too long for the commit."""
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
    # Deleted data is overwritten: its page could stay free in the file for years. Only some builds of SQLite do so by default.
    "PRAGMA secure_delete = ON",
)


class _Call(NamedTuple):
    """A call that waits for the thread."""

    work: Callable[[sqlite3.Connection], Any]
    then: Callable[[sqlite3.Connection], None] | None
    writes: bool
    answer: asyncio.Future[Any]


_Outcome = tuple[Any, BaseException | None]
"""The result of a call, or its exception."""


class Database:
    """An open database. ``read`` and ``write`` each run one function as if in a transaction of its own.

    The function may run a second time if its transaction failed, so it must change nothing but the database.
    """

    def __init__(self, db: sqlite3.Connection, path: Path, executor: ThreadPoolExecutor) -> None:
        self._db = db
        self._path = path
        self._executor = executor
        self._queue: deque[_Call] = deque()
        self._called_for = False
        """True if the thread is already scheduled to process the queue."""
        self._closed = False
        self.waiting = 0
        """Number of calls in progress."""

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
        """The result of ``work``, once it is committed and on disk; if it raises, all its changes are undone.

        then: a separate transaction that follows the commit, even if the caller no longer waits.
        """
        result: T = await self._called(work, then, writes=True)
        return result

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """The result of ``work`` on one consistent state of the database, all of which is on disk."""
        result: T = await self._called(work, None, writes=False)
        return result

    async def _called(
        self,
        work: Callable[[sqlite3.Connection], Any],
        then: Callable[[sqlite3.Connection], None] | None,
        *,
        writes: bool,
    ) -> Any:
        if self._closed:
            raise closed()
        self.waiting += 1
        try:
            answer = asyncio.get_running_loop().create_future()
            self._queue.append(_Call(work, then, writes, answer))
            if not self._called_for:
                self._called_for = True
                self._executor.submit(self._take)
            return await answer
        finally:
            self.waiting -= 1

    async def run(self, work: Callable[[], T]) -> T:
        """The result of ``work`` on this thread, without a transaction. Errors: ``node.stopped`` once closed."""
        if self._closed:
            raise closed()
        self.waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, work)
        finally:
            self.waiting -= 1

    async def fold(self) -> None:
        """Fold the WAL into the file and empty it, as it still holds pages with deleted data. Never raises."""
        with suppress(MeshError):
            await self.run(self._fold)

    def _fold(self) -> None:
        # Not during a copy of the file: calls would wait for it. A later checkpoint does it instead.
        with suppress(sqlite3.Error):
            self._db.execute("PRAGMA busy_timeout = 0")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        with suppress(sqlite3.Error):
            self._db.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS:d}")

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    @property
    def closed(self) -> bool:
        """True if it was closed."""
        return self._closed

    async def close(self) -> None:
        """Finish the calls in progress, fold the WAL into the file, end the thread. Never raises; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        await asyncio.get_running_loop().run_in_executor(self._executor, self._close)
        self._executor.shutdown()  # returns at once: the call above was the last one

    def _close(self) -> None:
        with suppress(sqlite3.Error):  # all is committed; if this checkpoint fails, the next open runs it
            self._db.close()

    # --- on the thread -----------------------------------------------------------------------------------------------

    def _take(self) -> None:
        """Run the waiting calls, in order."""
        self._called_for = False  # before the queue is emptied, so that a call added later schedules the thread again
        while self._queue:
            calls = [self._queue.popleft() for _ in range(min(len(self._queue), BATCH_CALLS_MAX))]
            calls = [call for call in calls if not call.answer.cancelled()]
            if not calls:
                continue
            try:
                outcomes = self._together(calls) if len(calls) > 1 else [self._alone(calls[0])]
                outcomes = [self._follow(call, outcome) for call, outcome in zip(calls, outcomes, strict=True)]
            except BaseException as error:
                outcomes = [(None, error)] * len(calls)  # a bug in this class must not leave callers waiting
            with suppress(RuntimeError):  # the loop is closed, so no caller waits
                # Wake the loop once for all results: one wake per result would make both threads compete for the GIL.
                calls[0].answer.get_loop().call_soon_threadsafe(_tell, calls, outcomes)

    def _together(self, calls: Sequence[_Call]) -> list[_Outcome]:
        """The outcomes of ``calls`` in one transaction, or each in its own if the database gives up the transaction."""
        outcomes: list[_Outcome] = []
        try:
            with translated(self._path):
                # IMMEDIATE takes the write lock first: a deferred transaction can fail halfway when it has to upgrade.
                self._db.execute("BEGIN IMMEDIATE" if any(call.writes for call in calls) else "BEGIN")
        except MeshError as error:
            # Another process holds the lock. Waiting for it again for every queued write would block the store for minutes.
            return [(None, error) if call.writes else self._alone(call) for call in calls]
        try:
            with translated(self._path):
                for call in calls:
                    outcomes.append(self._saved(call))
                    if not self._db.in_transaction:  # some errors, such as a full disk, roll back the whole transaction
                        break
                else:
                    self._db.execute("COMMIT")
                    return outcomes
        except MeshError:
            self._undo()
        return [self._alone(call) for call in calls]

    def _saved(self, call: _Call) -> _Outcome:
        """The outcome of ``call`` in the open transaction; undone alone if it raises."""
        self._db.execute("SAVEPOINT call")
        try:
            with translated(self._path):
                result = call.work(self._db)
        except BaseException as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK TO call")
                self._db.execute("RELEASE call")
            return None, error
        self._db.execute("RELEASE call")
        return result, None

    def _alone(self, call: _Call) -> _Outcome:
        try:
            return self._transaction("BEGIN IMMEDIATE" if call.writes else "BEGIN", call.work), None
        except BaseException as error:
            return None, error

    def _follow(self, call: _Call, outcome: _Outcome) -> _Outcome:
        """``outcome``, after running the follow-up of a successful write."""
        if call.then is None or outcome[1] is not None:
            return outcome
        _, error = self._alone(call._replace(work=call.then))
        return outcome if error is None else (None, error)

    def _transaction(self, begin: str, work: Callable[[sqlite3.Connection], T]) -> T:
        with translated(self._path):
            self._db.execute(begin)
            try:
                result = work(self._db)
                self._db.execute("COMMIT")
            except BaseException:
                self._undo()
                raise
            return result

    def _undo(self) -> None:
        with suppress(sqlite3.Error):  # SQLite may have rolled back already; the first error counts
            self._db.execute("ROLLBACK")


def _tell(calls: Sequence[_Call], outcomes: Sequence[_Outcome]) -> None:
    """Answer the callers that still wait; on the event loop."""
    for call, (result, error) in zip(calls, outcomes, strict=True):
        if call.answer.done():  # cancelled while it ran
            continue
        if error is None:
            call.answer.set_result(result)
        else:
            call.answer.set_exception(error)


def _create(path: Path) -> None:
    """Make an empty store beside ``path``, then rename it: after a crash, ``path`` never holds an incomplete store."""
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    # SQLite would create the file with the umask; the WAL inherits the mode of the database file.
    os.close(os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _FILE_MODE))
    db = sqlite3.connect(new, isolation_level=None)
    try:
        migrations.migrate(db)
    finally:
        db.close()
    os.replace(new, path)
    sync_directory(path.parent)


def _connect(path: Path) -> sqlite3.Connection:
    with translated(path):
        make_directory(path.parent)
        if not path.exists():
            _create(path)
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        try:
            os.fchmod(handle, _FILE_MODE)
        finally:
            os.close(handle)
        db = sqlite3.connect(path, timeout=BUSY_TIMEOUT_MS / 1_000, isolation_level=None)
        try:
            if not migrations.version_of(db):  # first, so that a refused store stays unchanged
                raise MeshError("store.corrupt", f"{path} is empty: its content was lost")
            for setting in _SETTINGS:
                db.execute(setting)
            migrations.migrate(db)
        except BaseException:
            db.close()
            raise
        return db
