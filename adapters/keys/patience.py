"""Asks something that may never answer, such as the keyring of a desktop whose service hangs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def answered(ask: Callable[[], T], wait_s: float) -> T:
    """What ``ask`` returns or raises. Without an answer in time ``TimeoutError``: ``ask`` goes on in a thread that ends with the
    process, since nothing recalls a call to another program."""
    # Not an executor: the interpreter waits for its threads at its end, and this one may never come to its own.
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(ask())
        except Exception as error:  # whatever a keyring raises is for the caller, who waits in another thread
            answer.set_exception(error)

    with _same_terminal():
        threading.Thread(target=run, daemon=True, name="asking a keyring").start()
        return answer.result(timeout=wait_s)


@contextlib.contextmanager
def _same_terminal() -> Iterator[None]:
    """The terminal is afterwards as it was: some keyrings ask for a password, unseen, and may be interrupted in that."""
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
