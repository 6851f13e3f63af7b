"""What presses of controls did on this node before: read from the store by origin, and added to by probes and presses."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, Protocol

from adapters.ports import Clock, HistoryRecord, HistoryStore
from protocol.page.action import Action
from protocol.page.observation import Element, Observation
from protocol.risk.history import Deed, Past, Press, after, deed_of, element_key, evidence_of, has_label
from protocol.risk.judgement import APPROVAL_CLASS, Evidence
from protocol.risk.pressing import only_reads
from protocol.risk.requests import GuardPolicy
from protocol.trust.origin import origin_of

_ORIGINS_MAX: Final = 32
"""Origins whose records are in memory; a search visits few."""


class Known(Protocol):
    """What is known of controls of pages."""

    @property
    def wary(self) -> bool:
        """Whether it is also asked about controls that are harmless only by what they say (``Risk.unproven``)."""

    async def about(self, url: str) -> None:
        """Get ready for questions about pages of the origin of ``url``. Errors: ``store.*``."""

    def of(self, action: Action, element: Element, page: Observation) -> Evidence | None:
        """What ``action`` did on this form of element before; None if too little is known."""

    async def note(self, element: Element, page: Observation, press: Press, deed: Deed = "press") -> None:
        """Keep what a press of ``element`` did on this node, or another ``deed``. Errors: ``store.*``."""


class Nothing:
    """Knows nothing and keeps nothing. Implements ``Known``."""

    wary = False

    async def about(self, url: str) -> None:
        """Implements ``Known.about``."""

    def of(self, action: Action, element: Element, page: Observation) -> Evidence | None:
        """Implements ``Known.of``."""

    async def note(self, element: Element, page: Observation, press: Press, deed: Deed = "press") -> None:
        """Implements ``Known.note``."""


class Held:
    """What is known, for work under a guard. Implements ``Known``.

    A probe sees what a control tries at once, and in the state in which the page was. Where something else than reading is allowed,
    that is not enough for a press without an approval: what was tried later, or at the last step of several, would be sent.
    """

    def __init__(self, known: Known, guard: GuardPolicy, *, wary: bool = False) -> None:
        """wary: for a search, which presses whatever it likes. A recording or a replay presses what somebody has named."""
        self._known, self._guard = known, guard
        self.wary = wary

    async def about(self, url: str) -> None:
        """Implements ``Known.about``."""
        await self._known.about(url)

    def of(self, action: Action, element: Element, page: Observation) -> Evidence | None:
        """Implements ``Known.of``."""
        found = self._known.of(action, element, page)
        lowers = found is not None and found.level < APPROVAL_CLASS
        return None if lowers and not only_reads(self._guard) else found

    async def note(self, element: Element, page: Observation, press: Press, deed: Deed = "press") -> None:
        """Implements ``Known.note``."""
        await self._known.note(element, page, press, deed)


class History:
    """What this node has observed itself. Implements ``Known``."""

    wary = False

    def __init__(self, key: bytes, store: HistoryStore, clock: Clock) -> None:
        """key: of this installation; without it nobody can tell which controls are meant."""
        self._key, self._store, self._clock = key, store, clock
        self._origins: OrderedDict[str, dict[bytes, Past]] = OrderedDict()
        """Those that were asked about last come last."""

    async def about(self, url: str) -> None:
        """Implements ``Known.about``."""
        await self._read(origin_of(url))

    async def _read(self, origin: str) -> dict[bytes, Past]:
        if origin not in self._origins:
            found = await self._store.history(origin) if origin else []
            self._origins.setdefault(origin, {each.key: each.past for each in found})
            for old in list(self._origins)[:-_ORIGINS_MAX]:
                del self._origins[old]
        self._origins.move_to_end(origin)
        return self._origins[origin]

    def key(self, element: Element, page: Observation, deed: Deed = "press") -> bytes:
        """What ``element`` is known again by, of one deed."""
        return element_key(element, page, self._key, deed)

    def of(self, action: Action, element: Element, page: Observation) -> Evidence | None:
        """Implements ``Known.of``."""
        known = self._origins.get(origin_of(page.url))
        deed = deed_of(action)
        if not known or not deed:
            return None
        key = self.key(element, page, deed)
        found = evidence_of(known.get(key), self._clock.now_ms())
        lowers = found is not None and found.level < APPROVAL_CLASS
        return None if lowers and not self._alone(element, page, key, deed) else found

    def was_pressed(self, element: Element, page: Observation, deed: Deed = "press") -> bool:
        """Whether a press of this form of element, or another ``deed``, has shown anything before."""
        return self.key(element, page, deed) in self._origins.get(origin_of(page.url), {})

    def _alone(self, element: Element, page: Observation, key: bytes, deed: Deed) -> bool:
        """Whether what is known by ``key`` can only mean ``element``: without a label it means every such control of a page."""
        if has_label(element):
            return True
        # A page can have a thousand of them, and all of them can be asked about.
        made: tuple[History, dict[bytes, set[str]]] | None = page.kept.get(f"alike {deed}")
        if made is None or made[0] is not self:
            alike: dict[bytes, set[str]] = {}
            for other in page.elements:
                if not has_label(other):
                    alike.setdefault(self.key(other, page, deed), set()).add(other.ref)
            made = page.kept[f"alike {deed}"] = (self, alike)
        return not made[1].get(key, set()) - {element.ref}

    async def note(self, element: Element, page: Observation, press: Press, deed: Deed = "press") -> None:
        """Implements ``Known.note``."""
        origin = origin_of(page.url)
        if not origin:
            return
        known, key = await self._read(origin), self.key(element, page, deed)
        before = known.get(key, Past())
        known[key] = now = after(before, press, self._clock.now_ms())
        if now != before:
            await self._store.put_history(HistoryRecord(key=key, origin=origin, past=now))
