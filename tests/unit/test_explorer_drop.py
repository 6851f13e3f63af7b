"""Putting a peer out: its share is gone from every tree as if it had never been met, and nothing brings it back."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Any

import numpy as np
import pytest

from adapters.audit_records import AuditQuery
from adapters.search.writer import TreeWriter
from benchmarks.bench_tree import grow
from benchmarks.loop import longest_block
from node.explorer.coordinating.lease_desk import LeaseDesk
from node.explorer.explorer import _DISTRUSTED
from node.explorer.sharing.replica import Replica
from node.explorer.sharing.visit import Visit
from protocol.audit import read
from protocol.errors import MeshError
from protocol.goal.heuristics import Candidate
from protocol.page.actions.action import Click, Locator
from protocol.search import tree as tree_module
from protocol.search.delta import encode_delta
from protocol.search.entry import Register, encode_action, make_update, node_key
from protocol.search.lease import Event
from tests.mesh_memory import NEVER, ORIGIN, QuickClock, memory_mesh, until
from tests.mesh_searches import assignment_of, give_back, has_status, have_visited, leases_of, scripted, search_of
from tests.trees import node
from tests.unit.test_explorer_refusals import Writer, _finder, _refused, replica

__all__ = ["replica"]
OUT = "peer.unknown"
NAMES = ("oak", "elm", "ash", "fir", "yew", "ivy", "box", "bay")


def _said(writer: Writer, root: bytes, seed: int, nodes: int = 40) -> list[bytes]:
    """Sealed deltas: nodes up to three deep, some of them shared with whoever has another seed, visits, states, closings."""
    generator = random.Random(seed)
    keys, entries, stats = [root], {}, {}
    for _ in range(nodes):
        parent = generator.choice(keys[:12])
        name = f"{generator.choice(NAMES)} {generator.randrange(3)}"
        entry = node(name, parent, prior=generator.random(), risk=generator.randint(1, 4))
        if entry.key not in entries:
            entries[entry.key] = entry
            keys.append(entry.key)
    for key in keys:
        visits = generator.randrange(1, 9)
        state = bytes([generator.randrange(1, 6)]) * 16
        stats[key] = Register(visits=visits, value_sum=visits * 1000, best=5000, closed=visits == 8, state=state)
    payloads = [
        encode_delta(d) for half in (make_update(entries), make_update(stats=stats)) for d in writer.tree.flush(half)
    ]
    return [writer.seal(payload) for payload in payloads]


async def _receive(replica: Replica, writer: Writer, sealed: bytes) -> None:
    await replica.receive(writer.identity.node, writer.identity.public_key, sealed, _finder(writer))


async def _reopened(old: Replica, *trusted: Writer) -> Replica:
    """The same search after a restart, by a node that trusts the writers."""
    again = Replica(old.spec, old._witness, old._store, TreeWriter)
    keys = {writer.identity.node: writer.identity.public_key for writer in trusted}
    await again.load(_finder(old._witness.identity, *trusted), keys)
    return again


async def _own_work(replica: Replica) -> None:
    names = [Click(target=Locator(role="link", name=f"{name} 0")) for name in NAMES]
    replica.own.add_children(replica.root, [Candidate(action=action, prior=0.1, risk=1) for action in names])
    child = node_key(replica.root, encode_action(names[0]))
    replica.own.record(Visit(path=(child,), value=0.5, cost_ms=3, states={child: b"\x01" * 16}))
    await replica.flush()


def _seen(replica: Replica) -> dict[str, Any]:
    """Everything a worker asks a replica for."""
    keys = sorted(replica.tree._forest.index)
    return {
        "digest": replica.tree.digest(),
        "way": replica.view.descend(replica.root),
        "children": {key: replica.view.children(key) for key in keys},
        "choosable": {key: replica.view.choosable(key) for key in keys},
        "states": {state: replica.view.nearest_with_state(bytes([state]) * 16) for state in range(1, 6)},
    }


# --- one search ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
async def test_after_a_drop_everything_is_as_if_the_peer_had_never_been_met(
    replica: Replica, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: node/explorer/sharing/replica.py, Replica._forget."""
    monkeypatch.setattr(tree_module, "_DROPPED_AT_ONCE", 7)
    gone, stays = Writer(replica.spec.id, 9), Writer(replica.spec.id, 10)
    never = Replica(replica.spec, replica._witness, type(replica._store)(), TreeWriter)
    await never.load(_finder(replica._witness.identity), {})
    for target in (replica, never):
        await _own_work(target)
    for sealed in _said(gone, replica.root, seed):
        await _receive(replica, gone, sealed)
    for sealed in _said(stays, replica.root, seed + 100):
        await _receive(replica, stays, sealed)
        await _receive(never, stays, sealed)
    assert _seen(replica) != _seen(never)
    await replica.drop(gone.identity.node, OUT)
    assert _seen(replica) == _seen(never)
    await replica.drop(gone.identity.node, OUT)
    assert _seen(replica) == _seen(never)


