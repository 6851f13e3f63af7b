"""Ports of the store, one for each subject; ``Store`` combines all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from adapters.audit_records import AuditLine, AuditQuery
from adapters.capsule_records import CapsuleRecord, LedgerRecord, Taken, WorkRecord
from adapters.feed_records import FeedPage
from adapters.log_records import CosignedRecord, EquivocationRecord, HeadRecord, LeafRecord, LogRecord, Subtree
from adapters.ports.records import (
    PAGE_BYTES,
    PAGE_ROWS,
    AgentRecord,
    ArtefactRecord,
    DeltaRecord,
    InviteRecord,
    LeaseRecord,
    LiveRecord,
    PeerRecord,
    QuestionRecord,
    SearchRecord,
)
from adapters.schedule_records import RunRecord, ScheduleRecord
from protocol.audit import Draft, Head
from protocol.feed import Change, News
from protocol.recording.records.session import Session, Step


class MetaStore(Protocol):
    """Single values by key: what is small, and not queried."""

    async def get_meta(self, key: str) -> bytes | None: ...

    async def put_meta(self, key: str, value: bytes) -> None: ...


class PeerStore(Protocol):
    """Peers and open invites."""

    async def put_peer(self, peer: PeerRecord, *, news: News | None = None) -> None:
        """Insert or replace."""

    async def peers(self) -> list[PeerRecord]:
        """All peers, by pairing time."""

    async def remove_peer(self, node: str) -> bool: ...

    async def put_invite(self, invite: InviteRecord) -> None: ...

    async def invites(self) -> list[InviteRecord]: ...

    async def take_invite(self, token_hash: bytes) -> InviteRecord | None:
        """Remove and return: at most one caller ever gets an invite."""


class SessionStore(Protocol):
    """Recorded sessions, and the files that their steps name."""

    async def put_session(self, session: Session) -> None:
        """Insert or replace the container; the steps stay."""

    async def append_step(self, session_id: str, step: Step) -> None:
        """Add the next step. Errors: ``input.not_found``, ``input.invalid`` (its index is not the next one)."""

    async def amend_step(self, session_id: str, step: Step) -> None:
        """Replace the stored step of the same index: its picture comes later, and so does what became of what it sent.

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

        bodies: the bytes of each step, if they are to be kept as they were signed.
        """

    async def session(self, session_id: str) -> Session | None: ...

    async def steps(self, session_id: str) -> list[Step]: ...

    async def step_bodies(self, session_id: str) -> list[bytes]:
        """The bytes of the steps as they were stored: an earlier version encoded a step without the fields of later ones."""

    async def sessions(self, *, text: str = "", limit: int = 100) -> list[Session]:
        """Newest first; ``text`` is searched in title, start address and id, without regard to case."""

    async def count_sessions(self) -> int:
        """How many sessions there are."""

    async def remove_session(self, session_id: str, remains: bytes = b"", *, news: News | None = None) -> bool:
        """Forget a session, its steps, the artefacts about it and the blobs that no other step names; whether there was one.

        remains: what is kept of it, for ``session_remains``.
        """

    async def session_remains(self, session_id: str) -> bytes | None:
        """What was kept of a session when it was removed; None of one that never was."""

    async def put_blob(self, data: bytes) -> bytes:
        """Keep ``data`` under its SHA-256 (returned), written atomically."""

    async def blob(self, digest: bytes) -> bytes:
        """The bytes, checked against their hash. Errors: ``blob.missing``."""


class LiveStore(Protocol):
    """What outlives the process of live browser sessions."""

    async def put_live(self, live: LiveRecord) -> None:
        """Insert or replace."""

    async def live(self, live_id: str) -> LiveRecord | None: ...

    async def lives(self, *, caller: str = "", open_only: bool = False, limit: int = 100) -> list[LiveRecord]:
        """Newest first; an empty caller matches all."""


class ArtefactStore(Protocol):
    """Signed envelopes, whatever they are about."""

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
        """Forget a search, its deltas, its leases and every meta value whose key begins with ``search/<id>/``; whether there
        was one. That it was removed is remembered."""

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

        A page ends before ``limit`` or ``bytes_max`` is passed, and holds one delta at least if there is one; ``after`` is the last
        one of the page before.
        """

    async def newest_deltas(self, search_id: str) -> list[DeltaRecord]:
        """The last delta of each peer that has any, by peer."""

    async def drop_deltas(self, search_id: str, peer: str, *, before_epoch: int = 0) -> int:
        """Forget a peer's deltas (all, or those of earlier epochs); how many there were."""

    async def put_lease(self, lease: LeaseRecord, *, news: News | None = None) -> None: ...

    async def lease(self, lease_id: str) -> LeaseRecord | None: ...

    async def leases(self, search_id: str, *, status: str = "") -> list[LeaseRecord]: ...


