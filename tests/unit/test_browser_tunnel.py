"""The tunnel of a launched browser: a client that leaves takes up no place in it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from adapters.browser.wall.destinations import Destinations
from adapters.browser.wall.tunnel import Tunnel
from protocol import limits
from protocol.risk.requests.requests import GuardPolicy

WAIT_S = 120.0
OPEN = b"\x05\x00" + b"\x05\x00\x00\x01" + bytes(6)

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Narrow:
    """A tunnel with one place, and a site that answers nothing and never ends a connection."""

    def __init__(self) -> None:
        self.reached: asyncio.Queue[Streams] = asyncio.Queue()
        self.ports = (0, 0)

    async def ask(self) -> Streams:
        """A client that has asked for the site."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.ports[0])
        writer.write(b"\x05\x01\x00" + b"\x05\x01\x00\x01\x7f\x00\x00\x01" + self.ports[1].to_bytes(2))
        return reader, writer

    async def opened(self) -> Streams:
        """A client that was told that the way is open, as soon as there is a place for it."""
        async with asyncio.timeout(WAIT_S):
            while True:
                reader, writer = await self.ask()
                try:
                    assert await reader.readexactly(len(OPEN)) == OPEN
                except (asyncio.IncompleteReadError, ConnectionError):
                    writer.close()
                else:
                    return reader, writer


@pytest.fixture
async def narrow(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Narrow]:
    monkeypatch.setattr(limits, "TUNNEL_CONNECTIONS_MAX", 1)
    made = Narrow()
    site = await asyncio.start_server(lambda *streams: made.reached.put_nowait(streams), "127.0.0.1", 0)
    destinations = Destinations()
    tunnel = Tunnel(destinations)
    made.ports = ((await tunnel.start()).http, site.sockets[0].getsockname()[1])
    url = f"http://127.0.0.1:{made.ports[1]}/"
    assert await destinations.refuse(url, GuardPolicy()) is None
    destinations.wall.opens(GuardPolicy())
    destinations.wall.admit("GET", url)
    yield made
    await tunnel.close()
    site.close()
    while not made.reached.empty():
        made.reached.get_nowait()[1].transport.abort()


@pytest.mark.parametrize("connects", [True, False], ids=["and then connects", "and never does"])
async def test_a_client_that_leaves_while_the_site_is_connected_frees_its_place(
    narrow: Narrow, monkeypatch: pytest.MonkeyPatch, connects: bool
) -> None:
    loop = asyncio.get_running_loop()
    connect, begun, far = loop.sock_connect, asyncio.Event(), asyncio.Event()

    async def slow(sock: socket.socket, address: tuple[str, int]) -> None:
        if address[1] == narrow.ports[1]:
            begun.set()
            await far.wait()
        await connect(sock, address)

    monkeypatch.setattr(loop, "sock_connect", slow)
    _, writer = await narrow.ask()
    async with asyncio.timeout(WAIT_S):
        await begun.wait()
    writer.close()
    await writer.wait_closed()
    if connects:
        far.set()
    monkeypatch.setattr(loop, "sock_connect", connect)
    _, second = await narrow.opened()
    second.close()


async def test_a_client_that_leaves_a_site_that_never_ends_frees_its_place(narrow: Narrow) -> None:
    _, first = await narrow.opened()
    async with asyncio.timeout(WAIT_S):
        site = await narrow.reached.get()
    first.close()
    _, second = await narrow.opened()
    async with asyncio.timeout(WAIT_S):
        assert await site[0].read() == b"", "the site is told that the client has left"
    second.close()
    site[1].transport.abort()


async def test_what_a_site_sends_before_it_ends_comes_whole(narrow: Narrow) -> None:
    reader, writer = await narrow.opened()
    async with asyncio.timeout(WAIT_S):
        _, site = await narrow.reached.get()
        site.write(bytes(4 * limits.MIB))
        site.close()
        assert len(await reader.read()) == 4 * limits.MIB
    writer.close()
