"""Every store does with a table what its description says; those of the rooms, and one that uses all of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapters.ports.store import Store
from adapters.ports.tables import Table
from adapters.storage.sqlite import SqliteStore
from protocol.errors import MeshError
from protocol.feed import FeedKind, News
from tests.memory_rooms import sample, tables
from tests.twins.storage import MemoryStore


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A record with a column of each type."""

    id: str
    at_ms: int = 0
    open: bool = True
    by: bytes = b""
    text: str = ""


NOTES = Table(name="notes", record=Note, key="id", order="at_ms", filters=("open", "by"), bound="")
PLAIN = replace(NOTES, order="", filters=(), bound="few")


@pytest.fixture(params=("sqlite", "memory"))
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened: Store = await SqliteStore.open(tmp_path) if request.param == "sqlite" else MemoryStore()
    yield opened
    await opened.close()


async def test_rows_are_listed_by_their_order_and_narrowed_by_their_filters(store: Store) -> None:
    await store.hold([NOTES])
    rows = store.rows(NOTES)
    for note in (Note(id="c", at_ms=3), Note(id="b", at_ms=1, by=b"x"), Note(id="a", at_ms=1, open=False)):
        await rows.put(note)
    changed = Note(id="c", at_ms=2, by=b"x")
    await rows.put(changed)

    async def ids(**how: Any) -> str:
        return "".join(note.id for note in await rows.find(**how))

    assert await rows.get("c") == changed
    assert await rows.get("d") is None
    assert [await ids(), await ids(newest=True), await ids(limit=2)] == ["bac", "cab", "ba"]
    assert [await ids(open=True), await ids(by=b"x", open=True, newest=True), await ids(by=b"y")] == ["bc", "cb", ""]
    with pytest.raises(MeshError) as refused:
        await ids(limit=-1)
    assert refused.value.code == "input.invalid"


async def test_without_an_order_a_row_keeps_the_place_at_which_it_arrived(store: Store) -> None:
    await store.hold([PLAIN])
    rows = store.rows(PLAIN)
    for id in "bca":
        await rows.put(Note(id=id))
    await rows.put(Note(id="b", text="again"))
    assert await rows.find() == [Note(id="b", text="again"), Note(id="c"), Note(id="a")]


async def test_a_row_is_added_taken_and_removed_once(store: Store) -> None:
    await store.hold([NOTES])
    rows = store.rows(NOTES)
    assert [await rows.add(Note(id="a")), await rows.add(Note(id="a", text="other"))] == [True, False]
    taken = await asyncio.gather(*(rows.take("a") for _ in range(50)))
    assert [note for note in taken if note] == [Note(id="a")]
    for id in "xyz":
        await rows.put(Note(id=id))
    assert [await rows.remove("x", "y", "never there"), await rows.remove("x"), await rows.remove()] == [2, 0, 0]
    assert await rows.find() == [Note(id="z")]


async def test_a_record_that_could_not_be_read_back_is_refused_and_nothing_is_kept(store: Store) -> None:
    await store.hold([NOTES])
    rows = store.rows(NOTES)
    for wrong in (Note(id="a", at_ms=2**63), Note(id="a", text="\ud800"), Note(id="a", open=7)):  # type: ignore[arg-type]
        with pytest.raises(MeshError) as refused:
            await rows.put(wrong)
        assert refused.value.code == "input.invalid"
    assert await rows.find() == []


async def test_a_row_and_what_the_feed_tells_of_it_are_stored_together(store: Store) -> None:
    await store.hold([NOTES])
    told = News(at_ms=5, kind=FeedKind.QUESTION_ASKED, ids=("que-AAAAAAAAAAAAAAAAAAAAA",), who="owner")
    await store.rows(NOTES).put(Note(id="a"), news=told)
    assert [change.kind for change in (await store.feed(after=0, limit=10)).changes] == [FeedKind.QUESTION_ASKED]


async def test_each_table_of_a_room_keeps_its_records(store: Store) -> None:
    described = tables()
    assert len(described) > 5
    await store.hold(described)
    for table in described:
        rows, one, two = store.rows(table), sample(table, 1), sample(table, 2)
        for record in (one, two, one):
            await rows.put(record)
        assert [await rows.find(), await rows.find(newest=True, limit=1)] == [[one, two], [two]], table.name
        for name in table.filters:
            assert await rows.find(**{name: getattr(two, name)}) == [two], f"{table.name} by {name}"
        assert await rows.take(getattr(one, table.key)) == one, table.name
        assert await rows.remove(getattr(two, table.key)) == 1, table.name


# --- a store that is older or newer than the description -------------------------------------------------------------


async def _reopened(store: SqliteStore, directory: Path) -> SqliteStore:
    await store.close()
    return await SqliteStore.open(directory)


async def _indexes(store: SqliteStore) -> list[str]:
    return await store._database.read(
        lambda db: [row[1] for row in db.execute("PRAGMA index_list(notes)") if row[3] == "c"]
    )


async def test_a_table_is_brought_to_a_new_description_and_keeps_its_rows(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    await store.hold([PLAIN])
    notes = [Note(id="b", at_ms=2, open=False), Note(id="a", at_ms=1)]
    for note in notes:
        await store.rows(PLAIN).put(note)
    for described, listed, indexes in (
        (NOTES, notes[::-1], ["notes_by_at_ms", "notes_by_by", "notes_by_open"]),
        (
            replace(NOTES, order="", filters=("at_ms", "open", "by")),
            notes,
            ["notes_by_at_ms", "notes_by_by", "notes_by_open"],
        ),
        (replace(NOTES, filters=("open",)), notes[::-1], ["notes_by_at_ms", "notes_by_open"]),
        (replace(PLAIN, order="id"), notes[::-1], []),
        (NOTES, notes[::-1], ["notes_by_at_ms", "notes_by_by", "notes_by_open"]),
    ):
        store = await _reopened(store, tmp_path)
        await store.hold([described])
        assert await store.rows(described).find() == listed
        assert sorted(await _indexes(store)) == indexes
    assert await store.rows(NOTES).find(open=False) == notes[:1]
    assert await store.check() == []
    await store.close()


async def test_a_table_that_cannot_be_brought_to_its_description_is_left_as_it_was(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    await store.hold([PLAIN])
    await store.rows(PLAIN).put(Note(id="a"))
    other = replace(PLAIN, name="others")
    await store._database.write(lambda db: db.execute("INSERT INTO notes (id, body) VALUES ('b', x'ff')"))
    with pytest.raises(MeshError) as refused:
        await store.hold([other, NOTES])
    assert refused.value.code == "store.corrupt"
    assert await store.rows(PLAIN).get("a") == Note(id="a")
    found = await store._database.read(lambda db: [row[0] for row in db.execute("SELECT name FROM tables")])
    assert found == ["notes"]
    await store.close()


async def test_a_store_with_a_table_that_the_program_does_not_know_is_not_used(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    await store.hold([NOTES])
    store = await _reopened(store, tmp_path)
    with pytest.raises(MeshError) as refused:
        await store.hold([replace(NOTES, name="others")])
    assert (refused.value.code, "notes" in refused.value.message) == ("store.newer", True)
    await store.close()
