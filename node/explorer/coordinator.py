"""Runs one search: deals leases, keeps them alive, takes them back, and believes a claim only after its own replay."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import msgspec

from adapters.ports import Clock, LeaseRecord, SearchRecord, Store
from node.config import Config
from node.explorer.replica import Replica
from node.witness import Witness
from node.peers import Peers
from protocol import cbor, ids
from protocol.errors import MeshError
from protocol.lease import Event, Lease, LeaseBook
from protocol.messages import (
    KIND_ASSIGNMENT,
    Assignment,
    BranchAssign,
    BranchLimits,
    BranchRenew,
    BranchRenewed,
    BranchResult,
    BranchRevoke,
    Done,
    SearchClose,
    SearchOpen,
    SearchSpec,
    Spend,
)

log = logging.getLogger(__name__)

_TICK_S = 0.25
_PEER_PAUSE_S = 3.0
_PROGRESS_EVERY_TICKS = 8
_CLAIMS_FALSE_MAX = 3
"""After so many claims that did not replay, a peer gets no more branches of this search."""

VerifyClaim = Callable[["tuple[bytes, ...]", str], Awaitable["Verified | None"]]
"""Replays a claimed path in a fresh context and records it; None when it did not hold."""
WorkLocally = Callable[[Assignment], Awaitable[BranchResult]]
Tell = Callable[[dict[str, Any]], None]


class Verified(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A success this node has seen itself."""

    session: str
    path: tuple[bytes, ...]
    claimed_by: str


