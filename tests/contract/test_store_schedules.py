"""What every store does with schedules, run over SQLite and over its in-memory twin."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from adapters.ports.store import Store
from adapters.schedule_records import RunRecord
from adapters.storage.files.migrations import migrate
from adapters.storage.sqlite import SqliteStore
from adapters.storage.tables import schedule_tables
from protocol import limits
from protocol.errors import MeshError
from protocol.schedule import RunStatus
from tests.schedules import SCHEDULE, schedule
from tests.twins.storage import MemoryStore

OTHER = "sch-other"


@pytest.fixture(params=["sqlite", "memory"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened: Store = MemoryStore() if request.param == "memory" else await SqliteStore.open(tmp_path / "home")
    yield opened
    await opened.close()


def run(due_ms: int, status: RunStatus = RunStatus.RUNNING, of: str = SCHEDULE, **changes: object) -> RunRecord:
    return msgspec.structs.replace(RunRecord(schedule=of, due_ms=due_ms, status=status), **changes)


async def test_schedules_are_read_back_oldest_first_and_removed_with_their_runs(store: Store) -> None:
    one, other = schedule(), schedule(id=OTHER, cron="0 6 * * *", every_s=0)
    assert await store.keep_schedule(one, was=0, runs=[run(1), run(2)])
    assert await store.keep_schedule(other, was=0, runs=[run(1, of=OTHER)])
    assert await store.schedules() == [one, other]
    assert await store.schedule(OTHER) == other
    assert await store.runs_of(SCHEDULE, limit=10) == [run(2), run(1)]
    assert await store.runs_of(SCHEDULE, limit=1) == [run(2)]
    assert await store.remove_schedule(SCHEDULE)
    assert not await store.remove_schedule(SCHEDULE)
    assert await store.runs_of(SCHEDULE, limit=10) == []
    assert await store.running_runs() == [run(1, of=OTHER)]
    assert await store.schedule(SCHEDULE) is None


async def test_a_change_of_another_version_changes_nothing(store: Store) -> None:
    assert await store.keep_schedule(schedule(), was=0)
    assert not await store.keep_schedule(schedule(goal="again"), was=0)
    assert not await store.keep_schedule(schedule(version=8, goal="later"), was=7, runs=[run(1)])
    assert await store.schedules() == [schedule()]
    assert await store.runs_of(SCHEDULE, limit=10) == []
    changed = schedule(version=2, paused=True)
    assert await store.keep_schedule(changed, was=1, runs=[run(1)])
    assert await store.schedules() == [changed]


async def test_a_due_time_gets_one_record_only(store: Store) -> None:
    assert await store.keep_schedule(schedule(), was=0, runs=[run(5, RunStatus.DONE)])
    assert not await store.keep_schedule(schedule(version=2), was=1, runs=[run(4), run(5)])
    assert await store.schedule(SCHEDULE) == schedule()
    assert await store.runs_of(SCHEDULE, limit=10) == [run(5, RunStatus.DONE)]


async def test_the_end_of_a_run_is_kept_once(store: Store) -> None:
    await store.keep_schedule(schedule(), was=0, runs=[run(5), run(6)])
    done = run(5, RunStatus.DONE, version=2, reason="x")
    assert await store.keep_run(done, was=1)
    assert not await store.keep_run(run(5, RunStatus.FAILED, version=2), was=1)
    assert not await store.keep_run(run(7, RunStatus.FAILED, version=2), was=1)
    assert await store.runs_of(SCHEDULE, limit=10) == [run(6), done]
    assert await store.running_runs() == [run(6)]


async def test_the_oldest_records_go_and_what_runs_stays(store: Store) -> None:
    most = limits.SCHEDULE_RUNS_MAX
    first = [run(0), *(run(due_ms, RunStatus.MISSED) for due_ms in range(1, most))]
    await store.keep_schedule(schedule(), was=0, runs=first)
    assert len(await store.runs_of(SCHEDULE, limit=2 * most)) == most
    await store.keep_schedule(schedule(version=2), was=1, runs=[run(most + 5, RunStatus.DONE), run(most + 6)])
    kept = [found.due_ms for found in await store.runs_of(SCHEDULE, limit=2 * most)]
    assert kept == [most + 6, most + 5, *range(most - 1, 1, -1), 0]


async def test_what_could_not_be_read_back_is_refused(store: Store) -> None:
    with pytest.raises(MeshError, match=r"input\.invalid"):
        await store.keep_schedule(schedule(goal="g" * (limits.SCHEDULE_TEXT_CHARS_MAX + 1)), was=0)
    with pytest.raises(MeshError, match=r"input\.invalid"):
        await store.keep_schedule(schedule(), was=0, runs=[run(2**63)])
    assert await store.schedules() == []


@pytest.mark.parametrize(
    ("sql", "given", "index"),
    [
        (schedule_tables.RUNS_OF, (SCHEDULE, 10), "PRIMARY KEY (schedule=?)"),
        (schedule_tables.RUNNING, (), "schedule_runs_running"),
    ],
)
def test_records_of_due_times_are_found_by_an_index(sql: str, given: tuple[object, ...], index: str) -> None:
    db = sqlite3.connect(":memory:", isolation_level=None)
    migrate(db)
    plan = " ".join(str(row[3]) for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", given))
    db.close()
    assert index in plan
    assert "TEMP B-TREE" not in plan
