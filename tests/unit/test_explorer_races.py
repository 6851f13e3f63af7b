"""What happens at once in a search: leaving and entering, closing, removing, expelling, and claims while a lease is signed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from node.base.listeners import Listeners
from node.explorer.open_searches import DECLINED, Open
from node.explorer.sharing.replica import Replica
from protocol.errors import MeshError
from protocol.goal.heuristics import Candidate
from protocol.messages import KIND_ASSIGNMENT, BranchAssign, Done, SearchSpec
from protocol.page.actions.action import Click, Locator
from protocol.trust.grants import parse_grants
from tests.mesh_memory import NEVER, MemoryNode, Script, memory_mesh, until
from tests.mesh_searches import has_status, leases_of, scripted, search_of
from tests.unit.test_explorer_dealing import _table
from tests.unit.test_explorer_opening import _begun, _ended, _kinds, _open
from tests.unit.test_explorer_refusals import _assignment

pytestmark = pytest.mark.virtual_time


def _opened(node: MemoryNode, search: str) -> Open:
    found = node.explorer._searches.get(search)
    assert found is not None
    return found


async def _held(anna: MemoryNode, bruno: MemoryNode) -> tuple[Open, asyncio.Task[Any]]:
    """A search of Anna's that Bruno is leaving and cannot have left before its work is released."""
    spec = await _open(anna, bruno)
    opened = _opened(bruno, spec.id)
    assert opened.work is not None
    await opened.work._accepting.acquire()
    task = asyncio.create_task(bruno.explorer._searches.leave(opened))
    await asyncio.sleep(1)
    assert not task.done()
    return opened, task


def _release(opened: Open) -> None:
    assert opened.work is not None
    opened.work._accepting.release()


# --- leaving ---------------------------------------------------------------------------------------------------------


async def test_a_search_is_entered_again_only_once_it_has_been_left_completely() -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        opened, leaving = await _held(anna, bruno)
        searches = bruno.explorer._searches
        assert (len(searches), searches.all(), searches.get(opened.spec.id)) == (0, [], None)
        found = await bruno.store.search(opened.spec.id)
        assert found is not None
        entering = asyncio.create_task(searches.enter(found))
        await asyncio.sleep(1)
        assert not entering.done()
        assert opened.exchange.pushes_to == {anna.id}
        _release(opened)
        again = await entering
        assert leaving.done()
        assert again is not opened
        assert searches.all() == [again]
        assert opened.exchange.pushes_to == frozenset()
        assert searches._leaving == {}
        await searches.leave(opened)
        assert searches.all() == [again], "what was left is not left again"
        assert await searches.enter(found) is again


async def test_a_search_that_is_being_left_is_running_still_and_not_removed() -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        opened, leaving = await _held(anna, bruno)
        await bruno.explorer._mark_stopped(opened.spec.id)
        with pytest.raises(MeshError) as refused:
            await bruno.explorer.remove(opened.spec.id)
        assert refused.value.code == "search.state"
        _release(opened)
        await leaving
        await bruno.explorer.remove(opened.spec.id)
        assert await bruno.store.searches() == []


async def test_a_node_is_closed_once_every_search_has_been_left() -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        opened, leaving = await _held(anna, bruno)
        closing = asyncio.create_task(bruno.explorer.close())
        await asyncio.sleep(1)
        assert not closing.done()
        _release(opened)
        await closing
        assert leaving.done()
        assert await has_status(bruno, opened.spec.id, "running"), "and goes on at the next start"


async def test_a_part_that_cannot_be_closed_does_not_keep_the_others_open() -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        spec = await _open(anna, bruno)
        opened = _opened(bruno, spec.id)
        assert opened.work is not None

        async def broken() -> None:
            raise ValueError("it does not close")

        opened.work.close = broken  # type: ignore[method-assign]
        searches = bruno.explorer._searches
        searches.proofs._proved.add((anna.id, spec.id, "delta"))
        with pytest.raises(ValueError, match="it does not close"):
            await searches.leave(opened)
        assert opened.exchange.pushes_to == frozenset()
        assert (searches._leaving, searches._replicas, searches.proofs._proved) == ({}, {}, set())


