"""One Unix socket of the control API, which is put in its place safely."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import stat
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from aiohttp import web

from node.base.control_file import socket_path
from node.doors.connections import Connections, timed
from protocol import limits
from protocol.errors import MeshError

_BACKLOG: Final = 128


class ControlSocket:
    """Listens at one path and gives each request to ``handle``."""

    def __init__(self, path: Path, mode: int, handle: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> None:
        self._path = path
        self._mode = mode
        app = web.Application(client_max_size=limits.CONTROL_BODY_BYTES_MAX, middlewares=[timed])
        app.router.add_post("/v1/{verb}", handle)
        # A client that goes away (Ctrl-C) cancels its verb.
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=2)
        self._server: asyncio.Server | None = None
        self._connections = Connections(limits.CONTROL_CONNECTIONS_MAX, limits.CONTROL_CONNECTIONS_PER_USER_MAX)

    async def start(self, private: Path) -> None:
        """Listen. private: a directory of the same file system that nobody else can write to.

        Errors: ``config.invalid`` (something that is no socket is in its place).
        """
        await self._runner.setup()
        server = self._runner.server
        assert server is not None, "it was set up"
        bound = _bound(self._path, self._mode, private)
        self._server = await asyncio.get_running_loop().create_unix_server(
            lambda: self._connections.protocol(server), sock=bound, backlog=_BACKLOG
        )

    def remove(self) -> None:
        """Remove the socket from its path."""
        with contextlib.suppress(OSError):  # another file at this path is not ours to remove
            self._path.unlink()

    async def close(self) -> None:
        """End its connections. A second call does nothing."""
        if self._server is not None:
            self._server.close()
        await self._runner.cleanup()


def _bound(path: Path, mode: int, private: Path) -> socket.socket:
    """A socket at ``path`` with ``mode``.

    It replaces one that a crash may have left. It gets its mode in a private directory and is then moved to its place, because a
    change of mode by path could be redirected to another file. Errors: ``config.invalid``.
    """
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise MeshError("config.invalid", f"{path} is no socket: remove it, a socket of the node belongs there")
    made = socket.socket(socket.AF_UNIX)
    try:
        with tempfile.TemporaryDirectory(dir=private, prefix=".socket-") as directory:
            first = Path(directory) / path.name
            handle = os.open(directory, os.O_RDONLY)  # its path may be too long for a socket
            try:
                made.bind(socket_path(first, handle))
            finally:
                os.close(handle)
            first.chmod(mode)
            first.replace(path)
    except OSError as error:
        made.close()
        raise MeshError("config.invalid", f"the socket {path} cannot be made: {error.strerror}") from error
    made.setblocking(False)
    return made
