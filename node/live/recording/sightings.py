"""Remembers which elements were ever on a page of a recording, for assertions that an element is absent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from adapters.ports.browser import Page
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Assert, Locator
from protocol.page.actions.assertion import demands_absence
from protocol.page.actions.values import references
from protocol.page.seen.names import fold
from protocol.page.seen.observation import Observation


class Sightings:
    """The elements that the pages of one recording have shown.

    An assertion that a misspelt name is hidden holds on every page and can never fail. So it is trusted only if the element was
    there before.
    """

    def __init__(self, page: Page) -> None:
        self._page = page
        self._named: set[tuple[str, str, str]] = set()
        self._awaited: dict[tuple[str, str], bool] = {}
        """By frame and selector of a later assertion of absence: True if the element was seen."""

    def expect(self, actions: Iterable[Action]) -> None:
        """Note the actions that will be recorded: their selectors must be tried while the element may still be there."""
        for action in actions:
            if isinstance(action, Assert) and action.target is not None and demands_absence(action):
                for selector in action.target.selectors:
                    if not references(selector) and len(self._awaited) < limits.ABSENT_SELECTORS_MAX:
                        self._awaited.setdefault((action.target.frame, selector), False)

    async def judge(self, action: Action, page: Observation | None) -> bool:
        """True if ``action`` asserts the absence of an element that no page so far has shown. Afterwards ``page`` counts as shown
        too.
        """
        is_unseen = isinstance(action, Assert) and demands_absence(action) and self._lacks(action.target)
        if page is not None:
            await asyncio.to_thread(self._note, page)
            for (frame, selector), seen in self._awaited.items():
                if not seen:
                    self._awaited[frame, selector] = await self._fits(selector, frame)
        return is_unseen

    def _note(self, page: Observation) -> None:
        self._named.update((item.frame, item.role, item.name) for item in page.elements)

    def _lacks(self, target: Locator | None) -> bool:
        if target is None or references(target.name):
            return False
        if target.selectors:
            return all(self._awaited.get((target.frame, selector), True) is False for selector in target.selectors)
        wanted = fold(target.name)
        return not any(
            frame == target.frame and target.role in ("", role) and wanted in ("", fold(name))
            for frame, role, name in self._named
        )

    async def _fits(self, selector: str, frame: str) -> bool:
        """True if the selector finds an element. A selector that cannot be tried counts as found."""
        try:
            return await self._page.find(selector, frame) is not None
        except MeshError:
            return True  # several elements, or one that is not visible
