"""Resolves a locator to an element of an observation."""

from __future__ import annotations

import difflib
import re
from typing import Final

import msgspec

from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Locator
from protocol.page.actions.fits import UNPINNED, Fit, MatchDemands
from protocol.page.seen.names import akin, same_name, visible
from protocol.page.seen.observation import Element, Observation
from protocol.page.seen.whole import require_only, require_whole

FORMS: Final = (
    "css=",
    "xpath=",
    "text=",
    "role=",
    "testid=",
    "label=",
    "placeholder=",
    "title=",
    "alt=",
    "aria/",
    "pierce/",
)
"""The prefixes of selectors."""
ENTER_FRAME: Final = "internal:control=enter-frame"
"""The part of a selector that enters the document of a frame, in Playwright's syntax. Such a selector begins at the page."""
_ARIA: Final = re.compile(r'(?P<name>.*?)(?:\[role="(?P<role>[^"]*)"\])?\Z', re.DOTALL)
_PATH: Final = re.compile(r"https?://[^/?#]*(/[^?#]{0,80})")
_PLACELESS: Final = re.compile(r"(?:^|\d)x\d+\Z")
_ALIKE_MAX: Final = 5
_NEAR_MAX: Final = 3
_NEAR_CHARS_MAX: Final = 60


def resolve(locator: Locator, observation: Observation, pins: MatchDemands = UNPINNED) -> Element:
    """The only element that ``locator`` names by role and name.

    An exact role and name come first, then a name that looks the same to a reader. Several links to one address count as one link.
    pins: as for ``fitting``.
    Errors: ``action.target_missing``, ``action.target_ambiguous`` (several fit a locator that gives no place), ``page.cut`` (the
    unread part of the page may have it, or another one).
    """
    pool = _of_role(locator, observation)
    loose = fitting(locator, observation, pins)
    if locator.nth is None and len(loose) > 1 and not _lead_to_one(loose):
        raise _alike(locator, loose)
    here = (locator.nth or 0) < len(loose)
    if locator.nth is None or not here:
        asked, require = ("this is the only", require_only) if here else ("there is a", require_whole)
        asked = f"whether {asked} {_said(locator.role, locator.name)}"
        require(observation, asked, frame=locator.frame, named=locator.name)
    if here:
        return loose[locator.nth or 0]
    near = _near(locator, pool)
    other = _other_role(locator, observation)
    raise MeshError(
        "action.target_missing",
        f"no {_said(locator.role, locator.name)}"
        + (f" number {locator.nth + 1}" if locator.nth else "")
        + (f"; there is {other}" if other else f"; there is “{'”, “'.join(near)}”" if near else ""),
        role=locator.role,
        name=locator.name,
        near=near,
    )


def _lead_to_one(found: list[Element]) -> bool:
    return bool(found[0].link) and len({(item.role, item.link) for item in found}) == 1


def _alike(locator: Locator, found: list[Element]) -> MeshError:
    """The error for a locator that fits several elements. It names the place of each, and how to choose one."""
    places = [f"nth {place}{_place(item)}" for place, item in enumerate(found)]
    more = f" and {len(found) - _ALIKE_MAX} more" if len(found) > _ALIKE_MAX else ""
    return MeshError(
        "action.target_ambiguous",
        f"{len(found)} elements are {_said(locator.role, locator.name)}: {', '.join(places[:_ALIKE_MAX])}{more};"
        " `within` or `nth` says which",
        role=locator.role,
        name=locator.name,
        count=len(found),
        near=places[:_ALIKE_MAX],
    )


def _place(element: Element) -> str:
    """The place of ``element`` among look-alikes, in words: its group, and its link target."""
    leads = _PATH.match(element.url)
    return (f" in “{visible(element.context)}”" if element.context else "") + (f" to {leads[1]}" if leads else "")


