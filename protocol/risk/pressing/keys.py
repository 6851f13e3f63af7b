"""The class of pressing a key: the class of its effect."""

from __future__ import annotations

from typing import Final

from protocol.page.actions.keys import EDITING_KEYS, MOVING_KEYS, Stroke, read_key
from protocol.page.seen.observation import CHECKABLE_ROLES, Element, Observation
from protocol.risk.judgement import Risk, raised, settled, worst
from protocol.risk.pressing.fields import LIST_ROLES, any_choice, chosen, form_of, searches, takes_text, typed
from protocol.risk.pressing.structure import clicked, submitted

ENTER: Final = Stroke(frozenset(), "Enter")
_VALUE_TYPES: Final = frozenset({"date", "datetime-local", "month", "week", "time", "number", "range"})
"""Types of fields in which an arrow key changes the value."""
_TEXT_COMMANDS: Final = frozenset("az")
"""With Control: select all, undo."""
_BOXES: Final = frozenset({"checkbox", "switch", "menuitemcheckbox"})
"""Arrow keys do not change these."""


def pressed(key: str, element: Element | None, page: Observation) -> Risk:
    """The risk of ``key`` on ``element``, or on the focused element."""
    stroke = read_key(key)
    if stroke is None:
        return settled(4, "a key that is not known")
    if stroke.name in ("Tab", "Escape"):
        return settled(1, "moves the focus or closes a view")
    if element is None:
        # A key without a target goes to the focused element.
        element = next((item for item in page.elements if "active" in item.states and item.interactive), None)
    if stroke.name in MOVING_KEYS:
        return _moved(element)
    if element is None:
        return settled(4, "a key for an unknown element")
    if stroke.name == "Enter":
        return entered(stroke, element, page)
    if takes_text(element):
        return _edited(stroke, element)
    if stroke.name == "Space":
        return clicked(element, page)
    if element.role in LIST_ROLES and not stroke.commands and len(stroke.name) == 1:
        return any_choice(element)  # a letter chooses the option that begins with it
    return settled(4, "a shortcut key")


def entered(stroke: Stroke, element: Element, page: Observation) -> Risk:
    """The risk of Enter, with any modifiers: it activates a control, and submits the form of a field."""
    traits = element.traits
    if takes_text(element):
        finds = traits.form_method != "post" and searches(element)
        if traits.tag == "textarea" and not stroke.commands and not finds:
            # It begins a line, or a script sends the text: chats do, and use Shift for a new line.
            begins = "Shift" in stroke.modifiers
            return typed(element) if begins else raised(typed(element), 4, "begins a line or sends the text")
        return worst(typed(element), _sent(element, page))
    # In a check box, a radio button or a list, Enter submits the form as in a text field.
    if element.role in CHECKABLE_ROLES | LIST_ROLES and traits.form_method:
        return worst(clicked(element, page), _sent(element, page))
    return clicked(element, page)


def _sent(element: Element, page: Observation) -> Risk:
    """The risk of submitting the form of ``element``, which presses its first button."""
    button = next(iter(form_of(element, page).buttons), None)
    return worst(submitted(element, page), *(() if button is None else (clicked(button, page),)))


def _edited(stroke: Stroke, element: Element) -> Risk:
    """The risk of an editing key in a field. An access key (Alt) or a shortcut can trigger anything on the page."""
    harmless = "Alt" not in stroke.modifiers and (stroke.name in _TEXT_COMMANDS or stroke.name in EDITING_KEYS)
    return settled(4, "a shortcut key") if stroke.commands and not harmless else typed(element)


def _moved(element: Element | None) -> Risk:
    if element is not None:
        if element.role in LIST_ROLES and not (element.traits.tag in ("input", "textarea") and not element.options):
            return any_choice(element)
        if element.role in CHECKABLE_ROLES - _BOXES:
            return raised(chosen(element, ""), 3, "chooses another one")
        if element.role in ("slider", "spinbutton") or element.traits.input_type in _VALUE_TYPES:
            return raised(typed(element), 3, "changes a value")
    return settled(1, "moves the focus or the view")
