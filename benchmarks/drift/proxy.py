"""Stands between browser and application: notes what is sent, and changes answers on demand.

What a page sent is the effect of the elements that were acted on, so it tells whether those were the right ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

import aiohttp
import msgspec
from aiohttp import web
from yarl import URL

_HOP: Final = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "proxy-connection", "content-length"}
)
_BODY_CHARS_MAX: Final = 4_000


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """One request of the browser."""

    method: str
    path: str
    """With its query."""
    document: bool
    """True if it was for the page itself."""
    body: str = ""
    status: int = 0

    @property
    def said(self) -> str:
        """``METHOD PATH BODY``: what rules are compared with."""
        return f"{self.method} {self.path} {self.body}".strip()


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer on its way to the browser."""

    request: Sent
    kind: str
    """Media type."""
    status: int
    body: bytes


Change = Callable[[Answer], Answer]


def unchanged(answer: Answer) -> Answer:
    """The answer as it is."""
    return answer


class Proxy:
    """One application behind its public port."""

    def __init__(self, upstream: int, change: Change = unchanged) -> None:
        self._upstream = upstream
        self._change = change
        self.sent: list[Sent] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Pass one request on."""
        url = URL(f"http://127.0.0.1:{self._upstream}{request.raw_path}", encoded=True)
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP}
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return await self._sockets(request, url, headers)
        headers["Accept-Encoding"] = "identity"
        body = await request.read()
        async with self._session.request(
            request.method, url, headers=headers, data=body or None, allow_redirects=False
        ) as answer:
            noted = Sent(
                method=request.method,
                path=request.raw_path,
                document=request.headers.get("Sec-Fetch-Dest") in ("document", "iframe"),
                body=body.decode(errors="replace")[:_BODY_CHARS_MAX],
                status=answer.status,
            )
            self.sent.append(noted)
            return await self._answer(request, noted, answer)

    async def _answer(self, request: web.Request, noted: Sent, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        kept = [(name, value) for name, value in answer.headers.items() if name.lower() not in _HOP]
        if answer.content_type == "text/event-stream" or self._change is unchanged:
            reply = web.StreamResponse(status=answer.status, reason=answer.reason)
            reply.headers.extend(kept)
            if "Content-Length" in answer.headers:
                reply.content_length = int(answer.headers["Content-Length"])
            await reply.prepare(request)
            async for piece in answer.content.iter_any():
                await reply.write(piece)
            await reply.write_eof()
            return reply
        changed = self._change(
            Answer(request=noted, kind=answer.content_type, status=answer.status, body=await answer.read())
        )
        whole = web.Response(status=changed.status, body=changed.body)
        whole.headers.pop("Content-Type", None)
        whole.headers.extend(kept)
        return whole

    async def _sockets(self, request: web.Request, url: URL, headers: dict[str, str]) -> web.StreamResponse:
        protocols = [each.strip() for each in headers.get("Sec-WebSocket-Protocol", "").split(",") if each.strip()]
        plain = {name: value for name, value in headers.items() if not name.lower().startswith("sec-websocket")}
        async with self._session.ws_connect(url, headers=plain, protocols=protocols) as theirs:
            ours = web.WebSocketResponse(protocols=[theirs.protocol] if theirs.protocol else ())
            await ours.prepare(request)
            pumps = [asyncio.create_task(_pump(ours, theirs)), asyncio.create_task(_pump(theirs, ours))]
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            for pump in pumps:
                pump.cancel()
                with suppress(asyncio.CancelledError, ConnectionError):
                    await pump
        return ours

    @asynccontextmanager
    async def open(self, port: int) -> AsyncIterator[Proxy]:
        """Listen on ``port`` of loopback."""
        self._session = aiohttp.ClientSession(auto_decompress=False, timeout=aiohttp.ClientTimeout(total=60))
        application = web.Application(client_max_size=64 << 20)
        application.router.add_route("*", "/{rest:.*}", self.handle)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.5)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", port, reuse_address=True).start()
            yield self
        finally:
            await self._session.close()
            await runner.cleanup()


async def _pump(
    source: web.WebSocketResponse | aiohttp.ClientWebSocketResponse,
    target: web.WebSocketResponse | aiohttp.ClientWebSocketResponse,
) -> None:
    async for message in source:
        if message.type is aiohttp.WSMsgType.TEXT:
            await target.send_str(message.data)
        elif message.type is aiohttp.WSMsgType.BINARY:
            await target.send_bytes(message.data)
