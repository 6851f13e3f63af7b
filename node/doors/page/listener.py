"""Serves the page over HTTP.

Checks of a request, in order: ``Host`` (a name that was rebound to this address is no name of this door), ``Origin`` and
``Sec-Fetch-Site`` (a page of another site), the cookie. A refusal says nothing about this node.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from aiohttp import web

from node.base.control_file import PAGE_FILE
from node.base.fault_report import fault
from node.base.statuses import http_status
from node.config import PageConfig
from node.doors.door import LOOPBACK, Door, check_from, check_host
from node.doors.http_door import body_of
from node.doors.listener import Listener
from node.doors.page.entry import Entry
from node.doors.page.exchange import HEADERS, Given, Wanted
from node.doors.page.html import ASSETS, environment
from node.doors.page.pages import Pages, asset_of
from protocol import limits
from protocol.errors import MeshError

log = logging.getLogger(__name__)

DOOR: Final = Door(
    name="page",
    listens="`doors.page.port` at `doors.page.host`, which is loopback unless `doors.page.public` is true; from the first "
    "`trailmesh ui` on",
    admits="the owner, to read ([page](page.md))",
    credential="a cookie, for the link that `trailmesh ui` makes; the link can be used once",
    origin="`Host` is the address, or localhost; a request with another `Origin`, or from a page of another site, is refused; a "
    "page of the node cannot be framed",
    connections=limits.PAGE_CONNECTIONS_MAX,
    body_bytes_max=limits.KIB,
)
BASE: Final = "/ui/"
_ENTRANCE: Final = f"{BASE}enter"
_EVERYWHERE: Final = {"0.0.0.0", "::"}  # noqa: S104 - compared, not bound
_PARTS_MAX: Final = 8


class PageListener:
    """Listens on a port of its own."""

    def __init__(self, entry: Entry, pages: Pages, config: PageConfig, home: Path) -> None:
        """home: the data directory, for reports of defects. Errors: ``config.invalid``."""
        check_host("doors.page", config.host, public=config.public)
        self._home, self._entry, self._pages = home, entry, pages
        # A public page may be called by any name, because the public names of this machine are not known.
        self._names = None if config.public else LOOPBACK | {config.host}
        self._host = socket.gethostname() if config.host in _EVERYWHERE else config.host
        self._listener = Listener("doors.page", config.host, config.port, DOOR.connections, DOOR.body_bytes_max)
        self._listener.app.router.add_route("*", "/{path:.*}", self._answered)
        self.read_s = 0.0
        """When a page was opened last, by ``time.monotonic``; waiting for changes does not count."""

    async def start(self) -> str:
        """Listen; returns the address of the entrance. Errors: ``node.address_in_use``, ``config.invalid``."""
        await self._listener.start()
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._listener.port}{_ENTRANCE}"

    async def close(self) -> None:
        """Stop listening. Twice is once."""
        await self._listener.close()
        self._forget_link()

    def _forget_link(self) -> None:
        """Remove the file that led a web browser here: its link was used, or is none any more."""
        with contextlib.suppress(OSError):
            (self._home / PAGE_FILE).unlink()

    @property
    def _root(self) -> str:
        return f"{BASE}{self._entry.place}/"

    async def _answered(self, request: web.Request) -> web.StreamResponse:
        try:
            response = await self._answer(request)
        except MeshError as error:
            response = _refused(http_status(error.code))
        except web.HTTPException as error:
            response = web.Response(status=error.status)
        except Exception as error:  # the last handler: a defect must not show paths of this machine
            found = await asyncio.to_thread(fault, error, "the page", self._home)
            log.error("defect: %s", found.message)
            response = web.Response(status=500, text="A defect: the log of the node names its report.")
        response.headers.update(HEADERS)
        return response

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.rel_url.raw_path
        entered = path == _ENTRANCE and request.method == "GET"
        # The entrance shows nothing, so a link on a page of another site may lead there.
        headers = {"Host": request.headers.get("Host", "")} if entered else request.headers
        check_from(DOOR, headers, self._listener.port, self._names)
        if path == _ENTRANCE:
            return await self._enter(request)
        if request.method != "GET":
            return _refused(405)
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

    async def _enter(self, request: web.Request) -> web.StreamResponse:
        """The entrance, which anybody may open, since it shows nothing; its script posts the token of the link."""
        if request.method == "GET":
            return web.Response(
                text=environment().get_template("enter.html.j2").render(base=BASE), content_type="text/html"
            )
        # A form of an old web browser says no origin.
        if request.method != "POST" or not request.headers.get("Origin"):
            return _refused(403)
        cookie = self._entry.enter((await body_of(request)).decode(errors="replace"))
        if not cookie:
            return _refused(401)
        self._forget_link()
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
