"""What only the store on disk has: files, settings, versions, damage, a full disk."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from adapters.ports.records import DeltaRecord, PeerRecord
from adapters.storage.files import migrations
from adapters.storage.files.database import Database
from adapters.storage.sqlite import DATABASE_FILE, SqliteStore
from node.pairing.stored import INVITES
from protocol.errors import MeshError
from protocol.wire import cbor


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "a" / "home")
    yield opened
    await opened.close()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def peer(node: str) -> PeerRecord:
    return PeerRecord(node=node, name="p", public_key=bytes(32), addresses=(), grants={}, paired_ms=1)


async def refused(directory: Path) -> MeshError:
    with pytest.raises(MeshError) as caught:
        await SqliteStore.open(directory)
    return caught.value


async def test_everything_in_the_data_directory_is_for_its_owner_only(store: SqliteStore, tmp_path: Path) -> None:
    home = tmp_path / "a" / "home"
    await store.put_meta("key", b"value")
    await store.put_blob(b"data")
    found = {path.relative_to(home).parts[0]: mode(path) for path in home.iterdir()}
    assert found == {"store.db": 0o600, "store.db-wal": 0o600, "store.db-shm": 0o600, "blobs": 0o700}
    assert mode(home) == 0o700
    assert {mode(path) for path in home.glob("blobs/*")} == {0o700}
    assert {mode(path) for path in home.glob("blobs/*/*") if path.is_file()} == {0o600}


async def test_a_directory_and_file_that_others_could_read_are_closed_to_them(tmp_path: Path) -> None:
    """Guard: adapters/storage/files/blobs.py, make_directory."""
    await (await SqliteStore.open(tmp_path)).close()
    os.chmod(tmp_path, 0o744)
    (tmp_path / DATABASE_FILE).chmod(0o644)
    await (await SqliteStore.open(tmp_path)).close()
    assert (mode(tmp_path), mode(tmp_path / DATABASE_FILE)) == (0o700, 0o600)


async def test_each_commit_is_synced_and_references_are_enforced(store: SqliteStore) -> None:
    """Guard: adapters/storage/files/database.py, _SETTINGS."""

    def settings(db: sqlite3.Connection) -> list[object]:
        names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        return [db.execute(f"PRAGMA {name}").fetchone()[0] for name in names]

    assert await store._database.read(settings) == ["wal", 2, 1, 5_000]


async def test_what_was_put_is_there_after_closing_and_opening(tmp_path: Path) -> None:
    first = await SqliteStore.open(tmp_path)
    await first.put_peer(peer("A"))
    digest = await first.put_blob(b"data")
    await first.close()
    again = await SqliteStore.open(tmp_path)
    assert await again.peers() == [peer("A")]
    assert await again.blob(digest) == b"data"
    assert await again.check() == []
    await again.close()


async def test_all_work_runs_on_one_thread_that_is_not_the_loops(store: SqliteStore) -> None:
    ran = {await store._database.read(lambda _: threading.get_ident()) for _ in range(5)}
    ran |= {await store._database.write(lambda _: threading.get_ident()) for _ in range(5)}
    assert len(ran) == 1
    assert threading.get_ident() not in ran


async def test_closing_ends_the_thread(tmp_path: Path) -> None:
    before = threading.active_count()
    store = await SqliteStore.open(tmp_path)
    assert threading.active_count() == before + 1
    await store.close()
    assert threading.active_count() == before


async def test_a_write_that_raises_leaves_nothing_and_the_next_one_works(store: SqliteStore) -> None:
    """Guard: adapters/storage/files/database.py, Database._transaction."""

    def work(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO meta VALUES ('key', x'00')")
        raise KeyError("ours")

    with pytest.raises(KeyError):
        await store._database.write(work)
    assert await store.get_meta("key") is None
    await store.put_meta("key", b"value")
    assert await store.get_meta("key") == b"value"


async def test_a_full_disk_is_reported_and_what_was_committed_stays(store: SqliteStore) -> None:
    await store.put_meta("before", b"value")
    # A page limit makes SQLite itself answer as it does when the disk is full.
    await store._database.write(lambda db: db.execute("PRAGMA max_page_count = 1").fetchall())
    with pytest.raises(MeshError) as caught:
        await store.append_delta(DeltaRecord(search="s", peer="p", epoch=1, seq=1, envelope=bytes(1_000_000)))
    assert (caught.value.code, caught.value.retryable) == ("store.full", True)
    await store._database.write(lambda db: db.execute("PRAGMA max_page_count = 1000000").fetchall())
    assert await store.get_meta("before") == b"value"
    assert await store.deltas("s") == []
    assert await store.append_delta(DeltaRecord(search="s", peer="p", epoch=1, seq=1, envelope=bytes(1_000_000)))


async def test_a_file_that_is_no_database_is_refused_and_not_changed(tmp_path: Path) -> None:
    (tmp_path / DATABASE_FILE).write_bytes(b"not a database " * 100)
    assert (await refused(tmp_path)).code == "store.corrupt"
    assert (tmp_path / DATABASE_FILE).read_bytes() == b"not a database " * 100


async def test_a_database_of_another_program_is_refused_and_not_changed(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / DATABASE_FILE) as foreign:
        foreign.execute("CREATE TABLE theirs (x)")
    foreign.close()
    before = (tmp_path / DATABASE_FILE).read_bytes()
    assert (await refused(tmp_path)).code == "store.corrupt"
    assert (tmp_path / DATABASE_FILE).read_bytes() == before


async def test_a_store_of_a_newer_version_is_refused_and_not_changed(tmp_path: Path) -> None:
    await (await SqliteStore.open(tmp_path)).close()
    with sqlite3.connect(tmp_path / DATABASE_FILE) as db:
        db.execute(f"PRAGMA user_version = {migrations.VERSION + 1}")
    db.close()
    before = (tmp_path / DATABASE_FILE).read_bytes()
    error = await refused(tmp_path)
    assert error.code == "store.newer"
    assert error.detail == {"version": migrations.VERSION + 1, "known": migrations.VERSION}
    assert (tmp_path / DATABASE_FILE).read_bytes() == before


async def test_a_database_that_cannot_be_opened_is_an_error_of_the_store(tmp_path: Path) -> None:
    (tmp_path / DATABASE_FILE).mkdir()
    assert (await refused(tmp_path)).code == "store.corrupt"


async def test_a_record_whose_bytes_rotted_is_an_error_of_the_store(store: SqliteStore) -> None:
    await store.put_peer(peer("A"))
    await store._database.write(lambda db: db.execute("UPDATE peers SET body = x'ff00'").rowcount)
    with pytest.raises(MeshError) as caught:
        await store.peers()
    assert caught.value.code == "store.corrupt"


async def test_the_check_finds_damaged_pages(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    for number in range(300):
        await store.append_delta(DeltaRecord(search="s", peer="p", epoch=1, seq=number, envelope=bytes(500)))
    await store.close()
    path = tmp_path / DATABASE_FILE
    with contextlib.closing(sqlite3.connect(path)) as db:
        leaves = db.execute("SELECT pageno, pgsize FROM dbstat WHERE name = 'deltas' AND pagetype = 'leaf'").fetchall()
    raw = bytearray(path.read_bytes())
    for page, page_bytes in leaves[1:]:  # opening a store reads the first
        start = (page - 1) * page_bytes
        raw[start : start + 64] = b"\xa5" * 64
    path.write_bytes(raw)
    damaged = await SqliteStore.open(tmp_path)
    assert await damaged.check() != []
    await damaged.close()


async def test_the_check_finds_steps_without_a_session(tmp_path: Path) -> None:
    await (await SqliteStore.open(tmp_path)).close()
    with sqlite3.connect(tmp_path / DATABASE_FILE) as db:  # a plain connection enforces no references
        db.execute("INSERT INTO steps VALUES ('ses-gone', 1, x'', x'', x'00')")
    db.close()
    store = await SqliteStore.open(tmp_path)
    assert await store.check() == ["row 1 of steps refers to a missing row in sessions"]
    await store.close()


async def test_a_second_writer_gets_a_clear_answer(store: SqliteStore, tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "a" / "home" / DATABASE_FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    await store._database.run(lambda: store._database._db.execute("PRAGMA busy_timeout = 1").fetchall())
    with pytest.raises(MeshError) as caught:
        await store.put_meta("key", b"value")
    assert caught.value.code == "node.locked"
    other.execute("ROLLBACK")
    other.close()
    await store.put_meta("key", b"value")


async def test_a_broken_constraint_is_a_defect_of_ours(store: SqliteStore) -> None:
    with pytest.raises(MeshError) as caught:
        await store._database.write(lambda db: db.execute("INSERT INTO meta VALUES ('key', NULL)").rowcount)
    assert caught.value.code == "internal.fault"


# --- migrations ---


@pytest.fixture
def db(tmp_path: Path) -> sqlite3.Connection:
    return sqlite3.connect(tmp_path / "x.db", isolation_level=None)


def test_migrations_run_once_and_in_order(db: sqlite3.Connection) -> None:
    steps = [["CREATE TABLE a (x)"], ["ALTER TABLE a ADD COLUMN y", "INSERT INTO a VALUES (1, 2)"]]
    assert migrations.migrate(db, steps[:1]) == 1
    assert migrations.migrate(db, steps) == 1
    assert migrations.migrate(db, steps) == 0
    assert db.execute("SELECT x, y FROM a").fetchall() == [(1, 2)]
    assert migrations.version_of(db, newest=2) == 2
    db.close()


def test_a_migration_that_fails_leaves_the_version_before_it(db: sqlite3.Connection) -> None:
    steps = [["CREATE TABLE a (x)"], ["CREATE TABLE b (x)", "CREATE TABLE a (x)"]]
    with pytest.raises(sqlite3.OperationalError):
        migrations.migrate(db, steps)
    assert migrations.version_of(db, newest=2) == 1
    assert db.execute("SELECT name FROM sqlite_schema").fetchall() == [("a",)]
    assert migrations.migrate(db, [steps[0], steps[1][:1]]) == 1
    db.close()


async def test_a_store_that_was_emptied_is_refused_and_not_begun_anew(tmp_path: Path) -> None:
    """Guard: adapters/storage/files/database.py, _connect. A node without its peers would trust and sign as if it were new."""
    await (await SqliteStore.open(tmp_path)).close()
    (tmp_path / DATABASE_FILE).write_bytes(b"")
    error = await refused(tmp_path)
    assert (error.code, "empty" in error.message) == ("store.corrupt", True)
    assert (tmp_path / DATABASE_FILE).read_bytes() == b""


async def test_a_crash_while_a_store_is_made_leaves_none_and_the_next_start_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as crashing:
        crashing.setattr(migrations, "MIGRATIONS", [*migrations.MIGRATIONS[:2], ["no statement"]])
        crashing.setattr(migrations.migrate, "__defaults__", (migrations.MIGRATIONS,))
        await refused(tmp_path)
    assert not (tmp_path / DATABASE_FILE).exists()
    store = await SqliteStore.open(tmp_path)
    assert await store._database.read(migrations.version_of) == migrations.VERSION
    await store.close()
    assert sorted(os.listdir(tmp_path)) == ["blobs", DATABASE_FILE]


async def test_scopes_of_a_store_from_before_origins_become_grants_for_every_origin(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / DATABASE_FILE, isolation_level=None)
    migrations.migrate(db, migrations.MIGRATIONS[:2])
    old = msgspec.structs.asdict(peer("A")) | {"scopes": ["deltas:read", "session:read"], "granted_us": ["deltas:read"]}
    del old["grants"]
    db.execute("INSERT INTO peers VALUES ('A', 1, ?)", (cbor.encode(old),))
    db.execute("INSERT INTO invites (token_hash, expires_s, body) VALUES (x'00', 9, x'00')")
    db.close()
    store = await SqliteStore.open(tmp_path)
    everywhere = {"deltas:read": ("*",), "session:read": ("*",)}
    assert await store.peers() == [
        msgspec.structs.replace(peer("A"), grants=everywhere, granted_us={"deltas:read": ("*",)})
    ]
    assert await store.rows(INVITES).find() == []
    await store.close()


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (sqlite3.SQLITE_READONLY, "store.unwritable"),
        (
            sqlite3.SQLITE_READONLY | 4 << 8,
            "store.unwritable",
        ),  # SQLITE_READONLY_DBMOVED: the extended codes count alike
        (sqlite3.SQLITE_PERM, "store.unwritable"),
        (sqlite3.SQLITE_CANTOPEN, "store.unwritable"),
        (sqlite3.SQLITE_CORRUPT, "store.corrupt"),
        (sqlite3.SQLITE_IOERR | 19 << 8, "store.full"),  # SQLITE_IOERR_SHMSIZE: the file beside the log cannot grow
        (sqlite3.SQLITE_IOERR | 3 << 8, "store.corrupt"),  # SQLITE_IOERR_WRITE on a disk with room
    ],
)
async def test_a_database_that_may_not_be_written_is_not_called_corrupt(tmp_path: Path, number: int, code: str) -> None:
    def refused(db: sqlite3.Connection) -> None:
        error = sqlite3.OperationalError("attempt to write a readonly database")
        error.sqlite_errorcode = number
        error.sqlite_errorname = "SQLITE_IOERR_SHMSIZE" if number == sqlite3.SQLITE_IOERR | 19 << 8 else ""
        raise error

    database = await Database.open(tmp_path / DATABASE_FILE)
    with pytest.raises(MeshError) as caught:
        await database.write(refused)
    await database.close()
    assert caught.value.code == code
    assert code == "store.full" or str(tmp_path / DATABASE_FILE) in caught.value.message


async def test_sqlite_itself_refusing_a_write_is_told_the_same(tmp_path: Path) -> None:
    def write(db: sqlite3.Connection) -> None:
        db.execute("PRAGMA query_only = 1")
        db.execute("CREATE TABLE x (y)")

    database = await Database.open(tmp_path / DATABASE_FILE)
    with pytest.raises(MeshError) as caught:
        await database.write(write)
    await database.close()
    assert caught.value.code == "store.unwritable"
