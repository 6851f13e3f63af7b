"""Compares a recording with an earlier one of the same steps. Numbers that change by themselves are masked; any other change ends
it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from protocol.recording.pages.learning import Pair, learn_between, unlike
from protocol.recording.records.session import Mask, Step


class Earlier(msgspec.Struct, frozen=True, kw_only=True):
    """One step of the earlier recording."""

    step: Step
    text: str
    """Its snapshot."""


class Unlike(Exception):
    """A page differs from the earlier recording in more than numbers that may be masked."""

    def __init__(self, step: int, pairs: Sequence[Pair]) -> None:
        super().__init__(f"step {step}")
        self.step = step
        self.pairs = tuple(pairs)


class StepComparison:
    """Compares each step with the same step of an earlier recording."""

    def __init__(self, earlier: Sequence[Earlier]) -> None:
        self._earlier = earlier
        self._differences: tuple[Pair, ...] = ()
        self.learned: list[tuple[int, Pair]] = []
        """By step: the lines in which a number changed."""

    async def masks(self, index: int, text: str, masks: tuple[Mask, ...]) -> tuple[Mask, ...]:
        """The given ``masks`` of step ``index`` with snapshot ``text``, and those learned from the earlier recording."""
        earlier = self._earlier[index - 1]
        found = await asyncio.to_thread(learn_between, earlier.text, earlier.step.masks, text, masks)
        self._differences = found.differences
        self.learned += [(index, pair) for pair in found.lines]
        return found.masks

    def check(self, step: Step) -> None:
        """Called when ``step`` is stored. Raises ``Unlike`` if anything differs that no mask covers."""
        if not step.ok:
            return  # the error of the step ends the recording
        pairs = (*unlike(self._earlier[step.index - 1].step, step), *self._differences)
        if pairs:
            raise Unlike(step.index, pairs)
