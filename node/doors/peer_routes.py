"""Declares which routes of the peer API are privileged, and their rows in the audit trail.

A route is privileged if it lets a peer make this node act in a browser, or ends that. A route that only informs, or adds data to an
open search, is not. A test fails until a new route is listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from node.verbs import AuditedPart
from protocol.errors import MeshError
from protocol.messages import Assignment, SearchSpec
from protocol.trust.origin import origin_of
from protocol.wire import cbor, envelope

UNDECLARED: Final = AuditedPart()
"""A route that is not listed counts as privileged: a forgotten entry then adds rows instead of leaving them out."""


def _sealed(data: bytes, record: type[msgspec.Struct], field: str) -> str:
    """A field of a sealed record, as the peer claims it; not verified yet."""
    try:
        return str(getattr(cbor.decode_as(envelope.peek(data).payload, record), field))
    except MeshError:
        return ""


ROUTES: Final[Mapping[str, AuditedPart | None]] = {
    "status": None,
    "reach/echo": None,
    "grants/push": None,  # only affects which peers this node calls
    "keys/push": None,  # accepting the revocation writes a separate row
    "keys/pull": None,
    "notices/push": None,  # advice
    "search/open": AuditedPart(subject=lambda given: _sealed(given.spec, SearchSpec, "id")),
    "search/close": AuditedPart(subject=lambda given: given.search),
    "branch/assign": AuditedPart(subject=lambda given: _sealed(given.assignment, Assignment, "lease")),
    "branch/revoke": AuditedPart(subject=lambda given: given.lease),
    "branch/renew": None,
    "branch/return": None,
    "deltas/push": None,
    "deltas/pull": None,
    "deltas/show": None,
    "deltas/proof": None,
    "capsule/key": None,
    "capsule/use": None,  # the use is an artefact in the witness log of the node that uses the capsule
    "capsule/cookies": AuditedPart(note=lambda given: {"origin": origin_of(given.origin)}),  # a login leaves this node
    "capsule/revoke": None,  # a revocation that ends something writes a separate row
    "work/ask": AuditedPart(subject=lambda given: given.id.hex(), note=lambda given: {"task": given.task}),
    "work/look": None,
    "work/fetch": None,  # its first part writes a row
    "log/checkpoint": None,
    "log/consistency": None,
    "log/prove": None,
}
"""Row by route; None for routes that are not privileged."""
