"""The files that live sessions have downloaded: a folder for each live session, removed after a week."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from adapters.ports.clock import Clock
from node.verbs.live.live import Downloaded
from protocol import limits
from protocol.page.actions.downloads import Download, kept_at

FOLDER: Final = "downloads"
"""In the data directory."""


def folder_of(home: Path, live_id: str) -> Path:
    """The folder for the downloads of one live session."""
    return home / FOLDER / live_id


def told(downloads: Sequence[Download], folder: Path) -> tuple[Downloaded, ...]:
    """``downloads`` for their caller, each with the place where it is kept."""
    return tuple(
        Downloaded(
            name=each.name,
            size_bytes=each.size_bytes,
            sha256=each.sha256.hex(),
            fault=each.fault,
            path=str(path) if each.sha256 and (path := folder / kept_at(each)).is_file() else "",
        )
        for each in downloads
    )


def remove_old(home: Path, clock: Clock) -> None:
    """Remove the folders that were made more than ``DOWNLOADS_KEPT_S`` ago. Never raises."""
    with contextlib.suppress(OSError):
        for folder in (home / FOLDER).iterdir():
            with contextlib.suppress(OSError):
                if clock.now_ms() / 1000 - folder.lstat().st_mtime > limits.DOWNLOADS_KEPT_S:
                    shutil.rmtree(folder, ignore_errors=True)
