# Written by `make client` from node/verbs/; change the declarations instead.
"""Records of the verbs ``events.*`` (docs/verbs.md)."""

from __future__ import annotations

from trailmesh.client.record import Record


class EventListing(Record, frozen=True, kw_only=True):
    """Result of ``events.list``."""

    changes: tuple[FeedChange, ...]
    """In ascending order of their numbers."""

    last: int
    """The number to pass as `since` in the next call. It also covers changes that the kind filter left out."""

    oldest: int
    """The smallest number still stored."""


class FeedChange(Record, frozen=True, kw_only=True):
    """One change in the feed: its place, and the fields of ``News``."""

    number: int
    """Number of the change. Numbers have no gaps and never repeat."""

    at_ms: int
    """Time of the entry by the node's clock, in milliseconds since 1970."""

    kind: str

    ids: tuple[str, ...]
    """The ids, in the order that the kind declares."""

    who: str
    """Who had it done: `owner`, `node`, `agent:` and its name, `schedule:` and its id, or the id of a peer."""
