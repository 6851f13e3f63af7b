"""Ports of the store, one for each subject; ``Store`` combines all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from adapters.audit_records import AuditLine, AuditQuery
from adapters.capsule_records import CapsuleRecord, LedgerRecord, Taken
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
from adapters.ports.tables import TableStore
from adapters.schedule_records import RunRecord, ScheduleRecord
from protocol.audit import AuditDraft, Head
from protocol.feed import FeedChange, News
from protocol.recording.records.session import Session, Step


class MetaStore(Protocol):
    """Single small values by key, without queries."""

    async def get_meta(self, key: str) -> bytes | None: ...

    async def put_meta(self, key: str, value: bytes) -> None: ...


class PeerStore(Protocol):
    """Peers."""

    async def put_peer(self, peer: PeerRecord, *, news: News | None = None) -> None:
        """Insert or replace."""

    async def peers(self) -> list[PeerRecord]:
        """All peers, by pairing time."""

    async def remove_peer(self, node: str) -> bool: ...


class SessionStore(Protocol):
    """Recorded sessions, and the files that their steps refer to."""

    async def put_session(self, session: Session) -> None:
        """Insert or replace the container; the steps stay."""

    async def append_step(self, session_id: str, step: Step) -> None:
        """Add the next step. Errors: ``input.not_found``, ``input.invalid`` (its index is not the next one)."""

    async def amend_step(self, session_id: str, step: Step) -> None:
        """Replace the stored step of the same index: its picture comes later, and so does the fate of its requests.

        Errors: ``input.not_found``.
        """

    async def commit_session(
        self, session: Session, artefacts: Sequence[ArtefactRecord], *, news: News | None = None
    ) -> None:
        """Replace the container and keep its artefacts, both or neither."""

    async def import_session(
        self,
        session: Session,
        steps: Sequence[Step],
        artefacts: Sequence[ArtefactRecord],
        *,
        bodies: Sequence[bytes] = (),
        news: News | None = None,
    ) -> None:
        """Insert a whole session, its steps and artefacts, all or nothing; replaces one of the same id.

        bodies: the bytes of each step, if they are to be kept as signed.
        """

    async def session(self, session_id: str) -> Session | None: ...

    async def steps(self, session_id: str) -> list[Step]: ...

    async def step(self, session_id: str, number: int | None = None) -> Step | None:
        """The step of this number; without one the last that has a picture, or the last of all if none has."""

    async def step_bodies(self, session_id: str) -> list[bytes]:
        """The bytes of the steps as they were stored: an earlier version encoded a step without the fields of later ones."""

    async def sessions(self, *, text: str = "", limit: int = 100) -> list[Session]:
        """Newest first; ``text`` is searched in title, start address and id, ignoring case."""

    async def count_sessions(self) -> int:
        """How many sessions there are."""

    async def remove_session(self, session_id: str, remains: bytes = b"", *, news: News | None = None) -> bool:
        """Remove a session, its steps, the artefacts about it and the blobs that no other step names. True if there was one.

        remains: data to keep about it, for ``session_remains``.
        """

    async def session_remains(self, session_id: str) -> bytes | None:
        """The data kept about a removed session; None if it was never removed."""

    async def put_blob(self, data: bytes) -> bytes:
        """Keep ``data`` under its SHA-256 (returned), written atomically."""

    async def blob(self, digest: bytes) -> bytes:
        """The bytes, checked against their hash. Errors: ``blob.missing``."""


class ArtefactStore(Protocol):
    """Signed envelopes on any subject."""

    async def put_artefact(self, artefact: ArtefactRecord, *, news: News | None = None) -> None: ...

    async def artefact(self, digest: bytes) -> ArtefactRecord | None: ...

    async def artefacts(
        self, *, subject: str = "", kind: str = "", after: ArtefactRecord | None = None, limit: int = PAGE_ROWS
    ) -> list[ArtefactRecord]:
        """Oldest first; an empty filter matches all. after: the last one of the page before."""


class SearchStore(Protocol):
    """Searches with their deltas and leases."""

    async def put_search(self, search: SearchRecord, *, news: News | None = None) -> None: ...

    async def search(self, search_id: str) -> SearchRecord | None: ...

    async def searches(
        self, *, status: str = "", after: SearchRecord | None = None, limit: int = PAGE_ROWS
    ) -> list[SearchRecord]:
        """Newest first. after: the last one of the page before."""

    async def remove_search(self, search_id: str, *, news: News | None = None) -> bool:
        """Remove a search, its deltas, its leases and every meta value whose key begins with ``search/<id>/``. True if there
        was one. The removal itself is remembered."""

    async def search_removed(self, search_id: str) -> bool: ...

    async def append_delta(self, delta: DeltaRecord) -> bool:
        """Keep a delta; False if the same bytes are there already. Errors: ``delta.equivocation`` for other bytes."""

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
        """By peer, epoch and sequence number; ``epoch`` 0 means every epoch.

        A page ends before it exceeds ``limit`` or ``bytes_max``, but holds at least one delta if there is one; ``after`` is the
        last one of the page before.
        """

    async def newest_deltas(self, search_id: str) -> list[DeltaRecord]:
        """The last delta of each peer that has any, by peer."""

    async def drop_deltas(self, search_id: str, peer: str, *, before_epoch: int = 0) -> int:
        """Remove a peer's deltas (all, or those of earlier epochs). Returns how many there were."""

    async def put_lease(self, lease: LeaseRecord, *, news: News | None = None) -> None: ...

    async def lease(self, lease_id: str) -> LeaseRecord | None: ...

    async def leases(self, search_id: str, *, status: str = "") -> list[LeaseRecord]: ...