async def test_a_dropped_peer_stays_out_after_a_restart_that_trusts_it(replica: Replica) -> None:
    gone = Writer(replica.spec.id, 9)
    first, *_ = deltas = _said(gone, replica.root, 1)
    for sealed in deltas:
        await _receive(replica, gone, sealed)
    await replica.drop(gone.identity.node, OUT)
    again = await _reopened(replica, gone)
    assert gone.identity.node not in again.tree.peers
    assert await _refused(_receive(again, gone, first)) == OUT
    assert await again._store.deltas(again.spec.id, peer=gone.identity.node) == []


async def test_an_offender_stays_out_after_a_restart_and_is_told_the_same(replica: Replica) -> None:
    """Guard: node/explorer/expulsions.py, Expulsions.of."""
    one, other = Writer(replica.spec.id, 9), Writer(replica.spec.id, 9)
    (said,), (denied,) = one.deltas(1), other.deltas(2)
    await _receive(replica, one, said)
    assert await _refused(_receive(replica, one, denied)) == "delta.equivocation"
    again = await _reopened(replica, one)
    assert await _refused(_receive(again, one, said)) == "delta.equivocation"
    assert one.identity.node not in again.tree.peers


async def test_a_delta_that_is_on_its_way_when_its_writer_is_dropped_is_refused(replica: Replica) -> None:
    gone = Writer(replica.spec.id, 9)
    entries, parent = {}, replica.root
    for number in range(1_200):
        entry = node(f"link {number}", parent)
        entries[entry.key] = entry
        parent = entry.key if number % 30 == 29 else parent
    (large,) = [gone.seal(encode_delta(delta)) for delta in gone.tree.flush(make_update(entries))]
    arriving = asyncio.create_task(_receive(replica, gone, large))
    await asyncio.sleep(0)  # it is being decoded now
    assert replica._merging.locked()
    await replica.drop(gone.identity.node, OUT)
    assert await _refused(arriving) == OUT
    assert gone.identity.node not in replica.tree.peers
    assert await replica._store.deltas(replica.spec.id, peer=gone.identity.node) == []


async def test_a_drop_that_is_cancelled_half_way_leaves_a_whole_tree(
    replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_module, "_DROPPED_AT_ONCE", 3)
    gone = Writer(replica.spec.id, 9)
    empty = replica.tree.digest()
    for sealed in _said(gone, replica.root, 1):
        await _receive(replica, gone, sealed)
    task = asyncio.create_task(replica.drop(gone.identity.node, OUT))
    before = len(replica.tree)
    await until(lambda: len(replica.tree) < before, "it has begun")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert replica.tree.digest() == empty
    assert (await _reopened(replica, gone)).tree.peers == replica.tree.peers


async def test_dropping_a_share_of_100_000_nodes_is_quick_and_blocks_nobody(replica: Replica) -> None:
    grow(replica.tree, 100_000)
    replica.uct.refresh(np.arange(replica.tree.rows, dtype=np.intp))
    with longest_block(time.thread_time) as block:
        began_s = time.thread_time()
        await replica.drop("alice", OUT)
        spent_s = time.thread_time() - began_s
    assert len(replica.tree) == 1
    assert spent_s < 0.5
    assert block[0] < 0.05


# --- every search ----------------------------------------------------------------------------------------------------


