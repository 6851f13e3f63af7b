"""Runs the search of one scheduled run, with the schedule as caller, and returns its result."""

from __future__ import annotations

import contextlib
from typing import Any, Final, Protocol

import msgspec

from adapters.ports.clock import Clock
from adapters.schedule_records import RunSpend, ScheduleRecord
from node.base.serving import Serving
from node.explorer import Parts, show_search
from node.log import LogExchange
from node.signing import Witness
from node.verbs import Caller, CallerKind, Tell, called_by
from node.verbs.searches.explore import RUN, RunParams
from protocol import ids
from protocol.errors import MeshError

BUSY: Final = "schedule.busy"
_BUSY: Final = frozenset({"lease.busy", "live.busy"})
"""The codes by which workers (a peer, or this node's browsers) say that they have no place."""


class ScheduledSearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a search."""

    reason: str = ""
    """Error code of the reason why it did not reach its goal."""
    session: str = ""
    spend: tuple[RunSpend, ...] = ()


class Searching(Protocol):
    """The functions that the room of schedules needs from the room of searches."""

    def new_id(self) -> str:
        """A new search id. The record of a run is stored with it before the search begins."""

    async def search(self, record: ScheduleRecord, search_id: str, tell: Tell) -> ScheduledSearchResult:
        """Do the search of ``record`` and wait for its end. Cancelling the call stops the search.

        Errors: ``caller.refused``, those of ``explore.run`` that come before there is a search.
        """

    async def stop(self, search_id: str) -> None:
        """End a search that a crash has left running; does nothing if it never began. Errors: ``store.*``."""


class ScheduledSearches:
    """Implements ``Searching`` over the explorer."""

    def __init__(
        self, parts: Parts, witness: Witness, log_exchange: LogExchange, serving: Serving, clock: Clock
    ) -> None:
        self._parts, self._explorer = parts, parts.explorer
        self._witness, self._log_exchange, self._serving, self._clock = witness, log_exchange, serving, clock

    def new_id(self) -> str:
        """Implements ``Searching.new_id``."""
        return ids.make_id("sea", self._clock.random(ids.ID_RANDOM_BYTES))

    async def search(self, record: ScheduleRecord, search_id: str, tell: Tell) -> ScheduledSearchResult:
        """Implements ``Searching.search``."""
        caller = caller_of(record)
        if not RUN.admits(caller):
            raise MeshError("caller.refused", f"{RUN.name} needs the scope {RUN.scope}", caller=str(caller))
        peers = None if record.peers is None else list(record.peers)
        given = RunParams(
            goal=record.goal,
            start=record.start_url,
            until=msgspec.to_builtins(record.until),
            peers=peers,
            seconds=record.seconds,
            seed=record.seed,
            capsule=record.capsule,
        )
        assert RUN.row is not None, "searches are on the audit trail"
        with called_by(caller):
            try:
                async with self._witness.trail.declared(RUN.name, RUN.row, str(caller), given):
                    return await self._run(record, peers, search_id, tell)
            except MeshError as error:
                if error.code not in _BUSY:
                    raise
                return ScheduledSearchResult(reason=BUSY)  # no browser was free to look at the start page

    async def _run(
        self, record: ScheduleRecord, peers: list[str] | None, search_id: str, tell: Tell
    ) -> ScheduledSearchResult:
        if peers:
            self._serving.need()
        if self._serving:
            self._log_exchange.soon()
        refusals: set[str] = set()

        def noted(event: dict[str, Any]) -> None:
            if "error" in event:
                refusals.add(event["error"])
            tell(event)

        await self._explorer.run(
            goal=record.goal,
            start_url=record.start_url,
            condition=record.until,
            peers=peers if self._serving else [],
            seconds=record.seconds,
            seed=record.seed,
            capsule=record.capsule,
            tell=noted,
            search_id=search_id,
        )
        summary = await show_search(self._parts, search_id, "")
        spend = tuple(
            RunSpend(node=peer.node, name=peer.name, visits=peer.visits, steps=peer.steps, cost_ms=peer.cost_ms)
            for peer in summary.spend
        )
        reason = summary.reason or "search.not_found_goal"
        if summary.status == "stopped":
            reason = "internal.cancelled"
        elif refusals and refusals <= _BUSY and not any(each.visits or each.steps for each in spend):
            reason = BUSY  # nothing was searched, so there is no answer about the goal
        return ScheduledSearchResult(
            reason="" if summary.status == "done" else reason, session=summary.session, spend=spend
        )

    async def stop(self, search_id: str) -> None:
        """Implements ``Searching.stop``."""
        with contextlib.suppress(MeshError):  # it never began, or was removed
            await self._explorer.stop(search_id)


def caller_of(record: ScheduleRecord) -> Caller:
    """The caller of a schedule's runs."""
    return Caller(
        kind=CallerKind.SCHEDULE, name=record.id, scopes=frozenset(record.scopes), origins=tuple(record.origins)
    )
