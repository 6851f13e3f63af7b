"""A WebSocket that is held in a probe: what of it is told, and when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from adapters.browser.sockets import hold
from protocol import limits


class _Route:
    """The side of a page, as Playwright gives it."""

    def __init__(self) -> None:
        self.say: Callable[[str | bytes], None] = lambda content: None
        self.closed: list[int] = []

    def on_message(self, handler: Callable[[str | bytes], None]) -> None:
        self.say = handler

    async def close(self, *, code: int, reason: str) -> None:
        self.closed.append(code)


def held() -> tuple[_Route, list[str | None]]:
    route, heard = _Route(), list[str | None]()
    hold(cast(Any, route), heard.append)
    return route, heard


def test_each_message_is_told_and_one_that_is_too_long_is_told_from_no_other() -> None:
    route, heard = held()
    for content in ("a", b"a", "x" * limits.SOCKET_HEARD_BYTES_MAX, "x" * (limits.SOCKET_HEARD_BYTES_MAX + 1)):
        route.say(content)
    assert heard[0] != heard[1] and None not in heard[:3] and heard[3] is None


async def test_a_page_that_says_too_much_is_refused_and_told_so_once() -> None:
    route, heard = held()
    for _ in range(limits.SOCKET_MESSAGES_MAX + 5):
        route.say("a")
    await asyncio.sleep(0)
    assert (len(heard), heard[-1], route.closed) == (limits.SOCKET_MESSAGES_MAX + 1, None, [1008])
