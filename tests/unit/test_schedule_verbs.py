"""The verbs of schedules: what may be scheduled, what is refused of it, and what is shown."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapters.schedule_records import RunSpend
from node.live.browsers import CapsuleNames
from node.live.browsers.mounting import NoCapsules
from node.schedules import ScheduledSearchResult
from node.schedules.triggers import Trigger
from node.schedules.verbs import ScheduleVerbs
from node.verbs.capsules.capsule import CapsuleParams
from node.verbs.searches.schedule import DueRun, NodeWork, Scheduled, ScheduleList
from protocol import limits
from protocol.errors import MeshError
from protocol.goal.condition import Condition
from protocol.schedule import Misfire
from tests.capsule_nodes import two
from tests.mesh_memory import MemoryMesh
from tests.schedules import HOUR_MS, Bench, schedule
from tests.tables import each
from tests.twins.clock import START_MS
from tests.twins.storage import MemoryStore

START_S = START_MS // 1000
GIVEN: dict[str, Any] = {
    "goal": "find it",
    "start": "https://shop.example/",
    "until": {"title": "Found"},
    "every_s": 3_600,
}


class Desk:
    """The verbs over one node's schedules."""

    def __init__(self, capsules: CapsuleNames | None = None) -> None:
        self.bench = Bench(MemoryStore())
        self._run = {
            verb.name: (verb, run)
            for verb, run in ScheduleVerbs(self.bench.room, self.bench.clock, capsules or NoCapsules()).bound.items()
        }

    async def call(self, name: str, /, **params: Any) -> Any:
        """The result of ``schedule.<name>``."""
        verb, run = self._run[f"schedule.{name}"]
        return await run(msgspec.convert(params, verb.takes), lambda event: None)

    async def add(self, **changes: Any) -> Scheduled:
        made: Scheduled = await self.call("add", **{**GIVEN, **changes})
        return made

    async def refused(self, **changes: Any) -> str:
        """The words with which it is not added."""
        with pytest.raises(MeshError) as caught:
            await self.add(**changes)
        assert caught.value.code == "input.invalid"
        assert await self.bench.room.all() == []
        return caught.value.message


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    made = Desk()
    yield made
    await made.bench.room.close()


# --- adding ----------------------------------------------------------------------------------------------------------


async def test_a_schedule_is_shown_as_it_was_given(desk: Desk) -> None:
    added = await desk.add(
        seconds=90,
        seed=5,
        jitter_s=60,
        expires_s=START_S + 90_000,
        misfire="skip",
        origins=["https://Shop.example:443", "https://shop.example", "https://*.example"],
        notify_on="ended",
        notify_webhook="https://hooks.example:8443/secret?x=1",
        notify_command=["/bin/told", "--now", "secret"],
    )
    assert added == Scheduled(
        schedule=added.schedule,
        state="active",
        reason="",
        failures=0,
        goal="find it",
        start_url="https://shop.example/",
        peers=None,
        seconds=90,
        cron="",
        every_s=3_600,
        timezone="UTC",
        jitter_s=60,
        expires_s=START_S + 90_000,
        misfire="skip",
        scopes=["explore"],
        origins=["https://shop.example", "https://*.example"],
        notify_on="ended",
        notify_webhook="https://hooks.example:8443",
        notify_command="/bin/told",
        created_ms=START_MS,
        next_due_ms=[START_MS + HOUR_MS],
        runs=[],
    )
    (record,) = await desk.bench.room.all()
    assert (record.version, record.decided_ms, record.seed) == (1, START_MS, 5)
    assert (record.until, record.misfire) == (Condition(title="Found"), Misfire.SKIP)
    assert record.notify_webhook == "https://hooks.example:8443/secret?x=1"
    assert record.notify_command == ("/bin/told", "--now", "secret")
    assert await desk.call("list") == ScheduleList(schedules=[added])


async def test_a_schedule_keeps_the_capsule_that_had_the_name_and_no_other_that_gets_it(tmp_path: Path) -> None:
    """Guard: node/schedules/verbs.py, ScheduleVerbs._add."""
    mesh = MemoryMesh()
    alice, _ = await two(mesh, tmp_path)
    desk = Desk(alice.capsules.kept)
    try:
        kept = await alice.capture()
        added = await desk.add(capsule="shop")
        assert (added.capsule, added.capsule_name) == (kept.id, "shop")
        await alice.capsules.remove(CapsuleParams(capsule="shop"))
        await alice.capture()
        later = await desk.call("show", schedule=added.schedule)
        assert (later.capsule, later.capsule_name) == (kept.id, "")
        with pytest.raises(MeshError) as caught:
            await desk.add(capsule="nothing")
        assert caught.value.code == "input.not_found"
    finally:
        await desk.bench.room.close()
        for node in mesh.nodes:
            await node.stop()


