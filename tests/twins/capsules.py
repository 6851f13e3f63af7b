"""The part of the in-memory store that keeps capsules and their ledger."""

from __future__ import annotations

from adapters.capsule_records import (
    CapsuleRecord,
    LedgerRecord,
    Taken,
    entered,
    last_revoked,
    merged,
    set_back,
    with_use,
    without_holder,
)
from adapters.storage.files.records import pack, unpack
from protocol import limits
from protocol.errors import MeshError
from protocol.feed import News
from tests.twins.feed import MemoryFeed


class MemoryCapsules:
    """Implements ``adapters.ports.CapsuleStore``."""

    _feed: MemoryFeed

    def __init__(self) -> None:
        self._capsules: dict[str, tuple[bytes, bytes]] = {}
        self._rows: dict[str, bytes] = {}

    def _open(self) -> None:
        raise NotImplementedError

    async def put_capsule(
        self, record: CapsuleRecord, stream: bytes, *, expires_ms: int, news: News | None = None
    ) -> None:
        self._open()
        row = entered(await self.ledger(record.id), record, expires_ms)
        if record.id not in self._capsules and len(self._capsules) >= limits.CAPSULES_MAX:
            raise MeshError("input.too_large", "too many capsules")
        body = pack(record)
        self._enter(row)
        self._capsules[record.id] = (body, stream)
        self._feed.tell(news)

    async def capsule(self, capsule_id: str) -> CapsuleRecord | None:
        self._open()
        found = self._capsules.get(capsule_id)
        return unpack(found[0], CapsuleRecord) if found else None

    async def capsules(self) -> list[CapsuleRecord]:
        self._open()
        return [unpack(body, CapsuleRecord) for body, _ in self._capsules.values()]

    async def capsule_stream(self, capsule_id: str) -> bytes | None:
        self._open()
        found = self._capsules.get(capsule_id)
        return found[1] if found else None

    async def remove_capsule(self, capsule_id: str, *, news: News | None = None) -> bool:
        self._open()
        removed = self._capsules.pop(capsule_id, None) is not None
        if removed:
            self._feed.tell(news)
        return removed

    async def ledger(self, capsule_id: str) -> LedgerRecord | None:
        self._open()
        body = self._rows.get(capsule_id)
        return unpack(body, LedgerRecord) if body is not None else None

    async def revoked_as(self, name: str) -> LedgerRecord | None:
        self._open()
        return last_revoked((unpack(body, LedgerRecord) for body in self._rows.values()), name)

    async def raise_ledger(self, more: LedgerRecord) -> LedgerRecord:
        row = merged(await self.ledger(more.id), more)
        self._enter(row)
        return row

    async def take_capsule(self, capsule_id: str, taken: Taken) -> LedgerRecord:
        row = with_use(await self.ledger(capsule_id), taken)
        self._enter(row)
        return row

    async def give_back_capsule(self, capsule_id: str, holder: str) -> bool:
        row = without_holder(await self.ledger(capsule_id), holder)
        if row is not None:
            self._enter(row)
        return row is not None

    async def put_clock_back(self, capsule_id: str, now_ms: int) -> None:
        row = set_back(await self.ledger(capsule_id), now_ms)
        if row is not None:
            self._enter(row)

    async def prune_ledger(self, now_ms: int) -> int:
        self._open()
        rows = {id: unpack(body, LedgerRecord) for id, body in self._rows.items()}
        gone = [id for id, row in rows.items() if row.expires_ms < now_ms and id not in self._capsules]
        for id in gone:
            del self._rows[id]
        return len(gone)

    def _enter(self, row: LedgerRecord) -> None:
        if row.id not in self._rows and len(self._rows) >= limits.CAPSULE_LEDGER_MAX:
            raise MeshError("input.too_large", "too many rows")
        self._rows[row.id] = pack(row)
