"""Finds the element of an action by its selectors."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from adapters.ports.browser import Page
from protocol.errors import MeshError
from protocol.page.actions.action import Locator
from protocol.page.actions.fits import UNPINNED, Grade, MatchDemands
from protocol.page.actions.locator import (
    by_aria,
    confirm,
    fitting,
    require_selector,
    same_element,
    several,
    two_ways,
    unmatched,
    unseen,
)
from protocol.page.actions.scope import container, part
from protocol.page.seen.observation import Element, Observation
from protocol.page.seen.whole import require_only, require_whole

UNDECIDED = frozenset({"action.target_ambiguous", "action.target_missing", "action.not_possible", "page.cut"})
"""Errors of a selector that does not find exactly one element."""


async def around(
    page: Page, observation: Observation, target: Locator, pins: MatchDemands = UNPINNED
) -> Element | None:
    """The element to look inside of. pins: how its texts were matched when it was recorded. Errors: as ``prepare``."""
    if target.within is None:
        return None
    if not target.within.selectors:
        return await asyncio.to_thread(container, target.within, target.frame, observation, pins)
    for place, selector in enumerate(target.within.selectors):
        grade = pins.grade("within_selector", place)
        found = await by_way(page, observation, selector, target.frame, None, grade)
        if found is not None:
            return found
    raise unmatched(Locator(selectors=target.within.selectors))


async def selected(
    page: Page,
    observation: Observation,
    target: Locator,
    *,
    reads: bool,
    recorded: bool = False,
    pins: MatchDemands = UNPINNED,
) -> Element:
    """The element that the first matching selector finds. The position among equal elements is ignored, because lists are
    re-sorted while their elements keep role and name.

    Every later selector that finds one element must find the same element, or another part of the same control. If the first
    selector fits several elements by name, a later selector that finds one of them decides, because the recorder wrote all
    selectors for one element.
    """
    outer = await around(page, observation, target, pins)
    found: tuple[str, Element] | None = None
    undecided: tuple[MeshError, Sequence[Element]] | None = None
    for place, selector in enumerate(target.selectors):
        try:
            pool = await _named(selector, target.frame, outer, observation)
            if found is None and undecided is None and pool is not None and len(pool) > 1:
                undecided = several(selector, len(pool)), pool
                continue
            grade = pins.grade("selector", place)
            element = await by_way(page, observation, selector, target.frame, outer, grade)
        except MeshError as error:
            # This alternative is not needed once an element was found, so its failure proves nothing against that element.
            if (found is None and undecided is None) or error.code not in UNDECIDED:
                raise
            continue
        if element is not None and found is None:
            if undecided is not None and sum(same_element(element, item) for item in undecided[1]) != 1:
                raise undecided[0]
            meant = element if not target.role or element.role == target.role else observation.labelled(element)
            confirm(target, meant, selector, reads=reads, recorded=recorded)
            found = selector, element
        elif element is not None and found is not None and not same_element(found[1], element):
            raise two_ways(found[0], found[1], selector, element)
    if found is None:
        raise undecided[0] if undecided is not None else unmatched(target)
    return found[1]


async def missing(page: Page, target: Locator, error: MeshError) -> MeshError:
    """``error`` that no element fits ``target``; or, if the page has the element but does not show it, an error that says so."""
    if error.code != "action.target_missing" or not (target.role and target.name) or target.within is not None:
        return error
    shown = True  # visible to a person: no observation lists an element that takes no input
    try:
        found = await page.find(
            f"role={target.role}[name={json.dumps(target.name)} i][include-hidden=true]", target.frame
        )
    except MeshError as refused:
        if refused.detail.get("count") not in (0, 1):
            return error
        shown = refused.detail["count"] == 1
    else:
        if found is None:
            return error
    why = await page.hindrance(target)
    return unseen(target, why, shown=shown) if why or not shown else error


async def _named(selector: str, frame: str, outer: Element | None, observation: Observation) -> list[Element] | None:
    """All elements that fit an ``aria/Name`` selector; None for a selector of another kind."""
    named = by_aria(selector, frame)
    return None if named is None else await asyncio.to_thread(lambda: fitting(named, part(outer, observation)))


async def by_way(
    page: Page,
    observation: Observation,
    selector: str,
    frame: str,
    outer: Element | None,
    grade: Grade = "part",
) -> Element | None:
    """The element that ``selector`` finds in ``outer``; None if it finds nothing. grade: how closely a text must match. Errors: as
    ``Page.find``.
    """
    require_selector(selector)
    pool = await _named(selector, frame, outer, observation)
    if pool is None:
        return await page.find(selector, frame, within=outer.ref if outer else "", grade=grade)
    if len(pool) > 1:
        raise several(selector, len(pool))
    named, require = by_aria(selector, frame), require_only if pool else require_whole
    require(observation, f"what {selector} finds", frame=frame, named=named.name if named else "")
    return pool[0] if pool else None
