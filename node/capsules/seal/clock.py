"""Lists the capsules that are blocked because the clock is behind a time at which they were seen, and tells for which of them the
owner can end that.
"""

from __future__ import annotations

from typing import NamedTuple

from adapters.capsule_records import CapsuleRecord
from node.capsules.seal.kept import Kept
from protocol import limits
from protocol.clock import over_at
from protocol.errors import MeshError

_SKEW_MS = limits.CLOCK_SKEW_S * 1000


class FutureCapsule(NamedTuple):
    """A capsule that was seen at a time later than the present one."""

    id: str
    latest_ms: int
    why: str
    """The reason why it stays blocked even if the owner accepts the present time; empty if it does not."""


async def ahead(kept: Kept, now_ms: int) -> list[FutureCapsule]:
    """Every capsule that is blocked by the clock. Errors: ``store.*``."""
    found = [await _ahead(kept, record, now_ms) for record in await kept.store.capsules()]
    return [each for each in found if each is not None]


async def _ahead(kept: Kept, record: CapsuleRecord, now_ms: int) -> FutureCapsule | None:
    row = await kept.store.ledger(record.id)
    try:
        capsule = kept.open(record)
        consent_until_ms = kept.consent_until_ms(capsule)
    except MeshError as error:
        return (
            FutureCapsule(record.id, row.latest_ms, error.message)
            if row and row.latest_ms > now_ms + _SKEW_MS
            else None
        )
    header = capsule.header
    latest_ms = max(row.latest_ms if row else 0, header.sealed_ms)
    if latest_ms <= now_ms + _SKEW_MS:
        return None
    sealed_ms = header.sealed_ms - _SKEW_MS
    why = over_at(
        header.policy,
        latest_ms,
        sealed_ms=sealed_ms,
        now_ms=now_ms,
        mfa_ms=header.mfa_ms,
        consent_until_ms=consent_until_ms,
    )
    return FutureCapsule(record.id, latest_ms, why)
