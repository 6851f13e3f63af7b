"""``trailmesh …`` and ``python -m trailmesh …``: finds the product's packages, then runs the command line."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Final

_SOURCE: Final = Path(__file__).resolve().parent / "_source"


def main() -> None:
    """Run the command line; does not return."""
    if sys.version_info >= (3, 13):  # installed by force: one line, not the traceback of an import
        sys.exit("trailmesh needs Python 3.11 or 3.12: its dependency automerge has no wheels for a later one")
    if _SOURCE.is_dir():  # not in a source tree, where the packages can be imported already
        # First, because site-packages and the working directory may have packages of the same names.
        sys.path.insert(0, str(_SOURCE))
    _no_core_files()
    from node.cli import main as command_line

    command_line(prog_name="trailmesh")


def _no_core_files() -> None:
    """A process that crashes, or a browser that it started, writes no memory to a disk: keys and logins in clear stand in it."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # there is none on Windows

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main()
