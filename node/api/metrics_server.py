"""Serves ``GET /metrics`` for Prometheus on a separate address; off unless the configuration sets a port.

It answers this one request, with a deadline, and closes the connection after the answer. Pages in the browser that this node
controls can reach loopback ports, but the same-origin policy prevents them from reading the answer. DNS rebinding is refused by the
``Host`` header.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from protocol import limits
from protocol.errors import MeshError

log = logging.getLogger(__name__)

_CLOSE_TIMEOUT_S: Final = 1.0


class MetricsServer:
    """Serves the text that ``render`` returns."""

    def __init__(
        self, host: str, port: int, render: Callable[[], Awaitable[bytes]], content_type: str, *, public: bool = False
    ) -> None:
        """public: accept any ``Host``, because the public names of this machine are not known."""
        self._public = public
        self._host, self._port, self._render, self._content_type = host, port, render, content_type
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> str:
        """Listen. Returns the address. Errors: ``node.address_in_use``, ``config.invalid``."""
        try:
            self._server = await asyncio.start_server(
                self._accept, self._host, self._port, limit=limits.METRICS_HEADER_BYTES_MAX
            )
        except OSError as error:
            code = "node.address_in_use" if error.errno == errno.EADDRINUSE else "config.invalid"
            raise MeshError(code, f"metrics: cannot listen on {self._host}:{self._port}") from error
        self._port = self._server.sockets[0].getsockname()[1]
        return f"http://{self._authority}/metrics"

    @property
    def _authority(self) -> str:
        return f"[{self._host}]:{self._port}" if ":" in self._host else f"{self._host}:{self._port}"

    async def close(self) -> None:
        """Stop listening and close open connections. A second call does nothing."""
        if self._server is not None:
            self._server.close()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self._server = None

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._tasks) >= limits.METRICS_CONNECTIONS_MAX:
            writer.transport.abort()
            return
        # An explicit task: asyncio 3.11 logs an error when a task that it created for a connection is cancelled.
        task = asyncio.create_task(self._attend(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(limits.HEADER_TIMEOUT_S):
                head = await reader.readuntil(b"\r\n\r\n")
            status, body = await self._answer(head)
            writer.write(
                f"HTTP/1.1 {status}\r\nContent-Type: {self._content_type}\r\nContent-Length: {len(body)}\r\n"
                "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n".encode()
                + body
            )
            async with asyncio.timeout(limits.BODY_TIMEOUT_S):
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            log.debug("metrics: %s", type(error).__name__)
        finally:
            writer.close()
            try:
                async with asyncio.timeout(_CLOSE_TIMEOUT_S):
                    await writer.wait_closed()
            except (OSError, TimeoutError):
                writer.transport.abort()

    async def _answer(self, head: bytes) -> tuple[str, bytes]:
        """Checks, in order: method and path; ``Host``."""
        first, *lines = head.decode("latin-1").split("\r\n")
        if first.split(" ")[:2] != ["GET", "/metrics"]:
            return "404 Not Found", b""
        hosts = [value.strip() for name, _, value in (line.partition(":") for line in lines) if name.lower() == "host"]
        if not self._public and hosts != [self._authority] and hosts != [f"localhost:{self._port}"]:
            return "421 Misdirected Request", b""
        try:
            return "200 OK", await self._render()
        except MeshError as error:
            log.warning("no metrics: %s", error)
            return "503 Service Unavailable", b""
