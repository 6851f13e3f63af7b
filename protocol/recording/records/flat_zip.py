"""The only ZIP layout that trailmesh writes and reads: stored entries, back to back, without optional parts.

For given names and contents exactly one file is valid. So a reader rebuilds every header from its values and compares it byte by
byte. This refuses comments, extra fields, flags, compression, gaps, other dates and 64-bit records. It matters because two ZIP
readers may see different content in an archive that uses them. Files are objects with ``read``, ``write`` and ``seek``; the caller
opens them, and they are never read as a whole.
"""

from __future__ import annotations

import struct
import zlib
from typing import BinaryIO, Final, NamedTuple

from protocol import limits
from protocol.errors import MeshError

_LOCAL: Final = struct.Struct("<4sHHHHHIIIHH")
_CENTRAL: Final = struct.Struct("<4sHHHHHHIIIHHHHHII")
_END: Final = struct.Struct("<4sHHHHIIH")
_VERSION_NEEDED: Final = 10
_MADE_BY: Final = 3 << 8 | _VERSION_NEEDED
"""Unix, so that the file modes below have a meaning."""
_TIME, _DATE = 0, 1 << 5 | 1
"""1 January 1980, 00:00: the first time that ZIP can express."""
_MODE: Final = 0o100644 << 16


class ZipEntry(NamedTuple):
    """One file of the archive."""

    name: str
    size: int
    """Bytes of its content."""
    crc: int
    """CRC-32 of its content."""
    offset: int
    """Offset of its local header."""

    @property
    def start(self) -> int:
        """Offset of its content."""
        return self.offset + _LOCAL.size + len(self.name)

    @property
    def end(self) -> int:
        """Offset of the next entry."""
        return self.start + self.size


def _local_header(entry: ZipEntry) -> bytes:
    name = entry.name.encode("ascii")
    head = (b"PK\x03\x04", _VERSION_NEEDED, 0, 0, _TIME, _DATE, entry.crc, entry.size, entry.size, len(name), 0)
    return _LOCAL.pack(*head) + name


def _central_header(entry: ZipEntry) -> bytes:
    name = entry.name.encode("ascii")
    head = (b"PK\x01\x02", _MADE_BY, _VERSION_NEEDED, 0, 0, _TIME, _DATE, entry.crc, entry.size, entry.size)
    return _CENTRAL.pack(*head, len(name), 0, 0, 0, 0, _MODE, entry.offset) + name


def _end_record(count: int, directory_bytes: int, directory_offset: int) -> bytes:
    return _END.pack(b"PK\x05\x06", 0, 0, count, count, directory_bytes, directory_offset, 0)


class ZipWriter:
    """Writes entries one after the other, in the order given."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._entries: list[ZipEntry] = []
        self._offset = 0

    def add(self, name: str, data: bytes) -> None:
        """Append one entry."""
        entry = ZipEntry(name, len(data), zlib.crc32(data), self._offset)
        self._out.write(_local_header(entry))
        self._out.write(data)
        self._entries.append(entry)
        self._offset = entry.end

    def finish(self) -> None:
        """Append the directory, which completes the archive."""
        directory = b"".join(_central_header(entry) for entry in self._entries)
        self._out.write(directory)
        self._out.write(_end_record(len(self._entries), len(directory), self._offset))


def _bad(reason: str, **detail: object) -> MeshError:
    return MeshError("bundle.invalid", reason, **detail)


def read_directory(file: BinaryIO) -> list[ZipEntry]:
    """The entries of an archive of exactly this layout, in file order; local headers are not checked yet.

    Checks, in order: file size; an end record as the last bytes, without comment, whose directory ends where it starts; every
    directory entry, rebuilt, equals its bytes; entries lie back to back from the first byte to the directory. Errors:
    ``bundle.invalid``.
    """
    size = file.seek(0, 2)
    if size < _END.size or size > limits.BUNDLE_BYTES_MAX:
        raise _bad(f"{size} bytes; between {_END.size} and {limits.BUNDLE_BYTES_MAX} are allowed")
    tail = _read(file, size - _END.size, _END.size)
    count, directory_bytes, directory_offset = _END.unpack(tail)[4:7]
    # No comment is allowed, so the end record is at a known place and need not be searched for.
    if tail != _end_record(count, directory_bytes, directory_offset):
        raise _bad("the last bytes are not a plain end record")
    if directory_offset + directory_bytes + _END.size != size:
        raise _bad("bytes before, after or between the parts of the archive")
    # Limits the amount read into memory next, because the sizes come from the file.
    if directory_bytes > count * (_CENTRAL.size + limits.BUNDLE_PATH_CHARS_MAX):
        raise _bad("the directory is larger than its entries can be")
    directory = _read(file, directory_offset, directory_bytes)
    entries: list[ZipEntry] = []
    position = offset = 0
    for _ in range(count):
        entry = _parse_central(directory, position, offset)
        entries.append(entry)
        position += _CENTRAL.size + len(entry.name)
        offset = entry.end
    if position != directory_bytes or offset != directory_offset:
        raise _bad("bytes that belong to no entry")
    return entries


def _parse_central(directory: bytes, position: int, offset: int) -> ZipEntry:
    """The entry at ``position`` of the directory, whose content must be at ``offset``."""
    if position + _CENTRAL.size > len(directory):
        raise _bad("the directory ends early")
    fields = _CENTRAL.unpack_from(directory, position)
    crc, size, name_length = fields[7], fields[8], fields[10]
    raw = directory[position + _CENTRAL.size : position + _CENTRAL.size + name_length]
    if name_length > limits.BUNDLE_PATH_CHARS_MAX or not raw.isascii():
        raise _bad("an entry name is too long or not ASCII")
    entry = ZipEntry(raw.decode("ascii"), size, crc, offset)
    # Rebuilt and compared instead of parsed field by field, so that no field can have an unexpected value.
    expected = _central_header(entry)
    if directory[position : position + len(expected)] != expected:
        raise _bad("a directory entry is not in canonical form", element=entry.name)
    return entry


def check_local_header(file: BinaryIO, entry: ZipEntry) -> bool:
    """True if the header before the content has exactly the bytes that the directory implies."""
    expected = _local_header(entry)
    return _read(file, entry.offset, len(expected)) == expected


def read_content(file: BinaryIO, entry: ZipEntry) -> bytes | None:
    """The content of ``entry``; None if it does not match its CRC-32. The caller has bounded ``entry.size``."""
    data = _read(file, entry.start, entry.size)
    return data if zlib.crc32(data) == entry.crc else None


def _read(file: BinaryIO, offset: int, count: int) -> bytes:
    file.seek(offset)
    data = file.read(count)
    if len(data) != count:
        raise _bad("the file ends early")
    return data
