"""Which element of an observation a locator means."""

from __future__ import annotations

import difflib
from typing import Final

from protocol.errors import MeshError
from protocol.page.action import Locator
from protocol.page.observation import Element, Observation

_NEAR_MAX: Final = 3
_NEAR_CHARS_MAX: Final = 60


def resolve(locator: Locator, observation: Observation) -> Element:
    """The one element that ``locator`` names.

    Exact role and name first; else the name without regard to case and space. Errors: ``action.target_missing``,
    ``action.target_ambiguous`` (several fit a locator that gives no role).
    """
    pool = [item for item in observation.elements if item.frame == locator.frame]
    if locator.role:
        pool = [item for item in pool if item.role == locator.role]
    exact = [item for item in pool if item.name == locator.name]
    loose = exact or [item for item in pool if _fold(item.name) == _fold(locator.name)]
    if locator.nth < len(loose) and (locator.role or len(loose) == 1 or locator.nth):
        return loose[locator.nth]
    if len(loose) > 1 and not locator.role:
        raise MeshError("action.target_ambiguous", f"“{locator.name}” fits {len(loose)} elements", name=locator.name)
    near = _near(locator, pool)
    raise MeshError(
        "action.target_missing",
        f"no {locator.role or 'element'} “{locator.name}”"
        + (f" number {locator.nth + 1}" if locator.nth else "")
        + (f"; there is “{'”, “'.join(near)}”" if near else ""),
        role=locator.role,
        name=locator.name,
        near=near,
    )


def _near(locator: Locator, pool: list[Element]) -> list[str]:
    """Names of elements of the same role that are spelled alike, or the first few when there are few."""
    names = list(dict.fromkeys(item.name[:_NEAR_CHARS_MAX] for item in pool if item.name))
    return difflib.get_close_matches(locator.name, names, _NEAR_MAX, 0.5) or (names if len(names) <= _NEAR_MAX else [])


def locate(element: Element, observation: Observation, selectors: tuple[str, ...] = ()) -> Locator:
    """The locator by which ``resolve`` finds ``element`` again."""
    alike = [
        e for e in observation.elements if (e.role, e.name, e.frame) == (element.role, element.name, element.frame)
    ]
    nth = next(i for i, item in enumerate(alike) if item.ref == element.ref)
    return Locator(role=element.role, name=element.name, nth=nth, frame=element.frame, selectors=selectors)


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()
