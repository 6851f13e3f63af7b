"""The tables of sessions and their steps. Each function runs inside a transaction of the store's database."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from adapters.ports.records import ArtefactRecord
from adapters.storage.files import records
from adapters.storage.files.records import pack, unpack
from adapters.storage.tables import artefact_table
from protocol.recording.records.session import Session, Step


def put(db: sqlite3.Connection, session: Session) -> None:
    """Implements ``Store.put_session``."""
    db.execute(
        "INSERT INTO sessions (id, created_ms, search_text, body) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE"
        " SET created_ms = excluded.created_ms, search_text = excluded.search_text, body = excluded.body",
        (session.id, session.created_ms, records.search_text(session), pack(session)),
    )


def append_step(db: sqlite3.Connection, session_id: str, step: Step) -> None:
    """Implements ``Store.append_step``."""
    if not db.execute("SELECT 1 FROM sessions WHERE id = ?", (session_id,)).fetchone():
        raise records.no_session(session_id)
    last = db.execute("SELECT max(number) FROM steps WHERE session = ?", (session_id,)).fetchone()[0]
    records.check_next(session_id, last or 0, step)
    _add_step(db, session_id, step, pack(step))


def amend_step(db: sqlite3.Connection, session_id: str, step: Step) -> None:
    """Implements ``Store.amend_step``."""
    amended = db.execute(
        "UPDATE steps SET snapshot = ?, screenshot = ?, body = ? WHERE session = ? AND number = ?",
        (step.snapshot, step.screenshot, pack(step), session_id, step.index),
    )
    if not amended.rowcount:
        raise records.no_step(session_id, step.index)


def commit(db: sqlite3.Connection, session: Session, artefacts: Sequence[ArtefactRecord]) -> None:
    """Implements ``Store.commit_session``."""
    put(db, session)
    for artefact in artefacts:
        artefact_table.put(db, artefact)


def take_in(
    db: sqlite3.Connection,
    session: Session,
    steps: Sequence[Step],
    artefacts: Sequence[ArtefactRecord],
    bodies: Sequence[bytes] = (),
) -> None:
    """Implements ``Store.import_session``."""
    records.check_whole(session, steps)
    put(db, session)
    db.execute("DELETE FROM steps WHERE session = ?", (session.id,))
    for step, body in zip(steps, bodies or map(pack, steps), strict=True):
        _add_step(db, session.id, step, body)
    for artefact in artefacts:
        artefact_table.put(db, artefact)


def one(db: sqlite3.Connection, session_id: str) -> Session | None:
    """Implements ``Store.session``."""
    row = db.execute("SELECT body FROM sessions WHERE id = ?", (session_id,)).fetchone()
    return unpack(row[0], Session) if row else None


def steps_of(db: sqlite3.Connection, session_id: str) -> list[Step]:
    """Implements ``Store.steps``."""
    return [unpack(body, Step) for body in bodies_of(db, session_id)]


def step_of(db: sqlite3.Connection, session_id: str, number: int | None) -> Step | None:
    """Implements ``Store.step``."""
    if number is None:
        return _last_seen(db, session_id)
    row = db.execute("SELECT body FROM steps WHERE session = ? AND number = ?", (session_id, number)).fetchone()
    return unpack(row[0], Step) if row else None


def _last_seen(db: sqlite3.Connection, session_id: str) -> Step | None:
    for pictured in ("AND screenshot <> x''", ""):
        newest = f"SELECT body FROM steps WHERE session = ? {pictured} ORDER BY number DESC LIMIT 1"  # noqa: S608 (a constant)
        if row := db.execute(newest, (session_id,)).fetchone():
            return unpack(row[0], Step)
    return None


def bodies_of(db: sqlite3.Connection, session_id: str) -> list[bytes]:
    """Implements ``Store.step_bodies``."""
    rows = db.execute("SELECT body FROM steps WHERE session = ? ORDER BY number", (session_id,))
    return [records.blob(body) for (body,) in rows]


def some(db: sqlite3.Connection, text: str, limit: int) -> list[Session]:
    """Implements ``Store.sessions``."""
    where = " WHERE instr(search_text, ?)" if text else ""
    rows = db.execute(
        f"SELECT body FROM sessions{where} ORDER BY created_ms DESC, seq DESC LIMIT ?",  # noqa: S608 (a constant)
        ((text.casefold(),) if text else ()) + (records.check_limit(limit),),
    )
    return [unpack(body, Session) for (body,) in rows]


def count(db: sqlite3.Connection) -> int:
    """Implements ``Store.count_sessions``."""
    return int(db.execute("SELECT count(*) FROM sessions").fetchone()[0])


def _add_step(db: sqlite3.Connection, session_id: str, step: Step, body: bytes) -> None:
    db.execute(
        "INSERT INTO steps (session, number, snapshot, screenshot, body) VALUES (?, ?, ?, ?, ?)",
        (session_id, step.index, step.snapshot, step.screenshot, body),
    )
