"""The schedules of a node: records a decision for each due time, and runs what is due."""

from __future__ import annotations

import asyncio
import logging

import msgspec

from adapters.ports.clock import Clock, Notifier
from adapters.ports.store import Store
from adapters.schedule_records import RunRecord, ScheduleRecord
from node.base.tasks import Tasks, either
from node.schedules.kept import TRIES, KeptSchedules
from node.schedules.notices import tell_outcomes
from node.schedules.runs import Runs
from node.schedules.searching import ScheduledSearchResult, Searching
from node.schedules.triggers import Trigger
from node.signing import Feed
from node.verbs import Tell
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.schedule import Due, RunStatus, decide, delay_ms

log = logging.getLogger(__name__)


class Schedules:
    """The room of schedules. Due times follow from the store only: a process holds only its runs in progress."""

    def __init__(self, store: Store, clock: Clock, searching: Searching, notifier: Notifier, feed: Feed) -> None:
        self._store, self._clock, self._searching, self._feed = store, clock, searching, feed
        self._process = clock.random(8).hex()
        """Identifies this process as the owner of its runs."""
        self._deciding = asyncio.Lock()
        self._tasks = Tasks()
        self._kept = KeptSchedules(store, self._process)
        self._runs = Runs(store, self._kept, clock, searching, notifier, feed, self._tasks, self._process)

    # --- start and stop ----------------------------------------------------------------------------------------------

    async def load(self) -> None:
        """Record the runs of an earlier process as interrupted, and stop their searches.

        Must come before searches are resumed: an interrupted run must not continue beside the next one. Errors: ``store.*``.
        """
        for run in await self._store.running_runs():
            if run.owner != self._process:
                await self._searching.stop(run.search)
                await self._runs.keep_end(run, RunStatus.INTERRUPTED, "node.stopped", ScheduledSearchResult())

    def start(self) -> None:
        """Run the schedules that become due, until ``close``."""
        self._tasks.start(self._keep_time(), "schedules")

    async def close(self) -> None:
        """Interrupt all runs. A second call does nothing."""
        await asyncio.sleep(0)  # as in ``Runs.withdraw``
        await self._tasks.close()

    async def _keep_time(self) -> None:
        while True:
            wait_s: float = limits.SCHEDULE_SLEEP_S_MAX
            try:
                next_ms = await self.tick()
                if next_ms is not None:
                    wait_s = min(wait_s, max(0.001, (next_ms - self._clock.now_ms()) / 1000))
            except MeshError as error:
                log.error("schedules cannot be read: %s", error)
            # Sleep a minute at most, on the monotonic clock, because the machine's clock may be changed or suspended
            # meanwhile.
            await either(self._kept.changed, self._clock.sleep(wait_s))

    async def tick(self) -> int | None:
        """Decide about everything that is due and begin runs. Returns when something is due next, in milliseconds since 1970.

        Errors: ``store.*``.
        """
        due_ms: list[int] = []
        async with self._deciding:
            for record in await self._store.schedules():
                try:
                    due_ms += await self._turn(record)
                except MeshError as error:  # the other schedules are still due
                    log.error("schedule %s cannot continue: %s", record.id, error)
        return min(due_ms, default=None)

    async def _turn(self, record: ScheduleRecord) -> list[int]:
        """Decide about the due times of one schedule. Returns the next times at which to check it again."""
        expires_ms = record.expires_s * 1000
        if record.paused:
            return []
        expired = bool(expires_ms) and self._clock.now_ms() >= expires_ms
        if expired:
            await self._runs.withdraw(record.id, "schedule.expired")
        record = await self._decide(record.id, may_run=not expired) or record
        due = Trigger(record).after(record.decided_ms)
        moments = [due + delay_ms(record.id, due, record.jitter_s)] if due is not None else []
        # A run ends with its schedule. Without one, nothing happens at that moment, and nobody need wake for it.
        if expires_ms and not expired and record.id in self._runs:
            moments.append(expires_ms)
        return moments

    # --- due times ---------------------------------------------------------------------------------------------------

    async def _decide(self, schedule_id: str, *, may_run: bool) -> ScheduleRecord | None:
        """Store a record for each due time whose delay is over, and begin the one that runs. Errors: ``store.*``."""
        tries = 0
        while (record := await self._store.schedule(schedule_id)) is not None:
            now_ms = self._clock.now_ms()
            ripe, more = self._ripe(record, now_ms)
            if not ripe:
                return record
            decided = decide(
                ripe,
                now_ms=now_ms,
                misfire=record.misfire,
                running=record.id in self._runs,
                more=more,
                may_run=may_run,
            )
            runs = [self._runs.new(record, due_ms, status, now_ms) for due_ms, status in decided]
            changed = msgspec.structs.replace(record, decided_ms=ripe[-1].due_ms)
            if await self._kept.keep(record, changed, runs):
                await tell_outcomes(self._feed, runs)
                for run in runs:
                    if run.status is RunStatus.RUNNING:
                        self._runs.begin(changed, run)
            else:  # retried: a run that ends meanwhile changes the failure count in the record
                tries += 1
                if tries == TRIES:
                    raise MeshError("internal.fault", "the due times of a schedule could not be stored")
        return None

    def _ripe(self, record: ScheduleRecord, now_ms: int) -> tuple[list[Due], bool]:
        """The next due times without a record whose delay is over, and whether more of them follow."""
        most = limits.SCHEDULE_DUE_AT_ONCE_MAX
        ripe: list[Due] = []
        for due_ms in Trigger(record).between(record.decided_ms, now_ms, most + 1):
            due = Due(due_ms, due_ms + delay_ms(record.id, due_ms, record.jitter_s))
            if due.ripe_ms > now_ms:
                break
            ripe.append(due)
        return ripe[:most], len(ripe) > most

    # --- verbs -------------------------------------------------------------------------------------------------------

    async def add(self, record: ScheduleRecord) -> ScheduleRecord:
        """Store a new schedule. Errors: ``input.invalid`` (it is never due), ``input.too_large``, ``store.*``."""
        if Trigger(record).after(record.decided_ms) is None:
            raise MeshError("input.invalid", "this schedule is never due")
        async with self._deciding:
            if len(await self._store.schedules()) >= limits.SCHEDULES_MAX:
                raise MeshError("input.too_large", f"a node can have at most {limits.SCHEDULES_MAX} schedules")
            await self._store.keep_schedule(msgspec.structs.replace(record, owner=self._process), was=0)
        self._kept.changed.set()
        await self._feed.tell(FeedKind.SCHEDULE_ADDED, record.id)
        return record

    async def get(self, schedule_id: str) -> ScheduleRecord:
        """Errors: ``id.invalid``, ``input.not_found``, ``store.*``."""
        record = await self._store.schedule(ids.parse_id("sch", schedule_id))
        if record is None:
            raise MeshError("input.not_found", f"no schedule {schedule_id}", id=schedule_id)
        return record

    async def pause(self, schedule_id: str) -> ScheduleRecord:
        """Suspend the due times until ``resume``; a run in progress ends at its next step. Errors: as ``get``."""
        record = await self.get(schedule_id)
        async with self._deciding:
            if not record.paused:  # due times before now still get their records
                await self._decide(record.id, may_run=False)
            changed = await self._kept.change(
                record.id, lambda now: now if now.paused else msgspec.structs.replace(now, paused=True, reason="")
            )
            await self._runs.withdraw(record.id, "schedule.withdrawn")
        if not record.paused:
            await self._feed.tell(FeedKind.SCHEDULE_PAUSED, record.id)
        return changed or record

    async def resume(self, schedule_id: str) -> ScheduleRecord:
        """Make the schedule due again from now on. Errors: as ``get``; ``schedule.expired``."""
        record = await self.get(schedule_id)
        now_ms = self._clock.now_ms()
        self._check_not_expired(record)

        def go_on(now: ScheduleRecord) -> ScheduleRecord:
            if not now.paused:
                return now
            # Never move back: if the clock was set back, later due times already have records.
            since_ms = max(now.decided_ms, now_ms)
            return msgspec.structs.replace(now, paused=False, reason="", failures=0, decided_ms=since_ms)

        async with self._deciding:
            resumed = await self._kept.change(record.id, go_on) or record
        if record.paused:
            await self._feed.tell(FeedKind.SCHEDULE_RESUMED, record.id)
        return resumed

    async def remove(self, schedule_id: str) -> ScheduleRecord:
        """Delete a schedule and its records; a run in progress ends at its next step. Errors: as ``get``."""
        record = await self.get(schedule_id)
        async with self._deciding:
            await self._runs.withdraw(record.id, "schedule.withdrawn")
            await self._store.remove_schedule(record.id)
        self._kept.changed.set()
        await self._feed.tell(FeedKind.SCHEDULE_REMOVED, record.id)
        return record

    async def run_now(self, schedule_id: str, tell: Tell) -> RunRecord:
        """Run it now, even while it is paused, and wait for the end. Cancelling the call ends the run.

        Errors: as ``get``; ``schedule.running``, ``schedule.expired``.
        """
        async with self._deciding:
            record = await self.get(schedule_id)
            self._check_not_expired(record)
            if record.id in self._runs:
                raise MeshError("schedule.running", id=record.id)
            run = await self._begin_now(record, tell)
        try:
            return await asyncio.shield(run)
        except asyncio.CancelledError:
            me = asyncio.current_task()
            assert me is not None, "this is a coroutine"
            # Either the caller has gone, which ends the run, or the run itself was cancelled, because the node stops.
            if me.cancelling():
                await self._runs.withdraw(record.id, "internal.cancelled")
                raise
            raise MeshError("node.stopped", "the node stopped during the run") from None

    async def _begin_now(self, record: ScheduleRecord, tell: Tell) -> asyncio.Task[RunRecord]:
        now_ms = self._clock.now_ms()
        # Due times are whole seconds. A manual run gets a time between them, so it never takes the record of a due time.
        due_ms = now_ms + 1 if now_ms % 1000 == 0 else now_ms
        run = self._runs.new(record, due_ms, RunStatus.RUNNING, now_ms, manual=True)
        if not await self._kept.keep(record, record, [run]):
            raise MeshError("schedule.running", "the schedule was changed at the same moment; try again", id=record.id)
        await tell_outcomes(self._feed, [run])
        return self._runs.begin(record, run, tell)

    def _check_not_expired(self, record: ScheduleRecord) -> None:
        if record.expires_s and self._clock.now_ms() >= record.expires_s * 1000:
            raise MeshError("schedule.expired", id=record.id)

    # --- reading -----------------------------------------------------------------------------------------------------

    async def all(self) -> list[ScheduleRecord]:
        """Oldest first. Errors: ``store.*``."""
        return await self._store.schedules()

    async def runs(self, schedule_id: str, limit: int) -> list[RunRecord]:
        """The newest first. Errors: ``store.*``."""
        return await self._store.runs_of(schedule_id, limit=limit)

    def next_due(self, record: ScheduleRecord, count: int) -> list[int]:
        """The next due times, milliseconds since 1970; none while it is paused."""
        found: list[int] = []
        after_ms: int | None = None if record.paused else record.decided_ms
        trigger = Trigger(record)
        while after_ms is not None and len(found) < count:
            after_ms = trigger.after(after_ms)
            if after_ms is not None:
                found.append(after_ms)
        return found
