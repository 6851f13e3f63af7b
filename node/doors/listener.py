"""One TCP port on which aiohttp serves a door."""

from __future__ import annotations

import asyncio
import errno
from typing import Final

from aiohttp import web

from node.doors.connections import Connections, timed
from protocol.errors import MeshError

_BACKLOG: Final = 128


class Listener:
    """Serves an application at one address."""

    def __init__(self, key: str, host: str, port: int, connections: int, body_bytes_max: int) -> None:
        """key: the part of the configuration that sets host and port, for errors."""
        self._key, self._host, self._port = key, host, port
        self.app = web.Application(client_max_size=body_bytes_max, middlewares=[timed])
        # A client that goes away ends its call.
        self._runner = web.AppRunner(self.app, access_log=None, handler_cancellation=True, shutdown_timeout=2)
        self._connections = Connections(connections, connections)
        self._server: asyncio.Server | None = None

    @property
    def authority(self) -> str:
        """Address and port."""
        return f"[{self._host}]:{self._port}" if ":" in self._host else f"{self._host}:{self._port}"

    @property
    def port(self) -> int:
        """The port; the one that the system chose, once it listens."""
        return self._port

    async def start(self) -> None:
        """Listen. Errors: ``node.address_in_use``, ``config.invalid``."""
        await self._runner.setup()
        server = self._runner.server
        assert server is not None, "it was set up"
        try:
            self._server = await asyncio.get_running_loop().create_server(
                lambda: self._connections.protocol(server), self._host, self._port, backlog=_BACKLOG
            )
        except OSError as error:
            await self._runner.cleanup()
            code = "node.address_in_use" if error.errno == errno.EADDRINUSE else "config.invalid"
            raise MeshError(code, f"{self._key}: cannot listen on {self.authority}") from error
        self._port = int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Stop listening and end open connections. Twice is once."""
        if self._server is not None:
            self._server.close()
            self._server = None
        await self._runner.cleanup()
