"""Two nodes with their capsules, in one process: the room as it is, over the in-memory network and store."""

from __future__ import annotations

import json
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest
from nacl.signing import SigningKey

from node.approvals import OwnerKeys
from node.capsules.exchange import CapsuleExchange, CookieHandles, Reporting
from node.capsules.logins import Capturing
from node.capsules.seal import Capsules, Endings, Kept, SealingKeys, Wanted
from node.capsules.seal.proving import no_live, unproven
from node.capsules.seal.uses import Killed, Report
from node.verbs.capsules.capsule import CapturedCapsule, CaptureParams, ExportParams, ImportParams, KeptCapsule
from node.verbs.nodes.owner import ChangeParams
from protocol.approval.owners import sign_change
from protocol.errors import MeshError
from protocol.trust.grants import parse_grants
from protocol.wire import cbor
from tests.capsules import CANARY, SHOP
from tests.mesh_memory import MemoryMesh, MemoryNode

GRANTS = parse_grants([f"capsule:offer={SHOP}", f"capsule:import={SHOP}"])
MACHINE = "m1"


async def unable(record: object) -> Killed:
    """No browser is there to end a login."""
    return Killed(dead=False, evidence="there is no browser here")


class CapsuleNode:
    """One node of the mesh with its capsules; ``again`` is the same node after a restart."""

    def __init__(self, node: MemoryNode, home: Path, *, machine: str = MACHINE, report: Report | None = None) -> None:
        self.node, self.home, self.machine = node, home, machine
        home.mkdir(exist_ok=True)
        self.keys = SealingKeys(home, node.witness, node.store, node.mesh.clock)
        self.owners = OwnerKeys(node.witness, node.store, node.mesh.clock)
        kept = Kept(
            node.witness,
            node.store,
            node.mesh.clock,
            node.peers,
            self.keys,
            machine=machine,
            is_owner=self.owners.is_active,
        )
        endings = Endings(kept)
        self.capsules = Capsules(kept, endings, report or Reporting(kept, node.calls, endings).report)
        self.capturing = Capturing(self.capsules, unproven, no_live)
        self.exchange = CapsuleExchange(self.capsules, node.calls, lambda: self.owners.owners, unable)
        self.handles = CookieHandles(self.capsules, self.exchange, node.calls)
        for route, handler in {**self.exchange.routes, **self.handles.routes}.items():
            node.api.serve(route, handler)

    async def load(self) -> CapsuleNode:
        """As at the start of a node."""
        await self.owners.load()
        await self.capsules.load()
        await self.capsules.tend()
        return self

    async def again(self, report: Report | None = None) -> CapsuleNode:
        """The node after a restart of its process."""
        await self.node.stop()
        await self.node.start()
        return await CapsuleNode(self.node, self.home, machine=self.machine, report=report).load()

    async def own(self, key: SigningKey) -> None:
        """Add the first owner."""
        change = self.owners.owners.change("add", "anna", bytes(key.verify_key))
        signed = sign_change(change, key, now_s=self.now_ms // 1000, unique=bytes(16))
        await self.owners.change(ChangeParams(by="first", change=cbor.encode(change).hex(), signed=signed.hex()))

    @property
    def now_ms(self) -> int:
        return self.node.mesh.clock.now_ms()

    async def capture(self, **more: Any) -> CapturedCapsule:
        """Capture the login of the shop; ``value`` of its cookie."""
        value = more.pop("value", CANARY)
        file = self.home.parent / f"{self.node.name}.json"
        cookie = {"name": "sid", "value": value, "domain": "shop.example", "path": "/", "expires": -1, "secure": True}
        stored = {"origin": SHOP, "localStorage": [{"name": "token", "value": f"{CANARY}-local"}]}
        file.write_text(json.dumps({"cookies": [cookie], "origins": [stored]}))
        usual: dict[str, Any] = {"name": "shop", "cross_installation": True, "cross_device": True}
        try:
            return await self.capturing.capture(CaptureParams(file=str(file), **usual | more))
        finally:
            file.unlink()

    async def use(self, text: str = "shop", **more: Any) -> str:
        """Use a capsule for a replay; the value of its first cookie."""
        usual: dict[str, Any] = {"origins": (SHOP,), "task": "replay", "level": 2, "holder": "one", "seconds": 60}
        async with self.capsules.using(text, Wanted(**usual | more)) as mounted:
            return mounted.state.cookies[0].value

    async def refused(self, text: str = "shop", **more: Any) -> str:
        """The code with which a use is refused."""
        try:
            await self.use(text, **more)
        except MeshError as error:
            return error.code
        return ""

    async def give(self, other: CapsuleNode, text: str = "shop", *, file: str = "shop.capsule") -> Path:
        """Export a capsule for ``other``; the file."""
        out = self.home.parent / file
        await self.exchange.export(ExportParams(capsule=text, to=other.node.name, out=str(out)))
        return out

    async def take(self, file: Path, *, slice: bool = False) -> KeptCapsule:
        """Import a file."""
        return await self.exchange.take_in(ImportParams(file=str(file), slice=slice))


async def two(mesh: MemoryMesh, home: Path, *, machines: tuple[str, str] = (MACHINE, MACHINE)) -> list[CapsuleNode]:
    """Alice and Bob, peers of each other, who may give each other capsules of the shop."""
    nodes = [await mesh.add(name) for name in ("alice", "bob")]
    await mesh.pair(nodes[0], nodes[1], GRANTS)
    made = [CapsuleNode(node, home / node.name, machine=machine) for node, machine in zip(nodes, machines, strict=True)]
    return [await node.load() for node in made]


async def code_of(waiting: Awaitable[object]) -> str:
    """The code of the error that it ends with."""
    with pytest.raises(MeshError) as caught:
        await waiting
    return caught.value.code
