"""Where the recovery key of a node may be written: never into its data directory."""

from __future__ import annotations

from pathlib import Path

from protocol import ids
from protocol.errors import MeshError


def default_recovery_file(home: Path, node: str) -> str:
    """A path beside the home and never in it, so that a copy of the home does not contain the recovery key."""
    return str(home.parent / f"{home.name}-recovery-{ids.short(node)}.txt")


def check_recovery_file(home: Path, given: str) -> Path:
    """Where the recovery key may be written. Errors: ``input.invalid`` (inside of ``home``, or there is a file)."""
    path = Path(given).expanduser().absolute()
    if path.resolve().is_relative_to(home.resolve()):
        raise MeshError("input.invalid", "the recovery key is never kept in the data directory: choose another place")
    if path.exists():
        raise MeshError("input.invalid", f"{path} exists already")
    return path
