"""Whatever left a node that was killed at any moment is in its log.

This file is also the process that is killed: ``python -m tests.e2e.test_log_crash HOME`` signs and sends until then.
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from nacl.signing import SigningKey

from adapters.clock.system import SystemClock
from adapters.storage.lock import locked
from adapters.storage.sqlite import SqliteStore
from node.signing.identity import Identity
from node.signing.log_check import audit_own
from node.signing.witness import Witness
from protocol.log import log_proof, witness_log

ROOT = Path(__file__).parents[2]
SEED = 20_260_731
KILLS = 8
SIGNERS = 6


def _witness(store: SqliteStore) -> Witness:
    return Witness(Identity(SigningKey(bytes([7]) * 32), SystemClock()), store, SystemClock())


async def _send_until_killed(home: Path) -> None:
    store = await SqliteStore.open(home)
    witness = _witness(store)
    await witness.load()

    async def send(signer: int) -> None:
        number = 0
        while True:
            number += 1
            made = await witness.artefact("delta", f"sea-{signer}", f"{number}".encode())
            # One write call and no buffer: the line is the artefact leaving the node.
            os.write(1, made.digest.hex().encode() + b"\n")
            if number % 3 == signer % 3:
                await store.put_artefact(made)

    await asyncio.gather(*(send(signer) for signer in range(SIGNERS)))


def _kill_a_sender(home: Path, seed: random.Random) -> list[bytes]:
    """Start a sender, kill it at a seeded moment; the digests of what it sent."""
    command = [sys.executable, "-m", "tests.e2e.test_log_crash", str(home)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(seed.randint(1, 60))]
        with suppress(subprocess.TimeoutExpired):  # it never ends by itself: this is the moment of the kill
            process.wait(timeout=seed.uniform(0, 0.02))
        process.kill()
        lines += process.stdout.readlines()
    assert process.returncode == -9
    return [bytes.fromhex(line.decode().strip()) for line in lines if line.endswith(b"\n")]


async def test_a_node_that_was_killed_has_sent_nothing_that_its_log_does_not_hold(tmp_path: Path) -> None:
    seed = random.Random(SEED)
    home, sent = tmp_path / "home", list[bytes]()
    for round_ in range(KILLS):
        now = await asyncio.to_thread(_kill_a_sender, home, seed)
        assert now, "the sender died before it sent anything"
        sent += now
        with locked(home):
            store = await SqliteStore.open(home)
            try:
                witness = _witness(store)
                await witness.load()
                audit = await audit_own(store, witness.node, witness.public_keys)
                assert audit.sound, (SEED, round_, audit)
                assert audit.logs[0].size == witness.log.checkpoint.size
                for digest in now:
                    assert log_proof.check(await witness.prove(digest)).log == witness_log.origin(witness.node, 0)
                assert len({leaf.digest for leaf in await store.log_leaves(0, limit=100_000)} & set(sent)) == len(sent)
            finally:
                await store.close()


if __name__ == "__main__":
    with locked(Path(sys.argv[1])):
        asyncio.run(_send_until_killed(Path(sys.argv[1])))
