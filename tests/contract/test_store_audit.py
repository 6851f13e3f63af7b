"""The audit trail of every store: rows go on at the end, in their order, and are found again."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from adapters.audit_records import AuditQuery
from adapters.ports.records import DeltaRecord, LeaseRecord, SearchRecord
from adapters.ports.store import Store
from adapters.storage.sqlite import DATABASE_FILE, SqliteStore
from adapters.storage.tables.usage import ROW_BYTES
from protocol import audit
from protocol.audit import START, AuditDraft, AuditOutcome
from protocol.errors import MeshError
from tests.twins.storage import MemoryStore


@pytest.fixture(params=["sqlite", "memory"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened: Store = MemoryStore() if request.param == "memory" else await SqliteStore.open(tmp_path / "home")
    yield opened
    await opened.close()


def draft(at_ms: int, **fields: object) -> AuditDraft:
    made = AuditDraft(at_ms=at_ms, what="node.join", who="owner", outcome=AuditOutcome.DONE, key="ab", key_events=1)
    return msgspec.structs.replace(made, **fields)


async def test_rows_are_chained_in_the_order_in_which_they_come(store: Store) -> None:
    assert await store.audit_head() == START
    made = await asyncio.gather(*(store.append_audit(draft(at_ms)) for at_ms in range(40)))
    kept = await store.audit_lines()
    assert kept == sorted(made, key=lambda row: row.number)
    head = START
    for row in kept:
        _, head = audit.follow(head, row.line)
    assert await store.audit_head() == head
    assert [row.number for row in await store.audit_lines(after=10, limit=3)] == [11, 12, 13]


async def test_a_row_that_cannot_be_read_back_is_refused_and_leaves_nothing(store: Store) -> None:
    with pytest.raises(MeshError) as refused:
        await store.append_audit(draft(1, who="x" * 1_000))
    assert refused.value.code == "input.invalid"
    assert await store.audit_head() == START


async def test_rows_are_found_by_time_by_who_and_by_what_the_newest_of_them(store: Store) -> None:
    names = ["session.record", "session.replay", "sessions", "branch/assign", "node.join"]
    for at_ms, what in enumerate(names * 2):
        await store.append_audit(draft(at_ms, what=what, who="owner" if at_ms < 5 else "PEER"))

    async def found(**query: object) -> list[int]:
        return [row.number for row in await store.audit_find(AuditQuery(**query))]  # type: ignore[arg-type]

    assert await found() == list(range(1, 11))
    assert await found(limit=2) == [9, 10]
    assert await found(limit=0) == []
    assert await found(what="session") == [1, 2, 6, 7]
    assert await found(what="session.record") == [1, 6]
    assert await found(what="branch") == [4, 9]
    assert await found(what="session%") == []
    assert await found(who="PEER", what="session") == [6, 7]
    assert await found(since_ms=3, until_ms=5) == [4, 5]


async def test_what_is_kept_of_each_peer_is_added_up(store: Store) -> None:
    assert await store.usage() == {}
    for seq, peer in enumerate(("PEER", "PEER", "OTHER"), 1):
        await store.append_delta(DeltaRecord(search="s", peer=peer, epoch=1, seq=seq, envelope=bytes(1_000)))
    search = SearchRecord(
        id="s", coordinator="PEER", status="done", created_ms=1, updated_ms=1, spec=bytes(500), state=b""
    )
    await store.put_search(search)
    await store.append_audit(draft(1, who="OTHER"))
    await store.append_audit(draft(2, who="owner"))
    opened = await store.usage()
    assert opened["OTHER"] == 1_000 + ROW_BYTES
    assert 2_500 < opened["PEER"] < 3_000
    lease = LeaseRecord(id="l", search="s", branch=b"", worker="ME", status="done", expires_ms=1, assignment=bytes(700))
    await store.put_lease(lease)
    assert 700 < (await store.usage())["PEER"] - opened["PEER"] < 1_000
    assert (await store.usage()).keys() == {"PEER", "OTHER"}
    await store.drop_deltas("s", "PEER")
    assert (await store.usage())["PEER"] < 2_000


async def test_nobody_changes_a_row_through_the_database(tmp_path: Path) -> None:
    """Guard: adapters/storage/files/migrations.py, _AUDIT_TRAIL."""
    store = await SqliteStore.open(tmp_path)
    for at_ms in range(3):
        await store.append_audit(draft(at_ms))
    await store.close()
    db = sqlite3.connect(tmp_path / DATABASE_FILE)
    for statement in (
        "DELETE FROM audit WHERE number = 3",
        "UPDATE audit SET who = 'nobody' WHERE number = 2",
        "INSERT INTO audit SELECT 9, at_ms, who, what, line, digest FROM audit WHERE number = 1",
        "INSERT OR REPLACE INTO audit SELECT 2, at_ms, 'nobody', what, line, digest FROM audit WHERE number = 2",
    ):
        with pytest.raises(sqlite3.IntegrityError, match="audit trail"):
            db.execute(statement)
    db.close()
