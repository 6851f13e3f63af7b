"""The table of live sessions. Each function runs inside a transaction of the store's database."""

from __future__ import annotations

import sqlite3

from adapters.ports.records import LiveRecord
from adapters.storage.files.records import check_limit, pack, unpack, where


def put(db: sqlite3.Connection, live: LiveRecord) -> None:
    """Implements ``Store.put_live``."""
    db.execute(
        "INSERT INTO live (id, caller, opened_ms, ended_ms, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE"
        " SET ended_ms = excluded.ended_ms, body = excluded.body",
        (live.id, live.caller, live.opened_ms, live.ended_ms, pack(live)),
    )


def get(db: sqlite3.Connection, live_id: str) -> LiveRecord | None:
    """Implements ``Store.live``."""
    row = db.execute("SELECT body FROM live WHERE id = ?", (live_id,)).fetchone()
    return unpack(row[0], LiveRecord) if row else None


def every(db: sqlite3.Connection, caller: str, open_only: bool, limit: int) -> list[LiveRecord]:
    """Implements ``Store.lives``."""
    # Build the conditions per query: one statement for all cases could not use an index.
    conditions = [*(["caller = :caller"] if caller else []), *(["ended_ms = 0"] if open_only else [])]
    sql = f"SELECT body FROM live{where(conditions)} ORDER BY opened_ms DESC, seq DESC LIMIT :limit"  # noqa: S608 (constants)
    rows = db.execute(sql, {"caller": caller, "limit": check_limit(limit)})
    return [unpack(body, LiveRecord) for (body,) in rows]
