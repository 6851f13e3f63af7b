"""Keys that go down and up, as a recording of the Chrome DevTools Recorder tells it, in presses of keys and shortcuts."""

from __future__ import annotations

from typing import Final

from protocol.page.action import Action, Press

_MODIFIERS: Final = ("Control", "Alt", "Shift", "Meta")
_SIDED: Final = frozenset(f"{name}{side}" for name in _MODIFIERS for side in ("Left", "Right"))


class Keys:
    """Which keys are down. A press goes down and up at once, so nothing but keys fits between the two."""

    def __init__(self) -> None:
        self._held: list[str] = []
        self._used = True
        self._down: set[str] = set()
        self._over: set[str] = set()

    def down(self, key: str) -> tuple[Press, ...]:
        """What a ``keyDown`` does; a modifier does nothing alone until it goes up. Errors: ``ValueError``."""
        if key in _SIDED:
            plain = key.removesuffix("Left").removesuffix("Right")
            raise ValueError(f"the left and the right key are not told apart: write “{plain}”")
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
        """What a ``keyUp`` does: nothing, or the press of modifiers that went down for no other key. Errors: ``ValueError``."""
        if key in self._held:
            presses = () if self._used else (self._press(),)
            self._held.remove(key)
            self._used = True
            return presses
        if key in self._over:
            raise ValueError(f"“{key}” is held down over other steps, which is not supported")
        if key not in self._down:
            raise ValueError(f"“{key}” goes up without having gone down")
        self._down.discard(key)
        return ()

    def interrupt(self) -> str:
        """Another step comes: why it cannot be done now, or nothing."""
        if self._held:
            return f"it is done with “{self._held[0]}” held down, which is supported for keys only"
        self._over |= self._down
        self._down.clear()
        return ""

    @staticmethod
    def ended(action: Action, key: str) -> bool:
        """Whether ``action`` is the press that ``keyUp`` of ``key`` ends."""
        return isinstance(action, Press) and (action.key == key or action.key.endswith(f"+{key}"))

    def _press(self, *key: str) -> Press:
        return Press(key="+".join([*(name for name in _MODIFIERS if name in self._held), *key]))
