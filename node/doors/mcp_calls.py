"""The requests of MCP clients that run now, so that a client can give one up.

Over HTTP, a client of the protocol of 2025 gives up a request by a message of its own, which names the request by a number that it
has chosen. The node gives each client a name at its first message, so that no client ends a request of another one. It keeps
nothing else about a client: a client without that name is served all the same.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import msgspec

T = TypeVar("T")

CLIENT_HEADER: Final = "Mcp-Session-Id"
_NAME_CHARS_MAX: Final = 64


class Message(msgspec.Struct, frozen=True):
    """The parts of a message of a client that decide about its requests."""

    method: str = ""
    id: int | str | None = None
    params: Any = None

    @property
    def given_up(self) -> int | str | None:
        """The request that it gives up."""
        if self.method != "notifications/cancelled" or not isinstance(self.params, dict):
            return None
        found = self.params.get("requestId")
        return found if isinstance(found, (int, str)) else None


def message_in(body: bytes) -> Message:
    """The message in ``body``; an empty one for what is none, which the SDK refuses."""
    with contextlib.suppress(msgspec.DecodeError, RecursionError):
        return msgspec.json.decode(body, type=Message)
    return Message()


class ClientCalls:
    """The requests that run."""

    def __init__(self) -> None:
        self._running: dict[tuple[str, str, int | str], asyncio.Future[Any]] = {}

    async def run(
        self, agent: str, client: str, message: Message, work: Callable[[], Awaitable[T]], given_up: Callable[[], T]
    ) -> T:
        """The result of ``work``; that of ``given_up`` if the client gives the request up."""
        if not client or len(client) > _NAME_CHARS_MAX or message.id is None:
            return await work()
        key = (agent, client, message.id)
        task: asyncio.Future[T] = asyncio.ensure_future(work())
        self._running[key] = task
        try:
            return await task
        except asyncio.CancelledError:
            if (current := asyncio.current_task()) is not None and current.cancelling():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                raise
            return given_up()
        finally:
            if self._running.get(key) is task:
                del self._running[key]

    def give_up(self, agent: str, client: str, number: int | str) -> None:
        """End a request of this client, if it still runs."""
        if task := self._running.get((agent, client, number)):
            task.cancel()
