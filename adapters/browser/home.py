"""The directory of a launched Chromium: its profile with our preferences, its lock, its temporary files.

It goes with the browser. One whose process was killed stays behind, until the next browser of the same user begins.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from filelock import FileLock, Timeout

from protocol.errors import MeshError

PREFERENCES: Final[dict[str, Any]] = {
    # What a page has fetched ahead (by speculation rules) is fetched by Chromium's own process: no interception sees it.
    "net": {"network_prediction_options": 2},  # never
}
PATH_CHARS_MAX: Final = 60
"""Chromium locks its profile by a Unix socket in a directory of 44 characters below this one; its path has 107 at most."""
_USUAL: Final = ("/tmp", "/var/tmp")  # noqa: S108 (what is made there is readable to its owner only)

_PREFIX: Final = "trailmesh-"
_OWNER_FILE: Final = "owner.lock"
_NEW_S: Final = 60.0  # so long a directory is left alone whose maker may just be about to lock it


def make_home(roots: Sequence[str] = ()) -> Path:
    """A fresh directory for one Chromium, below the first of ``roots`` that will do.

    roots: empty for the system's directory of temporary files, and where that is too deep for Chromium, the usual ones.
    Errors: ``browser.launch``.
    """
    for root in roots or (tempfile.gettempdir(), *_USUAL):
        try:
            home = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=root))
        except OSError:
            continue
        if len(str(home)) <= PATH_CHARS_MAX:
            (home / "Default").mkdir()
            (home / "Default" / "Preferences").write_text(json.dumps(PREFERENCES))
            return home
        home.rmdir()
    detail = f"no directory of at most {PATH_CHARS_MAX} characters for temporary files: set TMPDIR to a shorter one"
    raise MeshError("browser.launch", detail, reason="directory")


def own_home(home: Path) -> FileLock:
    """Have ``home`` known as one in use, as long as the result is held and this process lives. Errors: ``browser.launch``."""
    lock = FileLock(home / _OWNER_FILE, timeout=0, mode=0o600, thread_local=False)
    try:
        lock.acquire()
    except (OSError, Timeout) as error:
        raise MeshError("browser.launch", "its directory cannot be locked", reason="directory") from error
    return lock


def remove_abandoned(roots: Sequence[str] = ()) -> list[Path]:
    """Remove what killed processes of this user left behind, and what was removed. Never raises. roots: as in ``make_home``."""
    removed = []
    for root in dict.fromkeys(roots or (tempfile.gettempdir(), *_USUAL)):
        with suppress(OSError):
            for home in Path(root).glob(f"{_PREFIX}*"):
                if _is_abandoned(home):
                    remove_home(home)
                    removed.append(home)
    return removed


def _is_abandoned(home: Path) -> bool:
    owner = home / _OWNER_FILE
    try:
        # What others put there under such a name is none of ours, nor is what has no lock of ours in it.
        if not all(_is_own(path, kind) for path, kind in ((home, stat.S_ISDIR), (owner, stat.S_ISREG))):
            return False
        if time.time() - owner.lstat().st_mtime < _NEW_S:
            return False
        with FileLock(owner, timeout=0, mode=0o600):
            return True
    except (OSError, Timeout):
        return False


def _is_own(path: Path, kind: Callable[[int], bool]) -> bool:
    found = path.lstat()
    return found.st_uid == os.geteuid() and kind(found.st_mode)


def environment(home: Path) -> dict[str, str | float | bool]:
    """What Chromium finds in its environment: this process's, with its temporary files in ``home``."""
    return {**os.environ, "TMPDIR": str(home)}


def remove_home(home: Path) -> None:
    """Remove it with everything in it. Never raises."""
    shutil.rmtree(home, ignore_errors=True)
