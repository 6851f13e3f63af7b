"""Serves the tools of the running node on standard input and output, for one client of the Model Context Protocol (MCP).

The tools and their texts are those of the HTTP door. A session that the client opened is closed and signed when the client ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import AsyncIterator
from typing import Any, Final, Protocol, cast

from mcp.server.stdio import stdio_server

from node.base.tasks import to_its_end
from node.doors.tools import Profile, server_of
from node.verbs import Tell
from node.verbs.live import live as verbs
from node.verbs.nodes import node as node_verbs
from protocol.errors import MeshError

log = logging.getLogger(__name__)

_SESSION: Final = "session"
_CLOSE_S: Final = 30.0
_OVER: Final = frozenset({"live.ended", "live.not_found"})
"""Error codes after which the live session no longer exists."""


class AskNode(Protocol):
    """Calls a verb of the running node."""

    async def __call__(self, verb: str, params: dict[str, Any], tell: Tell, key: str) -> Any:
        """The plain result. Errors: those of the verb, ``node.not_serving``."""


class Bridge:
    """The calls of one client, and the sessions that it has open."""

    def __init__(self, ask: AskNode, opening: dict[str, Any]) -> None:
        """opening: parameters of ``live.open``, without the address, which the client cannot set."""
        self._ask, self._opening = ask, opening
        self._open: dict[str, None] = {}

    async def ask(self, context: Any, verb: str, params: dict[str, Any], tell: Tell, key: str = "") -> Any:
        """Implements ``node.doors.tools.server.Ask``."""
        if verb == verbs.OPEN.name:
            params = {**params, **self._opening}
        try:
            result = await self._ask(verb, params, tell, key)
        except MeshError as error:
            if error.code in _OVER:
                self._open.pop(str(params.get(_SESSION)), None)
            raise
        if verb == verbs.OPEN.name:
            self._open[result[_SESSION]] = None
        if verb == verbs.CLOSE.name:
            self._open.pop(result[_SESSION], None)
        return result

    async def close(self) -> None:
        """Close the sessions that the client left open, and report what was signed. One that cannot be closed ends by its idle
        limit.
        """
        await asyncio.gather(*map(self._close, list(self._open)))

    async def _close(self, session: str) -> None:
        try:
            async with asyncio.timeout(_CLOSE_S):
                closed = await self._ask(verbs.CLOSE.name, {_SESSION: session}, lambda event: None, "")
        except (MeshError, TimeoutError) as error:
            log.warning("%s was not closed: %s", session, error)
            return
        self._open.pop(session, None)
        for recorded in closed["recorded"]:
            log.info("signed %s", recorded["id"])


async def serve(ask: AskNode, opening: dict[str, Any], profile: Profile = "default") -> None:
    """Serve one client until it ends or this task is cancelled. Errors: those of ``AskNode``, before the first message of the
    client.
    """
    await ask(node_verbs.WHOAMI.name, {}, lambda event: None, "")
    bridge = Bridge(ask, opening)
    server = server_of(profile, bridge.ask)
    try:
        async with stdio_server(stdin=cast(Any, _typed_lines())) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    finally:
        await to_its_end(bridge.close())


async def _typed_lines() -> AsyncIterator[str]:
    """The lines of standard input.

    Read in a daemon thread. The SDK's thread cannot be interrupted while the client is silent, so a signal would not end
    this process.
    """
    loop, lines = asyncio.get_running_loop(), asyncio.Queue[str | None](1)

    def read() -> None:
        with contextlib.suppress(RuntimeError), open(os.dup(0), encoding="utf-8", errors="replace") as stdin:
            for line in stdin:
                asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()
            asyncio.run_coroutine_threadsafe(lines.put(None), loop).result()

    threading.Thread(target=read, name="standard input", daemon=True).start()
    while (line := await lines.get()) is not None:
        yield line