class LogStore(Protocol):
    """This node's witness log."""

    async def append_log(
        self,
        log: LogRecord,
        leaves: Sequence[LeafRecord],
        subtrees: Mapping[Subtree, bytes],
        *,
        artefacts: Sequence[ArtefactRecord] = (),
    ) -> None:
        """Add ``leaves`` to a log and replace its record, and keep ``artefacts``, all or nothing; index 0 begins a log.

        Errors: ``input.invalid`` if ``leaves`` do not continue the log, or do not end at ``log.size``.
        """

    async def logs(self) -> list[LogRecord]:
        """Every log of this node, by number."""

    async def leaves_of(self, kinds: Sequence[str]) -> list[LeafRecord]:
        """The entries of these kinds in all logs, in their order."""

    async def log_subtrees(self, log: int, places: Sequence[Subtree]) -> list[bytes]:
        """The hashes at ``places``, in their order. Errors: ``store.corrupt`` if one is missing."""

    async def log_leaf(self, digest: bytes) -> LeafRecord | None: ...

    async def log_leaves(self, log: int, *, first: int = 0, limit: int = 1_000) -> list[LeafRecord]:
        """By index, from ``first``."""


class AuditStore(Protocol):
    """Rows of the audit trail."""

    async def append_audit(self, draft: AuditDraft) -> AuditLine:
        """Add a row to the audit trail, chained to the last one. Rows are never changed nor removed."""

    async def audit_head(self) -> Head:
        """The end of the audit trail."""

    async def audit_lines(self, *, after: int = 0, limit: int = 1_000) -> list[AuditLine]:
        """The rows with numbers above ``after``, in order, as they are stored, even if damaged."""

    async def audit_find(self, query: AuditQuery) -> list[AuditLine]:
        """The newest rows that the query selects, oldest first."""


class FeedStore(Protocol):
    """The sequence of changes."""

    async def append_feed(self, news: News) -> FeedChange:
        """Add a change to the feed, under the next number; rows beyond ``limits.FEED_ROWS_MAX`` are dropped, oldest first."""

    async def feed(self, *, after: int | None = None, limit: int = 100, kind: str = "") -> FeedPage:
        """The first changes with a number above ``after``, or the last ones if it is None; in order.

        kind: a name or its beginning, up to a dot: ``session`` fits ``session.recorded``.
        """


class AgentStore(Protocol):
    """Agents and what they have used up."""

    async def add_agent(self, agent: AgentRecord) -> bool:
        """Keep a new agent; False if another has its name or its token already."""

    async def agents(self) -> list[AgentRecord]:
        """By name."""

    async def agent(self, token_hash: bytes) -> AgentRecord | None: ...

    async def count_agent_call(self, token_hash: bytes) -> AgentRecord:
        """Count a call of an agent before it is made. Returns the updated agent. Durable on return.

        Errors: ``input.not_found``, ``agent.budget`` (nothing is counted).
        """

    async def charge_agent(self, token_hash: bytes, browser_ms: int) -> int:
        """Charge browser time before it is used: as much of ``browser_ms`` as is left (returned). Durable on return.

        A negative time is a refund. Errors: ``input.not_found``, ``agent.budget`` (nothing is left).
        """

    async def remove_agent(self, name: str) -> bool: ...


