"""The stored progress of a coordinator's search, apart from tree and leases."""

from __future__ import annotations

import msgspec


class VerifiedSuccess(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A success that this node has seen itself."""

    session: str
    path: tuple[bytes, ...]
    claimed_by: str


class Progress(msgspec.Struct, kw_only=True):
    """A coordinator's stored state of its search, without tree and leases; stored with every change.

    Fields of earlier versions that no longer exist are ignored.
    """

    used_ms: int = 0
    """Time searched, summed over all resumptions."""
    limit_ms: int = 0
    """The ``used_ms`` at which the search ends without success; each resumption sets a new one."""
    branches: int = 0
    """Leases granted."""
    reassigned: int = 0
    """Leases that expired or failed, so that their branch was open again."""
    claims: int = 0
    claims_false: dict[str, int] = msgspec.field(default_factory=dict)
    claims_checked: list[str] = msgspec.field(default_factory=list)
    """Leases whose claim was replayed, with any result; the others are replayed after a restart."""
    leases_empty: dict[str, int] = msgspec.field(default_factory=dict)
    """Leases in a row that a worker returned without a delta; by node id (``node.explorer.coordinating.diligence``)."""
    deltas_seen: dict[str, tuple[int, int]] = msgspec.field(default_factory=dict)
    """Epoch and number of the newest delta of a worker when it last returned a lease; by node id."""
    would_send: list[str] = msgspec.field(default_factory=list)
    """Refused requests of this node's own work that would change something; each once."""
    capsule: str = ""
    """Id of the capsule whose login it begins with; empty for none."""
    of_task: bool = False
    """True if it is the work of a task: it ends with the task, and so with the node."""
    login_at: str = ""
    """Origin of the first page that asked this node's own work for a login; empty if none did."""
    verified: VerifiedSuccess | None = None
    error: str = ""
