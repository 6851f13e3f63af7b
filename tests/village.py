"""Whole nodes in one process, on real sockets: as they serve, but for the control socket and what is done by the hour."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import yaml

from adapters.clock.system import SystemClock
from node.api.node import Node
from node.process import wiring
from node.process.setup import init_home
from node.rooms import Rooms


class WrongClock(SystemClock):
    """The machine's clock, and how wrong it is."""

    def __init__(self, wrong_ms: int = 0) -> None:
        self.wrong_ms = wrong_ms

    def now_ms(self) -> int:
        return super().now_ms() + self.wrong_ms


class Village:
    """Makes nodes that serve."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[str, AsyncExitStack] = {}

    async def node(self, name: str, *, listen: str = "127.0.0.1:0", wrong_ms: int = 0, **more: object) -> Rooms:
        """A node that serves. more: fields of ``listen`` in its configuration."""
        home, made_from = self._folder / name, self._folder / f"{name}.yaml"
        made_from.write_text(yaml.safe_dump({"name": name, "listen": more}))
        init_home(home, name=None, listen=listen, config_file=str(made_from))
        return await self.open(name, wrong_ms=wrong_ms)

    async def open(self, name: str, *, wrong_ms: int = 0, serving: bool = True) -> Rooms:
        """A node that was made before."""
        stack = self._open[name] = AsyncExitStack()
        node = await stack.enter_async_context(wiring.open_node(self._folder / name, clock=WrongClock(wrong_ms)))
        if serving:
            await serve(node)
        return node.rooms

    async def stop(self, name: str) -> None:
        """End a node; its home stays."""
        await self._open.pop(name).aclose()

    async def close(self) -> None:
        for name in reversed(list(self._open)):
            await self.stop(name)


async def serve(node: Node) -> None:
    await node.rooms.trust.clock_mark.settle()
    node.rooms.serving.address = await node.rooms.ports.server.start(node.federation.handle)
    node.rooms.trust.reach.start(node.federation.handle)


async def pair(inviter: Rooms, joiner: Rooms) -> None:
    invite, _ = await inviter.pairing.invite([], [], 5)
    await joiner.pairing.join(invite, [], [], lambda found: None)
