"""Passes on the messages of a WebSocket that was let through, counts them, and closes it at a limit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import WebSocketRoute

from protocol import limits
from protocol.risk.requests.sockets import TrafficCount

_REFUSED_CODE = 1008  # RFC 6455: a policy is violated


async def refuse(socket: WebSocketRoute) -> None:
    """Close ``socket`` as refused. A closed one stays closed."""
    try:
        await socket.close(code=_REFUSED_CODE, reason="refused")
    except PlaywrightError:
        return


def pass_on(page: WebSocketRoute, full: Callable[[], None]) -> None:
    """Connect the WebSocket of a page to its site. full: called once, when too much traffic closes it."""
    site, flow = page.connect_to_server(), TrafficCount(limits.SOCKET_MESSAGES_MAX, limits.SOCKET_BYTES_MAX)
    closing: list[asyncio.Task[None]] = []

    def passes(to: WebSocketRoute) -> Callable[[str | bytes], None]:
        def message(content: str | bytes) -> None:
            if closing:
                return
            if flow.takes(content):
                to.send(content)
                return
            full()
            closing.extend(asyncio.ensure_future(refuse(each)) for each in (page, site))

        return message

    page.on_message(passes(site))
    site.on_message(passes(page))
