"""The verbs of ``trailmesh explore``."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from node.explorer.show import show_search, summarise
from node.rooms import Rooms
from node.verbs import Params, Tell, Verb, Verbs
from protocol import limits
from protocol.goal.condition import parse as parse_condition


class ExploreParams(Params, frozen=True, kw_only=True):
    """``explore.run``"""

    goal: str
    start: str
    until: Any
    peers: list[str] | None = None
    seconds: int = 120
    seed: int = 0


class ResumeParams(Params, frozen=True, kw_only=True):
    """``explore.resume``"""

    search: str
    seconds: int = 0


class SearchParams(Params, frozen=True, kw_only=True):
    """Verbs about one search."""

    search: str
    html: str = ""


class SearchesParams(Params, frozen=True, kw_only=True):
    """``explore.list``"""

    limit: Annotated[int, msgspec.Meta(ge=1, le=limits.LIST_ROWS_MAX)] = 50


class ExploreVerbs:
    """Starts searches, stops them, shows what they found."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms

    @property
    def verbs(self) -> Verbs:
        """The verbs by name."""
        return {
            "explore.run": Verb(ExploreParams, self._explore),
            "explore.resume": Verb(ResumeParams, self._resume),
            "explore.stop": Verb(SearchParams, self._stop),
            "explore.remove": Verb(SearchParams, self._remove),
            "explore.list": Verb(SearchesParams, self._searches),
            "explore.show": Verb(SearchParams, self._search),
        }

    async def _explore(self, params: ExploreParams, tell: Tell) -> Any:
        if params.peers:
            self._rooms.need_serving()
        if self._rooms.serving:
            self._rooms.log_exchange.soon()
        found = await self._rooms.explorer.run(
            goal=params.goal,
            start_url=params.start,
            condition=parse_condition(params.until),
            peers=params.peers if self._rooms.serving else [],
            seconds=params.seconds,
            seed=params.seed,
            tell=tell,
        )
        return await summarise(self._rooms, found.id)

    async def _resume(self, params: ResumeParams, tell: Tell) -> Any:
        if not self._rooms.serving and await self._rooms.explorer.is_shared(params.search):
            self._rooms.need_serving()  # peers return results by calling us
        if self._rooms.serving:
            self._rooms.log_exchange.soon()
        found = await self._rooms.explorer.resume(params.search, seconds=params.seconds, tell=tell)
        return await summarise(self._rooms, found.id)

    async def _stop(self, params: SearchParams, tell: Tell) -> Any:
        found = await self._rooms.explorer.stop(params.search)
        return await summarise(self._rooms, found.id)

    async def _remove(self, params: SearchParams, tell: Tell) -> dict[str, Any]:
        found, freed = await self._rooms.explorer.remove(params.search)
        return {
            "search": found.id,
            "status": found.status,
            "freed": [
                {"node": node, "name": self._rooms.peers.name_of(node), "bytes": count} for node, count in freed.items()
            ],
        }

    async def _searches(self, params: SearchesParams, tell: Tell) -> dict[str, Any]:
        found = await self._rooms.store.searches(limit=params.limit)
        return {
            "searches": [
                {"id": f.id, "status": f.status, "coordinator": f.coordinator, "created_ms": f.created_ms}
                for f in found
            ]
        }

    async def _search(self, params: SearchParams, tell: Tell) -> Any:
        return await show_search(self._rooms, params.search, params.html)
