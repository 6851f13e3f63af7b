"""Implements held connections as WebSockets (RFC 6455) inside the mutual TLS of the peer channel.

Pings in both directions detect within half a minute that the other side, or a router in between, has gone away.
"""

from __future__ import annotations

from typing import Final

import aiohttp
from aiohttp import web
from yarl import URL

from adapters.transport.held import EndedError
from protocol import limits
from protocol.errors import MeshError

HOLD_PATH: Final = "/peer/v1/reach/hold"
_CLOSE_TIMEOUT_S: Final = 1.0
_MESSAGE_BYTES_MAX: Final = limits.FRAME_PIECE_BYTES_MAX + limits.FRAME_BYTES_MAX


class WebSocketPipe:
    """A ``Pipe`` over either end of a WebSocket."""

    def __init__(self, socket: web.WebSocketResponse | aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket

    async def send(self, data: bytes) -> None:
        """Send ``data``. Errors: ``EndedError``."""
        try:
            await self._socket.send_bytes(data)
        except (ConnectionError, aiohttp.ClientError, RuntimeError) as error:
            # aiohttp raises RuntimeError for a socket whose other end has just gone.
            raise EndedError from error

    async def receive(self) -> bytes:
        """The next message. Errors: ``EndedError``, also for anything but a binary message within the limit."""
        message = await self._socket.receive()
        if message.type is not aiohttp.WSMsgType.BINARY:
            raise EndedError
        data: bytes = message.data
        return data

    async def close(self) -> None:
        """Close politely, within a second."""
        await self._socket.close()


async def accept(request: web.BaseRequest, keepalive_s: float) -> tuple[WebSocketPipe, web.WebSocketResponse]:
    """The acceptor's end. Errors: ``peer.protocol`` (no WebSocket handshake)."""
    socket = web.WebSocketResponse(
        timeout=_CLOSE_TIMEOUT_S, heartbeat=keepalive_s, compress=False, max_msg_size=_MESSAGE_BYTES_MAX
    )
    if not socket.can_prepare(request).ok:
        raise MeshError("peer.protocol", "a held connection must be a WebSocket")
    await socket.prepare(request)
    return WebSocketPipe(socket), socket


async def connect(session: aiohttp.ClientSession, url: URL, keepalive_s: float) -> WebSocketPipe:
    """The holder's end. Errors: those of aiohttp."""
    socket = await session.ws_connect(
        url,
        timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSE_TIMEOUT_S),
        heartbeat=keepalive_s,
        compress=0,
        max_msg_size=_MESSAGE_BYTES_MAX,
    )
    return WebSocketPipe(socket)