@pytest.mark.parametrize(
    ("given", "peers"),
    [
        ({}, None),
        ({"peers": ["bruno"]}, ["bruno"]),
        ({"peers": []}, []),
        ({"alone": True}, []),
        ({"alone": True, "peers": ["bruno"]}, []),
        ({"alone": True, "peers": ["bruno"], "origins": ["https://shop.example"]}, []),
        ({"peers": [], "origins": ["https://shop.example"]}, []),
    ],
)
async def test_with_whom_it_searches(desk: Desk, given: dict[str, Any], peers: list[str] | None) -> None:
    assert (await desk.add(**given)).peers == peers


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"expires_s": START_S}, "--expires is in the past"),
        ({"expires_s": 1}, "--expires is in the past"),
        ({"expires_s": START_S + 3_599}, "never due"),
        ({"every_s": limits.SCHEDULE_EVERY_S_MIN - 1}, "the shortest interval is 10 s"),
        ({"every_s": 1}, "the shortest interval"),
        ({"every_s": 0}, "either a cron expression or an interval"),
        ({"cron": "0 6 * * *"}, "either a cron expression or an interval"),
        ({"goal": "a\nb"}, "one line"),
        ({"start": "https://shop.example/?token=abc"}, "looks like a secret"),
        ({"origins": ["https://other.example"]}, "outside --origin"),
        ({"origins": ["https://shop.example"], "peers": ["bruno"]}, "peers cannot enforce --origin"),
        ({"notify_webhook": "http://hooks.example/"}, "a webhook must be an https address"),
        ({"notify_webhook": "https://a@hooks.example/"}, "without a user name"),
        ({"notify_webhook": "https://hooks.example/a\tb"}, "a webhook must be"),
        ({"notify_webhook": "hooks"}, "a webhook must be"),
        ({"notify_webhook": "http://10.0.0.1/"}, "a webhook is an https address"),
        ({"notify_webhook": "https://169.254.169.254/"}, "metadata services"),
        ({"notify_command": ["told"]}, "absolute path"),
        ({"notify_command": [""]}, "absolute path"),
        ({"notify_command": ["/bin/told", "a\0b"]}, "null character"),
        ({"notify_command": ["/bin/to\0ld"]}, "null character"),
    ],
)
async def test_what_cannot_be_scheduled_is_refused_and_nothing_is_kept(
    desk: Desk, given: dict[str, Any], words: str
) -> None:
    assert words in await desk.refused(**given)


@pytest.mark.parametrize("start", ["ftp://shop.example/", "javascript:alert(1)", "", "https://a@shop.example/"])
async def test_a_start_that_no_search_would_open_is_refused_with_the_code_of_a_search(desk: Desk, start: str) -> None:
    with pytest.raises(MeshError) as caught:
        await desk.add(start=start)
    assert caught.value.code == "browser.scheme"
    assert await desk.bench.room.all() == []


@pytest.mark.parametrize(
    "given",
    [
        {"expires_s": START_S + 3_600},
        {"every_s": limits.SCHEDULE_EVERY_S_MIN},
        {"every_s": 0, "cron": "0 6 * * *"},
        {"notify_webhook": "http://localhost/x"},
        {"notify_webhook": "http://127.0.0.1:8080/x"},
        {"notify_webhook": "http://[::1]/x"},
        {"notify_webhook": "https://10.0.0.1/x"},
        {"notify_webhook": "https://hooks.example/a@b"},
        {"origins": ["https://*.shop.example", "https://shop.example"]},
    ],
    ids=str,
)
async def test_what_can_be_scheduled_is(desk: Desk, given: dict[str, Any]) -> None:
    added = await desk.add(**given)
    assert added.state == "active"
    assert [each.schedule for each in (await desk.call("list")).schedules] == [added.schedule]


# --- showing ---------------------------------------------------------------------------------------------------------


async def test_the_state_of_a_schedule_and_as_many_times_and_runs_as_are_asked_for(desk: Desk) -> None:
    bench = desk.bench
    spend = (RunSpend(node="N", name="anna", visits=1, steps=2, cost_ms=3),)

    async def found(*given: Any) -> ScheduledSearchResult:
        return ScheduledSearchResult(session="ses-1", spend=spend)

    bench.searches.search = found  # type: ignore[method-assign,assignment]
    added = await desk.add(expires_s=START_S + 5 * 3_600)
    bench.room.start()
    await bench.clock.run(2 * HOUR_MS)
    due = [START_MS + hour * HOUR_MS for hour in range(1, 6)]
    shown: Scheduled = await desk.call("show", schedule=added.schedule, runs=5, due=2)
    assert (shown.next_due_ms, [run.due_ms for run in shown.runs]) == (due[2:4], [due[1], due[0]])
    first = shown.runs[-1]
    assert first == DueRun(
        schedule=added.schedule,
        due_ms=due[0],
        status="done",
        manual=False,
        started_ms=due[0],
        ended_ms=due[0],
        search=first.search,
        session="ses-1",
        reason="",
        spend=[NodeWork(node="N", name="anna", visits=1, steps=2, cost_ms=3)],
    )
    shown = await desk.call("show", schedule=added.schedule, runs=1, due=0)
    assert (shown.next_due_ms, [run.due_ms for run in shown.runs]) == ([], [due[1]])
    shown = await desk.call("show", schedule=added.schedule)
    assert (len(shown.next_due_ms), len(shown.runs)) == (3, 2)
    (listed,) = (await desk.call("list")).schedules
    assert (listed.next_due_ms, [run.due_ms for run in listed.runs]) == ([due[2]], [due[1]])
    paused: Scheduled = await desk.call("pause", schedule=added.schedule)
    assert (paused.state, paused.next_due_ms, len(paused.runs)) == ("paused", [], 1)
    resumed: Scheduled = await desk.call("resume", schedule=added.schedule)
    assert (resumed.state, resumed.next_due_ms) == ("active", [due[2]])
    ran: DueRun = await desk.call("run_now", schedule=added.schedule)
    assert (ran.manual, ran.status, ran.session) == (True, "done", "ses-1")
    await bench.clock.run(3 * HOUR_MS - 1)
    assert (await desk.call("show", schedule=added.schedule)).state == "active"
    await bench.clock.run(1)
    expired: Scheduled = await desk.call("show", schedule=added.schedule)
    assert (expired.state, expired.next_due_ms) == ("expired", [])
    removed: Scheduled = await desk.call("remove", schedule=added.schedule)
    assert (removed.schedule, removed.next_due_ms, removed.runs) == (added.schedule, [], [])
    assert await bench.room.all() == []


