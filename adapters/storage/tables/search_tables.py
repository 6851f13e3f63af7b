"""The tables of searches, deltas and leases. Each function runs inside a transaction of the store's database."""

from __future__ import annotations

import sqlite3

from adapters.ports.records import DeltaRecord, LeaseRecord, SearchRecord
from adapters.storage.files import records
from adapters.storage.files.records import pack, unpack

_DELTA = "search, peer, epoch, seq, envelope"


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


def searches(db: sqlite3.Connection, status: str, after: SearchRecord | None, limit: int) -> list[SearchRecord]:
    """Implements ``Store.searches``."""
    conditions, values = list[str](), list[object]()
    if status:
        conditions.append("status = ?")
        values.append(status)
    if after is not None:
        # If the row was removed meanwhile, other rows of its millisecond are listed twice rather than skipped.
        conditions.append("(created_ms, seq) < (?, coalesce((SELECT seq FROM searches WHERE id = ?), 1 << 62))")
        values += (after.created_ms, after.id)
    rows = db.execute(
        f"SELECT body FROM searches{records.where(conditions)} ORDER BY created_ms DESC, seq DESC LIMIT ?",  # noqa: S608 (constants)
        (*values, records.check_limit(limit)),
    )
    return [unpack(body, SearchRecord) for (body,) in rows]


def append_delta(db: sqlite3.Connection, delta: DeltaRecord) -> bool:
    """Implements ``Store.append_delta``."""
    key = (delta.search, delta.peer, delta.epoch, delta.seq)
    row = db.execute(
        "SELECT envelope FROM deltas WHERE search = ? AND peer = ? AND epoch = ? AND seq = ?", key
    ).fetchone()
    if row is None:
        pack(delta)  # the row is stored in columns; encoding it only checks that it could be read back
        db.execute("INSERT INTO deltas VALUES (?, ?, ?, ?, ?)", (*key, delta.envelope))
    elif row[0] != delta.envelope:
        raise records.equivocation(delta)
    return row is None


def deltas(
    db: sqlite3.Connection,
    search_id: str,
    peer: str,
    epoch: int,
    after_seq: int,
    after: DeltaRecord | None,
    limit: int,
    bytes_max: int,
) -> list[DeltaRecord]:
    """Implements ``Store.deltas``. Rows are stored in reading order, so rows beyond the page are not touched."""
    conditions, values = ["search = ?"], list[object]([search_id])
    for condition, value in (("peer = ?", peer), ("epoch = ?", epoch), ("seq > ?", after_seq)):
        if value:
            conditions.append(condition)
            values.append(value)
    if after is not None:
        # For one peer, order by the rest of the key only: with the peer in the condition too, SQLite would sort the rows.
        conditions.append("(epoch, seq) > (?, ?)" if peer else "(peer, epoch, seq) > (?, ?, ?)")
        values += (after.epoch, after.seq) if peer else (after.peer, after.epoch, after.seq)
    rows = db.execute(
        f"SELECT {_DELTA} FROM deltas{records.where(conditions)} ORDER BY peer, epoch, seq LIMIT ?",  # noqa: S608 (constants)
        (*values, records.check_limit(limit)),
    )
    return records.fitting((records.of_columns(DeltaRecord, row) for row in rows), bytes_max)


def newest_deltas(db: sqlite3.Connection, search_id: str) -> list[DeltaRecord]:
    """Implements ``Store.newest_deltas``: one step in the index for each peer, regardless of how many deltas it sent."""
    found: list[DeltaRecord] = []
    while True:
        before = found[-1].peer if found else ""
        row = db.execute(
            "SELECT peer FROM deltas WHERE search = ? AND peer > ? ORDER BY peer LIMIT 1", (search_id, before)
        ).fetchone()
        if row is None:
            return found
        newest = db.execute(
            f"SELECT {_DELTA} FROM deltas WHERE search = ? AND peer = ? ORDER BY epoch DESC, seq DESC LIMIT 1",  # noqa: S608
            (search_id, row[0]),
        ).fetchone()
        found.append(records.of_columns(DeltaRecord, newest))


def drop_deltas(db: sqlite3.Connection, search_id: str, peer: str, before_epoch: int) -> int:
    """Implements ``Store.drop_deltas``."""
    if not before_epoch:
        return db.execute("DELETE FROM deltas WHERE search = ? AND peer = ?", (search_id, peer)).rowcount
    sql = "DELETE FROM deltas WHERE search = ? AND peer = ? AND epoch < ?"
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
    of_status = " AND status = ?" if status else ""
    rows = db.execute(
        f"SELECT body FROM leases WHERE search = ?{of_status} ORDER BY seq",  # noqa: S608 (a constant)
        (search_id, status) if status else (search_id,),
    )
    return [unpack(body, LeaseRecord) for (body,) in rows]
