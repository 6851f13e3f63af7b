"""Which tab each step of a recording was done in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from protocol.page.actions.action import SwitchTab
from protocol.recording.records.session import Step


def has_tabs(steps: Sequence[Step]) -> bool:
    """Whether tabs lay beside each other in the recording; otherwise new ones were opened in the page itself."""
    return any(step.on_tab for step in steps)


def tabs_acted_in(steps: Sequence[Step]) -> Mapping[int, int]:
    """The number of the tab that each step was done in, by its index; not for the first step, and not for ``switch_tab``."""
    return {
        after.index: before.on_tab
        for before, after in pairwise(steps)
        if before.on_tab and not isinstance(after.action, SwitchTab)
    }
