"""Enter in fields where nothing acts on it: a search types many words on many pages, and would press it after each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from protocol.goal.heuristics import Candidate
from protocol.page.action import Action, Locator, Press
from protocol.page.locator import resolve
from protocol.page.observation import Observation

_VAIN_MAX: Final = 3
"""So often Enter in one field is tried in vain: once or twice may be for the word that was typed."""


class IdleKeys:
    """What this node's work in one search has seen of Enter, by field."""

    def __init__(self) -> None:
        self._vain: Counter[Locator] = Counter()

    def in_vain(self, action: Action) -> None:
        """``action`` led nowhere new."""
        if isinstance(action, Press) and action.target is not None:
            self._vain[action.target] += 1

    def without(self, choices: Iterable[Candidate], page: Observation) -> tuple[Candidate, ...]:
        """``choices`` on ``page`` without Enter in fields outside of a form in which it was in vain often enough.

        There a script acts on Enter, or nothing does. In a form, what is sent depends on what was typed.
        """
        return tuple(each for each in choices if not self._is_idle(each.action, page))

    def _is_idle(self, action: Action, page: Observation) -> bool:
        if not isinstance(action, Press) or action.target is None or self._vain[action.target] < _VAIN_MAX:
            return False
        return not resolve(action.target, page).traits.form_method
