"""The tables of the witness log. Each function runs inside a transaction of the store's database."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from adapters.log_records import LeafRecord, LogRecord, Subtree
from adapters.ports.records import ArtefactRecord
from adapters.storage.files import records
from adapters.storage.files.records import pack, unpack
from adapters.storage.tables import artefact_table


def append(
    db: sqlite3.Connection,
    log: LogRecord,
    leaves: Sequence[LeafRecord],
    subtrees: Mapping[Subtree, bytes],
    artefacts: Sequence[ArtefactRecord] = (),
) -> None:
    """Implements ``Store.append_log``."""
    row = db.execute("SELECT size FROM logs WHERE number = ?", (records.integer(log.number),)).fetchone()
    records.check_leaves(log, leaves, row[0] if row else 0)
    db.execute(
        "INSERT INTO logs (number, size, body) VALUES (?, ?, ?)"
        " ON CONFLICT (number) DO UPDATE SET size = excluded.size, body = excluded.body",
        (log.number, log.size, pack(log)),
    )
    db.executemany(
        "INSERT INTO log_leaves (log, number, digest, kind, subject) VALUES (?, ?, ?, ?, ?)",
        [(leaf.log, leaf.index, leaf.digest, leaf.kind, leaf.subject) for leaf in leaves],
    )
    db.executemany(
        "INSERT INTO log_subtrees (log, level, number, hash) VALUES (?, ?, ?, ?)",
        [(log.number, level, number, digest) for (level, number), digest in subtrees.items()],
    )
    for artefact in artefacts:
        artefact_table.put(db, artefact)


def logs(db: sqlite3.Connection) -> list[LogRecord]:
    """Implements ``Store.logs``."""
    return [unpack(body, LogRecord) for (body,) in db.execute("SELECT body FROM logs ORDER BY number")]


def subtrees(db: sqlite3.Connection, log: int, places: Sequence[Subtree]) -> list[bytes]:
    """Implements ``Store.log_subtrees``."""
    found = []
    for place in places:
        sql = "SELECT hash FROM log_subtrees WHERE log = ? AND level = ? AND number = ?"
        row = db.execute(sql, (log, *place)).fetchone()
        if row is None:
            raise records.no_subtree(log, place)
        found.append(records.blob(row[0]))
    return found


def leaf(db: sqlite3.Connection, digest: bytes) -> LeafRecord | None:
    """Implements ``Store.log_leaf``."""
    sql = "SELECT log, number, digest, kind, subject FROM log_leaves WHERE digest = ? ORDER BY log DESC, number LIMIT 1"
    row = db.execute(sql, (digest,)).fetchone()
    return _leaf(row) if row else None


def leaves(db: sqlite3.Connection, log: int, first: int, limit: int) -> list[LeafRecord]:
    """Implements ``Store.log_leaves``."""
    rows = db.execute(
        "SELECT log, number, digest, kind, subject FROM log_leaves WHERE log = ? AND number >= ? ORDER BY number LIMIT ?",
        (log, records.integer(first), records.check_limit(limit)),
    )
    return [_leaf(row) for row in rows]


def leaves_of(db: sqlite3.Connection, kinds: Sequence[str]) -> list[LeafRecord]:
    """Implements ``Store.leaves_of``."""
    sql = "SELECT log, number, digest, kind, subject FROM log_leaves WHERE kind = ? ORDER BY log, number"
    found = [_leaf(row) for kind in kinds for row in db.execute(sql, (kind,))]
    return sorted(found, key=lambda leaf: (leaf.log, leaf.index))


def _leaf(row: tuple[object, ...]) -> LeafRecord:
    return records.of_columns(LeafRecord, row)
