"""The room of schedules to the millisecond: when it wakes, what it writes down, and what a store that fails changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from adapters.schedule_records import RunRecord, ScheduleRecord
from node.schedules import ScheduledSearchResult
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.schedule import Misfire, RunStatus, delay_ms
from tests.schedules import HOUR_MS, SCHEDULE, Bench, schedule
from tests.twins.clock import START_MS
from tests.twins.storage import MemoryStore

UNKNOWN = ids.make_id("sch", b"x" * 13)


class Failing(MemoryStore):
    """A store in which others are faster, or which fails."""

    def __init__(self) -> None:
        super().__init__()
        self.refusals = 0
        """So many of the next changes of a schedule are refused."""
        self.asked = 0
        self.keeps_runs = True
        self.fails: Callable[[], bool] = lambda: False

    async def keep_schedule(self, record: ScheduleRecord, *, was: int, runs: Any = ()) -> bool:
        self.asked += 1
        if self.refusals:
            self.refusals -= 1
            return False
        return await super().keep_schedule(record, was=was, runs=runs)

    async def keep_run(self, run: RunRecord, *, was: int) -> bool:
        if self.fails():
            raise MeshError("store.full")
        return self.keeps_runs and await super().keep_run(run, was=was)

    async def schedules(self) -> list[ScheduleRecord]:
        if self.fails():
            raise MeshError("store.full")
        return await super().schedules()


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench(Failing())
    yield made
    await made.room.close()


def store_of(bench: Bench) -> Failing:
    assert isinstance(bench.store, Failing)
    return bench.store


def by_hand(bench: Bench, schedule_id: str = SCHEDULE) -> asyncio.Task[RunRecord]:
    return asyncio.create_task(bench.room.run_now(schedule_id, lambda event: None))


async def code_of(waits: Any) -> str:
    with pytest.raises(MeshError) as caught:
        await waits
    return caught.value.code


async def kinds(bench: Bench) -> list[str]:
    return [change.kind for change in (await bench.store.feed(after=0, limit=1_000)).changes]


# --- when it wakes ---------------------------------------------------------------------------------------------------


async def test_a_look_says_when_the_next_is_due(bench: Bench) -> None:
    assert await bench.room.tick() is None
    await bench.add(jitter_s=600)
    due_ms = START_MS + HOUR_MS
    delayed_ms = due_ms + delay_ms(SCHEDULE, due_ms, 600)
    assert await bench.room.tick() == delayed_ms
    await bench.add(id=UNKNOWN, every_s=60)
    assert await bench.room.tick() == START_MS + 60_000
    await bench.room.pause(UNKNOWN)
    assert await bench.room.tick() == delayed_ms
    bench.clock.advance(delayed_ms - START_MS - 1)
    assert await bench.room.tick() == delayed_ms
    assert await bench.runs() == []
    bench.clock.advance(1)
    next_ms = START_MS + 2 * HOUR_MS
    assert await bench.room.tick() == next_ms + delay_ms(SCHEDULE, next_ms, 600)
    assert await bench.statuses() == ["running"]


async def test_a_run_is_ended_in_the_millisecond_in_which_its_schedule_expires(bench: Bench) -> None:
    expires_ms = START_MS + HOUR_MS + 30_000
    await bench.add(expires_s=expires_ms // 1000)
    bench.searches.lasts_s = lambda: 600.0
    bench.clock.advance(HOUR_MS)
    assert await bench.room.tick() == expires_ms  # for the run: nothing else is due any more
    bench.clock.advance(29_999)
    assert await bench.room.tick() == expires_ms
    assert await bench.statuses() == ["running"]
    bench.clock.advance(1)
    assert await bench.room.tick() is None
    assert await bench.statuses() == ["interrupted"]
    assert (await bench.runs())[0].ended_ms == expires_ms


async def test_a_schedule_that_is_due_within_the_minute_is_run_on_time(bench: Bench) -> None:
    await bench.add(every_s=61)
    bench.room.start()
    await bench.clock.run(60_999)
    assert bench.searches.began == []
    await bench.clock.run(1)
    assert [(run.due_ms, run.started_ms) for run in await bench.runs()] == [(START_MS + 61_000, START_MS + 61_000)]


async def test_a_schedule_that_is_added_meanwhile_is_not_waited_for_a_minute(bench: Bench) -> None:
    bench.room.start()
    await bench.clock.run(1_000)
    await bench.add(every_s=10)
    await bench.clock.run(10_000)
    assert len(bench.searches.began) == 1


async def test_a_store_that_cannot_be_read_is_asked_again_after_a_minute(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    await bench.add(every_s=30)
    store_of(bench).fails = lambda: True
    bench.room.start()
    await bench.clock.run(59_999)
    assert bench.searches.began == []
    store_of(bench).fails = lambda: False
    await bench.clock.run(1)
    assert len(bench.searches.began) == 1
    assert "schedules cannot be read: store.full" in caplog.text


async def test_one_schedule_that_cannot_continue_does_not_hold_up_the_others(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    await bench.add()
    broken = schedule(id=UNKNOWN, timezone="Mars/Base", created_ms=START_MS - 1)
    await bench.store.keep_schedule(broken, was=0)
    assert await bench.room.tick() == START_MS + HOUR_MS
    assert f"schedule {UNKNOWN} cannot continue: input.invalid" in caplog.text


# --- what is written down --------------------------------------------------------------------------------------------


async def test_what_did_not_run_has_an_end_and_a_reason_and_no_search(bench: Bench) -> None:
    await bench.add(misfire=Misfire.SKIP)
    bench.clock.advance(2 * HOUR_MS + 61_000)
    await bench.room.tick()
    now_ms = START_MS + 2 * HOUR_MS + 61_000
    runs = await bench.runs()
    assert [run.due_ms for run in runs] == [START_MS + HOUR_MS, START_MS + 2 * HOUR_MS]
    for run in runs:
        assert (run.status, run.reason, run.search) == (RunStatus.MISSED, "schedule.late", "")
        assert (run.started_ms, run.ended_ms, run.manual, run.version) == (0, now_ms, False, 1)
    record = await bench.room.get(SCHEDULE)
    assert (record.decided_ms, record.version) == (START_MS + 2 * HOUR_MS, 2)


async def test_so_many_due_times_are_decided_at_once_and_none_is_forgotten(bench: Bench) -> None:
    most = limits.SCHEDULE_DUE_AT_ONCE_MAX
    for count, transactions in ((most, 1), (most + 1, 2)):
        fresh = Bench(Failing())
        await fresh.add(every_s=60)
        asked = store_of(fresh).asked
        fresh.clock.advance(count * 60_000)
        await fresh.room.tick()
        assert store_of(fresh).asked - asked == transactions
        assert await fresh.statuses() == ["coalesced"] * (count - 1) + ["running"]
        await fresh.room.close()


async def test_a_run_that_ended_before_it_began_by_the_clock_ends_when_it_began(bench: Bench) -> None:
    await bench.add()
    waits = by_hand(bench)
    await bench.clock.run(1_000)
    bench.clock.ahead_ms = -HOUR_MS
    await bench.clock.run(10_000)
    run = await waits
    assert run.started_ms == run.ended_ms == START_MS
    assert (run.version, run.status, run.reason) == (2, RunStatus.DONE, "")


@pytest.mark.parametrize(("past_ms", "due_ms"), [(0, 1), (1, 1), (999, 999), (1_000, 1_001), (1_500, 1_500)])
async def test_a_run_by_hand_is_due_between_two_seconds(bench: Bench, past_ms: int, due_ms: int) -> None:
    await bench.add()
    bench.clock.advance(past_ms)
    waits = by_hand(bench)
    await bench.clock.run(10_000)
    run = await waits
    assert (run.due_ms, run.started_ms, run.manual) == (START_MS + due_ms, START_MS + past_ms, True)


async def test_a_search_that_breaks_in_an_unforeseen_way_fails_its_run(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    await bench.add()

    async def broken(*given: Any) -> ScheduledSearchResult:
        raise ZeroDivisionError

    bench.searches.search = broken  # type: ignore[method-assign,assignment]
    run = await by_hand(bench)
    assert (run.status, run.reason) == (RunStatus.FAILED, "internal.fault")
    assert f"defect in a run of {SCHEDULE}" in caplog.text
    assert (await bench.room.get(SCHEDULE)).failures == 1
    assert await kinds(bench) == [FeedKind.SCHEDULE_ADDED, FeedKind.RUN_STARTED, FeedKind.RUN_FAILED]


# --- others that are faster, and a store that fails ------------------------------------------------------------------


async def test_a_change_is_tried_eight_times(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    store = store_of(bench)
    await bench.add()
    bench.clock.advance(HOUR_MS)
    store.refusals, store.asked = 7, 0
    await bench.room.tick()
    assert (store.asked, await bench.statuses()) == (8, ["running"])
    bench.clock.advance(HOUR_MS)
    store.refusals, store.asked = 8, 0
    assert await bench.room.tick() is None
    assert (store.asked, len(await bench.runs())) == (8, 1)
    assert "the due times of a schedule could not be stored" in caplog.text
    store.refusals, store.asked = 8, 0
    bench.clock.ahead_ms = -HOUR_MS  # so that nothing is due
    assert await code_of(bench.room.pause(SCHEDULE)) == "internal.fault"
    assert store.asked == 8
    store.refusals = 7
    assert (await bench.room.pause(SCHEDULE)).paused


async def test_a_run_by_hand_that_another_change_precedes_is_refused(bench: Bench) -> None:
    await bench.add()
    store_of(bench).refusals = 1
    assert await code_of(by_hand(bench)) == "schedule.running"
    assert (await bench.runs(), bench.searches.began) == ([], [])


async def test_a_run_whose_record_was_changed_meanwhile_is_told_to_nobody(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    await bench.add()
    store_of(bench).keeps_runs = False
    waits = by_hand(bench)
    await bench.clock.run(10_000)
    assert (await waits).status is RunStatus.DONE
    assert await kinds(bench) == [FeedKind.SCHEDULE_ADDED, FeedKind.RUN_STARTED]
    assert f"the record of a run of {SCHEDULE} was changed or removed in the meantime" in caplog.text


async def test_a_run_whose_end_cannot_be_stored_is_over_all_the_same(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    await bench.add(notify_on="ended", notify_webhook="https://hooks.example/x")
    store_of(bench).fails = lambda: True
    waits = by_hand(bench)
    await bench.clock.run(10_000)
    assert (await waits).status is RunStatus.RUNNING
    assert bench.notifier.posted == []
    assert f"the end of a run of {SCHEDULE} could not be stored: store.full" in caplog.text
    store_of(bench).fails = lambda: False
    waits = by_hand(bench)
    await bench.clock.run(10_000)
    assert (await waits).status is RunStatus.DONE


# --- failures --------------------------------------------------------------------------------------------------------


async def test_failures_are_counted_until_one_run_succeeds(bench: Bench) -> None:
    async def run(reason: str) -> tuple[int, bool, str]:
        bench.searches.reason = lambda: reason
        waits = by_hand(bench)
        await bench.clock.run(10_000)
        await waits
        record = await bench.room.get(SCHEDULE)
        return record.failures, record.paused, record.reason

    await bench.add()
    most = limits.SCHEDULE_FAILURES_MAX
    for count in range(1, most):
        assert await run("browser.missing") == (count, False, "")
    assert await run("internal.cancelled") == (most - 1, False, "")
    assert await run("search.not_found_goal") == (0, False, "")
    for count in range(1, most):
        assert await run("browser.missing") == (count, False, "")
    assert await run("browser.missing") == (most, True, "schedule.failing")
    told = [(change.kind, change.who) for change in (await bench.store.feed(after=0, limit=1_000)).changes]
    assert told[-1] == (FeedKind.SCHEDULE_PAUSED, "node")
    assert await run("browser.missing") == (most + 1, True, "schedule.failing")
    assert (await kinds(bench)).count(FeedKind.SCHEDULE_PAUSED) == 1
    assert (await bench.room.pause(SCHEDULE)).reason == "schedule.failing"
    assert await run("") == (0, True, "schedule.failing")


async def test_a_schedule_that_its_owner_paused_is_not_paused_again_by_its_failures(bench: Bench) -> None:
    await bench.add()
    await bench.room.pause(SCHEDULE)
    bench.searches.reason = lambda: "browser.missing"
    for _ in range(limits.SCHEDULE_FAILURES_MAX):
        waits = by_hand(bench)
        await bench.clock.run(10_000)
        await waits
    record = await bench.room.get(SCHEDULE)
    assert (record.failures, record.paused, record.reason) == (limits.SCHEDULE_FAILURES_MAX, True, "")
    assert (await kinds(bench)).count(FeedKind.SCHEDULE_PAUSED) == 1


# --- verbs -----------------------------------------------------------------------------------------------------------


async def test_a_schedule_that_is_not_there_is_refused_by_every_verb(bench: Bench) -> None:
    room = bench.room
    for call in (room.get, room.pause, room.resume, room.remove, lambda name: by_hand(bench, name)):
        with pytest.raises(MeshError) as refused:
            await call(UNKNOWN)
        assert (refused.value.code, refused.value.detail) == ("input.not_found", {"id": UNKNOWN})
        assert await code_of(call("sch-1")) == "id.invalid"
    assert await kinds(bench) == []


async def test_what_is_paused_or_resumed_already_stays_as_it_is(bench: Bench) -> None:
    added = await bench.add()
    kept = await bench.room.get(SCHEDULE)
    bench.clock.advance(1_000)
    resumed = await bench.room.resume(SCHEDULE)
    assert (resumed.paused, resumed.decided_ms, added.id) == (False, kept.decided_ms, SCHEDULE)
    await bench.room.pause(SCHEDULE)
    bench.clock.advance(HOUR_MS)
    again = await bench.room.pause(SCHEDULE)
    assert (again.paused, again.decided_ms, await bench.runs()) == (True, START_MS, [])
    assert (await bench.room.resume(SCHEDULE)).decided_ms == START_MS + HOUR_MS + 1_000
    assert await kinds(bench) == [FeedKind.SCHEDULE_ADDED, FeedKind.SCHEDULE_PAUSED, FeedKind.SCHEDULE_RESUMED]


async def test_the_next_due_times_are_as_many_as_are_asked_for(bench: Bench) -> None:
    await bench.add(expires_s=START_MS // 1000 + 2 * 3_600)
    record = await bench.room.get(SCHEDULE)
    hours = [START_MS + HOUR_MS, START_MS + 2 * HOUR_MS]
    assert [bench.room.next_due(record, count) for count in (0, 1, 2, 5)] == [[], hours[:1], hours, hours]
    assert bench.room.next_due(await bench.room.pause(SCHEDULE), 5) == []


async def test_so_many_schedules_and_no_more(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SCHEDULES_MAX", 2)
    for number in range(2):
        assert (await bench.add(id=f"sch-{number}")).id == f"sch-{number}"
    assert await code_of(bench.add()) == "input.too_large"
    assert [record.id for record in await bench.room.all()] == ["sch-0", "sch-1"]
    await bench.store.remove_schedule("sch-0")
    await bench.add()
    assert await code_of(bench.add(id=UNKNOWN, expires_s=START_MS // 1000 + 3_599)) == "input.invalid"


async def test_who_waits_for_a_run_is_told_that_the_node_stopped(bench: Bench) -> None:
    await bench.add()
    waits = by_hand(bench)
    await bench.clock.run(1_000)
    await bench.room.close()
    run = await waits
    assert await bench.room.runs(SCHEDULE, 5) == [run]
    assert (run.status, run.reason, run.ended_ms) == (RunStatus.INTERRUPTED, "node.stopped", START_MS + 1_000)


async def test_a_schedule_can_be_run_by_hand_until_it_expires_and_says_what_its_search_tells(bench: Bench) -> None:
    told: list[dict[str, Any]] = []

    async def telling(record: ScheduleRecord, search: str, tell: Any) -> ScheduledSearchResult:
        tell({"visited": 1})
        return ScheduledSearchResult()

    bench.searches.search = telling  # type: ignore[method-assign,assignment]
    await bench.add(every_s=60, expires_s=START_MS // 1000 + 90)
    bench.clock.advance(89_999)
    assert (await bench.room.run_now(SCHEDULE, told.append)).status is RunStatus.DONE
    assert told == [{"visited": 1}]
    assert not (await bench.room.resume(SCHEDULE)).paused
    bench.clock.advance(1)
    for call in (by_hand(bench), bench.room.resume(SCHEDULE)):
        assert await code_of(call) == "schedule.expired"
