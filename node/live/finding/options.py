"""Adapts an action to the kind of its element, and replaces values of options by their labels."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from adapters.ports.browser import Page
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Fill, Select
from protocol.page.actions.locator import resolve
from protocol.page.seen.observation import CHECKABLE_ROLES, Element, Observation


async def as_label(page: Page, action: Action, element: Element, *, recorded: bool = False) -> Action:
    """``action`` with the label of an option in place of its value, which foreign recordings use.

    recorded: the action is replayed, so it already names options by label; a missing label is not looked for among the values.

    The risk is judged by the label, because a person would read the label before choosing.
    """
    match action:
        case Fill(value=str(value)) if element.traits.tag == "select":
            label = await page.option_label(element.ref, value)
            return msgspec.structs.replace(action, value=label) if label else action
        case Select(option=option, also=also) if also and not recorded and element.traits.tag == "select":
            # The label is tried first: a recording always uses it.
            labels = [
                value if value in element.options else await page.option_label(element.ref, value) or value
                for value in (option, *also)
            ]
            return msgspec.structs.replace(action, option=labels[0], also=tuple(labels[1:]))
        case _:
            return action


async def by_label(page: Page, action: Action, observation: Observation) -> Action:
    """``action`` with the label of an option in place of the value that its caller gave. Not for replays, which name options by
    label.

    Errors: those of ``resolve`` and of ``Page.option_label``.
    """
    if not isinstance(action, Select):
        return action
    element = resolve(action.target, observation)
    if element.traits.tag != "select" or action.option in element.options:
        return action
    label = await page.option_label(element.ref, action.option)
    return msgspec.structs.replace(action, option=label) if label else action


def fit(action: Action, element: Element, shown: Callable[[str], str] = str) -> Action:
    """The action in the form that suits the element, because foreign recordings use "change" for text fields and lists alike.

    shown: redacts a label as the observation does, with the name of a secret in place of its value.

    Errors: ``action.not_possible`` if the list has no such option, or for a check box, because its value (usually "on") does not
    say whether it is checked.
    """
    match action:
        case Fill() if element.role in CHECKABLE_ROLES:
            raise MeshError(
                "action.not_possible",
                f"“{element.name}” is a {element.role}: use check or click, because its value does not say whether it is checked",
            )
        case Fill(target=target, value=str(value)) if element.traits.tag == "select" or (
            element.role in ("combobox", "listbox") and element.options
        ):
            return Select(target=target, option=_option(value, element, shown), timeout_ms=action.timeout_ms)
        case Select(option=option, also=also) if element.options and (
            missing := [label for label in (option, *also) if not {label, shown(label)} & set(element.options)]
        ):
            raise _no_option(missing[0], element)
        case _:
            return action


def _option(value: str, element: Element, shown: Callable[[str], str]) -> str:
    wanted = {" ".join(text.split()).casefold() for text in (value, shown(value))}
    for label in element.options:
        if " ".join(label.split()).casefold() in wanted:
            return label if shown(value) == value else value
    raise _no_option(value, element)


def _no_option(wanted: str, element: Element) -> MeshError:
    return MeshError(
        "action.not_possible",
        f"“{element.name}” has no option “{wanted[:80]}”; it has: {', '.join(element.options[:12])}",
        options=list(element.options[:12]),
    )
