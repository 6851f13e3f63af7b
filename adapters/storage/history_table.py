"""The table of what presses of controls did. Its functions run inside a transaction of the store's database."""

from __future__ import annotations

import sqlite3

from adapters.ports import HistoryRecord
from adapters.storage.database import Database
from adapters.storage.records import pack, unpack
from protocol import limits


def put(db: sqlite3.Connection, record: HistoryRecord) -> None:
    """Implements ``Store.put_history``."""
    # A row that is replaced gets the next number: the oldest numbers are those that nothing was observed of for longest.
    db.execute("DELETE FROM history WHERE key = ?", (record.key,))
    number = db.execute(
        "INSERT INTO history (key, origin, body) VALUES (?, ?, ?)", (record.key, record.origin, pack(record))
    ).lastrowid
    db.execute("DELETE FROM history WHERE seq <= ?", ((number or 0) - limits.HISTORY_ROWS_MAX,))
    db.execute(
        "DELETE FROM history WHERE origin = ?1 AND seq <= "
        "(SELECT seq FROM history WHERE origin = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2)",
        (record.origin, limits.HISTORY_ROWS_PER_ORIGIN_MAX),
    )


def of(db: sqlite3.Connection, origin: str) -> list[HistoryRecord]:
    """Implements ``Store.history``."""
    found = db.execute("SELECT body FROM history WHERE origin = ? ORDER BY seq", (origin,))
    return [unpack(body, HistoryRecord) for (body,) in found]


class HistoryMethods:
    """The methods of ``SqliteStore`` about what presses of controls did."""

    _database: Database

    async def put_history(self, record: HistoryRecord) -> None:
        await self._database.write(lambda db: put(db, record))

    async def history(self, origin: str) -> list[HistoryRecord]:
        return await self._database.read(lambda db: of(db, origin))
