"""Explorers in one process share what each found, and agree on it; also after a restart."""

from __future__ import annotations

import asyncio

import pytest

from protocol.trust.grants import parse_grants
from tests.mesh_memory import GOAL_PATH, NEVER, MemoryMesh, MemoryNode, memory_mesh, shop_site, until
from tests.mesh_searches import have_visited, search_of

pytestmark = pytest.mark.virtual_time


async def _digests(search: str, nodes: list[MemoryNode]) -> set[bytes]:
    return {(await node.replica(search)).tree.digest() for node in nodes}


async def test_three_nodes_share_a_search_and_end_with_one_tree() -> None:
    async with memory_mesh("anna", "bruno", "carla") as nodes:
        anna = nodes[0]
        found = await anna.run()
        assert found.status == "done"
        _, spec, progress, replica, leases = await anna.explorer.view(found.id)
        assert progress.verified is not None
        assert {lease.worker for lease in leases} == {node.id for node in nodes}
        assert set(replica.tree.peers) == set(spec.participants)
        session = await anna.store.session(progress.verified.session)
        assert session is not None
        assert session.verdict == "pass"
        assert (await anna.store.steps(session.id))[-1].url.endswith(GOAL_PATH)
        assert all("POST" not in line for line in anna.site.reached)


async def test_after_every_node_has_restarted_the_shares_of_all_are_there_again() -> None:
    async with memory_mesh("anna", "bruno", "carla") as nodes:
        anna = nodes[0]
        task = asyncio.create_task(anna.run(NEVER))
        search = await search_of(anna)
        await until(lambda: have_visited(anna, search, nodes), "every node has visited something")
        found = await anna.explorer.stop(search)
        assert found.status == "stopped"
        assert (await task).status == "stopped"
        for node in nodes:
            await node.stop()
            await node.start()  # opens the search again and catches up
        again = asyncio.create_task(anna.explorer.resume(search, seconds=0, tell=lambda event: None))
        await until(lambda: have_visited(anna, search, nodes), "the shares of all are there again")
        again.cancel()
        await asyncio.gather(again, return_exceptions=True)


async def test_after_the_work_has_stopped_the_trees_are_the_same_bytes() -> None:
    async with memory_mesh("anna", "bruno", "carla") as nodes:
        anna = nodes[0]
        task = asyncio.create_task(anna.run(NEVER))
        search = await search_of(anna)
        await until(lambda: have_visited(anna, search, nodes), "every node has visited something")
        for node in nodes:
            # Pages that never answer: nothing new is learned, what was learned still travels.
            for browser in node.browsers_opened:
                browser.crash()
            node.site.documents.clear()
        await until(lambda: _converged(search, nodes), "equal digests")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert (await anna.store.search(search)).status == "stopped"  # type: ignore[union-attr]


async def _converged(search: str, nodes: list[MemoryNode]) -> bool:
    before = await _digests(search, nodes)
    await asyncio.sleep(0)
    return len(before) == 1


async def test_what_a_peer_may_not_push_is_not_pulled_either() -> None:
    mesh = MemoryMesh()
    anna, bruno = await mesh.add("anna"), await mesh.add("bruno")
    await mesh.pair(anna, bruno, grants=parse_grants("branch:accept,branch:assign,deltas:read"))
    task = asyncio.create_task(anna.run(NEVER))
    search = await search_of(bruno)
    await until(lambda: have_visited(anna, search, [anna]), "anna has visited something")
    opened = bruno.explorer._searches.get(search)
    assert opened is not None
    await opened.exchange.pull_from(anna.id)
    assert anna.id not in opened.replica.tree.peers
    assert await bruno.store.deltas(search, peer=anna.id) == []
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    for node in mesh.nodes:
        await node.stop()


async def test_deltas_go_on_when_a_peer_that_refused_takes_them_again() -> None:
    async with memory_mesh("anna", "bruno", site=shop_site(fanout=5, depth=5)) as (anna, bruno):
        task = asyncio.create_task(anna.run(NEVER))
        search = await search_of(bruno)
        await until(lambda: have_visited(bruno, search, [anna]), "bruno has heard of anna")
        bruno.server.trust({})
        await until(lambda: bruno.server.refusals.get("unknown", 0) > 1, "bruno has refused")
        await bruno.peers.load()
        heard = (await bruno.replica(search)).have(anna.id)

        async def more() -> bool:
            return (await bruno.replica(search)).have(anna.id) > heard

        await until(more, "bruno hears of anna again")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_worker_that_starts_again_opens_a_new_epoch_and_counts_nothing_twice() -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        task = asyncio.create_task(anna.run(NEVER))
        search = await search_of(anna)
        await until(lambda: have_visited(anna, search, [bruno]), "bruno has visited something")
        await bruno.crash()
        own = (await bruno.explorer._searches.read((await bruno.store.search(search)).spec)).tree  # type: ignore[union-attr]
        before = own.effort(bruno.id).visits
        bruno.site = shop_site(fanout=0, depth=0)  # from now on it learns nothing new
        bruno.site.documents.clear()
        await bruno.start()
        replica = await bruno.replica(search)
        assert replica.epoch == 2
        assert replica.tree.effort(bruno.id).visits == before

        async def seen() -> bool:
            return (await anna.replica(search)).have(bruno.id)[0] == 2

        await until(seen, "anna follows the new epoch")
        await until(lambda: _at_least(anna, search, bruno, before), "the whole share has come again")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _at_least(node: MemoryNode, search: str, of: MemoryNode, visits: int) -> bool:
    return (await node.replica(search)).tree.effort(of.id).visits >= visits
