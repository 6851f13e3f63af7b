"""Serving one shop until a signal ends it."""

import asyncio
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

from trailmesh.shop.app import serve_shop
from trailmesh.shop.config import ShopConfig


async def serve_until_stopped(config: ShopConfig, ready: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; ``ready`` gets the address once it answers. Raises ``OSError`` if the port is taken."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with serve_shop(config) as url:
        ready(url)
        await stop.wait()


def write_ready_file(path: Path, url: str) -> None:
    """Write the address for a script that waits for it."""
    # Renamed into place, so that whoever waits for the file never reads half of it.
    partial = path.with_name(path.name + ".part")
    partial.write_text(json.dumps({"url": url}) + "\n", encoding="utf-8")
    os.replace(partial, path)
