"""The record of everything that a room offers to its node."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from node.verbs.verb import Bound, Handler

if TYPE_CHECKING:
    from adapters.ports.tables import Table

Step = Callable[[], Awaitable[None]]


class Binds(Protocol):
    """A part of a room that implements verbs."""

    @property
    def bound(self) -> Bound:
        """Verbs with the functions that implement them."""


@dataclass(frozen=True, kw_only=True)
class Room:
    """Everything that a node knows about one of its rooms."""

    name: str
    parts: tuple[Binds, ...] = ()
    """The parts that implement verbs."""
    routes: Mapping[str, Handler] = field(default_factory=dict)
    """Routes of the peer API."""
    tables: tuple[Table[Any], ...] = ()
    """Tables that it owns. The store holds them before any room starts."""
    start: tuple[Step, ...] = ()
    """Called in this order before the node serves requests. These steps read the store."""
    close: tuple[Step, ...] = ()
    """Called in this order when the node ends. Calling a step twice has the effect of one call."""

    @property
    def verbs(self) -> Bound:
        """All verbs of the room."""
        return {verb: run for part in self.parts for verb, run in part.bound.items()}
