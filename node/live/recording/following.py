"""Follows an earlier recording while its steps are recorded anew: what changed by itself is learned, anything else ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from protocol.recording.pages.learning import Pair, learn_between, unlike
from protocol.recording.records.session import Mask, Step


class Earlier(msgspec.Struct, frozen=True, kw_only=True):
    """One step as it was recorded before."""

    step: Step
    text: str
    """Its snapshot."""


class Unlike(Exception):
    """A page is not as it was recorded before, besides numbers that may be masked."""

    def __init__(self, step: int, pairs: Sequence[Pair]) -> None:
        super().__init__(f"step {step}")
        self.step = step
        self.pairs = tuple(pairs)


class Following:
    """Compares each step with the same one of an earlier recording."""

    def __init__(self, earlier: Sequence[Earlier]) -> None:
        self._earlier = earlier
        self._differences: tuple[Pair, ...] = ()
        self.learned: list[tuple[int, Pair]] = []
        """By step, the lines in which a number was seen to change."""

    async def masks(self, index: int, text: str, masks: tuple[Mask, ...]) -> tuple[Mask, ...]:
        """``masks`` of the step ``index``, whose text this is, and what was learned."""
        earlier = self._earlier[index - 1]
        found = await asyncio.to_thread(learn_between, earlier.text, earlier.step.masks, text, masks)
        self._differences = found.differences
        self.learned += [(index, pair) for pair in found.lines]
        return found.masks

    def check(self, step: Step) -> None:
        """Called once ``step`` is stored. Raises ``Unlike`` if anything differs that is not learned."""
        if not step.ok:
            return  # its error ends the recording
        pairs = (*unlike(self._earlier[step.index - 1].step, step), *self._differences)
        if pairs:
            raise Unlike(step.index, pairs)