async def test_the_ends_of_searches_are_in_the_feed_and_later_changes_of_their_status_are_not() -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        spec = await _open(anna, bruno)
        searches = bruno.explorer._searches
        before = await bruno.store.search(spec.id)
        assert await searches.mark(spec.id, "done", before=("stopped", DECLINED)) == before
        bruno.mesh.clock.ahead_ms += 1_000
        marked = await searches.mark(spec.id, "stopped", before=("running",))
        assert marked.status == "stopped"
        assert before is not None and marked.updated_ms >= before.updated_ms + 1_000
        assert await bruno.store.search(spec.id) == marked
        assert (await searches.mark(spec.id, DECLINED, before=("stopped",))).status == DECLINED
        assert await has_status(bruno, spec.id, DECLINED)
        assert await _kinds(bruno) == ["search.started", "search.ended"]
        await bruno.store.remove_search(spec.id)
        with pytest.raises(MeshError) as gone:
            await searches.mark(spec.id, "stopped", before=("running",))
        assert (gone.value.code, gone.value.detail) == ("input.not_found", {"search": spec.id})


async def test_who_follows_a_search_hears_of_it_until_it_ends_and_no_longer() -> None:
    async with memory_mesh("anna", workers=0) as (anna,):
        first: list[Any] = []
        second: list[Any] = []
        task = asyncio.create_task(anna.run(NEVER, tell=first.append))
        search = await search_of(anna)
        await until(lambda: anna.explorer.running, "it runs")
        opened = _opened(anna, search)
        follower = asyncio.create_task(anna.explorer.resume(search, seconds=1, tell=second.append))
        await until(lambda: second, "both hear of it")
        assert second[-1] == first[-1]
        follower.cancel()
        await asyncio.gather(follower, return_exceptions=True)
        heard = len(second)
        await anna.mesh.clock.sleep(5)
        assert len(second) == heard < len(first)
        assert len(opened.watchers) == 1
        await _ended(task)
        assert opened.watchers == []


async def test_who_follows_a_search_is_told_that_the_node_has_stopped() -> None:
    async with memory_mesh("anna", workers=0) as (anna,):
        task, search = await _begun(anna)
        await anna.explorer.close()
        with pytest.raises(MeshError) as stopped:
            await task
        assert (stopped.value.code, stopped.value.message) == (
            "node.stopped",
            "the node stopped; the search continues when the node runs again",
        )
        assert await has_status(anna, search, "running")


# --- expelling -------------------------------------------------------------------------------------------------------


async def test_a_peer_that_is_put_out_while_another_lease_is_signed_gets_no_branch() -> None:
    async with _table("bruno", "carla") as (table, (bruno, carla)):
        scripts = {each.id: scripted(each) for each in (bruno, carla)}
        await table.name(table.replica.root, one=0.1, two=0.2)
        signs = table.anna.witness.artefact

        async def and_then_put_out(*named: Any) -> Any:
            table.replica.expelled[carla.id] = "delta.invalid"
            return await signs(*named)

        table.anna.witness.artefact = and_then_put_out  # type: ignore[method-assign, assignment]
        assert [worker for worker, _ in await table.deal()] == [bruno.id]
        assert scripts[carla.id].got == []


async def test_a_search_that_is_removed_while_a_peer_is_dropped_is_not_touched() -> None:
    async with memory_mesh("anna", "bruno", "carla") as (anna, bruno, carla):
        spec = await _open(anna, bruno)
        found = await bruno.store.search(spec.id)
        assert found is not None
        searches = bruno.explorer._searches
        assert not await searches.drop_peer(found, carla.id, "peer.unknown")
        await bruno.explorer.stop(spec.id)
        await bruno.explorer.remove(spec.id)
        assert not await searches.drop_peer(found, anna.id, "peer.unknown")
        assert await bruno.explorer._expulsions.of(spec.id) == {}
        assert "search.expelled" not in await _kinds(bruno)


