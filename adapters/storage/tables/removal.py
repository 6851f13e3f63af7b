"""Deletes searches and sessions. Each function runs inside a transaction of the store's database.

Blobs are files. The transaction that removes a session also lists the blobs that may now be unreferenced. They are removed
afterwards, at the latest by the next start.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from typing import Final

from adapters.storage.files import records
from adapters.storage.files.blobs import DIGEST_BYTES, Blobs
from protocol.errors import MeshError
from protocol.wire.envelope import peek

_NAMED: Final = (
    "SELECT EXISTS (SELECT 1 FROM steps WHERE snapshot = ?1) OR EXISTS (SELECT 1 FROM steps WHERE screenshot = ?1)"
    " OR EXISTS (SELECT 1 FROM artefacts WHERE names = ?1)"
)
_DOOMED: Final = "blobs/doomed"
"""Concatenated digests of blobs that may have become unreferenced."""


def prefix(search_id: str) -> str:
    """The prefix of all ``meta`` keys of a search."""
    return f"search/{search_id}/"


def removed_key(search_id: str) -> str:
    """The one key that remains of a removed search."""
    return prefix(search_id) + "removed"


def remove_search(db: sqlite3.Connection, search_id: str) -> bool:
    """Implements ``Store.remove_search``."""
    if not db.execute("DELETE FROM searches WHERE id = ?", (search_id,)).rowcount:
        return False
    db.execute("DELETE FROM deltas WHERE search = ?", (search_id,))
    db.execute("DELETE FROM leases WHERE search = ?", (search_id,))
    about = prefix(search_id)
    # As a range of keys, which uses the index: from the prefix up to the prefix with its last character incremented.
    db.execute("DELETE FROM meta WHERE key >= ? AND key < ?", (about, about[:-1] + chr(ord(about[-1]) + 1)))
    db.execute("INSERT INTO meta VALUES (?, x'')", (removed_key(search_id),))
    return True


def manifests(envelopes: Iterable[bytes]) -> set[bytes]:
    """The blobs that signed ``envelopes`` refer to: a session is signed by the digest of its manifest."""
    found = set()
    for sealed in envelopes:
        with suppress(MeshError):  # other records about a session
            found.add(peek(records.blob(sealed)).payload)
    return {payload for payload in found if len(payload) == DIGEST_BYTES}


def signed(db: sqlite3.Connection) -> list[tuple[str, bytes]]:
    """The signed sessions, each with the digest of its manifest."""
    return db.execute(
        "SELECT subject, names FROM artefacts WHERE names IS NOT NULL ORDER BY subject, issued_s, seq"
    ).fetchall()


def remains_key(session_id: str) -> str:
    """The one key that remains of a removed session."""
    return f"session/{session_id}/remains"


def remove_session(db: sqlite3.Connection, session_id: str, remains: bytes = b"") -> bool:
    """Remove a session, its steps and the artefacts about it; their blobs are doomed. True if there was one."""
    named = _digests(db.execute("SELECT snapshot, screenshot FROM steps WHERE session = ?", (session_id,)))
    named |= manifests(
        sealed for (sealed,) in db.execute("SELECT envelope FROM artefacts WHERE subject = ?", (session_id,))
    )
    if not db.execute("DELETE FROM sessions WHERE id = ?", (session_id,)).rowcount:
        return False
    db.execute("DELETE FROM artefacts WHERE subject = ?", (session_id,))
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (remains_key(session_id), remains))
    _doom(db, doomed(db) | named)
    return True


def sweep(db: sqlite3.Connection, blobs: Blobs) -> None:
    """Remove the doomed blobs that no step and no signature refers to, except those just put, whose step may follow.

    A removed session may have been imported again from its bundle meanwhile.
    """
    found = doomed(db)
    if not found:
        return
    named = {digest for digest in found if db.execute(_NAMED, (digest,)).fetchone()[0]}
    _doom(db, blobs.remove(found - named))


def doomed(db: sqlite3.Connection) -> set[bytes]:
    """The blobs to be removed."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (_DOOMED,)).fetchone()
    data = records.blob(row[0]) if row else b""
    return {data[start : start + DIGEST_BYTES] for start in range(0, len(data), DIGEST_BYTES)}


def _doom(db: sqlite3.Connection, digests: Set[bytes]) -> None:
    db.execute("DELETE FROM meta WHERE key = ?", (_DOOMED,))
    if digests:
        db.execute("INSERT INTO meta VALUES (?, ?)", (_DOOMED, b"".join(sorted(digests))))


def _digests(rows: Iterator[tuple[bytes, bytes]]) -> set[bytes]:
    return {digest for row in rows for digest in map(records.blob, row) if len(digest) == DIGEST_BYTES}
