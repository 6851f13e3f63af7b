"""The in-memory twin of a context's tabs: ``adapters.browser.page.tabs.Tabs`` over ``MemoryPage``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from adapters.ports.browser import NOTHING, ActionOutcome, Blocked, Given, Leaving
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

if TYPE_CHECKING:
    from tests.twins.browser.page import MemoryPage


class MemoryTabs:
    """``adapters.ports.Page`` on the pages of one context, of which one is in front."""

    def __init__(self, new_page: Callable[[], MemoryPage]) -> None:
        self._new_page = new_page
        self._pages: dict[int, MemoryPage] = {}
        self._fronts: list[int] = []
        self._opened = False
        self._open("")

    def _open(self, url: str) -> bool:
        """A new tab in front, led to ``url``; whether the guard lets it open."""
        page = self._new_page()
        page.beside = self._open
        if url and (sum(each.is_open for each in self._pages.values()) >= limits.TABS_MAX or not page.shows(url)):
            self._pages[self._fronts[-1]].take_refused(page)
            return False
        self._pages[len(self._pages) + 1] = page
        self._fronts.append(len(self._pages))
        self._opened = bool(url)
        return True

    @property
    def is_open(self) -> bool:
        """Whether any of them can still be driven."""
        return any(page.is_open for page in self._pages.values())

    @property
    def _front(self) -> MemoryPage:
        return self._pages[self._fronts[-1]]

    def crash(self) -> None:
        """From now on every call says ``browser.crashed``."""
        for page in self._pages.values():
            page.crash()

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
        """``adapters.ports.Page.perform``."""
        self._opened = False
        match action:
            case SwitchTab(tab=tab):
                if tab not in self._pages or not self._pages[tab].is_open:
                    raise MeshError("action.tab_missing", f"tab {tab} is not there", tab=tab)
                self._come(tab)
                action = Wait()
            case CloseTab():
                if sum(page.is_open for page in self._pages.values()) < 2:
                    raise MeshError("action.not_possible", "the only tab of a session is not closed")
                self._front.crash()
                self._come(next(each for each in reversed(self._fronts) if self._pages[each].is_open))
                action = Wait()
            case _:
                pass
        outcome = await self._front.perform(action, ref=ref, secrets=secrets, given=given)
        if self._opened:
            outcome = msgspec.structs.replace(outcome, observation=await self._front.observe())
        return msgspec.structs.replace(outcome, tab=self._opened, on_tab=self._fronts[-1])

    def _come(self, tab: int) -> None:
        self._fronts = [*(each for each in self._fronts if each != tab), tab]

    async def observe(self) -> Observation:
        """``adapters.ports.Page.observe``."""
        return await self._front.observe()

    def identities(self) -> Mapping[str, str]:
        """``adapters.ports.Page.identities``."""
        return self._front.identities()

    async def unchanged(self) -> bool:
        """``adapters.ports.Page.unchanged``."""
        return await self._front.unchanged()

    async def find(self, selector: str, frame: str = "", *, within: str = "", grade: Grade = "part") -> Element | None:
        """``adapters.ports.Page.find``."""
        return await self._front.find(selector, frame, within=within, grade=grade)

    async def hindrance(self, target: Locator, ref: str = "") -> str:
        """``adapters.ports.Page.hindrance``."""
        return await self._front.hindrance(target, ref)

    async def closed(self, *, within: str = "", framed: bool = False, said: bool = False) -> Cut | None:
        """``adapters.ports.Page.closed``."""
        return await self._front.closed(within=within, framed=framed, said=said)

    async def option_label(self, ref: str, value: str) -> str:
        """``adapters.ports.Page.option_label``."""
        return await self._front.option_label(ref, value)

    async def read(self, ref: str | None = None, attribute: str = "") -> str | None:
        """``adapters.ports.Page.read``."""
        return await self._front.read(ref, attribute)

    async def sent(self, ref: str) -> tuple[str, ...] | None:
        """``adapters.ports.Page.sent``."""
        return await self._front.sent(ref)

    async def pause(self, pause_ms: int) -> None:
        """``adapters.ports.Page.pause``."""
        await self._front.pause(pause_ms)

    def untold(self) -> tuple[Leaving, ...]:
        """``adapters.ports.Page.untold``."""
        return ()

    async def late(self) -> tuple[Leaving, ...]:
        """``adapters.ports.Page.late``."""
        return await self._front.late()

    async def fate(self, number: int) -> Fate:
        """``adapters.ports.Page.fate``."""
        return await self._front.fate(number)

    async def let_go(self, number: int) -> Fate:
        """``adapters.ports.Page.let_go``."""
        return await self._front.let_go(number)

    def refused_late(self) -> dict[int, tuple[str, ...]]:
        """``adapters.ports.Page.refused_late``: no twin does anything by itself."""
        return {}

    def keep_back(self, number: int) -> None:
        """``adapters.ports.Page.keep_back``."""

    async def screenshot(self, cover: Covering | None = None) -> bytes:
        """``adapters.ports.Page.screenshot``."""
        return await self._front.screenshot(cover)

    async def markup(self, targets: Sequence[Locator] = (), near: Sequence[str] = ()) -> Markup:
        """``adapters.ports.Page.markup``."""
        return await self._front.markup(targets, near)

    async def hidden_texts(self) -> HiddenTexts:
        """``adapters.ports.Page.hidden_texts``."""
        return await self._front.hidden_texts()

    def downloads(self) -> tuple[Download, ...]:
        """``adapters.ports.Page.downloads``."""
        return tuple(each for page in self._pages.values() for each in page.downloads())

    def console_errors(self) -> tuple[str, ...]:
        """``adapters.ports.Page.console_errors``."""
        return tuple(each for page in self._pages.values() for each in page.console_errors())

    def blocked(self) -> Blocked:
        """``adapters.ports.Page.blocked``."""
        return self._front.blocked()

    async def close(self) -> None:
        """``adapters.ports.Page.close``."""
        self.crash()
