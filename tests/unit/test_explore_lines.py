"""What `explore run` says on a terminal while a search runs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from node.base.plain import counted
from node.cli.searches.explore_words import progress_line as _line
from tests.mesh_memory import NEVER, memory_mesh, until

pytestmark = pytest.mark.virtual_time


def _both(event: dict[str, Any]) -> bool:
    return len(event.get("visits", {})) == 2 and all(event["visits"].values())


async def test_a_line_says_how_long_it_goes_on_who_works_and_how_near_it_is() -> None:
    events: list[dict[str, Any]] = []
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        task = asyncio.create_task(anna.run(NEVER, tell=events.append))
        await until(lambda: any(map(_both, events)), "both have visited")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    event = next(filter(_both, events)) | {"of_seconds": 4_000, "seconds": 3_990}
    line = _line(event)
    assert "10 s left" in line
    assert counted(event["live_leases"], "lease") in line
    assert f"{counted(event['nodes'], 'action')} found" in line
    assert f"best {event['best']:.2f}" in line
    for node in (anna, bruno):
        assert f"{node.id[:7]} {event['visits'][node.id]}" in line
    assert 0 < event["best"] <= 1
