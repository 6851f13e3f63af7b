"""Decides which changes of the feed an agent sees: those about things that it can list, or that are its own.

Its scope ``read`` lists peers, searches and schedules, so it sees all changes to them. It sees recorded sessions that it could
show, capsules that it was granted, and its own live sessions, questions and agent. It sees no changes of owners.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from node.live.sessions import LIVES
from node.rooms import Rooms
from node.tasks import TASKS
from node.verbs import Caller, CallerKind, current_caller
from protocol.errors import MeshError
from protocol.feed import FeedChange

Sees = Callable[[Rooms, Caller, FeedChange], Awaitable[bool]]


async def _always(rooms: Rooms, caller: Caller, change: FeedChange) -> bool:
    return True


async def _never(rooms: Rooms, caller: Caller, change: FeedChange) -> bool:
    return False


async def _itself(rooms: Rooms, caller: Caller, change: FeedChange) -> bool:
    # Without changes by a removed agent of the same name.
    return change.ids[0] == caller.name and change.at_ms >= caller.since_ms


async def _granted(rooms: Rooms, caller: Caller, change: FeedChange) -> bool:
    return caller.may_mount(change.ids[0])


async def _own_live(rooms: Rooms, caller: Caller, change: FeedChange) -> bool:
    record = await rooms.store.rows(LIVES).get(change.ids[0])
    return record is not None and caller.owns(record.caller, record.opened_ms)


async def _own_task(rooms: Rooms, caller: Caller, change: FeedChange) -> bool:
    record = await rooms.store.rows(TASKS).get(change.ids[0])
    return record is not None and caller.owns(record.caller, record.created_ms)


async def _own_question(rooms: Rooms, caller: Caller, change: FeedChange) -> bool:
    asked = rooms.approvals.asked_by(change.ids[0])
    return asked is not None and caller.owns(*asked)


async def _session(rooms: Rooms, caller: Caller, change: FeedChange) -> bool:
    if caller.owns(change.who, change.at_ms):
        return True  # its own changes, even to a session that no longer exists
    try:
        await rooms.sessions.reading.session(change.ids[0])
    except MeshError:
        return False
    return True


SIGHTS: Final[Mapping[str, Sees]] = {
    "node": _always,
    "key": _always,
    "log": _always,
    "peer": _always,
    "search": _always,
    "lease": _always,
    "claim": _always,
    "schedule": _always,
    "run": _always,
    "session": _session,
    "capsule": _granted,
    "live": _own_live,
    "task": _own_task,
    "question": _own_question,
    "agent": _itself,
    "owner": _never,
}
"""The ``Sees`` for each first part of a kind. Only the owner sees kinds that are missing here."""


class Sights:
    """Implements ``node.signing.Sees`` for the caller of a verb."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms

    async def sees(self, change: FeedChange) -> bool:
        """True if the present caller sees a change. Errors: ``store.*``."""
        caller = current_caller()
        if caller.kind is not CallerKind.AGENT:
            return True
        return await SIGHTS.get(change.kind.partition(".")[0], _never)(self._rooms, caller, change)
