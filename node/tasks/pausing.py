"""Waits on behalf of a task whose site turns it away: for the time that the site asks for, or for a person."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from adapters.ports.clock import Clock
from node.base.tasks import any_of
from node.tasks.events import Events
from node.tasks.time_limit import TaskTime
from protocol import limits
from protocol.errors import MeshError
from protocol.page.seen.turned_away import TurnedAway, wait_s

Pauses = Callable[[str], Awaitable[None]]
"""``(state)``: stores that the task is ``paused``, or ``running`` again."""
_PERSON: Final = "look at its picture, then `trailmesh task resume {}`, or `task cancel`"


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """The reason why a task waits for a person."""

    why: str
    picture: bytes = b""
    """The page, without secrets; empty if no picture could be taken."""


class Pausing:
    """Implements ``node.live.acting.Waits`` for one task."""

    def __init__(
        self,
        task: str,
        events: Events,
        clock: Clock,
        time: TaskTime,
        end: Callable[[MeshError], None],
        pauses: Pauses,
    ) -> None:
        """end: ends it with an error."""
        self._task, self._events, self._clock, self._time = task, events, clock, time
        self._end, self._pauses = end, pauses
        self.question: Question | None = None
        """The question to the person, while there is one."""
        self._answer: asyncio.Future[bool] | None = None
        self._asking = asyncio.Lock()
        self._taken: set[str] = set()
        """Sites whose pages are taken as they are."""

    @property
    def paused(self) -> bool:
        """``Waits.paused``"""
        return self.question is not None

    async def later(self, turned: TurnedAway, attempt: int) -> None:
        """``Waits.later``"""
        seconds = wait_s(turned, self._clock.now_ms(), attempt)
        asked = math.ceil(seconds)
        if seconds > min(self._time.left_s, limits.SITE_WAIT_S_MAX) or attempt >= limits.SITE_WAITS_MAX:
            told = f"{turned.why}: the task may not wait for {asked} s" + (
                f" after {attempt} times before" if attempt else ""
            )
            error = MeshError("site.busy", told, site=turned.site, status=turned.status, retry_after_s=asked)
            self._fail(error)
        self._events.tell({"waits_s": asked, "because": turned.why})
        await self._clock.sleep(seconds)

    async def person(self, turned: TurnedAway, picture: bytes) -> bool:
        """``Waits.person``"""
        async with self._asking:
            if turned.site in self._taken:
                return False
            again = await self._asked(turned, picture)
            if not again:
                self._taken.add(turned.site)
            return again

    async def _asked(self, turned: TurnedAway, picture: bytes) -> bool:
        self._time.stop()
        self.question = Question(why=turned.why, picture=picture)
        self._answer = asyncio.get_running_loop().create_future()
        self._events.state("paused")
        self._events.tell({"asks": turned.why, "then": _PERSON.format(self._task)})
        try:
            await self._pauses("paused")
            await any_of(_until(self._answer), self._clock.sleep(limits.TASK_PAUSE_S_MAX))
            if not self._answer.done():
                told = f"{turned.why}, and nobody answered for {limits.TASK_PAUSE_S_MAX // 60} minutes"
                self._fail(MeshError("site.person", told, site=turned.site))
            return self._answer.result()
        finally:
            self.question = None
            self._time.go_on()
            if self._answer.done():
                self._events.state("running")
                await self._pauses("running")

    def resume(self, *, again: bool) -> bool:
        """Go on; False if the task waits for nobody."""
        if self._answer is None or self._answer.done() or self.question is None:
            return False
        self._answer.set_result(again)
        return True

    def _fail(self, error: MeshError) -> None:
        self._end(error)
        raise error


async def _until(answer: asyncio.Future[bool]) -> None:
    await asyncio.shield(answer)