async def test_parting_from_a_peer_ends_the_work_for_it_and_its_leases_and_nothing_else() -> None:
    async with memory_mesh("anna", "bruno", "carla", lease_seconds=600, workers=0) as (anna, bruno, carla):
        scripted(anna), scripted(carla)
        task, search = await _begun(bruno)
        replica = _opened(bruno, search).replica
        actions = [Click(target=Locator(role="link", name=name)) for name in ("one", "two")]
        replica.own.add_children(replica.root, [Candidate(action=each, prior=0.5, risk=1) for each in actions])
        await replica.flush()
        await until(lambda: leases_of(bruno, search, anna, "live"), "a lease of anna's")
        await until(lambda: leases_of(bruno, search, carla, "live"), "a lease of carla's")
        spec = await _open(anna, bruno)
        opened = _opened(bruno, spec.id)
        assert opened.work is not None
        await bruno.explorer._searches.part(anna.id)
        assert opened.work._closed
        assert await leases_of(bruno, search, anna, "live") == []
        assert len(await leases_of(bruno, search, carla, "live")) == 1
        assert _opened(bruno, search).exchange.pushes_to == {carla.id}
        assert bruno.explorer.running == 2
        await _ended(task)


async def test_a_lease_that_was_granted_between_parting_and_expelling_ends_too() -> None:
    async with memory_mesh("anna", "bruno", workers=0, lease_seconds=600) as (anna, bruno):
        scripted(bruno)
        task, search = await _begun(anna)
        await until(lambda: leases_of(anna, search, bruno, "live"), "a lease")
        found = await anna.store.search(search)
        assert found is not None
        assert await anna.explorer._searches.drop_peer(found, bruno.id, "peer.unknown")
        assert await leases_of(anna, search, bruno, "live") == []
        assert _opened(anna, search).exchange.pushes_to == frozenset()
        await _ended(task)


async def test_a_peer_that_is_frozen_while_a_search_is_loaded_is_set_aside_once_it_is_open() -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        spec = await _open(anna, bruno)
        searches, found = bruno.explorer._searches, await bruno.store.search(spec.id)
        assert found is not None
        await searches.leave(_opened(bruno, spec.id))
        bruno.peers.standing_changed = Listeners()
        load = searches._loaded

        async def and_then_frozen(of: SearchSpec) -> Replica:
            loaded = await load(of)
            bruno.peers.freeze(anna.id, "log.unproven")
            return loaded

        searches._loaded = and_then_frozen  # type: ignore[method-assign, assignment]
        assert (await searches.enter(found)).replica.aside == {anna.id: "log.unproven"}


async def test_freezing_a_peer_changes_nothing_in_searches_without_it() -> None:
    async with memory_mesh("anna", "bruno", "carla", workers=0) as (anna, bruno, carla):
        scripted(bruno)
        task, search = await _begun(anna, peers=["bruno"])
        opened = _opened(anna, search)
        anna.peers.freeze(carla.id, "log.unproven")
        await anna.explorer._searches.weigh(carla.id)
        assert opened.replica.aside == {}
        await anna.explorer._searches.weigh(bruno.id)
        assert opened.replica.aside == {}, "who is not frozen is not set aside"
        opened.replica.aside[bruno.id] = "log.unproven"
        await anna.store.remove_peer(bruno.id)
        await anna.peers.load()
        await anna.explorer._searches.weigh(bruno.id)
        assert opened.replica.aside == {bruno.id: "log.unproven"}, "a stranger is not taken back"
        await _ended(task)


# --- working ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("grants", "error", "reached"),
    [
        ("explore", "", True),
        ("deltas:read,deltas:write", "peer.scope", False),
    ],
    ids=["it may", "it may no more"],
)
async def test_work_for_a_peer_begins_only_if_it_may_assign_at_that_time(
    grants: str, error: str, reached: bool
) -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        script = Script(anna)
        script.serve("branch/return", Done())
        spec = await _open(anna, bruno)
        given = _assignment(spec, anna.mesh.clock)
        sealed = (await anna.witness.artefact(KIND_ASSIGNMENT, given.lease, given)).envelope
        await anna.calls.call(bruno.id, "branch/assign", BranchAssign(assignment=sealed), Done)
        await anna.mesh.pair(anna, bruno, parse_grants(grants))
        await until(lambda: leases_of(bruno, spec.id, bruno, "done"), "it is done")
        assert bool(bruno.site.reached) is reached
        assert any(b"peer.scope" in row.result for row in await bruno.store.leases(spec.id)) is bool(error)
