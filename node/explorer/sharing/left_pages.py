"""Pages with controls in doubt that this node had no time to try. A search returns to them when nothing is left to visit."""

from __future__ import annotations

from collections.abc import Callable, Iterable


class LeftPages:
    """Such pages of one search, by the key of their node, in the order in which its coordinator met them."""

    def __init__(self) -> None:
        self._waiting: dict[bytes, None] = {}
        self._taken: set[bytes] = set()
        """Those that a lease was dealt for, until work on it begins."""

    def note(self, *keys: bytes) -> None:
        """Return to ``keys`` later."""
        self._waiting |= dict.fromkeys(keys)

    def any(self, may: Callable[[bytes], bool]) -> bool:
        """Whether one waits that ``may`` be returned to."""
        return any(map(may, self._waiting))

    def take(self, may: Callable[[bytes], bool]) -> bytes | None:
        """The first that ``may`` be returned to, for a lease; it waits no longer."""
        found = next(filter(may, self._waiting), None)
        if found is not None:
            del self._waiting[found]
            self._taken.add(found)
        return found

    def begin(self, key: bytes) -> bool:
        """Whether the lease of ``key`` was dealt for a return, and not for a visit like any other."""
        was_taken = key in self._taken
        self._taken.discard(key)
        return was_taken

    def all(self) -> Iterable[bytes]:
        """What waits and what was taken, to be stored: after a crash nobody is on the way."""
        return (*self._taken, *self._waiting)
