"""The directory of a launched Chromium: its profile with our preferences, its lock, its temporary files."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from protocol.errors import MeshError

PREFERENCES: Final[dict[str, Any]] = {
    # What a page has fetched ahead (by speculation rules) is fetched by Chromium's own process: no interception sees it.
    "net": {"network_prediction_options": 2},  # never
}
PATH_CHARS_MAX: Final = 60
"""Chromium locks its profile by a Unix socket in a directory of 44 characters below this one; its path has 107 at most."""
_USUAL: Final = ("/tmp", "/var/tmp")  # noqa: S108 (what is made there is readable to its owner only)


def make_home(roots: Sequence[str] = ()) -> Path:
    """A fresh directory for one Chromium, below the first of ``roots`` that will do.

    roots: empty for the system's directory of temporary files, and where that is too deep for Chromium, the usual ones.
    Errors: ``browser.launch``.
    """
    for root in roots or (tempfile.gettempdir(), *_USUAL):
        try:
            home = Path(tempfile.mkdtemp(prefix="trailmesh-", dir=root))
        except OSError:
            continue
        if len(str(home)) <= PATH_CHARS_MAX:
            (home / "Default").mkdir()
            (home / "Default" / "Preferences").write_text(json.dumps(PREFERENCES))
            return home
        home.rmdir()
    detail = f"no directory of at most {PATH_CHARS_MAX} characters for temporary files: set TMPDIR to a shorter one"
    raise MeshError("browser.launch", detail, reason="directory")


def environment(home: Path) -> dict[str, str | float | bool]:
    """What Chromium finds in its environment: this process's, with its temporary files in ``home``."""
    return {**os.environ, "TMPDIR": str(home)}


def remove_home(home: Path) -> None:
    """Remove it with everything in it. Never raises."""
    shutil.rmtree(home, ignore_errors=True)
