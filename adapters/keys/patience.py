"""Calls a function that may never return, such as a query to a desktop keyring whose service hangs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def answered(ask: Callable[[], T], wait_s: float) -> T:
    """The result of ``ask``, or its exception; ``TimeoutError`` after ``wait_s``. Then ``ask`` goes on in a thread that ends
    with the process, since a call to another program cannot be cancelled."""
    # Not an executor: at its end the interpreter waits for an executor's threads, and this one may never end.
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(ask())
        except Exception as error:  # every error of a keyring is for the caller, who waits in another thread
            answer.set_exception(error)

    with _same_terminal():
        threading.Thread(target=run, daemon=True, name="asking a keyring").start()
        return answer.result(timeout=wait_s)


@contextlib.contextmanager
def _same_terminal() -> Iterator[None]:
    """Restores the terminal afterwards: some keyrings ask for a hidden password, and may be interrupted then."""
    try:
        import termios

        terminal = open("/dev/tty", "rb", buffering=0)  # noqa: SIM115 - closed below
        before = termios.tcgetattr(terminal)
    except (ImportError, OSError, ValueError):
        yield  # there is none
        return
    with terminal:
        try:
            yield
        finally:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(terminal, termios.TCSADRAIN, before)
