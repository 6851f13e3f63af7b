"""Large deltas hold nobody up: neither as they come, nor after a restart, nor when the own share is written again."""

from __future__ import annotations

import asyncio
import gc
import math
import time
from collections.abc import Awaitable, Callable

from benchmarks.loop import longest_block
from node.explorer.sharing.replica import Replica
from protocol.goal.heuristics import Candidate
from protocol.page.actions.action import Click, Locator
from protocol.search.delta import encode_delta
from protocol.search.entry import NodeEntry, Register, make_update
from tests.trees import node
from tests.unit.test_explorer_drop import _receive, _reopened
from tests.unit.test_explorer_refusals import Writer, new_replica, replica

__all__ = ["replica"]
BLOCK_S_MAX = 0.05


def _entries(root: bytes, count: int) -> dict[bytes, NodeEntry]:
    keys, entries = [root], {}
    for number in range(count):
        entry = node(f"link {number}", keys[number // 30])
        entries[entry.key] = entry
        keys.append(entry.key)
    return entries


def _megabyte(writer: Writer, root: bytes) -> list[bytes]:
    """Sealed deltas of a megabyte together, as large as they may be."""
    deltas = writer.tree.flush(make_update(_entries(root, 8_000)))
    assert sum(len(delta.chunk) for delta in deltas) > 900_000
    return [writer.seal(encode_delta(delta)) for delta in deltas]


async def _least_block(run: Callable[[], Awaitable[None]]) -> float:
    """How long ``run`` blocks the loop, seconds. Again if it was too long, three times at most: other work only adds to it."""
    least = math.inf
    # What earlier tests left in this process is not the node's: a collection that walks over it can take 100 ms.
    gc.collect()
    gc.freeze()
    try:
        for _ in range(3):
            with longest_block(time.thread_time) as block:
                await run()
            least = min(least, block[0])
            if least < BLOCK_S_MAX:
                break
    finally:
        gc.unfreeze()
    return least


async def test_a_megabyte_of_deltas_blocks_the_loop_for_less_than_50_ms_as_it_comes_and_as_it_is_read_back(
    replica: Replica,
) -> None:
    """Guard: node/explorer/sharing/replica.py, _decoded."""
    writer = Writer(replica.spec.id)
    sealed = _megabyte(writer, replica.root)
    fresh = [replica, await new_replica(), await new_replica()]

    async def arrive() -> None:
        reader = fresh.pop()
        for delta in sealed:
            await _receive(reader, writer, delta)
        assert len(reader.tree) == 8_001

    async def open_again() -> None:
        again = await _reopened(replica, writer)
        assert again.tree.digest() == replica.tree.digest()

    assert await _least_block(arrive) < BLOCK_S_MAX
    assert await _least_block(open_again) < BLOCK_S_MAX


async def test_deltas_that_come_at_once_are_read_in_their_order_though_the_first_takes_longest(
    replica: Replica,
) -> None:
    writer = Writer(replica.spec.id)
    large = _megabyte(writer, replica.root)
    small = [
        writer.seal(encode_delta(d)) for d in writer.tree.flush(make_update(stats={replica.root: Register(visits=1)}))
    ]
    await asyncio.gather(*(_receive(replica, writer, delta) for delta in (*large, *small)))  # no gap is reported
    assert replica.have(writer.identity.node) == (1, len(large) + len(small))


async def test_a_thousand_small_deltas_are_read_back_without_holding_anybody_up(replica: Replica) -> None:
    writer = Writer(replica.spec.id)
    for delta in writer.deltas(*range(1, 1_001)):
        await _receive(replica, writer, delta)

    async def open_again() -> None:
        again = await _reopened(replica, writer)
        assert again.tree.effort(writer.identity.node).visits == 1_000

    assert await _least_block(open_again) < BLOCK_S_MAX


async def test_the_own_share_is_written_again_in_deltas_of_a_size_that_holds_nobody_up(replica: Replica) -> None:
    parents = [replica.root]
    for number in range(150):
        actions = [Click(target=Locator(role="link", name=f"{number} {n}")) for n in range(30)]
        replica.own.add_children(parents[number], [Candidate(action=a, prior=0.03, risk=1) for a in actions])
        parents += replica.own.children[parents[number]]
    await replica.flush()
    opened: list[Replica] = []

    async def open_again() -> None:
        opened.append(await _reopened(replica))
        assert (opened[-1].epoch, len(opened[-1].tree)) == (1 + len(opened), 4_501)

    assert await _least_block(open_again) < BLOCK_S_MAX
    own = await replica._store.deltas(replica.spec.id, peer=replica._witness.node, epoch=opened[-1].epoch)
    assert len(own) > 10
    assert max(len(record.envelope) for record in own) < 64 * 1024
