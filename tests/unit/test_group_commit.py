"""Writes that wait together are committed together, and each is answered for itself."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from adapters.storage.files.database import BATCH_CALLS_MAX, Database
from adapters.storage.sqlite import DATABASE_FILE
from protocol.errors import MeshError


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await Database.open(tmp_path / DATABASE_FILE)
    yield opened
    await opened.close()


def put(key: str, size: int = 1) -> Callable[[sqlite3.Connection], str]:
    def work(db: sqlite3.Connection) -> str:
        db.execute("INSERT INTO meta VALUES (?, ?)", (key, bytes(size)))
        return key

    return work


def keys(db: sqlite3.Connection) -> list[str]:
    return [key for (key,) in db.execute("SELECT key FROM meta ORDER BY key")]


def seen_by_others(path: Path) -> list[str]:
    """What is committed, as another connection sees it."""
    with sqlite3.connect(path) as db:
        found = keys(db)
    db.close()
    return found


async def together(database: Database, calls: Sequence[Callable[[], Awaitable[Any]]]) -> tuple[list[Any], list[str]]:
    """What each of ``calls`` returned or raised when all came while the thread was busy, and what SQLite was told meanwhile."""
    said: list[str] = []
    go_on = threading.Event()
    await database.run(lambda: database._db.set_trace_callback(said.append))
    busy = asyncio.create_task(database.run(go_on.wait))
    tasks = [asyncio.ensure_future(call()) for call in calls]
    for _ in range(2):
        await asyncio.sleep(0)
    go_on.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    await busy
    await database.run(lambda: database._db.set_trace_callback(None))
    return results, said


async def test_writes_that_wait_share_one_commit(database: Database) -> None:
    results, said = await together(database, [partial(database.write, put(f"{n:02}")) for n in range(40)])
    assert results == [f"{n:02}" for n in range(40)]
    assert (said.count("COMMIT"), said.count("BEGIN IMMEDIATE")) == (1, 1)
    assert await database.read(keys) == results


async def test_a_batch_is_bounded(database: Database) -> None:
    count = BATCH_CALLS_MAX + 1
    results, said = await together(database, [partial(database.write, put(str(n))) for n in range(count)])
    assert results == [str(n) for n in range(count)]
    assert said.count("COMMIT") == 2


async def test_a_write_that_raises_is_undone_alone(database: Database) -> None:
    def spoilt(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO meta VALUES ('spoilt', x'00')")
        raise KeyError("ours")

    calls = [lambda: database.write(put("a")), lambda: database.write(spoilt), lambda: database.write(put("b"))]
    (first, failed, last), said = await together(database, calls)
    assert (first, last, type(failed)) == ("a", "b", KeyError)
    assert said.count("COMMIT") == 1
    assert await database.read(keys) == ["a", "b"]


async def test_a_broken_constraint_is_the_error_of_its_own_call(database: Database) -> None:
    calls = [lambda: database.write(put("a")), lambda: database.write(put("a")), lambda: database.write(put("b"))]
    (first, failed, last), _ = await together(database, calls)
    assert (first, failed.code, last) == ("a", "internal.fault", "b")
    assert await database.read(keys) == ["a", "b"]


async def test_when_the_disk_is_full_what_still_fits_is_kept_and_the_rest_is_told(database: Database) -> None:
    """SQLite undoes the whole transaction then: each call is made again by itself."""
    pages = await database.read(lambda db: db.execute("PRAGMA page_count").fetchone()[0])
    await database.write(lambda db: db.execute(f"PRAGMA max_page_count = {pages + 20}").fetchall())
    calls = [
        lambda: database.write(put("a")),
        lambda: database.write(put("large", 1_000_000)),
        lambda: database.write(put("b")),
    ]
    (first, failed, last), _ = await together(database, calls)
    assert (first, last) == ("a", "b")
    assert isinstance(failed, MeshError) and failed.code == "store.full"
    assert await database.read(keys) == ["a", "b"]


async def test_when_the_commit_fails_each_call_is_made_again_by_itself(database: Database) -> None:
    def dangling(db: sqlite3.Connection) -> None:
        db.execute("PRAGMA defer_foreign_keys = ON")  # checked when it commits
        db.execute("INSERT INTO steps VALUES ('ses-gone', 1, x'', x'', x'00')")

    calls = [lambda: database.write(put("a")), lambda: database.write(dangling), lambda: database.read(keys)]
    (first, failed, seen), _ = await together(database, calls)
    assert (first, failed.code, seen) == ("a", "internal.fault", ["a"])


async def test_while_another_process_writes_reads_are_answered_and_all_writes_refused_at_once(
    database: Database, tmp_path: Path
) -> None:
    await database.write(put("before"))
    await database.run(lambda: database._db.execute("PRAGMA busy_timeout = 1").fetchall())
    other = sqlite3.connect(tmp_path / DATABASE_FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    calls = [lambda: database.write(put("a")), lambda: database.read(keys), lambda: database.write(put("b"))]
    (first, seen, last), said = await together(database, calls)
    other.close()
    assert (first.code, seen, last.code) == ("node.locked", ["before"], "node.locked")
    assert said.count("BEGIN IMMEDIATE") == 1


async def test_nobody_is_answered_before_the_commit(database: Database, tmp_path: Path) -> None:
    """Neither a write nor a read that saw it: what either was told, a power cut must not take back."""
    path = tmp_path / DATABASE_FILE
    before: list[list[str]] = []

    async def write() -> list[str]:
        await database.write(put("a"))
        return seen_by_others(path)

    async def read() -> list[str]:
        found = await database.read(keys)
        assert found == ["a"], "reads and writes keep their order"
        return seen_by_others(path)

    def late(db: sqlite3.Connection) -> None:
        before.append(seen_by_others(path))

    results, said = await together(database, [write, read, lambda: database.write(late)])
    assert results == [["a"], ["a"], None]
    assert before == [[]], "the last of the batch ran before the commit"
    assert said.count("COMMIT") == 1


async def test_what_follows_a_write_follows_the_commit_and_not_a_failure(database: Database, tmp_path: Path) -> None:
    seen: list[tuple[str, list[str]]] = []

    def after(name: str) -> Callable[[sqlite3.Connection], None]:
        return lambda db: seen.append((name, seen_by_others(tmp_path / DATABASE_FILE)))

    def spoilt(db: sqlite3.Connection) -> None:
        raise KeyError("ours")

    calls = [
        lambda: database.write(put("a"), then=after("a")),
        lambda: database.write(spoilt, then=after("spoilt")),
        lambda: database.write(put("b"), then=after("b")),
    ]
    await together(database, calls)
    assert seen == [("a", ["a", "b"]), ("b", ["a", "b"])]


async def test_a_call_that_is_cancelled_while_it_waits_is_not_made_and_disturbs_no_other(database: Database) -> None:
    go_on = threading.Event()
    busy = asyncio.create_task(database.run(go_on.wait))
    tasks = [asyncio.create_task(database.write(put(key))) for key in ("a", "b", "c")]
    await asyncio.sleep(0)
    tasks[1].cancel()
    await asyncio.sleep(0)
    go_on.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    await busy
    assert (results[0], type(results[1]), results[2]) == ("a", asyncio.CancelledError, "c")
    assert await database.read(keys) == ["a", "c"]
    assert database.waiting == 0


async def test_closing_finishes_what_waits(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / DATABASE_FILE)
    tasks = [asyncio.create_task(database.write(put(key))) for key in ("a", "b", "c")]
    await asyncio.sleep(0)
    await database.close()
    assert await asyncio.gather(*tasks) == ["a", "b", "c"]
    assert seen_by_others(tmp_path / DATABASE_FILE) == ["a", "b", "c"]
