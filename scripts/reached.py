"""Notes which parts of the code run, for ``scripts/segments.py``: imported by the code that it has marked, and by pytest.

Every process of a copy appends to one file, so what a command or a node of its own runs belongs to the test that started
it. Kept small: each of these processes imports it.
"""

from __future__ import annotations

import os
import time

FILE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "reached.txt")
TEST, END = ">", "<"
"""Begin the lines between which a test runs, with the time in seconds and the name of the test."""


def _append(line: str, _open=os.open, _write=os.write, _close=os.close) -> None:  # type: ignore[no-untyped-def]
    """Bound when this is loaded: a test may replace what is in ``os``."""
    file = _open(FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    _write(file, f"{line}\n".encode())
    _close(file)


class _Reached(dict[int, None]):
    """``REACHED[number]`` notes the number the first time."""

    def __missing__(self, number: int) -> None:
        self[number] = None
        _append(str(number))


REACHED = _Reached()


def pytest_runtest_logstart(nodeid: str) -> None:
    """From here on everything is reached for the first time again."""
    REACHED.clear()
    _append(f"{TEST} {time.monotonic()} {nodeid}")


def pytest_runtest_logfinish(nodeid: str) -> None:
    """What comes now belongs to no test."""
    _append(f"{END} {time.monotonic()} {nodeid}")
