"""Finds visible elements that an observation does not list: elements that the pointer passes through (``pointer-events: none``).

Floating notices are often such elements. They have no ref, so no action can use them, but a person sees them.
"""

from __future__ import annotations

import asyncio
import json

from adapters.ports.browser import Page
from protocol.errors import MeshError
from protocol.page.actions.action import Locator
from protocol.page.seen.observation import Element, Observation


async def beside(
    page: Page, observation: Observation, target: Locator, outer: Element | None
) -> tuple[int, Element | None] | None:
    """The number of visible elements that fit ``target``, listed in the observation or not, and the element if there is exactly
    one; None if the observation lists all of them. outer: the element to look in. Errors: ``browser.*``.
    """
    if target.selectors or not target.role or target.nth is not None:
        return None
    if not await asyncio.to_thread(_may_miss, target.role, observation):
        return None
    named = f"[name={json.dumps(target.name)} i]" if target.name else ""
    try:
        found = await page.find(f"role={target.role}{named}", target.frame, within=outer.ref if outer else "")
    except MeshError as error:
        count = error.detail.get("count")
        if not isinstance(count, int):
            raise
        return count, None
    return (0 if found is None else 1), found


def _may_miss(role: str, observation: Observation) -> bool:
    tree = observation.tree
    return any(known == role and place < 0 for known, place in zip(tree.roles, tree.elements, strict=True))
