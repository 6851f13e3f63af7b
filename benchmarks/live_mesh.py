"""Nodes in one process as they run in earnest: SQLite, real sockets, real rooms; only their browsers are in memory."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from adapters.ports.browser import OpenBrowser
from node.api.node import Node
from node.base.plain import plain
from node.process import wiring
from node.process.setup import init_home
from node.rooms import Rooms


class LiveNode:
    """One node that serves; commands go through its verbs."""

    def __init__(self, node: Node) -> None:
        self.node = node

    @property
    def rooms(self) -> Rooms:
        """The rooms of the node."""
        return self.node.rooms

    @property
    def id(self) -> str:
        """The node id."""
        return self.rooms.identity.node

    async def run(self, verb: str, **params: Any) -> Any:
        """The result of a verb, as a command prints it."""
        result = await self.node.dispatch(verb, json.dumps(params).encode(), lambda event: None)
        return plain(result)


@asynccontextmanager
async def serving(
    home: Path, name: str = "", *, config: str = "", browser: OpenBrowser | None = None
) -> AsyncIterator[LiveNode]:
    """The node of ``home``, created if it is not there yet, serving until the end of the block.

    config: YAML. browser: opened in the place of Chromium.
    """
    if not (home / "witness.key").exists():
        file = home.parent / f"{home.name}.yaml"
        file.write_text(config or "{}\n")
        init_home(home, name=name, listen=None, config_file=str(file))
    async with wiring.open_node(home, open_browser=browser) as node:
        rooms = node.rooms
        await rooms.log.exchange.round()
        await rooms.revocation.distrust.start()
        await rooms.explorer.start()
        await rooms.trust.clock_mark.settle()
        rooms.serving.address = await rooms.ports.server.start(node.federation.handle)
        rooms.trust.reach.start(node.federation.handle)
        yield LiveNode(node)
        await rooms.explorer.close()


async def pair(one: LiveNode, other: LiveNode, *grant: str) -> None:
    """Make them peers, by an invite."""
    invite = (await one.run("node.invite", grant=grant))["invite"]
    await other.run("node.join", invite=invite, grant=grant)


@asynccontextmanager
async def live_mesh(
    directory: Path, *names: str, config: str = "", browsers: Sequence[OpenBrowser | None] = ()
) -> AsyncIterator[list[LiveNode]]:
    """Serving nodes, each a peer of each other, with the scopes of an exploring peer."""
    async with AsyncExitStack() as stack:
        nodes: list[LiveNode] = []
        for number, name in enumerate(names):
            browser = browsers[number] if browsers else None
            opened = serving(directory / name, name, config=config, browser=browser)
            nodes.append(await stack.enter_async_context(opened))
        for number, node in enumerate(nodes):
            for other in nodes[:number]:
                await pair(other, node, "explore")
        yield nodes
