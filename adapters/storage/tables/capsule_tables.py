"""The tables of capsules and of their ledger. Its functions run inside a transaction of the store's database."""

from __future__ import annotations

import sqlite3

from adapters.capsule_records import (
    CapsuleRecord,
    LedgerRecord,
    Taken,
    entered,
    last_revoked,
    merged,
    set_back,
    with_use,
    without_holder,
)
from adapters.storage.files.database import Database
from adapters.storage.files.records import blob, pack, unpack
from adapters.storage.tables.feed_table import told
from protocol import limits
from protocol.errors import MeshError
from protocol.feed import News


def put(db: sqlite3.Connection, record: CapsuleRecord, stream: bytes, expires_ms: int) -> None:
    """Implements ``Store.put_capsule``."""
    row = entered(row_of(db, record.id), record, expires_ms)
    known = db.execute("SELECT 1 FROM capsules WHERE id = ?", (record.id,)).fetchone()
    if known is None and db.execute("SELECT count(*) FROM capsules").fetchone()[0] >= limits.CAPSULES_MAX:
        raise MeshError("input.too_large", f"there are {limits.CAPSULES_MAX} capsules already: remove one first")
    _keep(db, row)
    db.execute(
        "INSERT INTO capsules (id, body, stream) VALUES (?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET body = excluded.body, stream = excluded.stream",
        (record.id, pack(record), stream),
    )


def find(db: sqlite3.Connection, capsule_id: str) -> CapsuleRecord | None:
    """Implements ``Store.capsule``."""
    row = db.execute("SELECT body FROM capsules WHERE id = ?", (capsule_id,)).fetchone()
    return unpack(row[0], CapsuleRecord) if row else None


def every(db: sqlite3.Connection) -> list[CapsuleRecord]:
    """Implements ``Store.capsules``."""
    return [unpack(body, CapsuleRecord) for (body,) in db.execute("SELECT body FROM capsules ORDER BY seq")]


def stream_of(db: sqlite3.Connection, capsule_id: str) -> bytes | None:
    """Implements ``Store.capsule_stream``."""
    row = db.execute("SELECT stream FROM capsules WHERE id = ?", (capsule_id,)).fetchone()
    return blob(row[0]) if row else None


def remove(db: sqlite3.Connection, capsule_id: str) -> bool:
    """Implements ``Store.remove_capsule``."""
    return db.execute("DELETE FROM capsules WHERE id = ?", (capsule_id,)).rowcount > 0


def row_of(db: sqlite3.Connection, capsule_id: str) -> LedgerRecord | None:
    """Implements ``Store.ledger``."""
    row = db.execute("SELECT body FROM capsule_ledger WHERE id = ?", (capsule_id,)).fetchone()
    return unpack(row[0], LedgerRecord) if row else None


def revoked_as(db: sqlite3.Connection, name: str) -> LedgerRecord | None:
    """Implements ``Store.revoked_as``."""
    return last_revoked((unpack(body, LedgerRecord) for (body,) in db.execute("SELECT body FROM capsule_ledger")), name)


def raise_row(db: sqlite3.Connection, more: LedgerRecord) -> LedgerRecord:
    """Implements ``Store.raise_ledger``."""
    row = merged(row_of(db, more.id), more)
    _keep(db, row)
    return row


def take(db: sqlite3.Connection, capsule_id: str, taken: Taken) -> LedgerRecord:
    """Implements ``Store.take_capsule``."""
    row = with_use(row_of(db, capsule_id), taken)
    _keep(db, row)
    return row


def give_back(db: sqlite3.Connection, capsule_id: str, holder: str) -> bool:
    """Implements ``Store.give_back_capsule``."""
    row = without_holder(row_of(db, capsule_id), holder)
    if row is not None:
        _keep(db, row)
    return row is not None


def put_clock_back(db: sqlite3.Connection, capsule_id: str, now_ms: int) -> None:
    """Implements ``Store.put_clock_back``."""
    row = set_back(row_of(db, capsule_id), now_ms)
    if row is not None:
        _keep(db, row)


def prune(db: sqlite3.Connection, now_ms: int) -> int:
    """Implements ``Store.prune_ledger``."""
    sql = "DELETE FROM capsule_ledger WHERE expires_ms < ? AND id NOT IN (SELECT id FROM capsules)"
    return db.execute(sql, (now_ms,)).rowcount


def _keep(db: sqlite3.Connection, row: LedgerRecord) -> None:
    count = "SELECT count(*) FROM capsule_ledger"
    if row_of(db, row.id) is None and db.execute(count).fetchone()[0] >= limits.CAPSULE_LEDGER_MAX:
        raise MeshError("input.too_large", f"the ledger knows {limits.CAPSULE_LEDGER_MAX} capsules already")
    db.execute(
        "INSERT INTO capsule_ledger (id, expires_ms, body) VALUES (?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET expires_ms = excluded.expires_ms, body = excluded.body",
        (row.id, row.expires_ms, pack(row)),
    )


class CapsuleMethods:
    """The methods of ``SqliteStore`` about capsules."""

    _database: Database

    async def put_capsule(
        self, record: CapsuleRecord, stream: bytes, *, expires_ms: int, news: News | None = None
    ) -> None:
        await self._database.write(told(lambda db: put(db, record, stream, expires_ms), news))

    async def capsule(self, capsule_id: str) -> CapsuleRecord | None:
        return await self._database.read(lambda db: find(db, capsule_id))

    async def capsules(self) -> list[CapsuleRecord]:
        return await self._database.read(every)

    async def capsule_stream(self, capsule_id: str) -> bytes | None:
        return await self._database.read(lambda db: stream_of(db, capsule_id))

    async def remove_capsule(self, capsule_id: str, *, news: News | None = None) -> bool:
        return await self._database.write(told(lambda db: remove(db, capsule_id), news))

    async def ledger(self, capsule_id: str) -> LedgerRecord | None:
        return await self._database.read(lambda db: row_of(db, capsule_id))

    async def revoked_as(self, name: str) -> LedgerRecord | None:
        return await self._database.read(lambda db: revoked_as(db, name))

    async def raise_ledger(self, more: LedgerRecord) -> LedgerRecord:
        return await self._database.write(lambda db: raise_row(db, more))

    async def take_capsule(self, capsule_id: str, taken: Taken) -> LedgerRecord:
        return await self._database.write(lambda db: take(db, capsule_id, taken))

    async def give_back_capsule(self, capsule_id: str, holder: str) -> bool:
        return await self._database.write(lambda db: give_back(db, capsule_id, holder))

    async def put_clock_back(self, capsule_id: str, now_ms: int) -> None:
        await self._database.write(lambda db: put_clock_back(db, capsule_id, now_ms))

    async def prune_ledger(self, now_ms: int) -> int:
        return await self._database.write(lambda db: prune(db, now_ms))
