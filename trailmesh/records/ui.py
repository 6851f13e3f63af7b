# Written by `make client` from node/verbs/; change the declarations instead.
"""Records of the verbs ``ui.*`` (docs/verbs.md)."""

from __future__ import annotations

from trailmesh.client.record import Record


class PageLink(Record, frozen=True, kw_only=True):
    """A link to the page of the node."""

    link: str
    """It can be used once."""

    ends_ms: int
