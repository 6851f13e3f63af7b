"""Reads the closed shadow trees of a page before an observation is used as proof that something is absent."""

from __future__ import annotations

from adapters.ports.browser import Page
from protocol.goal.condition import Condition, denies
from protocol.page.seen.observation import BLANK, Element, Observation
from protocol.page.seen.whole import cut_by, require_loaded, require_whole


async def with_closed(page: Page, observation: Observation, condition: Condition | None) -> Observation:
    """``observation``, with a note of the content it leaves out if ``condition`` could hold because of an absence. Errors:
    ``browser.*``.
    """
    denied = condition is not None and denies(condition)
    return cut_by(observation, await page.closed(framed=True)) if denied else observation


async def require_read(page: Page, observation: Observation, element: Element) -> None:
    """Return if all text of ``element`` in ``observation`` has loaded and can be read. Errors: ``page.cut``, ``browser.*``."""
    asked = "what the element says"
    if not observation.has_ended(element):
        require_loaded(observation, asked, frame=element.frame)
    require_whole(cut_by(BLANK, await page.closed(within=element.ref, said=True)), asked, text=True)
