"""A day of schedules on a virtual clock, with crashes at every wait, clock jumps, pauses and runs by hand; over many seeds.

What must hold at the end of each: every due time has exactly one record, nothing overlapped, nothing says ``running`` that does
not run.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from typing import Any, cast

import pytest

from adapters.ports.store import Store
from adapters.ports.tables import Table
from node.schedules.triggers import Trigger
from protocol.errors import MeshError
from protocol.schedule import Misfire, RunStatus
from tests.schedules import HOUR_MS, SCHEDULE, Bench, SetClock
from tests.twins.storage import MemoryStore
from tests.twins.tables import MemoryRows, RowStore

DAY_MS = 24 * HOUR_MS
SEEDS, SEEDS_IN_FIELD = 8, 24
_RULES: tuple[dict[str, Any], ...] = (
    {"every_s": 420},
    {"every_s": 3_600, "jitter_s": 900},
    {"cron": "*/20 * * * *", "every_s": 0, "timezone": "Europe/Berlin"},
    {"cron": "7 */2 * * *", "every_s": 0, "timezone": "America/New_York", "jitter_s": 60},
)


class Disk:
    """The store of one life of the node: a write may be lost with the life that made it."""

    def __init__(self, store: Store, dice: random.Random) -> None:
        self._store, self._dice = store, dice
        self.alive = True

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)

        async def call(*given: Any, **named: Any) -> Any:
            await self._wait()
            found = await method(*given, **named)
            await self._wait()  # what is written stays, whether the life that wrote it learns of it or not
            return found

        return call

    def rows(self, table: Table[Any]) -> MemoryRows[Any]:
        """As ``Store.rows``."""
        return MemoryRows(cast(RowStore, self), table)

    async def _wait(self) -> None:
        for _ in range(self._dice.randrange(3)):
            await asyncio.sleep(0)
        if not self.alive:
            raise MeshError("node.stopped", "this life is over")


class Day:
    """One node, and what happens to it."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.clock = SetClock(seed=seed)
        self.store = cast(Store, MemoryStore())
        self.rule = {**_RULES[seed % len(_RULES)], "misfire": self.dice.choice(list(Misfire))}
        self.lives: list[tuple[Bench, Disk]] = []
        self.tasks: list[asyncio.Task[Any]] = []
        self.gaps: list[tuple[int, int]] = []
        """From when to when it was paused: nothing was due."""

    @property
    def bench(self) -> Bench:
        return self.lives[-1][0]

    async def live(self) -> None:
        """Start the node, again if it ran before."""
        disk = Disk(self.store, self.dice)
        bench = Bench(cast(Store, disk), self.clock)
        bench.searches.lasts_s = lambda: self.dice.choice((1.0, 30.0, 400.0, 4_000.0))
        bench.searches.reason = lambda: self.dice.choice(("", "", "search.not_found_goal", "browser.missing"))
        self.lives.append((bench, disk))
        await bench.room.load()
        bench.room.start()

    async def die(self) -> None:
        """End it as a power cut would, and start it some time later."""
        bench, disk = self.lives[-1]
        disk.alive = False
        bench.searches.open.clear()
        await bench.room.close()
        self.clock.advance(self.dice.choice((0, 1, 90_000, 3 * HOUR_MS)))
        await self.live()

    def jump(self) -> None:
        """Set the clock."""
        self.clock.ahead_ms += self.dice.choice((-5 * HOUR_MS, -90_000, -1_000, 1_000, 90_000, 5 * HOUR_MS))

    async def rest(self) -> None:
        """Pause it for a while."""
        record = await self.store.schedule(SCHEDULE)
        assert record is not None
        await self.bench.room.pause(SCHEDULE)
        await self.clock.run(self.dice.choice((1_000, 600_000, 2 * HOUR_MS)))
        before = await self.store.schedule(SCHEDULE)
        after = await self.bench.room.resume(SCHEDULE)
        assert before is not None
        self.gaps.append((before.decided_ms, after.decided_ms))

    def by_hand(self) -> None:
        """Run it now, as somebody who may lose patience."""

        async def run() -> None:
            with contextlib.suppress(MeshError):
                await self.bench.room.run_now(SCHEDULE, lambda event: None)

        self.tasks.append(asyncio.create_task(run()))

    async def pass_by(self) -> None:
        """The whole day."""
        await self.live()
        await self.bench.add(**self.rule)
        end_ms = self.clock.now_ms() + DAY_MS
        while self.clock.now_ms() < end_ms:
            await self.clock.run(self.dice.choice((7, 1_000, 60_000, 600_000, HOUR_MS)))
            match self.dice.randrange(12):
                case 0 | 1:
                    await self.die()
                case 2 | 3:
                    self.jump()
                case 4:
                    await self.rest()
                case 5:
                    self.by_hand()
                case 6 if self.tasks:
                    self.dice.choice(self.tasks).cancel()
                case _:
                    pass
            await self._resume_if_failing()
        await self.clock.run(120_000)

    async def _resume_if_failing(self) -> None:
        before = await self.store.schedule(SCHEDULE)
        if before is not None and before.paused:
            after = await self.bench.room.resume(SCHEDULE)
            self.gaps.append((before.decided_ms, after.decided_ms))

    async def close(self) -> None:
        """End everything."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.bench.room.close()


@pytest.mark.parametrize(
    "seed",
    [*range(SEEDS), *(pytest.param(seed, marks=pytest.mark.field) for seed in range(SEEDS, SEEDS_IN_FIELD))],
)
async def test_each_due_time_of_a_day_with_crashes_and_clock_jumps_has_exactly_one_record(seed: int) -> None:
    """Guard: node/schedules/schedules.py, Schedules.load."""
    day = Day(seed)
    try:
        await day.pass_by()
        record = await day.store.schedule(SCHEDULE)
        assert record is not None
        trigger = Trigger(record)
        since_ms, expected = record.created_ms, list[int]()
        for until_ms, next_ms in [*day.gaps, (record.decided_ms, 0)]:
            expected += trigger.between(since_ms, until_ms, 100_000)
            since_ms = max(until_ms, next_ms)
        runs = (await day.store.runs_of(SCHEDULE, limit=1_000))[::-1]
        assert [run.due_ms for run in runs if not run.manual] == expected
        going_on = [run for run in runs if run.status is RunStatus.RUNNING]
        assert {run.search for run in going_on} == day.bench.searches.open
        assert all(bench.searches.most <= 1 for bench, _ in day.lives)
        due_ms = trigger.after(record.decided_ms)
        assert record.paused or due_ms is None or due_ms + record.jitter_s * 1000 >= day.clock.now_ms() - 60_000
    finally:
        await day.close()


async def test_the_days_hold_what_they_are_to_show() -> None:
    wanted, seen = set(RunStatus) - {RunStatus.RUNNING}, set[RunStatus]()
    for seed in range(12):
        if seen >= wanted:
            break
        day = Day(seed)
        await day.pass_by()
        seen |= {run.status for run in await day.store.runs_of(SCHEDULE, limit=1_000)}
        assert len(day.lives) > 1
        await day.close()
    assert seen >= wanted
