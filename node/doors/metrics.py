"""Serves ``GET /metrics`` for Prometheus on a separate address; off unless the configuration sets a port.

It asks for no token. Pages in the browser that this node controls can reach loopback ports, but the same-origin policy prevents
them from reading the answer. DNS rebinding is refused by the ``Host`` header.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

from node.doors.door import Door
from node.doors.listener import Listener
from protocol import limits
from protocol.errors import MeshError

log = logging.getLogger(__name__)

DOOR: Final = Door(
    name="metrics",
    listens="`metrics.port` at `metrics.host`; off without a port",
    admits="whoever can connect",
    credential="none; `metrics.public: true` says that others than this machine may read them",
    origin="the `Host` header is the address, or localhost",
    connections=limits.METRICS_CONNECTIONS_MAX,
)


class MetricsServer:
    """Serves the text that ``render`` returns."""

    def __init__(
        self, host: str, port: int, render: Callable[[], Awaitable[bytes]], content_type: str, *, public: bool = False
    ) -> None:
        """public: accept any ``Host``, because the public names of this machine are not known."""
        self._public, self._render, self._content_type = public, render, content_type
        self._listener = Listener("metrics", host, port, DOOR.connections, 0)
        self._listener.app.router.add_get("/metrics", self._answer, allow_head=False)
        self._listener.app.router.add_route("*", "/{rest:.*}", self._nothing)

    async def start(self) -> str:
        """Listen. Returns the address. Errors: ``node.address_in_use``, ``config.invalid``."""
        await self._listener.start()
        return f"http://{self._listener.authority}/metrics"

    async def close(self) -> None:
        """Stop listening and close open connections. A second call does nothing."""
        await self._listener.close()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        """Checks, in order: method and path; ``Host``."""
        names = (self._listener.authority, f"localhost:{self._listener.port}")
        if not self._public and request.headers.get("Host") not in names:
            return await self._told(request, 421)
        try:
            return await self._told(request, 200, await self._render())
        except MeshError as error:
            log.warning("no metrics: %s", error)
            return await self._told(request, 503)

    async def _nothing(self, request: web.Request) -> web.StreamResponse:
        return await self._told(request, 404)

    async def _told(self, request: web.Request, status: int, body: bytes = b"") -> web.Response:
        """Answer, and close the connection. Who does not read the answer in time is dropped."""
        headers = {"Content-Type": self._content_type, "X-Content-Type-Options": "nosniff"}
        answer = web.Response(status=status, body=body, headers=headers)
        answer.force_close()
        try:
            async with asyncio.timeout(limits.BODY_TIMEOUT_S):
                await answer.prepare(request)
                await answer.write_eof()
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()
        return answer
