"""The twin of a browser and of its contexts: pages on one site, which end together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from adapters.ports.browser import BrowserState, HearPasskey, Passkey, deaf
from protocol.errors import MeshError
from protocol.recording.records.session import BrowserInfo, Profile
from protocol.risk.requests.requests import GuardPolicy
from tests.twins.browser.kept import Kept
from tests.twins.browser.page import MemoryPage
from tests.twins.browser.site import MemorySite
from tests.twins.browser.tabs import MemoryTabs


class MemoryBrowser:
    """``adapters.ports.Browser`` over a ``MemorySite``."""

    def __init__(self, site: MemorySite) -> None:
        self._site = site
        self._contexts: list[MemoryContext] = []
        self._ended = asyncio.Event()

    @property
    def info(self) -> BrowserInfo:
        """Backend, name and version."""
        return BrowserInfo(backend="memory", name="memory", version="1")

    @property
    def turned_away(self) -> Mapping[tuple[str, str], int]:
        """``adapters.ports.Browser.turned_away``: it has no tunnel."""
        return {}

    async def open(
        self, profile: Profile, guard: GuardPolicy, *, state: BrowserState | None = None, tabs: bool = False
    ) -> MemoryContext:
        """``adapters.ports.Browser.open``."""
        if self._ended.is_set():
            raise MeshError("browser.crashed", "the browser is not running")
        context = MemoryContext(self.new_page, guard, tabs=tabs)
        if state is not None:
            context.kept.take(state)
        self._contexts.append(context)
        return context

    def new_page(self, guard: GuardPolicy, kept: Kept) -> MemoryPage:
        """A new page of a context."""
        return MemoryPage(self._site, guard, kept)

    @property
    def has_ended(self) -> bool:
        """Whether it runs no more."""
        return self._ended.is_set()

    def crash(self) -> None:
        """End as a killed process would."""
        self._ended.set()
        for context in self._contexts:
            context.crash()

    async def ended(self) -> None:
        """``adapters.ports.Browser.ended``."""
        await self._ended.wait()

    async def close(self) -> None:
        """``adapters.ports.Browser.close``."""
        self.crash()


class MemoryContext:
    """``adapters.ports.Context`` over a ``MemorySite``."""

    def __init__(
        self, new_page: Callable[[GuardPolicy, Kept], MemoryPage], guard: GuardPolicy, *, tabs: bool = False
    ) -> None:
        self._new_page = new_page
        self._guard = guard
        self._has_tabs = tabs
        self._pages: list[MemoryPage | MemoryTabs] = []
        self._gone = False
        self._passkeys: tuple[Passkey, ...] = ()
        self.kept = Kept()

    @property
    def pages(self) -> tuple[MemoryPage | MemoryTabs, ...]:
        """``adapters.ports.Context.pages``."""
        return tuple(page for page in self._pages if page.is_open)

    async def page(self) -> MemoryPage | MemoryTabs:
        """``adapters.ports.Context.page``."""
        self._require_open()
        page = MemoryTabs(self._one) if self._has_tabs else self._one()
        self._pages = [*self.pages, page]
        return page

    def _one(self) -> MemoryPage:
        return self._new_page(self._guard, self.kept)

    async def state(self, *, whole: bool = False) -> BrowserState:
        """``adapters.ports.Context.state``."""
        self._require_open()
        return self.kept.state(whole=whole)

    async def last_state(self, origins: Sequence[str]) -> BrowserState:
        """``adapters.ports.Context.last_state``. No browser has a profile here."""
        return await self.state(whole=True)

    async def hold_passkeys(self, held: Sequence[Passkey], hear: HearPasskey = deaf) -> None:
        """``adapters.ports.Context.hold_passkeys``. Its pages have no scripts, so none is made or used here."""
        self._require_open()
        self._passkeys = tuple(held)

    async def passkeys(self) -> tuple[Passkey, ...]:
        """``adapters.ports.Context.passkeys``."""
        self._require_open()
        return self._passkeys

    def keep_downloads(self, folder: str) -> None:
        """``adapters.ports.Context.keep_downloads``. Downloads have no content here."""

    def note_offers(self) -> list[str]:
        """``adapters.ports.Context.note_offers``."""
        self.kept.offers = []
        return self.kept.offers

    def _require_open(self) -> None:
        if self._gone:
            raise MeshError("browser.crashed", "the context is closed, or its browser not running")

    def crash(self) -> None:
        """End as a killed process would."""
        self._gone = True
        for page in self._pages:
            page.crash()

    async def close(self) -> None:
        """``adapters.ports.Context.close``."""
        self.crash()
