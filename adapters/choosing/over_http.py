"""Asks a chooser on this machine over HTTP."""

from __future__ import annotations

import logging
import socket
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
import msgspec

from adapters.ports.choosing import Offers
from protocol import limits
from protocol.errors import MeshError
from protocol.webhook import check_reach

log = logging.getLogger(__name__)
_SCHEME: Final = "http"
_AddressInfo = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[Any, ...]]


class _Answer(msgspec.Struct):
    id: str | None


class HttpChooser:
    """Implements ``adapters.ports.choosing.Chooser`` by a POST of JSON. What fails is logged, and chooses nothing."""

    def __init__(self, url: str, *, timeout_s: float = limits.CHOOSER_TIMEOUT_S) -> None:
        """Errors: ``input.invalid``, unless it is an ``http`` address."""
        if urlsplit(url).scheme != _SCHEME or not urlsplit(url).hostname:
            raise MeshError("input.invalid", "a chooser is an http address of this machine: http://127.0.0.1:8000/")
        self._url, self._timeout_s = url, timeout_s

    async def choose(self, table: Offers, goal: str) -> str | None:
        """Implements ``Chooser.choose``."""
        try:
            found = msgspec.json.decode(await self._asked(table, goal), type=_Answer).id
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            log.warning("the chooser did not answer: %s", type(error).__name__)  # the text may contain words of a page
            return None
        if found is None or found in {each.id for each in table.offers}:
            return found
        log.warning("the chooser named something that was not offered")
        return None

    async def _asked(self, table: Offers, goal: str) -> bytes:
        # trust_env=False: a proxy from the environment would see pages. No redirects: they could lead to another host.
        timeout = aiohttp.ClientTimeout(total=self._timeout_s)
        body = msgspec.json.encode({"goal": goal, **msgspec.to_builtins(table)})
        async with (
            aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(socket_factory=_socket_to),
                timeout=timeout,
                trust_env=False,
                cookie_jar=aiohttp.DummyCookieJar(),
            ) as session,
            session.post(
                self._url, data=body, headers={"Content-Type": "application/json"}, allow_redirects=False
            ) as answer,
        ):
            if answer.status != 200:
                raise ValueError("status")
            said = await answer.content.read(limits.CHOOSER_ANSWER_BYTES_MAX + 1)
            if len(said) > limits.CHOOSER_ANSWER_BYTES_MAX:
                raise ValueError("too long")
            return said


def _socket_to(found: _AddressInfo) -> socket.socket:
    """A socket to this machine: a name may lead elsewhere. Errors: ``OSError``."""
    family, kind, protocol, _, where = found
    try:
        check_reach(str(where[0]), _SCHEME)
    except MeshError:
        raise PermissionError("the chooser is not on this machine") from None
    made = socket.socket(family, kind, protocol)
    made.setblocking(False)
    return made
