"""Measures the cost of the witness log: entering signed artefacts, and proving one of many."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from nacl.signing import SigningKey

from adapters.clock.system import SystemClock
from adapters.log_records import LeafRecord, LogRecord, Subtree
from adapters.storage.sqlite import SqliteStore
from benchmarks.registry import benchmark
from node.signing.identity import Identity
from node.signing.witness import Witness
from protocol.log import witness_log
from protocol.log.merkle_growth import Frontier
from protocol.log.witness_log import Checkpoint, entry_hash

SIGNERS = 32
"""Artefacts under way at once; a coordinator with 32 participants signs about as many together."""
ROUNDS = 40
LEAVES = 100_000
PROOFS = 300
_PAYLOAD = bytes(1_024)


@asynccontextmanager
async def _store() -> AsyncIterator[SqliteStore]:
    with tempfile.TemporaryDirectory() as directory:
        store = await SqliteStore.open(Path(directory))
        try:
            yield store
        finally:
            await store.close()


def _witness(store: SqliteStore) -> Witness:
    return Witness(Identity(SigningKey(bytes(32)), SystemClock()), store, SystemClock())


async def _append_per_s() -> float:
    async with _store() as store:
        witness = _witness(store)
        await witness.load()
        began = time.perf_counter()

        async def sign() -> None:
            for _ in range(ROUNDS):
                await witness.artefact("delta", "sea-benchmark", _PAYLOAD)

        await asyncio.gather(*(sign() for _ in range(SIGNERS)))
        return SIGNERS * ROUNDS / (time.perf_counter() - began)


@benchmark("log.append_per_s", unit="artefacts/s", target=500, direction="at least")
def append_per_s() -> float:
    """Artefacts of 1 KiB signed and entered per second through the store on disk, 32 signers at once (group commit)."""
    return asyncio.run(_append_per_s())


async def _sign_ms() -> float:
    async with _store() as store:
        witness = _witness(store)
        await witness.load()
        times = []
        for _ in range(200):
            began = time.perf_counter()
            await witness.artefact("delta", "sea-benchmark", _PAYLOAD)
            times.append(time.perf_counter() - began)
        return statistics.median(times) * 1_000


@benchmark("log.sign_ms", unit="ms", target=20, direction="at most")
def sign_ms() -> float:
    """Time until one artefact of 1 KiB is signed and on disk, with no other to share the transaction: the median."""
    return asyncio.run(_sign_ms())


async def _prove_us() -> float:
    async with _store() as store:
        witness = _witness(store)
        await witness.load()
        await _fill(store, witness)
        witness = _witness(store)
        await witness.load()
        times = []
        for number in range(PROOFS):
            digest = _digest(1 + number * 331 % (LEAVES - 1))
            began = time.perf_counter()
            await witness.prove(digest)
            times.append(time.perf_counter() - began)
        return statistics.median(times) * 1e6


def _digest(number: int) -> bytes:
    return number.to_bytes(32, "big")


async def _fill(store: SqliteStore, witness: Witness) -> None:
    """Make the log ``LEAVES`` long, in one transaction and without the artefacts."""
    frontier: Frontier = witness.log.frontier.copy()
    leaves, subtrees = list[LeafRecord](), dict[Subtree, bytes]()
    for index in range(frontier.count, LEAVES):
        leaves.append(LeafRecord(log=0, index=index, digest=_digest(index), kind="delta", subject=""))
        subtrees.update(frontier.append(entry_hash(_digest(index))))
    checkpoint = Checkpoint(node=witness.node, number=0, size=LEAVES, root=frontier.root)
    signed = witness_log.sign(checkpoint, witness.identity.key)
    await store.append_log(LogRecord(number=0, size=LEAVES, checkpoint=signed.encode()), leaves, subtrees)


@benchmark("log.prove_us", unit="us", target=2_000, direction="at most")
def prove_us() -> float:
    """Time of one inclusion proof in a log of 100,000 artefacts, read from disk: the median."""
    return asyncio.run(_prove_us())
