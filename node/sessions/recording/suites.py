"""Writes the report about a test run of many files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from protocol.errors import MeshError


def write_run(folder: Path, title: str, ran: Sequence[Mapping[str, Any]]) -> None:
    """Write ``junit.xml``, ``index.html`` and ``summary.md`` into ``folder``, for their owner only. Errors: ``input.invalid``."""
    from node.sessions.showing.suite import write_suite

    try:
        write_suite(folder, title, ran)
    except OSError as error:
        raise MeshError("input.invalid", f"{folder} cannot be written: {error.strerror}", path=str(folder)) from error
