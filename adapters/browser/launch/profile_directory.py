"""The profile directory of a launched Chromium: its user data with our preferences, its lock, its temporary files.

The directory is in memory if there is room, and is removed with the browser. If the node's process was killed, the directory stays
until the next node or browser of the same user starts, which also ends a browser that still runs (``leash``).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from filelock import FileLock, Timeout

from protocol import limits
from protocol.errors import MeshError

PREFERENCES: Final[dict[str, Any]] = {
    # Chromium's browser process sends prefetches (by speculation rules), where they cannot be intercepted.
    "net": {"network_prediction_options": 2},  # never
}
PATH_CHARS_MAX: Final = 60
"""Chromium locks its profile by a Unix socket, 44 characters below this directory; the path of a socket has at most 107
characters.
"""
_USUAL: Final = ("/tmp", "/var/tmp")  # noqa: S108 (what is made there is readable to its owner only)
_MEMORY: Final = "/dev/shm"  # noqa: S108 (as above)
_MOUNTS: Final = Path("/proc/self/mounts")

_PREFIX: Final = "trailmesh-"
_OWNER_FILE: Final = "owner.lock"
_UNOWNED_FILE: Final = "owner.new"
_END_TIMEOUT_S: Final = 5.0
_POLL_S: Final = 0.02
_PROC: Final = Path("/proc")
PROFILE_ARGUMENT: Final = "--user-data-dir="
_STARTING: Final = ("xdg-open", "xdg-email")
"""Programs by which Chromium hands an address to another program, on Linux."""


def make_profile_directory(roots: Sequence[str] = ()) -> Path:
    """A fresh directory for one Chromium, below the first suitable one of ``roots``.

    roots: empty for ``usual_roots``. Errors: ``browser.launch``.
    """
    for root in roots or usual_roots():
        try:
            directory = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=root))
        except OSError:
            continue
        if len(str(directory)) <= PATH_CHARS_MAX:
            try:
                (directory / "Default").mkdir()
                (directory / "Default" / "Preferences").write_text(json.dumps(PREFERENCES))
            except OSError as error:
                remove_profile_directory(directory)
                raise MeshError("browser.launch", "its directory cannot be written", reason="directory") from error
            return directory
        directory.rmdir()
    detail = f"no directory of at most {PATH_CHARS_MAX} characters for temporary files: set TMPDIR to a shorter one"
    raise MeshError("browser.launch", detail, reason="directory")


def usual_roots(memory: str = _MEMORY, mounts: Path = _MOUNTS) -> tuple[str, ...]:
    """The parent directories to try, in order: memory, so that no disk contains a login; the directory for temporary files; and if
    that path is too long for Chromium, the usual directories.

    If ``TMPDIR`` is set, it decides. ``memory`` is used if ``mounts`` lists it as a file system in memory, and it has room.
    """
    temporary = (tempfile.gettempdir(), *_USUAL)
    if os.environ.get("TMPDIR") or not _in_memory(memory, mounts):
        return temporary
    return (memory, *temporary)


def _in_memory(path: str, mounts: Path) -> bool:
    try:
        listed = [line.split() for line in mounts.read_text().splitlines()]
        kinds = [fields[2] for fields in listed if len(fields) > 2 and fields[1] == path]
        free = os.statvfs(path)
    except OSError:
        return False
    return kinds[-1:] in (["tmpfs"], ["ramfs"]) and free.f_bavail * free.f_frsize >= limits.PROFILE_MEMORY_BYTES_MIN


def lock_profile_directory(directory: Path) -> FileLock:
    """Mark ``directory`` as in use while the result is held and this process lives. Errors: ``browser.launch``."""
    lock = FileLock(directory / _UNOWNED_FILE, timeout=0, mode=0o600, thread_local=False)
    try:
        lock.acquire()
        # Locked before it gets its final name: a directory whose lock is free was left behind by a crash, even if it is new.
        (directory / _UNOWNED_FILE).rename(directory / _OWNER_FILE)
    except (OSError, Timeout) as error:
        raise MeshError("browser.launch", "its directory cannot be locked", reason="directory") from error
    return lock


def remove_abandoned(roots: Sequence[str] = ()) -> list[Path]:
    """End the browsers that killed processes of this user left behind. Removes and returns their directories.

    Never raises. roots: as in ``make_profile_directory``.
    """
    removed = []
    for root in dict.fromkeys(roots or (_MEMORY, tempfile.gettempdir(), *_USUAL)):
        with suppress(OSError):
            removed += [directory for directory in Path(root).glob(f"{_PREFIX}*") if _removed_if_abandoned(directory)]
    return removed


def _removed_if_abandoned(directory: Path) -> bool:
    owner = directory / _OWNER_FILE
    try:
        # Leave directories of other users, and those without our lock file, alone.
        if not all(_is_own(path, kind) for path, kind in ((directory, stat.S_ISDIR), (owner, stat.S_ISREG))):
            return False
        with FileLock(owner, timeout=0, mode=0o600):
            end_browser(directory)
            remove_profile_directory(directory)
            return True
    except (OSError, Timeout):
        return False


def end_browser(directory: Path) -> None:
    """Kill every process whose command line names ``directory`` as its profile, and wait a while until none is left."""
    until = time.monotonic() + _END_TIMEOUT_S
    while (found := browser_processes(directory)) and time.monotonic() < until:
        for pid in found:
            with suppress(OSError):  # the process has ended, or belongs to another user
                os.kill(pid, signal.SIGKILL)
        time.sleep(_POLL_S)


def browser_processes(directory: Path) -> list[int]:
    """The pids of all processes whose command line names ``directory`` as their profile."""
    argument = f" {PROFILE_ARGUMENT}{directory} "
    return [pid for pid, command in _processes() if pid != os.getpid() and argument in f" {command} "]


def _processes() -> Iterator[tuple[int, str]]:
    """Pid and command line of every process."""
    if _PROC.joinpath("self", "cmdline").exists():
        for process in _PROC.glob("[0-9]*"):
            with suppress(OSError):  # the process has ended
                yield int(process.name), os.fsdecode((process / "cmdline").read_bytes()).replace("\0", " ")
        return
    listed = subprocess.run(["ps", "-axww", "-o", "pid=,command="], capture_output=True, check=False)  # noqa: S607
    for line in os.fsdecode(listed.stdout).splitlines():
        pid, _, command = line.strip().partition(" ")
        yield int(pid), command


def _is_own(path: Path, kind: Callable[[int], bool]) -> bool:
    found = path.lstat()
    return found.st_uid == os.geteuid() and kind(found.st_mode)


def environment(directory: Path) -> dict[str, str | float | bool]:
    """The environment of Chromium: that of this process, with temporary files in ``directory``.

    Programs that hand addresses to others are replaced by one that does nothing: Chromium would start a mail program for a page
    without asking.
    """
    programs, nothing = directory / "programs", shutil.which("true")
    if nothing is not None:
        programs.mkdir(exist_ok=True)
        for name in _STARTING:
            with suppress(FileExistsError):
                # A link, because some machines execute nothing from memory.
                (programs / name).symlink_to(nothing)
    path = os.pathsep.join((str(programs), os.environ.get("PATH", os.defpath)))
    return {**os.environ, "TMPDIR": str(directory), "PATH": path}


def remove_profile_directory(directory: Path) -> None:
    """Remove it and its content. Never raises."""
    shutil.rmtree(directory, ignore_errors=True)
