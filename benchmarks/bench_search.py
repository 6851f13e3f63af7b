"""Measures the cost of sending a long share to a peer that joins late."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Final

from adapters.ports.records import DeltaRecord
from adapters.search.writer import TreeWriter
from benchmarks.live_mesh import LiveNode, serving
from benchmarks.registry import benchmark
from node.explorer.sharing.exchange import Exchange
from node.explorer.sharing.log_proofs import LogProofs
from node.explorer.sharing.replica import Replica
from protocol import ids
from protocol.goal.condition import Condition
from protocol.messages import DeltaPull, SearchSpec
from protocol.recording.records.session import Profile
from protocol.search.delta import KIND, encode_delta
from protocol.search.entry import Register, make_update

SHORT: Final = 2_000
LONG: Final = 20_000
ROUNDS: Final = 3
_CONFIG: Final = "log_level: error\nexplore: {workers: 0}\n"
_BATCH: Final = 500


def _spec(coordinator: str, number: int) -> SearchSpec:
    return SearchSpec(
        id=ids.make_id("sea", bytes([number]) * ids.ID_RANDOM_BYTES),
        coordinator=coordinator,
        goal="anything",
        start_url="https://shop.example/",
        condition=Condition(url="*/never"),
        profile=Profile(),
        participants=(coordinator,),
        seconds=600,
        created_ms=1,
        seed=0,
    )


async def _share(writer: LiveNode, spec: SearchSpec, count: int) -> Exchange:
    """``writer`` has ``count`` deltas of its own, one visit each, as if the search had gone on for long."""
    rooms = writer.rooms
    identity, made = rooms.identity, list[DeltaRecord]()
    replica = Replica(spec, rooms.witness, rooms.store, TreeWriter)
    document = TreeWriter(identity.genesis_key, spec.id, 1)
    for visits in range(1, count + 1):
        (delta,) = document.flush(make_update(stats={replica.root: Register(visits=visits)}))
        sealed = identity.artefact(KIND, spec.id, encode_delta(delta)).envelope
        made.append(DeltaRecord(search=spec.id, peer=identity.node, epoch=1, seq=delta.seq, envelope=sealed))
    for start in range(0, count, _BATCH):
        await asyncio.gather(*map(rooms.store.append_delta, made[start : start + _BATCH]))
    replica.epoch, replica.seq = 1, document.seq
    proofs = LogProofs(rooms.log.exchange.demand, rooms.clock)
    return Exchange(replica, rooms.trust.calls, rooms.store, rooms.clock, proofs)


async def _handed_over(exchange: Exchange, spec: SearchSpec) -> float:
    """Seconds until every delta has been handed over, message by message, to a peer that has none."""
    began, epoch, seq, more = time.perf_counter(), 0, 0, True
    while more:
        batch = await exchange.answer_pull("", DeltaPull(search=spec.id, epoch=epoch, after_seq=seq))
        epoch, seq, more = 1, seq + len(batch.deltas), batch.more
    assert seq == exchange._replica.seq, "all of it came"
    return time.perf_counter() - began


async def _growth() -> float:
    """The rounds of both lengths take turns, so that whatever else the machine does meets both alike."""
    with tempfile.TemporaryDirectory() as directory:
        async with serving(Path(directory) / "a", "a", config=_CONFIG) as writer:
            shares = []
            for count in (SHORT, LONG):
                spec = _spec(writer.id, count % 251)
                shares.append((spec, await _share(writer, spec, count)))
            rounds = [[await _handed_over(exchange, spec) for spec, exchange in shares] for _ in range(ROUNDS)]
    short, long = (statistics.median(times) for times in zip(*rounds, strict=True))
    return float((long / LONG) / (short / SHORT))


@benchmark("search.catch_up_growth", unit="ratio", target=1.3, direction="at most")
def catch_up_growth() -> float:
    """Time for each delta until a share of 20,000 has been handed over to a peer that has nothing of it, over that of 2,000.

    As the sender answers it, from the store on disk; what the peer does with a delta does not depend on how many there are.
    """
    return asyncio.run(_growth())
