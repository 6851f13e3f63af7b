"""The worker's side of leases: accepts them, works on them, renews and returns them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import msgspec

from adapters.ports.clock import Clock
from adapters.ports.records import LeaseRecord
from adapters.ports.store import SearchStore
from node.base.tasks import either
from node.config import Config
from node.explorer.kept import put_lease
from node.explorer.sharing.log_proofs import LogProofs
from node.explorer.sharing.replica import Replica
from node.signing import Witness
from node.trust import Calls
from node.verbs import current_caller
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.messages import (
    KIND_ASSIGNMENT,
    KIND_RESULT,
    Assignment,
    BranchRenew,
    BranchRenewed,
    BranchResult,
    BranchReturn,
    Done,
    SearchSpec,
    Spend,
)
from protocol.wire import cbor, envelope

log = logging.getLogger(__name__)

AfterIteration = Callable[[Spend], Awaitable[bool]]
Explore = Callable[[Assignment, AfterIteration], Awaitable[BranchResult]]
_RETURN_PAUSE_S = 1.0
_RETURN_PAUSE_MAX_S = 8.0
_RENEW_EVERY_MIN_S = 0.5


class BranchWork:
    """This node's leases in one search of another node."""

    def __init__(
        self,
        spec: SearchSpec,
        witness: Witness,
        calls: Calls,
        store: SearchStore,
        clock: Clock,
        config: Config,
        proofs: LogProofs,
        *,
        explore: Explore,
    ) -> None:
        self._spec = spec
        self._witness = witness
        self._calls, self._peers = calls, calls.peers
        self._store = store
        self._clock = clock
        self._config = config
        self._proofs = proofs
        self._explore = explore
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._keepers: dict[str, _Keeper] = {}
        self._exploring: set[str] = set()
        """Ids of leases that count towards the limit; one whose result is being returned does not."""
        self._accepting = asyncio.Lock()
        self._closed = False

    @property
    def working(self) -> int:
        """How many leases count towards the limit."""
        return len(self._exploring)

    async def accept(self, caller: str, sealed: bytes, replica: Replica) -> None:
        """Accept a lease and begin work. A repeated assignment is ignored, even long after it has ended.

        Checks, in order: this node signs; signature of the coordinator; of this search; not expired; a free place; the branch
        follows from the prefix. Errors: ``Witness.check_signs``; ``envelope.*``, ``lease.unknown``, ``lease.busy``,
        ``delta.invalid``.
        """
        self._witness.check_signs()
        opened = envelope.verify(sealed, kinds=frozenset({KIND_ASSIGNMENT}), find_key=self._peers.find_key)
        if opened.header.issuer != caller:
            raise MeshError("envelope.issuer", "an assignment is sent by its coordinator only")
        assignment = cbor.decode_as(opened.payload, Assignment)
        if assignment.search != self._spec.id:
            raise MeshError("lease.unknown", "the lease belongs to another search", lease=assignment.lease)
        async with self._accepting:  # one at a time, so that two copies of one assignment are not both accepted
            if await self._store.lease(assignment.lease) is not None:
                return
            # The clocks of two machines may differ. Working on an expired lease wastes time but does no harm.
            if assignment.expires_ms + limits.CLOCK_SKEW_S * 1000 <= self._clock.now_ms():
                raise MeshError("lease.unknown", "the lease has already expired", lease=assignment.lease)
            if not self._config.explore.workers:
                raise MeshError("policy.refused", "this node explores nothing itself (explore.workers is 0)")
            if self._closed or len(self._exploring) >= self._config.explore.workers:
                raise MeshError("lease.busy")
            # The deltas that name the branch may come later than the lease.
            replica.adopt(assignment.branch, assignment.prefix)
            await self._begin(sealed, assignment)

    async def _begin(self, sealed: bytes, assignment: Assignment) -> None:
        lease = LeaseRecord(
            id=assignment.lease,
            search=assignment.search,
            branch=assignment.branch,
            worker=self._witness.node,
            status="live",
            expires_ms=assignment.expires_ms,
            assignment=sealed,
            caller=str(current_caller()),
        )
        await put_lease(self._store, self._witness.feed, lease, FeedKind.LEASE_GRANTED)
        task = asyncio.create_task(self._work(lease, assignment), name=f"branch {lease.id}")
        self._tasks[lease.id] = task
        self._exploring.add(lease.id)
        task.add_done_callback(lambda _: self._ended(lease.id, task))

    def _ended(self, lease_id: str, task: asyncio.Task[None]) -> None:
        self._tasks.pop(lease_id, None)
        self._keepers.pop(lease_id, None)
        self._exploring.discard(lease_id)
        if not task.cancelled() and task.exception() is not None:
            log.error("defect in the work on %s", lease_id, exc_info=task.exception())

    async def revoke(self, lease_id: str) -> None:
        """Stop working on a lease; does nothing if it is not being worked on. Errors: ``store.*``."""
        task = self._tasks.get(lease_id)
        if task is not None:
            await self._stop(lease_id, task)

    async def _stop(self, lease_id: str, task: asyncio.Task[None]) -> None:
        keeper = self._keepers.get(lease_id)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        record = await self._store.lease(lease_id)
        if record is not None and record.status == "live":
            spend = keeper.spent if keeper else Spend()
            over = msgspec.structs.replace(record, status="revoked", spend=spend)
            await put_lease(self._store, self._witness.feed, over, FeedKind.LEASE_ENDED)

    async def close(self) -> None:
        """Stop all work, even if the end cannot be stored. A second call does nothing."""
        self._closed = True
        async with self._accepting:  # wait for a lease that is being accepted, so that it ends like the others
            stopping = [self._stop(lease_id, task) for lease_id, task in self._tasks.items()]
            for failed in await asyncio.gather(*stopping, return_exceptions=True):
                if isinstance(failed, Exception):
                    log.error("the end of a branch could not be stored: %s", failed)

    async def _work(self, lease: LeaseRecord, assignment: Assignment) -> None:
        keeper = self._keepers[lease.id] = _Keeper(self._calls, self._clock, self._spec.coordinator, assignment)
        renewing = asyncio.create_task(keeper.run(), name=f"renew {lease.id}")
        try:
            signed = (self._spec.coordinator, self._spec.id, KIND_ASSIGNMENT)
            if self._proofs.is_due(*signed):
                await self._proofs.check_patiently(*signed, lease.assignment)
            result = await self._explore(assignment, keeper.after_iteration)
        except MeshError as error:
            log.warning("branch %s failed: %s", lease.id, error)
            result = BranchResult(
                search=lease.search,
                lease=lease.id,
                branch=lease.branch,
                outcome="failed",
                spend=keeper.spent,
                error=error.code,
            )
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
            # Free the place before sending the result, because the coordinator may assign the next branch before it
            # answers.
            self._exploring.discard(lease.id)
        await self._return(lease, result)

    async def _return(self, lease: LeaseRecord, result: BranchResult) -> None:
        """Store the signed result, then send it; a coordinator that is offline gets it later.

        Ends at the latest with the search. A result that cannot be signed or stored is lost: the lease expires at its
        coordinator.
        """
        try:
            artefact = await self._witness.artefact(KIND_RESULT, lease.id, result)
            done = msgspec.structs.replace(lease, status="done", result=artefact.envelope, spend=result.spend)
            await put_lease(self._store, self._witness.feed, done, FeedKind.LEASE_ENDED)
        except MeshError as error:
            log.error("result of %s is lost: %s", lease.id, error)
            return
        message = BranchReturn(search=lease.search, result=artefact.envelope)
        pause_s = _RETURN_PAUSE_S
        while True:
            try:
                await self._calls.call(self._spec.coordinator, "branch/return", message, Done)
                return
            except MeshError as error:
                if not error.retryable:  # it would be refused again
                    log.warning("result of %s was refused: %s", lease.id, error)
                    return
                log.info("result of %s not returned to %s yet: %s", lease.id, ids.short(self._spec.coordinator), error)
            await self._clock.sleep(pause_s)
            pause_s = min(pause_s * 2, _RETURN_PAUSE_MAX_S)


