"""Nodes that pair, over the in-memory twins."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from node.pairing.pairing_desk import PairingDesk
from node.pairing.sas_desk import Meeting
from protocol.pairing.invite import Invite
from tests.mesh_memory import MemoryMesh, MemoryNode
from tests.twins.pairing import MemoryPairingClient, PairingNetwork

READ, LEARN = "session:read", "deltas:read"
FACTOR = 20
"""So many seconds of the clocks of nodes pass in one of the event loop."""


class Desk:
    """A node that pairs."""

    def __init__(self, node: MemoryNode, network: PairingNetwork) -> None:
        self.node, self.network = node, network
        self.pairing = PairingDesk(
            node.identity,
            node.config,
            node.store,
            node.mesh.clock,
            node.changes,
            lambda: network.server(node.identity.key),
            MemoryPairingClient(network),
        )
        self.sas = self.pairing.sas
        self.found: list[Invite] = []
        self.waiting: list[tuple[str, int]] = []

    @property
    def now_s(self) -> int:
        return self.node.mesh.clock.now_ms() // 1000

    async def invite(self, *, minutes: int = 5) -> str:
        return (await self.pairing.invite([READ], [LEARN], minutes))[0]

    async def join(self, text: str) -> Any:
        return await self.pairing.join(text, [LEARN], [READ], self.found.append)

    async def begin(self, address: str, fingerprint: str = "") -> Meeting:
        return await self.sas.begin(address, [LEARN], [READ], fingerprint=fingerprint)

    def wait(self, *, seconds: int = 60, fingerprint: str = "") -> asyncio.Task[Meeting]:
        return asyncio.create_task(
            self.sas.wait(
                [READ],
                [],
                fingerprint=fingerprint,
                seconds=seconds,
                waiting=lambda address, expires_s: self.waiting.append((address, expires_s)),
            )
        )

    async def address(self) -> str:
        """Where the window is that was opened last."""
        while not self.waiting:  # noqa: ASYNC110  (in virtual time)
            await asyncio.sleep(0.001)
        return self.waiting[-1][0]

    def peers(self) -> list[str]:
        return [record.name for record in self.node.peers.records()]


@contextlib.asynccontextmanager
async def two_desks() -> AsyncIterator[tuple[Desk, Desk]]:
    """Anna and Bruno, who do not know each other; no listener is left at the end."""
    mesh, network = MemoryMesh(), PairingNetwork()
    anna, bruno = [Desk(await mesh.add(name), network) for name in ("anna", "bruno")]
    yield anna, bruno
    for desk in (anna, bruno):
        await desk.pairing.close()
        await desk.pairing.close()
        await desk.node.stop()
    await asyncio.sleep(0)
    assert not anna.sas._tasks | bruno.sas._tasks
    assert network.listening == {}
