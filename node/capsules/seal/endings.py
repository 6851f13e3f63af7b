"""Ends capsules that were removed or revoked, and the work that uses them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from adapters.capsule_records import LedgerRecord
from node.capsules.seal.kept import Kept
from protocol.feed import FeedKind


class Endings:
    """Deletes capsules, and notifies the rooms whose work uses them."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self._ends: list[Callable[[str], Awaitable[None]]] = []

    def follow(self, end: Callable[[str], Awaitable[None]]) -> None:
        """Call ``end`` with the id of each capsule that ends, from now on. It ends the work that uses the capsule."""
        self._ends.append(end)

    async def tell(self, capsule_id: str) -> None:
        """Notify everybody that a capsule has ended, or is about to."""
        for end in self._ends:
            await end(capsule_id)

    async def forget(self, capsule_id: str) -> None:
        """Delete a capsule, if it is here."""
        await self._kept.witness.feed.along(
            lambda news: self._kept.store.remove_capsule(capsule_id, news=news), FeedKind.CAPSULE_REMOVED, capsule_id
        )

    async def revoke(self, row: LedgerRecord) -> None:
        """Delete a revoked capsule. The ledger is written first, so that a crash leaves nothing usable. Errors: ``store.*``."""
        before = await self._kept.store.ledger(row.id)
        row = msgspec.structs.replace(row, name=await self._kept.name_of(row.id))
        await self._kept.store.raise_ledger(row)
        if before is None or not before.revoked_ms:
            await self._kept.witness.feed.tell(FeedKind.CAPSULE_REVOKED, row.id)
        await self.forget(row.id)
        await self.tell(row.id)
