"""What a worker does with the leases a coordinator gives it: accept, work, renew, return, stop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from adapters.ports import Clock, LeaseRecord, Store
from node.config import Config
from node.explorer.replica import Replica
from node.witness import Witness
from node.peers import Peers
from protocol import cbor, envelope, ids
from protocol.errors import MeshError
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

log = logging.getLogger(__name__)

AfterIteration = Callable[[Spend], Awaitable[bool]]
Explore = Callable[[Assignment, AfterIteration], Awaitable[BranchResult]]
_RETURN_PAUSE_S = 1.0
_RETURN_TRIES = 60


class BranchWork:
    """This node's leases in one search of another node."""

    def __init__(
        self,
        spec: SearchSpec,
        witness: Witness,
        peers: Peers,
        store: Store,
        clock: Clock,
        config: Config,
        *,
        explore: Explore,
    ) -> None:
        self._spec = spec
        self._witness = witness
        self._peers = peers
        self._store = store
        self._clock = clock
        self._config = config
        self._explore = explore
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def accept(self, caller: str, sealed: bytes, replica: Replica) -> None:
        """Take a lease and begin. The same assignment twice is taken once.

        Checks, in order: signature of the coordinator; not expired; the branch follows from the prefix; a free place.
        Errors: ``envelope.*``, ``lease.unknown``, ``delta.invalid``, ``lease.busy``.
        """
        opened = envelope.verify(sealed, kinds=frozenset({KIND_ASSIGNMENT}), find_key=self._peers.find_key)
        if opened.claims.issuer != caller:
            raise MeshError("envelope.issuer", "an assignment is sent by its coordinator only")
        assignment = cbor.decode_as(opened.payload, Assignment)
        if assignment.lease in self._tasks:
            return
        if assignment.expires_ms <= self._clock.now_ms():
            raise MeshError("lease.unknown", "the lease is over already", lease=assignment.lease)
        replica.adopt(assignment.branch, assignment.prefix)
        if len(self._tasks) >= max(1, self._config.explore.workers):
            raise MeshError("lease.busy")
        lease = LeaseRecord(
            id=assignment.lease,
            search=assignment.search,
            branch=assignment.branch,
            worker=self._witness.node,
            status="live",
            expires_ms=assignment.expires_ms,
            assignment=sealed,
        )
        await self._store.put_lease(lease)
        task = asyncio.create_task(self._work(lease, assignment), name=f"branch {lease.id}")
        self._tasks[lease.id] = task
        task.add_done_callback(lambda _: self._tasks.pop(lease.id, None))

    async def revoke(self, lease_id: str) -> None:
        """Stop working on a lease."""
        task = self._tasks.get(lease_id)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def close(self) -> None:
        """Stop working on everything."""
        for lease_id in list(self._tasks):
            await self.revoke(lease_id)

    async def _work(self, lease: LeaseRecord, assignment: Assignment) -> None:
        wanted = True
        spent = Spend()

        async def after_iteration(spend: Spend) -> bool:
            nonlocal spent
            spent = spend
            return wanted

        async def keep_alive() -> None:
            nonlocal wanted
            every_s = max(0.5, (assignment.expires_ms - self._clock.now_ms()) / 3000)
            while wanted:
                await self._clock.sleep(every_s)
                ask = BranchRenew(search=lease.search, lease=lease.id, spend=spent)
                try:
                    wanted = (await self._peers.call(self._spec.coordinator, "branch/renew", ask, BranchRenewed)).live
                except MeshError as error:
                    log.info("lease %s not renewed: %s", lease.id, error)

        renewing = asyncio.create_task(keep_alive(), name=f"renew {lease.id}")
        try:
            result = await self._explore(assignment, after_iteration)
        except MeshError as error:
            log.warning("branch %s failed: %s", lease.id, error)
            result = BranchResult(
                search=lease.search, lease=lease.id, branch=lease.branch, outcome="failed", spend=spent, error=error.code
            )
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
        await self._return(lease, result)

    async def _return(self, lease: LeaseRecord, result: BranchResult) -> None:
        """Store the signed result, then hand it over; a coordinator that is away gets it when it is back."""
        artefact = await self._witness.artefact(KIND_RESULT, lease.id, result)
        done = LeaseRecord(
            id=lease.id,
            search=lease.search,
            branch=lease.branch,
            worker=lease.worker,
            status="done",
            expires_ms=lease.expires_ms,
            assignment=lease.assignment,
            result=artefact.envelope,
        )
        await self._store.put_lease(done)
        message = BranchReturn(search=lease.search, result=artefact.envelope)
        for _ in range(_RETURN_TRIES):
            try:
                await self._peers.call(self._spec.coordinator, "branch/return", message, Done)
                return
            except MeshError as error:
                if not error.retryable:
                    log.warning("result of %s was refused: %s", lease.id, error)
                    return
                await self._clock.sleep(_RETURN_PAUSE_S)
        log.warning("result of %s could not be returned to %s", lease.id, ids.short(self._spec.coordinator))

