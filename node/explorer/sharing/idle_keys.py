"""Finds keys and buttons that do nothing useful: Enter in fields without effect, and buttons that stand on every page and lead
to one place. A search would press them everywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from protocol.goal.heuristics import Candidate
from protocol.page.actions.action import Action, Click, Locator, Press
from protocol.page.actions.locator import resolve
from protocol.page.seen.observation import Observation

_VAIN_MAX: Final = 3
"""How often one control may be pressed in vain: once or twice may be due to the typed word."""


class IdleKeys:
    """The effects of Enter and of buttons, by control, in this node's work on one search."""

    def __init__(self) -> None:
        self._vain: Counter[Locator] = Counter()

    def in_vain(self, action: Action, *, failed: bool = False) -> None:
        """``action`` led nowhere new. failed: it could not be performed, or only tried to change something.

        Links of one name lead elsewhere on each page, if they can be pressed at all.
        """
        if not isinstance(action, Click | Press) or action.target is None:
            return
        if failed or action.target.role != "link":
            self._vain[action.target] += 1

    def tires(self, action: Action) -> bool:
        """True if ``action`` presses a control that was pressed in vain often enough."""
        return isinstance(action, Click) and self._vain[action.target] >= _VAIN_MAX

    def led_on(self, action: Action) -> None:
        """``action`` led to a new place."""
        if isinstance(action, Click):
            self._vain.pop(action.target, None)

    def without(self, choices: Iterable[Candidate], page: Observation) -> tuple[Candidate, ...]:
        """``choices`` on ``page`` without the buttons, and Enter in fields outside of a form, that were pressed in vain often
        enough.

        Outside of a form only a script can react to Enter. In a form the request depends on the typed text: if a field of the
        page holds a text, each button may have a different effect.
        """
        typed = any(item.value and item.role in ("searchbox", "textbox") for item in page.elements)
        return tuple(each for each in choices if not self._is_idle(each.action, page, typed))

    def _is_idle(self, action: Action, page: Observation, typed: bool) -> bool:
        if isinstance(action, Click):
            return self.tires(action) and not typed
        if not isinstance(action, Press) or action.target is None or self._vain[action.target] < _VAIN_MAX:
            return False
        return not resolve(action.target, page).traits.form_method