def fitting(locator: Locator, observation: Observation, pins: MatchDemands = UNPINNED) -> list[Element]:
    """The elements with the role and name of ``locator``: those with exactly this name, otherwise those whose name looks the same.
    pins: demand the exact name if the recorded page also had a name that looks the same.
    """
    name = locator.name[: limits.ELEMENT_NAME_CHARS_MAX]
    if locator.role and (exact := observation.named(locator.role, name, locator.frame)):
        return exact
    pool = _of_role(locator, observation)
    found = [item for item in pool if item.name == name]
    if not found and pins.of("name") is None:
        found = [item for item in pool if same_name(item.name, name)]
    # A name without a role means the control, and not the label with this text.
    return found if locator.role else [item for item in found if item.traits.tag != "label"] or found


def name_fit(locator: Locator, element: Element, observation: Observation) -> tuple[Fit, ...]:
    """A demand for exactly the name of ``locator``, if another name on the page looks the same; otherwise empty."""
    name = locator.name[: limits.ELEMENT_NAME_CHARS_MAX]
    others = (item for item in _of_role(locator, observation) if item.name != name)
    told = bool(name) and element.name == name and any(same_name(item.name, name) for item in others)
    return (Fit(what="name", grade="whole"),) if told else ()


def _of_role(locator: Locator, observation: Observation) -> list[Element]:
    return [
        item
        for item in observation.elements
        if item.frame == locator.frame and (not locator.role or item.role == locator.role)
    ]


def confirm(locator: Locator, element: Element, selector: str, *, reads: bool, recorded: bool = False) -> None:
    """Check that ``element``, found by ``selector``, has the role and name of ``locator``, if these are given.

    reads: the action only reads, so the name may differ, because it is often the content; the role may not. recorded: role and name
    come from a recording and not from an author, so the evidence decides if a related role is enough. Errors:
    ``action.target_differs``.
    """
    # On a changed page the selector may match another element, and clicking that could do harm.
    alike = not locator.role or element.role == locator.role
    alike = alike or (recorded and bool(locator.name) and akin(locator.role, element.role))
    if not reads:
        alike = alike and (not locator.name or same_name(element.name, locator.name))
    if not alike:
        raise MeshError(
            "action.target_differs",
            f"expected {_said(locator.role, locator.name)}, found {_said(element.role, element.name)} by {selector}",
            selector=selector,
            found_role=element.role,
            found_name=element.name,
            role=locator.role,
            name=locator.name,
        )


def disagrees(locator: Locator | None, element: Element, found: str) -> MeshError:
    """The error for an element that a selector found but that is not the recorded one. found: the difference."""
    selector = " or ".join(locator.selectors) if locator else ""
    return MeshError(
        "action.target_differs",
        f"{selector} finds {_said(element.role, element.name)}, {found}",
        selector=selector,
        found_role=element.role,
        found_name=element.name,
    )


def same_element(one: Element, other: Element) -> bool:
    """True if two selectors found the same element, or a control and a part of it."""
    if one.ref == other.ref or one.inside == other.ref or other.inside == one.ref:
        return True
    # An element without a place in the observation gets a new ref each time it is found.
    return (
        bool(_PLACELESS.search(one.ref) and _PLACELESS.search(other.ref))
        and one.role == other.role
        and same_name(one.name, other.name)
    )


def two_ways(first: str, one: Element, second: str, other: Element) -> MeshError:
    """The error for a locator whose selectors find two elements."""
    return MeshError(
        "action.target_differs",
        f"{first} finds {_said(one.role, one.name)}, but {second} finds {_said(other.role, other.name)}",
        selector=second,
        found_role=other.role,
        found_name=other.name,
        role=one.role,
        name=one.name,
    )


def unmatched(locator: Locator) -> MeshError:
    """The error for a locator whose selectors match nothing."""
    expected = f" (expected {_said(locator.role, locator.name)})" if locator.role or locator.name else ""
    return MeshError(
        "action.target_missing",
        f"nothing matches {' or '.join(locator.selectors)}{expected}",
        selectors=list(locator.selectors),
        role=locator.role,
        name=locator.name,
    )


