"""Reads text files named on the command line, within limits: the file may be a device, or grow forever."""

from __future__ import annotations

from pathlib import Path

from protocol import limits
from protocol.errors import MeshError


def read_text(typed: str, bytes_max: int = limits.ACTION_FILE_BYTES_MAX) -> str:
    """The text of a UTF-8 file with at most ``bytes_max`` bytes.

    Errors: ``input.no_file``, ``input.too_large``, ``input.invalid`` (it is no UTF-8 text).
    """
    try:
        with Path(typed).open("rb") as file:
            data = file.read(bytes_max + 1)
    except OSError as error:
        raise MeshError("input.no_file", f"{typed} cannot be read: {error.strerror}", path=typed) from error
    if len(data) > bytes_max:
        raise MeshError("input.too_large", f"{typed}: at most {bytes_max} bytes are read")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise MeshError("input.invalid", f"{typed} is not text in UTF-8") from None
