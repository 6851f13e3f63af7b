"""Enter in fields where nothing acts on it, and buttons that stand on every page and lead to one place: a search would press them
everywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from protocol.goal.heuristics import Candidate
from protocol.page.actions.action import Action, Click, Locator, Press
from protocol.page.actions.locator import resolve
from protocol.page.seen.observation import Observation

_VAIN_MAX: Final = 3
"""So often one control is pressed in vain: once or twice may be for the word that was typed."""


class IdleKeys:
    """What this node's work in one search has seen of Enter and of buttons, by control."""

    def __init__(self) -> None:
        self._vain: Counter[Locator] = Counter()

    def in_vain(self, action: Action, *, failed: bool = False) -> None:
        """``action`` led nowhere new; failed: it could not be done, or only wanted to change something.

        Links of one name lead elsewhere on each page, if they can be pressed at all.
        """
        if not isinstance(action, Click | Press) or action.target is None:
            return
        if failed or action.target.role != "link":
            self._vain[action.target] += 1

    def tires(self, action: Action) -> bool:
        """True if ``action`` presses something that was pressed in vain often enough."""
        return isinstance(action, Click) and self._vain[action.target] >= _VAIN_MAX

    def led_on(self, action: Action) -> None:
        """``action`` led somewhere new."""
        if isinstance(action, Click):
            self._vain.pop(action.target, None)

    def without(self, choices: Iterable[Candidate], page: Observation) -> tuple[Candidate, ...]:
        """``choices`` on ``page`` without Enter in fields outside of a form, and buttons, that were pressed in vain often enough.

        Outside of a form a script acts on Enter, or nothing does. In a form, what is sent depends on what was typed: where a
        field of the page holds something, each button may do something else.
        """
        typed = any(item.value and item.role in ("searchbox", "textbox") for item in page.elements)
        return tuple(each for each in choices if not self._is_idle(each.action, page, typed))

    def _is_idle(self, action: Action, page: Observation, typed: bool) -> bool:
        if isinstance(action, Click):
            return self.tires(action) and not typed
        if not isinstance(action, Press) or action.target is None or self._vain[action.target] < _VAIN_MAX:
            return False
        return not resolve(action.target, page).traits.form_method
