"""What every store copies for a backup."""

from __future__ import annotations

import asyncio
from pathlib import Path

from adapters.ports.store import Store
from adapters.storage.copying import Snapshot
from adapters.storage.sqlite import BLOBS_DIRECTORY, DATABASE_FILE, SqliteStore
from tests.contract.test_store import peer, session, step, store
from tests.twins.storage import MemoryStore

__all__ = ["store"]  # the fixture: SQLite and its twin in memory


async def opened(store: Store, directory: Path) -> Store:
    """The copy of ``store`` in ``directory``."""
    return MemoryStore.opened(directory) if isinstance(store, MemoryStore) else await SqliteStore.open(directory)


async def test_a_copy_has_what_the_store_had_and_nothing_that_came_later(store: Store, tmp_path: Path) -> None:
    shown = await store.put_blob(b"snapshot")
    await store.put_session(session())
    await store.append_step("ses-1", step(1, snapshot=shown))
    await store.put_peer(peer("A", 1))
    target = tmp_path / "copy"
    target.mkdir()
    await store.copy_to(target)
    await store.put_peer(peer("B", 2))
    assert await store.remove_session("ses-1")
    later = await store.put_blob(b"later")
    copy = await opened(store, target)
    try:
        assert await copy.peers() == [peer("A", 1)]
        assert (await copy.steps("ses-1"), await copy.blob(shown)) == ([step(1, snapshot=shown)], b"snapshot")
        assert await copy.check() == []
        await copy.put_peer(peer("C", 3))
    finally:
        await copy.close()
    assert await store.peers() == [peer("A", 1), peer("B", 2)]
    assert await store.blob(later) == b"later"


async def test_the_moment_of_a_copy_is_when_its_blobs_are_linked_however_long_the_database_takes(
    tmp_path: Path,
) -> None:
    store = await SqliteStore.open(tmp_path / "home")
    for number, shown in ((1, b"one"), (2, b"two")):
        await store.put_session(session(number))
        await store.append_step(f"ses-{number}", step(1, snapshot=await store.put_blob(shown)))
    (tmp_path / "copy").mkdir()
    snapshot = Snapshot(tmp_path / "home" / DATABASE_FILE, tmp_path / "home" / BLOBS_DIRECTORY, tmp_path / "copy")
    await store.remove_session("ses-1")
    await store.put_session(session(3))
    await store.append_step("ses-3", step(1, snapshot=await store.put_blob(b"three")))
    await asyncio.to_thread(snapshot.finish)
    await store.close()
    copy = await SqliteStore.open(tmp_path / "copy")
    assert ([kept.id for kept in await copy.sessions()], await copy.check()) == (["ses-2", "ses-1"], [])
    await copy.close()


async def test_a_copy_that_is_made_while_sessions_come_and_go_names_no_blob_that_it_lacks(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "home")
    busy = True

    async def come_and_go() -> int:
        rounds = 0
        while busy:
            rounds += 1
            shown = await store.put_blob(str(rounds).encode())
            await store.put_session(session(rounds))
            await store.append_step(f"ses-{rounds}", step(1, snapshot=shown))
            if rounds > 3:
                await store.remove_session(f"ses-{rounds - 3}")
        return rounds

    working = asyncio.create_task(come_and_go())
    try:
        for number in range(5):
            target = tmp_path / str(number)
            target.mkdir()
            await store.copy_to(target)
            assert [path.name for path in target.iterdir() if path.is_file()] == [DATABASE_FILE]
            assert (target / DATABASE_FILE).stat().st_mode & 0o777 == 0o600
            copy = await SqliteStore.open(target)
            assert await copy.check() == []
            await copy.close()
    finally:
        busy = False
        rounds = await working
        await store.close()
    assert rounds > 5
