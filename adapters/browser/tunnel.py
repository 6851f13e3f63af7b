"""A SOCKS5 proxy (RFC 1928) on loopback: the only network connection of a launched Chromium. It forwards bytes unchanged.

Requests are judged before, one by one (``judge.BrowserJudge``). The tunnel is the second wall behind that: it opens a connection
only to a place that a guard has let through a moment ago, and of plain HTTP lets only such requests pass (``wall.Wall``). It
resolves names itself, so a connection leads to no other place than was judged (``destinations.Destinations``). Datagrams of a
WebTransport, which no interception sees, are refused behind a proxy. And it can be cut: from then on nothing is sent, whatever
Chromium still wants.

Chromium says by the port at which it asks for what it asks: plain HTTP, TLS, or a WebSocket.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple, cast
from urllib.parse import urlsplit

from aiohappyeyeballs import start_connection

from adapters.browser.destinations import Destinations
from adapters.browser.heads import Head, Heads
from adapters.browser.network import said
from adapters.browser.wall import Place, Wall
from protocol import limits

_VERSION: Final = 5
_NO_AUTHENTICATION: Final = b"\x05\x00"
_UNREACHABLE: Final = b"\x05\x04\x00\x01" + bytes(6)
_OPEN: Final = b"\x05\x00\x00\x01" + bytes(6)


_HELLO: Final = b"\x16\x03"
"""How TLS begins. What an interception does not see and needs no TLS (TURN over TCP) gets no further."""


class Entries(NamedTuple):
    """Ports of loopback at which a browser asks for connections."""

    http: int
    https: int
    sockets: int


class Tunnel:
    """Connects where it is asked to, if its wall says so."""

    def __init__(self, destinations: Destinations) -> None:
        self._destinations = destinations
        self._wall = destinations.wall
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._open: set[asyncio.Transport] = set()
        self._cut = False

    async def start(self) -> Entries:
        """Listen on free ports of loopback."""
        for scheme in ("http", "https", "ws"):
            self._servers.append(await asyncio.start_server(partial(self._accept, scheme), "127.0.0.1", 0))
        return Entries(*(int(server.sockets[0].getsockname()[1]) for server in self._servers))

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
            place = await self._wall.connects(scheme, *wanted)
            if place is None:  # before its name is looked up: that is a way out too
                writer.write(_UNREACHABLE)
                return
            inward, outward = _checked(place, self._wall), _Relay()
            # A SOCKS client sends no data before the reply, so the reader's buffer is empty here.
            here.set_protocol(inward)
            task = asyncio.current_task()
            assert task is not None
            inward.ended.add_done_callback(lambda _: task.cancel())  # the client has gone
            loop = asyncio.get_running_loop()
            try:
                async with asyncio.timeout(limits.NAVIGATION_TIMEOUT_MS / 1000):
                    ways = await self._destinations.ways(place.host, place.port)
                    connected = await start_connection(ways, happy_eyeballs_delay=0.25)
                    there, _ = await loop.create_connection(lambda: outward, sock=connected)
            except (OSError, TimeoutError, UnicodeError):  # UnicodeError: a malformed host name
                writer.write(_UNREACHABLE)
                return
            with self._kept(there):
                inward.lead(there)
                outward.lead(here)
                here.write(_OPEN)
                there.resume_reading()
                # Chromium never half-closes a connection. A site may, or may never close its side, so do not wait for it.
                await inward.ended

    @contextlib.contextmanager
    def _kept(self, transport: asyncio.Transport) -> Iterator[None]:
        if self._cut:
            transport.abort()
        self._open.add(transport)
        try:
            yield
        finally:
            self._open.discard(transport)
            transport.abort()  # data that a site never reads would keep the connection open for ever

    def cut(self) -> None:
        """Drop every connection at once, and take no other. What was not sent until now never is."""
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


class _Relay(asyncio.Protocol):
    """Writes what comes in on one connection to the other. Streams would cost twice the time of a request."""

    def __init__(self) -> None:
        self._to: asyncio.Transport | None = None
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once nothing more comes in."""

    def lead(self, to: asyncio.Transport) -> None:
        """Where what comes in goes."""
        self._to = to

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Of the connection that is opened here: nothing comes in before whoever asked knows that it is open."""
        cast(asyncio.Transport, transport).pause_reading()

    def data_received(self, data: bytes) -> None:
        """Pass it on. What comes before the way is open breaks the protocol, and ends it."""
        if self._to is None:
            self._end()
        else:
            self._to.write(data)

    def eof_received(self) -> bool:
        """Pass on the end; the other direction stays open."""
        if self._to is not None and not self._to.is_closing():
            self._to.write_eof()
        self._end()
        return True

    def pause_writing(self) -> None:
        """This connection takes no more for now: what is to be written to it waits in the other one."""
        if self._to is not None:
            self._to.pause_reading()

    def resume_writing(self) -> None:
        """It takes more again."""
        if self._to is not None:
            self._to.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Without one of the two there is no use for the other."""
        if self._to is not None:
            self._to.close()
        self._end()

    def _end(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


class _Plain(_Relay):
    """The way of plain HTTP to a site: each request is compared with what the guards have let through."""

    def __init__(self, place: Place, wall: Wall) -> None:
        super().__init__()
        self._wall, self._place = wall, place
        self._heads = Heads(place.scheme)
        self._raw = False
        """Whether it is an open WebSocket by now."""
        self._asking: asyncio.Task[None] | None = None

    def data_received(self, data: bytes) -> None:
        """Pass on what may be sent."""
        if self._to is None or self._raw:
            super().data_received(data)
            return
        self._heads.receive(data)
        if self._asking is None:
            self._pass()

    def _pass(self) -> None:
        try:
            while (piece := self._heads.next()) is not None and self._to is not None:
                if isinstance(piece, Head) and not self._permits(piece):
                    return
                self._to.write(piece.raw if isinstance(piece, Head) else piece)
        except ValueError:
            self._wall.turn_away("CONNECT", self._place.origin)
            self._abort()

    def _permits(self, head: Head) -> bool:
        if urlsplit(head.url).netloc.lower() != urlsplit(self._place.origin).netloc:
            raise ValueError("the request is for another host than the connection")
        if self._place.scheme == "ws":
            self._raw = self._wall.opens_socket(head.url)
            if not self._raw:
                self._abort()
            return self._raw
        if "upgrade" in head.headers:
            raise ValueError("what follows would be no request")
        replaced = said(head.method, head.headers).replaced_by
        if self._wall.permits(head.method, head.url, replaced):
            return True
        self._asking = asyncio.ensure_future(self._ask(head, replaced))
        return False

    async def _ask(self, head: Head, replaced: str) -> None:
        """Wait a moment for the guard."""
        if not await self._wall.sends(head.method, head.url, replaced):
            self._abort()
        elif self._to is not None:
            self._to.write(head.raw)
            self._asking = None
            self._pass()

    def _abort(self) -> None:
        """Nothing of this connection goes on."""
        self._to = None
        self._end()

    def _end(self) -> None:
        super()._end()
        if self._asking is not None:
            self._asking.cancel()


class _Sealed(_Relay):
    """The way of TLS to a site."""

    def __init__(self, place: Place, wall: Wall) -> None:
        super().__init__()
        self._wall, self._place = wall, place
        self._begun = b""

    def data_received(self, data: bytes) -> None:
        """Pass on what begins as TLS does."""
        if len(self._begun) < len(_HELLO):
            self._begun += data[: len(_HELLO)]
            if not _HELLO.startswith(self._begun[: len(_HELLO)]):
                self._wall.turn_away("CONNECT", self._place.origin)
                self._to = None
        super().data_received(data)


def _checked(place: Place, wall: Wall) -> _Relay:
    return (_Sealed if place.scheme in ("https", "wss") else _Plain)(place, wall)


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
