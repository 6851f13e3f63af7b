"""Asks something that may never answer, such as the keyring of a desktop whose service hangs."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")


def answered(ask: Callable[[], T], wait_s: float) -> T:
    """What ``ask`` returns or raises. Without an answer in time ``TimeoutError``: ``ask`` goes on in a thread that ends with the
    process, since nothing recalls a call to another program."""
    box: queue.SimpleQueue[tuple[bool, T | Exception]] = queue.SimpleQueue()

    def run() -> None:
        try:
            box.put((True, ask()))
        except Exception as error:
            box.put((False, error))

    with _same_terminal():
        threading.Thread(target=run, daemon=True, name="asking a keyring").start()
        try:
            good, found = box.get(timeout=wait_s)
        except queue.Empty:
            raise TimeoutError from None
    if isinstance(found, Exception) and not good:
        raise found
    return found  # type: ignore[return-value]  # it is what ``ask`` returned


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
