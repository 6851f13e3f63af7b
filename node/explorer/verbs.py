"""Implements the verbs for searches."""

from __future__ import annotations

from typing import Any

from adapters.ports.choosing import NewChooser, no_chooser
from node.base.serving import Serving
from node.explorer.showing.show import Parts, show_search, summarise
from node.log import LogExchange
from node.verbs import Bound, Tell
from node.verbs.searches import explore as verbs
from node.verbs.searches.explore import (
    Freed,
    ListedSearch,
    ListParams,
    RemovedSearch,
    ResumeParams,
    RunParams,
    SearchList,
    SearchParams,
    ShowParams,
    Summary,
)
from protocol.goal.condition import parse as parse_condition


class ExploreVerbs:
    """Starts searches, stops them, shows their results."""

    def __init__(
        self, parts: Parts, log_exchange: LogExchange, serving: Serving, new_chooser: NewChooser = no_chooser
    ) -> None:
        """parts: for the summary that each verb returns."""
        self._new_chooser = new_chooser
        self._parts, self._explorer, self._peers = parts, parts.explorer, parts.peers
        self._log_exchange, self._serving = log_exchange, serving
        self.bound: Bound = {
            verbs.RUN: self._run,
            verbs.RESUME: self._resume,
            verbs.STOP: self._stop,
            verbs.REMOVE: self._remove,
            verbs.LIST: self._list,
            verbs.SHOW: self._show,
        }

    async def _run(self, params: RunParams, tell: Tell) -> Summary:
        if params.peers:
            self._serving.need()
        if self._serving:
            self._log_exchange.soon()
        found = await self._explorer.run(
            goal=params.goal,
            start_url=params.start,
            condition=parse_condition(params.until),
            peers=params.peers if self._serving else [],
            seconds=params.seconds,
            seed=params.seed,
            capsule=params.capsule,
            chooser=self._new_chooser(params.chooser) if params.chooser else None,
            tell=self._naming(tell),
        )
        return await summarise(self._parts, found.id)

    async def _resume(self, params: ResumeParams, tell: Tell) -> Summary:
        if not self._serving and await self._explorer.is_shared(params.search):
            self._serving.need()  # peers return results by calling this node, so it must serve
        if self._serving:
            self._log_exchange.soon()
        found = await self._explorer.resume(params.search, seconds=params.seconds, tell=self._naming(tell))
        return await summarise(self._parts, found.id)

    def _naming(self, tell: Tell) -> Tell:
        """``tell``, extended by the names of the nodes in an event."""

        def named(event: dict[str, Any]) -> None:
            nodes = [node for node in (*event.get("visits", ()), event.get("peer", "")) if node]
            tell({**event, "names": self._peers.names_of(nodes)} if nodes else event)

        return named

    async def _stop(self, params: SearchParams, tell: Tell) -> Summary:
        found = await self._explorer.stop(params.search)
        return await summarise(self._parts, found.id)

    async def _remove(self, params: SearchParams, tell: Tell) -> RemovedSearch:
        found, freed = await self._explorer.remove(params.search)
        return RemovedSearch(
            search=found.id,
            status=found.status,
            freed=[Freed(node=node, name=self._peers.name_of(node), bytes=count) for node, count in freed.items()],
        )

    async def _list(self, params: ListParams, tell: Tell) -> SearchList:
        found = await self._parts.store.searches(limit=params.limit)
        return SearchList(
            searches=[
                ListedSearch(
                    id=f.id, status=f.status, coordinator=f.coordinator, created_ms=f.created_ms, caller=f.caller
                )
                for f in found
            ],
            names=self._peers.names_of(f.coordinator for f in found),
        )

    async def _show(self, params: ShowParams, tell: Tell) -> Summary:
        return await show_search(self._parts, params.search, params.html)
