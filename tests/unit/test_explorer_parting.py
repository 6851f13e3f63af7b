"""How searches and their peers part: stopping, declining, removing, expelling; and what is refused to whom meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from node.explorer.expulsions import Expulsions
from node.explorer.open_searches import DECLINED
from node.explorer.progress import Progress
from protocol import limits
from protocol.errors import MeshError
from protocol.messages import (
    KIND_RESULT,
    BranchRenew,
    BranchRenewed,
    BranchResult,
    BranchReturn,
    BranchRevoke,
    DeltaHave,
    DeltaPush,
    DeltaShow,
    DeltaShown,
    Done,
    SearchClose,
    SearchOpen,
    Spend,
)
from protocol.trust.grants import parse_grants
from protocol.wire import cbor
from tests.mesh_memory import NEVER, MemoryNode, memory_mesh, until
from tests.mesh_searches import has_status, leases_of, scripted, search_of
from tests.twins.storage import MemoryStore
from tests.unit.test_explorer_opening import _begun, _ended, _kinds, _open, _open_again
from tests.unit.test_explorer_refusals import _sealed, _spec

pytestmark = pytest.mark.virtual_time
OTHER = "sea-AAAAAAAAAAAAAAAAAAAEY"


async def _refused(call: Any) -> tuple[str, str]:
    """Code and message; of a peer's refusal what the peer said."""
    with pytest.raises(MeshError) as refused:
        await call
    return refused.value.code, refused.value.message.partition(": ")[2] or refused.value.message


# --- what is answered ------------------------------------------------------------------------------------------------


async def test_every_refusal_to_open_a_search_says_why_and_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with memory_mesh("anna", "bruno", "carla") as (anna, bruno, carla):
        foreign = ("envelope.issuer", "the caller does not coordinate the search, or this node is not a participant")

        async def opened(by: MemoryNode, ask: SearchOpen) -> tuple[str, str]:
            return await _refused(by.calls.call(bruno.id, "search/open", ask, Done))

        assert (await opened(carla, _sealed(anna, _spec(anna, bruno))))[0] == foreign[0]
        assert (await opened(anna, _sealed(anna, _spec(anna, carla))))[0] == foreign[0]
        assert (await opened(anna, _sealed(carla, _spec(anna, bruno))))[0] == "envelope.issuer"
        assert (await opened(anna, _sealed(anna, _spec(anna, participants=(bruno.id, anna.id, bruno.id)))))[0] == (
            "message.invalid"
        )
        assert (await opened(anna, _sealed(anna, _spec(anna, participants=(bruno.id,)))))[0] == "message.invalid"
        assert (bruno.explorer.running, await bruno.store.searches()) == (0, [])
        monkeypatch.setattr(limits, "SEARCHES_OPEN_PER_PEER_MAX", 1)
        await _open(anna, bruno)
        code, message = await opened(anna, _sealed(anna, _spec(anna, bruno, id=OTHER)))
        assert (code, "1 of your searches" in message) == ("peer.limit", True)
        monkeypatch.setattr(limits, "SEARCHES_OPEN_MAX", 1)
        code, message = await opened(carla, _sealed(carla, _spec(carla, bruno, id=OTHER)))
        assert (code, "takes part in 1 searches" in message) == ("peer.limit", True)
        assert len(await bruno.store.searches()) == 1


async def test_what_a_removed_search_was_is_not_opened_again() -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        spec = await _open(anna, bruno)
        ask = SearchOpen(spec=(await bruno.store.searches())[0].spec)
        found, _ = await _stopped_and_removed(bruno, spec.id)
        assert found.status == DECLINED
        refused = await _refused(anna.calls.call(bruno.id, "search/open", ask, Done))
        assert refused[0] == "policy.refused"
        assert "removed" in refused[1]
        assert await bruno.store.searches() == []


async def _stopped_and_removed(node: MemoryNode, search: str) -> Any:
    await node.explorer.stop(search)
    return await node.explorer.remove(search)


