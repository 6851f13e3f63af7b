"""Opens in a page what it wanted to open beside it, where a context has no tabs."""

from __future__ import annotations

import contextlib

from adapters.browser.egress.activity import Activity
from adapters.browser.egress.network import NetworkGuard
from adapters.browser.page.navigating import Navigation
from protocol.errors import MeshError
from protocol.page.seen.web_address import require_web


class Following:
    """The windows that one page wants to open."""

    def __init__(self, activity: Activity, guard: NetworkGuard, navigation: Navigation) -> None:
        self._activity = activity
        self._guard = guard
        self._navigation = navigation
        self.followed = False
        """Whether the page was led to one of them since the action began."""

    def begin(self) -> None:
        """An action begins: what the page wanted before is none of its business."""
        self._activity.popups.clear()
        self.followed = False

    async def follow(self) -> bool:
        """Lead the page to the last window that it wanted to open; whether there was one. With tabs it is opened for itself."""
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
        with contextlib.suppress(MeshError):  # refused by the guard, or it failed to load: the page stays unchanged
            await self._navigation.goto(url, 0)
            self.followed = True
        return True
