"""Store records of witness logs: this node's own, and the known states of peers' logs."""

from __future__ import annotations

from typing import Final

import msgspec

from adapters.ports.tables import Table
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


class CosignedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The newest of this node's checkpoints that a peer has cosigned."""

    witness: Plain
    """Node id of the peer."""
    public_key: bytes
    """The key it cosigned with."""
    key_log: bytes
    """Proof that it is the peer's key; empty for the peer's first key."""
    log: int
    size: int
    checkpoint: bytes
    """The signed note without cosignatures."""
    line: Plain
    """The signature line of the peer, without its line feed."""
    time_s: int


COSIGNED: Final = Table(
    name="log_cosigned", record=CosignedRecord, key="witness", order="witness", bound="one of each peer"
)
