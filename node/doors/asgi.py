"""Runs an ASGI application for one request of an aiohttp server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from types import MappingProxyType
from typing import Any, Final

from aiohttp import web

Message = MutableMapping[str, Any]
Application = Callable[
    [MutableMapping[str, Any], Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]

NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


async def answered(
    application: Application, request: web.Request, body: bytes, headers: Mapping[str, str] = NO_HEADERS, **more: Any
) -> web.StreamResponse:
    """The answer of ``application`` to ``request``, whose body is ``body``. headers: added to it. more: entries of its scope.

    If the client goes away, this call is cancelled, and the application with it.
    """
    answer = _Answer(request, body, headers)
    try:
        await application(_scope(request, more), answer.receive, answer.send)
    finally:
        answer.over.set()
    assert answer.response is not None, "an ASGI application answers"
    await answer.response.write_eof()
    return answer.response


class _Answer:
    """The two ends of one exchange."""

    def __init__(self, request: web.Request, body: bytes, headers: Mapping[str, str]) -> None:
        self._request, self._body, self._headers = request, body, headers
        self._given = False
        self.over = asyncio.Event()
        self.response: web.StreamResponse | None = None

    async def receive(self) -> Message:
        if not self._given:
            self._given = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self.over.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.response = web.StreamResponse(status=message["status"])
            for name, value in message.get("headers", ()):
                if name.lower() != b"content-length":
                    self.response.headers.add(name.decode("latin-1"), value.decode("latin-1"))
            self.response.headers.update(self._headers)
            await self.response.prepare(self._request)
        elif message["type"] == "http.response.body" and message.get("body"):
            assert self.response is not None, "the head comes first"
            await self.response.write(message["body"])


def _scope(request: web.Request, more: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": request.path,
        "raw_path": request.rel_url.raw_path.encode(),
        "query_string": request.query_string.encode(),
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.raw_headers],
        "client": None,
        "server": None,
        "state": {},
        **more,
    }
