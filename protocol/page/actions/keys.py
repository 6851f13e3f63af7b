"""Parses the keys that a ``press`` names: one key, and the modifiers that are held with it.

Browsers know several names for one key (``Enter``, ``NumpadEnter``, a line break). All judgements use the parsed key, so that no
spelling passes as another key.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from protocol.errors import MeshError

_MODIFIERS: Final = {
    "Shift": "Shift",
    "Control": "Control",
    "Alt": "Alt",
    "Meta": "Meta",
    # A browser resolves it to one of the two; both are judged alike.
    "ControlOrMeta": "Control",
    **{f"{name}{side}": name for name in ("Shift", "Control", "Alt", "Meta") for side in ("Left", "Right")},
}
_ALIASES: Final = {
    "\n": "Enter",
    "\r": "Enter",
    "NumpadEnter": "Enter",
    " ": "Space",
    # Without Shift these two keys of the number pad are Insert and Delete.
    "Numpad0": "Insert",
    "NumpadDecimal": "Delete",
    **{f"Key{letter}": letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
    **{f"Digit{digit}": digit for digit in "0123456789"},
}
MOVING_KEYS: Final = frozenset({"ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "PageUp", "PageDown", "Home", "End"})
"""Keys that move the view or the text cursor. In a list, a group of radio buttons or a slider they change the choice."""
EDITING_KEYS: Final = frozenset({"Backspace", "Delete", "Insert"})
_NAMED: Final = MOVING_KEYS | EDITING_KEYS | {"Enter", "Space", "Tab", "Escape"}


_PRESSED: Final = frozenset(
    {
        *_NAMED,
        *_MODIFIERS,
        *_ALIASES,
        *(f"F{number}" for number in range(1, 13)),
        *(f"Numpad{each}" for each in (*range(10), "Add", "Subtract", "Multiply", "Divide", "Decimal", "Enter")),
        *("Backquote", "Minus", "Equal", "Backslash", "BracketLeft", "BracketRight", "Semicolon", "Quote", "Comma"),
        *("Period", "Slash", "AltGraph", "CapsLock", "NumLock", "ScrollLock", "PrintScreen", "Pause", "ContextMenu"),
        *("Clear", "AudioVolumeMute", "AudioVolumeDown", "AudioVolumeUp", "MediaTrackNext", "MediaTrackPrevious"),
        "MediaPlayPause",
    }
)
"""The names that browsers have for keys, beside single characters (UI Events)."""
_WRITTEN: Final = {
    **{name.casefold(): name for name in _PRESSED if len(name) > 1},
    **{"ctrl": "Control", "ctl": "Control", "cmd": "Meta", "command": "Meta", "super": "Meta", "win": "Meta"},
    **{"option": "Alt", "opt": "Alt", "esc": "Escape", "return": "Enter", "del": "Delete", "ins": "Insert"},
    **{"up": "ArrowUp", "down": "ArrowDown", "left": "ArrowLeft", "right": "ArrowRight", "spacebar": "Space"},
    **{"pgup": "PageUp", "pgdn": "PageDown", "pgdown": "PageDown", "back": "Backspace", "bksp": "Backspace"},
}
"""How browsers write a key, by what people and other tools call it, in lower case."""


class Stroke(NamedTuple):
    """A key that goes down and up while modifiers are held."""

    modifiers: frozenset[str]
    """``Shift``, ``Control``, ``Alt``, ``Meta``."""
    name: str
    """A single character, or a name such as ``Enter``. A letter is in lower case."""

    @property
    def commands(self) -> bool:
        """True if a modifier makes it a command to the page or the browser, instead of a character."""
        return bool(self.modifiers - {"Shift"})


@lru_cache(maxsize=256)  # a recording names the same few keys thousands of times
def read_key(key: str) -> Stroke | None:
    """The keys that ``key`` names; None if one is not in the lists of this module.

    Only modifiers may precede the key, joined by ``+``: a browser would press ``Enter+a`` as two keys.
    """
    *held, last = _split(key)
    if not all(name in _MODIFIERS for name in held):
        return None
    name = _ALIASES.get(last, last)
    if len(name) != 1 and name not in _NAMED:
        return None
    if not name.isprintable():
        return None
    return Stroke(frozenset(_MODIFIERS[item] for item in held), name.lower() if len(name) == 1 else name)


def _split(key: str) -> list[str]:
    """The parts between ``+`` signs, as browsers read them: a ``+`` that follows nothing is the key ``+``."""
    parts = [""]
    for character in key:
        if character == "+" and parts[-1]:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def require_key(key: str) -> None:
    """Refuse names that no browser knows, and keys that copy, cut or paste: all contexts of a browser, and in an attached one its
    owner, share one clipboard.

    Errors: ``action.clipboard``, ``input.invalid``.
    """
    parts = _split(key)
    if unknown := [part for part in parts if len(part) != 1 and part not in _PRESSED]:
        raise MeshError("input.invalid", _unknown(unknown[0], parts))
    stroke = read_key(key)
    if stroke is None:
        return
    held, name = stroke
    if (held & {"Control", "Meta"} and name in ("c", "x", "v", "Insert")) or (
        "Shift" in held and name in ("Insert", "Delete")
    ):
        raise MeshError("action.clipboard", f"“{key}” copies, cuts or pastes")


def _unknown(name: str, parts: list[str]) -> str:
    right = [_WRITTEN.get(part.casefold(), part) if len(part) > 1 else part for part in parts]
    if all(len(part) == 1 or part in _PRESSED for part in right):
        return f"no key is called “{name}”: write {'+'.join(right)}"
    return f"no key is called “{name}”: a key is one character, or a name such as Enter, Escape, ArrowDown or Control+a"
