"""The tasks of a node: which run, which wait, and how each ends.

A task runs as its caller: an agent's one counts as a call of it from when it begins, and ends with its token. At a stop of the node
running tasks are ended as ``interrupted``; those of a node that was killed are found at its next start.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import msgspec

from adapters.ports.clock import Clock
from adapters.ports.store import Store
from node.base.plain import plain
from node.base.tasks import Tasks, interruptible, to_its_end
from node.live.acting import Allowance, allowed, out_of
from node.signing import Witness
from node.tasks.events import Events
from node.tasks.pausing import Pausing, Question
from node.tasks.stored import TASKS, EventRecord, TaskRecord
from node.tasks.time_limit import TaskTime
from node.verbs import Caller, CallerKind, Tell
from protocol import ids, limits
from protocol.audit import NODE
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.page.secrets.redaction import redact_console
from protocol.page.secrets.secrets import NO_SECRETS, SecretsAndTokens

log = logging.getLogger(__name__)

Dispatch = Callable[[str, bytes, Tell, Caller], Awaitable[Any]]
"""``(verb, parameters in JSON, tell, caller) -> result``"""
AsWhom = Callable[[Caller, str], contextlib.AbstractAsyncContextManager[Caller]]
"""Context manager in which a call of a verb runs as its caller. Errors: those of ``Agents.calling``."""
_OPEN_MAX: Final = limits.TASKS_RUNNING_MAX + limits.TASKS_QUEUED_MAX


@dataclass(frozen=True, kw_only=True)
class Work:
    """A verb to run as a task."""

    verb: str
    body: bytes
    """Its parameters in JSON. They may hold secrets, and are never stored."""
    shown: str
    """Its parameters as they are stored."""
    seconds: int
    """0 for no limit."""
    pictures: int
    navigations: int


@dataclass(kw_only=True, eq=False)
class _Open:
    record: TaskRecord
    caller: Caller
    work: Work
    events: Events
    allowance: Allowance = field(default_factory=lambda: Allowance(end=lambda error: None))
    running: asyncio.Task[None] | None = None
    reason: str = ""
    """The state with which it is ended from outside."""
    over: asyncio.Event = field(default_factory=asyncio.Event)
    time: TaskTime | None = None
    pausing: Pausing | None = None
    """Both are set once it runs."""

    def warn(self, what: str, used: int, most: int) -> None:
        """``Allowance.warn``"""
        more = f"trailmesh task more {self.record.id} --{what} {2 * most}"
        self.events.tell({"used": used, "of": most, "what": what, "more": more})


class TaskQueue:
    """The tasks of this node."""

    def __init__(self, witness: Witness, store: Store, clock: Clock, as_whom: AsWhom) -> None:
        self._witness, self._store, self._clock, self._as_whom = witness, store, clock, as_whom
        self._open: dict[str, _Open] = {}
        """In the order in which they were asked for."""
        self._ended: list[str] = []
        """Ids of the stored tasks that have ended, oldest first."""
        self._tasks = Tasks()
        self._closing = False
        self._moved = asyncio.Event()
        """Set, and replaced, when a task ends or waits for a person: then the next one begins."""

    @property
    def open(self) -> int:
        """Number of tasks that run or wait."""
        return len(self._open)

    async def load(self) -> None:
        """Mark the tasks that an earlier process left open as interrupted. Errors: ``store.*``."""
        for record in await self._store.rows(TASKS).find():
            if not record.ended_ms:
                told = {"state": "interrupted", "code": "node.stopped", "retryable": True, "asks": ""}
                await self._keep_end(msgspec.structs.replace(record, ended_ms=self._end_ms(record), **told))
            else:
                self._ended.append(record.id)

    async def close(self) -> None:
        """Interrupt all tasks. A second call does nothing."""
        self._closing = True
        await asyncio.gather(*(self._end(each, "interrupted") for each in [*self._open.values()]))
        await self._tasks.close()

    # --- beginning ---------------------------------------------------------------------------------------------------

    async def start(self, caller: Caller, work: Work, run: Dispatch) -> TaskRecord:
        """Enqueue ``work``. Errors: ``node.busy`` with ``retry_after_s``, ``store.*``."""
        opened = self._enqueued(caller, work)
        try:
            rows = self._store.rows(TASKS)
            await self._witness.feed.along(
                lambda news: rows.put(opened.record, news=news), FeedKind.TASK_QUEUED, opened.record.id, who=str(caller)
            )
        except BaseException:
            self._forget(opened)
            raise
        opened.running = self._tasks.start(self._in_turn(opened, run), f"task {opened.record.id}")
        # One that is cancelled before its first step never runs, and then nobody else would say that it is over.
        opened.running.add_done_callback(lambda running: self._forget(opened))
        await asyncio.sleep(0)
        return opened.record

    def _forget(self, opened: _Open) -> None:
        self._open.pop(opened.record.id, None)
        opened.over.set()
        self._stir()

    def _stir(self) -> None:
        # Replaced and not cleared: who holds the old one still wakes up.
        self._moved.set()
        self._moved = asyncio.Event()

    def _enqueued(self, caller: Caller, work: Work) -> _Open:
        """A place in the queue, taken before the first await, so that calls at once cannot all pass the limits."""
        own = sum(each.record.caller == str(caller) for each in self._open.values())
        if caller.kind is not CallerKind.OWNER and own >= limits.TASKS_PER_CALLER_MAX:
            raise _busy(f"{caller} has {own} tasks that run or wait, which is the limit")
        if self._closing or len(self._open) >= _OPEN_MAX:
            raise _busy(f"{len(self._open)} tasks run or wait, which is the limit")
        record = TaskRecord(
            id=ids.make_id("tas", self._clock.random(ids.ID_RANDOM_BYTES)),
            caller=str(caller),
            verb=work.verb,
            params=work.shown,
            created_ms=self._clock.now_ms(),
            seconds=work.seconds,
            pictures_max=work.pictures,
            navigations_max=work.navigations,
        )
        opened = _Open(record=record, caller=caller, work=work, events=Events(self._clock.now_ms, self._redacted))
        opened.events.state("queued")
        self._open[record.id] = opened
        return opened

    def _redacted(self, text: str) -> str:
        return redact_console(text, SecretsAndTokens(NO_SECRETS, self._witness.tokens))

    # --- running -----------------------------------------------------------------------------------------------------

    async def _in_turn(self, opened: _Open, run: Dispatch) -> None:
        changes: dict[str, Any] = {}
        try:
            await self._turn(opened)
            changes = await self._run(opened, run)
        except asyncio.CancelledError:
            changes = {"state": opened.reason or "interrupted"}
        except MeshError as error:
            changes = _failed(error)
        except Exception as error:  # a defect: the record must not stay open
            log.error("defect in the task of %s", opened.work.verb, exc_info=error)
            changes = _failed(MeshError("internal.fault", f"{type(error).__name__} in {opened.work.verb}"))
        await to_its_end(self._ends(opened, changes))

    async def _turn(self, opened: _Open) -> None:
        """Wait until fewer than ``TASKS_RUNNING_MAX`` of those before it run; one that waits for a person lets others begin."""
        while True:
            before = itertools.takewhile(lambda each: each is not opened, self._open.values())
            if sum(each.record.state != "paused" for each in before) < limits.TASKS_RUNNING_MAX:
                return
            await self._moved.wait()

    async def _run(self, opened: _Open, run: Dispatch) -> dict[str, Any]:
        """The changes of the record at its end. Errors: those of the verb and of ``AsWhom``; ``task.budget``."""
        work = opened.work
        async with self._as_whom(opened.caller, work.verb) as caller, interruptible() as end:
            time = opened.time = TaskTime(work.seconds, opened.warn)
            pauses = partial(self._paused, opened)
            opened.pausing = Pausing(opened.record.id, opened.events, self._clock, time, end, pauses)
            bounds = {"pictures_max": work.pictures, "navigations_max": work.navigations}
            opened.allowance = Allowance(end=end, waits=opened.pausing, warn=opened.warn, **bounds)
            await self._begun(opened)
            try:
                async with time:
                    with allowed(opened.allowance):
                        result = await run(work.verb, work.body, opened.events.tell, caller)
            except TimeoutError:
                if not time.expired:
                    raise
                raise out_of("seconds", time.seconds) from None
        encoded = msgspec.json.encode(plain(result))
        if len(encoded) > limits.TASK_RESULT_BYTES_MAX:
            return {"state": "done", "too_large": True}
        return {"state": "done", "result": encoded}

    async def _begun(self, opened: _Open) -> None:
        opened.record = msgspec.structs.replace(opened.record, state="running", started_ms=self._clock.now_ms())
        opened.events.state("running")
        rows = self._store.rows(TASKS)
        await self._witness.feed.along(
            lambda news: rows.put(opened.record, news=news),
            FeedKind.TASK_STARTED,
            opened.record.id,
            who=str(opened.caller),
        )

    async def _paused(self, opened: _Open, state: str) -> None:
        question = opened.pausing.question if opened.pausing is not None else None
        opened.record = msgspec.structs.replace(opened.record, state=state, asks=question.why if question else "")
        self._stir()
        rows, kind = self._store.rows(TASKS), FeedKind.TASK_PAUSED if state == "paused" else FeedKind.TASK_RESUMED
        await self._witness.feed.along(
            lambda news: rows.put(opened.record, news=news), kind, opened.record.id, who=str(opened.caller)
        )

    async def _ends(self, opened: _Open, changes: dict[str, Any]) -> None:
        """Store the end, then let others begin. An end that cannot be stored is found at the next start."""
        opened.events.state(changes["state"])
        opened.record = self._now(opened, asks="", ended_ms=self._end_ms(opened.record), **changes)
        try:
            await self._keep_end(opened.record, who=str(opened.caller))
        except MeshError as error:
            log.error("the end of task %s is not stored: %s", opened.record.id, error)
        finally:
            self._forget(opened)

    def _now(self, opened: _Open, **changes: Any) -> TaskRecord:
        """The record as it is now."""
        used = opened.allowance
        return msgspec.structs.replace(
            opened.record,
            pictures=used.pictures,
            navigations=used.navigations,
            events=opened.events.kept,
            **changes,
        )

    def _end_ms(self, record: TaskRecord) -> int:
        """A time for the end of a task, also by a clock that was set back."""
        return max(1, record.created_ms, self._clock.now_ms())

    async def _keep_end(self, record: TaskRecord, who: str = NODE) -> None:
        rows = self._store.rows(TASKS)
        await self._witness.feed.along(
            lambda news: rows.put(record, news=news), FeedKind.TASK_ENDED, record.id, who=who
        )
        self._ended.append(record.id)
        if excess := self._ended[: -limits.TASKS_KEPT_MAX]:
            del self._ended[: len(excess)]
            await rows.remove(*excess)

    # --- looking and ending ------------------------------------------------------------------------------------------

    async def get(self, caller: Caller, task_id: str) -> TaskRecord:
        """A task that ``caller`` may see. Errors: ``id.invalid``, ``input.not_found``, ``store.*``."""
        id = ids.parse_id("tas", task_id)
        opened = self._open.get(id)
        record = self._now(opened) if opened else await self._store.rows(TASKS).get(id)
        if record is None or not caller.owns(record.caller, record.created_ms):
            raise MeshError("input.not_found", f"no task {id}", id=id)
        return record

    async def listed(self, caller: Caller, *, open_only: bool, limit: int) -> list[TaskRecord]:
        """Tasks that ``caller`` may see, newest first. Errors: ``store.*``."""
        own = {} if caller.sees_all else {"caller": str(caller)}
        where: dict[str, Any] = own | ({"ended_ms": 0} if open_only else {})
        found = await self._store.rows(TASKS).find(newest=True, limit=limit, **where)
        live = [self._now(self._open[each.id]) if each.id in self._open else each for each in found]
        return [each for each in live if caller.owns(each.caller, each.created_ms)]

    async def cancel(self, caller: Caller, task_id: str) -> TaskRecord:
        """End a task, and return when its work has ended. Errors: those of ``get``."""
        record = await self.get(caller, task_id)
        if record.id in self._open:
            await self._end(self._open[record.id], "cancelled")
        return await self.get(caller, task_id)

    async def question(self, caller: Caller, task_id: str) -> Question | None:
        """The question of a task to a person; None if it asks none. Errors: those of ``get``."""
        record = await self.get(caller, task_id)
        opened = self._open.get(record.id)
        return opened.pausing.question if opened is not None and opened.pausing is not None else None

    async def resume(self, caller: Caller, task_id: str, *, again: bool) -> TaskRecord:
        """Let a task go on that waits for a person. again: try the page again, else take it as it is.

        Errors: those of ``get``, ``task.not_paused``.
        """
        record = await self.get(caller, task_id)
        opened = self._open.get(record.id)
        if opened is None or opened.pausing is None or not opened.pausing.resume(again=again):
            raise MeshError("task.not_paused", f"{record.id} is {record.state}", state=record.state)
        await opened.events.grows(opened.events.last)
        return await self.get(caller, task_id)

    async def more(
        self, caller: Caller, task_id: str, *, seconds: int = 0, pictures: int = 0, navigations: int = 0
    ) -> TaskRecord:
        """Give a task other bounds; 0 for one that stays. A task that has ended stays as it is.

        Errors: those of ``get``.
        """
        record = await self.get(caller, task_id)
        if (opened := self._open.get(record.id)) is None:
            return record
        was = opened.work
        work = opened.work = replace(
            was,
            seconds=seconds or was.seconds,
            pictures=pictures or was.pictures,
            navigations=navigations or was.navigations,
        )
        names = {"seconds": work.seconds, "pictures_max": work.pictures, "navigations_max": work.navigations}
        opened.record = msgspec.structs.replace(opened.record, **names)
        opened.allowance.pictures_max, opened.allowance.navigations_max = work.pictures, work.navigations
        if opened.time is not None and work.seconds != opened.time.seconds:
            opened.time.allow(work.seconds)
        return await self.get(caller, task_id)

    async def _end(self, opened: _Open, reason: str) -> None:
        opened.reason = opened.reason or reason
        if opened.running is not None:
            opened.running.cancel()
        await opened.over.wait()

    # --- events ------------------------------------------------------------------------------------------------------

    async def events(
        self, caller: Caller, task_id: str, after: int, wait_s: float = 0
    ) -> tuple[list[EventRecord], TaskRecord]:
        """Events after number ``after``, and the task; waits up to ``wait_s`` for one. Errors: those of ``get``."""
        record = await self.get(caller, task_id)
        opened = self._open.get(record.id)
        if opened is not None and wait_s:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await opened.events.grows(after)
            record = await self.get(caller, task_id)
        return [event for event in record.events if event.number > after], record

    async def follow(self, caller: Caller, task_id: str, after: int = 0) -> AsyncIterator[EventRecord]:
        """Each event after number ``after`` as it happens, until the task has ended. Errors: those of ``get``."""
        while True:
            found, record = await self.events(caller, task_id, after, limits.FEED_WAIT_S_MAX)
            for event in found:
                yield event
                after = event.number
            if record.ended_ms:
                return


def _busy(message: str) -> MeshError:
    return MeshError("node.busy", message, retry_after_s=limits.TASK_RETRY_AFTER_S)


def _failed(error: MeshError) -> dict[str, Any]:
    shown = error.shown
    told = {"code": shown.code, "message": shown.message, "retryable": shown.retryable}
    return {"state": "failed", "detail": msgspec.json.encode(plain(shown.detail)), **told}
