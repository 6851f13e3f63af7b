"""The coordinator's leases: every change goes into the book, then into the tree, then into the store."""

from __future__ import annotations

import asyncio
import logging

import msgspec

from adapters.ports import Clock, LeaseRecord, Store
from node.explorer.replica import Replica
from protocol import ids
from protocol.errors import MeshError
from protocol.lease import Event, Lease, LeaseBook

log = logging.getLogger(__name__)


class LeaseDesk:
    """The leases of one search. The book decides; tree and store follow it."""

    def __init__(self, replica: Replica, store: Store, clock: Clock) -> None:
        self._search = replica.spec.id
        self._replica = replica
        self._store = store
        self._clock = clock
        self._book = LeaseBook()
        self._writing = asyncio.Lock()

    async def recall(self) -> list[Lease]:
        """The leases that were live when this node last stopped, live again. Errors: ``store.*``.

        Of two for one branch (a crash between two writes) the newer one lives. What the tree still calls live and the store does
        not is ended there too.
        """
        now_ms = self._clock.now_ms()
        for record in reversed(await self._store.leases(self._search, status="live")):
            try:
                self._book.grant(
                    record.id,
                    branch=record.branch,
                    worker=record.worker,
                    now_ms=now_ms,
                    lifetime_ms=max(0, record.expires_ms - now_ms),
                )
            except MeshError as error:
                log.info("lease %s was replaced: %s", record.id, error)
                await self._store.put_lease(msgspec.structs.replace(record, status="expired"))
        live = self.live()
        known = {lease.id for lease in live}
        for branch, entry in self._replica.live_leases().items():
            if entry.lease not in known:
                self._replica.note_lease(branch, msgspec.structs.replace(entry, live=False))
        return live

    def live(self) -> list[Lease]:
        """Live leases, by branch."""
        return list(self._book.live_by_branch().values())

    @property
    def branches(self) -> frozenset[bytes]:
        """Branches somebody works on."""
        return frozenset(lease.branch for lease in self.live())

    def grant(self, branch: bytes, worker: str, lifetime_ms: int) -> Lease:
        """A new lease, which ``keep`` makes durable. Errors: ``lease.busy``."""
        lease_id = ids.make_id("lea", self._clock.random(ids.ID_RANDOM_BYTES))
        now_ms = self._clock.now_ms()
        return self._book.grant(lease_id, branch=branch, worker=worker, now_ms=now_ms, lifetime_ms=lifetime_ms)

    async def keep(self, lease: Lease, assignment: bytes) -> LeaseRecord:
        """Store a new lease with its signed assignment, and tell the tree. Errors: ``store.*``."""
        record = LeaseRecord(
            id=lease.id,
            search=self._search,
            branch=lease.branch,
            worker=lease.worker,
            status="live",
            expires_ms=lease.expires_ms,
            assignment=assignment,
        )
        self._replica.note_lease(lease.branch, lease.entry())
        async with self._writing:
            await self._store.put_lease(record)
        await self._replica.flush()
        return record

    async def renew(self, lease_id: str, worker: str, lifetime_ms: int) -> Lease:
        """The lease with a later end. Errors: ``lease.unknown``."""
        lease = self._book.renew(lease_id, worker=worker, now_ms=self._clock.now_ms(), lifetime_ms=lifetime_ms)
        await self._write(lease_id)
        return lease

    async def end(self, lease_id: str, event: Event, result: bytes = b"") -> bool:
        """End a lease; False when it had ended before. A signed result is kept in either case. Errors: ``store.*``."""
        try:
            was_live = self._book.get(lease_id).live
        except MeshError:
            was_live = False  # granted before this process began, and over since
        if was_live:
            lease = self._book.close(lease_id, event)
            self._replica.note_lease(lease.branch, lease.entry())
        if was_live or result:
            await self._write(lease_id, result)
        return was_live

    async def _write(self, lease_id: str, result: bytes = b"") -> None:
        # One at a time, and from the book as it stands then: a slow renewal must not bring an ended lease back.
        async with self._writing:
            record = await self._store.lease(lease_id)
            if record is None:
                return
            changed = msgspec.structs.replace(record, result=result or record.result)
            try:
                lease = self._book.get(lease_id)
            except MeshError:
                pass
            else:
                status = "live" if lease.live else lease.state.value
                changed = msgspec.structs.replace(changed, status=status, expires_ms=lease.expires_ms)
            await self._store.put_lease(changed)
