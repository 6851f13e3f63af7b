"""Writes the files about a replay that a caller asked for."""

from __future__ import annotations

from pathlib import Path

import msgspec

from node.base import write_private
from node.sessions.showing.told import Told
from protocol.errors import MeshError


class ReplayFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Where to write; empty for not at all."""

    junit: str = ""
    markdown: str = ""


def write_files(files: ReplayFiles, told: Told) -> None:
    """Write each file atomically, readable by its owner only (mode 0600): it shows what a page said. Errors: ``input.invalid``."""
    if files.junit:
        from node.sessions.showing.junit import junit_xml

        _write(files.junit, junit_xml(told))
    if files.markdown:
        from node.sessions.showing.markdown import markdown

        _write(files.markdown, markdown(told).encode())


def _write(path: str, data: bytes) -> None:
    try:
        write_private(Path(path), data)
    except OSError as error:
        raise MeshError("input.invalid", f"{path} cannot be written: {error.strerror}", path=path) from error
