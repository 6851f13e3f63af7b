"""Writes reports of defects: the place of the error in the program, without any data that it worked on.

The message of an exception, the values of variables and the arguments of a command can contain secrets, texts of pages and
addresses. So a report has none of them: it names types, modules, functions and lines. Messages of ``MeshError`` never contain a
secret, but they can contain an address, and are left out too.
"""

from __future__ import annotations

import logging
import os
import platform
import secrets
import tempfile
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final

from protocol.errors import MeshError

REPORTS_DIRECTORY: Final = "faults"
"""Inside the data directory."""
REPORTS_MAX: Final = 20
"""A defect that occurs again and again must not fill the disk: the oldest report is removed for a new one."""
_FRAMES_MAX: Final = 40
"""The number of innermost frames per error that are kept; an endless recursion has a thousand."""
_CAUSES_MAX: Final = 8


def fault(error: BaseException, what: str, home: Path | None) -> MeshError:
    """Write a report of ``error``, and return ``internal.fault`` for it.

    what: the command or verb, without its arguments. home: the data directory; None, or one that cannot be written, puts the
    report into the directory for temporary files. ``detail.report`` names the file, and is empty if none could be written.
    """
    path = write_report(error, what, home)
    where = f"the report is {path}" if path else "no report could be written"
    return MeshError("internal.fault", f"{type(error).__name__} in {what}; {where}", report=str(path or ""))


def write_report(error: BaseException, what: str, home: Path | None) -> Path | None:
    """Write the report of ``error`` to a new file that only this user can read (mode 0600). Never raises; None if no directory
    takes it."""
    name = f"fault-{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}.txt"
    text = _report(error, what)
    if home is not None and home.is_dir():  # a data directory that is missing is not created for a report
        with suppress(OSError):
            directory = home / REPORTS_DIRECTORY
            directory.mkdir(mode=0o700, exist_ok=True)
            _remove_oldest(directory)
            return _written(directory / name, text)
    with suppress(OSError):
        return _written(Path(tempfile.gettempdir()) / f"trailmesh-{name}", text)
    return None


def in_short(error: BaseException) -> str:
    """The type of ``error`` and where it was raised, for one line of a log: ``TypeError in protocol.wire.cbor:75 (_text)``."""
    frames = _frames(error.__traceback__)
    return f"{_kind(error)} in {frames[-1]}" if frames else _kind(error)


class Reported(logging.Filter):
    """A filter for a log handler: writes the exception of a record to a report, and names the report in the line."""

    def __init__(self, home: Path) -> None:
        super().__init__()
        self._home = home

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record through."""
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            path = write_report(error, f"the log of {record.name}", self._home)
            record.msg = f"{record.getMessage()}: {in_short(error)}" + (f"; the report is {path}" if path else "")
            record.args = record.exc_info = record.exc_text = None
        return True


def _written(path: Path, text: str) -> Path:
    # O_EXCL does not follow a link that another user of the machine has put into a shared directory.
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    return path


def _remove_oldest(directory: Path) -> None:
    found = sorted(directory.glob("fault-*.txt"))  # the names begin with the time
    for path in found[: max(0, len(found) - REPORTS_MAX + 1)]:
        path.unlink(missing_ok=True)


def _report(error: BaseException, what: str) -> str:
    from node import __version__

    lines = [
        "trailmesh fault report. It names types, modules, functions and lines; no message, value or argument is in it.",
        f"time      {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        f"version   {__version__}",
        f"python    {platform.python_implementation()} {platform.python_version()}",
        f"system    {platform.system()} {platform.release()} {platform.machine()}",
        f"while     {what}",
    ]
    found: BaseException | None = error
    for number in range(_CAUSES_MAX):
        if found is None:
            break
        frames = _frames(found.__traceback__)
        left_out = len(frames) - _FRAMES_MAX
        lines += ["", f"{'caused by ' if number else ''}{_kind(found)}"]
        lines += [f"  ({left_out} outer frames are left out)"] if left_out > 0 else []
        lines += [f"  {frame}" for frame in frames[-_FRAMES_MAX:]]
        found = found.__cause__ or (None if found.__suppress_context__ else found.__context__)
    return "\n".join(lines) + "\n"


def _kind(error: BaseException) -> str:
    """The type of an error, with its code or number if it has one, which reveals nothing about the input."""
    name = type(error).__qualname__
    if isinstance(error, MeshError):
        return f"{name} {error.code}"
    if isinstance(error, OSError) and error.errno is not None:
        return f"{name} {error.errno}"
    return name


def _frames(trace: TracebackType | None) -> list[str]:
    """The frames from the outermost to the innermost. Modules are named, not files: a path contains the name of the user."""
    frames = []
    while trace is not None:
        code = trace.tb_frame.f_code
        module = trace.tb_frame.f_globals.get("__name__", "?")
        frames.append(f"{module}:{trace.tb_lineno} ({code.co_name})")
        trace = trace.tb_next
    return frames
