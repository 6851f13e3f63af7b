"""Implements the store with SQLite and blob files.

Each method works as if in a transaction of its own, on the one thread of its ``Database``; calls may share a commit. Most
records are a few typed columns (keys and queried fields) and a strict-CBOR body; some, such as deltas, are columns only.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from adapters.audit_records import AuditLine, AuditQuery
from adapters.feed_records import FeedPage
from adapters.log_records import LeafRecord, LogRecord, Subtree
from adapters.ports.records import (
    PAGE_BYTES,
    PAGE_ROWS,
    AgentRecord,
    ArtefactRecord,
    DeltaRecord,
    LeaseRecord,
    PeerRecord,
    SearchRecord,
)
from adapters.ports.tables import Table
from adapters.schedule_records import RunRecord, ScheduleRecord
from adapters.storage.copying import Snapshot
from adapters.storage.files import records
from adapters.storage.files.blobs import Blobs
from adapters.storage.files.database import Database
from adapters.storage.tables import (
    agent_table,
    artefact_table,
    audit_table,
    feed_table,
    log_tables,
    peer_tables,
    removal,
    rows,
    schedule_tables,
    search_tables,
    session_tables,
)
from adapters.storage.tables.capsule_tables import CapsuleMethods
from adapters.storage.tables.feed_table import told
from adapters.storage.tables.rows import SqliteRows
from adapters.storage.tables.usage import usage_of
from protocol.audit import AuditDraft, Head
from protocol.errors import MeshError
from protocol.feed import FeedChange, News
from protocol.recording.records.session import Session, Step

T = TypeVar("T", bound=msgspec.Struct)

DATABASE_FILE: Final = "store.db"
BLOBS_DIRECTORY: Final = "blobs"


class SqliteStore(CapsuleMethods):
    """Implements ``adapters.ports.Store``. The caller owns the data directory (``adapters.storage.lock``)."""

    def __init__(self, database: Database, blobs: Blobs) -> None:
        self._database = database
        self._blobs = blobs

    @classmethod
    async def open(cls, directory: Path) -> SqliteStore:
        """The store in ``directory``, created or brought to this program's version.

        Errors: ``store.corrupt``, ``store.newer``, ``store.full``, ``node.locked``.
        """
        database = await Database.open(directory / DATABASE_FILE)
        try:
            store = cls(database, await database.run(lambda: Blobs(directory / BLOBS_DIRECTORY)))
        except BaseException:
            await database.close()
            raise
        try:
            if await database.read(removal.doomed):  # a crash interrupted a removal before its blobs were deleted
                await database.write(lambda db: removal.sweep(db, store._blobs))
        except BaseException:
            await store.close()
            raise
        return store

    @property
    def waiting(self) -> int:
        return self._database.waiting

    # --- tables of rooms ---

    async def hold(self, tables: Sequence[Table[Any]]) -> None:
        await self._database.write(lambda db: rows.hold(db, tables))

    def rows(self, table: Table[T]) -> SqliteRows[T]:
        return SqliteRows(self._database, table)

    # --- meta, peers ---

    async def get_meta(self, key: str) -> bytes | None:
        return await self._database.read(lambda db: peer_tables.get_meta(db, key))

    async def put_meta(self, key: str, value: bytes) -> None:
        await self._database.write(lambda db: peer_tables.put_meta(db, key, value))

    async def put_peer(self, peer: PeerRecord, *, news: News | None = None) -> None:
        await self._database.write(told(lambda db: peer_tables.put_peer(db, peer), news))

    async def peers(self) -> list[PeerRecord]:
        return await self._database.read(peer_tables.peers)

    async def remove_peer(self, node: str) -> bool:
        return await self._database.write(lambda db: peer_tables.remove_peer(db, node))

    # --- sessions, artefacts ---

    async def put_session(self, session: Session) -> None:
        await self._database.write(lambda db: session_tables.put(db, session))

    async def append_step(self, session_id: str, step: Step) -> None:
        await self._database.write(lambda db: session_tables.append_step(db, session_id, step))
        await self._named({step.snapshot, step.screenshot})

    async def amend_step(self, session_id: str, step: Step) -> None:
        await self._database.write(lambda db: session_tables.amend_step(db, session_id, step))
        await self._named({step.snapshot, step.screenshot})

    async def commit_session(
        self, session: Session, artefacts: Sequence[ArtefactRecord], *, news: News | None = None
    ) -> None:
        await self._database.write(told(lambda db: session_tables.commit(db, session, artefacts), news))
        await self._named(removal.manifests(artefact.envelope for artefact in artefacts))

    async def import_session(
        self,
        session: Session,
        steps: Sequence[Step],
        artefacts: Sequence[ArtefactRecord],
        *,
        bodies: Sequence[bytes] = (),
        news: News | None = None,
    ) -> None:
        await self._database.write(told(lambda db: session_tables.take_in(db, session, steps, artefacts, bodies), news))
        named = {digest for step in steps for digest in (step.snapshot, step.screenshot)}
        await self._named(named | removal.manifests(artefact.envelope for artefact in artefacts))

    async def session_remains(self, session_id: str) -> bytes | None:
        return await self.get_meta(removal.remains_key(session_id))

    async def remove_session(self, session_id: str, remains: bytes = b"", *, news: News | None = None) -> bool:
        removed = await self._database.write(
            told(lambda db: removal.remove_session(db, session_id, remains), news),
            then=lambda db: removal.sweep(db, self._blobs),
        )
        await self._database.fold()
        return removed

    async def session(self, session_id: str) -> Session | None:
        return await self._database.read(lambda db: session_tables.one(db, session_id))

    async def steps(self, session_id: str) -> list[Step]:
        return await self._database.read(lambda db: session_tables.steps_of(db, session_id))

    async def step(self, session_id: str, number: int | None = None) -> Step | None:
        return await self._database.read(lambda db: session_tables.step_of(db, session_id, number))

    async def step_bodies(self, session_id: str) -> list[bytes]:
        return await self._database.read(lambda db: session_tables.bodies_of(db, session_id))

    async def sessions(self, *, text: str = "", limit: int = 100) -> list[Session]:
        return await self._database.read(lambda db: session_tables.some(db, text, limit))

    async def count_sessions(self) -> int:
        return await self._database.read(session_tables.count)

    async def put_artefact(self, artefact: ArtefactRecord, *, news: News | None = None) -> None:
        await self._database.write(told(lambda db: artefact_table.put(db, artefact), news))

    async def artefact(self, digest: bytes) -> ArtefactRecord | None:
        return await self._database.read(lambda db: artefact_table.one(db, digest))

    async def artefacts(
        self, *, subject: str = "", kind: str = "", after: ArtefactRecord | None = None, limit: int = PAGE_ROWS
    ) -> list[ArtefactRecord]:
        return await self._database.read(lambda db: artefact_table.some(db, subject, kind, after, limit))

    # --- searches, deltas, leases ---

    async def put_search(self, search: SearchRecord, *, news: News | None = None) -> None:
        await self._database.write(told(lambda db: search_tables.put_search(db, search), news))

    async def search(self, search_id: str) -> SearchRecord | None:
        return await self._database.read(lambda db: search_tables.search(db, search_id))

    async def searches(
        self, *, status: str = "", after: SearchRecord | None = None, limit: int = PAGE_ROWS
    ) -> list[SearchRecord]:
        return await self._database.read(lambda db: search_tables.searches(db, status, after, limit))

    async def remove_search(self, search_id: str, *, news: News | None = None) -> bool:
        removed = await self._database.write(told(lambda db: removal.remove_search(db, search_id), news))
        await self._database.fold()
        return removed

    async def search_removed(self, search_id: str) -> bool:
        return await self.get_meta(removal.removed_key(search_id)) is not None

    async def append_delta(self, delta: DeltaRecord) -> bool:
        return await self._database.write(lambda db: search_tables.append_delta(db, delta))

    async def deltas(
        self,
        search_id: str,
        *,
        peer: str = "",
        epoch: int = 0,
        after_seq: int = 0,
        after: DeltaRecord | None = None,
        limit: int = PAGE_ROWS,
        bytes_max: int = PAGE_BYTES,
    ) -> list[DeltaRecord]:
        return await self._database.read(
            lambda db: search_tables.deltas(db, search_id, peer, epoch, after_seq, after, limit, bytes_max)
        )

    async def newest_deltas(self, search_id: str) -> list[DeltaRecord]:
        return await self._database.read(lambda db: search_tables.newest_deltas(db, search_id))

    async def drop_deltas(self, search_id: str, peer: str, *, before_epoch: int = 0) -> int:
        return await self._database.write(lambda db: search_tables.drop_deltas(db, search_id, peer, before_epoch))

    async def put_lease(self, lease: LeaseRecord, *, news: News | None = None) -> None:
        await self._database.write(told(lambda db: search_tables.put_lease(db, lease), news))

    async def lease(self, lease_id: str) -> LeaseRecord | None:
        return await self._database.read(lambda db: search_tables.lease(db, lease_id))

    async def leases(self, search_id: str, *, status: str = "") -> list[LeaseRecord]:
        return await self._database.read(lambda db: search_tables.leases(db, search_id, status))

    # --- agents ---

    async def add_agent(self, agent: AgentRecord) -> bool:
        return await self._database.write(lambda db: agent_table.add(db, agent))

    async def agents(self) -> list[AgentRecord]:
        return await self._database.read(agent_table.every)

    async def agent(self, token_hash: bytes) -> AgentRecord | None:
        return await self._database.read(lambda db: agent_table.find(db, token_hash))

    async def count_agent_call(self, token_hash: bytes) -> AgentRecord:
        return await self._database.write(lambda db: agent_table.count_call(db, token_hash))

    async def charge_agent(self, token_hash: bytes, browser_ms: int) -> int:
        return await self._database.write(lambda db: agent_table.charge(db, token_hash, browser_ms))

    async def remove_agent(self, name: str) -> bool:
        return await self._database.write(lambda db: agent_table.remove(db, name))

    # --- schedules ---

    async def keep_schedule(self, record: ScheduleRecord, *, was: int, runs: Sequence[RunRecord] = ()) -> bool:
        return await self._database.write(lambda db: schedule_tables.keep_schedule(db, record, was, runs))

    async def schedules(self) -> list[ScheduleRecord]:
        return await self._database.read(schedule_tables.schedules)

    async def schedule(self, schedule_id: str) -> ScheduleRecord | None:
        return await self._database.read(lambda db: schedule_tables.schedule(db, schedule_id))

    async def remove_schedule(self, schedule_id: str) -> bool:
        return await self._database.write(lambda db: schedule_tables.remove_schedule(db, schedule_id))

    async def keep_run(self, run: RunRecord, *, was: int) -> bool:
        return await self._database.write(lambda db: schedule_tables.keep_run(db, run, was))

    async def runs_of(self, schedule_id: str, *, limit: int) -> list[RunRecord]:
        return await self._database.read(lambda db: schedule_tables.runs_of(db, schedule_id, limit))

    async def running_runs(self) -> list[RunRecord]:
        return await self._database.read(schedule_tables.running_runs)

    # --- witness log ---

    async def append_log(
        self,
        log: LogRecord,
        leaves: Sequence[LeafRecord],
        subtrees: Mapping[Subtree, bytes],
        *,
        artefacts: Sequence[ArtefactRecord] = (),
    ) -> None:
        await self._database.write(lambda db: log_tables.append(db, log, leaves, subtrees, artefacts))

    async def logs(self) -> list[LogRecord]:
        return await self._database.read(log_tables.logs)

    async def leaves_of(self, kinds: Sequence[str]) -> list[LeafRecord]:
        return await self._database.read(lambda db: log_tables.leaves_of(db, kinds))

    async def log_subtrees(self, log: int, places: Sequence[Subtree]) -> list[bytes]:
        return await self._database.read(lambda db: log_tables.subtrees(db, log, places))

    async def log_leaf(self, digest: bytes) -> LeafRecord | None:
        return await self._database.read(lambda db: log_tables.leaf(db, digest))

    async def log_leaves(self, log: int, *, first: int = 0, limit: int = 1_000) -> list[LeafRecord]:
        return await self._database.read(lambda db: log_tables.leaves(db, log, first, limit))

    # --- audit trail ---

    async def append_audit(self, draft: AuditDraft) -> AuditLine:
        return await self._database.write(lambda db: audit_table.append(db, draft))

    async def audit_head(self) -> Head:
        return await self._database.read(audit_table.head)

    async def audit_lines(self, *, after: int = 0, limit: int = 1_000) -> list[AuditLine]:
        return await self._database.read(lambda db: audit_table.lines(db, after, limit))

    async def audit_find(self, query: AuditQuery) -> list[AuditLine]:
        return await self._database.read(lambda db: audit_table.find(db, query))

    # --- feed ---

    async def append_feed(self, news: News) -> FeedChange:
        return await self._database.write(lambda db: feed_table.append(db, news))

    async def feed(self, *, after: int | None = None, limit: int = 100, kind: str = "") -> FeedPage:
        return await self._database.read(lambda db: feed_table.page(db, after, limit, kind))

    async def usage(self) -> dict[str, int]:
        return await self._database.read(usage_of)

    # --- blobs, whole store ---

    async def put_blob(self, data: bytes) -> bytes:
        return await self._database.run(lambda: self._blobs.put(data))

    async def _named(self, digests: Set[bytes]) -> None:
        await self._database.run(lambda: self._blobs.named(digests - {b""}))

    async def blob(self, digest: bytes) -> bytes:
        return await self._database.run(lambda: self._blobs.get(digest))

    async def copy_to(self, directory: Path) -> None:
        snapshot = await self._database.run(lambda: Snapshot(self._database.path, self._blobs.root, directory))
        await asyncio.to_thread(snapshot.finish)

    async def check(self) -> list[str]:
        """Faults, in order: pages and indexes of the database, references between tables, blobs that steps and signatures refer
        to."""
        try:
            return await self._database.read(self._faults)
        except MeshError as error:
            if error.code != "store.corrupt":
                raise
            return [error.message]  # a database too damaged to be checked is itself the fault

    def _faults(self, db: sqlite3.Connection) -> list[str]:
        faults = [str(line) for (line,) in db.execute("PRAGMA quick_check") if line != "ok"]
        dangling = db.execute("PRAGMA foreign_key_check")
        faults += [f"row {row} of {table} refers to a missing row in {parent}" for table, row, parent, _ in dangling]
        named = db.execute(
            "SELECT session, number, snapshot FROM steps WHERE snapshot <> x'' UNION ALL"
            " SELECT session, number, screenshot FROM steps WHERE screenshot <> x'' ORDER BY 1, 2"
        )
        faults += [records.missing_blob(*row) for row in named if not self._blobs.has(records.blob(row[2]))]
        faults += [
            records.missing_manifest(*row) for row in removal.signed(db) if not self._blobs.has(records.blob(row[1]))
        ]
        return faults

    async def close(self) -> None:
        if not self._database.closed:
            await self._database.run(self._blobs.close)
        await self._database.close()