@pytest.mark.parametrize("scope", ["branch:assign", "branch:accept", "deltas:read", "deltas:write"])
async def test_each_message_needs_its_scope(scope: str) -> None:
    wanted: dict[str, tuple[str, Any, Any]] = {
        "branch/revoke": ("branch:assign", BranchRevoke(search="", lease="lea-AAAAAAAAAAAAAAAAAAAB6"), Done),
        "deltas/push": ("deltas:write", DeltaPush(search="", deltas=()), DeltaHave),
        "deltas/show": ("deltas:read", DeltaShow(search="", writer="", epoch=1, seq=1), DeltaShown),
    }
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        spec = await _open(anna, bruno)
        await anna.mesh.pair(anna, bruno, parse_grants(scope))
        for route, (needs, ask, answer) in wanted.items():
            fields = {"search": spec.id} | ({"writer": anna.id} if route == "deltas/show" else {})
            call = anna.calls.call(bruno.id, route, msgspec.structs.replace(ask, **fields), answer)
            if needs == scope and route != "deltas/show":
                await call
            else:
                assert (await _refused(call))[0] == ("input.not_found" if needs == scope else "peer.scope")


async def test_only_the_coordinator_revokes_and_who_was_expelled_hears_why() -> None:
    async with memory_mesh("anna", "bruno", "carla") as (anna, bruno, carla):
        spec = await _open(anna, bruno, _spec(anna, bruno, carla))
        ask = BranchRevoke(search=spec.id, lease="lea-AAAAAAAAAAAAAAAAAAAB6")
        code, message = await _refused(carla.calls.call(bruno.id, "branch/revoke", ask, Done))
        assert (code, "only the coordinator" in message) == ("peer.scope", True)
        opened = bruno.explorer._searches.get(spec.id)
        assert opened is not None
        opened.replica.expelled[carla.id] = "delta.invalid"
        push = DeltaPush(search=spec.id, deltas=())
        assert (await _refused(carla.calls.call(bruno.id, "deltas/push", push, DeltaHave)))[0] == "delta.invalid"


async def test_renewals_and_results_of_a_search_that_this_node_does_not_lead_have_no_effect() -> None:
    async with memory_mesh("anna", "bruno", workers=0) as (anna, bruno):
        spec = await _open(anna, bruno)
        for search in (spec.id, OTHER):
            ask = BranchRenew(search=search, lease="lea-AAAAAAAAAAAAAAAAAAAB6", spend=Spend())
            assert await anna.calls.call(bruno.id, "branch/renew", ask, BranchRenewed) == BranchRenewed(live=False)
            result = BranchResult(
                search=search, lease="lea-AAAAAAAAAAAAAAAAAAAB6", branch=bytes(16), outcome="spent", spend=Spend()
            )
            sealed = anna.identity.artefact(KIND_RESULT, result.lease, result).envelope
            given = BranchReturn(search=search, result=sealed)
            assert await anna.calls.call(bruno.id, "branch/return", given, Done) == Done()
        task, search = await _begun(bruno)
        await anna.mesh.pair(bruno, anna, parse_grants("branch:assign"))
        ask = BranchRenew(search=search, lease="lea-AAAAAAAAAAAAAAAAAAAB6", spend=Spend())
        assert (await _refused(anna.calls.call(bruno.id, "branch/renew", ask, BranchRenewed)))[0] == "peer.scope"
        await _ended(task)


# --- stopping and removing -------------------------------------------------------------------------------------------


async def test_stopping_a_search_tells_its_workers_and_a_second_time_nobody() -> None:
    async with memory_mesh("anna", "bruno", workers=0, lease_seconds=600) as (anna, bruno):
        script = scripted(bruno)
        task, search = await _begun(anna)
        await until(lambda: script.of("branch/assign"), "a lease")
        assert (await anna.explorer.stop(search)).status == "stopped"
        assert (await task).status == "stopped"
        assert len(script.of("branch/revoke")) == 1
        assert (await anna.explorer.stop(search)).status == "stopped"
        assert len(script.of("branch/revoke")) == 1
        assert await _kinds(anna) == ["search.started", "search.ended"]


