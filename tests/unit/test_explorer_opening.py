"""Which searches are open on a node, who opened them, and how they begin, go on and are left."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from adapters.ports.records import SearchRecord
from node.explorer.explorer import _GRACE_S
from node.explorer.progress import Progress
from node.verbs import called_by
from protocol import limits
from protocol.audit import OWNER
from protocol.errors import MeshError
from protocol.messages import (
    DeltaBatch,
    DeltaHave,
    DeltaPull,
    DeltaPush,
    Done,
    SearchClose,
    SearchOpen,
    SearchSpec,
)
from protocol.trust.grants import parse_grants
from protocol.wire import cbor
from tests.mesh_memory import NEVER, ORIGIN, MemoryNode, memory_mesh, shop_site, until
from tests.mesh_searches import has_status, leases_of, scripted, search_of
from tests.unit.test_explorer_callers import agent
from tests.unit.test_explorer_refusals import _sealed, _spec

pytestmark = pytest.mark.virtual_time


async def _refused(call: Any) -> tuple[str, str]:
    with pytest.raises(MeshError) as refused:
        await call
    return refused.value.code, refused.value.message


async def _open(anna: MemoryNode, bruno: MemoryNode, spec: SearchSpec | None = None) -> SearchSpec:
    """Have Bruno take part in a search of Anna's, which she does not run."""
    spec = spec or _spec(anna, bruno)
    await anna.calls.call(bruno.id, "search/open", _sealed(anna, spec), Done)
    return spec


async def _open_again(anna: MemoryNode, bruno: MemoryNode, spec: SearchSpec) -> None:
    """Send what opened it once more."""
    known = await bruno.store.search(spec.id)
    assert known is not None
    await anna.calls.call(bruno.id, "search/open", SearchOpen(spec=known.spec), Done)


async def _begun(node: MemoryNode, **more: Any) -> tuple[asyncio.Task[Any], str]:
    known = {each.id for each in await node.store.searches()}
    task = asyncio.create_task(node.run(NEVER, **more))

    async def new() -> str:
        return next((each.id for each in await node.store.searches() if each.id not in known), "")

    search = str(await until(new, "a search"))
    await until(lambda: node.explorer._searches.get(search), "it is open")
    return task, search


