"""A node in this process whose HTTP door is open, with an agent."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from node.api.node import Node
from node.config import CONFIG_FILE, DoorsConfig, HttpConfig
from node.doors.programs import ProgramDoors
from node.process.setup import init_home
from node.process.wiring import open_node
from node.verbs.nodes import agent as agent_verbs


class Served(NamedTuple):
    """A node with its HTTP door open."""

    node: Node
    address: str
    token: str
    """Of the agent ``shopper``."""

    doors: ProgramDoors

    @property
    def connections(self) -> int:
        """Number of connections to the door."""
        assert self.doors._http is not None
        return self.doors._http._listener._connections._users.total()

    @property
    def port(self) -> int:
        """The port of the door."""
        return int(self.address.rpartition(":")[2])


@contextlib.asynccontextmanager
async def served(home: Path, *scopes: str, origins: tuple[str, ...] = ()) -> AsyncIterator[Served]:
    """The node of ``home``, which is made if there is none. scopes: of the agent; by default live and read."""
    if not (home / CONFIG_FILE).exists():
        init_home(home, name="anna", listen="127.0.0.1:0", config_file=None, recovery_out=str(home.parent / "r.txt"))
        config = (home / CONFIG_FILE).read_text()
        (home / CONFIG_FILE).write_text(config.replace("sandbox: true", "sandbox: false"))
    async with open_node(home) as node:
        doors = ProgramDoors(
            home, DoorsConfig(http=HttpConfig(serve=True)), node.dispatch, node.agents, node.rooms.clock
        )
        address = node.rooms.serving.address = await doors.start()
        asked = msgspec.json.encode({"name": "shopper", "scopes": scopes or ("live", "read"), "origins": origins})
        added = await node.dispatch(agent_verbs.ADD.name, asked, lambda event: None)
        try:
            yield Served(node, address, added.token, doors)
        finally:
            await doors.close()
