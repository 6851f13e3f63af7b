"""Accepts the present clock after it was ahead. In no other way can a seen time go back."""

from __future__ import annotations

from node.capsules.seal import ahead
from node.rooms import Rooms
from node.verbs import Bound
from node.verbs.nodes import clock as verbs
from node.verbs.nodes.clock import AcceptedClock, StillBlocked
from protocol import limits
from protocol.clock import KIND_CLOCK, ClockAcceptance
from protocol.errors import MeshError


class ClockVerbs:
    """Implements ``node.accept_clock``."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms
        self.bound: Bound = {verbs.ACCEPT: lambda params, tell: self.accept()}

    async def accept(self) -> AcceptedClock:
        """Sign the acceptance, then set the seen times back where that revives nothing.

        Errors: ``input.invalid`` (the clock is not behind), ``store.tampered``, ``log.rollback``, ``keylog.*``, ``store.*``.
        """
        rooms, now_ms = self._rooms, self._rooms.clock.now_ms()
        rooms.witness.check_untampered()
        blocked = await ahead(rooms.sealed.capsules.kept, now_ms)
        latest_ms = max([rooms.approvals.latest_ms, *(each.latest_ms for each in blocked)])
        if latest_ms <= now_ms + limits.CLOCK_SKEW_S * 1000:
            told = "the clock is not behind any time that was seen: there is nothing to accept"
            raise MeshError("input.invalid", told)
        said = ClockAcceptance(from_ms=latest_ms, to_ms=now_ms)
        await rooms.store.put_artefact(await rooms.witness.artefact(KIND_CLOCK, rooms.identity.node, said))
        for each in blocked:
            if not each.why:
                await rooms.store.put_clock_back(each.id, now_ms)
        return AcceptedClock(
            from_ms=latest_ms,
            to_ms=now_ms,
            capsules=tuple(each.id for each in blocked if not each.why),
            blocked=tuple(StillBlocked(id=each.id, why=each.why) for each in blocked if each.why),
            answers=await rooms.approvals.accept_clock(now_ms),
        )
