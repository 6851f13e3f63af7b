"""The stored schedules: a change is stored only if no other was stored since the schedule was read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from adapters.ports.store import Store
from adapters.schedule_records import RunRecord, ScheduleRecord
from protocol.errors import MeshError

TRIES: Final = 8
"""How often a change is retried because another change was stored first."""
Change = Callable[[ScheduleRecord], ScheduleRecord]


class KeptSchedules:
    """Schedules in the store, each with the number of its version."""

    def __init__(self, store: Store, owner: str) -> None:
        """owner: the process that changes them."""
        self._store, self._owner = store, owner
        self.changed = asyncio.Event()
        """Set with every change that may make something due."""

    async def keep(self, was: ScheduleRecord, record: ScheduleRecord, runs: list[RunRecord]) -> bool:
        """Store a change if the schedule still has the version that was read. All changes and new records use this."""
        record = msgspec.structs.replace(record, version=was.version + 1, owner=self._owner)
        return await self._store.keep_schedule(record, was=was.version, runs=runs)

    async def change(self, schedule_id: str, change: Change) -> ScheduleRecord | None:
        """Apply ``change`` and return the schedule; None if it does not exist. Errors: ``store.*``."""
        for _ in range(TRIES):
            record = await self._store.schedule(schedule_id)
            if record is None:
                return None
            if await self.keep(record, change(record), []):
                self.changed.set()
                return await self._store.schedule(schedule_id)
        raise MeshError("internal.fault", "the schedule is being changed too often")
