"""The runs in progress in this process: performs what a schedule asks for, and stores how it ended."""

from __future__ import annotations

import asyncio
import logging

import msgspec

from adapters.ports.clock import Clock, Notifier
from adapters.ports.store import Store
from adapters.schedule_records import RunRecord, ScheduleRecord
from node.base.tasks import Tasks, to_its_end
from node.schedules.kept import KeptSchedules
from node.schedules.notices import notify, tell_outcomes
from node.schedules.searching import BUSY, ScheduledSearchResult, Searching
from node.signing import Feed
from node.verbs import Tell
from protocol import limits
from protocol.audit import NODE
from protocol.errors import CODES, Blame, MeshError
from protocol.feed import FeedKind
from protocol.schedule import RunStatus

log = logging.getLogger(__name__)


class _Running(msgspec.Struct, kw_only=True):
    """A run in progress in this process."""

    run: RunRecord
    task: asyncio.Task[RunRecord] | None = None
    why: str = "node.stopped"
    """Error code that says why it is cancelled."""


class Runs:
    """At most one run of each schedule."""

    def __init__(
        self,
        store: Store,
        kept: KeptSchedules,
        clock: Clock,
        searching: Searching,
        notifier: Notifier,
        feed: Feed,
        tasks: Tasks,
        owner: str,
    ) -> None:
        """tasks: those of the room, which end when it closes. owner: this process."""
        self._store, self._kept, self._clock, self._searching = store, kept, clock, searching
        self._notifier, self._feed, self._tasks, self._owner = notifier, feed, tasks, owner
        self._running: dict[str, _Running] = {}

    def __contains__(self, schedule_id: str) -> bool:
        """True if a run of the schedule is in progress."""
        return schedule_id in self._running

    def new(
        self, record: ScheduleRecord, due_ms: int, status: RunStatus, now_ms: int, *, manual: bool = False
    ) -> RunRecord:
        """The record of a decision about a due time. It is stored before ``begin``, so that a crash cannot run it again."""
        runs = status is RunStatus.RUNNING
        reasons = {RunStatus.SKIPPED: "schedule.running", RunStatus.RUNNING: ""}
        return RunRecord(
            schedule=record.id,
            due_ms=due_ms,
            status=status,
            owner=self._owner,
            manual=manual,
            started_ms=now_ms if runs else 0,
            ended_ms=0 if runs else now_ms,
            search=self._searching.new_id() if runs else "",
            reason=reasons.get(status, "schedule.late"),
        )

    def begin(self, record: ScheduleRecord, run: RunRecord, tell: Tell | None = None) -> asyncio.Task[RunRecord]:
        """Start ``run``, whose record is already stored."""
        running = self._running[record.id] = _Running(run=run)
        work = self._perform(record, running, tell or (lambda event: None))
        running.task = self._tasks.start(work, f"run of {record.id}")
        # A callback, because a task that is cancelled before its first step runs no finally block.
        running.task.add_done_callback(lambda task: self._forget(record.id, running))
        return running.task

    def _forget(self, schedule_id: str, running: _Running) -> None:
        if self._running.get(schedule_id) is running:
            del self._running[schedule_id]

    async def _perform(self, record: ScheduleRecord, running: _Running, tell: Tell) -> RunRecord:
        status, reason, ended = RunStatus.DONE, "", ScheduledSearchResult()
        try:
            ended = await self._searching.search(record, running.run.search, tell)
            if ended.reason:
                # A person who stops the search means this run, and not the schedule.
                stopped = ended.reason == "internal.cancelled"
                status, reason = RunStatus.INTERRUPTED if stopped else RunStatus.FAILED, ended.reason
                if ended.reason == BUSY:
                    status = RunStatus.SKIPPED
        except asyncio.CancelledError:
            status, reason = RunStatus.INTERRUPTED, running.why
        except MeshError as error:
            status, reason = RunStatus.FAILED, error.code
        except Exception:
            log.exception("defect in a run of %s", record.id)
            status, reason = RunStatus.FAILED, "internal.fault"
        run, kept = await to_its_end(self._end(running, status, reason, ended))
        if kept is not None and status is not RunStatus.INTERRUPTED:
            await notify(self._notifier, kept, run)
        return run

    async def _end(
        self, running: _Running, status: RunStatus, reason: str, ended: ScheduledSearchResult
    ) -> tuple[RunRecord, ScheduleRecord | None]:
        try:
            run = await self.keep_end(running.run, status, reason, ended)
            kept = await self._count(run)
        except MeshError as error:
            # A run whose end is not stored is recorded as interrupted at the next start.
            log.error("the end of a run of %s could not be stored: %s", running.run.schedule, error)
            return running.run, None
        finally:
            self._forget(running.run.schedule, running)
        return run, kept

    async def keep_end(self, run: RunRecord, status: RunStatus, reason: str, ended: ScheduledSearchResult) -> RunRecord:
        """Store how a run ended. Errors: ``store.*``."""
        done = msgspec.structs.replace(
            run,
            status=status,
            reason=reason,
            version=run.version + 1,
            owner=self._owner,
            ended_ms=max(run.started_ms, self._clock.now_ms()),
            session=ended.session,
            spend=ended.spend,
        )
        if await self._store.keep_run(done, was=run.version):
            await tell_outcomes(self._feed, [done])
        else:
            log.warning("the record of a run of %s was changed or removed in the meantime", run.schedule)
        log.info("run of %s: %s %s", run.schedule, status.value, reason)
        return done

    async def _count(self, run: RunRecord) -> ScheduleRecord | None:
        """Count consecutive failures and pause a schedule with too many. Returns the schedule if it still exists."""
        if run.status not in (RunStatus.DONE, RunStatus.FAILED):
            return await self._store.schedule(run.schedule)
        # An unreached goal is a valid answer and not a failure: for "in stock", checked every hour, it is the usual one.
        broken = run.status is RunStatus.FAILED and CODES[run.reason].blame is not Blame.OUTCOME

        def count(record: ScheduleRecord) -> ScheduleRecord:
            failures = record.failures + 1 if broken else 0
            if failures < limits.SCHEDULE_FAILURES_MAX or record.paused:
                return msgspec.structs.replace(record, failures=failures)
            log.error("schedule %s is paused after %d consecutive failed runs", record.id, failures)
            return msgspec.structs.replace(record, failures=failures, paused=True, reason="schedule.failing")

        changed = await self._kept.change(run.schedule, count)
        if (
            changed is not None
            and changed.paused
            and changed.reason
            and changed.failures == limits.SCHEDULE_FAILURES_MAX
        ):
            await self._feed.tell(FeedKind.SCHEDULE_PAUSED, run.schedule, who=NODE)
        return changed

    async def withdraw(self, schedule_id: str, why: str) -> None:
        """Cancel the run of a schedule, and wait for its end."""
        running = self._running.get(schedule_id)
        if running is not None and running.task is not None:
            running.why = why
            await asyncio.sleep(0)  # a task that is cancelled before its first step could not store its end
            running.task.cancel()
            await asyncio.wait({running.task})
