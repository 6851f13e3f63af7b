"""Store records of capsules and of their ledger, and the rules by which a row of the ledger changes.

A row outlives its capsule. Its values never decrease: counts, generations and times only grow, and a revocation stays. So a
capsule that is removed and imported again from an old file finds its row unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from protocol.capsule.flows.probe import Probe
from protocol.errors import MeshError
from protocol.kinds import AuthorAddress, AuthorText, Plain


class ConsentRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A person's consent, kept until a capsule is sealed on its terms."""

    terms: bytes
    key: bytes
    signed: bytes


class CapsuleRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A capsule, without its stream."""

    id: Plain
    generation: int
    tenant: Plain
    envelope: bytes
    proof: bytes = b""
    """For an imported capsule: proof that it is in its tenant's witness log."""
    stored_ms: int
    consents: tuple[ConsentRecord, ...] = ()
    exported: tuple[Plain, ...] = ()
    """Nodes that it was ever exported to; a revocation is sent to them."""
    offered: tuple[Plain, ...] = ()
    """Nodes that may request its cookies."""
    page: AuthorAddress = ""
    """Address of a page that only a logged-in user sees; empty if none was named."""
    shows: AuthorText = ""
    """Text that this page shows to that user; empty to compare it with the page that others see."""
    probe: Probe = Probe()
    """Differences between this page and a stranger's, found at the capture."""
    minimal: bool = False
    """True if state that the page does not need was left out."""
    widened_ms: int = 0
    """When its policy was last widened: earlier grants to agents no longer hold."""

    def grants(self, since_ms: int) -> bool:
        """True for a grant given under the current policy. since_ms: when it was given."""
        return self.widened_ms <= since_ms


class LedgerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The history of a capsule, as far as this node knows."""

    id: Plain
    tenant: Plain
    expires_ms: int
    """The earliest time when its row may be forgotten."""
    generation: int = 0
    """The highest generation that was seen."""
    uses: dict[Plain, int] = msgspec.field(default_factory=dict)
    """How often each node has used it, by node."""
    latest_ms: int = 0
    """The latest time that was seen."""
    heard_ms: int = 0
    """When its tenant last confirmed it."""
    revoked_ms: int = 0
    revocation: bytes = b""
    """The signed revocation."""
    holder: Plain = ""
    """The holder of the lease; empty for nobody."""
    held_until_ms: int = 0
    held_by: Plain = ""
    """The user and the purpose of the lease, in words."""
    held_since_ms: int = 0
    told: dict[Plain, bytes] = msgspec.field(default_factory=dict)
    """By reporting node, the digest of its use with the highest number."""
    name: Plain = ""
    """The name of a revoked capsule, which is deleted."""
    holders: tuple[Plain, ...] = ()
    """The nodes that a revoked capsule was exported to. Only they are told its fate."""

    @property
    def used(self) -> int:
        """How often it was used by all nodes."""
        return sum(self.uses.values())


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """The start of a use."""

    node: Plain
    """The node that uses the capsule."""
    holder: Plain
    """A unique name of this use."""
    by: Plain = ""
    """The user and the purpose, in words."""
    generation: int
    replays_max: int
    now_ms: int
    until_ms: int
    """When the lease expires."""


def with_use(row: LedgerRecord | None, taken: Taken) -> LedgerRecord:
    """``row`` with one more use, and its lease.

    Checks, in order: a row; not revoked; the newest generation; nobody else holds it; uses are left. Errors:
    ``input.not_found``, ``capsule.revoked``, ``capsule.generation``, ``capsule.held``, ``capsule.replays``.
    """
    if row is None:
        raise MeshError("input.not_found", "no capsule with this id was ever here")
    if row.revoked_ms:
        raise MeshError("capsule.revoked", capsule=row.id)
    if taken.generation < row.generation:
        raise MeshError("capsule.generation", f"{taken.generation}, and there is {row.generation}", capsule=row.id)
    if row.holder and taken.now_ms < row.held_until_ms:
        raise held_error(row)
    if row.used >= taken.replays_max:
        raise MeshError("capsule.replays", f"{row.used} of {taken.replays_max}", capsule=row.id)
    return msgspec.structs.replace(
        row,
        uses={**row.uses, taken.node: row.uses.get(taken.node, 0) + 1},
        latest_ms=max(row.latest_ms, taken.now_ms),
        holder=taken.holder,
        held_until_ms=taken.until_ms,
        held_by=taken.by,
        held_since_ms=taken.now_ms,
    )


def held_error(row: LedgerRecord) -> MeshError:
    """The error for a capsule in use: by whom, since when, and the latest end."""
    told = f"it is in use by {row.held_by or 'another work'} since {_clock(row.held_since_ms)} UTC"
    more = {"by": row.held_by, "since_ms": row.held_since_ms, "until_ms": row.held_until_ms}
    return MeshError("capsule.held", told, capsule=row.id, **more)


def _clock(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M:%S}"


def without_holder(row: LedgerRecord | None, holder: str) -> LedgerRecord | None:
    """``row`` without the lease of ``holder``; None if ``holder`` has no lease."""
    if row is None or row.holder != holder:
        return None
    return msgspec.structs.replace(row, holder="", held_until_ms=0, held_by="", held_since_ms=0)


def merged(row: LedgerRecord | None, more: LedgerRecord) -> LedgerRecord:
    """Both rows merged: the higher one of each number. The lease stays.

    A use reported by ``more`` is new, or repeats the newest one. A node that reports a different use under a counted number
    runs on an older store, or on a copy of one. Errors: ``input.invalid`` for a row of another capsule or tenant,
    ``capsule.counted``.
    """
    if row is None:
        return more
    if (row.id, row.tenant) != (more.id, more.tenant):
        raise MeshError("input.invalid", "another node issued a capsule of this id")
    for node, digest in more.told.items():
        counted, number = row.uses.get(node, 0), more.uses[node]
        if number < counted or (number == counted and row.told.get(node, digest) != digest):
            raise MeshError("capsule.counted", f"use {number}, and {counted} are counted", capsule=row.id)
    nodes = row.uses.keys() | more.uses.keys()
    first = row if row.revoked_ms else more
    return LedgerRecord(
        id=row.id,
        tenant=row.tenant,
        expires_ms=max(row.expires_ms, more.expires_ms),
        generation=max(row.generation, more.generation),
        uses={node: max(row.uses.get(node, 0), more.uses.get(node, 0)) for node in sorted(nodes)},
        latest_ms=max(row.latest_ms, more.latest_ms),
        heard_ms=max(row.heard_ms, more.heard_ms),
        revoked_ms=first.revoked_ms,
        revocation=first.revocation,
        holder=row.holder,
        held_until_ms=row.held_until_ms,
        held_by=row.held_by,
        held_since_ms=row.held_since_ms,
        told=row.told | more.told,
        name=row.name or more.name,
        holders=tuple(sorted({*row.holders, *more.holders})),
    )


def set_back(row: LedgerRecord | None, now_ms: int) -> LedgerRecord | None:
    """``row`` with the time that its owner has accepted, after the clock was ahead; None if there is none. Everything else stays.

    The last contact with its tenant is forgotten: it is asked again before the next use.
    """
    if row is None:
        return None
    return msgspec.structs.replace(row, latest_ms=min(row.latest_ms, now_ms), heard_ms=0)


def last_revoked(rows: Iterable[LedgerRecord], name: str) -> LedgerRecord | None:
    """The revoked capsule with this name that was revoked last."""
    named = [row for row in rows if row.revoked_ms and row.name == name]
    return max(named, key=lambda row: row.revoked_ms, default=None)


def entered(row: LedgerRecord | None, record: CapsuleRecord, expires_ms: int) -> LedgerRecord:
    """The ledger row of a stored capsule.

    Checks, in order: the same tenant; not revoked; no older generation. Errors: ``input.invalid``, ``capsule.revoked``,
    ``capsule.generation``.
    """
    more = LedgerRecord(
        id=record.id,
        tenant=record.tenant,
        expires_ms=expires_ms,
        generation=record.generation,
        latest_ms=record.stored_ms,
    )
    found = merged(row, more)
    if found.revoked_ms:
        raise MeshError("capsule.revoked", capsule=record.id)
    if record.generation < found.generation:
        raise MeshError(
            "capsule.generation", f"{record.generation}, and there is {found.generation}", capsule=record.id
        )
    return found
