"""How the names of keys are read, one by one, and which strokes are refused with which words."""

from __future__ import annotations

import string

import pytest

from protocol.errors import MeshError
from protocol.page.actions.keys import EDITING_KEYS, MOVING_KEYS, Stroke, read_key, require_key
from tests.tables import each


def stroke(name: str, *modifiers: str) -> Stroke:
    return Stroke(frozenset(modifiers), name)


@pytest.mark.parametrize("side", ["", "Left", "Right"])
@pytest.mark.parametrize("name", ["Shift", "Control", "Alt", "Meta"])
def test_a_modifier_of_either_side_is_held_as_the_same_one(name: str, side: str) -> None:
    assert read_key(f"{name}{side}+a") == stroke("a", name)


@each(
    ("key", "read"),
    [
        ("\r", stroke("Enter")),
        (" ", stroke("Space")),
        ("NumpadDecimal", stroke("Delete")),
        ("+", stroke("+")),
        ("Shift++", stroke("+", "Shift")),
        ("++a", None),
        ("Control", None),
        ("Control+Control", None),
        ("Alt+Meta+ArrowUp", stroke("ArrowUp", "Alt", "Meta")),
        ("Shift+Shift+a", stroke("a", "Shift")),
        ("É", stroke("é")),
        ("\x7f", None),
        ("\u200b", None),
        ("ab", None),
        ("enter", None),
        ("KeyÄ", None),
        ("Digit10", None),
        ("Numpad1", None),
    ],
)
def test_a_key_is_read_as_browsers_read_it(key: str, read: Stroke | None) -> None:
    assert read_key(key) == read


def test_letters_and_digits_have_the_names_of_their_keys() -> None:
    assert [read_key(f"Key{letter}") for letter in string.ascii_uppercase] == list(map(stroke, string.ascii_lowercase))
    assert [read_key(f"Digit{digit}") for digit in string.digits] == list(map(stroke, string.digits))
    for name in MOVING_KEYS | EDITING_KEYS | {"Enter", "Space", "Tab", "Escape"}:
        assert read_key(name) == stroke(name)


@each(
    ("key", "commands"),
    [("a", False), ("Shift+a", False), ("Control+a", True), ("Alt+a", True), ("Meta+a", True), ("Shift+Alt+a", True)],
)
def test_any_modifier_but_shift_makes_a_command(key: str, commands: bool) -> None:
    read = read_key(key)
    assert read is not None
    assert read.commands is commands


@pytest.mark.parametrize("held", ["Control", "Meta"])
@pytest.mark.parametrize("name", ["c", "x", "v", "Insert"])
def test_a_stroke_of_the_clipboard_is_refused_by_the_name_that_was_given(held: str, name: str) -> None:
    with pytest.raises(MeshError) as caught:
        require_key(f"{held}+{name}")
    assert (caught.value.code, caught.value.message) == (
        "action.clipboard",
        f"“{held}+{name}” copies, cuts or pastes",
    )


@each("key", ["Alt+Insert", "Alt+Delete", "Meta+Delete", "Shift+v", "Alt+c", "Control+b", "Enter+a"])
def test_strokes_beside_those_are_not_refused(key: str) -> None:
    require_key(key)
