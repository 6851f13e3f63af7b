"""MCP over HTTP: ``/mcp`` serves few tools for a model, ``/mcp/full`` all of them.

The protocol is stateless here: each request brings its token, and every tool takes and returns the ``session`` that it works in.
The SDK is loaded with the first request, because loading it takes longer than all else at the start of a node.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final

import msgspec
from aiohttp import web

from node.doors.asgi import NO_HEADERS, Application, answered
from node.doors.http_door import Admitted, HttpDoor, body_of
from node.doors.mcp_calls import CLIENT_HEADER, ClientCalls, message_in
from node.verbs import Tell
from protocol import limits

if TYPE_CHECKING:
    from node.doors.tools import Profile

PATHS: Final[dict[str, Profile]] = {"/mcp": "default", "/mcp/full": "full"}
_ADMITTED: Final = "trailmesh.admitted"


class McpDoor:
    """Serves the tools on an HTTP door."""

    def __init__(self, door: HttpDoor, name: Callable[[], str]) -> None:
        """name: a name for a client that nobody can guess."""
        self._door, self._name = door, name
        self._managers: dict[Profile, _Manager] = {}
        self._loading = asyncio.Lock()
        self._calls = ClientCalls()
        for path, profile in PATHS.items():
            door.serve("*", path, self._served(profile))

    async def close(self) -> None:
        """End open requests. Twice is once."""
        managers, self._managers = self._managers, {}
        for each in managers.values():
            await each.close()

    def _served(self, profile: Profile) -> Callable[[web.Request, Admitted], Coroutine[Any, Any, web.StreamResponse]]:
        async def handle(request: web.Request, admitted: Admitted) -> web.StreamResponse:
            if request.method == "GET":  # a stream without a request: this server has nothing to say on it
                return web.Response(status=405, headers={"Allow": "POST, DELETE"})
            body = await body_of(request)
            message, client = message_in(body), request.headers.get(CLIENT_HEADER, "")
            if message.given_up is not None:
                self._calls.give_up(admitted.name, client, message.given_up)
                return web.Response(status=202)
            if request.method == "DELETE":  # a client says goodbye: nothing is kept about it
                return web.Response(status=200)
            manager = await self._manager(profile)
            headers = {CLIENT_HEADER: self._name()} if message.method == "initialize" else NO_HEADERS

            async def work() -> web.StreamResponse:
                return await answered(manager.application, request, body, headers, **{_ADMITTED: admitted})

            return await self._calls.run(admitted.name, client, message, work, lambda: _given_up(request))

        return handle

    async def _manager(self, profile: Profile) -> _Manager:
        async with self._loading:
            if profile not in self._managers:
                await asyncio.to_thread(_load)
                self._managers[profile] = await _Manager.started(profile, self._ask)
            return self._managers[profile]

    async def _ask(self, context: Any, verb: str, params: dict[str, Any], tell: Tell, key: str = "") -> Any:
        """Implements ``node.doors.tools.server.Ask``."""
        admitted: Admitted = context.request.scope[_ADMITTED]
        return await self._door.run(admitted, verb, msgspec.json.encode(params), tell, key)


def _given_up(request: web.Request) -> web.Response:
    """The end of a request whose client has given it up. An answer that has begun cannot be ended in another way."""
    if request.writer.output_size and request.transport is not None:
        request.transport.abort()
    return web.Response(status=202)


def _load() -> None:
    from node.doors import tools  # noqa: F401 (loaded outside of the event loop)


class _Manager:
    """The SDK's side of one path. It runs in a task of its own, because it has to end in the task in which it began."""

    def __init__(self, application: Application, running: asyncio.Task[None], ending: asyncio.Event) -> None:
        self.application = application
        self._running, self._ending = running, ending

    @classmethod
    async def started(cls, profile: Profile, ask: Any) -> _Manager:
        """A manager that answers."""
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from node.doors.tools import server_of

        manager = StreamableHTTPSessionManager(
            server_of(profile, ask), stateless=True, max_request_body_size=limits.HTTP_BODY_BYTES_MAX
        )
        begun, ending = asyncio.Event(), asyncio.Event()

        async def run() -> None:
            async with manager.run():
                begun.set()
                await ending.wait()

        running = asyncio.create_task(run(), name=f"MCP {profile}")
        await begun.wait()
        return cls(manager.handle_request, running, ending)

    async def close(self) -> None:
        """End it, with the requests that it still answers."""
        self._ending.set()
        with contextlib.suppress(asyncio.CancelledError):
            await self._running
