"""One Unix socket of the control API: it is put in its place safely, and its connections are limited in number and time.

aiohttp has no limit between the accepting of a connection and its handler, so connections are counted and timed here. Whoever can
connect needs no token for that, and must not keep others out.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import stat
import struct
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, cast

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from node.base.control_file import socket_path
from protocol import limits
from protocol.errors import MeshError

_BACKLOG: Final = 128
_LINGER_S: Final = 1.0
_CREDENTIALS: Final = struct.Struct("3i")
"""``struct ucred``: process, user, group."""


class ControlSocket:
    """Listens at one path and gives each request to ``handle``."""

    def __init__(self, path: Path, mode: int, handle: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> None:
        self._path = path
        self._mode = mode
        app = web.Application(client_max_size=limits.CONTROL_BODY_BYTES_MAX, middlewares=[_timed])
        app.router.add_post("/v1/{verb}", handle)
        # A client that goes away (Ctrl-C) cancels its verb.
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=2)
        self._server: asyncio.Server | None = None
        self._users: Counter[int] = Counter()

    async def start(self, private: Path) -> None:
        """Listen. private: a directory of the same file system that nobody else can write to.

        Errors: ``config.invalid`` (something that is no socket is in its place).
        """
        await self._runner.setup()
        bound = _bound(self._path, self._mode, private)
        self._server = await asyncio.get_running_loop().create_unix_server(
            self._connected, sock=bound, backlog=_BACKLOG
        )

    def _connected(self) -> _Connection:
        assert self._runner.server is not None, "it was set up"
        return _Connection(self, self._runner.server)

    def admit(self, user: int) -> bool:
        """Count a connection of ``user``; False if there are too many."""
        if self._users.total() >= limits.CONTROL_CONNECTIONS_MAX:
            return False
        if self._users[user] >= limits.CONTROL_CONNECTIONS_PER_USER_MAX:
            return False
        self._users[user] += 1
        return True

    def release(self, user: int) -> None:
        """An admitted connection has ended."""
        self._users[user] -= 1

    def remove(self) -> None:
        """Remove the socket from its path."""
        with contextlib.suppress(OSError):  # another file at this path is not ours to remove
            self._path.unlink()

    async def close(self) -> None:
        """End its connections. A second call does nothing."""
        if self._server is not None:
            self._server.close()
        await self._runner.cleanup()


class _Connection(web.RequestHandler):
    """One connection: counted for its user, and dropped when a header does not come in time."""

    def __init__(self, owner: ControlSocket, server: web.Server) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=limits.KEEPALIVE_TIMEOUT_S,
            lingering_time=_LINGER_S,
            access_log=None,  # type: ignore[arg-type]  # None means no log; the annotation does not say so
        )
        self._owner = owner
        self._user: int | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._in_request = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        user = _user_of(transport.get_extra_info("socket"))
        if self._owner.admit(user):
            self._user = user
            self._expect_header()
        else:
            cast(asyncio.Transport, transport).abort()

    def data_received(self, data: bytes) -> None:
        # The first byte of a request starts its clock; between requests only the keep-alive timeout runs.
        if not self._in_request and self._timer is None:
            self._expect_header()
        super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._stop_timer()
        if self._user is not None:
            self._owner.release(self._user)
        super().connection_lost(exc)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        # Anybody who can connect can cause this at will. It is no fault of the node, and must not fill its reports and log.
        if isinstance(exc, HttpProcessingError) and request.writer.output_size == 0:
            refusal = web.Response(status=status, text="this is no HTTP request, or its head is too long\n")
            refusal.force_close()
            return refusal
        return super().handle_error(request, status, exc, message)

    def request_begins(self) -> None:
        """The header is complete."""
        self._in_request = True
        self._stop_timer()

    def request_ends(self) -> None:
        """The answer is written."""
        self._in_request = False

    def _expect_header(self) -> None:
        transport = self.transport
        assert transport is not None, "it has just connected, or sent something"
        self._timer = asyncio.get_running_loop().call_later(limits.HEADER_TIMEOUT_S, transport.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


@web.middleware
async def _timed(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    connection = cast(_Connection, request.protocol)
    connection.request_begins()
    try:
        return await handler(request)
    finally:
        connection.request_ends()


def _user_of(connection: socket.socket) -> int:
    """The id of the connecting user; -1 on systems that do not report it as Linux does, where all count as one user."""
    if not hasattr(socket, "SO_PEERCRED"):
        return -1
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(found)[1])


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
