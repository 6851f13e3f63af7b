"""A damaged row is an error of the store with a code, whatever stands in it."""

from __future__ import annotations

import inspect
import shutil
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import pytest

from adapters.audit_records import AuditQuery
from adapters.storage.sqlite import DATABASE_FILE, SqliteStore
from protocol.errors import MeshError
from tests.contract.test_store import artefact, step
from tests.memory_rooms import tables
from tests.unit.test_storage_plans import fill

WRONG: Final = (None, 7, 1.5, "text", b"\xff\x00", b"")
"""What a damaged page may give for any column."""
KEY: Final = bytes(32)

_READS: Final[dict[str, Callable[[SqliteStore], Awaitable[Any]]]] = {
    "get_meta": lambda store: store.get_meta("key"),
    "peers": lambda store: store.peers(),
    "session": lambda store: store.session("ses-1"),
    "steps": lambda store: store.steps("ses-1"),
    "step": lambda store: store.step("ses-1", 1),
    "last_step": lambda store: store.step("ses-1"),
    "step_bodies": lambda store: store.step_bodies("ses-1"),
    "sessions": lambda store: store.sessions(),
    "append_step": lambda store: store.append_step("ses-1", step(2)),
    "artefact": lambda store: store.artefact(artefact().digest),
    "artefacts": lambda store: store.artefacts(),
    "search": lambda store: store.search("sea-1"),
    "searches": lambda store: store.searches(),
    "deltas": lambda store: store.deltas("sea-1"),
    "newest_deltas": lambda store: store.newest_deltas("sea-1"),
    "lease": lambda store: store.lease("lea-1"),
    "leases": lambda store: store.leases("sea-1"),
    "schedule": lambda store: store.schedule("sch-1"),
    "schedules": lambda store: store.schedules(),
    "runs_of": lambda store: store.runs_of("sch-1", limit=10),
    "running_runs": lambda store: store.running_runs(),
    "agent": lambda store: store.agent(KEY),
    "agents": lambda store: store.agents(),
    "logs": lambda store: store.logs(),
    "log_subtrees": lambda store: store.log_subtrees(0, [(0, 0)]),
    "log_leaf": lambda store: store.log_leaf(KEY),
    "log_leaves": lambda store: store.log_leaves(0),
    "leaves_of": lambda store: store.leaves_of(["artefact"]),
    "audit_head": lambda store: store.audit_head(),
    "audit_lines": lambda store: store.audit_lines(),
    "audit_find": lambda store: store.audit_find(AuditQuery(limit=10)),
    "capsule": lambda store: store.capsule("cap-1"),
    "capsules": lambda store: store.capsules(),
    "capsule_stream": lambda store: store.capsule_stream("cap-1"),
    "ledger": lambda store: store.ledger("cap-1"),
    "revoked_as": lambda store: store.revoked_as("shop"),
    "feed": lambda store: store.feed(after=0),
    "feed newest": lambda store: store.feed(),
    "usage": lambda store: store.usage(),
    "check": lambda store: store.check(),
    "remove_session": lambda store: store.remove_session("ses-1"),
} | {table.name: lambda store, table=table: store.rows(table).find() for table in tables()}


def _without_rules(path: Path) -> list[tuple[str, str]]:
    """Take every constraint out of the schema, so that a cell can hold what a damaged page does; the columns of all tables."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA writable_schema = ON")
    for word in (" STRICT", " NOT NULL", "STRICT,"):
        db.execute("UPDATE sqlite_schema SET sql = replace(sql, ?, '') WHERE type = 'table'", (word,))
    for kind in ("INTEGER", "TEXT", "BLOB"):  # a column without a type keeps what it is given
        db.execute(
            "UPDATE sqlite_schema SET sql = replace(replace(sql, ?, ','), ?, ')') WHERE type = 'table'",
            (f" {kind},", f" {kind})"),
        )
    db.execute("DELETE FROM sqlite_schema WHERE type = 'trigger'")
    db.close()
    db = sqlite3.connect(path)
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    columns = [(table, row[1]) for table in tables for row in db.execute(f"PRAGMA table_info({table})") if not row[5]]
    db.close()
    return columns


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
async def test_whatever_stands_in_a_damaged_row_every_read_gives_a_value_or_an_error_with_a_code(
    tmp_path: Path, wrong: object
) -> None:
    sound = tmp_path / "sound"
    store = await SqliteStore.open(sound)
    await fill(store)
    await store.close()
    columns = _without_rules(sound / DATABASE_FILE)
    assert len(columns) > 30
    codes: set[str] = set()
    for table, column in columns:
        # A directory of its own: a store that could not be opened may leave a log, which would be read in the place of the damage.
        home = tmp_path / f"{table}.{column}"
        shutil.copytree(sound, home)
        db = sqlite3.connect(home / DATABASE_FILE)
        db.execute(f"UPDATE {table} SET {column} = ?", (wrong,))
        db.commit()
        db.close()
        try:
            damaged = await SqliteStore.open(home)
        except MeshError as error:
            codes.add(error.code)
            continue
        for name, read in _READS.items():
            try:
                await read(damaged)
            except MeshError as error:
                assert error.code in ("store.corrupt", "input.not_found", "input.invalid"), (
                    f"{table}.{column}: {name}: {error}"
                )
                codes.add(error.code)
        await damaged.close()
    assert "store.corrupt" in codes


def test_every_reading_method_is_tried() -> None:
    writes = (
        "put_",
        "append_",
        "amend_",
        "drop_",
        "commit_",
        "import_",
        "remove_",
        "take_",
        "count_",
        "add_",
        "charge_",
        "keep_",
        "give_",
        "raise_",
        "prune_",
    )
    methods = {name for name, _ in inspect.getmembers(SqliteStore, inspect.iscoroutinefunction)}
    reading = {name for name in methods if not name.startswith(("_", *writes))}
    assert reading - set(_READS) == {"blob", "close", "copy_to", "hold", "open", "search_removed", "session_remains"}
