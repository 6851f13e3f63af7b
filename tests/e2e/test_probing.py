"""In a real Chromium: what a search reaches with probes and without, on a site of buttons that nobody understands."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import msgspec
import pytest

from adapters.browser.chromium import launcher
from node.config.settings import PolicyConfig
from node.live.probing import Probes
from protocol.goal.condition import Condition
from tests.mesh_memory import MemoryMesh, MemoryNode, QuickClock
from tests.sites.pages.backends import SETTINGS
from tests.sites.pages.doubtful import BEHIND, pages
from tests.sites.pages.server import PageServer

pytestmark = pytest.mark.browser

_NEVER = Condition(url="*/never")


@contextlib.asynccontextmanager
async def searching(*, probe: bool) -> AsyncIterator[tuple[MemoryNode, PageServer]]:
    """A node with a real browser, and the site."""
    server, mesh = PageServer(), MemoryMesh()
    mesh.clock, mesh.probes = QuickClock(1.0), True
    server.extra = pages()
    await server.start()
    node = await mesh.add("anna", lease_seconds=60, lease_iterations=20)
    try:
        await node.stop()
        node._open_browser = launcher(SETTINGS)  # type: ignore[assignment]
        node.config = msgspec.structs.replace(node.config, policy=PolicyConfig(probe=probe))
        await node.start()
        yield node, server
    finally:
        await node.stop()
        await server.stop()


async def explored(node: MemoryNode, server: PageServer) -> tuple[set[str], Probes]:
    """Search the site to its end: which hidden pages were reached, and what probes found."""
    found = await node.explorer.run(
        goal="find the page",
        start_url=f"{server.origin}/",
        condition=_NEVER,
        peers=[],
        seconds=90,
        seed=7,
        tell=lambda event: None,
    )
    reached = {request.removeprefix("GET ") for request in server.reached}
    return reached & BEHIND, (await node.explorer.view(found.id))[2].probes


async def test_probes_open_what_lies_behind_buttons_nobody_understands_and_change_nothing() -> None:
    async with searching(probe=False) as (node, server):
        before, _ = await explored(node, server)
    async with searching(probe=True) as (node, server):
        after, counts = await explored(node, server)
        wrote = [request for request in server.reached if not request.startswith("GET ") or "delete" in request]
    assert before == set()
    assert after == BEHIND
    assert wrote == []
    assert (counts.harmless, counts.writing) == (5, 7)
