"""Reads what a page shows in closed shadow trees, before it is concluded from its observation that something is absent."""

from __future__ import annotations

from adapters.ports import Page
from protocol.goal.condition import Condition, denies
from protocol.page.seen.observation import BLANK, Element, Observation
from protocol.page.seen.whole import cut_by, require_loaded, require_whole


async def with_closed(page: Page, observation: Observation, condition: Condition | None) -> Observation:
    """``observation``, with what it leaves out if ``condition`` can hold because of an absence. Errors: ``browser.*``."""
    denied = condition is not None and denies(condition)
    return cut_by(observation, await page.closed(framed=True)) if denied else observation


async def require_read(page: Page, observation: Observation, element: Element) -> None:
    """Return if all that ``element`` of ``observation`` says has come and can be read. Errors: ``page.cut``, ``browser.*``."""
    asked = "what the element says"
    if not observation.has_ended(element):
        require_loaded(observation, asked, frame=element.frame)
    require_whole(cut_by(BLANK, await page.closed(within=element.ref, said=True)), asked, text=True)
