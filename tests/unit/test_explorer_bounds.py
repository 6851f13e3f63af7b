"""What nobody can hold for ever, or take back from the owner of a node: branches, costs that were told, a stop."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from node.explorer.showing.show import _summary
from node.verbs.searches.explore import PeerSpend
from protocol import limits
from protocol.errors import MeshError
from protocol.messages import BranchRenew, BranchRenewed, Done, SearchClose, SearchOpen, Spend
from tests.mesh_memory import NEVER, MemoryNode, memory_mesh, until
from tests.mesh_searches import assignment_of, give_back, has_status, lease_has_status, leases_of, scripted, search_of

pytestmark = pytest.mark.virtual_time


async def _ended(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


# --- leases ----------------------------------------------------------------------------------------------------------


async def test_a_worker_that_renews_without_end_loses_its_branch() -> None:
    async with memory_mesh("anna", "holder", workers=0, lease_seconds=4) as (anna, holder):
        script = scripted(holder)
        task = asyncio.create_task(anna.run(NEVER))
        await until(lambda: script.of("branch/assign"), "an assignment")
        held = assignment_of(script, 0)
        ask = BranchRenew(search=held.search, lease=held.lease, spend=Spend(steps=3))
        ends = []
        while (renewed := await holder.calls.call(anna.id, "branch/renew", ask, BranchRenewed)).live:
            ends.append(renewed.expires_ms)
            await anna.mesh.clock.sleep(1)
        assert max(ends) == held.expires_ms + held.limits.milliseconds
        await until(lambda: lease_has_status(anna, held.lease, "expired"), "it is over")
        await until(lambda: len(script.of("branch/assign")) > 1, "the branch is dealt again")
        await _ended(task)


async def test_after_a_restart_of_the_coordinator_the_latest_end_is_where_it_was() -> None:
    async with memory_mesh("anna", "holder", workers=0, lease_seconds=600) as (anna, holder):
        script = scripted(holder)
        task = asyncio.create_task(anna.run(NEVER))
        await until(lambda: script.of("branch/assign"), "an assignment")
        held = assignment_of(script, 0)
        latest_ms = held.expires_ms + held.limits.milliseconds
        await anna.crash()
        await asyncio.gather(task, return_exceptions=True)
        await anna.start()
        ask = BranchRenew(search=held.search, lease=held.lease, spend=Spend())
        for _ in range(5):
            anna.mesh.clock.ahead_ms += 400_000
            renewed = await holder.calls.call(anna.id, "branch/renew", ask, BranchRenewed)
        assert renewed.expires_ms == latest_ms
        anna.mesh.clock.ahead_ms += 600_000
        assert not (await holder.calls.call(anna.id, "branch/renew", ask, BranchRenewed)).live


async def _spend(anna: MemoryNode, search: str, of: MemoryNode) -> PeerSpend:
    found, spec, progress, replica, leases = await anna.explorer.view(search)
    summary = _summary(anna, found, spec, progress, replica, leases)  # type: ignore[arg-type]
    return next(peer for peer in summary.spend if peer.node == of.id)


@pytest.mark.parametrize("late", [False, True])
async def test_an_expired_lease_shows_what_its_worker_said_last_and_a_late_result_counts_once(late: bool) -> None:
    async with memory_mesh("anna", "bruno", workers=0, lease_seconds=2) as (anna, bruno):
        script = scripted(bruno)
        task = asyncio.create_task(anna.run(NEVER))
        search = await search_of(anna)
        await until(lambda: script.of("branch/assign"), "an assignment")
        held = assignment_of(script, 0)
        for steps in (5, 3):  # what falls was no truth
            ask = BranchRenew(search=search, lease=held.lease, spend=Spend(steps=steps, milliseconds=700))
            await bruno.calls.call(anna.id, "branch/renew", ask, BranchRenewed)
        await until(lambda: lease_has_status(anna, held.lease, "expired"), "it is over")
        spend = await _spend(anna, search, bruno)
        assert (spend.steps, spend.cost_ms) == (5, 700)
        if late:
            await give_back(bruno, anna, held, outcome="spent", spend=Spend(steps=9, milliseconds=900))
            spend = await _spend(anna, search, bruno)
            assert (spend.steps, spend.cost_ms) == (9, 900)
        await _ended(task)


async def test_what_was_revoked_at_the_end_has_its_cost_in_the_table_for_own_work_as_for_that_of_peers() -> None:
    async with memory_mesh("anna", "bruno", lease_iterations=100, lease_seconds=60) as (anna, bruno):
        task = asyncio.create_task(anna.run(NEVER))
        search = await search_of(anna)

        async def both_visited() -> bool:
            tree = (await anna.replica(search)).tree
            return all(tree.effort(node.id).visits > 5 for node in (anna, bruno))

        await until(both_visited, "both have explored")
        await anna.explorer.stop(search)
        await task
        for worker in (anna, bruno):
            assert {lease.status for lease in await leases_of(anna, search, worker)} == {"revoked"}
            spend = await _spend(anna, search, worker)
            assert spend.steps > 0
            assert spend.cost_ms > 0
        (own_view,) = await leases_of(bruno, search, bruno)
        assert own_view.spend.steps > 0


# --- stopping --------------------------------------------------------------------------------------------------------


async def _opened(anna: MemoryNode, bruno: MemoryNode) -> tuple[asyncio.Task[Any], str]:
    task = asyncio.create_task(anna.run(NEVER))
    search = await search_of(bruno)
    await until(lambda: leases_of(bruno, search, bruno), "bruno takes part")
    return task, search


async def _open_again(anna: MemoryNode, bruno: MemoryNode, search: str) -> Done:
    record = await anna.store.search(search)
    assert record is not None
    return await anna.calls.call(bruno.id, "search/open", SearchOpen(spec=record.spec), Done)


async def test_what_a_worker_s_owner_stopped_its_coordinator_cannot_open_again_nor_can_a_restart() -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        task, search = await _opened(anna, bruno)
        found = await bruno.explorer.stop(search)
        assert (found.status, bruno.explorer.running) == ("declined", 0)
        for restart in (False, True):
            if restart:
                await bruno.stop()
                await bruno.start()
            with pytest.raises(MeshError) as refused:
                await _open_again(anna, bruno, search)
            assert refused.value.code == "policy.refused"
            assert (await has_status(bruno, search, "declined"), bruno.explorer.running) == (True, 0)
        await _ended(task)


async def test_closing_a_search_first_does_not_lift_the_stop_either() -> None:
    """Guard: node/explorer/answers.py, Answers.on_open."""
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        task, search = await _opened(anna, bruno)
        await bruno.explorer.stop(search)
        await anna.calls.call(bruno.id, "search/close", SearchClose(search=search), Done)
        with pytest.raises(MeshError) as refused:
            await _open_again(anna, bruno, search)
        assert refused.value.code == "policy.refused"
        await _ended(task)


async def test_the_owner_lifts_the_stop_and_the_coordinator_goes_on_with_the_worker() -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        task, search = await _opened(anna, bruno)
        await bruno.explorer.stop(search)
        lifted = await bruno.explorer.resume(search, seconds=0, tell=lambda event: None)
        assert lifted.status == "stopped"
        with pytest.raises(MeshError) as refused:
            await bruno.explorer.resume(search, seconds=0, tell=lambda event: None)
        assert refused.value.code == "search.state"
        await _open_again(anna, bruno, search)
        assert bruno.explorer.running == 1
        await _ended(task)


async def test_a_worker_that_declined_is_not_asked_every_few_seconds() -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        task, search = await _opened(anna, bruno)
        await bruno.explorer.stop(search)
        await until(partial(_refusals, anna, search, bruno), "anna has heard of it")
        before = len(await leases_of(anna, search, bruno))
        await anna.mesh.clock.sleep(20)
        assert len(await leases_of(anna, search, bruno)) <= before + 1
        await _ended(task)


async def _refusals(anna: MemoryNode, search: str, bruno: MemoryNode) -> bool:
    coordinator = anna.explorer._searches.all()[0].coordinator
    assert coordinator is not None
    return coordinator._dealing.rests_s(bruno.id) > 10


# --- memory ----------------------------------------------------------------------------------------------------------


async def test_all_open_searches_together_hold_a_bounded_number_of_pages_and_go_on_once_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Guard: node/explorer/open_searches.py, OpenSearches.check_room."""
    async with memory_mesh("anna") as (anna,):
        monkeypatch.setattr(limits, "TREE_NODES_OPEN_MAX", 12)
        with pytest.raises(MeshError) as caught:
            await asyncio.wait_for(anna.run(NEVER), 20)
        assert (caught.value.code, caught.value.retryable) == ("search.full", True)
        (search,) = await anna.store.searches()
        assert search.status == "stopped"
        assert anna.explorer._searches._replicas == {}, "an ended search takes no room"
        monkeypatch.setattr(limits, "TREE_NODES_OPEN_MAX", 1_000)
        task = asyncio.create_task(anna.explorer.resume(search.id, seconds=600, tell=lambda event: None))
        await until(lambda: [one for one in anna.explorer._searches.all() if len(one.replica.tree) > 12], "it goes on")
        await _ended(task)


async def test_a_second_search_gets_what_room_the_first_one_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    async with memory_mesh("anna", workers=0) as (anna,):
        first = asyncio.create_task(anna.run(NEVER))
        await until(lambda: anna.explorer.running == 1, "the first one runs")
        (opened,) = anna.explorer._searches.all()
        monkeypatch.setattr(limits, "TREE_NODES_OPEN_MAX", len(opened.replica.tree))
        with pytest.raises(MeshError) as caught:
            await asyncio.wait_for(anna.run(NEVER), 20)
        assert caught.value.code == "search.full"
        await _ended(first)
