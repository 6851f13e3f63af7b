"""The browser time of an agent. It is taken from the budget in slices, before it is used."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from adapters.ports.clock import Clock
from adapters.ports.records import AgentRecord
from adapters.ports.store import Store
from protocol import limits
from protocol.errors import MeshError

End = Callable[[MeshError], None]
"""Ends work in progress with an error; does nothing if the work has ended."""


class BrowserTime:
    """Time of one run with a browser. A crash of the node costs the agent at most one slice, and gives it none."""

    def __init__(self, store: Store, clock: Clock, agent: AgentRecord) -> None:
        self._store, self._clock, self._agent = store, clock, agent
        self._slice_ms = self._began_ms = 0

    async def take(self) -> None:
        """Take the next slice. Errors: ``agent.budget``, ``control.unauthorised``, ``store.*``."""
        try:
            self._slice_ms = await self._store.charge_agent(self._agent.token_hash, limits.AGENT_BROWSER_SLICE_MS)
        except MeshError as error:
            self._slice_ms = 0
            if error.code == "input.not_found":
                raise MeshError("control.unauthorised", "the owner of the node has removed this agent") from error
            raise
        self._began_ms = self._clock.now_ms()

    async def go_on(self, end: End) -> None:
        """Take slices until the budget is used up."""
        try:
            while True:
                await self._clock.sleep(self._slice_ms / 1_000)
                await self.take()
        except MeshError as error:
            end(error)

    async def give_back(self) -> None:
        """Return the rest of the last slice to the budget, unless the agent was removed."""
        used_ms = max(0, self._clock.now_ms() - self._began_ms)
        if used_ms < self._slice_ms:
            with contextlib.suppress(MeshError):
                await self._store.charge_agent(self._agent.token_hash, used_ms - self._slice_ms)
