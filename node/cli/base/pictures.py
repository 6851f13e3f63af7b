"""Writes the picture that a verb gave to a file, with the rights of whoever typed the command.

The node writes none for a command: it may be that of somebody else, and its caller may be an agent that may write no file there.
"""

from __future__ import annotations

import base64
import itertools
from pathlib import Path

from node.base.files import write_private
from node.cli.base.common import Result
from protocol.errors import MeshError


def in_file(result: Result, out: str, name: str) -> Result:
    """``result``, with its picture in the file ``out``, else in a new file of the current directory that begins with ``name``.

    Errors: ``input.invalid`` (it cannot be written).
    """
    try:
        path = Path(out) if out else _new_file(Path(name).name)
        write_private(path, base64.b64decode(result["png"]))
    except OSError as error:
        raise MeshError("input.invalid", f"{out or Path.cwd()} cannot be written: {error.strerror}") from error
    return {**result, "png": "", "out": str(path)}


def _new_file(name: str) -> Path:
    """An empty file that was not there before."""
    for number in itertools.count(1):
        path = Path.cwd() / f"{name}-{number}.png"
        try:
            path.touch(mode=0o600, exist_ok=False)
        except FileExistsError:
            continue
        return path
    raise AssertionError("numbers do not end")
