"""The table of what peers have cosigned."""

from __future__ import annotations

from typing import Final

import msgspec

from adapters.ports.tables import Table
from protocol.kinds import Plain


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