async def test_a_search_that_is_done_stays_so_when_it_is_stopped() -> None:
    async with memory_mesh("anna", workers=0) as (anna,):
        found = await anna.run(NEVER, seconds=1)
        assert (await anna.explorer.stop(found.id)).status == "failed"
        await anna.store.put_search(msgspec.structs.replace(found, status="done"))
        assert (await anna.explorer.stop(found.id)).status == "done"
        assert (await anna.explorer.resume(found.id, seconds=5, tell=lambda event: None)).status == "done"
        assert anna.explorer.running == 0


async def test_when_this_node_may_sign_no_more_every_search_ends_and_nobody_is_told() -> None:
    async with memory_mesh("anna", "bruno", workers=0, lease_seconds=600) as (anna, bruno):
        script = scripted(bruno)
        task, search = await _begun(anna)
        await until(lambda: script.of("branch/assign"), "a lease")
        theirs = _spec(bruno, anna, id=OTHER)
        await bruno.calls.call(anna.id, "search/open", _sealed(bruno, theirs), Done)
        await anna.explorer.stop_all()
        assert anna.explorer.running == 0
        assert (await task).status == "stopped"
        assert [await has_status(anna, each, "stopped") for each in (search, OTHER)] == [True, True]
        assert script.of("branch/revoke") == []


async def test_one_search_whose_end_cannot_be_written_down_does_not_keep_the_others_open() -> None:
    async with memory_mesh("anna", workers=0) as (anna,):
        tasks = [await _begun(anna, peers=[]) for _ in range(2)]
        await anna.store.remove_search(tasks[0][1])
        await anna.explorer.stop_all()
        assert anna.explorer.running == 0
        assert await has_status(anna, tasks[1][1], "stopped")
        for task, _ in tasks:
            await asyncio.gather(task, return_exceptions=True)


async def test_a_running_search_is_not_removed() -> None:
    async with memory_mesh("anna", workers=0) as (anna,):
        task, search = await _begun(anna)
        with pytest.raises(MeshError) as refused:
            await anna.explorer.remove(search)
        assert (refused.value.code, refused.value.detail) == ("search.state", {"search": search})
        assert refused.value.message == f"it is running: `trailmesh explore stop {search}` first"
        await anna.explorer.stop(search)
        await task
        found, freed = await anna.explorer.remove(search)
        assert (found.id, freed, await anna.store.searches()) == (search, {}, [])
        assert (await _kinds(anna))[-1] == "search.removed"
        with pytest.raises(MeshError) as unknown:
            await anna.explorer.remove(search)
        assert (unknown.value.code, unknown.value.detail) == ("input.not_found", {"id": search})


async def test_a_search_of_a_peer_that_is_stopped_here_is_open_to_it_again_once_it_is_resumed() -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        spec = await _open(anna, bruno)
        with pytest.raises(MeshError) as refused:
            await bruno.explorer.resume(spec.id, seconds=0, tell=lambda event: None)
        assert refused.value.code == "search.state"
        assert "coordinates this search" in refused.value.message
        assert (await bruno.explorer.stop(spec.id)).status == DECLINED
        assert bruno.explorer.running == 0
        assert (await _refused(_open_again(anna, bruno, spec)))[0] == "policy.refused"
        assert (await bruno.explorer.stop(spec.id)).status == DECLINED
        assert (await bruno.explorer.resume(spec.id, seconds=0, tell=lambda event: None)).status == "stopped"
        assert bruno.explorer.running == 0
        await _open_again(anna, bruno, spec)
        assert (bruno.explorer.running, await has_status(bruno, spec.id, "running")) == (1, True)
        await anna.calls.call(bruno.id, "search/close", SearchClose(search=spec.id), Done)
        assert (await bruno.explorer.stop(spec.id)).status == "done", "what is over cannot be declined"


