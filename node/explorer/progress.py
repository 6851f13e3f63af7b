"""The stored progress of a coordinator's search, apart from tree and leases."""

from __future__ import annotations

import msgspec


class Verified(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A success this node has seen itself."""

    session: str
    path: tuple[bytes, ...]
    claimed_by: str


class Progress(msgspec.Struct, kw_only=True):
    """What the coordinator keeps of its search besides tree and leases; stored with every change.

    An earlier version may have stored fields that are no more: they are passed over.
    """

    used_ms: int = 0
    """Time searched, all resumptions together."""
    limit_ms: int = 0
    """The search ends without success once ``used_ms`` is this; each resumption sets it anew."""
    branches: int = 0
    """Leases granted."""
    reassigned: int = 0
    """Leases that expired or failed and whose branch was open again."""
    claims: int = 0
    claims_false: dict[str, int] = msgspec.field(default_factory=dict)
    claims_checked: list[str] = msgspec.field(default_factory=list)
    """Leases whose claim was replayed, whatever came of it; the others are replayed after a restart."""
    leases_empty: dict[str, int] = msgspec.field(default_factory=dict)
    """Leases in a row that a worker returned without a delta; by node id (``node.explorer.coordinating.diligence``)."""
    deltas_seen: dict[str, tuple[int, int]] = msgspec.field(default_factory=dict)
    """Epoch and number of the newest delta of a worker when it last returned a lease; by node id."""
    would_send: list[str] = msgspec.field(default_factory=list)
    """What actions of this node's own work wanted to send, and was refused; each once."""
    capsule: str = ""
    """Id of the capsule whose login it begins with; empty for none."""
    login_at: str = ""
    """Origin of the first page that asked this node's own work for a login; empty if none did."""
    verified: Verified | None = None
    error: str = ""
