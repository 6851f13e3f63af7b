"""Serves the page over HTTP on the loopback interface.

Checks of a request, in order: ``Host`` (a name that was rebound to this address is no name of this door), ``Origin`` and
``Sec-Fetch-Site`` (a page of another site), the cookie. A refusal says nothing about this node.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import time
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from aiohttp import web

from node.base.fault_report import fault
from node.doors.page.entry import Entry
from node.doors.page.exchange import HEADERS, Given, Wanted
from node.doors.page.html import ASSETS, environment
from node.doors.page.pages import Pages, asset_of
from protocol import limits
from protocol.errors import MeshError

log = logging.getLogger(__name__)

HOST: Final = "127.0.0.1"
BASE: Final = "/ui/"
_OWN: Final = frozenset({"", "none", "same-origin"})
_PARTS_MAX: Final = 8


class PageListener:
    """Listens on a port of its own."""

    def __init__(self, entry: Entry, pages: Pages, home: Path, port: int = 0) -> None:
        """home: the data directory, for reports of defects. port: 0 for any that is free."""
        self._home = home
        self._entry, self._pages, self._port = entry, pages, port
        app = web.Application(client_max_size=limits.KIB)
        app.router.add_route("*", "/{path:.*}", self._answered)
        self.read_s = 0.0
        """When a page was opened last, by ``time.monotonic``; waiting for changes does not count."""
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=2)

    async def start(self) -> str:
        """Listen; returns the address of the entrance. Errors: ``node.address_in_use``, ``config.invalid``."""
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, HOST, self._port).start()
        except OSError as error:
            code = "node.address_in_use" if error.errno == errno.EADDRINUSE else "config.invalid"
            raise MeshError(code, f"the page cannot listen on {HOST}:{self._port}") from error
        self._port = int(self._runner.addresses[0][1])
        return f"http://{HOST}:{self._port}{BASE}enter"

    async def close(self) -> None:
        """Stop listening. Twice is once."""
        await self._runner.cleanup()

    @property
    def _root(self) -> str:
        return f"{BASE}{self._entry.place}/"

    async def _answered(self, request: web.Request) -> web.StreamResponse:
        try:
            response = await self._answer(request)
        except web.HTTPException as error:
            response = web.Response(status=error.status)
        except Exception as error:  # the last handler: a defect must not show paths of this machine
            found = await asyncio.to_thread(fault, error, "the page", self._home)
            log.error("defect: %s", found.message)
            response = web.Response(status=500, text="A defect: the log of the node names its report.")
        response.headers.update(HEADERS)
        return response

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        host = f"{HOST}:{self._port}"
        if request.headers.getall("Host", []) != [host]:
            return _refused(421)
        origin, site = request.headers.get("Origin", ""), request.headers.get("Sec-Fetch-Site", "")
        own = origin in ("", f"http://{host}") and site in _OWN
        path = request.rel_url.raw_path
        if path == f"{BASE}enter":
            return await self._enter(request, own=own and bool(origin))
        if not own or request.method != "GET":
            return _refused(405 if own else 403)
        if (found := asset_of(path.removeprefix(BASE), ASSETS)) is not None:
            return _response(found)
        caller = self._entry.caller(request.cookies.get(self._entry.cookie_name, ""))
        if caller is None or not path.startswith(self._root):
            return self._turned_away()
        parts = [unquote(part) for part in path.removeprefix(self._root).split("/")]
        wanted = Wanted(
            path=tuple(filter(None, parts))[:_PARTS_MAX], query=dict(request.rel_url.query), root=self._root
        )
        if wanted.path != ("changes",):
            self.read_s = time.monotonic()
        return _response(await self._pages.answer(wanted, caller))

    async def _enter(self, request: web.Request, *, own: bool) -> web.StreamResponse:
        """The entrance, which anybody may open, since it shows nothing; its script posts the token of the link."""
        if request.method == "GET":
            return web.Response(
                text=environment().get_template("enter.html.j2").render(base=BASE), content_type="text/html"
            )
        if request.method != "POST" or not own:
            return _refused(403)
        cookie = self._entry.enter((await request.read()).decode(errors="replace"))
        if not cookie:
            return _refused(401)
        response = web.json_response({"root": self._root})
        response.set_cookie(
            self._entry.cookie_name,
            cookie,
            max_age=limits.PAGE_VISIT_S,
            path=self._root,
            httponly=True,
            samesite="Strict",
        )
        return response

    def _turned_away(self) -> web.Response:
        text = environment().get_template("away.html.j2").render(base=BASE)
        return web.Response(text=text, status=401, content_type="text/html")


def _refused(status: int) -> web.Response:
    return web.Response(status=status, text="refused\n")


def _response(given: Given) -> web.Response:
    kind, _, charset = given.content_type.partition("; charset=")
    return web.Response(body=given.body, status=given.status, content_type=kind, charset=charset or None)