class Progress(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What the coordinator keeps of its search besides tree and leases; stored with every change."""

    used_ms: int = 0
    branches: int = 0
    """Leases granted."""
    reassigned: int = 0
    """Leases that expired or failed and whose branch was open again."""
    claims: int = 0
    claims_false: dict[str, int] = msgspec.field(default_factory=dict)
    spend: dict[str, Spend] = msgspec.field(default_factory=dict)
    """What each node says its leases have cost, by node id."""
    verified: Verified | None = None
    error: str = ""


class Coordinator:
    """One running search on the node that owns it."""

    def __init__(
        self,
        record: SearchRecord,
        spec: SearchSpec,
        replica: Replica,
        *,
        witness: Witness,
        peers: Peers,
        store: Store,
        clock: Clock,
        config: Config,
        verify_claim: VerifyClaim,
        work_locally: WorkLocally,
        tell: Tell,
    ) -> None:
        self.record = record
        self.spec = spec
        self.replica = replica
        self.progress = cbor.decode_as(record.state, Progress) if record.state else Progress()
        self._witness = witness
        self._peers = peers
        self._store = store
        self._clock = clock
        self._config = config
        self._verify_claim = verify_claim
        self._work_locally = work_locally
        self._tell = tell
        self._book = LeaseBook()
        self._results: set[str] = set()
        """Leases whose signed result has come."""
        self._opened: set[str] = set()
        self._paused_until_ms: dict[str, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._verifying = asyncio.Lock()
        self._wake = asyncio.Event()
        self._finished = False

    # --- life --------------------------------------------------------------------------------------------------------

    async def run(self) -> SearchRecord:
        """Search until a verified success, the time limit, or nothing is left to try. Cancelling stops it resumably."""
        await self._recall_leases()
        last_ms = self._clock.now_ms()
        ticks = 0
        try:
            while not self._finished:
                now_ms = self._clock.now_ms()
                self.progress.used_ms += max(0, now_ms - last_ms)
                last_ms = now_ms
                if self.progress.used_ms >= self.spec.seconds * 1000:
                    break
                await self._expire(now_ms)
                await self._deal(now_ms)
                if not self._book.live_by_branch() and not self._verifying.locked() and not self._anything_left():
                    break
                if ticks % _PROGRESS_EVERY_TICKS == 0:
                    self._tell(self.snapshot())
                    await self._save("running")
                ticks += 1
                await self._pause()
            return await self._finish()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(_TICK_S):
                await self._wake.wait()
        except TimeoutError:
            pass
        self._wake.clear()

    async def _recall_leases(self) -> None:
        """After a restart peers may still be at work; this node's own work is gone."""
        now_ms = self._clock.now_ms()
        for record in await self._store.leases(self.spec.id, status="live"):
            self._book.grant(
                record.id,
                branch=record.branch,
                worker=record.worker,
                now_ms=now_ms,
                lifetime_ms=max(0, record.expires_ms - now_ms),
            )
            if record.worker == self._witness.node:
                self.progress.reassigned += 1
                await self._end(record.id, Event.EXPIRE)

    async def _finish(self) -> SearchRecord:
        verified = self.progress.verified
        if verified is None and not self.progress.error:
            self.progress.error = "search.not_found_goal"
        for lease in self._book.live_by_branch().values():
            await self._end(lease.id, Event.REVOKE)
        await self.replica.flush()
        await self._save("done" if verified else "failed")
        self._tell(self.snapshot())
        await asyncio.gather(*(self._close_at(peer) for peer in self._opened), return_exceptions=True)
        return self.record

    async def _close_at(self, peer: str) -> None:
        try:
            await self._peers.call(peer, "search/close", SearchClose(search=self.spec.id), Done)
        except MeshError as error:
            log.info("%s was not told of the end: %s", ids.short(peer), error)

    async def _save(self, status: str) -> None:
        self.record = msgspec.structs.replace(
            self.record, status=status, updated_ms=self._clock.now_ms(), state=cbor.encode(self.progress)
        )
        await self._store.put_search(self.record)

    def snapshot(self) -> dict[str, Any]:
        """Where the search stands, for people."""
        return {
            "search": self.spec.id,
            "seconds": self.progress.used_ms // 1000,
            "of_seconds": self.spec.seconds,
            "branches": self.progress.branches,
            "live_leases": len(self._book.live_by_branch()),
            "nodes": len(self.replica.tree),
            "visits": {peer: self.replica.tree.spend(peer).visits for peer in self.replica.tree.peers},
            "claims": self.progress.claims,
            "verified": self.progress.verified is not None,
        }

    # --- dealing -----------------------------------------------------------------------------------------------------

    def _workers(self) -> list[str]:
        remote = [node for node in self.spec.participants if node != self._witness.node]
        return [*remote, *[self._witness.node] * self._config.explore.workers]

    async def _deal(self, now_ms: int) -> None:
        """Give every idle worker a branch."""
        if self._verifying.locked():
            return  # a claim is being checked: it may be over in a moment
        busy = [lease.worker for lease in self._book.live_by_branch().values()]
        for worker in self._workers():
            if worker in busy:
                busy.remove(worker)
                continue
            if self._paused_until_ms.get(worker, 0) > now_ms:
                continue
            if self.progress.claims_false.get(worker, 0) >= _CLAIMS_FALSE_MAX:
                continue
            branch = self._next_branch()
            if branch is None:
                return
            await self._grant(worker, branch, now_ms)

    def _next_branch(self) -> bytes | None:
        """The branch to lease next: first the children of the start page by prior, then what UCT finds most promising.

        Leases count as losses in the scores, so workers spread over the tree.
        """
        leased = self._book.live_by_branch()
        first_half = self.progress.used_ms * 2 < self.spec.seconds * 1000
        if first_half:
            for child in self.replica.choosable(self.replica.root):
                if child not in leased and not self.replica.visits(child):
                    return child
        way = self.replica.descend(self.replica.root)
        for depth in range(min(2, len(way)), 0, -1):
            if way[depth - 1] not in leased:
                return way[depth - 1]
        if not way and not self.replica.expanded(self.replica.root) and self.replica.root not in leased:
            return self.replica.root
        return next((key for key in way if key not in leased), None)

    def _anything_left(self) -> bool:
        return not self.replica.expanded(self.replica.root) or bool(self.replica.descend(self.replica.root))

    async def _grant(self, worker: str, branch: bytes, now_ms: int) -> None:
        explore = self._config.explore
        lifetime_ms = explore.lease_seconds * 1000
        lease = self._book.grant(
            ids.make_id("lea", self._clock.random(ids.ID_RANDOM_BYTES)),
            branch=branch,
            worker=worker,
            now_ms=now_ms,
            lifetime_ms=lifetime_ms,
        )
        assignment = Assignment(
            search=self.spec.id,
            lease=lease.id,
            branch=branch,
            prefix=tuple(self.replica.action(step.key) for step in self.replica.steps_to(branch)),
            prefix_state=self.replica.state(branch),
            limits=BranchLimits(
                iterations=explore.lease_iterations, steps=explore.lease_iterations * 16, milliseconds=lifetime_ms * 3
            ),
            expires_ms=lease.expires_ms,
        )
        signed = await self._witness.artefact(KIND_ASSIGNMENT, lease.id, assignment)
        record = LeaseRecord(
            id=lease.id,
            search=self.spec.id,
            branch=branch,
            worker=worker,
            status="live",
            expires_ms=lease.expires_ms,
            assignment=signed.envelope,
        )
        await self._store.put_lease(record)
        self.progress.branches += 1
        self.replica.note_lease(branch, lease.entry())
        await self.replica.flush()
        work = self._assign(record) if worker != self._witness.node else self._work(lease, assignment)
        self._start(work, f"lease {lease.id}")

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _assign(self, lease: LeaseRecord) -> None:
        """Hand a lease to a peer; a peer that cannot take it gets a pause, and its branch is open again."""
        try:
            if lease.worker not in self._opened:
                await self._peers.call(lease.worker, "search/open", SearchOpen(spec=self.record.spec), Done)
                self._opened.add(lease.worker)
            await self._peers.call(lease.worker, "branch/assign", BranchAssign(assignment=lease.assignment), Done)
        except MeshError as error:
            log.info("%s took no branch: %s", ids.short(lease.worker), error)
            self._opened.discard(lease.worker)
            self._paused_until_ms[lease.worker] = self._clock.now_ms() + int(_PEER_PAUSE_S * 1000)
            self._tell({"peer": lease.worker, "error": error.code})
            await self._end(lease.id, Event.EXPIRE)

    async def _work(self, lease: Lease, assignment: Assignment) -> None:
        """Work on a lease in this node's own browser."""
        try:
            result = await self._work_locally(assignment)
        except MeshError as error:
            log.warning("own branch failed: %s", error)
            self._paused_until_ms[lease.worker] = self._clock.now_ms() + int(_PEER_PAUSE_S * 1000)
            await self._end(lease.id, Event.EXPIRE)
            if error.code in ("browser.missing", "browser.launch", "browser.unreachable"):
                self._tell({"peer": lease.worker, "error": error.code})
            return
        await self.take_result(lease.worker, result, b"")

    # --- leases ------------------------------------------------------------------------------------------------------

    async def _expire(self, now_ms: int) -> None:
        """Take back the leases of peers that fell silent. Own work does not expire: it ends by itself."""
        for lease in self._book.live_by_branch().values():
            if lease.expires_ms <= now_ms and lease.worker != self._witness.node:
                self.progress.reassigned += 1
                self._tell({"peer": lease.worker, "lease_expired": lease.id})
                self._opened.discard(lease.worker)
                self._paused_until_ms[lease.worker] = now_ms + int(_PEER_PAUSE_S * 1000)
                await self._end(lease.id, Event.EXPIRE)

    async def _end(self, lease_id: str, event: Event, result: bytes = b"") -> None:
        """Close a live lease, in the book, in the store and in the tree."""
        if not self._book.get(lease_id).live:
            return
        lease = self._book.close(lease_id, event)
        record = await self._store.lease(lease_id)
        if record is not None:
            await self._store.put_lease(msgspec.structs.replace(record, status=lease.state.value, result=result))
        self.replica.note_lease(lease.branch, lease.entry())
        if event is Event.REVOKE and lease.worker != self._witness.node:
            try:
                await self._peers.call(lease.worker, "branch/revoke", BranchRevoke(search=self.spec.id, lease=lease.id), Done)
            except MeshError as error:
                log.info("%s was not told to stop: %s", ids.short(lease.worker), error)
        self._wake.set()

    async def renew(self, worker: str, ask: BranchRenew) -> BranchRenewed:
        """A worker says it is still at work."""
        lifetime_ms = self._config.explore.lease_seconds * 1000
        if self._finished:
            return BranchRenewed(live=False)
        try:
            lease = self._book.renew(ask.lease, worker=worker, now_ms=self._clock.now_ms(), lifetime_ms=lifetime_ms)
        except MeshError:
            return BranchRenewed(live=False)
        record = await self._store.lease(lease.id)
        if record is not None:
            await self._store.put_lease(msgspec.structs.replace(record, expires_ms=lease.expires_ms))
        return BranchRenewed(live=True, expires_ms=lease.expires_ms)

    async def take_result(self, worker: str, result: BranchResult, sealed: bytes) -> None:
        """End the lease; check the claim, if there is one. A late or repeated result ends nothing and harms nothing.

        A claim counts even when its lease has expired: it is checked by replay anyway. Errors: ``lease.unknown``.
        """
        record = await self._store.lease(result.lease)
        if record is None or (record.worker, record.search, record.branch) != (worker, self.spec.id, result.branch):
            raise MeshError("lease.unknown", f"lease {result.lease} is not {ids.short(worker)}'s", lease=result.lease)
        if record.result or result.lease in self._results:
            return
        self._results.add(result.lease)
        self.progress.spend[worker] = _plus(self.progress.spend.get(worker, Spend()), result.spend)
        if record.status == "live":
            await self._end(result.lease, Event.RESULT, sealed)
        else:
            await self._store.put_lease(msgspec.structs.replace(record, result=sealed))
        if result.outcome == "failed":
            self._paused_until_ms[worker] = self._clock.now_ms() + int(_PEER_PAUSE_S * 1000)
        if result.outcome == "claim":
            self.progress.claims += 1
            self._start(self._check_claim(worker, result), f"claim {result.lease}")

    async def _check_claim(self, worker: str, result: BranchResult) -> None:
        async with self._verifying:
            if self._finished:
                return
            self._tell({"claim": len(result.claim), "peer": worker})
            try:
                verified = await self._verify_claim(result.claim, worker)
            except MeshError as error:
                log.warning("claim of %s could not be replayed: %s", ids.short(worker), error)
                verified = None
            if verified is None:
                self.progress.claims_false[worker] = self.progress.claims_false.get(worker, 0) + 1
                self._tell({"claim_refused": len(result.claim), "peer": worker})
            else:
                self.progress.verified = verified
                self._finished = True
            self._wake.set()



def _plus(one: Spend, other: Spend) -> Spend:
    return Spend(
        iterations=one.iterations + other.iterations,
        steps=one.steps + other.steps,
        milliseconds=one.milliseconds + other.milliseconds,
    )
