"""Lists the elements of a page most similar to one that was not found, in the form in which actions name them. Pure."""

from __future__ import annotations

import difflib
import json
import re
from typing import Any, Final

import msgspec

from protocol.page.actions.action import Action, Check, Fill, Locator, Select, Within
from protocol.page.seen.names import visible
from protocol.page.seen.observation import CHECKABLE_ROLES, Element, Observation
from protocol.page.showing.naming import Naming

_FIELDS: Final = frozenset({"textbox", "searchbox", "combobox", "spinbutton"})
_LISTS: Final = frozenset({"combobox", "listbox"})
_SHOWN_MAX: Final = 5
_COMPARED_MAX: Final = 300
_CHARS_MAX: Final = 60
_WORD: Final = re.compile(r"[^\W_]{2,}")
_PLAIN: Final = re.compile(r"[\w ./-]*[\w./-]\Z", re.ASCII)


def candidates(action: Action, target: Locator, observation: Observation) -> tuple[str, ...]:
    """At most five elements that ``action`` may mean, the most similar to ``target`` first.

    Each is written as the keys of an element in an action file, so that an element without a name can be addressed too: ``{role:
    textbox, nth: 0}``.
    """
    pool = [item for item in observation.elements if item.frame == target.frame and _suits(action, target, item)]
    wanted = " ".join(_WORD.findall(" ".join((target.name, *target.selectors)).casefold()))[:_CHARS_MAX]
    ranked = sorted(pool[:_COMPARED_MAX], key=lambda item: -_likeness(wanted, target, item))
    naming = Naming(observation)
    return tuple(_written(naming.locator(item)) for item in ranked[:_SHOWN_MAX])


def _suits(action: Action, target: Locator, element: Element) -> bool:
    match action:
        case Fill():
            return element.role in _FIELDS
        case Select():
            return element.role in _LISTS
        case Check():
            return element.role in CHECKABLE_ROLES
        case _:
            return element.interactive or (bool(target.role) and element.role == target.role)


def _likeness(wanted: str, target: Locator, element: Element) -> float:
    said = (element.name[:_CHARS_MAX], *(value for _, value in element.traits.attributes))
    known = " ".join(_WORD.findall(" ".join(said).casefold()))[: 2 * _CHARS_MAX]
    return difflib.SequenceMatcher(None, wanted, known).ratio() + (element.role == target.role) / 2


def _written(locator: Locator) -> str:
    keys = {"role": locator.role, "name": locator.name, "frame": locator.frame}
    parts = [f"{key}: {_scalar(value)}" for key, value in keys.items() if value]
    if locator.selectors:
        parts.append(f"selectors: [{', '.join(map(_scalar, locator.selectors))}]")
    if locator.nth is not None:
        parts.append(f"nth: {locator.nth}")
    if locator.within is not None:
        parts.append(f"within: {_within(locator.within)}")
    return "{" + ", ".join(parts) + "}"


def _within(within: Within) -> str:
    told: dict[str, Any] = msgspec.structs.asdict(within)
    return (
        "{"
        + ", ".join(f"{key}: {_scalar(value)}" for key, value in told.items() if isinstance(value, str) and value)
        + "}"
    )


def _scalar(text: str) -> str:
    text = visible(text)
    return text if _PLAIN.match(text) else json.dumps(text, ensure_ascii=False)
