"""The tables of schedules and their runs. Each function runs inside a transaction of the store's database."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from adapters.schedule_records import RunRecord, ScheduleRecord
from adapters.storage.files.records import check_limit, pack, unpack
from protocol import limits
from protocol.schedule import RunStatus


def keep_schedule(db: sqlite3.Connection, record: ScheduleRecord, was: int, runs: Sequence[RunRecord]) -> bool:
    """Implements ``Store.keep_schedule``."""
    packed = [(run.schedule, run.due_ms, run.status.value, run.owner, run.version, pack(run)) for run in runs]
    new = (record.id, record.owner, record.version, pack(record))
    for schedule, due_ms, *_ in packed:
        if db.execute("SELECT 1 FROM schedule_runs WHERE schedule = ? AND due_ms = ?", (schedule, due_ms)).fetchone():
            return False
    if was:
        sql = "UPDATE schedules SET owner = ?2, version = ?3, body = ?4 WHERE id = ?1 AND version = ?5"
        changed = db.execute(sql, (*new, was)).rowcount
    else:
        sql = "INSERT INTO schedules (id, owner, version, body) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
        changed = db.execute(sql, new).rowcount
    if not changed:
        return False
    db.executemany("INSERT INTO schedule_runs VALUES (?, ?, ?, ?, ?, ?)", packed)
    if packed:
        _forget_old(db, record.id)
    return True


def _forget_old(db: sqlite3.Connection, schedule_id: str) -> None:
    db.execute(
        "DELETE FROM schedule_runs WHERE schedule = ?1 AND status <> ?3 AND due_ms <"
        " (SELECT due_ms FROM schedule_runs WHERE schedule = ?1 ORDER BY due_ms DESC LIMIT 1 OFFSET ?2)",
        (schedule_id, limits.SCHEDULE_RUNS_MAX - 1, RunStatus.RUNNING.value),
    )


def schedules(db: sqlite3.Connection) -> list[ScheduleRecord]:
    """Implements ``Store.schedules``."""
    return [unpack(body, ScheduleRecord) for (body,) in db.execute("SELECT body FROM schedules ORDER BY seq")]


def schedule(db: sqlite3.Connection, schedule_id: str) -> ScheduleRecord | None:
    """Implements ``Store.schedule``."""
    row = db.execute("SELECT body FROM schedules WHERE id = ?", (schedule_id,)).fetchone()
    return unpack(row[0], ScheduleRecord) if row else None


def remove_schedule(db: sqlite3.Connection, schedule_id: str) -> bool:
    """Implements ``Store.remove_schedule``."""
    db.execute("DELETE FROM schedule_runs WHERE schedule = ?", (schedule_id,))
    return db.execute("DELETE FROM schedules WHERE id = ?", (schedule_id,)).rowcount > 0


def keep_run(db: sqlite3.Connection, run: RunRecord, was: int) -> bool:
    """Implements ``Store.keep_run``."""
    sql = (
        "UPDATE schedule_runs SET status = ?3, owner = ?4, version = ?5, body = ?6"
        " WHERE schedule = ?1 AND due_ms = ?2 AND version = ?7"
    )
    row = (run.schedule, run.due_ms, run.status.value, run.owner, run.version, pack(run), was)
    return db.execute(sql, row).rowcount > 0


RUNS_OF = "SELECT body FROM schedule_runs WHERE schedule = ? ORDER BY due_ms DESC LIMIT ?"
RUNNING = "SELECT body FROM schedule_runs WHERE status = 'running' ORDER BY schedule, due_ms"


def runs_of(db: sqlite3.Connection, schedule_id: str, limit: int) -> list[RunRecord]:
    """Implements ``Store.runs_of``."""
    return [unpack(body, RunRecord) for (body,) in db.execute(RUNS_OF, (schedule_id, check_limit(limit)))]


def running_runs(db: sqlite3.Connection) -> list[RunRecord]:
    """Implements ``Store.running_runs``."""
    return [unpack(body, RunRecord) for (body,) in db.execute(RUNNING)]
