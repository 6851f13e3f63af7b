"""Serves the pages on loopback and keeps a log of every request that got through."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

from aiohttp import web

from tests.sites.loopback import LoopbackSite

_ROOT = Path(__file__).parent
_VISIT = """<title>Visit</title><p>{cookies}</p><p id=items></p><script>
items.textContent = Object.entries(localStorage).map(entry => entry.join('=')).join('; ') || 'none';
localStorage.setItem('mark', 'left');
</script>"""
LATE_S = 0.4
"""How long ``/late`` takes: longer than a page has to rest to count as still."""


class PageServer(LoopbackSite):
    """A running server; ``reached`` lists requests as ``METHOD /path?query``."""

    def __init__(self) -> None:
        super().__init__()
        self.reached: list[str] = []
        self._news = asyncio.Event()
        self.extra: dict[str, str] = {}
        """Further pages, by path."""
        self.hold = asyncio.Event()
        """While it is not set, ``/held.html`` does not answer; ``held`` is set once somebody waits there."""
        self.held = asyncio.Event()

    async def was_asked(self, entry: str, within_s: float = 120.0) -> None:
        """Wait until ``reached`` lists ``entry``. Raises ``TimeoutError``."""
        async with asyncio.timeout(within_s):
            while entry not in self.reached:
                self._news.clear()
                await self._news.wait()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"]
        if path != "favicon.ico":
            self.reached.append(f"{request.method} {request.path_qs}")
            self._news.set()
        if request.method == "OPTIONS":
            if path in ("late-preflight", "refused-preflight"):
                await asyncio.sleep(LATE_S)
            if path == "refused-preflight":
                return web.Response(status=403)
            names = ("Origin", "Methods", "Headers")
            return web.Response(headers={f"Access-Control-Allow-{name}": "*" for name in names})
        if request.path in self.extra:
            return web.Response(text=self.extra[request.path], content_type="text/html")
        if path == "held.html":
            self.held.set()
            await self.hold.wait()
            return web.Response(text="it was held", content_type="text/html")
        if path == "stream":
            flowing = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await flowing.prepare(request)
            await flowing.write(b"data: 1\n\n")
            await self.hold.wait()
            return flowing
        if path == "unfinished.html":
            flowing = web.StreamResponse(headers={"Content-Type": "text/html"})
            await flowing.prepare(request)
            await flowing.write(b"<title>Unfinished</title><button>There</button>")
            await self.hold.wait()
            return flowing
        if path == "news":
            flowing = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await flowing.prepare(request)
            with contextlib.suppress(ConnectionError):
                while not self.hold.is_set():
                    await flowing.write(b"retry: 20\ndata: news\n\n")
                    await asyncio.sleep(0.02)
            return flowing
        if path == "echo":
            socket = web.WebSocketResponse()
            await socket.prepare(request)
            async for message in socket:
                await socket.send_str(f"echo of {message.data}")
            return socket
        if path == "late":
            await asyncio.sleep(LATE_S)
            return web.Response(text="it came late")
        if path == "late-by-redirect":
            raise web.HTTPFound("/late")
        if path == "innocent":
            raise web.HTTPFound("/account/close?confirm=1")
        if path == "kept.html":
            return web.Response(
                text="<a href=#x>Kept</a>", content_type="text/html", headers={"Cache-Control": "max-age=3600"}
            )
        if path == "visit.html":
            answer = web.Response(
                text=_VISIT.format(cookies=request.headers.get("Cookie", "none")), content_type="text/html"
            )
            answer.set_cookie("seen", "yes", httponly=True)
            return answer
        if path == "bound.html":
            # No browser on Linux registers; an address that nobody serves, should one do.
            offer = {"Secure-Session-Registration": '(ES256);path="/no-registration";challenge="x"'}
            return web.Response(text="<title>Bound</title>", content_type="text/html", headers=offer)
        if path == "endless.bin":
            flowing = web.StreamResponse(headers={"Content-Type": "application/octet-stream"})
            await flowing.prepare(request)
            for _ in range(16):
                await flowing.write(bytes(1 << 16))
            await self.hold.wait()
            return flowing
        if path == "report.csv":
            disposition = {"Content-Disposition": 'attachment; filename="../report.csv"'}
            return web.Response(text="Tin mug,12", content_type="text/csv", headers=disposition)
        if path == "more":
            return web.Response(text="three more")
        if path == "account/close":
            return web.Response(text="<title>Closed</title>account closed", content_type="text/html")
        if path == "popup.html":
            return web.Response(text="<title>Beside</title><h1>Beside</h1>", content_type="text/html")
        file = _ROOT / path
        if file.parent == _ROOT and file.suffix == ".html" and file.is_file():
            return web.FileResponse(file)
        if request.method == "POST":
            return web.Response(text="<title>Sent</title><h1>Sent</h1>", content_type="text/html")
        raise web.HTTPNotFound()