class LogStore(Protocol):
    """This node's witness log, and what is held of those of peers."""

    async def append_log(
        self,
        log: LogRecord,
        leaves: Sequence[LeafRecord],
        subtrees: Mapping[Subtree, bytes],
        *,
        artefacts: Sequence[ArtefactRecord] = (),
    ) -> None:
        """Add ``leaves`` to a log and replace its record, and keep ``artefacts``, all or nothing; index 0 begins a log.

        Errors: ``input.invalid`` when ``leaves`` do not follow what is there, or do not end at ``log.size``.
        """

    async def logs(self) -> list[LogRecord]:
        """Every log of this node, by number."""

    async def leaves_of(self, kinds: Sequence[str]) -> list[LeafRecord]:
        """The entries of these kinds in all logs, in their order."""

    async def log_subtrees(self, log: int, places: Sequence[Subtree]) -> list[bytes]:
        """The hashes at ``places``, in their order. Errors: ``store.corrupt`` when one is missing."""

    async def log_leaf(self, digest: bytes) -> LeafRecord | None: ...

    async def log_leaves(self, log: int, *, first: int = 0, limit: int = 1_000) -> list[LeafRecord]:
        """By index, from ``first``."""

    async def put_head(self, head: HeadRecord) -> None: ...

    async def heads(self) -> list[HeadRecord]:
        """By node id."""

    async def put_cosigned(self, cosigned: CosignedRecord) -> None: ...

    async def cosigned(self) -> list[CosignedRecord]:
        """By node id of the peer; one of each."""

    async def drop_cosigned(self, witness: str) -> bool:
        """Forget what a peer has cosigned; whether there was anything."""

    async def put_equivocation(self, found: EquivocationRecord) -> bool:
        """Keep a proof; False if there is one about this node already, which stays."""

    async def equivocations(self) -> list[EquivocationRecord]:
        """By node id."""


class AuditStore(Protocol):
    """Rows of the audit trail."""

    async def append_audit(self, draft: Draft) -> AuditLine:
        """Add a row to the audit trail, chained to the last one. Rows are never changed nor removed."""

    async def audit_head(self) -> Head:
        """The end of the audit trail."""

    async def audit_lines(self, *, after: int = 0, limit: int = 1_000) -> list[AuditLine]:
        """By number, those above ``after``; as they are stored, whatever state they are in."""

    async def audit_find(self, query: AuditQuery) -> list[AuditLine]:
        """The newest rows that fit, oldest first."""


class FeedStore(Protocol):
    """The sequence of what changed."""

    async def append_feed(self, news: News) -> Change:
        """Add a change to the feed, under the next number; the oldest beyond ``limits.FEED_ROWS_MAX`` go."""

    async def feed(self, *, after: int | None = None, limit: int = 100, kind: str = "") -> FeedPage:
        """The first changes with a number above ``after``, the last ones if it is None; in their order.

        kind: the name of one, or the beginning of names up to a dot: ``session`` fits ``session.recorded``.
        """


class AgentStore(Protocol):
    """Agents and what they have used up."""

    async def add_agent(self, agent: AgentRecord) -> bool:
        """Keep a new agent; False if one has its name or its token already, which stays."""

    async def agents(self) -> list[AgentRecord]:
        """By name."""

    async def agent(self, token_hash: bytes) -> AgentRecord | None: ...

    async def count_agent_call(self, token_hash: bytes) -> AgentRecord:
        """Count a call of an agent before it is made; the agent as it is then. Durable when it returns.

        Errors: ``input.not_found``, ``agent.budget`` (nothing is counted).
        """

    async def charge_agent(self, token_hash: bytes, browser_ms: int) -> int:
        """Count time with a browser, before it is used: as much of ``browser_ms`` as is left (returned). Durable when it returns.

        A negative time is given back. Errors: ``input.not_found``, ``agent.budget`` (nothing is left).
        """

    async def remove_agent(self, name: str) -> bool: ...


class QuestionStore(Protocol):
    """Questions to the owner."""

    async def put_question(self, question: QuestionRecord, *, news: News | None = None) -> None:
        """Insert a question, or replace the one with its id."""

    async def questions(self) -> list[QuestionRecord]:
        """In the order in which they were asked. The caller keeps their number small (``QUESTIONS_KEPT_MAX``)."""

    async def remove_question(self, question_id: str) -> bool: ...