# --- expelling -------------------------------------------------------------------------------------------------------


async def test_who_is_expelled_is_kept_with_the_first_reason_search_by_search() -> None:
    kept = Expulsions(MemoryStore())
    assert (await kept.of(OTHER), await kept.pending()) == ({}, [])
    await kept.add(OTHER, "one", "delta.invalid")
    await kept.add(OTHER, "two", "peer.unknown")
    await kept.add(OTHER, "one", "peer.unknown")
    assert await kept.of(OTHER) == {"one": "delta.invalid", "two": "peer.unknown"}
    assert await kept.of("sea-AAAAAAAAAAAAAAAAAAAFW") == {}
    await kept.begin("one", "peer.unknown")
    await kept.begin("two", "peer.unknown")
    assert await kept.pending() == ["one", "two"]
    await kept.finish("one")
    await kept.finish("nobody")
    assert await kept.pending() == ["two"]
    assert await kept.of(OTHER) == {"one": "delta.invalid", "two": "peer.unknown"}


async def test_who_is_dropped_parts_from_all_searches_open_and_stored_and_from_no_other() -> None:
    async with memory_mesh("anna", "bruno", "carla", workers=0, lease_seconds=600) as (anna, bruno, carla):
        scripts = {each.id: scripted(each) for each in (bruno, carla)}
        over = await anna.run(NEVER, seconds=1)
        alone, _ = await _begun(anna, peers=["carla"])
        task, search = await _begun(anna)
        theirs = _spec(bruno, anna, id=OTHER)
        await bruno.calls.call(anna.id, "search/open", _sealed(bruno, theirs), Done)
        await until(lambda: len(scripts[carla.id].of("search/open")) >= 2, "both are known to carla")
        assert await anna.explorer.drop_peer(bruno.id) == 3
        assert {each.spec.coordinator for each in anna.explorer._searches.all()} == {anna.id}
        assert await has_status(anna, OTHER, DECLINED)
        opened = anna.explorer._searches.get(search)
        assert opened is not None
        assert opened.replica.expelled == {bruno.id: "peer.unknown"}
        assert bruno.id not in opened.exchange.pushes_to
        assert await leases_of(anna, search, bruno, "live") == []
        assert (await anna.replica(over.id)).expelled == {bruno.id: "peer.unknown"}
        expelled = (await anna.store.feed(after=0, kind="search.expelled")).changes
        assert sorted(change.ids for change in expelled) == sorted(
            (each, bruno.id) for each in (over.id, search, OTHER)
        )
        assert await anna.explorer._expulsions.pending() == []
        for each in (alone, task):
            await _ended(each)


async def test_a_peer_that_is_frozen_while_it_works_loses_its_leases_and_its_reason_may_change() -> None:
    async with memory_mesh("anna", "bruno", workers=0, lease_seconds=600) as (anna, bruno):
        script = scripted(bruno)
        task = asyncio.create_task(anna.run(NEVER))
        search = await search_of(anna)
        await until(lambda: script.of("branch/assign"), "a lease")
        opened = anna.explorer._searches.get(search)
        assert opened is not None
        anna.peers.freeze(bruno.id, "log.unproven")
        await anna.explorer._searches.weigh(bruno.id)
        assert opened.replica.aside == {bruno.id: "log.unproven"}
        assert await leases_of(anna, search, bruno, "live") == []
        anna.peers.freeze(bruno.id, "log.equivocation")
        await anna.explorer._searches.weigh(bruno.id)
        assert opened.replica.aside == {bruno.id: anna.peers.frozen[bruno.id]}
        with pytest.raises(MeshError) as aside:
            opened.replica.check_welcome(bruno.id)
        assert aside.value.code == anna.peers.frozen[bruno.id]
        found = await anna.store.search(search)
        assert found is not None
        assert cbor.decode_as(found.state, Progress).reassigned == 0
        await _ended(task)
