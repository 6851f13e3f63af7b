"""Translates the key-down and key-up events of the Chrome DevTools Recorder into presses of keys and shortcuts."""

from __future__ import annotations

from typing import Final

from protocol.page.actions.action import Action, Press

_MODIFIERS: Final = ("Control", "Alt", "Shift", "Meta")
_SIDED: Final = frozenset(f"{name}{side}" for name in _MODIFIERS for side in ("Left", "Right"))


class Keys:
    """The keys that are down. Our press does both events at once, so only other keys may come between a key-down and its
    key-up.
    """

    def __init__(self) -> None:
        self._held: list[str] = []
        self._used: bool
        """True if one of the held modifiers was pressed together with another key."""
        self._down: set[str] = set()
        self._over: set[str] = set()

    def down(self, key: str) -> tuple[Press, ...]:
        """The action of a ``keyDown``; a modifier alone has no action until its ``keyUp``. Errors: ``ValueError``."""
        if key in _SIDED:
            plain = key.removesuffix("Left").removesuffix("Right")
            raise ValueError(f"left and right keys are not distinguished: write “{plain}”")
        if key in _MODIFIERS:
            if key not in self._held:
                self._held.append(key)
                self._used = False
            return ()
        self._down.add(key)
        self._over.discard(key)
        self._used = True
        return (self._press(key),)

    def up(self, key: str) -> tuple[Press, ...]:
        """The action of a ``keyUp``: none, or the press of modifiers that were not used with another key. Errors:
        ``ValueError``.
        """
        if key in self._held:
            presses = () if self._used else (self._press(),)
            self._held.remove(key)
            self._used = True
            return presses
        if key in self._over:
            raise ValueError(f"“{key}” is held down during other steps, which is not supported")
        if key not in self._down:
            raise ValueError(f"“{key}” is released without having been pressed")
        self._down.discard(key)
        return ()

    def interrupt(self) -> str:
        """The reason why a step cannot be performed while keys are down; empty if none are."""
        if self._held:
            return f"it is performed with “{self._held[0]}” held down, which is supported for keys only"
        self._over |= self._down
        return ""

    @staticmethod
    def ended(action: Action, key: str) -> bool:
        """True if ``action`` is the press that ends with the ``keyUp`` of ``key``."""
        return isinstance(action, Press) and (action.key == key or action.key.endswith(f"+{key}"))

    def _press(self, *key: str) -> Press:
        return Press(key="+".join([*(name for name in _MODIFIERS if name in self._held), *key]))