class CapsuleStore(Protocol):
    """Capsules, and their ledger. What a row of the ledger says only grows (``adapters.capsule_records``)."""

    async def put_capsule(
        self, record: CapsuleRecord, stream: bytes, *, expires_ms: int, news: News | None = None
    ) -> None:
        """Insert or replace a capsule with its sealed state, and enter it in the ledger, both or neither.

        Errors: ``capsule.revoked``, ``capsule.generation`` (the ledger knows a newer one), ``input.too_large``.
        """

    async def capsule(self, capsule_id: str) -> CapsuleRecord | None: ...

    async def capsules(self) -> list[CapsuleRecord]:
        """In the order in which they came; at most ``CAPSULES_MAX``."""

    async def capsule_stream(self, capsule_id: str) -> bytes | None: ...

    async def remove_capsule(self, capsule_id: str, *, news: News | None = None) -> bool:
        """Forget a capsule; its row of the ledger stays. Whether there was one."""

    async def ledger(self, capsule_id: str) -> LedgerRecord | None: ...

    async def revoked_as(self, name: str) -> LedgerRecord | None:
        """The row of the capsule of this name that was revoked last."""

    async def raise_ledger(self, more: LedgerRecord) -> LedgerRecord:
        """Merge ``more`` into the row of its capsule; the row as it is then. Errors: ``input.invalid``, ``input.too_large``."""

    async def take_capsule(self, capsule_id: str, taken: Taken) -> LedgerRecord:
        """Count a use and take the lease, before the state is opened; the row as it is then. Durable when it returns.

        Errors: ``input.not_found``, ``capsule.revoked``, ``capsule.generation``, ``capsule.held``, ``capsule.replays``; then
        nothing is counted.
        """

    async def give_back_capsule(self, capsule_id: str, holder: str) -> bool:
        """End the lease of ``holder``; whether it had it."""

    async def put_clock_back(self, capsule_id: str, now_ms: int) -> None:
        """Let the row of a capsule know no later time than ``now_ms``, which the owner has accepted."""

    async def prune_ledger(self, now_ms: int) -> int:
        """Forget the rows of capsules that have expired and are not here; how many there were."""

    async def put_work(self, record: WorkRecord) -> None:
        """Keep a work with a new id. Durable when it returns."""

    async def works(self) -> list[WorkRecord]:
        """In the order in which they came."""

    async def remove_works(self, ids: Sequence[str]) -> None:
        """Forget works; those that are not there count for nothing."""


class ScheduleStore(Protocol):
    """Schedules and their runs."""

    async def keep_schedule(self, record: ScheduleRecord, *, was: int, runs: Sequence[RunRecord] = ()) -> bool:
        """Insert a schedule (``was`` 0) or replace version ``was`` of it, and insert records of due times; all or nothing.

        False, and nothing is changed, if the schedule has another version or one of the due times a record. Of each schedule
        the newest ``SCHEDULE_RUNS_MAX`` records stay, and those that run.
        """

    async def schedules(self) -> list[ScheduleRecord]:
        """Oldest first."""

    async def schedule(self, schedule_id: str) -> ScheduleRecord | None: ...

    async def remove_schedule(self, schedule_id: str) -> bool:
        """Forget a schedule and the records of its due times; whether there was one."""

    async def keep_run(self, run: RunRecord, *, was: int) -> bool:
        """Replace version ``was`` of the record of a due time; False if it has another version or is not there."""

    async def runs_of(self, schedule_id: str, *, limit: int) -> list[RunRecord]:
        """The newest records of a schedule, newest first."""

    async def running_runs(self) -> list[RunRecord]:
        """The records of every schedule that say ``running``, by schedule and due time."""


class Store(
    MetaStore,
    PeerStore,
    SessionStore,
    LiveStore,
    ArtefactStore,
    SearchStore,
    LogStore,
    AuditStore,
    FeedStore,
    AgentStore,
    QuestionStore,
    CapsuleStore,
    ScheduleStore,
    Protocol,
):
    """What a node remembers. Every method takes effect as a whole or not at all; a crash at any line leaves a store that opens.

    Errors of every method: ``store.corrupt``, ``store.full``, ``node.stopped`` (after ``close``); of those that write a
    record, ``input.invalid`` and ``input.too_large`` (it could not be read back). A missing record is ``None`` or an empty
    list.

    news: what the method changes, as the feed tells it: written in the same transaction if something was changed. A change that
    could not be written to the feed is done all the same.
    """

    @property
    def waiting(self) -> int:
        """How many calls have begun and not ended."""

    async def usage(self) -> dict[str, int]:
        """Bytes that are kept of each peer, by node id: deltas, searches it coordinates, leases, its rows of the trail."""

    async def copy_to(self, directory: Path) -> None:
        """Copy one state of the store into ``directory``, which exists and is empty, while others use the store.

        Errors: ``store.*``.
        """

    async def check(self) -> list[str]:
        """Faults of the store in words; empty when sound."""

    async def close(self) -> None: ...
