"""The folder in which the downloads of a context are kept, each below the start of its hash."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from pathlib import Path

from protocol import limits
from protocol.page.actions.downloads import Download, kept_at


class KeptFiles:
    """Copies downloads into a folder, up to a bound for all of them together."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        """None keeps nothing."""
        self._bytes = 0
        self._one = threading.Lock()

    def keep(self, path: Path, download: Download) -> None:
        """Copy the file at ``path``, unless there is no folder or no room. Only its owner may read it; nobody executes it."""
        with self._one:
            if self.folder is None or self._bytes + download.size_bytes > limits.DOWNLOADS_KEPT_BYTES_MAX:
                return
            place = self.folder / kept_at(download)
            if place.exists():
                return
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                with os.fdopen(handle, "wb") as kept, path.open("rb") as file:
                    shutil.copyfileobj(file, kept)
            except BaseException:
                with contextlib.suppress(OSError):
                    place.unlink()  # a part of a file must not look like the whole
                raise
            self._bytes += download.size_bytes
