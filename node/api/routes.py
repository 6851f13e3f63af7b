"""Which routes of the peer API are privileged, and what the audit trail says of each.

Privileged is what lets a peer make this node act in a browser, or ends that. A route that only tells, or adds to what an open
search allows, is not. A test fails until a new route is listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from node.verbs import Row
from protocol.errors import MeshError
from protocol.messages import Assignment, SearchSpec
from protocol.wire import cbor, envelope

UNDECLARED: Final = Row()
"""A route that is not listed counts as privileged: forgetting one costs rows, never the trail."""


def _sealed(data: bytes, record: type[msgspec.Struct], field: str) -> str:
    """A field of what a peer sealed, as the peer claims it: nothing is verified yet."""
    try:
        return str(getattr(cbor.decode_as(envelope.peek(data).payload, record), field))
    except MeshError:
        return ""


ROUTES: Final[Mapping[str, Row | None]] = {
    "status": None,
    "reach/echo": None,
    "grants/push": None,  # decides only whom this node asks
    "keys/push": None,  # what is believed of it leaves a row of its own
    "keys/pull": None,
    "notices/push": None,  # advice
    "search/open": Row(subject=lambda given: _sealed(given.spec, SearchSpec, "id")),
    "search/close": Row(subject=lambda given: given.search),
    "branch/assign": Row(subject=lambda given: _sealed(given.assignment, Assignment, "lease")),
    "branch/revoke": Row(subject=lambda given: given.lease),
    "branch/renew": None,
    "branch/return": None,
    "deltas/push": None,
    "deltas/pull": None,
    "deltas/show": None,
    "deltas/proof": None,
    "log/checkpoint": None,
    "log/consistency": None,
    "log/prove": None,
}
"""By route; None for what is not privileged."""