class CapsuleStore(Protocol):
    """Capsules, and their ledger. The values of a ledger row only grow (``adapters.capsule_records``)."""

    async def put_capsule(
        self, record: CapsuleRecord, stream: bytes, *, expires_ms: int, news: News | None = None
    ) -> None:
        """Insert or replace a capsule with its sealed state, and enter it in the ledger, both or neither.

        Errors: ``capsule.revoked``, ``capsule.generation`` (the ledger knows a newer one), ``input.too_large``.
        """

    async def capsule(self, capsule_id: str) -> CapsuleRecord | None: ...

    async def capsules(self) -> list[CapsuleRecord]:
        """In order of arrival; at most ``CAPSULES_MAX``."""

    async def capsule_stream(self, capsule_id: str) -> bytes | None: ...

    async def remove_capsule(self, capsule_id: str, *, news: News | None = None) -> bool:
        """Remove a capsule; its row of the ledger stays. True if there was one."""

    async def ledger(self, capsule_id: str) -> LedgerRecord | None: ...

    async def revoked_as(self, name: str) -> LedgerRecord | None:
        """The ledger row of the capsule with this name that was revoked last."""

    async def raise_ledger(self, more: LedgerRecord) -> LedgerRecord:
        """Merge ``more`` into the row of its capsule. Returns the updated row. Errors: ``input.invalid``, ``input.too_large``."""

    async def take_capsule(self, capsule_id: str, taken: Taken) -> LedgerRecord:
        """Count a use and take the lease, before the state is opened. Returns the updated row. Durable on return.

        Errors: ``input.not_found``, ``capsule.revoked``, ``capsule.generation``, ``capsule.held``, ``capsule.replays``; then
        nothing is counted.
        """

    async def give_back_capsule(self, capsule_id: str, holder: str) -> bool:
        """End the lease of ``holder``. True if it had one."""

    async def put_clock_back(self, capsule_id: str, now_ms: int) -> None:
        """Lower the latest time in the row of a capsule to ``now_ms``, which the owner has accepted."""

    async def prune_ledger(self, now_ms: int) -> int:
        """Remove the rows of expired capsules that are not stored here. Returns how many there were."""


class ScheduleStore(Protocol):
    """Schedules and their runs."""

    async def keep_schedule(self, record: ScheduleRecord, *, was: int, runs: Sequence[RunRecord] = ()) -> bool:
        """Insert a schedule (``was`` 0) or replace its version ``was``, and insert records of due times; all or nothing.

        False, without any change, if the schedule has another version or a due time already has a record. Of each schedule the
        newest ``SCHEDULE_RUNS_MAX`` records are kept, and those of running ones.
        """

    async def schedules(self) -> list[ScheduleRecord]:
        """Oldest first."""

    async def schedule(self, schedule_id: str) -> ScheduleRecord | None: ...

    async def remove_schedule(self, schedule_id: str) -> bool:
        """Remove a schedule and the records of its due times. True if there was one."""

    async def keep_run(self, run: RunRecord, *, was: int) -> bool:
        """Replace version ``was`` of the record of a due time; False if it has another version or is missing."""

    async def runs_of(self, schedule_id: str, *, limit: int) -> list[RunRecord]:
        """The newest records of a schedule, newest first."""

    async def running_runs(self) -> list[RunRecord]:
        """The ``running`` records of every schedule, by schedule and due time."""


class Store(
    MetaStore,
    PeerStore,
    SessionStore,
    ArtefactStore,
    SearchStore,
    LogStore,
    AuditStore,
    FeedStore,
    AgentStore,
    TableStore,
    CapsuleStore,
    ScheduleStore,
    Protocol,
):
    """The memory of a node. Every method takes effect as a whole or not at all; after a crash at any line the store opens.

    Errors of every method: ``store.corrupt``, ``store.full``, ``node.stopped`` (after ``close``). Methods that write a record
    also give ``input.invalid`` and ``input.too_large`` (it could not be read back). A missing record is ``None`` or an empty
    list.

    news: the feed entry for the method's change, written in the same transaction if something changed. If the feed cannot be
    written, the change is made all the same.
    """

    @property
    def waiting(self) -> int:
        """How many calls have begun and not ended."""

    async def usage(self) -> dict[str, int]:
        """Bytes stored for each peer, by node id: deltas, searches it coordinates, leases, its rows of the trail."""

    async def copy_to(self, directory: Path) -> None:
        """Copy one state of the store into ``directory``, which exists and is empty, while others use the store.

        Errors: ``store.*``.
        """

    async def check(self) -> list[str]:
        """Faults of the store in words; empty when sound."""

    async def close(self) -> None: ...
