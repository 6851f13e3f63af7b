"""The table of the audit trail. Each function runs inside a transaction of the store's database."""

from __future__ import annotations

import sqlite3

from adapters.audit_records import AuditLine, AuditQuery, stored
from adapters.storage.files import records
from protocol import audit
from protocol.audit import START, AuditDraft, Head

_COLUMNS = "number, at_ms, who, what, line, digest"


def head(db: sqlite3.Connection) -> Head:
    """Implements ``Store.audit_head``."""
    row = db.execute("SELECT number, digest FROM audit ORDER BY number DESC LIMIT 1").fetchone()
    return Head(*row) if row else START


def append(db: sqlite3.Connection, draft: AuditDraft) -> AuditLine:
    """Implements ``Store.append_audit``."""
    line, end = audit.chain(draft, head(db))
    made = stored(line, draft, end.number, end.digest)
    db.execute(
        f"INSERT INTO audit ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)",  # noqa: S608 (a constant)
        (made.number, made.at_ms, made.who, made.what, made.line, made.digest),
    )
    return made


def lines(db: sqlite3.Connection, after: int, limit: int) -> list[AuditLine]:
    """Implements ``Store.audit_lines``."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM audit WHERE number > ? ORDER BY number LIMIT ?",  # noqa: S608 (a constant)
        (records.integer(after), records.check_limit(limit)),
    )
    return [_line(row) for row in rows]


def find(db: sqlite3.Connection, query: AuditQuery) -> list[AuditLine]:
    """Implements ``Store.audit_find``: from the end backwards, until there are enough."""
    conditions, values = list[str](), list[object]()
    for condition, value in (
        ("who = ?", query.who),
        ("at_ms >= ?", records.integer(query.since_ms)),
        ("at_ms < ?", records.integer(query.until_ms)),
    ):
        if value:
            conditions.append(condition)
            values.append(value)
    if query.what:
        conditions.append("(what = ? OR substr(what, 1, ?) IN (?, ?))")
        values += (query.what, len(query.what) + 1, f"{query.what}.", f"{query.what}/")
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM audit{records.where(conditions)} ORDER BY number DESC LIMIT ?",  # noqa: S608 (constants)
        (*values, records.check_limit(query.limit)),
    )
    return [_line(row) for row in rows][::-1]


def _line(row: tuple[object, ...]) -> AuditLine:
    return records.of_columns(AuditLine, row)
