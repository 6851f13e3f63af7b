"""The tables of searches, their deltas and their leases: work to be done in one transaction of the store's database."""

from __future__ import annotations

import sqlite3

from adapters.ports import DeltaRecord, LeaseRecord, SearchRecord
from adapters.storage import records
from adapters.storage.records import pack, unpack


def put_search(db: sqlite3.Connection, search: SearchRecord) -> None:
    """Implements ``Store.put_search``."""
    db.execute(
        "INSERT INTO searches (id, status, created_ms, body) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE"
        " SET status = excluded.status, created_ms = excluded.created_ms, body = excluded.body",
        (search.id, search.status, search.created_ms, pack(search)),
    )


def search(db: sqlite3.Connection, search_id: str) -> SearchRecord | None:
    """Implements ``Store.search``."""
    row = db.execute("SELECT body FROM searches WHERE id = ?", (search_id,)).fetchone()
    return unpack(row[0], SearchRecord) if row else None


def searches(db: sqlite3.Connection, status: str) -> list[SearchRecord]:
    """Implements ``Store.searches``."""
    sql = "SELECT body FROM searches WHERE ?1 = '' OR status = ?1 ORDER BY created_ms DESC, seq DESC"
    return [unpack(body, SearchRecord) for (body,) in db.execute(sql, (status,))]


def append_delta(db: sqlite3.Connection, delta: DeltaRecord) -> bool:
    """Implements ``Store.append_delta``."""
    key = (delta.search, delta.peer, delta.epoch, delta.seq)
    row = db.execute(
        "SELECT envelope FROM deltas WHERE search = ? AND peer = ? AND epoch = ? AND seq = ?", key
    ).fetchone()
    if row is None:
        pack(delta)  # all of it is columns; this refuses what could not be read back
        db.execute("INSERT INTO deltas VALUES (?, ?, ?, ?, ?)", (*key, delta.envelope))
    elif row[0] != delta.envelope:
        raise records.equivocation(delta)
    return row is None


def deltas(db: sqlite3.Connection, search_id: str, peer: str, epoch: int, after_seq: int) -> list[DeltaRecord]:
    """Implements ``Store.deltas``."""
    rows = db.execute(
        "SELECT peer, epoch, seq, envelope FROM deltas WHERE search = ?1 AND (?2 = '' OR peer = ?2)"
        " AND (?3 = 0 OR epoch = ?3) AND seq > ?4 ORDER BY peer, epoch, seq",
        (search_id, peer, epoch, after_seq),
    )
    return [
        DeltaRecord(search=search_id, peer=by, epoch=of, seq=seq, envelope=envelope) for by, of, seq, envelope in rows
    ]


def drop_deltas(db: sqlite3.Connection, search_id: str, peer: str, before_epoch: int) -> int:
    """Implements ``Store.drop_deltas``."""
    sql = "DELETE FROM deltas WHERE search = ?1 AND peer = ?2 AND (?3 = 0 OR epoch < ?3)"
    return db.execute(sql, (search_id, peer, before_epoch)).rowcount


def put_lease(db: sqlite3.Connection, lease: LeaseRecord) -> None:
    """Implements ``Store.put_lease``."""
    db.execute(
        "INSERT INTO leases (id, search, status, body) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE"
        " SET search = excluded.search, status = excluded.status, body = excluded.body",
        (lease.id, lease.search, lease.status, pack(lease)),
    )


def lease(db: sqlite3.Connection, lease_id: str) -> LeaseRecord | None:
    """Implements ``Store.lease``."""
    row = db.execute("SELECT body FROM leases WHERE id = ?", (lease_id,)).fetchone()
    return unpack(row[0], LeaseRecord) if row else None


def leases(db: sqlite3.Connection, search_id: str, status: str) -> list[LeaseRecord]:
    """Implements ``Store.leases``."""
    sql = "SELECT body FROM leases WHERE search = ?1 AND (?2 = '' OR status = ?2) ORDER BY seq"
    return [unpack(body, LeaseRecord) for (body,) in db.execute(sql, (search_id, status))]
