"""What one launched Chromium stands on: its directory, and its way to the network."""

from __future__ import annotations

import asyncio
from pathlib import Path

from filelock import FileLock

from adapters.browser.home import make_home, own_home, remove_abandoned, remove_home
from adapters.browser.tunnel import Tunnel


class Ground:
    """Ends with the browser."""

    def __init__(self, home: Path, lock: FileLock, tunnel: Tunnel | None, tunnel_port: int) -> None:
        self.home = home
        self._lock = lock
        self._tunnel = tunnel
        self.tunnel_port = tunnel_port
        """0 for none."""

    @classmethod
    async def made(cls, *, tunnel: bool) -> Ground:
        """A fresh one. Errors: ``browser.launch``."""
        await asyncio.to_thread(remove_abandoned)
        home = make_home()
        lock = own_home(home)
        if not tunnel:
            return cls(home, lock, None, 0)
        opened = Tunnel()
        return cls(home, lock, opened, await opened.start())

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
