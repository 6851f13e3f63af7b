"""The feed of every store: changes keep their order and their numbers, and stay with what they tell of."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from adapters.ports.records import LeaseRecord, PeerRecord, SearchRecord
from adapters.ports.store import Store
from adapters.storage.sqlite import DATABASE_FILE, SqliteStore
from adapters.storage.tables.feed_table import AFTER, NEWEST
from protocol import limits
from protocol.errors import MeshError
from protocol.feed import FeedChange, FeedKind, News
from tests.session_samples import sample_session
from tests.twins.storage import MemoryStore


@pytest.fixture(params=["sqlite", "memory"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened: Store = MemoryStore() if request.param == "memory" else await SqliteStore.open(tmp_path / "home")
    yield opened
    await opened.close()


def news(kind: FeedKind = FeedKind.SEARCH_REMOVED, at_ms: int = 1, who: str = "owner") -> News:
    return News(at_ms=at_ms, kind=kind, ids=("one", "two"), who=who)


def peer(node: str) -> PeerRecord:
    return PeerRecord(node=node, name=node, public_key=bytes(32), addresses=(), grants={}, paired_ms=1)


async def numbers(store: Store, after: int | None, limit: int = 100, kind: str = "") -> list[int]:
    return [change.number for change in (await store.feed(after=after, limit=limit, kind=kind)).changes]


async def test_changes_come_back_as_they_were_written_in_their_order_without_gaps(store: Store) -> None:
    empty = await store.feed(after=0)
    assert (empty.changes, empty.oldest, empty.newest) == ((), 1, 0)
    made = await asyncio.gather(*(store.append_feed(news(at_ms=at_ms)) for at_ms in range(30)))
    page = await store.feed(after=0)
    assert list(page.changes) == sorted(made, key=lambda change: change.number)
    assert [change.number for change in page.changes] == list(range(1, 31))
    assert page.changes[4] == FeedChange(
        number=5, at_ms=4, kind=FeedKind.SEARCH_REMOVED, ids=("one", "two"), who="owner"
    )
    assert (page.oldest, page.newest) == (1, 30)


async def test_changes_are_found_after_a_number_or_from_the_end_and_by_kind(store: Store) -> None:
    for kind in (FeedKind.PEER_PAIRED, FeedKind.SESSION_RECORDED, FeedKind.SESSION_REMOVED) * 2:
        await store.append_feed(news(kind))
    assert await numbers(store, 2, limit=3) == [3, 4, 5]
    assert await numbers(store, 6) == []
    assert await numbers(store, None, limit=2) == [5, 6]
    assert await numbers(store, 0, kind="session") == [2, 3, 5, 6]
    assert await numbers(store, None, limit=3, kind="session") == [3, 5, 6]
    assert await numbers(store, 2, kind="session.removed") == [3, 6]
    assert await numbers(store, 0, kind="sess") == []
    assert await numbers(store, 0, kind="session%") == []


async def test_the_oldest_changes_go_and_numbers_go_on(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: adapters/storage/tables/feed_table.py, append."""
    monkeypatch.setattr(limits, "FEED_ROWS_MAX", 5)
    for _ in range(12):
        await store.append_feed(news())
    page = await store.feed(after=0)
    assert [change.number for change in page.changes] == [8, 9, 10, 11, 12]
    assert (page.oldest, page.newest) == (8, 12)


async def test_a_change_is_written_with_what_it_tells_of(store: Store) -> None:
    session = sample_session(())
    search = SearchRecord(id="s", coordinator="N", status="done", created_ms=1, updated_ms=1, spec=b"", state=b"")
    lease = LeaseRecord(id="l", search="s", branch=b"", worker="N", status="live", expires_ms=1, assignment=b"")
    await store.put_peer(peer("A"), news=news())
    await store.commit_session(session, (), news=news())
    await store.import_session(session, (), (), news=news())
    await store.put_search(search, news=news())
    await store.put_lease(lease, news=news())
    assert await store.remove_session(session.id, news=news())
    assert await store.remove_search("s", news=news())
    assert await numbers(store, 0) == [1, 2, 3, 4, 5, 6, 7]
    await store.put_peer(peer("B"))
    assert (await store.feed(after=0)).newest == 7


async def test_what_changed_nothing_is_not_told(store: Store) -> None:
    assert not await store.remove_session("ses-none", news=news())
    assert not await store.remove_search("sea-none", news=news())
    with pytest.raises(MeshError):
        await store.put_peer(msgspec.structs.replace(peer("A"), paired_ms=2**70), news=news())
    assert (await store.feed(after=0)).newest == 0


async def test_a_number_is_never_given_again(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    for _ in range(3):
        await store.append_feed(news())
    await store.close()
    db = sqlite3.connect(tmp_path / DATABASE_FILE)
    db.execute("DELETE FROM feed")
    db.commit()
    db.close()
    store = await SqliteStore.open(tmp_path)
    page = await store.feed(after=0)
    assert (page.changes, page.oldest, page.newest) == ((), 4, 3)
    assert (await store.append_feed(news())).number == 4
    await store.close()


async def test_a_feed_that_cannot_be_written_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = await SqliteStore.open(tmp_path)
    db = sqlite3.connect(tmp_path / DATABASE_FILE)
    db.execute("DROP TABLE feed")
    db.commit()
    db.close()
    await store.put_peer(peer("A"), news=news())
    assert [kept.node for kept in await store.peers()] == ["A"]
    assert "search.removed is not in the feed" in caplog.text
    await store.close()


async def test_changes_are_found_by_their_number_and_not_by_reading_all(tmp_path: Path) -> None:
    await (await SqliteStore.open(tmp_path)).close()
    db = sqlite3.connect(tmp_path / DATABASE_FILE)
    plans = [
        " ".join(row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {query}", given))
        for query, given in ((AFTER, (100, "session", 5)), (NEWEST, (100, "session")))
    ]
    db.close()
    assert "SEARCH feed USING INTEGER PRIMARY KEY (rowid>?)" in plans[0]
    assert "TEMP B-TREE" not in plans[0] + plans[1], "they come in their order"
