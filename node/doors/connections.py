"""Limits the connections of one listener in number and time.

aiohttp has no limit between the accepting of a connection and its handler, so connections are counted and timed here. Whoever can
connect needs no token for that, and must not keep others out.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final, cast

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from protocol import limits

_LINGER_S: Final = 1.0
_CREDENTIALS: Final = struct.Struct("3i")
"""``struct ucred``: process, user, group."""
_NOBODY: Final = -1
"""The user of a connection whose user is not known. All of them count as one."""


class Connections:
    """The connections of one listener: at most ``most``, and at most ``per_user`` of one user of this machine."""

    def __init__(self, most: int, per_user: int) -> None:
        self._most, self._per_user = most, per_user
        self._users: Counter[int] = Counter()

    def protocol(self, server: web.Server) -> web.RequestHandler:
        """A new connection, for ``create_server`` and ``create_unix_server``."""
        return _Connection(self, server)

    def admit(self, user: int) -> bool:
        """Count a connection of ``user``; False if there are too many."""
        if self._users.total() >= self._most or self._users[user] >= self._per_user:
            return False
        self._users[user] += 1
        return True

    def release(self, user: int) -> None:
        """An admitted connection has ended."""
        self._users[user] -= 1


@web.middleware
async def timed(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Tell the connection of ``request`` when its header is complete and when its answer is written."""
    connection = cast(_Connection, request.protocol)
    connection.request_begins()
    try:
        return await handler(request)
    finally:
        connection.request_ends()


class _Connection(web.RequestHandler):
    """One connection: counted for its user, and dropped when a header does not come in time."""

    def __init__(self, counted: Connections, server: web.Server) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=limits.KEEPALIVE_TIMEOUT_S,
            lingering_time=_LINGER_S,
            access_log=None,  # type: ignore[arg-type]  # None means no log; the annotation does not say so
        )
        self._counted = counted
        self._user: int | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._in_request = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        user = user_of(transport.get_extra_info("socket"))
        if self._counted.admit(user):
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
            self._counted.release(self._user)
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


def user_of(connection: socket.socket) -> int:
    """The id of the connecting user of a Unix socket; -1 for other sockets and on systems that do not report it as Linux does."""
    if not hasattr(socket, "SO_PEERCRED") or connection.family != socket.AF_UNIX:
        return _NOBODY
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(found)[1])
