"""Store records of capsules and of their ledger, and the rules by which a row of the ledger changes.

A row outlives its capsule. Nothing in it ever goes back: counts, generations and times only grow, and a revocation stays. So a
capsule that is removed and imported again from an old file finds everything as it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from protocol.capsule.flows.probe import Probe
from protocol.errors import MeshError


class ConsentRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A person's consent, kept until a capsule is sealed on its terms."""

    terms: bytes
    key: bytes
    signed: bytes


class CapsuleRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A capsule, without its stream."""

    id: str
    generation: int
    tenant: str
    envelope: bytes
    proof: bytes = b""
    """Of an imported one: that it is in its tenant's witness log."""
    stored_ms: int
    consents: tuple[ConsentRecord, ...] = ()
    exported: tuple[str, ...] = ()
    """Nodes that it was ever exported to: they are told of a revocation."""
    offered: tuple[str, ...] = ()
    """Nodes that may request its cookies."""
    page: str = ""
    """Address of a page that only who is logged in sees; empty if nobody named one."""
    shows: str = ""
    """Text that this page shows then; empty to compare it with what others see."""
    probe: Probe = Probe()
    """What tells this page from that of a stranger, as the capture found it."""
    minimal: bool = False
    """Whether what the page does not need was left out."""
    widened_ms: int = 0
    """When its policy was last widened: agents that were granted it before are not granted it any more."""

    def grants(self, since_ms: int) -> bool:
        """True for a grant that was given under the policy of now. since_ms: when it was given."""
        return self.widened_ms <= since_ms


class WorkRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Work with a login of this node that a peer asked for. Its verdict is an artefact, once there is one."""

    id: str
    """In hexadecimal."""
    asker: str
    ask: bytes
    """``WorkAsk``, encoded."""
    began_ms: int


class LedgerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to a capsule, as far as this node knows."""

    id: str
    tenant: str
    expires_ms: int
    """When its row may be forgotten, at the earliest."""
    generation: int = 0
    """The highest that was seen."""
    uses: dict[str, int] = msgspec.field(default_factory=dict)
    """By node, how often it has used it."""
    latest_ms: int = 0
    """The latest time that was seen."""
    heard_ms: int = 0
    """When its tenant last said that it stands."""
    revoked_ms: int = 0
    revocation: bytes = b""
    """The signed revocation."""
    holder: str = ""
    """Who holds the lease; empty for nobody."""
    held_until_ms: int = 0
    held_by: str = ""
    """Whose use it is and what it is for, in words."""
    held_since_ms: int = 0
    told: dict[str, bytes] = msgspec.field(default_factory=dict)
    """By node that reported uses, the digest of the use with its highest number."""
    name: str = ""
    """Of a revoked capsule, which is deleted: what it was called."""
    holders: tuple[str, ...] = ()
    """Of a revoked capsule: the nodes that it was exported to. They alone are told what became of it."""

    @property
    def used(self) -> int:
        """How often it was used, by everybody."""
        return sum(self.uses.values())


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """A use that begins."""

    node: str
    """Whose use it is."""
    holder: str
    """A name of this use alone."""
    by: str = ""
    """Who uses it for what, in words."""
    generation: int
    replays_max: int
    now_ms: int
    until_ms: int
    """When the lease ends by itself."""


def with_use(row: LedgerRecord | None, taken: Taken) -> LedgerRecord:
    """``row`` with one use more, and its lease.

    Checks, in order: a row; not revoked; the newest generation; nobody else holds it; uses are left.
    Errors: ``input.not_found``, ``capsule.revoked``, ``capsule.generation``, ``capsule.held``, ``capsule.replays``.
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
    """That a capsule is in use: by whom, since when and until when at the latest."""
    told = f"it is in use by {row.held_by or 'another work'} since {_clock(row.held_since_ms)} UTC"
    more = {"by": row.held_by, "since_ms": row.held_since_ms, "until_ms": row.held_until_ms}
    return MeshError("capsule.held", told, capsule=row.id, **more)


def _clock(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M:%S}"


def without_holder(row: LedgerRecord | None, holder: str) -> LedgerRecord | None:
    """``row`` without the lease of ``holder``; None if it has none."""
    if row is None or row.holder != holder:
        return None
    return msgspec.structs.replace(row, holder="", held_until_ms=0, held_by="", held_since_ms=0)


def merged(row: LedgerRecord | None, more: LedgerRecord) -> LedgerRecord:
    """What both say: of each number the higher one. The lease stays.

    A use that ``more`` tells of is new, or the newest one told again: who reports another one under a number that was counted runs
    on an older store, or on a copy of one. Errors: ``input.invalid`` for a row of another capsule or tenant, ``capsule.counted``.
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
    """``row`` at a time that its owner has accepted, after the clock was ahead; None if there is none. Everything else stays.

    When its tenant was last heard is forgotten: it is asked again before the next use.
    """
    if row is None:
        return None
    return msgspec.structs.replace(row, latest_ms=min(row.latest_ms, now_ms), heard_ms=0)


def last_revoked(rows: Iterable[LedgerRecord], name: str) -> LedgerRecord | None:
    """Of the revoked capsules with this name the one that was revoked last."""
    named = [row for row in rows if row.revoked_ms and row.name == name]
    return max(named, key=lambda row: row.revoked_ms, default=None)


def entered(row: LedgerRecord | None, record: CapsuleRecord, expires_ms: int) -> LedgerRecord:
    """The row of a capsule that is stored.

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
