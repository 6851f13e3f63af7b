"""The resources of a Chromium: its SOCKS tunnel to the network, and its profile directory if it was launched."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

from filelock import FileLock

from adapters.browser.launch.profile_directory import (
    lock_profile_directory,
    make_profile_directory,
    remove_abandoned,
    remove_profile_directory,
)
from adapters.browser.wall import NO_PROXIES, Destinations, Entries, Proxies, Tunnel, Wall
from protocol.errors import MeshError


class BrowserResources:
    """Resources that end with their browser."""

    def __init__(
        self,
        profile_directory: Path,
        lock: FileLock,
        tunnel: Tunnel | None,
        entries: Entries | None,
        destinations: Destinations | None,
    ) -> None:
        self.profile_directory = profile_directory
        self._lock = lock
        self._tunnel = tunnel
        self.entries = entries
        """The ports of the tunnel; None without a tunnel."""
        self.destinations = destinations
        """None without a tunnel: names are then resolved elsewhere, and only literal addresses can be judged."""

    @classmethod
    async def made(cls, *, tunnel: bool, proxies: Proxies = NO_PROXIES) -> BrowserResources:
        """Fresh resources. proxies: those of the tunnel. Errors: ``browser.launch``."""
        await asyncio.to_thread(remove_abandoned)
        with contextlib.ExitStack() as undo:
            profile_directory = make_profile_directory()
            undo.callback(remove_profile_directory, profile_directory)
            lock = lock_profile_directory(profile_directory)
            undo.callback(lock.release)
            destinations = Destinations() if tunnel else None
            opened = Tunnel(destinations, proxies) if destinations is not None else None
            try:
                entries = await opened.start() if opened is not None else None
            except OSError as error:
                raise MeshError(
                    "browser.launch", "its tunnel to the network cannot be opened", reason="tunnel"
                ) from error
            undo.pop_all()
        return cls(profile_directory, lock, opened, entries, destinations)

    @property
    def wall(self) -> Wall | None:
        """The wall of the tunnel; None without one."""
        return self.destinations.wall if self.destinations is not None else None

    def cut(self) -> None:
        """From now on Chromium can send nothing through the tunnel."""
        if self._tunnel is not None:
            self._tunnel.cut()

    async def close(self) -> None:
        """Remove the resources. Never raises; a second call does nothing."""
        if self._tunnel is not None:
            await self._tunnel.close()
        await asyncio.to_thread(remove_profile_directory, self.profile_directory)
        self._lock.release()
