"""``trailmesh …`` and ``python -m trailmesh …``: finds the product's packages, then runs the command line."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Final

_SOURCE: Final = Path(__file__).resolve().parent / "_source"

_TUNABLES: Final = "GLIBC_TUNABLES"
_OVERWRITES: Final = "glibc.malloc.perturb=165:glibc.malloc.tcache_count=0"
"""Fill what is freed with a pattern, and keep nothing aside unfilled for the next one who asks."""


def main() -> None:
    """Run the command line; does not return."""
    if sys.version_info >= (3, 13):  # installed by force: one line, not the traceback of an import
        sys.exit("trailmesh needs Python 3.11 or 3.12: its dependency automerge has no wheels for a later one")
    if _SOURCE.is_dir():  # not in a source tree, where the packages can be imported already
        # First, because site-packages and the working directory may have packages of the same names.
        sys.path.insert(0, str(_SOURCE))
    _no_core_files()
    if sys.argv[1:3] == ["node", "serve"]:
        overwrite_what_is_freed()
    from node.cli import main as command_line

    command_line(prog_name="trailmesh")


def _no_core_files() -> None:
    """A process that crashes, or a browser that it started, writes no memory to a disk: keys and logins in clear stand in it."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # there is none on Windows

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def overwrite_what_is_freed() -> None:
    """Start this process once more, with a memory allocator that overwrites what is freed, unless it has that already.

    A node holds logins in clear while they are used. What they stood in is free afterwards, and would keep them until it happens to
    be used again (docs/adr/0049-mounting-capsules.md). glibc is told so by its environment alone, when a process starts. Elsewhere
    these words mean nothing, and nothing changes.
    """
    before = os.environ.get(_TUNABLES, "")
    if _OVERWRITES in before:
        # For this process alone: what it starts has allocators of its own, or frees no login.
        os.environ[_TUNABLES] = before.replace(_OVERWRITES, "").strip(":")
        if not os.environ[_TUNABLES]:
            del os.environ[_TUNABLES]
        return
    if sys.platform == "linux":
        wanted = {**os.environ, _TUNABLES: f"{before}:{_OVERWRITES}".strip(":")}
        with contextlib.suppress(OSError):  # then it runs as it is
            os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], wanted)  # noqa: S606 (itself)


if __name__ == "__main__":
    main()
