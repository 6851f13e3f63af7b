"""Chooses and checks the file for a node's recovery key, which must not be in the data directory."""

from __future__ import annotations

from pathlib import Path

from protocol import ids
from protocol.errors import MeshError


def default_recovery_file(home: Path, node: str) -> str:
    """A path beside the data directory, so that a copy of that directory does not contain the recovery key."""
    return str(home.parent / f"{home.name}-recovery-{ids.short(node)}.txt")


def check_recovery_file(home: Path, given: str) -> Path:
    """Check a path for the recovery key. Errors: ``input.invalid`` (inside ``home``, or the file exists)."""
    path = Path(given).expanduser().absolute()
    if path.resolve().is_relative_to(home.resolve()):
        raise MeshError(
            "input.invalid", "the recovery key must not be stored in the data directory: choose another place"
        )
    if path.exists():
        raise MeshError("input.invalid", f"{path} exists already")
    return path
