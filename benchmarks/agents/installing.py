"""The other tools, in locked versions, outside of the project."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import platformdirs

LOCKED: Final = Path(__file__).parent / "tools"
FOLDER: Final = Path(os.environ.get("TRAILMESH_AGENT_TOOLS", platformdirs.user_cache_dir("trailmesh-agent-tools")))
MODULES: Final = FOLDER / "node_modules"
SERVER: Final = MODULES / "@playwright" / "mcp" / "cli.js"
COMMAND: Final = MODULES / "@playwright" / "cli" / "playwright-cli.js"
NATIVE: Final = MODULES / "agent-browser" / "bin" / "agent-browser-linux-x64"


def installed() -> bool:
    """True if the locked versions are there."""
    return SERVER.exists() and all(_same(name) for name in ("package.json", "package-lock.json"))


def install() -> None:
    """Install the locked versions. No script of theirs runs."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy2(LOCKED / name, FOLDER / name)
    subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], cwd=FOLDER, check=True)
    NATIVE.chmod(0o755)


def _same(name: str) -> bool:
    there = FOLDER / name
    return there.exists() and there.read_bytes() == (LOCKED / name).read_bytes()
