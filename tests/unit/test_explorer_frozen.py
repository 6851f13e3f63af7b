"""What becomes of the share of a peer that is frozen: out of the tree at once, and back if it is frozen no longer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.mesh_memory import NEVER, MemoryNode, memory_mesh, until
from tests.mesh_searches import have_visited, leases_of, search_of

pytestmark = pytest.mark.virtual_time


async def _ended(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def _visits(node: MemoryNode, search: str, of: MemoryNode) -> int:
    return (await node.replica(search)).tree.effort(of.id).visits


async def _is_without(node: MemoryNode, search: str, other: MemoryNode) -> bool:
    return other.id not in (await node.replica(search)).tree.peers


async def test_the_share_of_a_frozen_peer_leaves_the_tree_and_returns_with_its_standing() -> None:
    """Guard: node/explorer/open_searches.py, OpenSearches.weigh."""
    async with memory_mesh("anna", "bruno", "carla") as (anna, bruno, carla):
        task = asyncio.create_task(anna.run(NEVER))
        search = await search_of(anna)
        await until(lambda: have_visited(anna, search, [bruno, carla]), "visits of both")
        replica = await anna.replica(search)
        anna.peers.freeze(bruno.id, "log.unproven")
        before = await _visits(anna, search, bruno)
        await anna.explorer._searches.weigh(bruno.id)  # after the one that freezing began
        assert bruno.id not in replica.tree.peers
        await until(lambda: _no_lease(anna, search, bruno), "its leases have ended")
        assert await anna.store.deltas(search, peer=bruno.id), "what it said is kept"
        tree = (await anna.replica(search)).tree
        others = sum(tree.effort(peer).visits for peer in tree.peers)
        assert others > 0
        anna.peers.thaw(bruno.id)
        await until(lambda: _has_again(anna, search, bruno, before), "its share is back")
        await _ended(task)


async def _no_lease(node: MemoryNode, search: str, worker: MemoryNode) -> bool:
    return not await leases_of(node, search, worker, "live")


async def _has_again(node: MemoryNode, search: str, other: MemoryNode, visits: int) -> bool:
    return await _visits(node, search, other) >= visits > 0


async def test_the_share_of_a_peer_that_is_frozen_when_a_search_is_opened_is_left_out() -> None:
    """Guard: node/explorer/open_searches.py, OpenSearches._replica."""
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        task = asyncio.create_task(anna.run(NEVER))
        search = await search_of(anna)
        await until(lambda: have_visited(anna, search, [bruno]), "visits of bruno's")
        await anna.explorer.stop(search)
        await _ended(task)
        anna.peers.freeze(bruno.id, "log.unproven")
        assert await _is_without(anna, search, bruno), "also of one that is only looked at"
        again = asyncio.create_task(anna.explorer.resume(search, seconds=4_000, tell=lambda event: None))
        await until(lambda: anna.explorer.running, "it is open")
        assert await _is_without(anna, search, bruno)
        anna.peers.thaw(bruno.id)

        async def back() -> bool:
            return not await _is_without(anna, search, bruno)

        await until(back, "its share is back")
        await anna.explorer.stop(search)
        await _ended(again)
