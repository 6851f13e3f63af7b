"""Which keys a press names, and which of them are never pressed."""

from __future__ import annotations

import pytest

from protocol.errors import MeshError
from protocol.page.actions.keys import read_key, require_key
from tests.tables import each


@each(
    ("key", "modifiers", "name"),
    [
        ("Enter", "", "Enter"),
        ("\n", "", "Enter"),
        ("ShiftLeft+NumpadEnter", "Shift", "Enter"),
        ("Control+Shift+A", "Control Shift", "a"),
        ("ControlOrMeta+KeyC", "Control", "c"),
        ("Control++", "Control", "+"),
        ("Numpad0", "", "Insert"),
        ("é", "", "é"),
    ],
)
def test_every_spelling_of_a_key_is_read_as_the_same_one(key: str, modifiers: str, name: str) -> None:
    """Guard: protocol/page/actions/keys.py, read_key."""
    assert read_key(key) == (frozenset(modifiers.split()), name)


@each("key", ["", "Enter+a", "a+b", "Control+", "Copy", "F5", "Shift", "\x00", "Hyper+a"])
def test_what_names_no_known_key_is_none(key: str) -> None:
    assert read_key(key) is None


@each(
    "key",
    [
        "Control+C",
        "Control+KeyV",
        "Meta+x",
        "ControlOrMeta+v",
        "Control+Shift+V",
        "ControlRight+c",
        "Control+Insert",
        "Shift+Insert",
        "Shift+Delete",
        "Shift+Numpad0",
        "Shift+NumpadDecimal",
        "Alt+Control+c",
    ],
)
def test_keys_of_the_clipboard_are_refused(key: str) -> None:
    """Guard: protocol/page/actions/keys.py, require_key."""
    with pytest.raises(MeshError) as caught:
        require_key(key)
    assert caught.value.code == "action.clipboard"


@each(
    "key",
    ["c", "Control+A", "Shift+C", "Insert", "Delete", "Control+Delete", "Enter+a", "Alt+v", "F5", "é", "Control++"],
)
def test_other_keys_are_not(key: str) -> None:
    require_key(key)


@each(
    ("key", "said"),
    [
        ("Ctrl+C", "“Ctrl”: write Control+C"),
        ("cmd+shift+a", "“cmd”: write Meta+Shift+a"),
        ("Esc", "“Esc”: write Escape"),
        ("enter", "“enter”: write Enter"),
        ("Hyper+a", "“Hyper”: a key is one character, or a name such as Enter"),
        ("Control+", "“”: a key is one character, or a name such as Enter"),
        ("Enter Enter", "“Enter Enter”: a key is one character, or a name such as Enter"),
    ],
)
def test_a_key_that_no_browser_knows_is_refused_with_the_name_that_it_has(key: str, said: str) -> None:
    with pytest.raises(MeshError) as caught:
        require_key(key)
    assert caught.value.code == "input.invalid" and said in caught.value.message
