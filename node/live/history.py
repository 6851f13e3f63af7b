"""What presses of controls did on this node before: read from the store by origin, and added to by probes and presses."""

from __future__ import annotations

from typing import Final, Protocol

from adapters.ports import Clock, HistoryRecord, HistoryStore
from protocol.page.action import Action, Check, Click
from protocol.page.observation import Element, Observation
from protocol.risk.history import Past, Press, after, element_key, evidence_of
from protocol.risk.judgement import Evidence
from protocol.trust.origin import origin_of

_ORIGINS_MAX: Final = 32
"""Origins whose records are in memory; a search visits few."""


class Known(Protocol):
    """What is known of controls of pages."""

    async def about(self, url: str) -> None:
        """Get ready for questions about pages of the origin of ``url``. Errors: ``store.*``."""

    def of(self, action: Action, element: Element, page: Observation) -> Evidence | None:
        """What ``action`` did on this form of element before; None if too little is known."""

    async def note(self, element: Element, page: Observation, press: Press) -> None:
        """Keep what a press of ``element`` did on this node. Errors: ``store.*``."""


class Nothing:
    """Knows nothing and keeps nothing. Implements ``Known``."""

    async def about(self, url: str) -> None:
        """Implements ``Known.about``."""

    def of(self, action: Action, element: Element, page: Observation) -> Evidence | None:
        """Implements ``Known.of``."""

    async def note(self, element: Element, page: Observation, press: Press) -> None:
        """Implements ``Known.note``."""


class History:
    """What this node has observed itself. Implements ``Known``."""

    def __init__(self, key: bytes, store: HistoryStore, clock: Clock) -> None:
        """key: of this installation; without it nobody can tell which controls are meant."""
        self._key, self._store, self._clock = key, store, clock
        self._origins: dict[str, dict[bytes, Past]] = {}

    async def about(self, url: str) -> None:
        """Implements ``Known.about``."""
        await self._read(origin_of(url))

    async def _read(self, origin: str) -> dict[bytes, Past]:
        if origin not in self._origins:
            found = await self._store.history(origin) if origin else []
            self._origins.setdefault(origin, {each.key: each.past for each in found})
            for old in list(self._origins)[:-_ORIGINS_MAX]:
                del self._origins[old]
        return self._origins[origin]

    def key(self, element: Element, page: Observation) -> bytes:
        """What ``element`` is known again by."""
        return element_key(element, page, self._key)

    def of(self, action: Action, element: Element, page: Observation) -> Evidence | None:
        """Implements ``Known.of``."""
        known = self._origins.get(origin_of(page.url))
        if not known or not is_press(action):
            return None
        return evidence_of(known.get(self.key(element, page)), self._clock.now_ms())

    async def note(self, element: Element, page: Observation, press: Press) -> None:
        """Implements ``Known.note``."""
        origin = origin_of(page.url)
        if not origin:
            return
        known, key = await self._read(origin), self.key(element, page)
        before = known.get(key, Past())
        known[key] = now = after(before, press, self._clock.now_ms())
        if now != before:
            await self._store.put_history(HistoryRecord(key=key, origin=origin, past=now))


def is_press(action: Action) -> bool:
    """Whether ``action`` is a plain press: what is known of those says nothing about a double click or a menu."""
    return isinstance(action, Check) or (isinstance(action, Click) and (action.button, action.count) == ("left", 1))