class _Keeper:
    """Renews one lease during the work on it, and learns when the coordinator has revoked it."""

    def __init__(self, calls: Calls, clock: Clock, coordinator: str, assignment: Assignment) -> None:
        self._calls = calls
        self._clock = clock
        self._coordinator = coordinator
        self._assignment = assignment
        self._wanted = True
        self._news = asyncio.Event()
        self.spent = Spend()

    async def after_iteration(self, spend: Spend) -> bool:
        """Record the cost. True if the work must continue."""
        self.spent = spend
        self._news.set()
        return self._wanted

    async def run(self) -> None:
        """Renew the lease until it is no longer wanted: after every iteration, to report its cost, and in between."""
        lease = self._assignment
        # Use the shorter of two intervals, because the clocks may differ: the time left here, and a third of the
        # allowed work time.
        lifetime_ms = min(lease.expires_ms - self._clock.now_ms(), lease.limits.milliseconds // 3)
        every_s = max(_RENEW_EVERY_MIN_S, lifetime_ms / 3000)
        while self._wanted:
            await self._clock.sleep(_RENEW_EVERY_MIN_S)
            await either(self._news, self._clock.sleep(every_s - _RENEW_EVERY_MIN_S))
            ask = BranchRenew(search=lease.search, lease=lease.lease, spend=self.spent)
            try:
                answer = await self._calls.call(self._coordinator, "branch/renew", ask, BranchRenewed)
                self._wanted = answer.live
            except MeshError as error:
                log.info("lease %s not renewed: %s", lease.lease, error)
