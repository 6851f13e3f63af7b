"""The in-memory twin of the store: same answers, same errors, nothing on disk.

It keeps encoded bodies, not objects, so that it refuses what the database could not read back.
"""

from __future__ import annotations

import hashlib
import pickle
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from adapters.audit_records import AuditLine, AuditQuery, stored
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
from adapters.schedule_records import RunRecord, ScheduleRecord
from adapters.storage.files import records
from adapters.storage.files.records import integer, pack, unpack
from adapters.storage.tables import removal
from adapters.storage.tables.usage import ROW_BYTES, added_up
from protocol import audit, limits
from protocol.audit import START, AuditDraft, Head
from protocol.errors import MeshError
from protocol.feed import FeedChange, News
from protocol.recording.records.bundle import KIND
from protocol.recording.records.session import Session, Step
from protocol.schedule import RunStatus
from tests.twins.capsules import MemoryCapsules
from tests.twins.feed import MemoryFeed
from tests.twins.tables import MemoryTables


class MemoryStore(MemoryCapsules, MemoryTables):
    """Implements ``adapters.ports.Store``. Nothing in a method waits, so each is atomic on its event loop.

    Dictionaries keep the order of first insertion, also when a value is replaced: the ``seq`` of the database.
    """

    def __init__(self) -> None:
        MemoryCapsules.__init__(self)
        MemoryTables.__init__(self)
        self._meta: dict[str, bytes] = {}
        self._peers: dict[str, bytes] = {}
        self._sessions: dict[str, bytes] = {}
        self._steps: dict[str, list[bytes]] = {}
        self._artefacts: dict[bytes, bytes] = {}
        self._searches: dict[str, bytes] = {}
        self._deltas: dict[tuple[str, str, int, int], bytes] = {}
        self._leases: dict[str, bytes] = {}
        self._agents: dict[str, bytes] = {}
        self._schedules: dict[str, bytes] = {}
        self._runs: dict[tuple[str, int], bytes] = {}
        self._logs: dict[int, bytes] = {}
        self._leaves: dict[int, list[LeafRecord]] = {}
        self._subtrees: dict[tuple[int, int, int], bytes] = {}
        self._audit: list[AuditLine] = []
        self._feed = MemoryFeed()
        self._blobs: dict[bytes, bytes] = {}
        self._fresh: Counter[bytes] = Counter()
        self._closed = False

    @property
    def waiting(self) -> int:
        return 0

    # --- meta, peers ---

    async def get_meta(self, key: str) -> bytes | None:
        self._open()
        return self._meta.get(_text(key))

    async def put_meta(self, key: str, value: bytes) -> None:
        self._open()
        self._meta[_text(key)] = value

    async def put_peer(self, peer: PeerRecord, *, news: News | None = None) -> None:
        self._open()
        integer(peer.paired_ms)
        self._peers[peer.node] = pack(peer)
        self._feed.tell(news)

    async def peers(self) -> list[PeerRecord]:
        self._open()
        found = [unpack(body, PeerRecord) for body in self._peers.values()]
        return sorted(found, key=lambda peer: (peer.paired_ms, peer.node))

    async def remove_peer(self, node: str) -> bool:
        self._open()
        return self._peers.pop(node, None) is not None

    # --- sessions, artefacts ---

    async def put_session(self, session: Session) -> None:
        await self.commit_session(session, ())

    async def append_step(self, session_id: str, step: Step) -> None:
        self._open()
        if session_id not in self._sessions:
            raise records.no_session(session_id)
        records.check_next(session_id, len(self._steps[session_id]), step)
        self._steps[session_id].append(pack(step))
        self._fresh -= Counter({step.snapshot, step.screenshot})

    async def amend_step(self, session_id: str, step: Step) -> None:
        self._open()
        stored = self._steps.get(session_id, [])
        if not 0 < step.index <= len(stored):
            raise records.no_step(session_id, step.index)
        stored[step.index - 1] = pack(step)
        self._fresh -= Counter({step.snapshot, step.screenshot})

    async def commit_session(
        self, session: Session, artefacts: Sequence[ArtefactRecord], *, news: News | None = None
    ) -> None:
        self._open()
        # All is packed, and so refused, before anything is kept.
        body, kept = _packed(session), {artefact.digest: _packed_artefact(artefact) for artefact in reversed(artefacts)}
        self._sessions[session.id] = body
        self._steps.setdefault(session.id, [])
        self._keep(kept, artefacts)
        self._fresh -= Counter(removal.manifests(artefact.envelope for artefact in artefacts))
        self._feed.tell(news)

    async def import_session(
        self,
        session: Session,
        steps: Sequence[Step],
        artefacts: Sequence[ArtefactRecord],
        *,
        bodies: Sequence[bytes] = (),
        news: News | None = None,
    ) -> None:
        self._open()
        records.check_whole(session, steps)
        kept = list(bodies) or [pack(step) for step in steps]
        await self.commit_session(session, artefacts, news=news)
        self._steps[session.id] = kept
        self._fresh -= Counter({digest for step in steps for digest in (step.snapshot, step.screenshot)})

    async def session_remains(self, session_id: str) -> bytes | None:
        return await self.get_meta(removal.remains_key(session_id))

    async def remove_session(self, session_id: str, remains: bytes = b"", *, news: News | None = None) -> bool:
        self._open()
        if self._sessions.pop(session_id, None) is None:
            return False
        kept = [unpack(body, ArtefactRecord) for body in self._artefacts.values()]
        about = [artefact for artefact in kept if artefact.subject == session_id]
        gone = self._named(session_id) | removal.manifests(artefact.envelope for artefact in about)
        del self._steps[session_id]
        for artefact in about:
            del self._artefacts[artefact.digest]
        named = {digest for other in self._steps for digest in self._named(other)}
        for digest in gone - named - {digest for _, digest in self._signed()} - set(self._fresh):
            self._blobs.pop(digest, None)
        await self.put_meta(removal.remains_key(session_id), remains)
        self._feed.tell(news)
        return True

    def _named(self, session_id: str) -> set[bytes]:
        steps = [unpack(body, Step) for body in self._steps[session_id]]
        return {digest for step in steps for digest in (step.snapshot, step.screenshot)}

    def _signed(self) -> list[tuple[str, bytes]]:
        kept = [unpack(body, ArtefactRecord) for body in self._artefacts.values()]
        ordered = sorted((a for a in kept if a.kind == KIND), key=lambda a: (a.subject, a.issued_s))
        return [(a.subject, digest) for a in ordered for digest in removal.manifests([a.envelope])]

    async def session(self, session_id: str) -> Session | None:
        self._open()
        body = self._sessions.get(session_id)
        return None if body is None else unpack(body, Session)

    async def steps(self, session_id: str) -> list[Step]:
        self._open()
        return [unpack(body, Step) for body in await self.step_bodies(session_id)]

    async def step(self, session_id: str, number: int | None = None) -> Step | None:
        steps = await self.steps(session_id)
        if number is None:
            return next((step for step in reversed(steps) if step.screenshot), steps[-1] if steps else None)
        return next((step for step in steps if step.index == number), None)

    async def step_bodies(self, session_id: str) -> list[bytes]:
        self._open()
        return list(self._steps.get(session_id, ()))

    async def sessions(self, *, text: str = "", limit: int = 100) -> list[Session]:
        self._open()
        wanted, count = text.casefold(), records.check_limit(limit)
        found = [unpack(body, Session) for body in reversed(self._sessions.values())]
        found = [session for session in found if wanted in records.search_text(session)]
        return sorted(found, key=lambda session: -session.created_ms)[:count]

    async def put_artefact(self, artefact: ArtefactRecord, *, news: News | None = None) -> None:
        self._open()
        self._keep({artefact.digest: _packed_artefact(artefact)}, [artefact])
        self._feed.tell(news)

    async def count_sessions(self) -> int:
        self._open()
        return len(self._sessions)

    async def artefact(self, digest: bytes) -> ArtefactRecord | None:
        self._open()
        body = self._artefacts.get(digest)
        return None if body is None else unpack(body, ArtefactRecord)

    async def artefacts(
        self, *, subject: str = "", kind: str = "", after: ArtefactRecord | None = None, limit: int = PAGE_ROWS
    ) -> list[ArtefactRecord]:
        self._open()
        places = {digest: seq for seq, digest in enumerate(self._artefacts, 1)}
        found = [unpack(body, ArtefactRecord) for body in self._artefacts.values()]
        found = [item for item in found if subject in ("", item.subject) and kind in ("", item.kind)]
        if after is not None:
            last = (after.issued_s, places.get(after.digest, 0))
            found = [item for item in found if (item.issued_s, places[item.digest]) > last]
        return sorted(found, key=lambda item: item.issued_s)[: records.check_limit(limit)]

    # --- searches, deltas, leases ---

    async def put_search(self, search: SearchRecord, *, news: News | None = None) -> None:
        self._open()
        integer(search.created_ms)
        self._searches[search.id] = pack(search)
        self._feed.tell(news)

    async def search(self, search_id: str) -> SearchRecord | None:
        self._open()
        body = self._searches.get(search_id)
        return None if body is None else unpack(body, SearchRecord)

    async def searches(
        self, *, status: str = "", after: SearchRecord | None = None, limit: int = PAGE_ROWS
    ) -> list[SearchRecord]:
        self._open()
        places = {search: seq for seq, search in enumerate(self._searches, 1)}
        found = [unpack(body, SearchRecord) for body in reversed(self._searches.values())]
        found = [search for search in found if status in ("", search.status)]
        if after is not None:
            last = (after.created_ms, places.get(after.id, len(places) + 1))
            found = [search for search in found if (search.created_ms, places[search.id]) < last]
        return sorted(found, key=lambda search: -search.created_ms)[: records.check_limit(limit)]

    async def remove_search(self, search_id: str, *, news: News | None = None) -> bool:
        self._open()
        if self._searches.pop(search_id, None) is None:
            return False
        self._deltas = {key: sealed for key, sealed in self._deltas.items() if key[0] != search_id}
        for lease in await self.leases(search_id):
            del self._leases[lease.id]
        about = removal.prefix(search_id)
        self._meta = {key: value for key, value in self._meta.items() if not key.startswith(about)}
        self._meta[removal.removed_key(search_id)] = b""
        self._feed.tell(news)
        return True

    async def search_removed(self, search_id: str) -> bool:
        return await self.get_meta(removal.removed_key(search_id)) is not None

    async def append_delta(self, delta: DeltaRecord) -> bool:
        self._open()
        key = (delta.search, delta.peer, integer(delta.epoch), integer(delta.seq))
        if key not in self._deltas:
            pack(delta)
            self._deltas[key] = delta.envelope
            return True
        if self._deltas[key] != delta.envelope:
            raise records.equivocation(delta)
        return False

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
        self._open()
        last = (search_id, peer or after.peer, after.epoch, after.seq) if after is not None else ()
        found = [
            DeltaRecord(search=search, peer=by, epoch=of, seq=seq, envelope=envelope)
            for (search, by, of, seq), envelope in sorted(self._deltas.items())
            if search == search_id and peer in ("", by) and epoch in (0, of) and seq > after_seq
            if (search, by, of, seq) > last
        ]
        return records.fitting(found[: records.check_limit(limit)], bytes_max)

    async def newest_deltas(self, search_id: str) -> list[DeltaRecord]:
        self._open()
        every = await self.deltas(search_id, limit=len(self._deltas), bytes_max=2**62)
        return list({delta.peer: delta for delta in every}.values())

    async def drop_deltas(self, search_id: str, peer: str, *, before_epoch: int = 0) -> int:
        self._open()
        gone = [
            key for key in self._deltas if key[:2] == (search_id, peer) and (not before_epoch or key[2] < before_epoch)
        ]
        for key in gone:
            del self._deltas[key]
        return len(gone)

    async def put_lease(self, lease: LeaseRecord, *, news: News | None = None) -> None:
        self._open()
        self._leases[lease.id] = pack(lease)
        self._feed.tell(news)

    async def lease(self, lease_id: str) -> LeaseRecord | None:
        self._open()
        body = self._leases.get(lease_id)
        return None if body is None else unpack(body, LeaseRecord)

    async def leases(self, search_id: str, *, status: str = "") -> list[LeaseRecord]:
        self._open()
        found = [unpack(body, LeaseRecord) for body in self._leases.values()]
        return [lease for lease in found if lease.search == search_id and status in ("", lease.status)]

    # --- agents ---

    async def add_agent(self, agent: AgentRecord) -> bool:
        self._open()
        body = pack(agent)
        if agent.name in self._agents or await self.agent(agent.token_hash) is not None:
            return False
        self._agents[agent.name] = body
        return True

    async def agents(self) -> list[AgentRecord]:
        self._open()
        return [unpack(body, AgentRecord) for _, body in sorted(self._agents.items())]

    async def agent(self, token_hash: bytes) -> AgentRecord | None:
        return next((agent for agent in await self.agents() if agent.token_hash == token_hash), None)

    async def count_agent_call(self, token_hash: bytes) -> AgentRecord:
        counted = records.with_call(await self.agent(token_hash))
        self._agents[counted.name] = pack(counted)
        return counted

    async def charge_agent(self, token_hash: bytes, browser_ms: int) -> int:
        before = await self.agent(token_hash)
        charged = records.with_browser_ms(before, browser_ms)
        self._agents[charged.name] = pack(charged)
        return charged.browser_ms - (before.browser_ms if before else 0)

    async def remove_agent(self, name: str) -> bool:
        self._open()
        return self._agents.pop(name, None) is not None

    # --- schedules ---

    async def keep_schedule(self, record: ScheduleRecord, *, was: int, runs: Sequence[RunRecord] = ()) -> bool:
        self._open()
        body, packed = pack(record), {(run.schedule, integer(run.due_ms)): pack(run) for run in runs}
        before = await self.schedule(record.id)
        if (before.version if before else 0) != was or packed.keys() & self._runs.keys():
            return False
        self._schedules[record.id] = body
        self._runs |= packed
        for old in (await self.runs_of(record.id, limit=len(self._runs)))[limits.SCHEDULE_RUNS_MAX :]:
            if old.status is not RunStatus.RUNNING:
                del self._runs[old.schedule, old.due_ms]
        return True

    async def schedules(self) -> list[ScheduleRecord]:
        self._open()
        return [unpack(body, ScheduleRecord) for body in self._schedules.values()]

    async def schedule(self, schedule_id: str) -> ScheduleRecord | None:
        self._open()
        body = self._schedules.get(schedule_id)
        return None if body is None else unpack(body, ScheduleRecord)

    async def remove_schedule(self, schedule_id: str) -> bool:
        self._open()
        self._runs = {key: body for key, body in self._runs.items() if key[0] != schedule_id}
        return self._schedules.pop(schedule_id, None) is not None

    async def keep_run(self, run: RunRecord, *, was: int) -> bool:
        self._open()
        body, key = pack(run), (run.schedule, run.due_ms)
        if key not in self._runs or unpack(self._runs[key], RunRecord).version != was:
            return False
        self._runs[key] = body
        return True

    async def runs_of(self, schedule_id: str, *, limit: int) -> list[RunRecord]:
        self._open()
        found = [unpack(body, RunRecord) for key, body in sorted(self._runs.items()) if key[0] == schedule_id]
        return found[::-1][: records.check_limit(limit)]

    async def running_runs(self) -> list[RunRecord]:
        self._open()
        found = [unpack(body, RunRecord) for _, body in sorted(self._runs.items())]
        return [run for run in found if run.status is RunStatus.RUNNING]

    # --- witness log ---

    async def append_log(
        self,
        log: LogRecord,
        leaves: Sequence[LeafRecord],
        subtrees: Mapping[Subtree, bytes],
        *,
        artefacts: Sequence[ArtefactRecord] = (),
    ) -> None:
        self._open()
        records.check_leaves(log, leaves, len(self._leaves.get(integer(log.number), ())))
        self._keep({each.digest: _packed_artefact(each) for each in artefacts}, artefacts)
        self._logs[log.number] = pack(log)
        self._leaves.setdefault(log.number, []).extend(leaves)
        self._subtrees |= {(log.number, *place): digest for place, digest in subtrees.items()}

    async def logs(self) -> list[LogRecord]:
        self._open()
        return [unpack(body, LogRecord) for _, body in sorted(self._logs.items())]

    async def leaves_of(self, kinds: Sequence[str]) -> list[LeafRecord]:
        self._open()
        return [leaf for _, leaves in sorted(self._leaves.items()) for leaf in leaves if leaf.kind in kinds]

    async def log_subtrees(self, log: int, places: Sequence[Subtree]) -> list[bytes]:
        self._open()
        for place in places:
            if (log, *place) not in self._subtrees:
                raise records.no_subtree(log, place)
        return [self._subtrees[log, *place] for place in places]

    async def log_leaf(self, digest: bytes) -> LeafRecord | None:
        self._open()
        newest_first = (leaf for _, leaves in sorted(self._leaves.items(), reverse=True) for leaf in leaves)
        return next((leaf for leaf in newest_first if leaf.digest == digest), None)

    async def log_leaves(self, log: int, *, first: int = 0, limit: int = 1_000) -> list[LeafRecord]:
        self._open()
        return self._leaves.get(log, [])[integer(first) : first + records.check_limit(limit)]

    # --- audit trail ---

    async def append_audit(self, draft: AuditDraft) -> AuditLine:
        self._open()
        line, head = audit.chain(draft, await self.audit_head())
        made = stored(line, draft, head.number, head.digest)
        self._audit.append(made)
        return made

    async def audit_head(self) -> Head:
        self._open()
        return Head(self._audit[-1].number, self._audit[-1].digest) if self._audit else START

    async def audit_lines(self, *, after: int = 0, limit: int = 1_000) -> list[AuditLine]:
        self._open()
        return [row for row in self._audit if row.number > integer(after)][: records.check_limit(limit)]

    async def audit_find(self, query: AuditQuery) -> list[AuditLine]:
        self._open()
        found = [row for row in self._audit if query.fits(row)]
        return found[max(0, len(found) - records.check_limit(query.limit)) :]

    # --- feed ---

    async def append_feed(self, news: News) -> FeedChange:
        self._open()
        return self._feed.append(news)

    async def feed(self, *, after: int | None = None, limit: int = 100, kind: str = "") -> FeedPage:
        self._open()
        return self._feed.page(after, records.check_limit(limit), kind)

    async def copy_to(self, directory: Path) -> None:
        self._open()
        kept = {name: value for name, value in vars(self).items() if name not in ("_feed", "_closed", "_fresh")}
        (directory / "store.pickle").write_bytes(pickle.dumps(kept))

    @classmethod
    def opened(cls, directory: Path) -> MemoryStore:
        """The copy in ``directory``."""
        made = cls()
        vars(made).update(pickle.loads((directory / "store.pickle").read_bytes()))
        return made

    async def usage(self) -> dict[str, int]:
        self._open()
        sums = [(peer, len(envelope)) for (_, peer, _, _), envelope in self._deltas.items()]
        sums += [(row.who, ROW_BYTES) for row in self._audit]
        searches = [(unpack(body, SearchRecord), len(body)) for body in self._searches.values()]
        leases: Counter[str] = Counter()
        for body in self._leases.values():
            leases[unpack(body, LeaseRecord).search] += len(body)
        return added_up(sums, searches, leases)

    # --- blobs, whole store ---

    async def put_blob(self, data: bytes) -> bytes:
        self._open()
        digest = hashlib.sha256(data).digest()
        self._blobs[digest] = bytes(data)
        self._fresh[digest] += 1
        return digest

    async def blob(self, digest: bytes) -> bytes:
        self._open()
        if digest not in self._blobs:
            raise MeshError("blob.missing", f"no blob {digest.hex()[:16]}…", digest=digest.hex())
        return self._blobs[digest]

    async def check(self) -> list[str]:
        self._open()
        faults = []
        for session_id in sorted(self._steps):
            for step in await self.steps(session_id):
                faults += [
                    records.missing_blob(session_id, step.index, digest)
                    for digest in (step.snapshot, step.screenshot)
                    if digest and digest not in self._blobs
                ]
        faults += [records.missing_manifest(*row) for row in self._signed() if row[1] not in self._blobs]
        return faults

    async def close(self) -> None:
        self._closed = True

    def _open(self) -> None:
        if self._closed:
            raise records.closed()

    def _keep(self, packed: dict[bytes, bytes], order: Sequence[ArtefactRecord]) -> None:
        for artefact in order:
            self._artefacts.setdefault(artefact.digest, packed[artefact.digest])


def _packed(session: Session) -> bytes:
    integer(session.created_ms)
    return pack(session)


def _packed_artefact(artefact: ArtefactRecord) -> bytes:
    integer(artefact.issued_s)
    return pack(artefact)


def _text(key: str) -> str:
    try:
        key.encode()
    except UnicodeEncodeError as error:
        raise MeshError("input.invalid", "a number or a text is outside the range that can be stored") from error
    return key
