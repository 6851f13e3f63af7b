"""The downloads of a page: each is written to a private temporary directory of the driver, hashed there, kept if its context
keeps files, and deleted.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from playwright.async_api import CDPSession, Page
from playwright.async_api import Download as PlaywrightDownload
from playwright.async_api import Error as PlaywrightError

from adapters.browser.egress import Activity
from adapters.browser.page.kept_files import KeptFiles
from protocol import limits
from protocol.page.actions.downloads import Download

_CHUNK_BYTES: Final = 1 << 20


class Downloads:
    """Follows the downloads of one page."""

    def __init__(self, page: Page, session: CDPSession, activity: Activity, files: KeptFiles) -> None:
        """files: where the downloads are kept."""
        self._activity, self._files = activity, files
        self._under_way: dict[PlaywrightDownload, asyncio.Task[Download]] = {}
        self._received: dict[str, int] = {}
        """Bytes received since the last outcome, by download."""
        self._all: list[Download] = []
        self._told = 0
        page.on("download", self._begun)
        session.on("Page.downloadProgress", self._progress)

    @property
    def finished(self) -> tuple[Download, ...]:
        """The completed downloads."""
        return tuple(self._all)

    @property
    def untold(self) -> bool:
        """True if a download has begun that ``end`` has not returned yet."""
        return bool(self._under_way) or len(self._all) > self._told

    def _begun(self, download: PlaywrightDownload) -> None:
        if len(self._under_way) + len(self._all) - self._told >= limits.DOWNLOADS_PER_STEP_MAX:
            self._activity.spawn(download.cancel())
            return
        task = asyncio.ensure_future(self._kept(download))
        self._under_way[download] = task
        self._activity.stirred()

    def _progress(self, event: Mapping[str, Any]) -> None:
        guid = event["guid"]
        # For an aborted download Chromium finally reports that no bytes were received.
        self._received[guid] = max(self._received.get(guid, 0), int(event["receivedBytes"]))
        # All together, because a page can begin any number of downloads.
        if self._too_large:
            for download in list(self._under_way):
                self._activity.spawn(download.cancel())

    @property
    def _too_large(self) -> bool:
        return sum(self._received.values()) > limits.DOWNLOAD_BYTES_MAX

    async def _kept(self, download: PlaywrightDownload) -> Download:
        name = download.suggested_filename.rpartition("/")[2][: limits.DOWNLOAD_NAME_CHARS_MAX]
        made = Download(name=name, fault="failed")
        try:
            async with asyncio.timeout(limits.DOWNLOAD_TIMEOUT_MS / 1000):
                path = await download.path()
            size, digest = await asyncio.to_thread(_hashed, Path(path))
            made = Download(name=name, size_bytes=size, sha256=digest)
            if size > limits.DOWNLOAD_BYTES_MAX:
                made = Download(name=name, fault="too_large")
            else:
                with contextlib.suppress(OSError):  # it is recorded all the same
                    await asyncio.to_thread(self._files.keep, Path(path), made)
        except (PlaywrightError, OSError):  # a TimeoutError is an OSError
            if self._too_large:
                made = Download(name=name, fault="too_large")
        finally:
            with contextlib.suppress(PlaywrightError):
                await download.cancel()
                await download.delete()
            self._under_way.pop(download, None)
        self._all.append(made)
        self._activity.stirred()
        return made

    async def end(self) -> tuple[Download, ...]:
        """The downloads since the last call; waits for those in progress."""
        while self._under_way and not self._activity.gone.done():
            either: set[asyncio.Future[Any]] = {*self._under_way.values(), self._activity.gone}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        found = tuple(self._all[self._told :])
        self._told = len(self._all)
        self._received.clear()
        return found


def _hashed(path: Path) -> tuple[int, bytes]:
    """Size and SHA-256 of a file."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
            size += len(chunk)
    return size, digest.digest()