async def _ended(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def _kinds(node: MemoryNode) -> list[str]:
    changes = (await node.store.feed(after=0, limit=500)).changes
    return [change.kind.value for change in changes if change.kind.value.startswith("search.")]


# --- beginning -------------------------------------------------------------------------------------------------------


async def test_a_search_is_kept_with_all_that_was_asked_and_under_the_id_that_was_given() -> None:
    async with memory_mesh("anna", "bruno", workers=0) as (anna, bruno):
        scripted(bruno)
        said: list[dict[str, Any]] = []
        task = asyncio.create_task(
            anna.explorer.run(
                goal="find it",
                start_url=f"{ORIGIN}/oak",
                condition=NEVER,
                peers=["bruno", "bruno"],
                seconds=9,
                seed=3,
                tell=said.append,
                search_id="sea-AAAAAAAAAAAAAAAAAAAEY",
            )
        )
        assert await search_of(anna) == "sea-AAAAAAAAAAAAAAAAAAAEY"
        began_ms = anna.mesh.clock.now_ms()
        found, spec, progress, _, _ = await anna.explorer.view("sea-AAAAAAAAAAAAAAAAAAAEY")
        assert spec == SearchSpec(
            id="sea-AAAAAAAAAAAAAAAAAAAEY",
            coordinator=anna.id,
            goal="find it",
            start_url=f"{ORIGIN}/oak",
            condition=NEVER,
            profile=anna.config.browser.profile,
            participants=(anna.id, bruno.id),
            seconds=9,
            created_ms=spec.created_ms,
            seed=3,
        )
        assert (found.status, found.coordinator, found.caller) == ("running", anna.id, OWNER)
        assert found.created_ms == spec.created_ms <= began_ms
        assert progress.limit_ms == 9_000
        assert (await task).status == "failed"
        assert said[0] == {"search": found.id, "participants": [anna.id, bruno.id]}
        assert await _kinds(anna) == ["search.started", "search.ended"]
        assert "GET /oak" in anna.site.reached


@pytest.mark.parametrize("goal", ["two\nlines", "bell\x07"])
async def test_a_goal_is_one_plain_line(goal: str) -> None:
    async with memory_mesh("anna") as (anna,):
        call = anna.explorer.run(
            goal=goal, start_url=f"{ORIGIN}/", condition=NEVER, peers=[], seconds=9, seed=0, tell=lambda event: None
        )
        assert await _refused(call) == ("input.invalid", "a goal must be one line without control characters")
        assert await anna.store.searches() == []


async def test_of_all_peers_those_take_part_that_let_us_assign_and_are_not_frozen() -> None:
    async with memory_mesh("anna", "bruno", "carla", "dora") as (anna, bruno, carla, dora):
        await anna.mesh.pair(anna, carla, parse_grants("deltas:read"))
        anna.peers.freeze(dora.id, "log.unproven")
        task, search = await _begun(anna)
        assert (await anna.explorer.view(search))[1].participants == (anna.id, bruno.id)
        await _ended(task)
        with pytest.raises(MeshError) as unknown:
            await anna.run(NEVER, peers=["nobody"])
        assert unknown.value.code == "input.not_found"


async def test_what_is_open_is_counted() -> None:
    async with memory_mesh("anna", "bruno", lease_seconds=600) as (anna, bruno):
        assert (anna.explorer.running, anna.explorer.tree_nodes, anna.explorer.working) == (0, 0, 0)
        first, _ = await _begun(anna)
        second, search = await _begun(anna, peers=[])
        assert anna.explorer.running == 2
        every = anna.explorer._searches.all()
        assert anna.explorer.tree_nodes == sum(len(each.replica.tree) for each in every) > 1
        assert (anna.explorer._searches.count_of(anna.id), anna.explorer._searches.count_of(bruno.id)) == (2, 0)
        await until(lambda: bruno.explorer.working == 1, "bruno works")
        assert (anna.explorer.working, bruno.explorer._searches.count_of(anna.id)) == (0, 1)
        await anna.explorer.stop(search)
        assert anna.explorer.running == 1
        await _ended(first)
        await _ended(second)


async def test_a_node_that_is_closed_or_does_not_sign_opens_no_search() -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        await bruno.explorer.close()
        stopped = ("node.stopped", "the node is stopping")
        assert await _refused(_open(anna, bruno)) == stopped
        assert await _refused(bruno.run(NEVER)) == stopped
        assert await _refused(bruno.explorer.resume("sea-AAAAAAAAAAAAAAAAAAAEY", seconds=1, tell=print)) == stopped
        assert await bruno.store.searches() == []


# --- taking part -----------------------------------------------------------------------------------------------------


async def test_a_search_of_a_peer_is_kept_as_running_under_its_name() -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        spec = await _open(anna, bruno)
        (found,) = await bruno.store.searches()
        assert found == SearchRecord(
            id=spec.id,
            coordinator=anna.id,
            status="running",
            created_ms=spec.created_ms,
            updated_ms=found.updated_ms,
            spec=found.spec,
            state=b"",
            caller=anna.id,
        )
        assert (await bruno.explorer.view(spec.id))[2] == Progress()
        opened = bruno.explorer._searches.get(spec.id)
        assert opened is not None and opened.coordinator is None and opened.work is not None
        before_ms = opened.heard_ms
        bruno.mesh.clock.ahead_ms += 5_000
        await _open_again(anna, bruno, spec)
        assert opened.heard_ms >= before_ms + 5_000
        assert bruno.explorer._searches.all() == [opened], "it is opened once"
        assert await _kinds(bruno) == ["search.started"]


async def test_a_coordinator_closes_its_own_searches_only_and_may_open_them_again() -> None:
    async with memory_mesh("anna", "bruno", "carla") as (anna, bruno, carla):
        spec = await _open(anna, bruno)
        close = SearchClose(search=spec.id)
        unknown = ("input.not_found", "no such search of yours")
        assert (await _refused(carla.calls.call(bruno.id, "search/close", close, Done)))[0] == unknown[0]
        assert bruno.explorer.running == 1
        await anna.calls.call(bruno.id, "search/close", close, Done)
        assert (bruno.explorer.running, await has_status(bruno, spec.id, "done")) == (0, True)
        await anna.calls.call(bruno.id, "search/close", close, Done)
        await _open_again(anna, bruno, spec)
        assert (bruno.explorer.running, await has_status(bruno, spec.id, "running")) == (1, True)
        assert await _kinds(bruno) == ["search.started", "search.ended", "search.started"]


async def test_every_message_of_its_coordinator_keeps_a_search_open_and_those_of_others_do_not() -> None:
    async with memory_mesh("anna", "bruno", "carla") as (anna, bruno, carla):
        spec = await _open(anna, bruno, _spec(anna, bruno, carla))
        opened = bruno.explorer._searches.get(spec.id)
        assert opened is not None
        clock, before_ms = bruno.mesh.clock, opened.heard_ms
        clock.ahead_ms += 1_000
        push = DeltaPush(search=spec.id, deltas=())
        assert await carla.calls.call(bruno.id, "deltas/push", push, DeltaHave) == DeltaHave(epoch=0, seq=0)
        assert opened.heard_ms == before_ms
        pull = DeltaPull(search=spec.id, epoch=0, after_seq=0)
        await anna.calls.call(bruno.id, "deltas/pull", pull, DeltaBatch)
        assert opened.heard_ms >= before_ms + 1_000


async def test_a_search_is_left_once_its_coordinator_was_silent_for_longer_than_it_can_last() -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        spec = await _open(anna, bruno)
        own, _ = await _begun(bruno, seconds=80_000, peers=[])
        opened = bruno.explorer._searches.get(spec.id)
        assert opened is not None
        clock = bruno.mesh.clock
        limit_ms = (spec.seconds + _GRACE_S) * 1000
        assert limit_ms == 120_000
        opened.heard_ms = clock.now_ms() - limit_ms
        await bruno.explorer.sweep()
        assert bruno.explorer.running == 2
        opened.heard_ms = clock.now_ms() - limit_ms - 1
        await bruno.explorer.sweep()
        assert bruno.explorer._searches.get(spec.id) is None
        assert bruno.explorer.running == 1, "its own is not silent"
        assert await has_status(bruno, spec.id, "stopped")
        await _ended(own)


async def test_a_peer_that_may_assign_no_more_loses_its_searches_here_and_one_that_may_accept_no_more_its_leases() -> (
    None
):
    async with memory_mesh("anna", "bruno", lease_seconds=600, lease_iterations=100) as (anna, bruno):
        theirs = await _open(anna, bruno)
        task, ours = await _begun(bruno)
        (lease,) = await until(lambda: leases_of(bruno, ours, anna, "live"), "a lease of anna's")
        assert await bruno.explorer.reconsider(anna.id) == []
        await anna.mesh.pair(bruno, anna, parse_grants("branch:assign,deltas:read,deltas:write"))
        assert await bruno.explorer.reconsider(anna.id) == [lease.id]
        assert bruno.explorer.running == 2
        await anna.mesh.pair(bruno, anna, parse_grants("deltas:read"))
        assert await bruno.explorer.reconsider(anna.id) == [theirs.id]
        assert bruno.explorer._searches.get(theirs.id) is None
        assert await has_status(bruno, theirs.id, "stopped")
        assert await has_status(bruno, ours, "running")
        await _ended(task)


# --- going on --------------------------------------------------------------------------------------------------------


async def test_after_a_restart_what_ran_goes_on_and_what_may_not_is_stopped() -> None:
    async with memory_mesh("anna", "bruno", "carla", workers=0) as (anna, bruno, carla):
        owner, mine = await _begun(bruno, peers=[])
        with called_by(agent()):
            other, of_agent = await _begun(bruno)
        kept = await _open(anna, bruno)
        lost = _spec(carla, bruno, id="sea-AAAAAAAAAAAAAAAAAAAEY")
        await _open(carla, bruno, lost)
        ended = _spec(anna, bruno, id="sea-AAAAAAAAAAAAAAAAAAAFW")
        await _open(anna, bruno, ended)
        await anna.calls.call(bruno.id, "search/close", SearchClose(search=ended.id), Done)
        await bruno.crash()
        for task in (owner, other):
            await asyncio.gather(task, return_exceptions=True)
        await bruno.mesh.pair(bruno, carla, parse_grants("deltas:read"))
        await bruno.start()
        assert {each.spec.id for each in bruno.explorer._searches.all()} == {mine, kept.id}
        running = bruno.explorer._searches.get(mine)
        assert running is not None and running.coordinator is not None and running.task is not None
        statuses = {found.id: found.status for found in await bruno.store.searches()}
        assert statuses == {
            mine: "running",
            of_agent: "stopped",
            kept.id: "running",
            lost.id: "stopped",
            ended.id: "done",
        }


async def test_a_search_that_cannot_go_on_does_not_keep_the_others_from_it() -> None:
    async with memory_mesh("anna", workers=0) as (anna,):
        tasks = [await _begun(anna, peers=[]) for _ in range(2)]
        await anna.crash()
        for task, _ in tasks:
            await asyncio.gather(task, return_exceptions=True)
        broken, whole = (search for _, search in tasks)
        found = await anna.store.search(broken)
        assert found is not None
        await anna.store.put_search(msgspec.structs.replace(found, spec=b"nothing"))
        await anna.start()
        assert [each.spec.id for each in anna.explorer._searches.all()] == [whole]


async def test_a_search_is_resumed_for_the_time_that_is_left_without_its_error() -> None:
    async with memory_mesh("anna", workers=0) as (anna,):
        found = await anna.run(NEVER, seconds=2)
        progress = cbor.decode_as(found.state, Progress)
        progress.used_ms, progress.limit_ms = 1_500, 60_000
        await anna.store.put_search(msgspec.structs.replace(found, state=cbor.encode(progress)))
        task = asyncio.create_task(anna.explorer.resume(found.id, seconds=0, tell=lambda event: None))
        await until(lambda: anna.explorer.running, "it goes on")
        again = (await anna.explorer.view(found.id))[2]
        assert (again.error, again.limit_ms, 1_500 <= again.used_ms < 3_000) == ("", 60_000, True)
        assert await _kinds(anna) == ["search.started", "search.ended", "search.started"]
        await anna.explorer.stop(found.id)
        assert (await task).status == "stopped"
        assert (await anna.explorer.stop(found.id)).status == "stopped"


async def test_a_search_that_is_removed_while_it_is_resumed_does_not_come_back() -> None:
    async with memory_mesh("anna", workers=0) as (anna,):
        found = await anna.run(NEVER, seconds=1)
        searches = anna.explorer._searches
        await searches.admitting.acquire()
        task = asyncio.create_task(anna.explorer.resume(found.id, seconds=5, tell=lambda event: None))
        await asyncio.sleep(0.1)
        await anna.store.remove_search(found.id)
        searches.admitting.release()
        assert (await _refused(task))[0] == "input.not_found"
        assert await anna.store.searches() == []


async def test_a_search_that_ends_by_an_error_is_stopped_and_its_follower_hears_of_it() -> None:
    async with memory_mesh("anna", site=shop_site(fanout=2, depth=1), workers=0) as (anna,):
        task, search = await _begun(anna)
        opened = anna.explorer._searches.get(search)
        assert opened is not None and opened.coordinator is not None

        async def broken(now_ms: int) -> None:
            raise MeshError("search.full")

        opened.coordinator._dealing.deal = broken  # type: ignore[method-assign]
        assert (await _refused(task))[0] == "search.full"
        assert (await has_status(anna, search, "stopped"), anna.explorer.running) == (True, 0)
        assert anna.explorer._searches._replicas == {}
        assert opened.watchers == []


async def test_room_for_pages_is_counted_to_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        await _open(anna, bruno)
        searches = bruno.explorer._searches
        held = bruno.explorer.tree_nodes
        monkeypatch.setattr(limits, "TREE_NODES_OPEN_MAX", held + 3)
        searches.check_room(3)
        with pytest.raises(MeshError) as full:
            searches.check_room(4)
        assert (full.value.code, full.value.detail) == ("search.full", {"nodes": held})
        monkeypatch.setattr(limits, "TREE_NODES_OPEN_MAX", held)
        with pytest.raises(MeshError):
            await _open(anna, bruno, _spec(anna, bruno, id="sea-AAAAAAAAAAAAAAAAAAAEY"))
        assert len(searches._replicas) == 1
