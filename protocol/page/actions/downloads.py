"""Downloaded files. A recording contains their name, size and hash; a live session also keeps the files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal

import msgspec

from protocol import limits
from protocol.kinds import PageText
from protocol.shown import shown

_NOT_IN_FILE_NAMES: Final = frozenset('/\\:*?"<>|')


class Download(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A file that the browser downloaded in a step."""

    name: Annotated[PageText, msgspec.Meta(max_length=limits.DOWNLOAD_NAME_CHARS_MAX), shown("name")]
    """The name that the site or the page proposes."""
    size_bytes: Annotated[int, msgspec.Meta(ge=0, le=2**53), shown("size", as_="bytes", unit="bytes", words=", {}")] = 0
    sha256: Annotated[bytes, msgspec.Meta(max_length=32), shown("SHA-256", words=", SHA-256 {}")] = b""
    """32 bytes; empty with a ``fault``."""
    fault: Annotated[Literal["", "failed", "too_large"], shown("fault", words=", {}")] = ""
    """``failed``: it broke off, or did not end in time. ``too_large``: it was stopped because the downloads of the step reached
    ``DOWNLOAD_BYTES_MAX``.
    """

    def __post_init__(self) -> None:
        if bool(self.fault) == bool(self.sha256) or len(self.sha256) not in (0, 32):
            raise ValueError("a download has a hash, or a fault")


def describe_download(download: Download) -> str:
    """``“report.csv”, 120 bytes, SHA-256 1f3a…``."""
    if download.fault:
        return f"“{download.name}”, {'failed' if download.fault == 'failed' else 'too large'}"
    return f"“{download.name}”, {download.size_bytes} bytes, SHA-256 {download.sha256.hex()[:16]}…"


def kept_at(download: Download) -> str:
    """The place of the file below the folder that keeps it, with ``/`` between the parts: ``1f3a52c0/report.csv``.

    The name comes from a site. It is cut to one that names a plain file in that folder, on any file system.
    """
    plain = "".join(
        char if char.isprintable() and char not in _NOT_IN_FILE_NAMES else "_" for char in download.name
    ).strip(". ")
    while len(plain.encode()) > limits.DOWNLOAD_FILE_NAME_BYTES_MAX:
        plain = plain[1:]  # the end says what kind of file it is
    return f"{download.sha256.hex()[:8]}/{plain.lstrip('. ') or 'download'}"


def named(downloads: Sequence[Download], name: str, *, part: bool, digest: str = "") -> Download | None:
    """The last complete download with this name, or with ``part`` a name that contains it, and with this hash in hex."""
    for download in reversed(downloads):
        fits = name in download.name if part else name == download.name
        if fits and not download.fault and digest in ("", download.sha256.hex()):
            return download
    return None
