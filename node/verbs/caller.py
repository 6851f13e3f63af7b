"""The caller of a verb or route. Audit rows, sessions, leases and refusals all record it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from typing import Final

import msgspec

from protocol import audit


class CallerKind(StrEnum):
    """The kind of a caller."""

    OWNER = "owner"
    """The person who runs the node: over the control socket with its token, or by a command in this process."""
    AGENT = "agent"
    """A program with a token that the owner created for it."""
    SCHEDULE = "schedule"
    """A schedule that is due; it has the grants that were fixed when it was created."""
    PEER = "peer"
    """Another node, calling over the peer channel."""
    NODE = "node"
    """The node itself: its timers, and work resumed after a restart. It calls no verb."""
    PAGE = "page"
    """The owner's web browser, which shows the page of the node. It sees what the owner sees, and changes nothing."""
    APPROVER = "approver"
    """A person who answers an approval request, and can do nothing else."""


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """One caller. Audit rows, sessions, leases and refusals store ``str(caller)``."""

    kind: CallerKind
    name: str = ""
    """The agent's name, the schedule's id or the peer's node id; empty for the owner."""
    scopes: frozenset[str] = frozenset()
    """Scopes of an agent or a schedule, from ``SCOPES``. The owner needs none."""
    origins: tuple[str, ...] = ()
    """Origins that a browser may visit for this caller; empty for all origins that the configuration allows."""
    capsules: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """For an agent: ids of the capsules that it may use, each with the kinds of work. The owner needs none."""
    since_ms: int = 0
    """The time at which an agent was created, in milliseconds since 1970. Earlier work under its name was done by a removed
    agent.
    """

    def __str__(self) -> str:
        if self.kind is CallerKind.OWNER:
            return audit.OWNER
        if self.kind is CallerKind.NODE:
            return audit.NODE
        if self.kind is CallerKind.PEER:
            return self.name  # a node id needs no prefix, because no other caller has its form
        return f"{self.kind.value}:{self.name}"

    @property
    def alone(self) -> bool:
        """True if its searches have no peers unless it names some: peers can enforce neither its origins nor its browser time."""
        return bool(self.origins) or self.kind is CallerKind.AGENT

    @property
    def sees_all(self) -> bool:
        """True if it sees the work of every caller."""
        return self.kind in (CallerKind.OWNER, CallerKind.NODE, CallerKind.PAGE)

    def may_mount(self, capsule: str, task: str = "") -> bool:
        """True if it was granted the capsule with this id for this kind of work; without a kind, for any work."""
        if self.kind is not CallerKind.AGENT:
            return True
        return any(id == capsule and (not task or task in tasks) for id, tasks in self.capsules)

    def owns(self, caller: str, at_ms: int | None) -> bool:
        """True if this caller may use and end the work that ``caller`` (in its ``str`` form) began at ``at_ms``.

        The owner may use everything. The page sees everything; it can call nothing that uses or ends work. An agent may use its own
        work, but not the work of a removed agent that had its name. at_ms: None for work that ends with its caller and is still
        running, which no removed agent can have begun.
        """
        if self.sees_all:
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
    "local": "with live, record or replay: work on sites of this machine (localhost) that its work begins at",
}
"""The scopes that an agent or a schedule can have, and what each allows."""

_calling: ContextVar[Caller] = ContextVar("caller", default=OWNER)


def current_caller() -> Caller:
    """The caller on whose behalf this task runs. Work in a command's own process belongs to the owner."""
    return _calling.get()


@contextmanager
def called_by(caller: Caller) -> Iterator[None]:
    """Set ``caller`` as the current caller within the block and in tasks started in it."""
    token = _calling.set(caller)
    try:
        yield
    finally:
        _calling.reset(token)
