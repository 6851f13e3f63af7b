"""A worker that takes branches and brings nothing gets fewer, then none; and nobody's costs are believed beyond what can be."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from adapters.search.writer import TreeWriter
from node.explorer.coordinating.coordinator import Coordinator
from protocol import limits
from protocol.errors import MeshError
from protocol.messages import BranchRenew, BranchRenewed, DeltaHave, DeltaPush, Spend
from protocol.search.delta import KIND, encode_delta
from protocol.search.entry import Register, make_update, root_key
from tests.mesh_memory import NEVER, MemoryNode, Script, memory_mesh, until
from tests.mesh_searches import assignment_of, give_back, lease_has_status, leases_of, scripted, search_of

pytestmark = pytest.mark.virtual_time

LAST = limits.EMPTY_LEASES_PER_PEER_MAX


async def _ended(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _coordinator(node: MemoryNode) -> Coordinator:
    found = node.explorer._searches.all()[0].coordinator
    assert found is not None
    return found


async def _gives_back_nothing(lazy: MemoryNode, to: MemoryNode, script: Script, number: int) -> int:
    """``lazy`` returns its ``number``-th assignment at once; how many milliseconds later it gets the next, if it gets one."""
    await until(lambda: len(script.of("branch/assign")) > number, f"assignment {number}")
    await give_back(lazy, to, assignment_of(script, number), outcome="spent")
    began_ms = to.mesh.clock.now_ms()
    if number + 1 < LAST:
        await until(lambda: len(script.of("branch/assign")) > number + 1, "the next")
    return to.mesh.clock.now_ms() - began_ms


async def _searches_on(coordinator: Coordinator) -> None:
    before_ms = coordinator.progress.used_ms
    await until(lambda: coordinator.progress.used_ms > before_ms + 2_000, "some turns of the search")


async def _pushes_a_delta(worker: MemoryNode, to: MemoryNode, search: str) -> None:
    update = make_update(stats={root_key(search): Register(visits=1, value_sum=0, best=0)})
    deltas = TreeWriter(worker.witness.genesis_key, search, 1).flush(update)
    sealed = [(await worker.witness.artefact(KIND, search, encode_delta(delta))).envelope for delta in deltas]
    await worker.calls.call(to.id, "deltas/push", DeltaPush(search=search, deltas=tuple(sealed)), DeltaHave)


async def test_a_worker_that_returns_branches_without_a_delta_gets_fewer_then_none_also_after_a_restart() -> None:
    """Guard: node/explorer/coordinating/diligence.py, Diligence.is_idle."""
    async with memory_mesh("anna", "lazy", workers=0, lease_seconds=600) as (anna, lazy):
        script = scripted(lazy)
        task = asyncio.create_task(anna.run(NEVER))
        search = await search_of(anna)
        waited = [await _gives_back_nothing(lazy, anna, script, number) for number in range(LAST)]
        assert waited[1] >= 3_000, "the second in a row costs a pause"
        assert waited[2] >= 6_000, "and each further one a longer pause"

        async def kept() -> bool:
            found = await anna.store.search(search)
            return found is not None and b"leases_empty" in found.state

        await until(kept, "the count is stored")
        for _ in range(2):
            anna.mesh.clock.ahead_ms += 100_000  # far beyond any pause
            await _searches_on(_coordinator(anna))
            assert len(script.of("branch/assign")) == LAST
            await anna.crash()
            await asyncio.gather(task, return_exceptions=True)
            await anna.start()
        await _pushes_a_delta(lazy, anna, search)
        await until(lambda: len(script.of("branch/assign")) > LAST, "a delta makes up for it")
        await anna.explorer.stop(search)


async def test_an_honest_worker_is_never_taken_for_an_idle_one() -> None:
    async with memory_mesh("anna", "bruno", lease_iterations=1) as (anna, bruno):
        task = asyncio.create_task(anna.run(NEVER))
        search = await search_of(anna)

        async def enough() -> bool:
            return len(await leases_of(anna, search, bruno, "done")) > 2 * LAST

        await until(enough, "many leases of bruno's")
        assert _coordinator(anna).progress.leases_empty.get(bruno.id, 0) <= 1, "but for deltas that are on their way"
        await _ended(task)


@pytest.mark.parametrize("spend", [Spend(steps=2**53), Spend(milliseconds=2**53), Spend(iterations=1_001)], ids=repr)
async def test_costs_that_cannot_be_are_refused_and_not_counted(spend: Spend) -> None:
    """Guard: node/explorer/coordinating/coordinator.py, Coordinator._check_spend."""
    async with memory_mesh("anna", "liar", workers=0, lease_seconds=600) as (anna, liar):
        script = scripted(liar)
        task = asyncio.create_task(anna.run(NEVER))
        await until(lambda: script.of("branch/assign"), "an assignment")
        held = assignment_of(script, 0)
        ask = BranchRenew(search=held.search, lease=held.lease, spend=spend)
        with pytest.raises(MeshError) as renewed:
            await liar.calls.call(anna.id, "branch/renew", ask, BranchRenewed)
        with pytest.raises(MeshError) as returned:
            await give_back(liar, anna, held, outcome="spent", spend=spend)
        assert (renewed.value.code, returned.value.code) == ("lease.spend", "lease.spend")
        await until(lambda: lease_has_status(anna, held.lease, "revoked"), "the branch is open again")
        record = await anna.store.lease(held.lease)
        assert record is not None
        assert record.spend == Spend()
        assert _coordinator(anna).progress.leases_empty == {liar.id: 1}
        await _ended(task)
