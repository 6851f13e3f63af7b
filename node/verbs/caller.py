"""Who calls: every verb and every route is called by somebody, and every trace of the call says by whom."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from typing import Final

import msgspec

from protocol import audit


class CallerKind(StrEnum):
    """In what capacity somebody calls."""

    OWNER = "owner"
    """The person whose node it is: by the control socket and its token, or by a command in this process."""
    AGENT = "agent"
    """A program that shows a token which the owner made for it."""
    SCHEDULE = "schedule"
    """A schedule that is due; it may do what was granted when it was made."""
    PEER = "peer"
    """Another node, over the peer channel."""
    NODE = "node"
    """The node by itself: what it does on a timer, or goes on with after a restart. It calls no verb."""
    APPROVER = "approver"
    """A person who answers a question of the gate, and may do nothing else."""


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """One caller. ``str(caller)`` is what audit rows, sessions, leases and refusals keep of it."""

    kind: CallerKind
    name: str = ""
    """The agent's name, the schedule's id, the peer's node id; empty for the owner."""
    scopes: frozenset[str] = frozenset()
    """What an agent or a schedule was granted, from ``SCOPES``. The owner needs none."""
    origins: tuple[str, ...] = ()
    """The only origins that the caller may have a browser visit; empty for all that the configuration allows."""
    since_ms: int = 0
    """When an agent was made. What was done under its name before, an agent did that was removed since."""

    def __str__(self) -> str:
        if self.kind is CallerKind.OWNER:
            return audit.OWNER
        if self.kind is CallerKind.NODE:
            return audit.NODE
        if self.kind is CallerKind.PEER:
            return self.name  # a node id says by its form what it is
        return f"{self.kind.value}:{self.name}"

    def owns(self, caller: str, at_ms: int | None) -> bool:
        """Whether what ``caller`` (the ``str`` of one) began at ``at_ms`` is for this caller to use and to end.

        The owner's is everything; an agent's is its own, and not what one did that had its name before. at_ms: None for what
        ends with its caller and has not ended: nobody had the name before.
        """
        if self.kind in (CallerKind.OWNER, CallerKind.NODE):
            return True
        return caller == str(self) and (at_ms is None or at_ms >= self.since_ms)


OWNER: Final = Caller(kind=CallerKind.OWNER)
NODE: Final = Caller(kind=CallerKind.NODE)

SCOPES: Final = {
    "read": "look at sessions, searches, events and the state of the node",
    "record": "record sessions from action files",
    "replay": "replay recorded sessions",
    "live": "open live browser sessions and act in them",
    "explore": "run searches, and stop and resume its own",
}
"""What an agent or a schedule can be granted, and what each allows."""

_calling: ContextVar[Caller] = ContextVar("caller", default=OWNER)


def current_caller() -> Caller:
    """Who has asked for what this task is doing. What a command does in its own process, its owner does."""
    return _calling.get()


@contextmanager
def called_by(caller: Caller) -> Iterator[None]:
    """Within the block, and in the tasks it starts, ``caller`` is who asked."""
    token = _calling.set(caller)
    try:
        yield
    finally:
        _calling.reset(token)
