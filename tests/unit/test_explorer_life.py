"""How a search begins, is stopped, is taken up again and ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from node.explorer.progress import Progress
from protocol.errors import MeshError
from protocol.wire import cbor
from tests.mesh_memory import FOUND, NEVER, memory_mesh, shop_site, until
from tests.mesh_searches import has_status, leases_of, search_of

pytestmark = pytest.mark.virtual_time


async def test_nothing_is_kept_of_a_search_whose_start_page_does_not_open() -> None:
    async with memory_mesh("anna") as (anna,):
        with pytest.raises(MeshError) as refused:
            await anna.explorer.run(
                goal="g",
                start_url="http://nowhere.test/",
                condition=FOUND,
                peers=[],
                seconds=10,
                seed=0,
                tell=lambda event: None,
            )
        assert refused.value.code == "search.start_failed"
        assert await anna.store.searches() == []


async def test_a_search_that_has_tried_everything_ends_before_its_time() -> None:
    async with memory_mesh("anna", site=shop_site(fanout=2, depth=1)) as (anna,):
        found = await anna.run(NEVER)
        assert found.status == "failed"
        assert (await anna.explorer.view(found.id))[2].error == "search.exhausted"


async def test_a_search_from_a_page_on_which_nothing_can_be_done_ends_after_it_was_looked_at() -> None:
    async with memory_mesh("anna", site=shop_site(fanout=0, depth=0)) as (anna,):
        found = await anna.run(NEVER, seconds=60)
        view = (await anna.explorer.view(found.id))[2]
        assert (view.error, len(await leases_of(anna, found.id, anna))) == ("search.exhausted", 1)


async def test_a_search_whose_time_is_up_does_not_say_that_all_was_tried() -> None:
    async with memory_mesh("anna") as (anna,):
        found = await anna.run(NEVER, seconds=1)
        assert (await anna.explorer.view(found.id))[2].error == "search.not_found_goal"


async def test_a_stopped_search_is_resumed_and_finishes() -> None:
    async with memory_mesh("anna", "bruno") as (anna, _):
        task = asyncio.create_task(anna.run(seconds=4_000))
        search = await search_of(anna)
        await anna.explorer.stop(search)
        await task
        found = await anna.explorer.resume(search, seconds=400, tell=lambda event: None)
        assert found.status == "done"


async def test_a_resumed_search_has_the_seconds_it_is_given_however_long_it_ran_before() -> None:
    async with memory_mesh("anna", site=shop_site(fanout=5, depth=5)) as (anna,):
        found = await anna.run(NEVER, seconds=5)
        for seconds in (50, 5):
            used_ms = cbor.decode_as(found.state, Progress).used_ms
            said: list[dict[str, Any]] = []
            found = await anna.explorer.resume(found.id, seconds=seconds, tell=said.append)
            after = cbor.decode_as(found.state, Progress)
            assert found.status == "failed"
            assert after.limit_ms == used_ms + seconds * 1000 <= after.used_ms
            first = next(event for event in said if "of_seconds" in event)
            assert seconds - 1 <= first["of_seconds"] - first["seconds"] <= seconds + 1


async def test_whoever_follows_a_search_that_another_command_stops_is_told_so() -> None:
    async with memory_mesh("anna") as (anna,):
        task = asyncio.create_task(anna.run(NEVER))
        search = await search_of(anna)
        follower = asyncio.create_task(anna.explorer.resume(search, seconds=0, tell=lambda event: None))
        await until(lambda: len(anna.explorer._searches.all()[0].watchers) == 2, "both follow")
        await anna.explorer.stop(search)
        assert [(await task).status, (await follower).status] == ["stopped", "stopped"]


async def test_the_end_of_a_follower_does_not_end_the_search_but_that_of_its_starter_does() -> None:
    async with memory_mesh("anna") as (anna,):
        task = asyncio.create_task(anna.run(NEVER))
        search = await search_of(anna)
        follower = asyncio.create_task(anna.explorer.resume(search, seconds=0, tell=lambda event: None))
        await until(lambda: len(anna.explorer._searches.all()[0].watchers) == 2, "both follow")
        follower.cancel()
        await asyncio.gather(follower, return_exceptions=True)
        assert anna.explorer.running == 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert anna.explorer.running == 0
        assert await has_status(anna, search, "stopped")


async def test_a_coordinator_that_starts_again_over_its_store_goes_on_by_itself() -> None:
    async with memory_mesh("anna", "bruno", "carla") as (anna, bruno, _):
        task = asyncio.create_task(anna.run(seconds=4_000))
        search = await search_of(anna)
        await until(lambda: leases_of(anna, search, bruno), "work was dealt")
        await until(lambda: anna.store.deltas(search, peer=anna.id), "anna has said so")
        await anna.crash()
        with pytest.raises(MeshError) as ended:
            await task
        assert ended.value.code == "node.stopped"
        assert (await anna.store.search(search)).status == "running"  # type: ignore[union-attr]
        before = {delta.epoch for delta in await anna.store.deltas(search, peer=anna.id)}
        await anna.start()
        await until(lambda: has_status(anna, search, "done"), "the search is done")
        after = {delta.epoch for delta in await anna.store.deltas(search, peer=anna.id)}
        assert before < after, "what was said before stays, and an epoch of its own follows"


async def test_a_silent_coordinator_s_search_is_left_and_one_that_speaks_is_kept() -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        task = asyncio.create_task(anna.run(NEVER))
        search = await search_of(bruno)
        await until(lambda: bruno.explorer.running, "bruno takes part")
        await bruno.explorer.sweep()
        assert bruno.explorer.running == 1
        await anna.crash()
        await asyncio.gather(task, return_exceptions=True)
        bruno.mesh.clock.ahead_ms += 10_000_000
        await bruno.explorer.sweep()
        assert bruno.explorer.running == 0
        assert await has_status(bruno, search, "stopped")
