"""Waits for the element of an action that has a time limit of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from adapters.ports.browser import Page
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Assert, Wait
from protocol.page.seen.observation import Observation

T = TypeVar("T")

NOT_FOUND: Final = frozenset(
    {"action.target_missing", "action.target_ambiguous", "action.target_differs", "action.not_possible"}
)
"""Errors about an element that the page may still add or remove."""
_NOT_YET: Final = NOT_FOUND | {"page.cut"}
_PAUSES_MS: Final = (50, 100, 250, 500)
_LEAST_MS: Final = 1_000  # the time left for an action whose element appeared at the last moment


class TimeLimit:
    """The remaining time of an action, counted from the creation of this object."""

    def __init__(self, action: Action) -> None:
        # An assertion or a wait keeps its own time, because it always has a limit.
        self._limit_ms = 0 if isinstance(action, Assert | Wait) else action.timeout_ms
        self._clock = asyncio.get_running_loop().time
        self._began = self._clock()

    @property
    def _left_ms(self) -> int:
        return self._limit_ms - round(1_000 * (self._clock() - self._began))

    @property
    def rest_ms(self) -> int:
        """The time left for the page to perform the action; 0 for the limit of its kind."""
        return max(self._left_ms, min(self._limit_ms, _LEAST_MS))

    async def find(self, page: Page, observation: Observation, look: Callable[[Observation], Awaitable[T]]) -> T:
        """The result of ``look`` on ``observation`` or a later observation, because an element may appear late.

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
