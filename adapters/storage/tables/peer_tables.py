"""The tables of single values, peers and invites. Each function runs inside a transaction of the store's database."""

from __future__ import annotations

import sqlite3

from adapters.ports.records import InviteRecord, PeerRecord
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


def put_invite(db: sqlite3.Connection, invite: InviteRecord) -> None:
    """Implements ``Store.put_invite``."""
    db.execute(
        "INSERT INTO invites (token_hash, expires_s, body) VALUES (?, ?, ?)"
        " ON CONFLICT (token_hash) DO UPDATE SET expires_s = excluded.expires_s, body = excluded.body",
        (invite.token_hash, invite.expires_s, pack(invite)),
    )


def invites(db: sqlite3.Connection) -> list[InviteRecord]:
    """Implements ``Store.invites``."""
    rows = db.execute("SELECT body FROM invites ORDER BY expires_s, seq")
    return [unpack(body, InviteRecord) for (body,) in rows]


def take_invite(db: sqlite3.Connection, token_hash: bytes) -> InviteRecord | None:
    """Implements ``Store.take_invite``: one statement reads and deletes it, so that nobody else can take it too."""
    rows = db.execute("DELETE FROM invites WHERE token_hash = ? RETURNING body", (token_hash,)).fetchall()
    return unpack(rows[0][0], InviteRecord) if rows else None
