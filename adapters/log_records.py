"""Store records of witness logs: this node's own, and the known states of peers' logs."""

from __future__ import annotations

import msgspec

from protocol.kinds import Plain


class LogRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One of this node's own witness logs, after its last append."""

    number: int
    size: int
    checkpoint: bytes
    """The signed note over this size."""
    latest_s: int = 0
    """The latest time of issue in it, seconds since 1970; setting the clock back does not lower it."""
    register: bytes = b""
    """The signature over its entries that take effect here (``node.signing.register``)."""


class LeafRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One artefact in a log of this node."""

    log: int
    """Number of the log."""
    index: int
    digest: bytes
    """SHA-256 of the artefact's envelope."""
    kind: Plain
    subject: Plain


Subtree = tuple[int, int]
"""Level and number of a complete subtree of a log (``protocol.log.merkle_growth``)."""
