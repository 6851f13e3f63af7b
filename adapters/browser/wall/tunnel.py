"""A SOCKS5 proxy (RFC 1928) on loopback: the only network connection of a launched Chromium, and of our contexts in an attached
one. It forwards bytes unchanged.

Requests are judged before, one by one (``judge.BrowserJudge``). The tunnel is a second wall behind that: it opens a connection
only to a destination that a guard has let through a moment ago, and of plain HTTP it forwards only requests that a guard has let
through (``wall.Wall``). It resolves names itself, so a connection leads only to the place that was judged
(``destinations.Destinations``). Behind a proxy, Chromium refuses datagrams of WebTransport, which no interception sees. The tunnel
can also be cut: from then on nothing is sent, whatever Chromium tries.

A launched Chromium uses one port each for plain HTTP, TLS and WebSockets. A context of an attached one has a single port, where
the first bytes show the kind (``relays.Entrance``).
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple, cast

from adapters.browser.wall.destinations import Attempt, Destinations
from adapters.browser.wall.proxies import NO_PROXIES, Proxies, ProxyError
from adapters.browser.wall.relays import Entrance, Relay, checked
from protocol import limits

_VERSION: Final = 5
_NO_AUTHENTICATION: Final = b"\x05\x00"
_UNREACHABLE: Final = b"\x05\x04\x00\x01" + bytes(6)
_OPEN: Final = b"\x05\x00\x00\x01" + bytes(6)


class Entries(NamedTuple):
    """Ports of loopback where a browser asks for connections."""

    http: int
    https: int
    sockets: int


class Tunnel:
    """Connects where it is asked to, if its wall permits."""

    def __init__(self, destinations: Destinations, proxies: Proxies = NO_PROXIES) -> None:
        """proxies: those through which it connects to some sites."""
        self._proxies = proxies
        self._destinations = destinations
        self._wall = destinations.wall
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._open: set[asyncio.Transport] = set()
        self._cut = False
        self._expected: dict[str, asyncio.Event] = {}

    async def start(self) -> Entries:
        """Listen on free ports of loopback."""
        for scheme in ("http", "https", "ws"):
            self._servers.append(await asyncio.start_server(partial(self._accept, scheme), "127.0.0.1", 0))
        return Entries(*(int(server.sockets[0].getsockname()[1]) for server in self._servers))

    async def start_as_one(self) -> int:
        """Listen on one free port of loopback for all kinds of traffic."""
        self._servers.append(await asyncio.start_server(partial(self._accept, ""), "127.0.0.1", 0))
        return int(self._servers[0].sockets[0].getsockname()[1])

    def expects(self, host: str) -> asyncio.Event:
        """An event that is set once a connection to ``host`` is asked for. There is no such host: nothing is connected."""
        self._expected[host] = asyncio.Event()
        return self._expected[host]

    def _accept(self, scheme: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._cut or len(self._tasks) >= limits.TUNNEL_CONNECTIONS_MAX:
            writer.transport.abort()
            return
        task = asyncio.ensure_future(self._serve(scheme, reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, scheme: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        here = cast(asyncio.Transport, writer.transport)
        with self._kept(here), contextlib.suppress(OSError, EOFError, TimeoutError):
            async with asyncio.timeout(limits.HEADER_TIMEOUT_S):
                wanted = await _destination(reader, writer)
            if wanted is None or reader.at_eof() or here.is_closing():
                return
            if wanted[0] in self._expected:
                self._expected[wanted[0]].set()
                return
            inward = await self._admitted(scheme, *wanted)
            if inward is None:  # before its name is looked up, because a lookup can leak data too
                writer.write(_UNREACHABLE)
                return
            outward = Relay()
            # A SOCKS client sends no data before the reply, so the reader's buffer is empty here.
            here.set_protocol(inward)
            task = asyncio.current_task()
            assert task is not None
            inward.ended.add_done_callback(lambda _: task.cancel())  # the client has gone
            loop = asyncio.get_running_loop()
            try:
                async with asyncio.timeout(limits.NAVIGATION_TIMEOUT_MS / 1000):
                    ways = await self._destinations.ways(*wanted)
                    connected = await self._proxies.connected(scheme, *wanted, ways)
                    there, _ = await loop.create_connection(lambda: outward, sock=connected)
            except (OSError, TimeoutError, UnicodeError) as error:  # UnicodeError: a malformed host name
                self._destinations.note(*wanted, _end_of(error))
                writer.write(_UNREACHABLE)
                return
            self._destinations.note(*wanted, "connected")
            with self._kept(there):
                inward.lead(there)
                outward.lead(here)
                here.write(_OPEN)
                there.resume_reading()
                # Chromium never half-closes a connection. A site may, or may never close its side, so do not wait for it.
                await inward.ended

    async def _admitted(self, scheme: str, host: str, port: int) -> Relay | None:
        """The relay for traffic to that place; None if none may be sent. scheme: empty if it is not known yet."""
        if not scheme:
            return Entrance(host, port, self._wall) if await self._wall.expects(host, port) else None
        place = await self._wall.connects(scheme, host, port)
        return None if place is None else checked(place, self._wall)

    @contextlib.contextmanager
    def _kept(self, transport: asyncio.Transport) -> Iterator[None]:
        if self._cut:
            transport.abort()
        self._open.add(transport)
        try:
            yield
        finally:
            self._open.discard(transport)
            transport.abort()  # data that a site never reads would keep the connection open forever

    def cut(self) -> None:
        """Drop every connection at once, and accept no other. Unsent bytes are never sent."""
        self._cut = True
        for transport in self._open:
            transport.abort()

    async def close(self) -> None:
        """Stop listening. A second call does nothing."""
        self.cut()
        for server in self._servers:
            server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _end_of(error: BaseException) -> Attempt:
    match error:
        case TimeoutError():
            return "late"
        case socket.gaierror() | UnicodeError():
            return "no_name"
        case ProxyError():
            return "proxy"
        case ConnectionRefusedError():
            return "refused"
        case _:
            return "unreachable"


async def _destination(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[str, int] | None:
    """Host and port that Chromium asks for; None if it does not speak SOCKS5."""
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
