"""The database schema, as ordered migrations.

Migration *n* brings a store from ``PRAGMA user_version`` *n - 1* to *n*, in one transaction with that number, so a crash leaves
a store of a complete version. Migrations are append-only: a released one is never edited.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

from adapters.storage.files.blobs import DIGEST_BYTES
from protocol.errors import MeshError
from protocol.recording.records.bundle import KIND
from protocol.wire import cbor
from protocol.wire.envelope import peek

APPLICATION_ID: Final = 0x74_6D_73_68
"""``tmsh`` in the header of the database file, which distinguishes a store from other SQLite files."""

_FIRST: Final = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT",
    "CREATE TABLE peers (node TEXT PRIMARY KEY, paired_ms INTEGER NOT NULL, body BLOB NOT NULL) STRICT",
    """CREATE TABLE invites (
        seq INTEGER PRIMARY KEY, token_hash BLOB NOT NULL UNIQUE, expires_s INTEGER NOT NULL,
        body BLOB NOT NULL) STRICT""",
    # seq orders records of one instant by insertion; unlike a bare rowid it survives VACUUM.
    """CREATE TABLE sessions (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, created_ms INTEGER NOT NULL, search_text TEXT NOT NULL,
        body BLOB NOT NULL) STRICT""",
    "CREATE INDEX sessions_by_time ON sessions (created_ms, seq)",
    """CREATE TABLE steps (
        session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE, number INTEGER NOT NULL,
        snapshot BLOB NOT NULL, screenshot BLOB NOT NULL, body BLOB NOT NULL, PRIMARY KEY (session, number)) STRICT""",
    """CREATE TABLE artefacts (
        seq INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, kind TEXT NOT NULL, subject TEXT NOT NULL,
        issuer TEXT NOT NULL, issued_s INTEGER NOT NULL, envelope BLOB NOT NULL) STRICT""",
    "CREATE INDEX artefacts_by_subject ON artefacts (subject, kind)",
    """CREATE TABLE searches (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, status TEXT NOT NULL, created_ms INTEGER NOT NULL,
        body BLOB NOT NULL) STRICT""",
    # A delta is stored in columns only; WITHOUT ROWID keeps the rows in the order in which they are read.
    """CREATE TABLE deltas (
        search TEXT NOT NULL, peer TEXT NOT NULL, epoch INTEGER NOT NULL, seq INTEGER NOT NULL, envelope BLOB NOT NULL,
        PRIMARY KEY (search, peer, epoch, seq)) STRICT, WITHOUT ROWID""",
    """CREATE TABLE leases (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, search TEXT NOT NULL, status TEXT NOT NULL,
        body BLOB NOT NULL) STRICT""",
    "CREATE INDEX leases_by_search ON leases (search, status)",
)

_WITNESS_LOG: Final = (
    "CREATE TABLE logs (number INTEGER PRIMARY KEY, size INTEGER NOT NULL, body BLOB NOT NULL) STRICT",
    """CREATE TABLE log_leaves (
        log INTEGER NOT NULL REFERENCES logs (number), number INTEGER NOT NULL, digest BLOB NOT NULL,
        kind TEXT NOT NULL, subject TEXT NOT NULL, PRIMARY KEY (log, number)) STRICT, WITHOUT ROWID""",
    # An artefact of an earlier log may be entered in a later one again: not unique.
    "CREATE INDEX log_leaves_by_digest ON log_leaves (digest, log, number)",
    """CREATE TABLE log_subtrees (
        log INTEGER NOT NULL, level INTEGER NOT NULL, number INTEGER NOT NULL, hash BLOB NOT NULL,
        PRIMARY KEY (log, level, number)) STRICT, WITHOUT ROWID""",
    "CREATE TABLE log_heads (node TEXT PRIMARY KEY, body BLOB NOT NULL) STRICT",
    "CREATE TABLE log_cosigned (witness TEXT PRIMARY KEY, body BLOB NOT NULL) STRICT",
    "CREATE TABLE log_equivocations (node TEXT PRIMARY KEY, body BLOB NOT NULL) STRICT",
)

# Triggers make the table append-only, also for manual access. Changing a row in spite of them breaks the hash chain.
_AUDIT_TRAIL: Final = (
    """CREATE TABLE audit (
        number INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL, line BLOB NOT NULL,
        digest TEXT NOT NULL) STRICT""",
    "CREATE INDEX audit_by_time ON audit (at_ms, number)",
    "CREATE INDEX audit_by_who ON audit (who, number)",
    """CREATE TRIGGER audit_keeps_rows BEFORE DELETE ON audit BEGIN
        SELECT RAISE(ABORT, 'the audit trail is append-only'); END""",
    """CREATE TRIGGER audit_changes_no_row BEFORE UPDATE ON audit BEGIN
        SELECT RAISE(ABORT, 'the audit trail is append-only'); END""",
    """CREATE TRIGGER audit_goes_on_at_its_end BEFORE INSERT ON audit
        WHEN new.number <> (SELECT coalesce(max(number), 0) + 1 FROM audit) BEGIN
        SELECT RAISE(ABORT, 'the audit trail goes on at its end'); END""",
)

# Older scopes applied to every origin. Invites end with the process that listens for them, so they can be deleted.
_GRANTS: Final = ("DELETE FROM invites", "UPDATE peers SET body = scopes_to_grants(body)")

# One index per filter, in display order, so that no query has to sort or to read rows beyond its page.
_LISTS: Final = (
    "DROP INDEX artefacts_by_subject",
    "CREATE INDEX artefacts_by_subject ON artefacts (subject, issued_s, seq)",
    "CREATE INDEX artefacts_by_subject_and_kind ON artefacts (subject, kind, issued_s, seq)",
    "CREATE INDEX artefacts_by_kind ON artefacts (kind, issued_s, seq)",
    "CREATE INDEX artefacts_by_time ON artefacts (issued_s, seq)",
    "CREATE INDEX searches_by_status ON searches (status, created_ms, seq)",
    "CREATE INDEX searches_by_time ON searches (created_ms, seq)",
    "DROP INDEX leases_by_search",
    "CREATE INDEX leases_by_search ON leases (search, seq)",
    "CREATE INDEX leases_by_status ON leases (search, status, seq)",
    # For the sweep of blobs: finds out whether a step or a signature refers to a blob.
    "CREATE INDEX steps_by_snapshot ON steps (snapshot)",
    "CREATE INDEX steps_by_screenshot ON steps (screenshot)",
    "ALTER TABLE artefacts ADD COLUMN names BLOB",
    "UPDATE artefacts SET names = manifest_of(kind, envelope)",
    "CREATE INDEX artefacts_by_names ON artefacts (names) WHERE names IS NOT NULL",
)

_LIVE: Final = (
    """CREATE TABLE live (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, caller TEXT NOT NULL, opened_ms INTEGER NOT NULL,
        ended_ms INTEGER NOT NULL, body BLOB NOT NULL) STRICT""",
    "CREATE INDEX live_by_time ON live (opened_ms, seq)",
    "CREATE INDEX live_by_caller ON live (caller, opened_ms, seq)",
    "CREATE INDEX live_by_end ON live (ended_ms, opened_ms, seq)",
)

# UNIQUE, because every call looks up a token by its hash alone.
_AGENTS: Final = (
    "CREATE TABLE agents (name TEXT PRIMARY KEY, token_hash BLOB NOT NULL UNIQUE, body BLOB NOT NULL) STRICT",
)

# AUTOINCREMENT: a number is never reused, even if all rows have been deleted.
_FEED: Final = (
    """CREATE TABLE feed (
        number INTEGER PRIMARY KEY AUTOINCREMENT, at_ms INTEGER NOT NULL, kind TEXT NOT NULL, ids TEXT NOT NULL,
        who TEXT NOT NULL) STRICT""",
)

# Owner and version allow compare-and-set, in case several processes share a store one day.
_SCHEDULES: Final = (
    """CREATE TABLE schedules (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, version INTEGER NOT NULL,
        body BLOB NOT NULL) STRICT""",
    # The primary key guarantees exactly one record for each due time.
    """CREATE TABLE schedule_runs (
        schedule TEXT NOT NULL, due_ms INTEGER NOT NULL, status TEXT NOT NULL, owner TEXT NOT NULL,
        version INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (schedule, due_ms)) STRICT, WITHOUT ROWID""",
    "CREATE INDEX schedule_runs_running ON schedule_runs (schedule, due_ms) WHERE status = 'running'",
)

# Read whole when the node starts; their number is bounded by the room that keeps them.
_QUESTIONS: Final = (
    "CREATE TABLE questions (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body BLOB NOT NULL) STRICT",
)

# AUTOINCREMENT: a number is the time of the last observation, so it is never reused.
_HISTORY: Final = (
    """CREATE TABLE history (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL UNIQUE, origin TEXT NOT NULL, body BLOB NOT NULL) STRICT""",
    "CREATE INDEX history_by_origin ON history (origin, seq)",
)

# Rows of the ledger outlive their capsules: an old copy that is imported again must find its count.
_CAPSULES: Final = (
    """CREATE TABLE capsules (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body BLOB NOT NULL, stream BLOB NOT NULL) STRICT""",
    "CREATE TABLE capsule_ledger (id TEXT PRIMARY KEY, expires_ms INTEGER NOT NULL, body BLOB NOT NULL) STRICT",
)

# The history of controls served to decide about presses; now each request is judged as it leaves.
_NO_HISTORY: Final = ("DROP TABLE history",)

# Read whole when the node starts; the room that keeps them bounds their number.
_WORKS: Final = ("CREATE TABLE works (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body BLOB NOT NULL) STRICT",)

# Read whole when the node starts: the signed entries that take effect here.
_LEAVES: Final = ("CREATE INDEX log_leaves_by_kind ON log_leaves (kind, log, number)",)

# The names of the tables that rooms describe (``adapters.storage.tables.rows``): a program that knows fewer must not open it.
_TABLES: Final = ("CREATE TABLE tables (name TEXT PRIMARY KEY) STRICT",)

MIGRATIONS: Final[Sequence[Sequence[str]]] = (
    _FIRST,
    _WITNESS_LOG,
    _AUDIT_TRAIL,
    _GRANTS,
    _LISTS,
    _LIVE,
    _AGENTS,
    _FEED,
    _SCHEDULES,
    _QUESTIONS,
    _HISTORY,
    _CAPSULES,
    _WORKS,
    _LEAVES,
    _NO_HISTORY,
    _TABLES,
)
VERSION: Final = len(MIGRATIONS)


def _scopes_to_grants(body: bytes) -> bytes:
    """The body of a peer whose ``scopes`` and ``granted_us`` were lists, with maps to origins in their place."""
    peer = cbor.decode(body)
    if "scopes" in peer:
        peer["grants"] = {scope: ["*"] for scope in peer.pop("scopes")}
        peer["granted_us"] = {scope: ["*"] for scope in peer.get("granted_us", ())}
    return cbor.encode(peer)


def manifest_of(kind: str, sealed: bytes) -> bytes | None:
    """The blob that an artefact names: a session is signed by the digest of its manifest. None for any other artefact."""
    if kind != KIND:
        return None
    try:
        payload = peek(sealed).payload
    except MeshError:  # not an envelope; the integrity check of the store reports it
        return None
    return payload if len(payload) == DIGEST_BYTES else None


def version_of(db: sqlite3.Connection, *, newest: int = VERSION) -> int:
    """The version of an open database; 0 for an empty one. Nothing is written.

    Checks, in order: it is a store (or empty); it is not newer than this program.
    Errors: ``store.corrupt``, ``store.newer``.
    """
    application = int(db.execute("PRAGMA application_id").fetchone()[0])
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    tables = int(db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0])
    if application != APPLICATION_ID and (application or version or tables):
        raise MeshError("store.corrupt", "the database file is not a trailmesh store")
    if version > newest:
        message = f"the store has schema version {version}, but this program knows only versions up to {newest}"
        raise MeshError("store.newer", message, version=version, known=newest)
    return version


def migrate(db: sqlite3.Connection, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> int:
    """Bring ``db`` (in autocommit mode) to the newest version. Returns how many migrations ran.

    Errors: ``store.corrupt``, ``store.newer``.
    """
    before = version_of(db, newest=len(migrations))
    db.create_function("scopes_to_grants", 1, _scopes_to_grants, deterministic=True)
    db.create_function("manifest_of", 2, manifest_of, deterministic=True)
    for number, statements in enumerate(migrations[before:], before + 1):
        db.execute("BEGIN IMMEDIATE")
        try:
            for statement in statements:
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {APPLICATION_ID:d}")  # a PRAGMA takes no parameters
            db.execute(f"PRAGMA user_version = {number:d}")
            db.execute("COMMIT")
        except sqlite3.Error:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
    return len(migrations) - before
