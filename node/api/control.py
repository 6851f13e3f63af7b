"""The control API: how the command line drives a running node.

A Unix socket in the data directory, not a TCP port: pages in the browser that this node drives can reach loopback ports. Each call
is ``POST /v1/<verb>`` with the token from ``control.json`` (0600) and a JSON body; the answer is a stream of JSON lines:
``{"event": …}`` while it works, then one ``{"result": …}`` or ``{"error": …}``.
"""

from __future__ import annotations

import asyncio
import hmac
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import msgspec
from aiohttp import web

from adapters.ports import Clock
from node.base import CONTROL_FILE, SOCKET_FILE, ControlInfo, http_status, plain, socket_path, write_private
from node.verbs import Tell
from protocol import limits
from protocol.errors import MeshError

_EVENTS_MAX: Final = 1_000

Dispatch = Callable[[str, bytes, Tell], Awaitable[Any]]
"""``(verb, JSON body, tell) -> result record``."""


class ControlServer:
    """Serves ``dispatch`` on the Unix socket of ``home``."""

    def __init__(self, home: Path, dispatch: Dispatch, clock: Clock) -> None:
        self._home = home
        self._dispatch = dispatch
        self._token = clock.random(limits.CONTROL_TOKEN_BYTES).hex()
        self._runner: web.AppRunner | None = None
        self._directory = -1

    async def start(self) -> None:
        """Listen, then publish the token."""
        app = web.Application(client_max_size=limits.CONTROL_BODY_BYTES_MAX)
        app.router.add_post("/v1/{verb}", self._handle)
        # A client that goes away (Ctrl-C) cancels its verb.
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=2)
        await self._runner.setup()
        (self._home / SOCKET_FILE).unlink(missing_ok=True)
        self._directory = os.open(self._home, os.O_RDONLY)
        await web.UnixSite(self._runner, socket_path(self._home, self._directory)).start()
        (self._home / SOCKET_FILE).chmod(0o600)
        info = ControlInfo(pid=os.getpid(), token=self._token)
        write_private(self._home / CONTROL_FILE, msgspec.json.encode(info))

    async def close(self) -> None:
        """Stop listening and withdraw the token."""
        for name in (CONTROL_FILE, SOCKET_FILE):
            (self._home / name).unlink(missing_ok=True)
        if self._runner:
            await self._runner.cleanup()
        if self._directory >= 0:
            os.close(self._directory)
            self._directory = -1

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        given = request.headers.get("Authorization", "")
        # Headers arrive as text in which any byte may stand for itself.
        if not hmac.compare_digest(given.encode(errors="surrogateescape"), f"Bearer {self._token}".encode()):
            return _refusal(MeshError("control.unauthorised"))
        try:
            body = await request.read()
        except web.HTTPRequestEntityTooLarge:
            limit = limits.CONTROL_BODY_BYTES_MAX
            return _refusal(MeshError("input.too_large", f"a command takes at most {limit // limits.MIB} MiB"))
        events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue(_EVENTS_MAX)

        def tell(event: dict[str, Any]) -> None:
            if events.qsize() < _EVENTS_MAX - 1:  # the last place is for the end mark
                events.put_nowait({"event": event})

        async def work() -> dict[str, Any]:
            try:
                return {"result": await self._dispatch(request.match_info["verb"], body, tell)}
            except MeshError as error:
                return {"error": error.shown.to_dict()}
            finally:
                events.put_nowait(None)

        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request)
        task = asyncio.create_task(work())
        try:
            while (event := await events.get()) is not None:
                await response.write(_line(event))
            await response.write(_line(await task))
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        await response.write_eof()
        return response


def _refusal(error: MeshError) -> web.Response:
    shown = error.shown
    return web.json_response({"error": shown.to_dict()}, status=http_status(shown.code))


def _line(value: dict[str, Any]) -> bytes:
    return msgspec.json.encode(plain(value)) + b"\n"