async def test_a_removed_schedule_is_due_no_more(desk: Desk) -> None:
    added = await desk.add()
    assert (await desk.call("remove", schedule=added.schedule)).next_due_ms == []


# --- when it is due --------------------------------------------------------------------------------------------------


@each(
    ("field", "days"),
    [
        ("*", "0123456"),
        ("*/1", "0123456"),
        ("*/2", "0246"),
        ("*/7", "0"),
        ("0-6", "0123456"),
        ("1-7", "0123456"),
        ("7", "0"),
        ("0-7", "0123456"),
        ("sun-7", "0123456"),
        ("0-7/2", "0246"),
        ("7-1", "01"),
        ("7-7", "0"),
        ("7-0", "0"),
        ("6-7", "06"),
        ("5-1", "0156"),
        ("fri-MON", "0156"),
        ("1-5/2", "135"),
        ("5-1/2", "05"),
        ("3/2", "3"),
        ("3/", "3"),
        ("Tue,4,sat", "246"),
        ("sat,sat,6", "6"),
    ],
)
def test_weekdays_are_those_of_cron(field: str, days: str) -> None:
    trigger = Trigger(schedule(cron=f"0 0 * * {field}", every_s=0))
    sunday_ms = START_MS + 3 * 24 * HOUR_MS
    found = trigger.between(sunday_ms - 1, sunday_ms + 7 * 24 * HOUR_MS - 1, 100)
    assert "".join(str((due_ms - sunday_ms) // (24 * HOUR_MS)) for due_ms in found) == days


@each("field", ["8", "-1", "1-", "*/8", "*/0", "*/11", "*/x", "x", "sunday", "1,", "", "1-8"])
def test_what_is_no_weekday_is_refused(field: str) -> None:
    with pytest.raises(MeshError) as refused:
        Trigger(schedule(cron=f"0 0 * * {field}", every_s=0))
    assert refused.value.code == "input.invalid"


def test_a_cron_expression_has_so_many_characters_and_no_more() -> None:
    zeros = "0" + ",0" * ((limits.SCHEDULE_TEXT_CHARS_MAX - len("0 0 * * *")) // 2)
    exact = f"{zeros} 0 * * *"
    exact += " " * (limits.SCHEDULE_TEXT_CHARS_MAX - len(exact))
    assert Trigger(schedule(cron=exact, every_s=0)).after(START_MS) == START_MS + 24 * HOUR_MS
    with pytest.raises(MeshError):
        Trigger(schedule(cron=exact + " ", every_s=0))


def test_due_times_are_whole_seconds_after_and_up_to_the_moments_asked_for() -> None:
    trigger = Trigger(schedule(every_s=10, created_ms=START_MS + 999, expires_s=START_S + 30))
    ten, twenty, thirty = (START_MS + seconds * 1000 for seconds in (10, 20, 30))
    assert [trigger.after(ms) for ms in (START_MS, ten - 1, ten, ten + 999)] == [ten, ten, twenty, twenty]
    assert [trigger.after(ms) for ms in (twenty, thirty - 1, thirty)] == [thirty, thirty, None]
    assert trigger.between(ten, thirty, 9) == [twenty, thirty]
    assert trigger.between(ten - 1, thirty - 1, 9) == [ten, twenty]
    assert (trigger.between(START_MS, thirty, 1), trigger.between(START_MS, thirty, 0)) == ([ten], [])
    assert trigger.between(START_MS, ten - 1, 9) == []


def test_an_interval_takes_no_notice_of_the_zone() -> None:
    zoned, plain = (Trigger(schedule(every_s=7_200, timezone=zone)) for zone in ("Asia/Kolkata", "UTC"))
    assert zoned.between(START_MS, START_MS + 9 * HOUR_MS, 9) == plain.between(START_MS, START_MS + 9 * HOUR_MS, 9)
    daily = Trigger(schedule(cron="0 6 * * *", every_s=0, timezone="Asia/Kolkata"))
    assert daily.after(START_MS) == START_MS + HOUR_MS // 2
