"""A search that was removed: what its peers get back, and that it does not come again."""

from __future__ import annotations

import asyncio

import pytest

from node.explorer.showing.show import summarise
from protocol.errors import MeshError
from protocol.messages import DeltaHave, DeltaPush, SearchClose
from protocol.messages import Done as DoneAnswer
from tests.mesh_memory import NEVER, MemoryNode, memory_mesh, until
from tests.unit.test_explorer_bounds import _ended, _open_again, _opened

pytestmark = pytest.mark.virtual_time


async def _code(work: object) -> str:
    with pytest.raises(MeshError) as refused:
        await work  # type: ignore[misc]
    return refused.value.code


async def _kept_of(node: MemoryNode, peer: MemoryNode) -> int:
    return (await node.store.usage()).get(peer.id, 0)


async def test_a_search_that_runs_is_not_removed_on_either_side() -> None:
    """Guard: node/explorer/open_searches.py, OpenSearches.remove."""
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        task, search = await _opened(anna, bruno)
        for node in (anna, bruno):
            assert await _code(node.explorer.remove(search)) == "search.state"
            assert await node.store.search(search) is not None
        await _ended(task)


async def test_a_removed_search_gives_its_coordinator_the_disk_back_and_is_not_opened_again() -> None:
    """Guard: node/explorer/answers.py, Answers.on_open."""
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        task, search = await _opened(anna, bruno)

        async def heard() -> bool:
            return all([await bruno.store.deltas(search, peer=node.id) for node in (anna, bruno)])

        await until(heard, "deltas of both")
        await bruno.explorer.stop(search)
        before = await _kept_of(bruno, anna)
        bruno.peers.usage._bytes[anna.id] = bruno.peers.usage.bytes_max
        found, freed = await bruno.explorer.remove(search)
        assert (found.coordinator, freed[anna.id]) == (anna.id, before - await _kept_of(bruno, anna))
        assert freed[anna.id] > 1_000
        assert list(freed) == [anna.id], "its own share is nobody's disk"
        assert bruno.peers.usage.by_peer.get(anna.id, 0) == await _kept_of(bruno, anna), "it may send again at once"
        sealed = [delta.envelope for delta in await anna.store.deltas(search, peer=anna.id)][:1]
        assert (
            await _code(
                anna.calls.call(bruno.id, "deltas/push", DeltaPush(search=search, deltas=tuple(sealed)), DeltaHave)
            )
            == "input.not_found"
        )
        for restart in (False, True):
            if restart:
                await bruno.stop()
                await bruno.start()
                await asyncio.sleep(0.2)  # a node takes nothing that was issued in the second in which it began
            assert await _code(_open_again(anna, bruno, search)) == "policy.refused"
            assert await bruno.store.search(search) is None
        assert (
            await _code(anna.calls.call(bruno.id, "search/close", SearchClose(search=search), DoneAnswer))
            == "input.not_found"
        )
        await _ended(task)


async def test_a_removed_search_of_our_own_is_gone_for_every_verb() -> None:
    async with memory_mesh("anna") as (anna,):
        task = asyncio.create_task(anna.run(NEVER))
        await until(lambda: anna.explorer.running, "a search")
        search = anna.explorer._searches.all()[0].spec.id
        await anna.explorer.stop(search)
        await asyncio.gather(task, return_exceptions=True)
        await anna.explorer.remove(search)
        for work in (
            anna.explorer.remove(search),
            anna.explorer.stop(search),
            anna.explorer.resume(search, seconds=1, tell=lambda event: None),
            summarise(anna, search),  # type: ignore[arg-type]
        ):
            assert await _code(work) == "input.not_found"
        await anna.explorer.drop_peer("anybody")
