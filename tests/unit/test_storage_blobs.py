"""Blob files: written whole or not at all, checked when read, healed when damaged."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adapters.storage.files.blobs import Blobs
from adapters.storage.files.faults import of_os
from protocol.errors import MeshError
from tests.tables import each

DATA = b"some text"
DIGEST = hashlib.sha256(DATA).digest()
NAME = DIGEST.hex()


@pytest.fixture
def blobs(tmp_path: Path) -> Iterator[Blobs]:
    opened = Blobs(tmp_path / "blobs")
    yield opened
    opened.close()


def test_a_blob_lies_under_its_hash(blobs: Blobs, tmp_path: Path) -> None:
    assert blobs.put(DATA) == DIGEST
    assert (tmp_path / "blobs" / NAME[:2] / NAME).read_bytes() == DATA


def test_a_sound_blob_is_not_written_again(blobs: Blobs) -> None:
    blobs.put(DATA)
    before = blobs.path_of(DIGEST).stat()
    blobs.put(DATA)
    after = blobs.path_of(DIGEST).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("damage", [b"", DATA[:-1], DATA + b"x", b"Some text"])
def test_a_damaged_blob_is_missing_until_it_is_put_again(blobs: Blobs, damage: bytes) -> None:
    """Guard: adapters/storage/files/blobs.py, Blobs.get."""
    blobs.put(DATA)
    blobs.path_of(DIGEST).write_bytes(damage)
    with pytest.raises(MeshError) as caught:
        blobs.get(DIGEST)
    assert caught.value.code == "blob.missing"
    blobs.put(DATA)
    assert blobs.get(DIGEST) == DATA


def test_what_a_crash_left_half_written_is_removed_at_open(blobs: Blobs, tmp_path: Path) -> None:
    blobs.put(DATA)
    stale = blobs.path_of(DIGEST).with_name(".tmp-abc123")
    stale.write_bytes(b"half")
    again = Blobs(tmp_path / "blobs")
    again.close()
    assert not stale.exists()
    assert again.get(DIGEST) == DATA


def test_no_temporary_file_stays_after_a_write(blobs: Blobs, tmp_path: Path) -> None:
    blobs.put(DATA)
    assert [path.name for path in (tmp_path / "blobs").glob("*/*") if path.is_file()] == [NAME]


def test_a_write_that_fails_removes_its_temporary_file(blobs: Blobs) -> None:
    blobs.path_of(DIGEST).mkdir(parents=True)  # in the way of the rename, and not readable as a file
    with pytest.raises(MeshError) as caught:
        blobs.put(DATA)
    assert caught.value.code == "store.corrupt"
    assert [path.name for path in blobs.path_of(DIGEST).parent.iterdir()] == [NAME]


def test_a_name_is_there_only_with_its_whole_content(blobs: Blobs, monkeypatch: pytest.MonkeyPatch) -> None:
    order = list[str]()
    sync, replace = os.fsync, os.replace

    def synced(handle: int) -> None:
        order.append(os.path.basename(os.readlink(f"/proc/self/fd/{handle}")))
        sync(handle)

    def replaced(source: str, target: Path) -> None:
        order.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    blobs.put(DATA)
    assert order[0] == "blobs"
    assert order[1].startswith(".tmp-")
    assert order[2:] == ["rename", NAME[:2]]


@each(
    ("number", "code"),
    [
        (errno.ENOSPC, "store.full"),
        (errno.EDQUOT, "store.full"),
        (errno.EACCES, "store.unwritable"),
        (errno.EPERM, "store.unwritable"),
        (errno.EROFS, "store.unwritable"),
        (errno.EIO, "store.corrupt"),
    ],
)
def test_errors_of_the_file_system_have_a_code(number: int, code: str) -> None:
    assert of_os(OSError(number, "reason")).code == code


def test_a_disk_that_is_full_is_reported_as_such(blobs: Blobs, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    blobs.path_of(DIGEST).parent.mkdir()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(MeshError) as caught:
        blobs.put(DATA)
    assert caught.value.code == "store.full"
    assert list(blobs.path_of(DIGEST).parent.iterdir()) == []


# --- other processes -------------------------------------------------------------------------------------------------

_PUTS = """
import sys
from pathlib import Path
from adapters.storage.files.blobs import Blobs
blobs = Blobs(Path(sys.argv[1]))
digest = blobs.put(b"some text")
print("put", flush=True)
for line in sys.stdin:
    blobs.named([digest])
    print("named", flush=True)
"""


@contextmanager
def another(root: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has put the blob, and names it for each line it reads."""
    command = [sys.executable, "-c", _PUTS, str(root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "put\n"
            yield process
        finally:
            process.kill()


def test_a_blob_that_another_process_has_put_and_not_named_is_not_removed(blobs: Blobs, tmp_path: Path) -> None:
    """Guard: adapters/storage/files/blobs.py, Blobs.remove."""
    blobs.put(DATA)
    blobs.named([DIGEST])
    with another(tmp_path / "blobs") as process:
        assert blobs.remove([DIGEST]) == {DIGEST}
        assert blobs.get(DIGEST) == DATA
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("name it\n")
        process.stdin.flush()
        assert process.stdout.readline() == "named\n"
        assert blobs.remove([DIGEST]) == set()
        assert not blobs.has(DIGEST)


def test_what_a_killed_process_had_put_protects_nothing(blobs: Blobs, tmp_path: Path) -> None:
    with another(tmp_path / "blobs") as process:
        process.kill()
        process.wait()
    assert blobs.has(DIGEST)
    assert blobs.remove([DIGEST]) == set()
    assert not blobs.has(DIGEST)
    assert len(list((tmp_path / "blobs" / ".pins").iterdir())) == 1, "its own directory alone"


def test_a_blob_that_was_put_twice_is_protected_until_both_have_named_it(blobs: Blobs) -> None:
    """Two recordings may see the same picture: the one that names it first may be removed first."""
    blobs.put(DATA)
    blobs.put(DATA)
    blobs.named([DIGEST])
    assert blobs.remove([DIGEST]) == {DIGEST}
    blobs.named([DIGEST])
    assert blobs.remove([DIGEST]) == set()
