"""Functions that are called when something happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec

P = ParamSpec("P")


class Listeners(Generic[P]):
    """Functions that are called, in the order in which they were added."""

    def __init__(self) -> None:
        self._each: list[Callable[P, None]] = []

    def add(self, listener: Callable[P, None]) -> None:
        """Call ``listener`` from now on."""
        self._each.append(listener)

    def remove(self, listener: Callable[P, None]) -> None:
        """Do not call ``listener`` any more. A second call does nothing."""
        self._each = [each for each in self._each if each != listener]

    def tell(self, *args: P.args, **more: P.kwargs) -> None:
        """Call every listener."""
        for listener in tuple(self._each):
            listener(*args, **more)
