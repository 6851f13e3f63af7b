# Written by `make client` from node/verbs/; change the declarations instead.
"""Records of the verbs ``owner.*`` (docs/verbs.md)."""

from __future__ import annotations

from trailmesh.client.record import Record


class OwnerList(Record, frozen=True, kw_only=True):
    """The owners' keys in the order of their addition, and the chain of changes that the next change must continue."""

    owners: tuple[OwnerKey, ...]

    node: str

    number: int
    """Number of changes so far."""

    head: str
    """SHA-256 of the last change, in hexadecimal; empty before the first."""


class Changed(Record, frozen=True, kw_only=True):
    """The key after the change."""

    id: str

    name: str

    state: str

    class_max: int
    """The highest risk class that it may approve."""

    key: str
    """The public key, in hexadecimal."""

    added_ms: int

    by: str
    """The voucher: `first`, `recovery`, or the id of an owner."""

    revoked_ms: int
    """0 while it is active."""

    ended: int
    """Number of its approvals that have ended."""


class OwnerKey(Record, frozen=True, kw_only=True):
    """A key of an owner."""

    id: str

    name: str

    state: str

    class_max: int
    """The highest risk class that it may approve."""

    key: str
    """The public key, in hexadecimal."""

    added_ms: int

    by: str
    """The voucher: `first`, `recovery`, or the id of an owner."""

    revoked_ms: int
    """0 while it is active."""
