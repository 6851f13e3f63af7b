"""Reads what a page shows in closed shadow trees, before it is concluded from its observation that something is absent."""

from __future__ import annotations

from adapters.ports import Page
from protocol.goal.condition import Condition, denies
from protocol.page.observation import BLANK, Observation
from protocol.page.whole import cut_by, require_whole


async def with_closed(page: Page, observation: Observation, condition: Condition | None) -> Observation:
    """``observation``, with what it leaves out if ``condition`` can hold because of an absence. Errors: ``browser.*``."""
    denied = condition is not None and denies(condition)
    return cut_by(observation, await page.closed(framed=True)) if denied else observation


async def require_read(page: Page, ref: str) -> None:
    """Return if all that the element says can be read. Errors: ``page.cut``, ``browser.*``."""
    require_whole(cut_by(BLANK, await page.closed(within=ref, said=True)), "what the element says", text=True)
