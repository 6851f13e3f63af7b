"""Opens the address of a window that a page wanted to open in the page itself, if the context has no tabs."""

from __future__ import annotations

import contextlib

from adapters.browser.egress import Activity, NetworkGuard
from adapters.browser.page.navigating import Navigation
from protocol.errors import MeshError
from protocol.page.seen.web_address import require_web


class WindowsToFollow:
    """The windows that one page wants to open."""

    def __init__(self, activity: Activity, guard: NetworkGuard, navigation: Navigation) -> None:
        self._activity = activity
        self._guard = guard
        self._navigation = navigation
        self.followed = False
        """True if the page was sent to one of them since the action began."""

    def begin(self) -> None:
        """An action begins: earlier windows do not belong to it."""
        self._activity.popups.clear()
        self.followed = False

    async def follow(self) -> bool:
        """Send the page to the last window that it wanted to open. True if there was one. In a context with tabs, windows open by
        themselves.
        """
        if not self._activity.popups or self._guard.windows is not None:
            return False
        url = self._activity.popups.pop()
        self._activity.popups.clear()
        try:
            require_web(url)
        except MeshError:
            return False
        if not await self._guard.may_follow(url):
            return False
        with contextlib.suppress(MeshError):  # refused by the guard, or failed to load: the page stays unchanged
            await self._navigation.goto(url, 0)
            self.followed = True
        return True
