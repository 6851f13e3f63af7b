"""Counts the pictures and the opened addresses of one piece of work, and ends it when it has used up what it may."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from protocol.errors import MeshError
from protocol.page.seen.turned_away import TurnedAway


def out_of(what: str, most: int) -> MeshError:
    """The error of work that has used up a bound."""
    told = f"the task may take {most} s" if what == "seconds" else f"the task may have {most} {what}"
    return MeshError("task.budget", told, budget=what, most=most)


def warns_at(most: int) -> int:
    """How much of a bound is used up when a warning is given."""
    return math.ceil(most * 3 / 4)


class Waits(Protocol):
    """Waits on behalf of one piece of work whose site turns it away."""

    @property
    def paused(self) -> bool:
        """True while it waits for a person: the time does not count."""

    async def later(self, turned: TurnedAway, attempt: int) -> None:
        """Wait as long as the site asks. attempt: how often it has asked before. Errors: ``site.busy``, which ends the work."""

    async def person(self, turned: TurnedAway, picture: bytes) -> bool:
        """Wait until a person says that the work may go on. True if the page is to be tried again, False to take it as it is.
        Errors: ``site.person``, which ends the work.
        """


@dataclass
class Allowance:
    """How much one piece of work may do, and what it has done."""

    end: Callable[[MeshError], None]
    """Ends the work from outside, whatever it is at."""
    waits: Waits | None = None
    """Waits where a site turns the work away; None if the work goes on at once."""
    warn: Callable[[str, int, int], None] = lambda what, used, most: None
    """``(what, used, most)``: called once for each bound, when three quarters of it are used up."""
    pictures_max: int = 0
    """0 for any number."""
    navigations_max: int = 0
    pictures: int = 0
    navigations: int = 0

    def take_picture(self) -> None:
        """Count a picture. Errors: ``task.budget``."""
        self._check(self.pictures, self.pictures_max, "pictures")
        self.pictures += 1
        self._warn(self.pictures, self.pictures_max, "pictures")

    def navigate(self) -> None:
        """Count an address that is opened. Errors: ``task.budget``."""
        self._check(self.navigations, self.navigations_max, "navigations")
        self.navigations += 1
        self._warn(self.navigations, self.navigations_max, "navigations")

    def _warn(self, count: int, most: int, what: str) -> None:
        if most and count == warns_at(most):
            self.warn(what, count, most)

    def _check(self, count: int, most: int, what: str) -> None:
        if most and count >= most:
            error = out_of(what, most)
            self.end(error)
            raise error


_now: ContextVar[Allowance | None] = ContextVar("allowance of a task", default=None)


@contextmanager
def allowed(allowance: Allowance) -> Iterator[None]:
    """Count the work of the block, and of tasks that are started in it."""
    token = _now.set(allowance)
    try:
        yield
    finally:
        _now.reset(token)


def take_picture() -> None:
    """Count a picture of the present work. Errors: ``task.budget``."""
    if (allowance := _now.get()) is not None:
        allowance.take_picture()


def navigate() -> None:
    """Count an address that the present work opens. Errors: ``task.budget``."""
    if (allowance := _now.get()) is not None:
        allowance.navigate()


def waits_of_task() -> Waits | None:
    """Who waits for the present work; None if it is no task."""
    allowance = _now.get()
    return allowance.waits if allowance is not None else None


def is_task() -> bool:
    """True if the present work is a task."""
    return waits_of_task() is not None


def is_paused() -> bool:
    """True if the present work waits for a person."""
    waits = waits_of_task()
    return waits is not None and waits.paused
