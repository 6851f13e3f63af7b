"""One Chromium that many nodes of a test process use, one after another: each start takes a second of processor time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping

from adapters.ports.browser import Browser, BrowserState, Context, OpenBrowser
from protocol.recording.records.session import BrowserInfo, Profile
from protocol.risk.requests.requests import GuardPolicy


class Borrowed:
    """``adapters.ports.Browser`` for one node. ``close`` closes the contexts of that node, and Chromium goes on.

    The contexts are as isolated as in a Chromium of its own. A test of the start, the end, the files or a crash of a browser
    needs one of its own.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._before = Counter(browser.turned_away)
        self._contexts: list[Context] = []
        self._closed = asyncio.Event()

    @property
    def info(self) -> BrowserInfo:
        """Backend, name and version."""
        return self._browser.info

    @property
    def turned_away(self) -> Mapping[tuple[str, str], int]:
        """``adapters.ports.Browser.turned_away``, since it was borrowed."""
        return Counter(self._browser.turned_away) - self._before

    async def open(
        self, profile: Profile, guard: GuardPolicy, *, state: BrowserState | None = None, tabs: bool = False
    ) -> Context:
        """``adapters.ports.Browser.open``."""
        context = await self._browser.open(profile, guard, state=state, tabs=tabs)
        self._contexts.append(context)
        return context

    async def ended(self) -> None:
        """Wait until Chromium has ended, or this node has given it back."""
        waits = [asyncio.ensure_future(each) for each in (self._browser.ended(), self._closed.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()

    async def close(self) -> None:
        """Give it back."""
        for context in self._contexts:
            await context.close()
        self._contexts.clear()
        self._closed.set()


def borrowing(browser: Browser) -> OpenBrowser:
    """Opens ``browser`` for a node."""

    async def borrow() -> Browser:
        return Borrowed(browser)

    return borrow
