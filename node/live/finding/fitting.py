"""Notes for a recording how closely the texts of a target were matched; a replay demands the same
(``protocol.page.actions.fits``).
"""

from __future__ import annotations

import asyncio
import contextlib

from adapters.ports.browser import Page
from node.live.finding.personal import shown_name
from node.live.finding.selecting import UNDECIDED, around, by_way, selected
from protocol.errors import MeshError
from protocol.page.actions.action import Assert, Locator
from protocol.page.actions.fits import Fit, Grade
from protocol.page.actions.locator import name_fit, resolve, same_element
from protocol.page.actions.scope import fit_of, part
from protocol.page.actions.tables import row_fit
from protocol.page.secrets.secrets import Secrets
from protocol.page.seen.observation import Element, Observation
from protocol.page.showing.pinned_selectors import matches_parts


async def fits_of_condition(
    page: Page, observation: Observation, condition: Assert, element: Element | None, secrets: Secrets
) -> tuple[Fit, ...]:
    """The matches of the texts of ``condition``, which holds. element: the element that the condition is about."""
    target = condition.target
    fits: tuple[Fit, ...] = ()
    if condition.what == "cell" and target is not None:
        element = await _table(page, observation, shown_name(target, observation, secrets))
    if target is not None and element is not None:
        fits = await fits_of(page, observation, shown_name(target, observation, secrets), element)
    elif target is not None:
        with contextlib.suppress(MeshError):  # an element that is missing has no matched texts
            fits = fit_of(target.within, await around(page, observation, target), observation)
    if condition.what == "cell":
        fits += await asyncio.to_thread(row_fit, condition.row, condition.column, element, observation)
    return fits


async def _table(page: Page, observation: Observation, target: Locator) -> Element | None:
    """The table in which a cell was found; None if the table has disappeared."""
    try:
        if target.selectors:
            return await selected(page, observation, target, reads=True)
        outer = await around(page, observation, target)
        return await asyncio.to_thread(lambda: resolve(target, part(outer, observation)))
    except MeshError:
        return None


async def fits_of(page: Page, observation: Observation, target: Locator, element: Element) -> tuple[Fit, ...]:
    """The matches of the texts of ``target``, by which ``element`` was found."""
    outer = await around(page, observation, target)
    within = target.within
    fits = list(await asyncio.to_thread(_said, target, element, outer, observation))
    for what, selectors, found, scope in (
        ("selector", target.selectors, element, outer),
        ("within_selector", within.selectors if within else (), outer, None),
    ):
        for place, selector in enumerate(selectors):
            if found is not None and matches_parts(selector):
                grade = await _grade(page, observation, selector, target.frame, scope, found)
                fits.append(Fit(what="selector" if what == "selector" else "within_selector", grade=grade, place=place))
    return tuple(fits)


def _said(target: Locator, element: Element, outer: Element | None, observation: Observation) -> tuple[Fit, ...]:
    return (*fit_of(target.within, outer, observation), *name_fit(target, element, part(outer, observation)))


async def _grade(
    page: Page, observation: Observation, selector: str, frame: str, outer: Element | None, found: Element
) -> Grade:
    """The strictest match of a text with which ``selector`` still finds ``found``."""
    grades: tuple[Grade, ...] = ("whole", "words")
    for grade in grades:
        try:
            element = await by_way(page, observation, selector, frame, outer, grade)
        except MeshError as error:
            if error.code not in UNDECIDED:
                raise
            continue
        if element is not None and same_element(element, found):
            return grade
    return "part"
