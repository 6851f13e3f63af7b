"""Has a replay go on in the tab in which the recording went on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from adapters.ports.browser import Outcome
from node.live.acting import Driver
from protocol.page.actions.action import SwitchTab


async def to_front(driver: Driver, tab: int, note: Callable[[Outcome], Awaitable[object]]) -> None:
    """Bring ``tab`` to the front (0: whichever is), if another one is there. note: told what that led to.

    A tab may open or close a moment later than in the recording, when the step that caused it is over. What is done next must
    not be done in another tab for that reason. Errors: ``action.tab_missing``, ``browser.*``.
    """
    if tab and driver.on_tab not in (0, tab):
        await note(await driver.act(SwitchTab(tab=tab)))
