"""The files that commands hand over for an upload: copies in the data directory, by their content.

A command reads the file with the rights of whoever typed it. The node itself reads no file that somebody only names, but for those
in folders that its owner has named.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Final

from node.base.files import open_named, write_private
from protocol import limits
from protocol.errors import MeshError

FOLDER: Final = "uploads"
"""In the data directory."""
_DIGEST_CHARS: Final = 16


def hand_over(home: Path, name: str) -> str:
    """The name by which an action uploads the file ``name``, which is handed over if it is one here.

    Any other name stays as it is: it may be that of a file in a folder of the node. Errors: ``action.upload``.
    """
    path = Path(name)
    if not path.is_file():
        return name
    try:
        with open_named(path) as file:
            data = file.read(limits.UPLOAD_BYTES_MAX + 1)
        if len(data) > limits.UPLOAD_BYTES_MAX:
            raise MeshError(
                "action.upload", f"{name} is larger than {limits.UPLOAD_BYTES_MAX // limits.MIB} MiB", file=name
            )
        folder = home / FOLDER / hashlib.sha256(data).hexdigest()[:_DIGEST_CHARS]
        copy = folder / path.name
        if not copy.exists():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(copy, data)
        os.utime(folder)  # it is kept from its last use on
    except OSError as error:
        raise MeshError("action.upload", f"{name} cannot be handed over: {error.strerror}", file=name) from error
    return f"{folder.name}/{path.name}"


def remove_unused(home: Path, now_ms: int) -> None:
    """Remove the copies that nobody handed over for ``UPLOADS_KEPT_S``. Never raises."""
    with contextlib.suppress(OSError):
        for folder in (home / FOLDER).iterdir():
            with contextlib.suppress(OSError):
                if now_ms / 1000 - folder.lstat().st_mtime > limits.UPLOADS_KEPT_S:
                    for each in folder.iterdir():
                        each.unlink()
                    folder.rmdir()
