"""Measures the cost of the store: durable writes of many callers at once, and long lists."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final
from unittest.mock import patch

from adapters.ports.records import ArtefactRecord, SearchRecord
from adapters.storage.sqlite import SqliteStore
from benchmarks.live_mesh import LiveNode, serving
from benchmarks.registry import benchmark
from protocol import ids
from protocol.recording.records.session import BrowserInfo, Profile, Session
from protocol.recording.records.verdict import Verdict

CALLERS: Final = 64
CALLS: Final = 40
_CONFIG: Final = "log_level: error\nexplore: {workers: 0}\n"


def _session(number: int) -> Session:
    return Session(
        id=ids.make_id("ses", number.to_bytes(ids.ID_RANDOM_BYTES, "little")),
        node="NODE",
        created_ms=1_000 + number,
        title=f"Session {number}",
        start_url="https://shop.example/",
        profile=Profile(),
        browser=BrowserInfo(backend="launched", name="chromium", version="1"),
        verdict=Verdict.PASS,
        steps=0,
        duration_ms=1,
    )


class Syncs:
    """Counts what is synced to disk: commits that changed the database, and ``os.fsync`` of blobs and other files.

    In WAL mode with ``synchronous=FULL`` each commit that changed something syncs the WAL once. Checkpoints come on top, two or
    three syncs for about 1,000 pages; ``strace -f -c -e fsync,fdatasync`` counts them too.
    """

    def __init__(self) -> None:
        self.count = 0
        self._changes = 0

    @asynccontextmanager
    async def counting(self, node: LiveNode) -> AsyncIterator[None]:
        """Count while the block runs."""
        store = node.rooms.store
        assert isinstance(store, SqliteStore)
        database, fsync = store._database, os.fsync

        def file(handle: int) -> None:
            self.count += 1
            fsync(handle)

        def statement(sql: str) -> None:
            if sql == "COMMIT" and database._db.total_changes != self._changes:
                self._changes = database._db.total_changes
                self.count += 1

        def trace() -> None:
            self._changes = database._db.total_changes
            database._db.set_trace_callback(statement)

        await database.run(trace)
        try:
            with patch.object(os, "fsync", file):
                yield
        finally:
            await database.run(lambda: database._db.set_trace_callback(None))


async def _privileged() -> tuple[float, float]:
    """Privileged verbs per second from ``CALLERS`` callers at once, and syncs per verb."""
    with tempfile.TemporaryDirectory() as directory:
        async with serving(Path(directory) / "node", "node", config=_CONFIG) as node:
            store = node.rooms.store
            await asyncio.gather(*(store.put_session(_session(number)) for number in range(CALLERS * CALLS)))
            rows, syncs = (await store.audit_head()).number, Syncs()

            async def caller(first: int) -> None:
                for number in range(first, first + CALLS):
                    await node.run("session.purge", session=_session(number).id)

            async with syncs.counting(node):
                began = time.perf_counter()
                await asyncio.gather(*(caller(number * CALLS) for number in range(CALLERS)))
                taken = time.perf_counter() - began
            verbs = CALLERS * CALLS
            assert (await store.audit_head()).number == rows + 2 * verbs, "each verb leaves two rows"
            assert await store.sessions() == []
            return verbs / taken, syncs.count / verbs


@benchmark("store.writes_per_s", unit="verbs/s", target=500, direction="at least")
def writes_per_s() -> float:
    """Privileged verbs per second from 64 callers at once, through ``Node.dispatch`` and the store on disk.

    Each removes a session of its own and is answered once that and both rows of the audit trail are on disk.
    """
    return asyncio.run(_privileged())[0]


@benchmark("store.fsync_per_verb", unit="fsyncs/verb", target=0.25, direction="at most")
def fsync_per_verb() -> float:
    """Syncs to disk for each of these verbs."""
    return asyncio.run(_privileged())[1]


# --- lists that grow long --------------------------------------------------------------------------------------------

FEW: Final = 1_000
MANY: Final = 100_000
ROUNDS: Final = 30


def _search(number: int) -> SearchRecord:
    return SearchRecord(
        id=f"sea-{number}",
        coordinator="NODE",
        status="running" if number % 100 == 0 else "done",
        created_ms=number,
        updated_ms=number,
        spec=bytes(500),
        state=bytes(200),
    )


def _artefact(number: int) -> ArtefactRecord:
    digest = number.to_bytes(32, "big")
    kind = "replay-report" if number % 2 else "session"
    subject = f"ses-{number % 100}"
    return ArtefactRecord(
        digest=digest, kind=kind, subject=subject, issuer="NODE", issued_s=number // 10, envelope=bytes(500)
    )


async def _filled(directory: Path, count: int) -> SqliteStore:
    """A store with ``count`` sessions, artefacts and searches."""
    store = await SqliteStore.open(directory)
    numbers = range(count)
    for start in range(0, count, _AT_ONCE):
        some = numbers[start : start + _AT_ONCE]
        await asyncio.gather(*(store.put_session(_session(number)) for number in some))
        await asyncio.gather(*(store.put_artefact(_artefact(number)) for number in some))
        await asyncio.gather(*(store.put_search(_search(number)) for number in some))
    return store


_AT_ONCE: Final = 5_000
_LISTS: Final[dict[str, Callable[[SqliteStore], Awaitable[Sequence[object]]]]] = {
    "sessions": lambda store: store.sessions(limit=100),
    "sessions with a text": lambda store: store.sessions(text="session", limit=100),
    "artefacts": lambda store: store.artefacts(limit=100),
    "artefacts of a kind": lambda store: store.artefacts(kind="session", limit=100),
    "artefacts of a subject": lambda store: store.artefacts(subject="ses-7", limit=10),
    "artefacts of a subject and kind": lambda store: store.artefacts(subject="ses-7", kind="replay-report", limit=10),
    "searches": lambda store: store.searches(limit=100),
    "searches of a status": lambda store: store.searches(status="running", limit=10),
}


async def _query_growth() -> float:
    with tempfile.TemporaryDirectory() as directory:
        few = await _filled(Path(directory) / "few", FEW)
        many = await _filled(Path(directory) / "many", MANY)
        worst = 0.0
        for name, call in _LISTS.items():
            times: dict[int, list[float]] = {FEW: [], MANY: []}
            for _ in range(ROUNDS):
                for count, store in ((FEW, few), (MANY, many)):
                    began = time.perf_counter()
                    assert await call(store), name
                    times[count].append(time.perf_counter() - began)
            growth = min(times[MANY]) / min(times[FEW])  # the quickest of each: what else the machine does only adds
            worst = max(worst, growth)
        await few.close()
        await many.close()
        return worst


@benchmark("store.query_growth", unit="ratio", target=2, direction="at most")
def query_growth() -> float:
    """Time of a page of sessions, artefacts or searches among 100,000, over that among 1,000: the worst of all filters."""
    return asyncio.run(_query_growth())
