"""The coordinator's leases. Every change is made in the lease book, then in the tree, then in the store."""

from __future__ import annotations

import asyncio
import logging

import msgspec

from adapters.ports.clock import Clock
from adapters.ports.records import LeaseRecord
from adapters.ports.store import SearchStore
from node.explorer.kept import put_lease
from node.explorer.sharing.replica import Replica
from protocol import ids
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.messages import Assignment, Spend
from protocol.search.lease import Event, Lease, LeaseBook
from protocol.wire import cbor, envelope

log = logging.getLogger(__name__)

_NOTHING = Spend()


class LeaseDesk:
    """The leases of one search. The book decides; tree and store only record its decisions."""

    def __init__(self, replica: Replica, store: SearchStore, clock: Clock, *, caller: str = "") -> None:
        """caller: the caller of the search, stored with each lease."""
        self._search = replica.spec.id
        self._replica = replica
        self._store = store
        self._clock = clock
        self._caller = caller
        self._book = LeaseBook()
        self._spend: dict[str, Spend] = {}
        """The last reported spend of live leases that may not be in the store yet."""
        self._writing = asyncio.Lock()

    async def recall(self) -> list[Lease]:
        """The leases that were live when this node last stopped, live again. Errors: ``store.*``.

        If a crash left two for one branch, the newer one is used. Leases that are live only in the tree are ended there.
        """
        now_ms = self._clock.now_ms()
        # Newest first: for a branch with two live leases the newer one is granted, and the older one is refused.
        for record in reversed(await self._store.leases(self._search, status="live")):
            try:
                self._book.grant(
                    record.id,
                    branch=record.branch,
                    worker=record.worker,
                    now_ms=now_ms,
                    lifetime_ms=max(0, record.expires_ms - now_ms),
                    latest_ms=latest_end_ms(cbor.decode_as(envelope.peek(record.assignment).payload, Assignment)),
                )
            except MeshError as error:
                log.info("lease %s was replaced: %s", record.id, error)
                over = msgspec.structs.replace(record, status="expired")
                await put_lease(self._store, self._replica.feed, over, FeedKind.LEASE_ENDED)
        live = self.live()
        known = {lease.id for lease in live}
        for branch, entry in self._replica.own.live_leases().items():
            if entry.lease not in known:
                self._replica.own.note_lease(branch, msgspec.structs.replace(entry, live=False))
        return live

    def live(self) -> list[Lease]:
        """Live leases, by branch."""
        return list(self._book.live_by_branch().values())

    def live_of(self, worker: str) -> list[Lease]:
        """Live leases of one worker, by branch."""
        return self._book.live_of(worker)

    @property
    def branches(self) -> frozenset[bytes]:
        """Branches with a live lease."""
        return frozenset(lease.branch for lease in self.live())

    def grant(self, branch: bytes, worker: str, lifetime_ms: int, work_ms: int) -> Lease:
        """A new lease, which ``keep`` makes durable; it ends at the latest ``work_ms`` after its first lifetime.

        Errors: ``lease.busy``.
        """
        now_ms = self._clock.now_ms()
        return self._book.grant(
            ids.make_id("lea", self._clock.random(ids.ID_RANDOM_BYTES)),
            branch=branch,
            worker=worker,
            now_ms=now_ms,
            lifetime_ms=lifetime_ms,
            latest_ms=now_ms + lifetime_ms + work_ms,
        )

    async def keep(self, lease: Lease, assignment: bytes) -> LeaseRecord:
        """Store a new lease with its signed assignment, and enter it in the tree; it may have ended since. Errors: ``store.*``."""
        async with self._writing:
            lease = self._book.get(lease.id)
            record = LeaseRecord(
                id=lease.id,
                search=self._search,
                branch=lease.branch,
                worker=lease.worker,
                status=_status(lease),
                expires_ms=lease.expires_ms,
                assignment=assignment,
                caller=self._caller,
            )
            self._replica.own.note_lease(lease.branch, lease.entry())
            if lease.live:
                await put_lease(self._store, self._replica.feed, record, FeedKind.LEASE_GRANTED)
            else:
                await self._store.put_lease(record)
        await self._replica.flush()
        return record

    async def renew(self, lease_id: str, worker: str, lifetime_ms: int, spend: Spend) -> Lease:
        """Extend a lease and record its cost so far. Returns the lease. Errors: ``lease.unknown``."""
        lease = self._book.renew(lease_id, worker=worker, now_ms=self._clock.now_ms(), lifetime_ms=lifetime_ms)
        self.note_spend(lease_id, spend)
        await self._write(lease_id)
        return lease

    def note_spend(self, lease_id: str, spend: Spend) -> None:
        """Note the cost of a live lease so far; it is stored with the next change of the lease."""
        self._spend[lease_id] = spend

    async def expire_due(self, *, but: str) -> list[Lease]:
        """End the leases that have expired, except those of the worker ``but``, and return them. Errors: ``store.*``."""
        due = self._book.expire_due(self._clock.now_ms(), but=but)
        for lease in due:
            self._replica.own.note_lease(lease.branch, lease.entry())
        for lease in due:
            await self._write(lease.id)
        return due

    async def end(self, lease_id: str, event: Event, result: bytes = b"", spend: Spend | None = None) -> None:
        """End a lease; one that had ended before stays as it is. A signed result and its cost are kept in either case.

        Errors: ``store.*``.
        """
        try:
            was_live = self._book.get(lease_id).live
        except MeshError:
            was_live = False  # granted before this process started, and ended since
        if was_live:
            lease = self._book.close(lease_id, event)
            self._replica.own.note_lease(lease.branch, lease.entry())
        if was_live or result:
            await self._write(lease_id, result, spend or _NOTHING)

    async def _write(self, lease_id: str, result: bytes = b"", spend: Spend = _NOTHING) -> None:
        # One at a time, and from the current state of the book: a slow renewal must not restore an ended lease.
        async with self._writing:
            record = await self._store.lease(lease_id)
            if record is None:
                return
            told = self._spend.pop(lease_id, _NOTHING)
            changed = msgspec.structs.replace(
                record, result=result or record.result, spend=_largest(record.spend, told, spend)
            )
            try:
                lease = self._book.get(lease_id)
            except MeshError:
                pass
            else:
                changed = msgspec.structs.replace(changed, status=_status(lease), expires_ms=lease.expires_ms)
            if record.status == "live" and changed.status != "live":
                await put_lease(self._store, self._replica.feed, changed, FeedKind.LEASE_ENDED)
            else:
                await self._store.put_lease(changed)


def _status(lease: Lease) -> str:
    return "live" if lease.live else lease.state.value


def _largest(*told: Spend) -> Spend:
    """The largest value of each number: reports may arrive in any order, and the counted spend must never decrease."""
    return Spend(
        iterations=max(spend.iterations for spend in told),
        steps=max(spend.steps for spend in told),
        milliseconds=max(spend.milliseconds for spend in told),
    )


def latest_end_ms(assignment: Assignment) -> int:
    """The time beyond which no renewal extends a lease: its first expiry plus the milliseconds its work may take."""
    return assignment.expires_ms + assignment.limits.milliseconds
