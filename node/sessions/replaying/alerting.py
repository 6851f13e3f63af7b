"""Finds alerts on the pages of a replay that the recording lacks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from protocol.recording.pages.alerts import Alert, alerts, new_alerts
from protocol.recording.records.session import Step
from protocol.recording.records.snapshot import snapshot_text
from protocol.recording.replays.replay import Met

Stored = Callable[[Step], Awaitable[bytes | None]]
"""Returns the stored snapshot of a step; None if it is missing."""


class Alerting:
    """Compares the alerts of each page of one replay with those of the recording.

    Many alerts disappear after seconds, so the number of steps that see one depends on their speed. Therefore an alert is not new
    if the recorded step before or after had it, or if the previous page of the replay had it.
    """

    def __init__(self, stored: Stored) -> None:
        self._stored = stored
        self._before: frozenset[str] = frozenset()
        self._last: tuple[str, tuple[Alert, ...]] = ("", ())
        """The text of the last page, and its alerts."""
        self.steps: Sequence[Step] = ()
        """All steps of the replay, in order."""

    async def look(self, step: Step, met: Met, recorded: bytes | None) -> Met:
        """``met`` with the first new alert of its page, if there is a recorded text to compare with."""
        text = snapshot_text(recorded)
        if text is None or not await self._found(met, (text,)):
            return met
        beside = [snapshot_text(await self._stored(each)) or "" for each in self._beside(step)]
        return msgspec.structs.replace(met, alert=next(iter(await self._found(met, (text, *beside))), None))

    async def _found(self, met: Met, known: Sequence[str]) -> list[Alert]:
        if not (there := await self._alerts(met.text)):
            return []
        found = await asyncio.to_thread(new_alerts, there, met.title, known)
        return [one for one in found if one.key not in self._before]

    async def _alerts(self, text: str) -> tuple[Alert, ...]:
        if self._last[0] != text:
            self._last = text, await asyncio.to_thread(alerts, text)
        return self._last[1]

    def _beside(self, step: Step) -> list[Step]:
        place = next(i for i, each in enumerate(self.steps) if each.index == step.index)
        return [*self.steps[max(0, place - 1) : place], *self.steps[place + 1 : place + 2]]

    async def passed(self, met: Met) -> None:
        """The step that led to ``met`` is judged; alerts on its page are no longer new."""
        self._before = frozenset(one.key for one in await self._alerts(met.text))
