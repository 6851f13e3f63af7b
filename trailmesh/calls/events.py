# Written by `make client` from node/verbs/; change the declarations instead.
"""The verbs ``events.*`` as methods (docs/verbs.md)."""

from __future__ import annotations

from trailmesh.client.calling import BlockingCalls, Calls, Progress
from trailmesh.records.events import EventListing


class EventsVerbs(Calls):
    """The verbs ``events.*``."""

    async def list(
        self,
        *,
        since: int | None = None,
        kind: str = "",
        limit: int = 100,
        wait_s: int = 0,
        progress: Progress | None = None,
    ) -> EventListing:
        """List the changes on this node in order.

        since: Changes after the one with this number; 0 for all. Without it: the newest ones, at most --limit;
        with --follow also each new one from then on.
        kind: A kind of change (session.recorded) or a group of kinds (session).
        limit: At most this many per call.
        wait_s: If there is no change yet, wait up to this many seconds for one; only together with since.
        progress: is told what happens meanwhile.
        """
        found: EventListing = await self._call(
            "events.list", {"since": since, "kind": kind, "limit": limit, "wait_s": wait_s}, progress, EventListing
        )
        return found


class BlockingEventsVerbs(BlockingCalls):
    """The verbs ``events.*``, each of which waits until it is done."""

    def list(
        self,
        *,
        since: int | None = None,
        kind: str = "",
        limit: int = 100,
        wait_s: int = 0,
        progress: Progress | None = None,
    ) -> EventListing:
        """List the changes on this node in order.

        since: Changes after the one with this number; 0 for all. Without it: the newest ones, at most --limit;
        with --follow also each new one from then on.
        kind: A kind of change (session.recorded) or a group of kinds (session).
        limit: At most this many per call.
        wait_s: If there is no change yet, wait up to this many seconds for one; only together with since.
        progress: is told what happens meanwhile.
        """
        found: EventListing = self._call(
            "events.list", {"since": since, "kind": kind, "limit": limit, "wait_s": wait_s}, progress, EventListing
        )
        return found
