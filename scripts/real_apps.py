"""Install the two real applications that the read-only journeys run on, each into an environment of its own.

    python scripts/real_apps.py install     make both environments (again, if the lock file changed)
    python scripts/real_apps.py check       say what is there
    python scripts/real_apps.py remove      delete them

Versions and hashes stand in ``tests/sites/real/requirements.lock``; nothing else is installed. ``TRAILMESH_REAL_APPS``
moves the directory (default: ``.venv-real`` in the repository).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
LOCK = REPOSITORY / "tests" / "sites" / "real" / "requirements.lock"
ENVIRONMENTS = Path(os.environ.get("TRAILMESH_REAL_APPS", REPOSITORY / ".venv-real"))
APPLICATIONS = ("datasette", "django")
INSTALL_TIMEOUT_S = 600


def install() -> int:
    """Make what is missing or was made from another lock file."""
    for name in APPLICATIONS:
        if _made_from_lock(name):
            print(f"{name}: already there")
            continue
        target = ENVIRONMENTS / name
        venv.EnvBuilder(clear=True, with_pip=True).create(target)
        python = target / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        command = [
            str(python),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--require-hashes",
            "--requirement",
            str(LOCK),
        ]
        subprocess.run(command, check=True, timeout=INSTALL_TIMEOUT_S)
        # Written last: an interrupted installation is made anew.
        _mark(name).write_text(_lock_hash(), encoding="utf-8")
        print(f"{name}: installed in {target}")
    return 0


def check() -> int:
    """0 if both are there and up to date."""
    for name in APPLICATIONS:
        print(f"{name}: {'ready' if _made_from_lock(name) else 'not installed, or from another lock file'}")
    return 0 if all(map(_made_from_lock, APPLICATIONS)) else 1


def remove() -> int:
    """Delete both environments."""
    for name in APPLICATIONS:
        shutil.rmtree(ENVIRONMENTS / name, ignore_errors=True)
    return 0


def _mark(name: str) -> Path:
    return ENVIRONMENTS / name / "made-from"


def _made_from_lock(name: str) -> bool:
    return _mark(name).is_file() and _mark(name).read_text(encoding="utf-8") == _lock_hash()


def _lock_hash() -> str:
    return hashlib.sha256(LOCK.read_bytes()).hexdigest()


def main() -> int:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(description="Install the real applications of the read-only journeys.")
    parser.add_argument("command", choices=("install", "check", "remove"))
    return {"install": install, "check": check, "remove": remove}[parser.parse_args().command]()


if __name__ == "__main__":
    sys.exit(main())
