"""Collects requests of a page that were refused after a press had ended and because of it: the page may claim success."""

from __future__ import annotations

import time
from typing import Final

from protocol import limits
from protocol.page.actions.action import Action, Back, Forward, Goto, Reload
from protocol.risk.pressing.pressing import PRESSES
from protocol.risk.requests.refused import Refused, may_be_approved, may_change

_OPENS: Final = Goto | Back | Forward | Reload
_KEPT_MAX: Final = 200


class Late:
    """The late refusals of one page."""

    def __init__(self) -> None:
        self._until = 0.0
        self._refused: dict[Refused, None] = {}

    def begin(self, action: Action) -> None:
        """An action begins. A press reports its own refusals, and an opened page sends by itself."""
        if isinstance(action, PRESSES | _OPENS):
            self._until = 0.0

    def end(self, action: Action) -> None:
        """The action has ended."""
        if isinstance(action, PRESSES):
            self._until = time.monotonic() + limits.HELD_LATE_S

    def refuses(self, request: Refused) -> None:
        """The guard refused ``request``."""
        changes = may_be_approved(request.rule) or may_change(request.rule)
        if changes and time.monotonic() < self._until and len(self._refused) < _KEPT_MAX:
            self._refused[request] = None

    def taken(self) -> tuple[Refused, ...]:
        """The refusals since the last call."""
        refused, self._refused = tuple(self._refused), {}
        return refused
