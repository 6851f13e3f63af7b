"""The room of schedules: what runs, what does not, and what is written down of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from adapters.schedule_records import RunRecord
from protocol import limits
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.schedule import Misfire, RunStatus
from tests.schedules import HOUR_MS, SCHEDULE, Bench
from tests.twins.clock import START_MS
from tests.twins.storage import MemoryStore


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench(MemoryStore())
    yield made
    await made.room.close()


async def next_life(bench: Bench) -> Bench:
    """The node after a crash: the store and the clock are what they were."""
    made = Bench(bench.store, bench.clock)
    await made.room.load()
    made.room.start()
    return made


def asked(bench: Bench) -> asyncio.Task[RunRecord]:
    """A person who runs it now."""
    return asyncio.create_task(bench.room.run_now(SCHEDULE, lambda event: None))


async def test_what_is_due_runs_once_and_is_written_down_with_what_it_came_to(bench: Bench) -> None:
    await bench.add()
    bench.room.start()
    await bench.clock.run(2 * HOUR_MS + 60_000)
    assert [run.due_ms for run in await bench.runs()] == [START_MS + HOUR_MS, START_MS + 2 * HOUR_MS]
    assert await bench.statuses() == ["done", "done"]
    first = (await bench.runs())[0]
    assert first.search == bench.searches.began[0]
    assert (first.session, first.reason, first.manual) == ("ses-1", "", False)
    assert (first.started_ms, first.ended_ms) == (START_MS + HOUR_MS, START_MS + HOUR_MS + 5_000)


async def test_a_record_is_kept_before_its_search_begins(bench: Bench) -> None:
    await bench.add()
    bench.searches.lasts_s = lambda: 1e9
    bench.room.start()
    await bench.clock.run(HOUR_MS)
    (run,) = await bench.runs()
    assert run.status is RunStatus.RUNNING
    assert run.search == bench.searches.began[0]


async def test_a_run_does_not_overlap_the_one_before_it(bench: Bench) -> None:
    """Guard: protocol/schedule.py, decide."""
    await bench.add()
    bench.searches.lasts_s = lambda: 2.5 * 3_600
    bench.room.start()
    await bench.clock.run(4 * HOUR_MS + 1_000)
    assert await bench.statuses() == ["done", "skipped", "skipped", "running"]
    assert [run.reason for run in await bench.runs()] == ["", "schedule.running", "schedule.running", ""]
    assert bench.searches.most == 1


async def test_a_run_for_which_nobody_was_free_is_skipped_and_told_as_that(bench: Bench) -> None:
    await bench.add()
    bench.searches.reason = lambda: "schedule.busy"
    bench.room.start()
    await bench.clock.run(HOUR_MS + 60_000)
    (run,) = await bench.runs()
    assert (run.status, run.reason) == (RunStatus.SKIPPED, "schedule.busy")
    kinds = [change.kind.value for change in (await bench.store.feed()).changes]
    assert kinds[-2:] == ["run.started", "run.skipped"]


@pytest.mark.parametrize(
    ("misfire", "expected"),
    [(Misfire.RUN_ONCE, ["coalesced", "coalesced", "done"]), (Misfire.SKIP, ["missed", "missed", "missed"])],
)
async def test_the_policy_decides_due_times_that_passed_while_the_node_was_down(
    bench: Bench, misfire: Misfire, expected: list[str]
) -> None:
    await bench.add(misfire=misfire)
    bench.clock.advance(3 * HOUR_MS + HOUR_MS // 2)
    bench.room.start()
    await bench.clock.run(60_000)
    assert await bench.statuses() == expected


async def test_a_crash_leaves_an_interrupted_run_whose_search_is_stopped_and_which_is_not_run_again(
    bench: Bench,
) -> None:
    """Guard: node/schedules/schedules.py, Schedules.load."""
    await bench.add()
    bench.searches.lasts_s = lambda: 600.0
    bench.room.start()
    await bench.clock.run(HOUR_MS)
    after = await next_life(bench)  # the first life never learns that it ended
    assert after.searches.stopped == bench.searches.began
    await after.clock.run(10_000)
    assert await after.statuses() == ["interrupted"]
    assert (await after.runs())[0].reason == "node.stopped"
    assert after.searches.began == []
    await after.room.close()


async def test_a_node_that_ends_interrupts_what_runs(bench: Bench) -> None:
    await bench.add()
    bench.searches.lasts_s = lambda: 600.0
    bench.room.start()
    await bench.clock.run(HOUR_MS)
    await bench.room.close()
    assert await bench.statuses() == ["interrupted"]
    assert bench.searches.stopped == bench.searches.began
    assert bench.notifier.posted == []


async def test_a_clock_that_jumps_back_repeats_nothing(bench: Bench) -> None:
    await bench.add()
    bench.room.start()
    await bench.clock.run(2 * HOUR_MS + 60_000)
    bench.clock.ahead_ms = -2 * HOUR_MS
    await bench.clock.run(2 * HOUR_MS - 120_000)
    assert await bench.statuses() == ["done", "done"]
    await bench.clock.run(HOUR_MS + 120_000)
    assert [run.due_ms - START_MS for run in await bench.runs()] == [HOUR_MS, 2 * HOUR_MS, 3 * HOUR_MS]


async def test_a_clock_that_jumps_ahead_passes_due_times_and_is_noticed_within_a_minute(bench: Bench) -> None:
    await bench.add(misfire=Misfire.SKIP)
    bench.room.start()
    await bench.clock.run(1_000)
    bench.clock.ahead_ms = 3 * HOUR_MS + HOUR_MS // 2
    await bench.clock.run(limits.SCHEDULE_SLEEP_S_MAX * 1000)
    assert await bench.statuses() == ["missed"] * 3
    await bench.clock.run(HOUR_MS // 2)
    assert await bench.statuses() == ["missed"] * 3 + ["done"]


async def test_more_due_times_than_fit_one_transaction_are_all_decided(bench: Bench) -> None:
    await bench.add(every_s=60)
    count = 2 * limits.SCHEDULE_DUE_AT_ONCE_MAX + 17
    bench.clock.advance(count * 60_000 + 1)
    await bench.room.tick()
    assert await bench.statuses() == ["coalesced"] * (count - 1) + ["running"]


async def test_jitter_delays_a_run_and_not_its_due_time(bench: Bench) -> None:
    await bench.add(jitter_s=600)
    bench.room.start()
    await bench.clock.run(12 * HOUR_MS)
    found = await bench.runs()
    delays = [run.started_ms - run.due_ms for run in found]
    assert [run.due_ms for run in found] == [START_MS + n * HOUR_MS for n in range(1, len(found) + 1)]
    assert all(0 <= delay <= 600_000 for delay in delays)
    assert len(set(delays)) > 5


async def test_a_schedule_that_expires_ends_what_runs_and_is_due_no_more(bench: Bench) -> None:
    await bench.add(expires_s=START_MS // 1000 + 2 * 3_600 + 30)
    bench.searches.lasts_s = lambda: 600.0
    bench.room.start()
    await bench.clock.run(5 * HOUR_MS)
    assert await bench.statuses() == ["done", "interrupted"]
    last = (await bench.runs())[-1]
    assert last.reason == "schedule.expired"
    assert last.ended_ms == START_MS + 2 * HOUR_MS + 30_000
    with pytest.raises(MeshError, match=r"schedule\.expired"):
        await bench.room.run_now(SCHEDULE, lambda event: None)
    with pytest.raises(MeshError, match=r"schedule\.expired"):
        await bench.room.resume(SCHEDULE)


async def test_a_pause_ends_what_runs_and_nothing_is_due_until_it_is_resumed(bench: Bench) -> None:
    await bench.add()
    bench.searches.lasts_s = lambda: 600.0
    bench.room.start()
    await bench.clock.run(HOUR_MS)
    assert (await bench.room.pause(SCHEDULE)).paused
    assert await bench.statuses() == ["interrupted"]
    assert (await bench.runs())[0].reason == "schedule.withdrawn"
    assert bench.searches.open == set()
    await bench.clock.run(3 * HOUR_MS + 1_000)
    assert not (await bench.room.resume(SCHEDULE)).paused
    await bench.clock.run(HOUR_MS - 1_000)
    assert [run.due_ms - START_MS for run in await bench.runs()] == [HOUR_MS, 5 * HOUR_MS]


async def test_a_schedule_that_is_resumed_with_the_clock_set_back_repeats_nothing(bench: Bench) -> None:
    """Guard: node/schedules/schedules.py, Schedules.resume."""
    await bench.add()
    bench.room.start()
    await bench.clock.run(2 * HOUR_MS + 60_000)
    await bench.room.pause(SCHEDULE)
    bench.clock.ahead_ms = -2 * HOUR_MS
    assert (await bench.room.resume(SCHEDULE)).decided_ms == START_MS + 2 * HOUR_MS
    await bench.clock.run(3 * HOUR_MS)
    assert [run.due_ms - START_MS for run in await bench.runs()] == [HOUR_MS, 2 * HOUR_MS, 3 * HOUR_MS]


async def test_what_passed_before_a_pause_is_missed(bench: Bench) -> None:
    await bench.add()
    bench.clock.advance(2 * HOUR_MS + 1)
    await bench.room.pause(SCHEDULE)
    assert await bench.statuses() == ["missed", "missed"]
    assert bench.searches.began == []


async def test_a_schedule_that_is_removed_ends_what_runs_and_leaves_nothing(bench: Bench) -> None:
    await bench.add()
    bench.searches.lasts_s = lambda: 600.0
    bench.room.start()
    await bench.clock.run(HOUR_MS)
    await bench.room.remove(SCHEDULE)
    assert bench.searches.stopped == bench.searches.began
    assert await bench.store.schedules() == []
    assert await bench.runs() == []
    with pytest.raises(MeshError, match=r"input\.not_found"):
        await bench.room.get(SCHEDULE)


async def test_a_run_by_hand_takes_no_due_time_and_does_not_overlap(bench: Bench) -> None:
    await bench.add()
    bench.room.start()
    await bench.clock.run(HOUR_MS // 2)
    waits = asked(bench)
    await bench.clock.run(1_000)
    with pytest.raises(MeshError, match=r"schedule\.running"):
        await bench.room.run_now(SCHEDULE, lambda event: None)
    await bench.clock.run(HOUR_MS)
    assert (await waits).status is RunStatus.DONE
    assert [(run.manual, run.due_ms % 1000) for run in await bench.runs()] == [(True, 1), (False, 0)]


async def test_who_interrupts_a_run_by_hand_ends_it(bench: Bench) -> None:
    await bench.add()
    bench.searches.lasts_s = lambda: 600.0
    waits = asked(bench)
    await bench.clock.run(1_000)
    waits.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waits
    (run,) = await bench.runs()
    assert (run.status, run.reason) == (RunStatus.INTERRUPTED, "internal.cancelled")
    assert bench.searches.stopped == [run.search]


async def test_a_run_whose_search_somebody_stops_is_interrupted_and_no_failure_of_the_schedule(bench: Bench) -> None:
    """Guard: node/schedules/runs.py, Runs._perform."""
    await bench.add()
    bench.searches.reason = lambda: "internal.cancelled"
    bench.room.start()
    await bench.clock.run((limits.SCHEDULE_FAILURES_MAX + 1) * HOUR_MS + 60_000)
    assert len(await bench.runs()) == limits.SCHEDULE_FAILURES_MAX + 1
    assert {(run.status, run.reason) for run in await bench.runs()} == {(RunStatus.INTERRUPTED, "internal.cancelled")}
    record = await bench.room.get(SCHEDULE)
    assert (record.paused, record.failures) == (False, 0)


async def test_runs_that_break_pause_the_schedule_and_goals_that_are_not_reached_do_not(bench: Bench) -> None:
    await bench.add()
    bench.searches.reason = lambda: "search.not_found_goal"
    bench.room.start()
    await bench.clock.run(8 * HOUR_MS + 60_000)
    assert await bench.statuses() == ["failed"] * 8
    bench.searches.reason = lambda: "browser.missing"
    await bench.clock.run(8 * HOUR_MS)
    assert await bench.statuses() == ["failed"] * (8 + limits.SCHEDULE_FAILURES_MAX)
    record = await bench.room.get(SCHEDULE)
    assert (record.paused, record.reason) == (True, "schedule.failing")
    resumed = await bench.room.resume(SCHEDULE)
    assert (resumed.paused, resumed.reason, resumed.failures) == (False, "", 0)


async def test_failed_runs_are_told_by_ids_and_codes_only(bench: Bench) -> None:
    await bench.add(notify_webhook="https://hooks.example/secret", notify_command=("/bin/told", "--now"))
    bench.room.start()
    await bench.clock.run(HOUR_MS + 60_000)
    assert bench.notifier.posted == []
    bench.searches.reason = lambda: "search.exhausted"
    await bench.clock.run(HOUR_MS)
    run = (await bench.runs())[-1]
    told = {
        "schedule": SCHEDULE,
        "due_ms": run.due_ms,
        "status": "failed",
        "code": "search.exhausted",
        "search": run.search,
        "session": "",
        "paused": False,
    }
    assert bench.notifier.posted == [("https://hooks.example/secret", told)]
    assert bench.notifier.ran == [(("/bin/told", "--now"), told)]


async def test_all_that_ended_is_told_if_asked_and_nobody_who_listens_holds_nothing_up(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    await bench.add(notify_on="ended", notify_webhook="https://hooks.example/secret")
    bench.room.start()
    await bench.clock.run(HOUR_MS + 60_000)
    assert [told["status"] for _, told in bench.notifier.posted] == ["done"]
    bench.notifier.deaf = True
    await bench.clock.run(2 * HOUR_MS)
    assert await bench.statuses() == ["done"] * 3
    assert "schedule.notify" in caplog.text or "nobody listens" in caplog.text
    assert "secret" not in caplog.text


async def test_a_schedule_that_is_never_due_and_one_too_many_are_refused(bench: Bench) -> None:
    with pytest.raises(MeshError, match=r"input\.invalid"):
        await bench.add(cron="0 0 30 2 *", every_s=0)
    for number in range(limits.SCHEDULES_MAX):
        await bench.add(id=f"sch-{number}")
    with pytest.raises(MeshError, match=r"input\.too_large"):
        await bench.add()


# --- what the feed tells ---------------------------------------------------------------------------------------------


async def told(bench: Bench) -> list[tuple[FeedKind, tuple[str, ...]]]:
    return [(change.kind, change.ids) for change in (await bench.store.feed(after=0, limit=1_000)).changes]


async def tellers(bench: Bench) -> list[str]:
    """Who did what the feed tells."""
    return [change.who for change in (await bench.store.feed(after=0, limit=1_000)).changes]


async def test_the_feed_tells_of_a_schedule_and_of_the_beginning_and_end_of_each_run(bench: Bench) -> None:
    await bench.add()
    bench.room.start()
    await bench.clock.run(HOUR_MS + 60_000)
    bench.searches.reason = lambda: "search.not_found_goal"
    await bench.clock.run(HOUR_MS)
    bench.searches.lasts_s = lambda: 1.5 * HOUR_MS / 1000
    await bench.clock.run(2 * HOUR_MS)
    await bench.room.pause(SCHEDULE)
    await bench.room.pause(SCHEDULE)
    await bench.room.resume(SCHEDULE)
    await bench.room.remove(SCHEDULE)
    done, failed, stopped = [(SCHEDULE, search) for search in bench.searches.began]
    assert await told(bench) == [
        (FeedKind.SCHEDULE_ADDED, (SCHEDULE,)),
        (FeedKind.RUN_STARTED, done),
        (FeedKind.RUN_DONE, done),
        (FeedKind.RUN_STARTED, failed),
        (FeedKind.RUN_FAILED, failed),
        (FeedKind.RUN_STARTED, stopped),
        (FeedKind.RUN_SKIPPED, (SCHEDULE,)),
        (FeedKind.RUN_INTERRUPTED, stopped),
        (FeedKind.SCHEDULE_PAUSED, (SCHEDULE,)),
        (FeedKind.SCHEDULE_RESUMED, (SCHEDULE,)),
        (FeedKind.SCHEDULE_REMOVED, (SCHEDULE,)),
    ]
    runs = [f"schedule:{SCHEDULE}"] * 7
    assert await tellers(bench) == ["owner", *runs, "owner", "owner", "owner"], "a run is the deed of its schedule"


@pytest.mark.parametrize(
    ("misfire", "expected"),
    [
        (Misfire.RUN_ONCE, [FeedKind.RUN_COALESCED, FeedKind.RUN_STARTED, FeedKind.RUN_DONE]),
        (Misfire.SKIP, [FeedKind.RUN_MISSED]),
    ],
)
async def test_many_due_times_that_passed_are_told_once(
    bench: Bench, misfire: Misfire, expected: list[FeedKind]
) -> None:
    await bench.add(misfire=misfire)
    bench.clock.advance(50 * HOUR_MS + HOUR_MS // 2)
    bench.room.start()
    await bench.clock.run(60_000)
    assert len(await bench.runs()) == 50
    assert [kind for kind, _ in await told(bench)] == [FeedKind.SCHEDULE_ADDED, *expected]
    assert await tellers(bench) == ["owner", *[f"schedule:{SCHEDULE}"] * len(expected)]


async def test_the_feed_tells_of_what_a_crash_interrupted(bench: Bench) -> None:
    await bench.add()
    bench.searches.lasts_s = lambda: 600.0
    bench.room.start()
    await bench.clock.run(HOUR_MS)
    after = await next_life(bench)
    assert (await told(after))[-1] == (FeedKind.RUN_INTERRUPTED, (SCHEDULE, bench.searches.began[0]))
    await after.room.close()


async def test_the_feed_tells_once_that_the_node_paused_a_schedule_whose_runs_fail(bench: Bench) -> None:
    await bench.add()
    bench.searches.reason = lambda: "browser.missing"
    bench.room.start()
    await bench.clock.run((limits.SCHEDULE_FAILURES_MAX + 2) * HOUR_MS)
    kinds = [kind for kind, _ in await told(bench)]
    assert kinds.count(FeedKind.RUN_FAILED) == limits.SCHEDULE_FAILURES_MAX
    assert kinds[-2:] == [FeedKind.RUN_FAILED, FeedKind.SCHEDULE_PAUSED]
