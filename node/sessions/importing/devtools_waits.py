"""Converts the step ``waitForElement`` of the Chrome DevTools Recorder to waits and assertions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from node.sessions.importing.devtools_selectors import Bad
from protocol.page.actions.action import Action, Assert, Asserted, Locator, Wait

_TEXTS: Final[dict[str, Asserted]] = {"value": "sent", "innerText": "text", "textContent": "text"}
_STATES: Final[dict[str, tuple[Asserted, Asserted]]] = {
    "checked": ("checked", "unchecked"),
    "disabled": ("disabled", "enabled"),
}


def wait_actions(step: dict[str, Any], target: Locator, timeout_ms: int, bad: Bad) -> tuple[Action, ...]:
    """Wait until the demanded number of elements exists, or none, and then check the demands on the element.

    As in Chrome's player, ``visible: false`` negates the whole condition. Errors: ``input.invalid``.
    """
    operator, count, visible = _typed(step, bad)
    checks = tuple(_checks(step, target, timeout_ms, bad))
    absent = (operator, count, visible) in ((">=", 1, False), ("==", 0, True), ("<=", 0, True))
    if absent and not checks:
        return (Wait(target=target, state="hidden", timeout_ms=timeout_ms),)
    if not visible or absent:
        raise bad("the opposite of a condition is supported only for “one element or more”", "visible")
    if checks and count != 1:
        raise bad("attributes and properties are checked of one element only", "count")
    if (operator, count) == (">=", 1):
        first = target if checks else _first(target)
        return (Wait(target=first, timeout_ms=timeout_ms), *checks)
    if operator != "==":
        raise bad("a count can be waited for only exactly (`==`), or for one or more (`>=` 1)", "operator")
    return (Assert(what="count", expected=str(count), target=target, timeout_ms=timeout_ms), *checks)


def _typed(step: dict[str, Any], bad: Bad) -> tuple[str, int, bool]:
    operator, count, visible = step.get("operator", ">="), step.get("count", 1), step.get("visible", True)
    if operator not in (">=", "==", "<="):
        raise bad("must be >=, == or <=", "operator")
    if type(count) is not int or not 0 <= count <= 1_000:
        raise bad("must be a whole number up to 1,000", "count")
    if type(visible) is not bool:
        raise bad("must be true or false", "visible")
    if operator == ">=" and count == 0:
        raise bad("it holds of every page", "count")
    return operator, count, visible


def _first(target: Locator) -> Locator:
    """The first of several elements, if the selectors can express that."""
    plain = [way for way in target.selectors if not way.startswith("aria/")]
    if not plain:
        return target
    return msgspec.structs.replace(target, selectors=tuple(f"{way} >> visible=true >> nth=0" for way in plain))


def _checks(step: dict[str, Any], target: Locator, timeout_ms: int, bad: Bad) -> Iterator[Assert]:
    attributes, properties = step.get("attributes", {}), step.get("properties", {})
    if not isinstance(attributes, dict) or not all(isinstance(value, str) for value in attributes.values()):
        raise bad("must be an object of texts", "attributes")
    if not isinstance(properties, dict):
        raise bad("must be an object", "properties")
    for name, value in attributes.items():
        yield Assert(what="attribute", attribute=name, expected=value, target=target, timeout_ms=timeout_ms)
    for name, value in properties.items():
        if name in _TEXTS and isinstance(value, str):
            yield Assert(what=_TEXTS[name], expected=value, target=target, timeout_ms=timeout_ms)
        elif name in _STATES and isinstance(value, bool):
            yield Assert(what=_STATES[name][0 if value else 1], target=target, timeout_ms=timeout_ms)
        else:
            known = ", ".join((*_TEXTS, *_STATES))
            raise bad(f"cannot be checked here; known: {known}", f"properties.{name[:40]}")
