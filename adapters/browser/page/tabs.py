"""The tabs of one session. One tab is in front: every action and observation happens there.

A tab that a page opens during an action comes to the front, as in any browser. When a tab is closed, by ``close_tab`` or by
itself, the tab that was in front before comes back.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from adapters.browser.egress import Windows
from adapters.browser.page.page import ChromiumPage, arrival_ms
from adapters.ports.browser import NOTHING, ActionOutcome, Blocked, Given, Leaving
from adapters.ports.outcomes import both
from protocol import limits
from protocol.approval.leaving import Fate
from protocol.errors import MeshError
from protocol.page.actions.action import Action, CloseTab, Locator, SwitchTab, Wait
from protocol.page.actions.downloads import Download
from protocol.page.actions.fits import Grade
from protocol.page.instructions.hidden_text import HiddenTexts
from protocol.page.secrets.secrets import Secrets
from protocol.page.seen.observation import Cut, Element, Observation
from protocol.page.showing.covering import Covering
from protocol.page.showing.markup import Markup

T = TypeVar("T")

_DOWNLOADED_S: Final = 0.5
_BEGINS_S: Final = 2.0
"""The time to wait for the first request of an announced window, and then for the next window; ``javascript:`` never sends one."""


class Tabs:
    """``adapters.ports.Page`` on the pages of one context."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._tabs: dict[int, ChromiumPage] = {}
        """The open tabs, by number."""
        self._all: dict[int, ChromiumPage] = {}
        """All tabs, including closed ones, because their downloads and refusals still count."""
        self._fronts: list[int] = []
        """Numbers of the tabs that were in front, the current one last."""

    def add(self, number: int, page: ChromiumPage) -> None:
        """A tab can be driven from now on. The first one is in front; ``perform`` brings others there."""
        self._tabs[number] = self._all[number] = page
        if not self._fronts:
            self._fronts.append(number)

    @property
    def is_open(self) -> bool:
        """True if any tab can still be driven."""
        return any(page.is_open for page in self._tabs.values())

    # --- the tab in front ---

    @property
    def _front(self) -> ChromiumPage:
        """The page in front. Errors: ``action.tab_missing`` (it has closed itself)."""
        self._require_front()
        return self._all[self._fronts[-1]]

    def _require_front(self) -> None:
        number = self._fronts[-1]
        if self.is_open and not self._all[number].is_open:
            # Not the next tab, because the next action was meant for this tab and would run on another page.
            raise MeshError(
                "action.tab_missing", f"tab {number} has closed itself: say `switch_tab` for what comes next"
            )

    def _come(self, number: int) -> ChromiumPage:
        """Bring a tab to the front."""
        self._fronts = [each for each in self._fronts if each != number and self._all[each].is_open]
        self._fronts.append(number)
        return self._tabs[number]

    async def _shown(
        self, page: ChromiumPage, action: Action, expect: bytes | None, secrets: Secrets | None
    ) -> ActionOutcome:
        """The outcome on the tab that ``action`` brought to the front. Its document may take as long as the action allows."""
        await page.to_front()
        return await page.perform(Wait(), expect=expect, secrets=secrets, given=Given(arrival_ms=arrival_ms(action)))

    def _told(self, outcome: ActionOutcome, *, opened: bool = False) -> ActionOutcome:
        """``outcome`` with the number of the tab, and with the refusals of other tabs since."""
        rest = self.blocked()
        return msgspec.structs.replace(
            outcome,
            tab=opened,
            on_tab=self._fronts[-1],
            blocked=(*outcome.blocked, *rest.requests),
            blocked_by=(*outcome.blocked_by, *rest.rules),
        )

    # --- performing ---

    async def perform(
        self,
        action: Action,
        *,
        ref: str | None = None,
        expect: bytes | None = None,
        secrets: Secrets | None = None,
        timeout_ms: int = 0,
        given: Given = NOTHING,
    ) -> ActionOutcome:
        """``adapters.ports.Page.perform``; on the tab in front, and on the one that it opens."""
        if isinstance(action, SwitchTab):
            page = await self._tab(action.tab, timeout_ms)
            return self._told(await self._shown(page, action, expect, secrets))
        if isinstance(action, CloseTab):
            return self._told(await self._shown(await self._without_front(), action, expect, secrets))
        front, before = self._front, self._windows.opened
        expected = self._windows.begun + self._windows.refused
        try:
            outcome = await front.perform(
                action, ref=ref, expect=expect, secrets=secrets, timeout_ms=timeout_ms, given=given
            )
        except MeshError as error:
            if error.code != "browser.crashed" or front.is_open or not self.is_open:
                raise
            return self._told(await self._shown(self._next(), action, expect, secrets))
        limit_s = _DOWNLOADED_S if outcome.downloads else limits.NAVIGATION_TIMEOUT_MS / 1000
        opened = await self._opened(before, expected + front.announced, limit_s, lambda: front.downloading)
        if front.downloading:
            downloads = (*outcome.downloads, *await front.downloaded())[: limits.DOWNLOADS_PER_STEP_MAX]
            outcome = msgspec.structs.replace(outcome, downloads=downloads)
        if opened is None:
            return self._told(outcome)
        return self._told(both(outcome, await self._shown(opened, action, expect, secrets)), opened=True)

    async def _opened(
        self, before: int, expected: int, limit_s: float, downloading: Callable[[], bool]
    ) -> ChromiumPage | None:
        """The last tab after ``before``, when all of these can be driven; None if there is none.

        expected: the number of windows in the whole session that must have begun to open or been refused by then.
        """
        began = stirred = time.monotonic()
        known = 0
        while (now := time.monotonic()) - began < limit_s:
            if (there := self._windows.begun + self._windows.refused) != known:
                known, stirred = there, now
            missing = known < expected and now - stirred < _BEGINS_S
            if not missing and not self._windows.coming(before):
                break
            if downloading():  # a window that became a download sends nothing more
                limit_s = min(limit_s, now - began + _DOWNLOADED_S)
            end = min(stirred + _BEGINS_S, began + limit_s) if missing else began + limit_s
            await self._windows.changed(min(end - now, _DOWNLOADED_S))
        self._windows.give_up(before)
        new = [number for number, page in self._tabs.items() if number > before and page.is_open]
        return self._come(max(new)) if new else None

    async def _tab(self, number: int, timeout_ms: int) -> ChromiumPage:
        """The tab with this number. Errors: ``action.tab_missing``."""
        end = time.monotonic() + (timeout_ms or limits.STEP_TIMEOUT_MS) / 1000
        while number not in self._tabs and (left := end - time.monotonic()) > 0:
            await self._windows.changed(left)
        page = self._tabs.get(number)
        if page is None or not page.is_open:
            there = ", ".join(str(each) for each, page in sorted(self._tabs.items()) if page.is_open)
            gone = "was closed" if page else "was not opened"
            raise MeshError("action.tab_missing", f"tab {number} {gone}; there are: {there}", tab=number)
        return self._come(number)

    def _next(self) -> ChromiumPage:
        """The tab that comes to the front once the current one has gone."""
        earlier = [each for each in self._fronts[:-1] if self._all[each].is_open]
        return self._come(earlier[-1] if earlier else min(each for each in self._tabs if self._all[each].is_open))

    async def _without_front(self) -> ChromiumPage:
        """Close the tab in front. Returns the next one. Errors: ``action.not_possible`` (it is the only one)."""
        front = self._front
        if sum(page.is_open for page in self._tabs.values()) < 2:
            raise MeshError("action.not_possible", "the only tab of a session is not closed: it ends with the session")
        await front.close()
        return self._next()

    # --- the tab in front ---

    async def _asked(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of ``work`` on the tab in front. Errors: ``action.tab_missing`` (it closed itself meanwhile), those of
        ``work``."""
        try:
            return await work
        except MeshError:
            self._require_front()
            raise

    async def observe(self) -> Observation:
        """``adapters.ports.Page.observe``."""
        return await self._asked(self._front.observe())

    def identities(self) -> Mapping[str, str]:
        """``adapters.ports.Page.identities``."""
        return self._front.identities()

    async def unchanged(self) -> bool:
        """``adapters.ports.Page.unchanged``."""
        return await self._asked(self._front.unchanged())

    async def find(self, selector: str, frame: str = "", *, within: str = "", grade: Grade = "part") -> Element | None:
        """``adapters.ports.Page.find``."""
        return await self._asked(self._front.find(selector, frame, within=within, grade=grade))

    async def hindrance(self, target: Locator, ref: str = "") -> str:
        """``adapters.ports.Page.hindrance``."""
        return await self._asked(self._front.hindrance(target, ref))

    async def closed(self, *, within: str = "", framed: bool = False, said: bool = False) -> Cut | None:
        """``adapters.ports.Page.closed``."""
        return await self._asked(self._front.closed(within=within, framed=framed, said=said))

    async def option_label(self, ref: str, value: str) -> str:
        """``adapters.ports.Page.option_label``."""
        return await self._asked(self._front.option_label(ref, value))

    async def read(self, ref: str | None = None, attribute: str = "") -> str | None:
        """``adapters.ports.Page.read``."""
        return await self._asked(self._front.read(ref, attribute))

    async def sent(self, ref: str) -> tuple[str, ...] | None:
        """``adapters.ports.Page.sent``."""
        return await self._front.sent(ref)

    async def pause(self, pause_ms: int) -> None:
        """``adapters.ports.Page.pause``."""
        await self._asked(self._front.pause(pause_ms))

    def refused_late(self) -> dict[int, tuple[str, ...]]:
        """``adapters.ports.Page.refused_late``."""
        return {number: page.refused_late()[0] for number, page in self._all.items()}

    def untold(self) -> tuple[Leaving, ...]:
        """``adapters.ports.Page.untold``; tab by tab."""
        return tuple(each for page in self._all.values() for each in page.untold())

    async def late(self) -> tuple[Leaving, ...]:
        """``adapters.ports.Page.late``."""
        return await self._front.late()

    async def fate(self, number: int) -> Fate:
        """``adapters.ports.Page.fate``."""
        page = self._holder(number)
        return await page.fate(number) if page else "withdrawn"

    async def let_go(self, number: int) -> Fate:
        """``adapters.ports.Page.let_go``."""
        page = self._holder(number)
        return await page.let_go(number) if page else "withdrawn"

    def keep_back(self, number: int) -> None:
        """``adapters.ports.Page.keep_back``."""
        if page := self._holder(number):
            page.keep_back(number)

    def _holder(self, number: int) -> ChromiumPage | None:
        """The tab on which a held request waits."""
        return next((page for page in self._all.values() if number in page.holds), None)

    async def screenshot(self, cover: Covering | None = None) -> bytes:
        """``adapters.ports.Page.screenshot``."""
        return await self._asked(self._front.screenshot(cover))

    # --- all tabs ---

    async def markup(self, targets: Sequence[Locator] = (), near: Sequence[str] = ()) -> Markup:
        """``adapters.ports.Page.markup``."""
        return await self._asked(self._front.markup(targets, near))

    async def hidden_texts(self) -> HiddenTexts:
        """``adapters.ports.Page.hidden_texts``."""
        return await self._asked(self._front.hidden_texts())

    def downloads(self) -> tuple[Download, ...]:
        """``adapters.ports.Page.downloads``; tab by tab."""
        return tuple(each for page in self._all.values() for each in page.downloads())

    def console_errors(self) -> tuple[str, ...]:
        """``adapters.ports.Page.console_errors``; tab by tab."""
        every = tuple(each for page in self._all.values() for each in page.console_errors())
        return every[: limits.CONSOLE_ERRORS_MAX]

    def blocked(self) -> Blocked:
        """``adapters.ports.Page.blocked``; that of the tab in front first."""
        front = self._fronts[-1:]
        numbers = [*front, *(each for each in self._all if each not in front)]
        every = [self._all[number].blocked() for number in numbers]
        return Blocked(
            tuple(item for each in every for item in each.requests),
            tuple(item for each in every for item in each.rules),
            sent=tuple(item for each in every for item in each.sent),
        )

    async def close(self) -> None:
        """``adapters.ports.Page.close``."""
        for page in list(self._tabs.values()):
            with contextlib.suppress(MeshError):
                await page.close()
