"""What becomes of a leased branch: lost workers, late, repeated and foreign results, a crash amid leasing."""

from __future__ import annotations

import asyncio

import pytest

from adapters.ports.records import LeaseRecord
from protocol.errors import MeshError
from protocol.messages import KIND_RESULT, BranchResult, BranchReturn, Done, Spend
from tests.mesh_memory import NEVER, memory_mesh, until
from tests.mesh_searches import assignment_of, give_back, has_status, lease_has_status, leases_of, scripted, search_of
from tests.twins.storage import MemoryStore

pytestmark = pytest.mark.virtual_time


async def test_the_lease_of_a_lost_worker_expires_and_its_branch_is_dealt_again() -> None:
    async with memory_mesh("anna", "bruno", "carla", lease_seconds=2) as (anna, bruno, _):
        bruno.step_s = 5.0  # bruno is in the middle of a branch when it is lost
        task = asyncio.create_task(anna.run(NEVER))
        search = await search_of(anna)
        (lost,) = await until(lambda: leases_of(anna, search, bruno, "live"), "a lease of bruno's")
        await until(lambda: leases_of(bruno, search, bruno, "live"), "bruno has taken it")
        coordinator = anna.explorer._searches.all()[0].coordinator
        assert coordinator is not None
        handing = f"lease {lost.id}"
        await until(lambda: handing not in {t.get_name() for t in coordinator._tasks._running}, "and has said so")
        await bruno.crash()
        await until(lambda: lease_has_status(anna, lost.id, "expired"), "the lease is over")

        async def dealt_again() -> bool:
            leases = await anna.store.leases(search)
            return any(lease.branch == lost.branch and lease.id != lost.id for lease in leases)

        await until(dealt_again, "its branch is dealt again")
        assert (await anna.explorer.view(search))[2].reassigned >= 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_late_result_and_a_repeated_one_do_no_harm() -> None:
    """Guard: protocol/search/lease.py, LeaseBook.expire_due."""
    async with memory_mesh("anna", "bruno", workers=0, lease_seconds=2) as (anna, bruno):
        script = scripted(bruno)
        task = asyncio.create_task(anna.run(NEVER))
        search = await search_of(anna)
        await until(lambda: script.of("branch/assign"), "an assignment")
        late = assignment_of(script, 0)
        await until(lambda: leases_of(anna, search, bruno, "expired"), "the lease is over")
        for _ in range(2):
            await give_back(bruno, anna, late, outcome="spent")
        record = await anna.store.lease(late.lease)
        assert record is not None
        assert record.status == "expired"
        assert record.result
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await give_back(bruno, anna, late, outcome="spent")  # the search has ended: still no harm


async def test_a_result_for_the_lease_of_another_is_refused() -> None:
    """Guard: node/explorer/coordinating/coordinator.py, Coordinator.take_result."""
    async with memory_mesh("anna", "bruno", "carla", workers=0) as (anna, bruno, carla):
        script, _ = scripted(bruno), scripted(carla)
        task = asyncio.create_task(anna.run(NEVER))
        await until(lambda: script.of("branch/assign"), "an assignment")
        with pytest.raises(MeshError) as refused:
            await give_back(carla, anna, assignment_of(script, 0), outcome="claim", claim=())
        assert refused.value.code == "lease.unknown"
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_result_is_taken_from_its_worker_only() -> None:
    """Guard: node/explorer/answers.py, Answers.on_return."""
    async with memory_mesh("anna", "bruno", "carla", workers=0) as (anna, bruno, carla):
        script, _ = scripted(bruno), scripted(carla)
        task = asyncio.create_task(anna.run(NEVER))
        await until(lambda: script.of("branch/assign"), "an assignment")
        given = assignment_of(script, 0)
        result = BranchResult(
            search=given.search, lease=given.lease, branch=given.branch, spend=Spend(), outcome="spent"
        )
        sealed = (await bruno.witness.artefact(KIND_RESULT, given.lease, result)).envelope
        with pytest.raises(MeshError) as refused:
            await carla.calls.call(anna.id, "branch/return", BranchReturn(search=given.search, result=sealed), Done)
        assert refused.value.code == "envelope.issuer"
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_stopping_a_search_revokes_its_leases_and_the_work_ends() -> None:
    async with memory_mesh("anna", "bruno", lease_seconds=60, lease_iterations=100) as (anna, bruno):
        task = asyncio.create_task(anna.run(NEVER))
        search = await search_of(anna)
        await until(lambda: leases_of(bruno, search, bruno, "live"), "bruno works")
        (await anna.explorer.stop(search))
        assert (await task).status == "stopped"
        assert await leases_of(anna, search, bruno, "live") == []
        assert [lease.status for lease in await leases_of(bruno, search, bruno)] == ["revoked"]
        assert bruno.explorer.running == 1  # it can be resumed, so bruno keeps it open


async def test_two_live_leases_of_one_branch_left_by_a_crash_do_not_keep_a_search_from_going_on() -> None:
    async with memory_mesh("anna", "bruno", workers=0) as (anna, bruno):
        scripted(bruno)
        task = asyncio.create_task(anna.run(NEVER))
        search = await search_of(anna)
        (lease,) = await until(lambda: leases_of(anna, search, bruno, "live"), "a lease")
        await anna.crash()
        await asyncio.gather(task, return_exceptions=True)
        older = LeaseRecord(
            id="lea-AAAAAAAAAAAAAAAAAAAC4",
            search=search,
            branch=lease.branch,
            worker=bruno.id,
            status="live",
            expires_ms=lease.expires_ms,
            assignment=lease.assignment,
        )
        kept = await anna.store.lease(lease.id)
        assert kept is not None
        anna.store = await _reordered(anna.store, search, [older, kept])
        await anna.start()
        await until(lambda: lease_has_status(anna, "lea-AAAAAAAAAAAAAAAAAAAC4", "expired"), "the older one is over")
        assert await has_status(anna, search, "running")


async def _reordered(store: MemoryStore, search: str, leases: list[LeaseRecord]) -> MemoryStore:
    """A copy of a store whose leases are these."""
    copy = MemoryStore()
    for peer in await store.peers():
        await copy.put_peer(peer)
    for found in await store.searches():
        await copy.put_search(found)
    for delta in await store.deltas(search):
        await copy.append_delta(delta)
    for lease in leases:
        await copy.put_lease(lease)
    return copy
