"""Runs a node: doors open, searches resumed, housekeeping scheduled, everything taken down in order."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from apscheduler.schedulers.asyncio import AsyncIOScheduler

from node.api.control import ControlServer
from node.discover import announcement
from node.node import Node
from node.wiring import open_node
from protocol import ids
from protocol.errors import MeshError

log = logging.getLogger(__name__)

_SWEEP_EVERY_S = 30


async def serve(home: Path, ready: Callable[[dict[str, Any]], None]) -> None:
    """Serve until cancelled. Errors: ``node.not_initialised``, ``node.locked``, ``node.address_in_use``, ``store.*``."""
    async with open_node(home) as node:
        logging.basicConfig(
            stream=sys.stderr,
            level=node.config.log_level.upper(),
            format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        )
        logging.getLogger("apscheduler").setLevel(logging.WARNING)
        control = ControlServer(home, node.dispatch, node.clock)
        scheduler = AsyncIOScheduler(timezone="UTC")
        try:
            # Before peers can call: a result for a search that is not open yet would count as late.
            await node.explorer.start()
            node.address = await node.server.start(node.federation.handle)
            node.reach.start(node.federation.handle)
            if node.config.discovery.announce:
                await _announce(node)
            await control.start()
            scheduler.add_job(node.explorer.sweep, "interval", seconds=_SWEEP_EVERY_S, max_instances=1, coalesce=True)
            scheduler.start()
            ready(
                {
                    "node": node.identity.node,
                    "short": ids.short(node.identity.node),
                    "name": node.config.name,
                    "address": node.address,
                    "home": str(home),
                }
            )
            await asyncio.Event().wait()
        finally:
            if scheduler.running:
                scheduler.shutdown(wait=False)
            # First, so that commands that follow a search hear why it ends, and it is not taken for stopped by them.
            await node.explorer.close()
            await control.close()


async def _announce(node: Node) -> None:
    """Say on the local network that this node is there; it serves as well without."""
    try:
        said = announcement(node.identity.node, node.address, node.config.listen.advertise)
        await node.discovery.announce(said)
    except MeshError as error:
        log.warning("not announced: %s (%s)", error.message, error.remedy)
