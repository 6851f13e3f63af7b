"""Computes due times from cron expressions and intervals in a time zone, with APScheduler. It does not wait for them."""

from __future__ import annotations

import datetime
import zoneinfo
from typing import Any, Final

from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger

from adapters.schedule_records import ScheduleRecord
from protocol import limits
from protocol.errors import MeshError
from protocol.recording.records.time_zones import TIME_ZONES

_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: Final = 5


class Trigger:
    """The due times of one schedule: whole seconds, computed from its record alone."""

    def __init__(self, record: ScheduleRecord) -> None:
        """Errors: ``input.invalid``."""
        if bool(record.cron) == bool(record.every_s):
            raise MeshError("input.invalid", "a schedule has either a cron expression or an interval")
        self._zone = _zone(record.timezone)
        self._end_ms = record.expires_s * 1000
        if record.cron:
            self._rule: Any = _cron(record.cron, self._zone)
        else:
            start = datetime.datetime.fromtimestamp(record.created_ms // 1000 + record.every_s, datetime.UTC)
            self._rule = IntervalTrigger(seconds=record.every_s, start_date=start, timezone=datetime.UTC)
            self._zone = datetime.UTC

    def after(self, after_ms: int) -> int | None:
        """The first due time later than ``after_ms``, milliseconds since 1970; None if there is none."""
        # Round up to a whole second, in the zone of the schedule, where ``fold`` distinguishes the two passes of a
        # repeated hour.
        moment = datetime.datetime.fromtimestamp(after_ms // 1000 + 1, self._zone)
        found = self._rule.get_next_fire_time(None, moment)
        if found is None:
            return None
        due_ms = int(found.timestamp()) * 1000
        if due_ms <= after_ms:
            raise MeshError("internal.fault", "the due times of the schedule do not advance", after_ms=after_ms)
        return None if self._end_ms and due_ms > self._end_ms else due_ms

    def between(self, after_ms: int, until_ms: int, most: int) -> list[int]:
        """The first ``most`` due times later than ``after_ms`` and not later than ``until_ms``."""
        found: list[int] = []
        due_ms = self.after(after_ms)
        while due_ms is not None and due_ms <= until_ms and len(found) < most:
            found.append(due_ms)
            due_ms = self.after(due_ms)
        return found


def _zone(name: str) -> datetime.tzinfo:
    if name not in TIME_ZONES:
        raise MeshError("input.invalid", f"unknown time zone {name!r}: use a name such as Europe/Berlin")
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, OSError) as error:
        raise MeshError("input.invalid", f"this machine does not know the time zone {name}") from error


def _cron(text: str, zone: datetime.tzinfo) -> CronTrigger:
    fields = text.split()
    if len(fields) != _FIELDS or len(text) > limits.SCHEDULE_TEXT_CHARS_MAX:
        raise MeshError("input.invalid", "a cron expression has five fields: minute hour day month weekday")
    minute, hour, day, month, weekday = fields
    try:
        return CronTrigger(
            minute=minute, hour=hour, day=day, month=month, day_of_week=_weekdays(weekday), second=0, timezone=zone
        )
    except (ValueError, TypeError, KeyError) as error:
        raise MeshError("input.invalid", f"cron expression: {error}"[:200]) from error


def _weekdays(field: str) -> str:
    """The weekdays of a cron expression by their names: APScheduler numbers them from Monday, cron from Sunday."""
    chosen: set[int] = set()
    for part in field.lower().split(","):
        span, _, step = part.partition("/")
        first, dash, last = span.partition("-")
        if span == "*":
            days = list(range(7))
        else:
            start = _weekday(first)
            end = _weekday(last) if dash else start
            days = [number % 7 for number in range(start, end + 1 if end >= start else end + 8)]
        chosen |= set(days[:: _step(step) if step else 1])
    return ",".join(_DAYS[day] for day in sorted(chosen))


def _weekday(text: str) -> int:
    if text in _DAYS:
        return _DAYS.index(text)
    if text.isascii() and text.isdigit() and int(text) <= 7:
        return int(text)
    raise MeshError("input.invalid", f"no weekday {text[:20]!r}: 0 to 7 (0 and 7 are Sunday) or sun, mon, tue …")


def _step(text: str) -> int:
    if text.isascii() and text.isdigit() and 1 <= int(text[:3]) <= 7 and len(text) == 1:
        return int(text)
    raise MeshError("input.invalid", f"no step {text[:20]!r} of weekdays: 1 to 7")
