"""Backup files: what is packed comes back, and anything else is refused before a data directory exists."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from node.health.backup_file import OWN_FILES, Contents, pack, unpack
from protocol.errors import MeshError

FILES = {name: name.encode() for name in (*OWN_FILES, "store.db")}
BLOB = hashlib.sha256(b"picture").hexdigest()
BLOB_NAME = f"blobs/{BLOB[:2]}/{BLOB}"


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """A backup file of a directory with one blob."""
    source = tmp_path / "source"
    (source / BLOB_NAME).parent.mkdir(parents=True)
    (source / BLOB_NAME).write_bytes(b"picture")
    for name, data in FILES.items():
        (source / name).write_bytes(data)
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in FILES.items()}
    contents = Contents(node="N", name="n", made_ms=1, log="l/0", log_size=2, digests=digests, blobs=1)
    size = pack(source, tmp_path / "b.tmbackup", contents)
    assert (tmp_path / "b.tmbackup").stat().st_size == size
    return tmp_path / "b.tmbackup"


def refused(backup: Path) -> str:
    """The message of the refusal."""
    target = backup.parent / "target"
    target.mkdir()
    with pytest.raises(MeshError) as caught:
        unpack(backup, target)
    assert caught.value.code == "backup.invalid"
    assert {path.name for path in backup.parent.iterdir()} <= {"source", "b.tmbackup", "target"}
    return caught.value.message


def rewrite(backup: Path, change: Callable[[tarfile.TarInfo, bytes], list[tuple[tarfile.TarInfo, bytes]]]) -> None:
    """The archive again, each member as ``change`` says."""
    with tarfile.open(backup) as old:
        members = [(member, old.extractfile(member).read()) for member in old]  # type: ignore[union-attr]
    with tarfile.open(backup, "w") as new:
        for member, data in [pair for one in members for pair in change(*one)]:
            member.size = len(data) if member.isreg() else 0
            new.addfile(member, io.BytesIO(data))


def named(name: str, kind: bytes = tarfile.REGTYPE) -> tarfile.TarInfo:
    """A member."""
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, "/etc/passwd" if kind == tarfile.SYMTYPE else ""
    return made


def test_what_was_packed_is_unpacked_for_its_owner_only(backup: Path, tmp_path: Path) -> None:
    """Guard: node/health/backup_file.py, _write."""
    (tmp_path / "target").mkdir()
    assert unpack(backup, tmp_path / "target").node == "N"
    found = {
        path.relative_to(tmp_path / "target").as_posix(): path.read_bytes()
        for path in (tmp_path / "target").rglob("*")
        if path.is_file()
    }
    assert found == {**FILES, BLOB_NAME: b"picture"}
    modes = {path.stat().st_mode & 0o777 for path in (backup, *(tmp_path / "target" / name for name in found))}
    assert modes == {0o600}


def test_a_backup_that_was_cut_off_anywhere_is_refused(backup: Path, tmp_path: Path) -> None:
    data = backup.read_bytes()
    whole = len(data.rstrip(b"\0"))
    for size in (0, 1, 511, 512, 1024, whole // 2, whole - 1):
        backup.write_bytes(data[:size])
        refused(backup)
        for path in sorted((tmp_path / "target").rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        (tmp_path / "target").rmdir()


@pytest.mark.parametrize("name", [*FILES, BLOB_NAME])
def test_a_changed_file_in_a_backup_is_named(backup: Path, name: str) -> None:
    """Guard: node/health/backup_file.py, _write."""
    rewrite(backup, lambda member, data: [(member, data + b"!" if member.name == name else data)])
    assert f"{name} was changed" in refused(backup)


@pytest.mark.parametrize("name", [*FILES, BLOB_NAME])
def test_a_backup_without_one_of_its_files_is_refused(backup: Path, name: str) -> None:
    """Guard: node/health/backup_file.py, unpack."""
    rewrite(backup, lambda member, data: [] if member.name == name else [(member, data)])
    assert "it lacks" in refused(backup)


@pytest.mark.parametrize(
    ("member", "told"),
    [
        (named("../escaped"), "no file of a node"),
        (named("/tmp/escaped"), "no file of a node"),
        (named("control.json"), "no file of a node"),
        (named(f"blobs/00/{BLOB}"), "no file of a node"),
        (named("witness.key", tarfile.SYMTYPE), "not a plain file"),
        (named("witness.key", tarfile.LNKTYPE), "not a plain file"),
        (named("blobs", tarfile.DIRTYPE), "not a plain file"),
        (named("witness.key"), "twice"),
    ],
    ids=lambda value: value.name if isinstance(value, tarfile.TarInfo) else "",
)
def test_a_backup_with_anything_else_in_it_is_refused(backup: Path, member: tarfile.TarInfo, told: str) -> None:
    """Guard: node/health/backup_file.py, _write."""
    rewrite(backup, lambda one, data: [(one, data)] if one.name != "store.db" else [(one, data), (member, b"")])
    assert told in refused(backup)
    assert not Path("/tmp/escaped").exists()


def test_another_format_is_refused_in_words(backup: Path) -> None:
    def change(member: tarfile.TarInfo, data: bytes) -> list[tuple[tarfile.TarInfo, bytes]]:
        return [(member, data.replace(b'"format": 1', b'"format": 2'))]

    rewrite(backup, change)
    with pytest.raises(MeshError) as caught:
        unpack(backup, backup.parent)
    assert caught.value.code == "format.newer" and "backup of version 2" in caught.value.message
