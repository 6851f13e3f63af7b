"""A site whose pages try the ways out, and for each way a canary of its own, which tells of whatever arrives."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from aiohttp import web

from tests.sites.ways_out.certificate import Certificate
from tests.sites.ways_out.rows import Row

_ANSWER: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nAccess-Control-Allow-Origin: *\r\nConnection: close\r\n\r\n"
_FRAMES: Final = 24
"""So many ways are tried at once."""


class Way(NamedTuple):
    """One way, and where it leads."""

    name: str
    own: bool
    """Whether to the page's own origin."""


class Tried(NamedTuple):
    """A page."""

    url: str
    ways: list[Way]
    """That it tries."""
    press: bool = False
    """Whether its button is to be pressed."""


class Ground:
    """Runs until ``stop``. ``reached`` are the ways that got out, ``served`` those that were tried."""

    def __init__(self, rows: Sequence[Row], certificate: Certificate | None = None) -> None:
        """certificate: of the site, if its pages come over TLS."""
        self._rows = rows
        self._certificate = certificate
        self._s = "s" if certificate else ""
        self.reached: set[Way] = set()
        self.served: set[Way] = set()
        self.origin = ""
        self._last_s = time.monotonic()
        self._ports: list[int] = []
        self._servers: list[asyncio.Server] = []
        self._datagrams: list[asyncio.DatagramTransport] = []
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Listen on loopback."""
        application = web.Application()
        application.router.add_route("*", "/{kind}/{rest:.*}", self._answer)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        context = self._certificate.context if self._certificate else None
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=context).start()
        host, port = self._runner.addresses[0][:2]
        self.origin = f"http{self._s}://{host}:{port}"
        for row in self._rows:
            await self._canary(Way(row.name, own=False))

    async def _canary(self, way: Way) -> None:
        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._arrived(way)
            writer.write(_ANSWER)
            writer.close()

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        self._servers.append(server)
        self._datagrams.append(await self._hearing(way, port))
        self._ports.append(port)

    async def _hearing(self, way: Way, port: int) -> asyncio.DatagramTransport:
        """What hears datagrams that are sent to the canary of ``way``."""
        transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: _Datagrams(lambda: self._arrived(way)), local_addr=("127.0.0.1", port)
        )
        return transport

    async def stop(self) -> None:
        """Listen no more."""
        for server in self._servers:
            server.close()
        for transport in self._datagrams:
            transport.close()
        if self._runner is not None:
            await self._runner.cleanup()

    def _arrived(self, way: Way) -> None:
        self.reached.add(way)
        self._last_s = time.monotonic()

    # --- the site ---

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        kind, parts = request.match_info["kind"], request.match_info["rest"].split("/")
        if kind == "items":
            self._arrived(Way(self._rows[int(parts[0]) - 1000].name, own=True))
            return web.Response(text="done", headers={"Access-Control-Allow-Origin": "*"})
        if kind == "frames":
            return web.Response(
                text="".join(f"<iframe src=/row/{way}></iframe>" for way in parts[0].split("+")),
                content_type="text/html",
            )
        if kind not in ("row", "file", "go"):
            return web.Response(text="")
        row, own = self._rows[int(parts[0].split(".")[0])], parts[0].endswith("own")
        filled = self._filler(parts[0], own)
        if kind == "go":
            return web.Response(status=int(request.query.get("s", "302")), headers={"Location": filled("TO")})
        if kind == "file":
            allowed = {"Service-Worker-Allowed": "/"}
            return web.Response(text=filled(row.script), content_type="text/javascript", headers=allowed)
        self.served.add(Way(row.name, own))
        self._last_s = time.monotonic()
        headers = {name: filled(value) for name, value in row.headers.items()}
        return web.Response(text=filled(row.html), content_type=row.kind, headers=headers)

    def _filler(self, way: str, own: bool) -> Callable[[str], str]:
        number = int(way.split(".")[0])
        at = self.origin.partition("//")[2] if own else f"127.0.0.1:{self._ports[number]}"
        path = f"/items/{1000 + number}/delete"
        words = {
            "TO": f"http{self._s}://{at}{path}",
            "WS": f"ws{self._s}://{at}{path}",
            "TLS": f"https://{at}{path}",
            "AT": at,
            "NUMBER": str(1000 + number),
            "GO": f"/go/{way}",
            "FILE": f"{self.origin}/file/{way}",
        }

        def filled(text: str) -> str:
            for word, value in words.items():
                text = text.replace(word, value)
            return text

        return filled

    # --- trying ---

    def ways(self) -> set[Way]:
        """All that are tried."""
        return {
            Way(row.name, own) for row in self._rows for own in (True, False) if (row.same if own else row.elsewhere)
        }

    def pages(self) -> list[Tried]:
        """Pages that try every way once, those together that can be."""
        ways = [
            (row, f"{number}.{'own' if own else 'out'}", Way(row.name, own))
            for number, row in enumerate(self._rows)
            for own in (True, False)
            if (row.same if own else row.elsewhere)
        ]
        framed = [(path, way) for row, path, way in ways if not row.top]
        groups = [framed[start : start + _FRAMES] for start in range(0, len(framed), _FRAMES)]
        return [
            Tried(f"{self.origin}/frames/{'+'.join(path for path, _ in group)}", [way for _, way in group])
            for group in groups
        ] + [Tried(f"{self.origin}/row/{path}", [way], row.press) for row, path, way in ways if row.top]

    @property
    def argument(self) -> str:
        """Has Chromium take the certificate of the site; empty if it has none."""
        return self._certificate.argument if self._certificate else ""

    async def quiet(self, ways: Iterable[Way], rest_s: float, most_s: float) -> None:
        """Wait until ``ways`` were tried and nothing has arrived for ``rest_s``; for each at most ``most_s``."""
        end = time.monotonic() + most_s
        while not self.served.issuperset(ways) and time.monotonic() < end:  # noqa: ASYNC110  (the site has no event)
            await asyncio.sleep(0.05)
        end = time.monotonic() + most_s
        while (left := min(end, self._last_s + rest_s) - time.monotonic()) > 0:  # noqa: ASYNC110  (until nothing happens)
            await asyncio.sleep(left)


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, arrived: Callable[[], None]) -> None:
        self._arrived = arrived

    def datagram_received(self, data: bytes, addr: object) -> None:
        self._arrived()


def listed(ways: Iterable[Way]) -> str:
    """For a message."""
    return json.dumps(sorted(f"{way.name} ({'own' if way.own else 'other'} origin)" for way in ways), indent=1)
