"""A tunnel before a site that notes what arrives, and a client that speaks to it as Chromium does."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator

from adapters.browser.wall.destinations import Destinations
from adapters.browser.wall.tunnel import Entries, Tunnel
from adapters.browser.wall.wall import TunnelRefusal
from protocol.risk.requests.requests import GuardPolicy

OPEN = b"\x05\x00" + b"\x05\x00\x00\x01" + bytes(6)
WAIT_S = 120.0
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


class Walled:
    """A tunnel before a site that answers every request, and notes its bytes."""

    def __init__(self) -> None:
        self.destinations = Destinations()
        self.wall = self.destinations.wall
        self.told: list[TunnelRefusal] = []
        self.arrived = bytearray()
        self.port = 0
        self.entries = Entries(0, 0, 0)
        self.entry = 0
        """Of the tunnel with one entry for all kinds of traffic."""
        self.policy = GuardPolicy()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def site(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            self.arrived += data
            writer.write(OK)
        writer.close()

    async def admit(self, method: str, path: str) -> None:
        assert await self.destinations.refuse(self.origin + path, self.policy) is None
        self.wall.admit(method, self.origin + path)

    async def connect(self, entry: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, bool]:
        """A client that has asked for the site, and whether it may go on."""
        reader, writer = await asyncio.open_connection("127.0.0.1", entry)
        writer.write(b"\x05\x01\x00" + b"\x05\x01\x00\x01\x7f\x00\x00\x01" + self.port.to_bytes(2))
        async with asyncio.timeout(WAIT_S):
            answer = await reader.readexactly(len(OPEN))
        if answer != OPEN:
            writer.close()
        return reader, writer, answer == OPEN

    async def ask(self, *requests: bytes, entry: int = 0) -> list[bytes]:
        """What came back for each request over one connection; empty where the connection ended."""
        reader, writer, opened = await self.connect(entry or self.entries.http)
        answers = []
        for request in requests if opened else ():
            writer.write(request)
            async with asyncio.timeout(WAIT_S):
                try:
                    answers.append(await reader.read(1 << 10))
                except ConnectionError:
                    answers.append(b"")
        writer.transport.abort()
        return answers

    def get(self, path: str, method: str = "GET", more: str = "") -> bytes:
        return f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n{more}\r\n".encode()


def hello(*protocols: str) -> bytes:
    """The first message of TLS of a client that offers ``protocols``."""
    context = ssl.create_default_context()
    if protocols:
        context.set_alpn_protocols(list(protocols))
    outward = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), outward, server_hostname="shop.example")
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outward.read()


@contextlib.asynccontextmanager
async def running() -> AsyncIterator[Walled]:
    """One with a page open, and two tunnels: as for a launched browser, and as for one that was attached to."""
    made = Walled()
    server = await asyncio.start_server(made.site, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    made.wall.watch(made.told.append)
    made.wall.opens(made.policy)
    tunnels = Tunnel(made.destinations), Tunnel(made.destinations)
    made.entries, made.entry = await tunnels[0].start(), await tunnels[1].start_as_one()
    yield made
    for tunnel in tunnels:
        await tunnel.close()
    server.close()
