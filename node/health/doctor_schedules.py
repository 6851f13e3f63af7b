"""Checks the schedules: overdue, paused after failures, unreadable, or delayed because the clock went back."""

from __future__ import annotations

from datetime import UTC, datetime
from shlex import quote

from adapters.schedule_records import ScheduleRecord
from node.base.plain import counted
from node.health.remedies import CLOCKS
from node.rooms import Rooms
from node.verbs.nodes.node import CheckResult
from protocol import limits
from protocol.errors import MeshError

_OVERDUE_MS: int = 3 * limits.SCHEDULE_SLEEP_S_MAX * 1000


async def check_schedules(rooms: Rooms) -> list[CheckResult]:
    """One result for all sound schedules together, and one for each faulty one."""
    records = await rooms.schedules.all()
    found = [check for record in records if (check := _trouble(rooms, record)) is not None]
    if found:
        return found
    paused = sum(record.paused for record in records)
    finding = counted(len(records), "schedule") + (f", {paused} paused" if paused else "")
    return [CheckResult(name="schedules", status="ok", finding=finding if records else "none")]


def _trouble(rooms: Rooms, record: ScheduleRecord) -> CheckResult | None:
    home, now_ms = quote(str(rooms.home)), rooms.clock.now_ms()
    name = f"schedule {record.id}"[:32]
    if record.reason == "schedule.failing":
        remedy = f"trailmesh explore schedule show {record.id} --home {home}; then `explore schedule resume`"
        return CheckResult(
            name=name, status="warn", finding=f"paused: {record.failures} consecutive runs failed", remedy=remedy
        )
    try:
        due_ms = next(iter(rooms.schedules.next_due(record, 1)), 0)
    except MeshError as error:  # usually a time zone that this machine no longer knows
        remedy = f"trailmesh explore schedule rm {record.id} --home {home}; then add it again"
        return CheckResult(name=name, status="fault", finding=f"{error.message} [{error.code}]", remedy=remedy)
    if not due_ms:
        return None
    due = f"{datetime.fromtimestamp(due_ms / 1000, UTC):%Y-%m-%d %H:%M} UTC"
    if record.decided_ms > now_ms + limits.CLOCK_SET_BACK_S_MAX * 1000:
        finding = f"the clock has gone back: it is due when the clock shows {due}"
        return CheckResult(name=name, status="warn", finding=finding, remedy=CLOCKS)
    if due_ms + record.jitter_s * 1000 + _OVERDUE_MS < now_ms:
        finding = f"overdue since {due}"
        remedy = f"trailmesh node serve --home {home}"
        if rooms.serving:
            remedy = f"restart the node: trailmesh node serve --home {home}"
        return CheckResult(name=name, status="warn", finding=finding, remedy=remedy)
    return None
