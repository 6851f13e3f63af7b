"""The live session that a command means when it names none."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from pathlib import Path
from typing import Final

from node.base.files import write_private
from node.cli.base.common import home_path

VARIABLE: Final = "TRAILMESH_SESSION"
_DIRECTORY: Final = "terminals"


def current_session(home: str | None) -> str:
    """The id from ``TRAILMESH_SESSION``, else of the session that was opened last in this terminal; empty if there is neither.

    With an empty id the node takes the only one that its caller has open.
    """
    if named := os.environ.get(VARIABLE, ""):
        return named
    file = _file(home)
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return file.read_text().strip() if file else ""
    return ""


def note_session(home: str | None, session: str) -> None:
    """Note that ``session`` was opened in this terminal, or, with an empty text, that it has ended."""
    file = _file(home)
    if file is None:
        return
    with contextlib.suppress(OSError):  # it is a convenience: a full disk must not make a call fail that has succeeded
        if session:
            file.parent.mkdir(mode=0o700, exist_ok=True)
            write_private(file, session.encode())
        else:
            file.unlink()


def _file(home: str | None) -> Path | None:
    """None without a terminal."""
    try:
        name = os.ttyname(sys.stdin.fileno())
    except (OSError, ValueError):
        return None
    directory = home_path(home)
    if not directory.is_dir():
        return None
    return directory / _DIRECTORY / hashlib.sha256(name.encode()).hexdigest()[:16]