def require_selector(selector: str) -> None:
    """Raise ``action.target_missing`` unless ``selector`` has one of the ``FORMS``."""
    if not is_selector(selector):
        raise MeshError("action.target_missing", said_forms())


def is_selector(text: str) -> bool:
    """True if ``text`` begins with one of the ``FORMS`` and continues."""
    return any(text.startswith(form) and len(text) > len(form) for form in FORMS)


def said_forms() -> str:
    """A sentence about the prefixes, for a text that is no selector."""
    return f"a selector must start with {', '.join(FORMS[:-1])} or {FORMS[-1]}"


def by_aria(selector: str, frame: str) -> Locator | None:
    """The role and name in ``aria/Name[role="button"]``; None for a selector of another form."""
    match = _ARIA.match(selector.removeprefix("aria/"))
    if not selector.startswith("aria/") or match is None:
        return None
    return Locator(role=match["role"] or "", name=match["name"], frame=frame)


def malformed(selector: str, reason: str) -> MeshError:
    """The error for a selector with a wrong syntax."""
    return MeshError("action.target_missing", f"{selector} cannot be read: {reason}", selector=selector)


def several(selector: str, count: int) -> MeshError:
    """The error for a selector that matches more than one visible element."""
    return MeshError(
        "action.target_ambiguous", f"{selector} matches {count} visible elements", selector=selector, count=count
    )


def hidden(selector: str, why: str = "") -> MeshError:
    """The error for a selector that matches only hidden elements. why: the reason why the first is hidden, as a sentence."""
    said = f"what {selector} matches is not visible" + (f": {why}" if why else "")
    return MeshError("action.not_possible", said, selector=selector, count=0)


def unseen(locator: Locator, why: str = "", *, shown: bool = False) -> MeshError:
    """The error for an element that is hidden or takes no input. why: the reason, as a sentence."""
    hidden = f"is there and {'takes no input' if shown else 'hidden'}{f' ({why})' if why else ''}"
    return MeshError(
        "action.not_possible",
        f"the {_said(locator.role, locator.name)} {hidden}: act on what the page shows in its place",
        role=locator.role,
        name=locator.name,
    )


def unlisted(selector: str) -> MeshError:
    """The error for a selector that matches an element which the observation leaves out."""
    return MeshError(
        "action.not_possible",
        f"what {selector} matches is not an element in the observation",
        selector=selector,
        count=1,
    )


def _said(role: str, name: str) -> str:
    return f"{role or 'element'} “{visible(name)}”"


def _near(locator: Locator, pool: list[Element]) -> list[str]:
    """Names of elements of the same role with a similar spelling, or the first few names if there are only few."""
    names = list(dict.fromkeys(visible(item.name[:_NEAR_CHARS_MAX]) for item in pool if item.name))
    return difflib.get_close_matches(locator.name, names, _NEAR_MAX, 0.5) or (names if len(names) <= _NEAR_MAX else [])


def _other_role(locator: Locator, observation: Observation) -> str:
    """The element that has this name but another role, in words; empty if there is none. Example: a field for a number is a
    ``spinbutton``.
    """
    if not (locator.role and locator.name) or fitting(locator, observation):
        return ""
    named = next(
        (item for item in fitting(msgspec.structs.replace(locator, role=""), observation) if item.interactive), None
    )
    return _said(named.role, named.name) if named else ""


def locate(element: Element, observation: Observation, selectors: tuple[str, ...] = ()) -> Locator:
    """The locator by which ``resolve`` finds ``element`` again; ``selectors`` are those that led to it."""
    if observation.element(element.ref) is None:
        return Locator(role=element.role, name=element.name, frame=element.frame, selectors=selectors)
    alike = observation.alike(element)
    # If the page was not read to its end, the place is given, because more look-alikes may follow.
    placed = len(alike) > 1 or bool(observation.cut)
    nth = next(i for i, item in enumerate(alike) if item.ref == element.ref) if placed else None
    return Locator(role=element.role, name=element.name, nth=nth, frame=element.frame, selectors=selectors)
