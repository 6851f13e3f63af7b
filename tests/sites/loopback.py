"""What the sites of the tests share: one handler for every address, on a free port of loopback."""

from __future__ import annotations

import socket
from typing import Self

from aiohttp import web


class LoopbackSite:
    """A site; a subclass answers. Running between ``start`` and ``stop``, or as a block."""

    host = "127.0.0.1"
    """A name or an address of loopback."""

    def __init__(self) -> None:
        self.origin = ""
        """Scheme, host and port, once it runs."""
        self._runner: web.AppRunner | None = None

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        """The answer to whatever is asked for."""
        raise NotImplementedError

    async def start(self, at: socket.socket | None = None) -> None:
        """Listen on a free loopback port, or at a socket that stays open when the site stops."""
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        if at is None:
            await web.TCPSite(self._runner, self.host, 0).start()
        else:
            await web.SockSite(self._runner, at.dup()).start()
        self.origin = f"http://{self.host}:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        """Listen no more. Twice is once."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop()
