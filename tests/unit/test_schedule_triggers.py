"""When schedules are due: cron as cron is known, intervals, time zones and their changes of clock."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from node.schedules.triggers import Trigger
from protocol.errors import MeshError
from tests.schedules import schedule
from tests.tables import each
from tests.twins.clock import START_MS

BERLIN = "Europe/Berlin"


def ms(text: str, zone: str = "UTC") -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()) * 1000


def due(cron: str, start: str, count: int, zone: str = "UTC") -> list[str]:
    """The next due times after ``start``, as a clock in the zone shows them."""
    trigger = Trigger(schedule(cron=cron, every_s=0, timezone=zone))
    found, after_ms = [], ms(start, zone)
    for _ in range(count):
        next_ms = trigger.after(after_ms)
        assert next_ms is not None
        after_ms = next_ms
        found.append(f"{datetime.fromtimestamp(after_ms / 1000, ZoneInfo(zone)):%m-%d %H:%M %a}")
    return found


def test_weekdays_are_numbered_from_sunday_as_cron_does() -> None:
    assert due("0 6 * * 1", "2026-01-01T00:00", 2) == ["01-05 06:00 Mon", "01-12 06:00 Mon"]
    assert due("0 6 * * 0", "2026-01-01T00:00", 1) == due("0 6 * * 7", "2026-01-01T00:00", 1) == ["01-04 06:00 Sun"]
    assert due("0 6 * * 5-7", "2026-01-01T00:00", 3) == ["01-02 06:00 Fri", "01-03 06:00 Sat", "01-04 06:00 Sun"]
    assert due("0 6 * * sat-mon", "2026-01-01T00:00", 3) == ["01-03 06:00 Sat", "01-04 06:00 Sun", "01-05 06:00 Mon"]
    assert due("0 6 * * mon,3", "2026-01-01T00:00", 2) == ["01-05 06:00 Mon", "01-07 06:00 Wed"]
    assert due("0 6 * * */3", "2026-01-01T00:00", 3) == ["01-03 06:00 Sat", "01-04 06:00 Sun", "01-07 06:00 Wed"]


def test_a_time_that_the_clock_skips_is_due_once_and_one_that_it_shows_twice_is_due_twice() -> None:
    assert due("30 2 * * *", "2026-03-28T12:00", 2, BERLIN) == ["03-29 03:30 Sun", "03-30 02:30 Mon"]
    assert due("30 2 * * *", "2026-10-24T12:00", 3, BERLIN) == ["10-25 02:30 Sun", "10-25 02:30 Sun", "10-26 02:30 Mon"]
    trigger = Trigger(schedule(cron="*/30 * * * *", every_s=0, timezone=BERLIN))
    found = trigger.between(ms("2026-10-24T22:00"), ms("2026-10-25T06:00"), 100)
    assert {later - earlier for earlier, later in itertools.pairwise(found)} == {1_800_000}


def test_an_interval_counts_from_when_the_schedule_was_made() -> None:
    trigger = Trigger(schedule(every_s=40, created_ms=START_MS + 250))
    assert trigger.after(START_MS + 250) == START_MS + 40_000
    assert trigger.after(START_MS + 40_000) == START_MS + 80_000
    assert trigger.after(START_MS + 79_999) == START_MS + 80_000
    year = START_MS + 365 * 86_400_000
    assert trigger.after(year) == year - (year - START_MS) % 40_000 + 40_000


@each("cron", ["*/7 1-3 * * *", "0 0 * * 1", "15 2 29 2 *", "30 2 * * *"])
def test_due_times_are_the_same_whoever_asks_in_between(cron: str) -> None:
    trigger = Trigger(schedule(cron=cron, every_s=0, timezone="America/New_York"))
    first = trigger.after(START_MS)
    assert first is not None
    second = trigger.after(first)
    assert second is not None
    step = (second - first) // 7 or 1
    assert {trigger.after(first + number * step) for number in range(7)} == {second}


def test_nothing_is_due_after_the_end() -> None:
    end = datetime.fromtimestamp(START_MS / 1000, UTC) + timedelta(hours=2)
    trigger = Trigger(schedule(expires_s=int(end.timestamp())))
    assert trigger.between(START_MS, START_MS + 86_400_000, 100) == [START_MS + 3_600_000, START_MS + 7_200_000]


@each(
    "changes",
    [
        {"cron": "0 6 * * *"},
        {"every_s": 0},
        {"cron": "0 6 * *", "every_s": 0},
        {"cron": "0 6 * * * *", "every_s": 0},
        {"cron": "61 6 * * *", "every_s": 0},
        {"cron": "0 6 * * 8", "every_s": 0},
        {"cron": "0 6 * * */0", "every_s": 0},
        {"cron": "0 6 * * mon-", "every_s": 0},
        {"cron": "0 6 * * ١", "every_s": 0},
        {"cron": "0 6 x * *", "every_s": 0},
        {"cron": "0 6 * * *", "every_s": 0, "timezone": "Mars/Olympus"},
        {"cron": "0 6 * * *", "every_s": 0, "timezone": "../../etc/passwd"},
    ],
)
def test_what_is_no_time_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(MeshError) as refused:
        Trigger(schedule(**changes))
    assert refused.value.code == "input.invalid"
