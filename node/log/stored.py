"""The tables of what is known of the logs of peers."""

from __future__ import annotations

from typing import Final

import msgspec

from adapters.ports.tables import Table
from protocol.kinds import Plain


class HeadRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The one checkpoint kept of another node's log."""

    node: Plain
    checkpoint: bytes
    """The note as its node signed it."""
    seen_ms: int
    """Time at which it was last received."""


class EquivocationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A proof that a node has signed two histories."""

    node: Plain
    proof: bytes
    """The file of ``protocol.log.log_proof``."""
    found_ms: int


HEADS: Final = Table(name="log_heads", record=HeadRecord, key="node", order="node", bound="one of each peer")
EQUIVOCATIONS: Final = Table(
    name="log_equivocations", record=EquivocationRecord, key="node", order="node", bound="one of each peer"
)
