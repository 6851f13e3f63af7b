"""A backup file: a tar archive of ``backup.json``, the configuration, the keys, the database and the blobs.

Like the data directory, it contains the witness key, so only its owner can read it (mode 0600).
"""

from __future__ import annotations

import hashlib
import os
import re
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

import msgspec

from node.config import CONFIG_FILE
from node.signing import KEY_FILE, LOG_FILE
from protocol import limits
from protocol.errors import MeshError
from protocol.wire import formats

CONTENTS_FILE: Final = "backup.json"
OWN_FILES: Final = (CONFIG_FILE, LOG_FILE, KEY_FILE)
DATABASE_FILE: Final = "store.db"
_FORMAT: Final = formats.version_of("backup")
_BLOB: Final = re.compile(r"blobs/([0-9a-f]{2})/(\1[0-9a-f]{62})")
_CHUNK_BYTES: Final = 1 << 20


class Contents(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``backup.json``: describes the node and the files in the backup."""

    format: int = _FORMAT
    node: str
    name: str
    made_ms: int
    log: str
    """Origin of the witness log at that time."""
    log_size: int
    digests: dict[str, str]
    """SHA-256 by file name, in hexadecimal digits; the name of a blob is its digest."""
    blobs: int


class _Format(msgspec.Struct, frozen=True, kw_only=True):
    """The one field of ``Contents`` that every version has."""

    format: int


def pack(directory: Path, out: Path, contents: Contents) -> int:
    """Write the files of ``directory`` to ``out`` and return its size; a crash leaves the old file or the new one.

    Errors: ``OSError``.
    """
    handle, temporary = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.")  # mkstemp creates files with mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
                # First, so that a reader learns the format before the rest arrives.
                (directory / CONTENTS_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(contents)))
                for name in (CONTENTS_FILE, *contents.digests, *blob_names(directory)):
                    archive.add(directory / name, name, recursive=False, filter=_anonymous)
            file.flush()
            os.fsync(file.fileno())
            size = file.tell()
        os.replace(temporary, out)
    except BaseException:
        os.unlink(temporary)
        raise
    return size


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """``member`` without the user and group of this machine."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o600
    return member


def blob_names(directory: Path) -> list[str]:
    """Archive names of the blobs in a copy of a store."""
    return sorted(path.relative_to(directory).as_posix() for path in directory.glob("blobs/*/*"))


def digest_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def unpack(file: Path, directory: Path) -> Contents:
    """Unpack a backup into the empty ``directory`` and return its ``backup.json``, after all checks.

    Checks, in order: a tar archive that begins with ``backup.json``; of this format; each member is a plain file with one of
    the names of a backup, once; its content has the announced SHA-256; nothing is missing. Errors: ``backup.invalid``,
    ``format.*``, ``input.no_file``, ``store.*``.
    """
    try:
        source = file.open("rb")
    except OSError as error:
        raise MeshError("input.no_file", f"{file}: {error.strerror}", path=str(file)) from error
    try:
        with source, tarfile.open(fileobj=source, mode="r:") as archive:
            members = _plain_members(archive)
            contents = _contents(archive, next(members, None))
            found = [_write(archive, member, directory, contents) for member in members]
    except (tarfile.TarError, EOFError, UnicodeDecodeError) as error:
        raise _invalid(f"it is not a whole tar archive ({error})") from error
    blobs = sum(name not in contents.digests for name in found)
    missing = sorted(contents.digests.keys() - set(found))
    if missing or blobs != contents.blobs:
        raise _invalid(f"it lacks {', '.join(missing) or f'{contents.blobs - blobs} blobs'}")
    return contents


def _plain_members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    for member in archive:
        if not member.isreg():
            raise _invalid(f"{member.name[:80]!r} is not a plain file")
        yield member


def _contents(archive: tarfile.TarFile, first: tarfile.TarInfo | None) -> Contents:
    if first is None or first.name != CONTENTS_FILE or first.size > limits.BACKUP_CONTENTS_BYTES_MAX:
        raise _invalid(f"it does not begin with {CONTENTS_FILE}")
    try:
        data = _opened(archive, first).read()
        formats.check_version("backup", msgspec.json.decode(data, type=_Format).format)
        contents = msgspec.json.decode(data, type=Contents)
    except msgspec.DecodeError as error:
        raise _invalid(f"{CONTENTS_FILE}: {error}") from error
    if contents.digests.keys() != {*OWN_FILES, DATABASE_FILE}:
        raise _invalid(f"{CONTENTS_FILE} names other files than those of a node")
    return contents


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, directory: Path, contents: Contents) -> str:
    """Write one member. Returns its name."""
    name = member.name
    blob = _BLOB.fullmatch(name)
    announced = blob[2] if blob else contents.digests.get(name)
    path = directory / name
    if announced is None:
        raise _invalid(f"{name[:80]!r} is no file of a node")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    computed = hashlib.sha256()
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        raise _invalid(f"it contains {name} twice") from None
    with os.fdopen(handle, "wb") as target, _opened(archive, member) as content:
        while chunk := content.read(_CHUNK_BYTES):
            computed.update(chunk)
            target.write(chunk)
        target.flush()
        os.fsync(target.fileno())
    if computed.hexdigest() != announced:
        raise _invalid(f"{name} was changed")
    return name


def _opened(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    content = archive.extractfile(member)
    assert content is not None, "a plain file has content"
    return content


def _invalid(told: str) -> MeshError:
    return MeshError("backup.invalid", f"this is not a complete backup of a node: {told}")
