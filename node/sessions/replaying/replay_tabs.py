"""Lets a replay continue in the tab in which the recording continued."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from adapters.ports.browser import ActionOutcome
from node.live.acting import Driver
from protocol.page.actions.action import SwitchTab


async def to_front(driver: Driver, tab: int, note: Callable[[ActionOutcome], Awaitable[object]]) -> None:
    """Bring ``tab`` to the front if another tab is there; 0 accepts any tab. note: called with the outcome of the switch.

    A tab may open or close a moment later than in the recording, after the step that caused it. The next action must not happen in
    the wrong tab because of that. Errors: ``action.tab_missing``, ``browser.*``.
    """
    if tab and driver.on_tab not in (0, tab):
        await note(await driver.act(SwitchTab(tab=tab)))
