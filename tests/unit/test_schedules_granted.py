"""What the runs of a schedule may do, and what the doctor says of schedules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from node.health.doctor_schedules import check_schedules
from node.process.setup import init_home
from node.process.wiring import open_node
from node.rooms import Rooms
from node.schedules.searching import caller_of
from node.verbs import called_by
from protocol.errors import MeshError
from tests.mesh_memory import NEVER, ORIGIN, memory_mesh
from tests.schedules import HOUR_MS, SCHEDULE, schedule


async def search(node: Any, origins: tuple[str, ...]) -> str:
    """The code with which a short search ends that begins at ``ORIGIN``; empty if it could be done."""
    with called_by(caller_of(schedule(origins=origins))):
        try:
            await node.explorer.run(
                goal="g", start_url=ORIGIN, condition=NEVER, peers=[], seconds=9, seed=0, tell=lambda event: None
            )
        except MeshError as error:
            return error.code
    return ""


async def test_the_origins_of_a_schedule_bound_what_its_searches_open() -> None:
    """Guard: node/schedules/searching.py, caller_of."""
    async with memory_mesh("anna") as (anna,):
        assert await search(anna, ("https://other.test",)) == "browser.refused"
        assert await anna.store.searches() == []
        assert await search(anna, (ORIGIN,)) == ""


async def test_a_schedule_without_the_scope_searches_nothing(tmp_path: Path) -> None:
    """Guard: node/schedules/searching.py, ScheduledSearches.search."""
    async with rooms_in(tmp_path) as rooms:
        made = schedule(scopes=(), created_ms=rooms.clock.now_ms(), decided_ms=rooms.clock.now_ms())
        assert caller_of(made).scopes == frozenset()
        await rooms.schedules.add(made)
        run = await rooms.schedules.run_now(SCHEDULE, lambda event: None)
        assert (run.status.value, run.reason) == ("failed", "caller.refused")
        assert await rooms.store.searches() == []


class rooms_in:
    """The rooms of a node that does not serve."""

    def __init__(self, directory: Path) -> None:
        home = directory / "home"
        init_home(home, name="anna", listen="127.0.0.1:0", config_file=None, recovery_out=str(directory / "r.txt"))
        self._opened = open_node(home)

    async def __aenter__(self) -> Rooms:
        return (await self._opened.__aenter__()).rooms

    async def __aexit__(self, *error: Any) -> None:
        await self._opened.__aexit__(*error)


@pytest.mark.parametrize(
    ("changes", "ago_ms", "found", "remedy"),
    [
        ({}, 0, "1 schedule", ""),
        ({"paused": True}, 5 * HOUR_MS, "1 schedule, 1 paused", ""),
        (
            {"paused": True, "reason": "schedule.failing", "failures": 5},
            0,
            "5 consecutive runs failed",
            "explore schedule show",
        ),
        ({}, 5 * HOUR_MS, "overdue since", "node serve"),
        ({}, -5 * HOUR_MS, "the clock has gone back", "set-ntp"),
        ({"timezone": "Gone/Zone", "cron": "0 6 * * *", "every_s": 0}, 0, "input.invalid", "explore schedule rm"),
    ],
)
async def test_the_doctor_says_what_a_schedule_lacks(
    tmp_path: Path, changes: dict[str, Any], ago_ms: int, found: str, remedy: str
) -> None:
    async with rooms_in(tmp_path) as rooms:
        at_ms = rooms.clock.now_ms() - ago_ms
        made = schedule(created_ms=at_ms, decided_ms=at_ms)
        await rooms.store.keep_schedule(msgspec.structs.replace(made, **changes), was=0)
        (check,) = await check_schedules(rooms)
    assert found in check.finding
    assert remedy in check.remedy
    assert (check.status == "ok") is (not remedy)
