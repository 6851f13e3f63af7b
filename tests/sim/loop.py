"""Virtual time: an event loop that never waits, runs no thread, and orders the same program the same way each time.

What would make two runs of one seed differ, and what is done about it here:

- waiting: when nothing is ready, time jumps to the next timer; when there is none either, nothing can happen any more;
- threads: ``asyncio.to_thread`` runs inline;
- sets of tasks and futures: they hash by a serial number instead of by where they lie in memory;
- garbage: every task is held until it has ended, so none disappears at a moment the collector chose.
"""

from __future__ import annotations

import asyncio
import itertools
import selectors
from collections.abc import Callable, Coroutine
from typing import Any

_serial = itertools.count()


class Stalled(Exception):
    """Every task waits for another one: no timer is set, and nothing from outside will come."""


class _Future(asyncio.Future[Any]):
    def __new__(cls, *args: Any, **named: Any) -> _Future:
        made = super().__new__(cls)
        made._serial = next(_serial)  # before __init__, which may hash it
        return made

    _serial: int

    def __hash__(self) -> int:
        return self._serial


class _Task(asyncio.Task[Any]):
    def __new__(cls, *args: Any, **named: Any) -> _Task:
        made = super().__new__(cls)
        made._serial = next(_serial)
        return made

    _serial: int

    def __hash__(self) -> int:
        return self._serial


class _NoSelector(selectors.SelectSelector):
    """Instead of waiting, lets time pass."""

    def __init__(self) -> None:
        super().__init__()
        self.passed_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Nothing is ever ready from outside. Errors: ``Stalled``."""
        if timeout is None:
            raise Stalled
        self.passed_s += max(0.0, timeout)
        return []


class SimLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time, which begins at 0."""

    def __init__(self) -> None:
        global _serial
        _serial = itertools.count()
        self._virtual = _NoSelector()
        self._held: dict[int, _Task] = {}
        super().__init__(self._virtual)
        self.set_task_factory(self._make_task)  # type: ignore[arg-type]  # the keywords depend on the version

    def time(self) -> float:
        """Seconds of virtual time."""
        return self._virtual.passed_s

    def create_future(self) -> asyncio.Future[Any]:
        """A future with a hash of its own."""
        return _Future(loop=self)

    def _make_task(self, _: Any, work: Coroutine[Any, Any, Any], **given: Any) -> asyncio.Task[Any]:
        task = _Task(work, loop=self, **given)
        self._held[task._serial] = task
        task.add_done_callback(lambda ended: self._held.pop(task._serial, None))
        return task

    def run_in_executor(  # type: ignore[override]  # generic over its arguments there
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """``func(*args)``, done before this returns."""
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:
            done.set_exception(error)
        return done

    def pending(self) -> list[asyncio.Task[Any]]:
        """Tasks that have not ended, oldest first."""
        return list(self._held.values())
