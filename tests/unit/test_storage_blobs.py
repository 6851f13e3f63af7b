"""Blob files: written whole or not at all, checked when read, healed when damaged."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import pytest

from adapters.storage.blobs import Blobs
from adapters.storage.faults import of_os
from protocol.errors import MeshError

DATA = b"some text"
DIGEST = hashlib.sha256(DATA).digest()
NAME = DIGEST.hex()


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return Blobs(tmp_path / "blobs")


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
    """Guard: adapters/storage/blobs.py, Blobs.get."""
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
    assert not stale.exists()
    assert again.get(DIGEST) == DATA


def test_no_temporary_file_stays_after_a_write(blobs: Blobs, tmp_path: Path) -> None:
    blobs.put(DATA)
    assert [path.name for path in (tmp_path / "blobs").glob("*/*")] == [NAME]


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


@pytest.mark.parametrize(
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
