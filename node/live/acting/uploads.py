"""Reads the files that actions may upload: those in folders that the owner of the node has named, and those handed over.

A file is read once. The bytes read are hashed, recorded and given to the page, so nobody can exchange the file in between.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

import msgspec

from adapters.ports.browser import GivenFile
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Upload

# NOFOLLOW: a symbolic link could lead out of the folder. NONBLOCK: opening a pipe would wait for a writer.
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class Uploads:
    """Reads files from some folders."""

    def __init__(self, folders: tuple[str, ...] = ()) -> None:
        self._folders = tuple(Path(folder) for folder in folders)

    def read(self, action: Upload) -> tuple[Upload, tuple[GivenFile, ...]]:
        """The action with the hashes of its files, and the files.

        Errors: ``action.upload`` (a name outside of the folders, no such file, too large), ``action.upload_differs`` (it is not
        the file that was recorded).
        """
        files = tuple(GivenFile(name=name.rpartition("/")[2], data=self._read(name)) for name in action.files)
        if sum(len(file.data) for file in files) > limits.UPLOAD_BYTES_MAX:
            raise _refused(", ".join(action.files), f"they are larger than {limits.UPLOAD_BYTES_MAX // limits.MIB} MiB")
        digests = tuple(hashlib.sha256(file.data).digest() for file in files)
        if action.digests:
            for name, found, recorded in zip(action.files, digests, action.digests, strict=False):
                if found != recorded:
                    raise MeshError(
                        "action.upload_differs",
                        f"“{name}” is not the file that was recorded (SHA-256 {recorded.hex()[:16]}…, here {found.hex()[:16]}…)",
                        file=name,
                        recorded=recorded.hex(),
                        found=found.hex(),
                    )
        return msgspec.structs.replace(action, digests=digests), files

    def _read(self, name: str) -> bytes:
        parts = name.split("/")
        if "\\" in name or "\0" in name or any(part in ("", ".", "..") for part in parts):
            raise _refused(name, "name a file inside a folder of `browser.upload_folders`, such as `letters/offer.pdf`")
        if not self._folders:
            raise _refused(name, "this node has no folder to upload from")
        for folder in self._folders:
            try:
                handle = _opened(folder, parts)
            except FileNotFoundError:
                continue
            except OSError as error:
                # ELOOP and ENOTDIR mean a symbolic link, wherever it leads.
                raise _refused(name, "it cannot be opened, or is a symbolic link") from error
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                os.close(handle)
                raise _refused(name, "it is no file")
            with os.fdopen(handle, "rb") as file:
                data = file.read(limits.UPLOAD_BYTES_MAX + 1)
            if len(data) > limits.UPLOAD_BYTES_MAX:
                raise _refused(name, f"it is larger than {limits.UPLOAD_BYTES_MAX // limits.MIB} MiB")
            return data
        raise _refused(name, "it was not handed over, and no folder of `browser.upload_folders` has it")


def _opened(folder: Path, parts: list[str]) -> int:
    """Open a file below ``folder`` part by part, so that no part can be a symbolic link."""
    # The owner named the folder itself, so the folder may be a link.
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for place, part in enumerate(parts, 1):
        try:
            below = os.open(part, _FLAGS | (os.O_DIRECTORY if place < len(parts) else 0), dir_fd=handle)
        finally:
            os.close(handle)
        handle = below
    return handle


def _refused(name: str, why: str) -> MeshError:
    return MeshError("action.upload", f"“{name[:200]}” is not uploaded: {why}", file=name[:200])


NO_UPLOADS = Uploads()
"""Has no folder, so nothing can be uploaded."""
