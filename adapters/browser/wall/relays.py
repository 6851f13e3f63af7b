"""Relays pass the bytes of a connection through the tunnel, and examine them on the way."""

from __future__ import annotations

import asyncio
from typing import Final, cast
from urllib.parse import urlsplit

from adapters.browser.wall.headers import said
from adapters.browser.wall.heads import Heads, RequestHead
from adapters.browser.wall.hello import offered
from adapters.browser.wall.wall import Destination, Wall
from protocol import limits

_HELLO: Final = b"\x16"
_PAGES: Final = "h2"
"""The protocol that Chromium offers for everything but WebSockets."""
_WEB: Final = frozenset({_PAGES, "http/1.1"})


class Relay(asyncio.Protocol):
    """Writes the input of one connection to the other. Streams would double the time of a request."""

    def __init__(self, ended: asyncio.Future[None] | None = None) -> None:
        """ended: the future to resolve at its end; None to make its own."""
        self._to: asyncio.Transport | None = None
        self.ended = ended or asyncio.get_running_loop().create_future()
        """Done once the input has ended."""

    def lead(self, to: asyncio.Transport) -> None:
        """Pass input on to ``to``."""
        self._to = to

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The relay's connection is open. It reads nothing until its client knows that."""
        cast(asyncio.Transport, transport).pause_reading()

    def data_received(self, data: bytes) -> None:
        """Pass ``data`` on. Data before the connection opens violates the protocol, and ends it."""
        if self._to is None:
            self._end()
        else:
            self._to.write(data)

    def eof_received(self) -> bool:
        """Pass on the end of input; the other direction stays open."""
        if self._to is not None and not self._to.is_closing():
            self._to.write_eof()
        self._end()
        return True

    def pause_writing(self) -> None:
        """This connection's buffer is full, so the other one stops reading."""
        if self._to is not None:
            self._to.pause_reading()

    def resume_writing(self) -> None:
        """This connection takes data again."""
        if self._to is not None:
            self._to.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Close the other connection: one is useless without the other."""
        if self._to is not None:
            self._to.close()
        self._end()

    def _end(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


class _Plain(Relay):
    """Relays plain HTTP to a site. Each request is compared with those that the guards have let through."""

    def __init__(self, place: Destination, wall: Wall, ended: asyncio.Future[None] | None = None) -> None:
        super().__init__(ended)
        self._wall, self._place = wall, place
        self._heads = Heads(place.scheme)
        self._raw = False
        """True once it is an open WebSocket."""
        self._asking: asyncio.Task[None] | None = None

    def data_received(self, data: bytes) -> None:
        """Pass on permitted requests."""
        if self._to is None or self._raw:
            super().data_received(data)
            return
        self._heads.receive(data)
        if self._asking is None:
            self._pass()

    def _pass(self) -> None:
        try:
            while (piece := self._heads.next()) is not None and self._to is not None:
                if isinstance(piece, RequestHead) and not self._permits(piece):
                    return
                self._to.write(piece.raw if isinstance(piece, RequestHead) else piece)
        except ValueError:
            self._wall.turn_away("CONNECT", self._place.origin)
            self._abort()

    def _permits(self, head: RequestHead) -> bool:
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

    async def _ask(self, head: RequestHead, replaced: str) -> None:
        """Wait a moment for the guard."""
        if not await self._wall.sends(head.method, head.url, replaced):
            self._abort()
        elif self._to is not None:
            self._to.write(head.raw)
            self._asking = None
            self._pass()

    def _abort(self) -> None:
        """End both connections."""
        self._to = None
        self._end()

    def _end(self) -> None:
        super()._end()
        if self._asking is not None:
            self._asking.cancel()


class _Sealed(Relay):
    """Relays TLS to a site."""

    def __init__(self, place: Destination, wall: Wall, ended: asyncio.Future[None] | None = None) -> None:
        super().__init__(ended)
        self._wall, self._place = wall, place
        self._begun: bytes | None = b""
        """The bytes so far; None when they are known to begin like TLS of the web."""

    def data_received(self, data: bytes) -> None:
        """Pass on TLS of the web only. This blocks traffic that no interception sees (TURN over TCP or TLS)."""
        if self._begun is None or self._to is None:
            super().data_received(data)
            return
        self._begun += data
        try:
            offers = offered(self._begun)
            if offers is None:
                return
            if not _WEB.intersection(offers):
                raise ValueError("what is to be spoken is not HTTP")
        except ValueError:
            self._wall.turn_away("CONNECT", self._place.origin)
            self._to = None
            self._end()
            return
        begun, self._begun = self._begun, None
        super().data_received(begun)


class Entrance(Relay):
    """Relays a connection of unknown purpose. Its first bytes reveal the purpose, and it is judged accordingly."""

    def __init__(self, host: str, port: int, wall: Wall) -> None:
        super().__init__()
        self._host, self._port, self._wall = host, port, wall
        self._begun = b""
        self._inner: Relay | None = None
        self._asking: asyncio.Task[None] | None = None

    def data_received(self, data: bytes) -> None:
        """Find out its purpose."""
        if self._inner is not None:
            self._inner.data_received(data)
            return
        self._begun += data
        if self._asking is not None:
            if len(self._begun) > limits.TUNNEL_HEAD_BYTES_MAX:
                self._refuse()
            return
        try:
            scheme = _scheme(self._begun)
        except ValueError:
            self._refuse()
            return
        if scheme:
            self._asking = asyncio.ensure_future(self._ask(scheme))

    async def _ask(self, scheme: str) -> None:
        place = await self._wall.connects(scheme, self._host, self._port)
        if place is None or self._to is None:
            self._to = None
            self._end()
            return
        self._inner = checked(place, self._wall, self.ended)
        self._inner.lead(self._to)
        self._inner.data_received(self._begun)

    def _refuse(self) -> None:
        self._wall.turn_away("CONNECT", Destination("https", self._host, self._port).origin)
        self._to = None
        self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has closed, so its pending decision is cancelled."""
        if self._asking is not None:
            self._asking.cancel()
        if self._inner is not None:
            self._inner.connection_lost(exc)
        super().connection_lost(exc)


def _scheme(begun: bytes) -> str:
    """``http``, ``https``, or ``ws`` for a WebSocket with or without TLS; empty if more bytes are needed. Errors:
    ``ValueError``."""
    if begun[:1] == _HELLO:
        offers = offered(begun)
        if offers is None:
            return ""
        return "https" if _PAGES in offers else "ws"
    heads = Heads()
    heads.receive(begun)
    head = heads.next()
    if not isinstance(head, RequestHead):
        return ""
    return "ws" if "upgrade" in head.headers else "http"


def checked(place: Destination, wall: Wall, ended: asyncio.Future[None] | None = None) -> Relay:
    """The relay for connections to ``place``, which passes on only permitted traffic. ended: as for ``Relay``."""
    return (_Sealed if place.scheme in ("https", "wss") else _Plain)(place, wall, ended)
