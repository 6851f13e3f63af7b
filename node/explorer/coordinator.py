"""Runs one search: deals leases, keeps them alive, takes them back, and believes a claim only after its own replay."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from adapters.ports import Clock, LeaseRecord, SearchRecord, Store
from node.config import Config
from node.explorer.lease_desk import LeaseDesk
from node.explorer.progress import Progress, Verified
from node.explorer.replica import Replica
from node.explorer.worker import BROWSER_GONE
from node.peers import Peers
from node.tasks import Tasks
from node.witness import Witness
from protocol import cbor, envelope, ids
from protocol.errors import MeshError
from protocol.grants import Scope
from protocol.lease import Event, Lease
from protocol.messages import (
    KIND_ASSIGNMENT,
    KIND_RESULT,
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
)

log = logging.getLogger(__name__)

_TICK_S = 0.25
_PEER_PAUSE_S = 3.0
_PROGRESS_EVERY_TICKS = 8
_GOODBYE_S = 5.0
"""How long a peer may take to hear that a search has ended."""
_CLAIMS_FALSE_MAX = 3
"""After so many claims that did not replay, a peer gets no more branches of this search."""
_CHECK_TRIES = 3
"""How often a claim is replayed when it is this node's own browser that fails."""

VerifyClaim = Callable[[tuple[bytes, ...], str], Awaitable[Verified | None]]
"""Replays a claimed path in a fresh context and records it; None when it did not hold."""
WorkLocally = Callable[[Assignment], Awaitable[BranchResult]]
Tell = Callable[[dict[str, Any]], None]


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
        self._desk = LeaseDesk(replica, store, clock)
        self._results: set[str] = set()
        """Leases whose signed result has come."""
        self._opened: set[str] = set()
        self._paused_until_ms: dict[str, int] = {}
        self._tasks = Tasks()
        self._claims_open = 0
        """Claims that have come and are not judged yet."""
        self._checking = asyncio.Lock()
        self._wake = asyncio.Event()
        self._ready = asyncio.Event()
        """Set once the leases of an earlier process are known: before, a peer's word on them cannot be judged."""
        self._finished = False

    # --- life --------------------------------------------------------------------------------------------------------

    async def run(self) -> SearchRecord:
        """Search until a verified success, the time limit, or nothing is left to try. Cancelling stops it resumably."""
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
            self.progress.used_ms += max(0, now_ms - last_ms)
            last_ms = now_ms
            if self.progress.used_ms >= self.spec.seconds * 1000:
                return
            await self._expire(now_ms)
            await self._deal(now_ms)
            if not (self._desk.live() or self._claims_open or self._anything_left()):
                return
            if ticks % _PROGRESS_EVERY_TICKS == 0:
                self._tell(self.snapshot())
                await self._save("running")
            ticks += 1
            await self._pause()

    async def _pause(self) -> None:
        """Until the next tick, or until something happens."""
        waits = [asyncio.ensure_future(self._wake.wait()), asyncio.ensure_future(self._clock.sleep(_TICK_S))]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        self._wake.clear()

    async def _recall(self) -> None:
        """After a restart peers may still be at work; this node's own work is gone, and claims may wait for their replay."""
        for lease in await self._desk.recall():
            if lease.worker == self._witness.node:
                self.progress.reassigned += 1
                await self._end(lease.id, Event.EXPIRE)
        for record in await self._store.leases(self.spec.id):
            if record.result and record.id not in self.progress.claims_checked:
                result = cbor.decode_as(envelope.peek(record.result).payload, BranchResult)
                if result.outcome == "claim":
                    self._claims_open += 1
                    self._tasks.start(self._check_claim(record.worker, result), f"claim {record.id}")

    async def _finish(self) -> SearchRecord:
        await self._tasks.close()
        verified = self.progress.verified
        if verified is None and not self.progress.error:
            self.progress.error = "search.not_found_goal"
        for lease in self._desk.live():
            await self._end(lease.id, Event.REVOKE)
        await self.replica.flush()
        await self._save("done" if verified else "failed")
        self._tell(self.snapshot())
        end = SearchClose(search=self.spec.id)
        others = [peer for peer in self.spec.participants if peer != self._witness.node]  # whoever opened it there
        await asyncio.gather(*(self._say(peer, "search/close", end) for peer in others))
        return self.record

    async def dismiss(self) -> None:
        """Once ``run`` was cancelled for good: revoke what peers still work on."""
        await self._revoke(self._desk.live())

    async def drop(self, worker: str) -> list[str]:
        """Revoke what ``worker`` still works on; the ids of its leases."""
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
        """Tell a peer something that it will also notice by itself; a peer that does not answer is not waited for."""
        try:
            async with asyncio.timeout(_GOODBYE_S):
                await self._peers.call(peer, route, record, Done)
        except (MeshError, TimeoutError) as error:
            log.info("%s was not told %s: %s", ids.short(peer), route, error)

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
            "live_leases": len(self._desk.live()),
            "nodes": len(self.replica.tree),
            "visits": {peer: self.replica.tree.spend(peer).visits for peer in self.replica.tree.peers},
            "claims": self.progress.claims,
            "verified": self.progress.verified is not None,
        }

    # --- dealing -----------------------------------------------------------------------------------------------------

    def _workers(self) -> list[str]:
        others = [node for node in self.spec.participants if node != self._witness.node]
        remote = [node for node in others if self._peers.may(node, Scope.BRANCH_ACCEPT, self.spec.start_url)]
        return [*remote, *[self._witness.node] * self._config.explore.workers]

    async def _deal(self, now_ms: int) -> None:
        """Give every idle worker a branch."""
        if self._claims_open:
            return  # a claim is being checked: it may be over in a moment
        busy = [lease.worker for lease in self._desk.live()]
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
            await self._grant(worker, branch)

    def _next_branch(self) -> bytes | None:
        """The branch to lease next: first the children of the start page by prior, then what UCT finds most promising.

        Leases count as losses in the scores, so workers spread over the tree.
        """
        leased = self._desk.branches
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
        root = self.replica.root
        return not self.replica.closed(root) and (not self.replica.expanded(root) or bool(self.replica.descend(root)))

    async def _grant(self, worker: str, branch: bytes) -> None:
        explore = self._config.explore
        lifetime_ms = explore.lease_seconds * 1000
        lease = self._desk.grant(branch, worker, lifetime_ms)
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
        record = await self._desk.keep(lease, signed.envelope)
        self.progress.branches += 1
        work = self._assign(record) if worker != self._witness.node else self._work(lease, assignment)
        self._tasks.start(work, f"lease {lease.id}")

    def _rest(self, worker: str) -> None:
        self._paused_until_ms[worker] = self._clock.now_ms() + int(_PEER_PAUSE_S * 1000)

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
            self._rest(lease.worker)
            self._tell({"peer": lease.worker, "error": error.code})
            await self._end(lease.id, Event.EXPIRE)

    async def _work(self, lease: Lease, assignment: Assignment) -> None:
        """Work on a lease in this node's own browser. Whatever goes wrong, the branch is open again."""
        try:
            result = await self._work_locally(assignment)
        except Exception as error:
            self._rest(lease.worker)
            await self._end(lease.id, Event.EXPIRE)
            if not isinstance(error, MeshError):
                raise
            log.warning("own branch failed: %s", error)
            self._tell({"peer": lease.worker, "error": error.code})
            return
        signed = await self._witness.artefact(KIND_RESULT, lease.id, result)
        await self.take_result(lease.worker, result, signed.envelope)

    # --- leases ------------------------------------------------------------------------------------------------------

    async def _expire(self, now_ms: int) -> None:
        """Take back the leases of peers that fell silent. Own work does not expire: it ends by itself."""
        for lease in self._desk.live():
            if lease.expires_ms <= now_ms and lease.worker != self._witness.node:
                self.progress.reassigned += 1
                self._tell({"peer": lease.worker, "lease_expired": lease.id})
                self._opened.discard(lease.worker)
                self._rest(lease.worker)
                await self._end(lease.id, Event.EXPIRE)

    async def _end(self, lease_id: str, event: Event, result: bytes = b"") -> None:
        await self._desk.end(lease_id, event, result)
        self._wake.set()

    async def renew(self, worker: str, ask: BranchRenew) -> BranchRenewed:
        """A worker says it is still at work."""
        await self._ready.wait()
        if self._finished:
            return BranchRenewed(live=False)
        try:
            lease = await self._desk.renew(ask.lease, worker, self._config.explore.lease_seconds * 1000)
        except MeshError:
            return BranchRenewed(live=False)
        return BranchRenewed(live=True, expires_ms=lease.expires_ms)

    async def take_result(self, worker: str, result: BranchResult, sealed: bytes) -> None:
        """End the lease; check the claim, if there is one. A late or repeated result ends nothing and harms nothing.

        A claim counts even when its lease has expired: it is checked by replay anyway. Errors: ``lease.unknown``.
        """
        await self._ready.wait()
        record = await self._store.lease(result.lease)
        if record is None or (record.worker, record.search, record.branch) != (worker, self.spec.id, result.branch):
            raise MeshError("lease.unknown", f"lease {result.lease} is not {ids.short(worker)}'s", lease=result.lease)
        if record.result or result.lease in self._results:
            return
        is_claim = result.outcome == "claim"
        # Counted before anything waits: with its last lease ended, the search must not end before the claim is judged.
        self._claims_open += is_claim
        self._results.add(result.lease)
        try:
            await self._end(result.lease, Event.RESULT, sealed)
        except BaseException:
            self._claims_open -= is_claim
            self._results.discard(result.lease)
            raise
        self.progress.add_spend(worker, result.spend)
        if result.outcome == "failed":
            self._rest(worker)
        if is_claim:
            self.progress.claims += 1
            self._tasks.start(self._check_claim(worker, result), f"claim {result.lease}")

    # --- claims ------------------------------------------------------------------------------------------------------

    async def _check_claim(self, worker: str, result: BranchResult) -> None:
        try:
            async with self._checking:
                if not self._finished:
                    await self._judge(worker, result)
        finally:
            self._claims_open -= 1
            self._wake.set()

    async def _judge(self, worker: str, result: BranchResult) -> None:
        """Replay a claim here. One that does not hold counts against its peer; a browser that fails here does not."""
        self._tell({"claim": len(result.claim), "peer": worker})
        verified = None
        for attempt in range(1, _CHECK_TRIES + 1):
            try:
                verified = await self._verify_claim(result.claim, worker)
                break
            except MeshError as error:
                log.warning("claim of %s could not be replayed: %s", ids.short(worker), error)
                if error.code not in BROWSER_GONE:
                    break
                if attempt == _CHECK_TRIES:
                    self._tell({"peer": self._witness.node, "error": error.code})
                    return
                await self._clock.sleep(_PEER_PAUSE_S)
        self.progress.claims_checked.append(result.lease)
        if verified is None:
            self.progress.claims_false[worker] = self.progress.claims_false.get(worker, 0) + 1
            self._tell({"claim_refused": len(result.claim), "peer": worker})
            with contextlib.suppress(MeshError):  # the next tick saves it again
                await self._save("running")
        else:
            self.progress.verified = verified
            self._finished = True
