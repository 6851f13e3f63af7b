"""The one way from a launched Chromium to the network: a SOCKS5 proxy (RFC 1928) on loopback that passes bytes on.

It judges nothing: that is done before, request by request (``judge.BrowserJudge``). It is there because of what Chromium
does where it connects by itself: datagrams of a WebTransport, which no interception sees, are refused behind a proxy. And
because it can be cut: from then on nothing is sent, whatever Chromium still wants.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
from collections.abc import Iterator
from typing import Final

from protocol import limits

_VERSION: Final = 5
_NO_AUTHENTICATION: Final = b"\x05\x00"
_UNREACHABLE: Final = b"\x05\x04\x00\x01" + bytes(6)
_OPEN: Final = b"\x05\x00\x00\x01" + bytes(6)
_CHUNK_BYTES: Final = 128 * limits.KIB


class Tunnel:
    """Connects where it is asked to."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._open: set[asyncio.StreamWriter] = set()
        self._cut = False

    async def start(self) -> int:
        """Listen on a free port of loopback; the port."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_CHUNK_BYTES)
        return int(self._server.sockets[0].getsockname()[1])

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._cut or len(self._tasks) >= limits.TUNNEL_CONNECTIONS_MAX:
            writer.transport.abort()
            return
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with self._kept(writer), contextlib.suppress(OSError, EOFError, TimeoutError):
            async with asyncio.timeout(limits.HEADER_TIMEOUT_S):
                wanted = await _destination(reader, writer)
            if wanted is None:
                return
            try:
                async with asyncio.timeout(limits.NAVIGATION_TIMEOUT_MS / 1000):
                    there, back = await asyncio.open_connection(*wanted, limit=_CHUNK_BYTES, happy_eyeballs_delay=0.25)
            except (OSError, TimeoutError, UnicodeError):  # UnicodeError: a name that is none
                writer.write(_UNREACHABLE)
                return
            with self._kept(back):
                writer.write(_OPEN)
                await asyncio.gather(_pump(reader, back), _pump(there, writer))

    @contextlib.contextmanager
    def _kept(self, writer: asyncio.StreamWriter) -> Iterator[None]:
        if self._cut:
            writer.transport.abort()
        self._open.add(writer)
        try:
            yield
        finally:
            self._open.discard(writer)
            writer.close()

    def cut(self) -> None:
        """Drop every connection at once, and take no other. What was not sent until now never is."""
        self._cut = True
        for writer in self._open:
            writer.transport.abort()

    async def close(self) -> None:
        """Stop listening. Twice is once."""
        self.cut()
        if self._server is not None:
            self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _destination(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[str, int] | None:
    """Host and port that Chromium asks for; None if it speaks another language."""
    version, methods = await reader.readexactly(2)
    await reader.readexactly(methods)
    if version != _VERSION:
        return None
    writer.write(_NO_AUTHENTICATION)
    asked = await reader.readexactly(4)
    match asked[:3], asked[3]:
        case (b"\x05\x01\x00", 1):
            host = str(ipaddress.IPv4Address(await reader.readexactly(4)))
        case (b"\x05\x01\x00", 3):
            name = await reader.readexactly((await reader.readexactly(1))[0])
            host = name.decode("ascii", errors="replace")
        case (b"\x05\x01\x00", 4):
            host = str(ipaddress.IPv6Address(await reader.readexactly(16)))
        case _:
            return None
    return host, int.from_bytes(await reader.readexactly(2))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_CHUNK_BYTES):
        writer.write(data)
        await writer.drain()
    writer.write_eof()
