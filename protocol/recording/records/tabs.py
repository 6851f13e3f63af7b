"""Determines the tab in which each step of a recording was performed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from protocol.page.actions.action import SwitchTab
from protocol.recording.records.session import Step


def has_tabs(steps: Sequence[Step]) -> bool:
    """True if the recording had several tabs side by side; otherwise new tabs were opened in the page itself."""
    return any(step.on_tab for step in steps)


def tabs_acted_in(steps: Sequence[Step]) -> Mapping[int, int]:
    """The number of the tab in which each step was performed, by its index; without the first step and without ``switch_tab``."""
    return {
        after.index: before.on_tab
        for before, after in pairwise(steps)
        if before.on_tab and not isinstance(after.action, SwitchTab)
    }
