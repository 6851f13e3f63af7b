"""One process per data directory, whatever becomes of the process."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adapters.storage.lock import LOCK_FILE, PID_FILE, DirectoryLock, holder, locked
from protocol.errors import MeshError

ROOT = Path(__file__).parents[2]
HOLD = """
import subprocess, sys
from pathlib import Path
from adapters.storage.lock import DirectoryLock
lock = DirectoryLock(Path(sys.argv[1]))
lock.acquire()
child = subprocess.Popen(["cat"], stdin=0, stdout=subprocess.DEVNULL) if "--child" in sys.argv else None
print("held", flush=True)
sys.stdin.read() if child is None else child.wait()
"""


@contextmanager
def other_process(directory: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that owns ``directory`` until its standard input ends."""
    command = [sys.executable, "-c", HOLD, str(directory), *options]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield process


def refused(directory: Path) -> MeshError:
    with pytest.raises(MeshError) as caught:
        DirectoryLock(directory).acquire()
    assert caught.value.code == "node.locked"
    return caught.value


def test_a_directory_that_another_process_owns_is_refused_with_its_pid(tmp_path: Path) -> None:
    with other_process(tmp_path) as process:
        assert refused(tmp_path).detail == {"pid": process.pid}
        assert refused(tmp_path).detail == {"pid": process.pid}


def test_the_lock_is_free_after_its_process_has_ended(tmp_path: Path) -> None:
    with other_process(tmp_path) as process:
        process.communicate(timeout=120)
    with locked(tmp_path):
        assert holder(tmp_path) == os.getpid()


def test_the_lock_is_free_after_its_process_was_killed(tmp_path: Path) -> None:
    with other_process(tmp_path) as process:
        process.kill()
        process.wait(timeout=120)
        assert holder(tmp_path) == 0
        with locked(tmp_path):
            assert holder(tmp_path) == os.getpid()


def test_a_child_that_outlives_its_killed_parent_does_not_keep_the_lock(tmp_path: Path) -> None:
    with other_process(tmp_path, "--child") as process:
        process.kill()
        process.wait(timeout=120)
        with locked(tmp_path):
            pass


def test_the_same_process_cannot_own_a_directory_twice(tmp_path: Path) -> None:
    with locked(tmp_path):
        assert refused(tmp_path).detail == {"pid": os.getpid()}
    with locked(tmp_path):
        pass


def test_releasing_twice_is_once(tmp_path: Path) -> None:
    lock = DirectoryLock(tmp_path)
    lock.release()
    lock.acquire()
    lock.release()
    lock.release()
    with locked(tmp_path):
        lock.release()
        assert refused(tmp_path).code == "node.locked"


def test_an_error_in_the_block_releases_the_lock(tmp_path: Path) -> None:
    with pytest.raises(KeyError), locked(tmp_path):
        raise KeyError
    with locked(tmp_path):
        pass


def test_the_lock_creates_its_directory_for_the_owner_only(tmp_path: Path) -> None:
    home = tmp_path / "a" / "home"
    with locked(home):
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (home, home / LOCK_FILE, home / PID_FILE)]
    assert modes == [0o700, 0o600, 0o600]
    assert not (home / PID_FILE).exists()


@pytest.mark.parametrize("content", ["", "no number", "-1", "0", "99999999999999999999"])
def test_a_pid_file_that_makes_no_sense_names_nobody(tmp_path: Path, content: str) -> None:
    (tmp_path / PID_FILE).write_text(content)
    assert holder(tmp_path) == 0


def test_a_directory_that_cannot_be_made_is_an_error_of_the_store(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MeshError) as caught:
        DirectoryLock(tmp_path / "file" / "home").acquire()
    assert caught.value.code == "store.unwritable"


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_read_only_data_directory_is_named_and_calls_for_no_backup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(self: Path, *arguments: object, **options: object) -> None:
        raise OSError(number, os.strerror(number), str(self))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(MeshError) as caught:
        DirectoryLock(tmp_path / "home").acquire()
    assert caught.value.code == "store.unwritable"
    assert str(tmp_path / "home") in caught.value.message
    assert "backup" not in caught.value.remedy
