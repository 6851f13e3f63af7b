"""Waits for the element of an action that has a time limit of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from adapters.ports import Page
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Assert, Wait
from protocol.page.seen.observation import Observation

T = TypeVar("T")

NOT_FOUND: Final = frozenset(
    {"action.target_missing", "action.target_ambiguous", "action.target_differs", "action.not_possible"}
)
"""Errors of an element that a page may still bring, or take away."""
_NOT_YET: Final = NOT_FOUND | {"page.cut"}
_PAUSES_MS: Final = (50, 100, 250, 500)
_LEAST_MS: Final = 1_000  # for what is left of an action whose element came at the last moment


class TimeLimit:
    """The time that an action has, from now on."""

    def __init__(self, action: Action) -> None:
        # An assertion and a wait keep their time themselves: they have one in any case.
        self._limit_ms = 0 if isinstance(action, Assert | Wait) else action.timeout_ms
        self._clock = asyncio.get_running_loop().time
        self._began = self._clock()

    @property
    def _left_ms(self) -> int:
        return self._limit_ms - round(1_000 * (self._clock() - self._began))

    @property
    def rest_ms(self) -> int:
        """What is left for the page to do it; 0 for the limit of its kind."""
        return max(self._left_ms, min(self._limit_ms, _LEAST_MS))

    async def find(self, page: Page, observation: Observation, look: Callable[[Observation], Awaitable[T]]) -> T:
        """The result of ``look`` on ``observation``, or on a later one: an element may come late.

        Errors: those of ``look``; those of ``_NOT_YET`` once the time is over.
        """
        number = 0
        while True:
            try:
                return await look(observation)
            except MeshError as error:
                if error.code not in _NOT_YET or self._left_ms <= 0:
                    raise
            await page.pause(min(self._left_ms, _PAUSES_MS[min(number, len(_PAUSES_MS) - 1)]))
            number += 1
            observation = await page.observe()
