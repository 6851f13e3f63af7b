"""What one launched Chromium stands on: its directory, and its way to the network."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

from filelock import FileLock

from adapters.browser.destinations import Destinations
from adapters.browser.home import make_home, own_home, remove_abandoned, remove_home
from adapters.browser.tunnel import Tunnel
from protocol.errors import MeshError


class Ground:
    """Ends with the browser."""

    def __init__(
        self,
        home: Path,
        lock: FileLock,
        tunnel: Tunnel | None,
        tunnel_port: int,
        destinations: Destinations | None,
    ) -> None:
        self.home = home
        self._lock = lock
        self._tunnel = tunnel
        self.tunnel_port = tunnel_port
        """0 for none."""
        self.destinations = destinations
        """None without a tunnel: names are resolved elsewhere then, and only addresses that are written out can be judged."""

    @classmethod
    async def made(cls, *, tunnel: bool) -> Ground:
        """A fresh one. Errors: ``browser.launch``."""
        await asyncio.to_thread(remove_abandoned)
        with contextlib.ExitStack() as undo:
            home = make_home()
            undo.callback(remove_home, home)
            lock = own_home(home)
            undo.callback(lock.release)
            destinations = Destinations() if tunnel else None
            opened = Tunnel(destinations) if destinations is not None else None
            try:
                port = await opened.start() if opened is not None else 0
            except OSError as error:
                raise MeshError("browser.launch", "its way to the network cannot be made", reason="tunnel") from error
            undo.pop_all()
        return cls(home, lock, opened, port, destinations)

    def cut(self) -> None:
        """From now on Chromium sends nothing, if its way leads through the tunnel."""
        if self._tunnel is not None:
            self._tunnel.cut()

    async def close(self) -> None:
        """Remove it. Never raises; twice is once."""
        if self._tunnel is not None:
            await self._tunnel.close()
        await asyncio.to_thread(remove_home, self.home)
        self._lock.release()
