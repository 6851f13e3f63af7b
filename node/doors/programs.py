"""The doors for programs that a node opens if its configuration says so: HTTP, and MCP on it."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from adapters.ports.clock import Clock
from node.agents import Agents
from node.config import DoorsConfig
from node.doors.call_times import CallTimes
from node.doors.event_streams import EventStreams
from node.doors.http_door import Dispatch, HttpDoor
from node.doors.mcp_door import McpDoor

log = logging.getLogger(__name__)

_NAME_BYTES: Final = 16


class ProgramDoors:
    """The HTTP door with the events of tasks and MCP."""

    def __init__(
        self,
        home: Path,
        config: DoorsConfig,
        dispatch: Dispatch,
        agents: Agents,
        clock: Clock,
        times: CallTimes | None = None,
    ) -> None:
        """times: shared with the other doors. Errors: ``config.invalid``."""
        self._http: HttpDoor | None = None
        if config.http.serve:
            self._http = HttpDoor(home, config.http, dispatch, agents, times)
            EventStreams(self._http)
            self._mcp = McpDoor(self._http, lambda: clock.random(_NAME_BYTES).hex())

    async def start(self) -> str:
        """Listen. Returns the address; empty if none is served. Errors: ``node.address_in_use``, ``config.invalid``."""
        if self._http is None:
            return ""
        address = await self._http.start()
        log.info("programs may call %s", address)
        return address

    async def close(self) -> None:
        """Stop listening and end open calls. Twice is once."""
        if self._http is not None:
            await self._http.close()
            await self._mcp.close()
