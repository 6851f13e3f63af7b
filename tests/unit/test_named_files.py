"""Files that a person names to the node."""

from __future__ import annotations

import os
import pty
from pathlib import Path

import pytest

from node.base.files import open_named
from node.capsules.seal.reading import read_state
from node.sessions.keeping.verifying import _open_file
from protocol.errors import MeshError


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_file_is_opened_and_a_pipe_or_a_terminal_is_not_waited_for(tmp_path: Path) -> None:
    """Guard: node/base/files.py, open_named."""
    (tmp_path / "file").write_bytes(b"x")
    with open_named(tmp_path / "file") as file:
        assert file.read() == b"x"
    os.mkfifo(tmp_path / "pipe")
    ours, theirs = pty.openpty()
    before = _descriptors()
    for named, said in (
        (tmp_path / "pipe", "a pipe or a terminal is no file"),
        (Path(os.ttyname(theirs)), "a pipe or a terminal is no file"),
        (tmp_path / "none", "No such file or directory"),
        (tmp_path, "Is a directory"),
    ):
        with pytest.raises(OSError) as caught:
            open_named(named)
        assert caught.value.strerror == said
    assert _descriptors() == before
    os.close(ours)
    os.close(theirs)


def test_who_names_a_pipe_is_told_so_by_the_command(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for read in (read_state, _open_file):
        with pytest.raises(MeshError) as caught:
            read(pipe)
        assert caught.value.code == "input.no_file" and "a pipe or a terminal is no file" in caught.value.message
