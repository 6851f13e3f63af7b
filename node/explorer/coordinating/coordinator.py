"""Runs one search: grants, renews and ends leases, until the first claim of success is verified or a limit is reached."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from adapters.ports.clock import Clock
from adapters.ports.records import LeaseRecord, SearchRecord
from adapters.ports.store import SearchStore
from node.base.tasks import Tasks, either
from node.config import Config
from node.explorer.coordinating.claims import Claims, VerifyClaim
from node.explorer.coordinating.dealing import Dealing
from node.explorer.coordinating.diligence import Diligence
from node.explorer.coordinating.lease_desk import LeaseDesk
from node.explorer.kept import put_search
from node.explorer.progress import Progress
from node.explorer.sharing.log_proofs import LogProofs
from node.explorer.sharing.replica import Replica
from node.live.acting import is_paused
from node.signing import Witness
from node.trust import Calls
from node.verbs import Tell
from protocol import ids
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.messages import (
    KIND_RESULT,
    Assignment,
    BranchRenew,
    BranchRenewed,
    BranchResult,
    BranchRevoke,
    Done,
    SearchClose,
    SearchSpec,
    Spend,
)
from protocol.search.entry import SCALE
from protocol.search.lease import Event, Lease, check_spend
from protocol.search.share import BEST
from protocol.wire import cbor, envelope

log = logging.getLogger(__name__)

_TICK_S = 0.25
_PROGRESS_EVERY_TICKS = 8
_GOODBYE_S = 5.0
"""How long to wait while peers are told that a search has ended."""

AfterIteration = Callable[[Spend], Awaitable[bool]]
WorkLocally = Callable[[Assignment, AfterIteration], Awaitable[BranchResult]]


class Coordinator:
    """One running search on the node that owns it."""

    def __init__(
        self,
        record: SearchRecord,
        spec: SearchSpec,
        replica: Replica,
        *,
        witness: Witness,
        calls: Calls,
        store: SearchStore,
        clock: Clock,
        config: Config,
        verify_claim: VerifyClaim,
        work_locally: WorkLocally,
        proofs: LogProofs,
        tell: Tell,
    ) -> None:
        self.record = record
        self.spec = spec
        self.replica = replica
        self.progress = (
            cbor.decode_as(record.state, Progress) if record.state else Progress(limit_ms=spec.seconds * 1000)
        )
        replica.would_send = list(self.progress.would_send)
        self._witness = witness
        self._calls, self._peers = calls, calls.peers
        self._store = store
        self._clock = clock
        self._config = config
        self._work_locally = work_locally
        self._proofs = proofs
        self._tell = tell
        self._desk = LeaseDesk(replica, store, clock, caller=record.caller)
        self._diligence = Diligence(self.progress, replica)
        self._claims = Claims(self.progress, clock, verify_claim, tell, witness.node, witness.feed)
        self._results: set[str] = set()
        """Leases whose signed result has arrived."""
        self._tasks = Tasks()
        self._wake = asyncio.Event()
        self._dealing = Dealing(
            record.spec,
            replica,
            progress=self.progress,
            desk=self._desk,
            claims=self._claims,
            diligence=self._diligence,
            witness=witness,
            calls=calls,
            clock=clock,
            config=config,
            tasks=self._tasks,
            wake=self._wake,
            tell=tell,
            work=self._work,
        )
        self._ready = asyncio.Event()
        """Set once the leases of an earlier process are loaded. Before that, messages of peers about them cannot be judged."""
        self._finished = False
        self._unsaved = False
        """True if the count of empty leases has changed since it was stored."""
        self._exhausted = False
        """The tree was exhausted before the time limit."""

    # --- life --------------------------------------------------------------------------------------------------------

    async def run(self) -> SearchRecord:
        """Search until a verified success, the time limit, or nothing is left to try. A cancelled search can be resumed."""
        try:
            await self._recall()
            self._ready.set()
            await self._search()
            return await self._finish()
        finally:
            self._finished = True
            self._ready.set()
            await self._tasks.close()

    async def _search(self) -> None:
        last_ms = self._clock.now_ms()
        ticks = 0
        while not self._finished:
            now_ms = self._clock.now_ms()
            # Summed up: only time in which the search runs counts, not that in which it waits for a person. And the clock
            # may have been set back.
            self.progress.used_ms += 0 if is_paused() else max(0, now_ms - last_ms)
            last_ms = now_ms
            if self.progress.used_ms >= self.progress.limit_ms:
                return
            if self._unsaved:
                self._unsaved = False
                await self._save("running")
            await self._expire()
            await self._dealing.deal(now_ms)
            if not (self._desk.live() or self._claims.open or self._claims.postponed or self._dealing.anything_left()):
                self._exhausted = True
                return
            if ticks % _PROGRESS_EVERY_TICKS == 0:
                self._tell(self.snapshot())
                await self._save("running")
            ticks += 1
            await either(self._wake, self._clock.sleep(_TICK_S))

    def wake(self) -> None:
        """Signal that a new branch may be ready to lease."""
        self._wake.set()

    async def _recall(self) -> None:
        """Restore state after a restart: peers may still be working, this node's own work was lost, and claims may wait for
        replay."""
        await self._desk.recall()
        for lease in self._desk.live_of(self._witness.node):
            self.progress.reassigned += 1
            await self._end(lease.id, Event.EXPIRE)
        for record in await self._store.leases(self.spec.id):
            if record.result:
                result = cbor.decode_as(envelope.peek(record.result).payload, BranchResult)
                if result.outcome == "claim":
                    self._claims.open += 1
                    self._tasks.start(self._judge(record.worker, result), f"claim {record.id}")

    async def _finish(self) -> SearchRecord:
        # First, so that no running task changes the final state that is sent and stored.
        await self._tasks.close()
        verified = self.progress.verified
        if verified is None and not self.progress.error:
            self.progress.error = "search.exhausted" if self._exhausted else "search.not_found_goal"
        for lease in self._desk.live():
            await self._end(lease.id, Event.REVOKE)
        await self.replica.flush()
        await self._save("done" if verified else "failed")
        self._tell(self.snapshot())
        end = SearchClose(search=self.spec.id)
        # To all peers: one may have opened the search although its answer was lost.
        await asyncio.gather(*(self._say(peer, "search/close", end) for peer in self._dealing.others()))
        return self.record

    async def dismiss(self) -> None:
        """Revoke all leases of peers, after ``run`` was cancelled for good."""
        await self._revoke(self._desk.live())

    async def drop(self, worker: str) -> list[str]:
        """Revoke all leases of ``worker``; returns their ids."""
        leases = [lease for lease in self._desk.live() if lease.worker == worker]
        await self._revoke(leases)
        return [lease.id for lease in leases]

    async def _revoke(self, leases: list[Lease]) -> None:
        for lease in leases:
            await self._end(lease.id, Event.REVOKE)
        await self.replica.flush()
        remote = [lease for lease in leases if lease.worker != self._witness.node]
        words = [(lease.worker, BranchRevoke(search=self.spec.id, lease=lease.id)) for lease in remote]
        await asyncio.gather(*(self._say(peer, "branch/revoke", word) for peer, word in words))

    async def _say(self, peer: str, route: str, record: msgspec.Struct) -> None:
        """Send a peer a message that is only a hint. Does not wait for a peer that does not answer."""
        try:
            async with asyncio.timeout(_GOODBYE_S):
                await self._calls.call(peer, route, record, Done)
        except (MeshError, TimeoutError) as error:
            log.info("%s was not told %s: %s", ids.short(peer), route, error)

    async def _save(self, status: str) -> None:
        self.progress.login_at = self.progress.login_at or self.replica.login_at
        self.progress.would_send = list(self.replica.would_send)
        self.record = msgspec.structs.replace(
            self.record, status=status, updated_ms=self._clock.now_ms(), state=cbor.encode(self.progress)
        )
        if status == "running":
            await self._store.put_search(self.record)
        else:
            await put_search(self._store, self._witness.feed, self.record, FeedKind.SEARCH_ENDED)

    def snapshot(self) -> dict[str, Any]:
        """The progress of the search, for display; ``best``: the value of the most promising page, 0 to 1."""
        tree = self.replica.tree
        return {
            "search": self.spec.id,
            "seconds": self.progress.used_ms // 1000,
            "of_seconds": self.progress.limit_ms // 1000,
            "branches": self.progress.branches,
            "live_leases": len(self._desk.live()),
            "nodes": len(tree),
            "visits": {peer: tree.effort(peer).visits for peer in tree.peers},
            "best": int(tree.totals[tree.root, BEST]) / SCALE,
            "claims": self.progress.claims,
            "verified": self.progress.verified is not None,
        }

    # --- leases ------------------------------------------------------------------------------------------------------

    async def _work(self, lease: Lease, assignment: Assignment) -> None:
        """Work on a lease in this node's own browser. After any error the branch can be leased again."""

        async def after_iteration(spend: Spend) -> bool:
            self._desk.note_spend(lease.id, spend)
            return True

        try:
            result = await self._work_locally(assignment, after_iteration)
            signed = await self._witness.artefact(KIND_RESULT, lease.id, result)
        except Exception as error:
            self._dealing.rest(lease.worker)
            await self._end(lease.id, Event.EXPIRE)
            if not isinstance(error, MeshError):
                raise
            log.warning("own branch failed: %s", error)
            self._tell({"peer": lease.worker, "error": error.code})
            return
        await self.take_result(lease.worker, result, signed.envelope)

    async def _expire(self) -> None:
        """End the expired leases of peers. Own work does not expire, because it always ends by itself."""
        for lease in await self._desk.expire_due(but=self._witness.node):
            self.progress.reassigned += 1
            self._tell({"peer": lease.worker, "lease_expired": lease.id})
            self._dealing.fell_silent(lease.worker)

    async def _end(self, lease_id: str, event: Event) -> None:
        await self._desk.end(lease_id, event)
        self._wake.set()

    async def dismiss_peer(self, peer: str) -> None:
        """Revoke the leases of ``peer``, which was expelled from the search. Errors: ``store.*``."""
        for lease in self._desk.live_of(peer):
            await self._end(lease.id, Event.REVOKE)

    async def renew(self, worker: str, ask: BranchRenew) -> BranchRenewed:
        """Renew a lease for its worker, which reports its cost so far. Errors: ``lease.spend``; the reason, if ``worker`` was
        expelled."""
        await self._ready.wait()
        self.replica.check_welcome(worker)
        if self._finished:
            return BranchRenewed(live=False)
        record = await self._store.lease(ask.lease)
        if record is not None and record.worker == worker:
            self._check_spend(record, ask.spend)
        lifetime_ms = self._config.explore.lease_seconds * 1000
        try:
            lease = await self._desk.renew(ask.lease, worker, lifetime_ms, ask.spend)
        except MeshError:
            return BranchRenewed(live=False)
        return BranchRenewed(live=True, expires_ms=lease.expires_ms)

    def _check_spend(self, lease: LeaseRecord, spend: Spend) -> None:
        """Check the reported ``spend`` of a lease. Errors: ``lease.spend``."""
        if lease.worker == self._witness.node:
            return
        sealed = envelope.peek(lease.assignment)
        passed_ms = self._clock.now_ms() - sealed.header.issued_s * 1000
        check_spend(cbor.decode_as(sealed.payload, Assignment).limits, spend, passed_ms=passed_ms)

    async def take_result(self, worker: str, result: BranchResult, sealed: bytes) -> None:
        """End the lease; check the claim, if there is one. A late or repeated result has no effect.

        A claim counts even if its lease has expired, because it is checked by replay. One that is impossible within its lease
        is refused and counts as false. For every claim, and for a sample of other results, the worker must first prove
        inclusion in its log. Errors: ``lease.unknown``, ``lease.spend``, ``claim.invalid``, ``log.not_logged``,
        ``log.unproven``; the reason, if ``worker`` was expelled.
        """
        await self._ready.wait()
        self.replica.check_welcome(worker)
        record = await self._store.lease(result.lease)
        if record is None or (record.worker, record.search, record.branch) != (worker, self.spec.id, result.branch):
            raise MeshError("lease.unknown", f"lease {result.lease} is not {ids.short(worker)}'s", lease=result.lease)
        if self._has_come(record, result.lease):
            return
        if worker != self._witness.node:
            signed = (worker, self.spec.id, KIND_RESULT)
            if result.outcome == "claim" or self._proofs.is_due(*signed):
                await self._proofs.check(*signed, sealed)
            # During the wait for the proof the search may have ended, the result arrived again, or its worker been expelled.
            record = await self._store.lease(result.lease)
            if record is None or self._finished or self._has_come(record, result.lease):
                return
            self.replica.check_welcome(worker)
        self._results.add(result.lease)
        try:
            self._check_spend(record, result.spend)
            await self._claims.check(
                worker, cbor.decode_as(envelope.peek(record.assignment).payload, Assignment), result
            )
        except MeshError as error:
            # A spend that was refused as false is not added to the worker's total.
            spend = None if error.code == "lease.spend" else result.spend
            await self._desk.end(result.lease, Event.REVOKE, spend=spend)
            self._count(worker)
            self._wake.set()
            raise
        is_claim = result.outcome == "claim"
        # Counted before the first await: the search must not end with its last lease while a claim is unjudged.
        self._claims.open += is_claim
        try:
            await self._desk.end(result.lease, Event.RESULT, sealed, result.spend)
        except BaseException:
            self._claims.open -= is_claim
            self._results.discard(result.lease)
            raise
        if result.outcome == "failed":
            self._dealing.failed(worker, result.error)
        if not is_claim:
            self._count(worker)
        self._wake.set()
        if is_claim:
            self.progress.claims += 1
            self._tasks.start(self._judge(worker, result), f"claim {result.lease}")

    def _has_come(self, record: LeaseRecord, lease_id: str) -> bool:
        return bool(record.result) or lease_id in self._results or lease_id in self.progress.claims_checked

    def _count(self, worker: str) -> None:
        """Note if the lease that ``worker`` has just ended brought a delta; this is stored before another lease is granted."""
        if worker == self._witness.node:
            return
        pause_s = self._diligence.returned(worker)
        if pause_s:
            log.info("%s returned another branch without a delta", ids.short(worker))
            self._dealing.rest(worker, max(pause_s, self._dealing.rests_s(worker)))
        self._unsaved = True

    async def _judge(self, worker: str, result: BranchResult) -> None:
        try:
            while worker not in self.replica.expelled:
                try:
                    verified = await self._claims.judge(worker, result)
                except MeshError:
                    await self._claims.postpone()
                    continue
                # Its worker was expelled meanwhile, so its claim must not end the search.
                if worker in self.replica.expelled:
                    return
                if verified is not None:
                    self.progress.verified = verified
                    self._finished = True
                    await self._witness.feed.tell(FeedKind.CLAIM_VERIFIED, result.lease, result.search, worker)
                    return
                with contextlib.suppress(MeshError):  # the next tick saves it again
                    await self._save("running")
                return
        finally:
            self._claims.open -= 1
            self._wake.set()
