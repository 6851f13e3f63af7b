"""Checks that a node with the maximum number of peers does not block while it tells all of them about its log."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import tempfile
import time
from pathlib import Path
from typing import Final

from adapters.ports.records import PeerRecord
from benchmarks.live_mesh import LiveNode, serving
from benchmarks.loop import longest_block
from benchmarks.registry import benchmark
from protocol import ids, limits
from protocol.log.witness_log import acquaintance

ROUNDS: Final = 2
_CONFIG: Final = "log_level: error\nexplore: {workers: 0}\n"


async def _crowd(node: LiveNode, port: int) -> None:
    """Give ``node`` 1,000 peers that all know each other. They are away: each call is made up, sealed and refused."""
    rooms = node.rooms
    keys = [os.urandom(32) for _ in range(limits.PEERS_MAX)]
    peers = [
        PeerRecord(
            node=ids.node_id(key),
            name="peer",
            public_key=key,
            addresses=(f"https://127.0.0.1:{port}",),
            grants={},
            paired_ms=1,
        )
        for key in keys
    ]
    await asyncio.gather(*map(rooms.store.put_peer, peers))
    await rooms.trust.peers.load()
    everybody = [peer.node for peer in peers]
    for peer in everybody:  # what each said when it was last heard
        tags = (acquaintance(node.id, peer, other) for other in everybody if other != peer)
        rooms.log.exchange._tags[peer] = b"".join(tags)


async def _block_ms() -> float:
    with tempfile.TemporaryDirectory() as directory, socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # bound, and nobody listens: nothing else gets this port
        async with serving(Path(directory) / "node", "node", config=_CONFIG) as node:
            await _crowd(node, nobody.getsockname()[1])
            gc.collect()  # as `node serve` does
            gc.freeze()
            blocks = []
            for _ in range(ROUNDS):
                with longest_block(time.thread_time) as longest:
                    await node.rooms.log.exchange.round()
                blocks.append(longest[0])
            gc.unfreeze()
            return max(blocks) * 1_000


@benchmark("mesh.loop_block_ms_1000", unit="ms", target=50, direction="at most")
def loop_block() -> float:
    """The longest time the event loop computes without a break in a round of log syncs with 1,000 peers; the worst of rounds.

    Computing time of the loop's thread: what other programs do meanwhile does not count.
    """
    return asyncio.run(_block_ms())
