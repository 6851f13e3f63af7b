"""Lets a person decide about the held requests of an action while it is performed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from adapters.browser.egress.activity import Activity
from adapters.browser.egress.network import NetworkGuard
from adapters.ports.browser import Given, Leaving
from protocol.approval.leaving import Fate

_UNKNOWN: Final = "what it sent was let go, and nobody knows if it arrived"


class Deciding:
    """Decides about the held requests of one action."""

    def __init__(
        self, given: Given, guard: NetworkGuard, activity: Activity, let_go: Callable[[int], Awaitable[Fate]]
    ) -> None:
        self._decides, self._guard, self._activity, self._let_go = given.decides, guard, activity, let_go
        self._unsent: dict[bytes, Leaving] = {}
        """By digest, so that a request counts once even if the page gives it up and sends it again."""

    async def more(self) -> bool:
        """True if a request was held and is decided now, so that the page continues."""
        if self._decides is None:
            return False
        new = self._guard.holding.told()
        for each in new:
            if await self._leaves(each, self._decides):
                self._guard.sending.adds(each.effect)
                self._unsent.pop(each.exact, None)
            else:
                self._unsent[each.exact] = each
        return bool(new)

    async def _leaves(self, leaving: Leaving, decides: Callable[[Leaving], Awaitable[bool]]) -> bool:
        if not await decides(leaving):
            self._guard.keep_back(leaving)
            return False
        fate = await self._let_go(leaving.number)
        self._activity.note(_UNKNOWN if fate == "unknown" else "")
        return fate == "sent"

    @property
    def unsent(self) -> tuple[Leaving, ...]:
        """The requests that have not left: refused, given up by the page, or of unknown fate."""
        return tuple(self._unsent.values())
