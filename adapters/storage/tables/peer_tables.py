"""The tables of single values and of peers. Each function runs inside a transaction of the store's database."""

from __future__ import annotations

import sqlite3

from adapters.ports.records import PeerRecord
from adapters.storage.files import records
from adapters.storage.files.records import pack, unpack


def get_meta(db: sqlite3.Connection, key: str) -> bytes | None:
    """Implements ``Store.get_meta``."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return records.blob(row[0]) if row else None


def put_meta(db: sqlite3.Connection, key: str, value: bytes) -> None:
    """Implements ``Store.put_meta``."""
    sql = "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
    db.execute(sql, (key, value))


def put_peer(db: sqlite3.Connection, peer: PeerRecord) -> None:
    """Implements ``Store.put_peer``."""
    db.execute(
        "INSERT INTO peers (node, paired_ms, body) VALUES (?, ?, ?)"
        " ON CONFLICT (node) DO UPDATE SET paired_ms = excluded.paired_ms, body = excluded.body",
        (peer.node, peer.paired_ms, pack(peer)),
    )


def peers(db: sqlite3.Connection) -> list[PeerRecord]:
    """Implements ``Store.peers``."""
    rows = db.execute("SELECT body FROM peers ORDER BY paired_ms, node")
    return [unpack(body, PeerRecord) for (body,) in rows]


def remove_peer(db: sqlite3.Connection, node: str) -> bool:
    """Implements ``Store.remove_peer``."""
    return db.execute("DELETE FROM peers WHERE node = ?", (node,)).rowcount > 0