async def test_a_coordinator_takes_the_leases_of_a_dropped_worker_back_and_goes_on_with_the_others() -> None:
    async with memory_mesh("anna", "mallory", "carla", lease_seconds=60, lease_iterations=5) as nodes:
        anna, mallory, carla = nodes
        task = asyncio.create_task(anna.run(NEVER))
        search = await search_of(anna)
        await until(lambda: have_visited(anna, search, nodes), "everybody has explored")
        assert await anna.explorer.drop_peer(mallory.id) == 1
        (row,) = [read(kept.line) for kept in await anna.store.audit_find(AuditQuery(what="peer.expelled"))]
        assert (row.subject, row.note) == (mallory.id, {"search": search})
        (told,) = (await anna.store.feed(after=0, kind="search.expelled")).changes
        assert told.ids == (search, mallory.id)
        assert await leases_of(anna, search, mallory, "live") == []
        granted = len(await leases_of(anna, search, mallory))
        tree = (await anna.replica(search)).tree
        before = tree.effort(carla.id).visits
        await until(lambda: tree.effort(carla.id).visits > before + 3, "carla goes on")
        assert mallory.id not in tree.peers
        assert len(await leases_of(anna, search, mallory)) == granted
        assert await anna.store.deltas(search, peer=mallory.id) == []
        assert await anna.explorer.drop_peer(mallory.id) == 1  # twice is once
        await anna.stop()
        await asyncio.gather(task, return_exceptions=True)
        await anna.start()
        tree = (await anna.replica(search)).tree
        before = tree.effort(carla.id).visits
        await until(lambda: tree.effort(carla.id).visits > before, "and after a restart")
        assert mallory.id not in tree.peers
        assert len(await leases_of(anna, search, mallory)) == granted


async def test_a_lease_that_is_taken_back_while_it_is_being_signed_is_not_stored_as_live(replica: Replica) -> None:
    clock = QuickClock()
    desk = LeaseDesk(replica, replica._store, clock)
    lease = desk.grant(replica.root, replica.spec.coordinator, 60_000, 60_000)
    await desk.end(lease.id, Event.REVOKE)
    record = await desk.keep(lease, b"")
    assert record.status == "revoked"
    assert await replica._store.leases(replica.spec.id, status="live") == []
    assert replica.tree.lease_count[replica.tree.root] == 0


async def test_a_worker_leaves_the_searches_of_a_dropped_coordinator_with_the_work_it_was_given() -> None:
    async with memory_mesh("mallory", "bruno") as (mallory, bruno):
        bruno.step_s = 30.0
        task = asyncio.create_task(mallory.run(NEVER))
        search = await search_of(bruno)
        await until(lambda: leases_of(bruno, search, bruno, "live"), "bruno works")
        assert await bruno.explorer.drop_peer(mallory.id) == 1
        assert bruno.explorer.running == 0
        assert [lease.status for lease in await leases_of(bruno, search, bruno)] == ["revoked"]
        assert await bruno.store.deltas(search, peer=mallory.id) == []
        await bruno.stop()
        await bruno.start()
        assert await has_status(bruno, search, "declined")
        assert bruno.explorer.running == 0
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_search_that_is_over_is_cleaned_too_and_one_without_the_peer_is_left_alone() -> None:
    async with memory_mesh("anna", "mallory") as (anna, mallory):
        over = await anna.run()
        alone = await anna.explorer.run(
            goal="g",
            start_url=f"{ORIGIN}/",
            condition=NEVER,
            peers=[],
            seconds=3,
            seed=0,
            tell=lambda event: None,
        )
        assert mallory.id in (await anna.replica(over.id)).tree.peers
        before = (await anna.replica(alone.id)).tree.digest()
        assert await anna.explorer.drop_peer(mallory.id) == 1
        assert mallory.id not in (await anna.replica(over.id)).tree.peers
        assert (await anna.replica(alone.id)).tree.digest() == before
        assert await has_status(anna, over.id, "done")


async def test_a_drop_that_a_crash_interrupted_is_finished_at_the_next_start() -> None:
    async with memory_mesh("anna", "mallory") as (anna, mallory):
        over = await anna.run()
        await anna.explorer._expulsions.begin(mallory.id, _DISTRUSTED)  # and not a step further
        await anna.crash()
        await anna.start()
        assert mallory.id not in (await anna.replica(over.id)).tree.peers
        assert await anna.explorer._expulsions.pending() == []


async def test_a_claim_of_a_dropped_worker_is_not_replayed() -> None:
    async with memory_mesh("anna", "mallory", workers=0) as (anna, mallory):
        script = scripted(mallory)
        task = asyncio.create_task(anna.run())
        await until(lambda: script.of("branch/assign"), "an assignment")
        await anna.explorer.drop_peer(mallory.id)
        with pytest.raises(MeshError) as refused:
            await give_back(mallory, anna, assignment_of(script, 0), outcome="claim")
        assert refused.value.code == OUT
        assert await anna.store.sessions() == []
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
