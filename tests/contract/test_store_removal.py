"""What every store forgets when a search or a session is removed, and what it keeps."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from nacl.signing import SigningKey

from adapters.ports.records import ArtefactRecord
from adapters.ports.store import Store
from adapters.storage.sqlite import SqliteStore
from adapters.storage.tables import removal
from node.signing.identity import artefact_record
from protocol.errors import MeshError
from protocol.recording.records.bundle import KIND
from protocol.wire.envelope import UNIQUE_ID_BYTES, EnvelopeHeader, seal
from tests.contract.test_store import artefact, delta, lease, search, session, step, store

__all__ = ["store"]  # the fixture: SQLite and its twin in memory


async def test_a_removed_search_takes_everything_about_it_along_and_nothing_else(store: Store) -> None:
    for number in (1, 11):
        await store.put_search(search(number, coordinator="P"))
        await store.append_delta(delta(of=f"sea-{number}", envelope=bytes(1_000)))
        await store.put_lease(lease(number, search=f"sea-{number}"))
        await store.put_meta(f"search/sea-{number}/expelled", b"x")
    before = (await store.usage())["P"]
    assert await store.remove_search("sea-1")
    assert await store.search("sea-1") is None
    assert (await store.deltas("sea-1"), await store.leases("sea-1")) == ([], [])
    assert await store.get_meta("search/sea-1/expelled") is None
    assert abs((await store.usage())["P"] - before / 2) < 10
    assert (len(await store.deltas("sea-11")), len(await store.leases("sea-11"))) == (1, 1)
    assert await store.get_meta("search/sea-11/expelled") == b"x"
    assert (await store.search_removed("sea-1"), await store.search_removed("sea-11")) == (True, False)


@pytest.mark.parametrize("words", [b"said", b"said" * 5_000])
async def test_nothing_of_what_is_removed_stays_in_a_file(tmp_path: Path, words: bytes) -> None:
    """Not in free pages, nor in the write-ahead log, while the store is open and once it is closed.

    Guard: adapters/storage/files/database.py, _SETTINGS. Guard: adapters/storage/sqlite.py, SqliteStore.remove_session.
    """
    store = await SqliteStore.open(tmp_path)

    def files() -> bytes:
        return b"".join(path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file())

    for number in (1, 2):
        word = b"%s-%d" % (words, number)
        await store.put_session(session(number))
        await store.append_step(f"ses-{number}", step(1, title=word.decode(), snapshot=await store.put_blob(word)))
        await store.put_search(search(number, coordinator="P"))
        await store.append_delta(delta(of=f"sea-{number}", envelope=word))
    assert b"said-1" in files()
    for number in (1, 2):
        assert await store.remove_search(f"sea-{number}")
        assert await store.remove_session(f"ses-{number}")
        assert (b"said-1" in files(), b"said-2" in files()) == (False, number == 1)
    await store.close()
    assert b"said" not in files()


async def test_a_search_is_removed_once(store: Store) -> None:
    await store.put_search(search())
    assert [await store.remove_search("sea-1") for _ in range(2)] == [True, False]
    assert not await store.remove_search("sea-2")
    assert not await store.search_removed("sea-2")


async def test_a_removed_session_takes_its_steps_artefacts_and_blobs_along(store: Store) -> None:
    own, shared = await store.put_blob(b"own"), await store.put_blob(b"shared")
    for number in (1, 2):
        await store.put_session(session(number))
        await store.append_step(f"ses-{number}", step(1, snapshot=shared, screenshot=own if number == 1 else b""))
        await store.put_artefact(artefact(str(number), subject=f"ses-{number}"))
    assert await store.remove_session("ses-1")
    assert (await store.session("ses-1"), await store.steps("ses-1")) == (None, [])
    assert [kept.subject for kept in await store.artefacts()] == ["ses-2"]
    with pytest.raises(MeshError) as caught:
        await store.blob(own)
    assert caught.value.code == "blob.missing"
    assert await store.blob(shared) == b"shared"
    assert await store.check() == []
    assert not await store.remove_session("ses-1")


async def test_what_is_to_remain_of_a_session_remains(store: Store) -> None:
    for number in (1, 2):
        await store.put_session(session(number))
    assert await store.remove_session("ses-1", b"remains")
    assert not await store.remove_session("ses-1", b"other")
    assert (await store.session_remains("ses-1"), await store.session_remains("ses-2")) == (b"remains", None)


async def test_a_blob_whose_step_is_on_its_way_stays(store: Store) -> None:
    picture = await store.put_blob(b"picture")
    for number in (1, 2):
        await store.put_session(session(number))
    await store.append_step("ses-1", step(1, snapshot=picture))
    assert await store.put_blob(b"picture") == picture  # of the other session: its step comes next
    await store.remove_session("ses-1")
    await store.append_step("ses-2", step(1, snapshot=picture))
    assert await store.check() == []
    await store.remove_session("ses-2")
    with pytest.raises(MeshError):
        await store.blob(picture)


async def test_a_picture_of_two_recordings_stays_though_the_one_that_named_it_first_is_removed(store: Store) -> None:
    for number in (1, 2):
        await store.put_session(session(number))
        picture = await store.put_blob(b"picture")
    await store.append_step("ses-1", step(1, snapshot=picture))
    await store.remove_session("ses-1")
    await store.append_step("ses-2", step(1, snapshot=picture))
    assert await store.blob(picture) == b"picture"
    await store.remove_session("ses-2")
    with pytest.raises(MeshError):
        await store.blob(picture)


def signature(manifest: bytes, subject: str = "ses-1") -> ArtefactRecord:
    """What signs the session ``subject``; manifest: SHA-256 of it."""
    header = EnvelopeHeader(issuer="NODE", issued_s=1, unique=bytes(UNIQUE_ID_BYTES))
    return artefact_record(seal(manifest, kind=KIND, key=SigningKey(bytes(32)), header=header), KIND, subject, header)


async def test_the_manifest_of_a_session_stays_whatever_else_named_it(store: Store) -> None:
    manifest = await store.put_blob(b"manifest")
    await store.import_session(session(1), [], [signature(manifest)])
    await store.import_session(session(2), [step(1, snapshot=manifest)], [])
    await store.remove_session("ses-2")
    assert await store.blob(manifest) == b"manifest"
    await store.remove_session("ses-1")
    with pytest.raises(MeshError):
        await store.blob(manifest)


async def test_the_check_names_sessions_whose_manifest_is_missing(store: Store) -> None:
    await store.import_session(session(), [], [signature(b"\x01" * 32)])
    assert await store.check() == ["the signature of ses-1 refers to manifest 0101010101010101…, which is missing"]


async def test_a_session_that_was_taken_back_outlives_what_its_removal_left_to_do(tmp_path: Path) -> None:
    """Guard: adapters/storage/tables/removal.py, sweep."""

    async def take(opened: SqliteStore) -> tuple[bytes, bytes]:
        picture, manifest = await opened.put_blob(b"picture"), await opened.put_blob(b"manifest")
        await opened.import_session(session(), [step(1, snapshot=picture)], [signature(manifest)])
        return picture, manifest

    opened = await SqliteStore.open(tmp_path)
    await take(opened)
    await opened._database.write(lambda db: removal.remove_session(db, "ses-1"))  # and there it was interrupted
    picture, manifest = await take(opened)
    await opened.close()
    again = await SqliteStore.open(tmp_path)
    assert await again.check() == []
    assert (await again.blob(picture), await again.blob(manifest)) == (b"picture", b"manifest")
    await again.close()


async def test_a_removal_is_finished_for_a_caller_who_no_longer_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = await SqliteStore.open(tmp_path)
    picture = await opened.put_blob(b"picture")
    await opened.import_session(session(), [step(1, snapshot=picture)], [])
    began, go, remove = threading.Event(), threading.Event(), removal.remove_session

    def slowly(db: sqlite3.Connection, session_id: str, *more: Any) -> bool:
        began.set()
        assert go.wait(10)
        return remove(db, session_id, *more)

    monkeypatch.setattr(removal, "remove_session", slowly)
    removing = asyncio.ensure_future(opened.remove_session("ses-1"))
    assert await asyncio.to_thread(began.wait, 10)
    removing.cancel()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await removing
    assert await opened.session("ses-1") is None
    with pytest.raises(MeshError):
        await opened.blob(picture)
    await opened.close()


async def test_what_a_crash_leaves_between_a_session_and_its_blobs_the_next_start_removes(tmp_path: Path) -> None:
    """Guard: adapters/storage/sqlite.py, SqliteStore.open."""
    opened = await SqliteStore.open(tmp_path)
    picture = await opened.put_blob(b"picture")
    await opened.put_session(session())
    await opened.append_step("ses-1", step(1, snapshot=picture))
    await opened._database.write(lambda db: removal.remove_session(db, "ses-1"))  # and there the power goes
    assert await opened.blob(picture) == b"picture"
    await opened.close()
    again = await SqliteStore.open(tmp_path)
    with pytest.raises(MeshError):
        await again.blob(picture)
    assert await again.check() == []
    await again.close()
