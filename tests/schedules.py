"""Schedules over the in-memory twins: the real room, a scripted search, a clock that can be set."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from adapters.ports.store import Store
from adapters.schedule_records import RunRecord, ScheduleRecord
from node.schedules import ScheduledSearchResult, Schedules
from node.signing import Feed
from node.verbs import Tell
from protocol import ids
from protocol.errors import MeshError
from protocol.goal.condition import Condition
from protocol.schedule import Misfire
from tests.twins.clock import START_MS, ManualClock
from tests.twins.notify import MemoryNotifier

HOUR_MS = 3_600_000
SCHEDULE = ids.make_id("sch", bytes(13))


class SetClock(ManualClock):
    """A manual clock whose time of day can be set; sleepers do not notice."""

    def __init__(self, *, now_ms: int = START_MS, seed: int = 0) -> None:
        super().__init__(now_ms=now_ms, seed=seed)
        self.ahead_ms = 0

    def now_ms(self) -> int:
        """``adapters.ports.Clock.now_ms``."""
        return super().now_ms() + self.ahead_ms


class ScriptedSearches:
    """Implements ``node.schedules.Searching``: a search lasts as long as it is told, and ends as it is told."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.began: list[str] = []
        self.stopped: list[str] = []
        self.open: set[str] = set()
        self.most = 0
        """How many went on at once, at most."""
        self.lasts_s: Callable[[], float] = lambda: 5.0
        self.reason: Callable[[], str] = lambda: ""

    def new_id(self) -> str:
        """Implements ``Searching.new_id``."""
        return ids.make_id("sea", self._clock.random(ids.ID_RANDOM_BYTES))

    async def search(self, record: ScheduleRecord, search_id: str, tell: Tell) -> ScheduledSearchResult:
        """Implements ``Searching.search``."""
        self.began.append(search_id)
        self.open.add(search_id)
        self.most = max(self.most, len(self.open))
        try:
            await self._clock.sleep(self.lasts_s())
        except asyncio.CancelledError:
            self.stopped.append(search_id)
            raise
        finally:
            self.open.discard(search_id)
        reason = self.reason()
        if reason.startswith("browser."):
            raise MeshError(reason)
        return ScheduledSearchResult(reason=reason, session="" if reason else "ses-1")

    async def stop(self, search_id: str) -> None:
        """Implements ``Searching.stop``."""
        self.stopped.append(search_id)
        self.open.discard(search_id)


def schedule(**changes: object) -> ScheduleRecord:
    """Every hour, from the start of the clock."""
    made = ScheduleRecord(
        id=SCHEDULE,
        version=1,
        created_ms=START_MS,
        goal="find it",
        start_url="https://shop.example/",
        until=Condition(title="Found"),
        peers=(),
        seconds=60,
        seed=0,
        every_s=3_600,
        misfire=Misfire.RUN_ONCE,
        notify_on="failed",
        scopes=("explore",),
        decided_ms=START_MS,
    )
    return msgspec.structs.replace(made, **changes)


class Bench:
    """One node's schedules."""

    def __init__(self, store: Store, clock: SetClock | None = None) -> None:
        self.clock = clock or SetClock()
        self.store = store
        self.searches = ScriptedSearches(self.clock)
        self.notifier = MemoryNotifier()
        self.room = Schedules(store, self.clock, self.searches, self.notifier, Feed(store, self.clock, lambda: "owner"))

    async def add(self, **changes: object) -> ScheduleRecord:
        """A schedule that runs from now on."""
        now_ms = self.clock.now_ms()
        return await self.room.add(schedule(**{"created_ms": now_ms, "decided_ms": now_ms, **changes}))

    async def runs(self) -> list[RunRecord]:
        """Every record, oldest first."""
        return (await self.store.runs_of(SCHEDULE, limit=1_000))[::-1]

    async def statuses(self) -> list[str]:
        """The outcomes of the due times, oldest first."""
        return [run.status.value for run in await self.runs()]
