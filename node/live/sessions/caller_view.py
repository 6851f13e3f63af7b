"""The pages of a live session as its caller knows them: the lines that it was shown, and the next ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from node.live.sessions.acts import FieldValue
from protocol import limits
from protocol.errors import MeshError
from protocol.goal.choosing import Choice, choose
from protocol.goal.goal import Goal
from protocol.page.actions.action import Action, Check, Drag, Fill, Secret, Select, target_of, with_target
from protocol.page.actions.locator import locate
from protocol.page.seen.observation import CHECKABLE_ROLES, Observation
from protocol.page.showing.element_ids import ElementIds, Named, id_in
from protocol.page.showing.outline import below, outline
from protocol.page.showing.table import Lines, Table, change, holds, matching, part, parted, row, table
from protocol.wire.line import one_line

_ON: Final = frozenset({"on", "true", "yes", "1"})
_OFF: Final = frozenset({"off", "false", "no", "0"})


class CallerView:
    """The pages of one live session, as its caller knows them."""

    def __init__(self, plain: Callable[[str], str]) -> None:
        """plain: takes secrets out of a text for the caller."""
        self._ids, self._plain = ElementIds(plain), plain
        self._named: Named | None = None
        self._told: Table | None = None
        self._place = ("", "")

    def forget(self) -> None:
        """Another page is the current one: its caller has not seen it."""
        self._named = self._told = None
        self._place = ("", "")

    def place_told(self) -> bool:
        """True if the caller knows where it is: address and title were asked for here before, and both are the same."""
        before, self._place = self._place, (self.named.observation.url, self.named.observation.title)
        return before == self._place

    async def see(self, observation: Observation, identities: Mapping[str, str]) -> None:
        """The page is ``observation`` now. identities: ``Page.identities`` of it."""
        # In a thread: for a large page it takes too long for the event loop.
        self._named = await asyncio.to_thread(self._ids.name, observation, identities)

    @property
    def named(self) -> Named:
        """The page as it was seen last; there must be one."""
        assert self._named is not None, "the page was seen"
        return self._named

    # --- acting ---

    def placed(self, action: Action | FieldValue) -> Action:
        """``action`` with real locators in place of those ``by_id``. Errors: ``live.stale_ref``, ``input.invalid``."""
        if isinstance(action, FieldValue):
            return self._filled(action)
        target = target_of(action)
        if target is not None and (given := id_in(target)):
            action = with_target(action, self._ids.locator(given, self.named))
        if isinstance(action, Drag) and (given := id_in(action.onto)):
            action = msgspec.structs.replace(action, onto=self._ids.locator(given, self.named))
        return action

    def _filled(self, field: FieldValue) -> Action:
        element = self._ids.element(id_in(field.target), self.named)
        target, value, limit_ms = locate(element, self.named.observation), field.value, field.timeout_ms
        if isinstance(value, Secret):
            return Fill(target=target, value=value, timeout_ms=limit_ms)
        if element.role in CHECKABLE_ROLES:
            if (word := value.strip().casefold()) not in _ON | _OFF:
                raise MeshError("input.invalid", f"{id_in(field.target)} is a {element.role}: give on or off")
            return Check(target=target, checked=word in _ON, timeout_ms=limit_ms)
        if element.options or element.traits.tag == "select":
            return Select(target=target, option=value, timeout_ms=limit_ms)
        return Fill(target=target, value=value, timeout_ms=limit_ms)

    # --- showing ---

    async def table(self, number: int = 1) -> Lines:
        """The ``number``-th part of the action table, from 1."""
        now = await asyncio.to_thread(table, self.named, self._plain)
        return self._shown(part(now, number), now if number == 1 else None)

    async def change(
        self, did: Iterable[tuple[str, Action]] = (), bytes_max: int = limits.TABLE_BYTES
    ) -> tuple[Lines, bool]:
        """The difference to the page as the caller last saw it; or the table of another page, and True.

        did: the actions since then, with the ids of their elements.
        """
        before, now = self._told, await asyncio.to_thread(table, self.named, self._plain)
        if before is None:
            return self._shown(part(now, 1, bytes_max), now), True
        asked = frozenset(given for given, action in did if self._holds(given, action))
        lines, whole = await asyncio.to_thread(change, before, now, asked, bytes_max)
        return self._shown(lines, now), whole

    def _holds(self, given: str, action: Action) -> bool:
        """True if the field with this id holds what ``action`` has put into it, and has not changed in any other way."""
        told, now = self._ids.told(given), self.named.element(given)
        return told is not None and now is not None and holds(action, told, now)

    async def snapshot(self, number: int = 1, focus: str = "") -> Lines:
        """The ``number``-th part of the whole page, from 1, or of the content of the element with the id ``focus``.

        Errors: ``input.not_found`` (no element of the page has this id).
        """
        lines = await asyncio.to_thread(outline, self.named, self._plain)
        if focus and not (lines := below(lines, focus)):
            raise MeshError("input.not_found", f"no element {focus[:40]} on this page")
        now = await asyncio.to_thread(table, self.named, self._plain)
        return self._shown(
            parted(lines, number, limits.SNAPSHOT_PART_BYTES), now if number == 1 and not focus else None
        )

    async def find(self, wanted: str, number: int = 1) -> Lines:
        """The lines of the page that contain ``wanted`` or have this role. If there are none, a remark says so."""
        lines = await asyncio.to_thread(matching, self.named, wanted, self._plain)
        lines = lines or [("", f"# nothing on this page contains “{one_line(self._plain(wanted))}”")]
        return self._shown(parted(lines, number, limits.TABLE_BYTES), None)

    async def choose(self, goal: Goal) -> tuple[Choice, str, str] | None:
        """The thing that a search for ``goal`` would try first, the id of its element and the line of it."""
        choice = await asyncio.to_thread(choose, goal, self.named.observation)
        if choice is None:
            return None
        given = self.named.id(choice.element.ref)
        line = row(choice.element, given, self._plain, context=True)
        self._shown(Lines((line,), (given,)), None)
        return choice, given, line

    def _shown(self, lines: Lines, now: Table | None) -> Lines:
        """Note that the caller is shown ``lines``. now: the table from which the next difference is told, if that is another."""
        self._ids.tell(self.named, lines.ids)
        self._told = now or self._told
        return lines
