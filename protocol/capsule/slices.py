"""A slice: the folders in which Chromium keeps the IndexedDB of a capsule's origins, file by file (ADR 57). Pure.

It carries what no script can read: keys that cannot be exported, and files. A reader accepts only the forms of file names that
LevelDB and Chromium use, so that no file is written elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Final

import msgspec

from protocol import limits
from protocol.errors import MeshError
from protocol.kinds import Credential, Plain
from protocol.trust.origin import origin_of
from protocol.wire.line import LINE_PATTERN

_CURRENT: Final = "leveldb/CURRENT"
_NAME: Final = re.compile(
    r"leveldb/(?:CURRENT|MANIFEST-[0-9]{6,20}|[0-9]{6,20}\.(?:log|ldb))"
    r"|blob/[0-9a-f]{1,16}/[0-9a-f]{2}/[0-9a-f]{1,16}"
)
_FOLDER: Final = re.compile(r"(https?)_([^_/\\\x00-\x1f]{1,253}|\[[0-9a-f_]{2,45}\])_([0-9]{1,5})")
_LOG_BLOCK: Final = 32 * limits.KIB
_LOG_HEAD: Final = 7
_FULL, _LAST = 1, 4
_BATCH_HEAD: Final = 12


class _Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Its representation shows the type only, as for every record of a state."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"


class SliceFile(_Record, frozen=True, kw_only=True):
    """One file, as the browser left it."""

    name: Annotated[Credential, msgspec.Meta(min_length=1, max_length=limits.CAPSULE_SLICE_NAME_CHARS_MAX)]
    """``leveldb/…`` or ``blob/…``, below the folders of its origin."""
    data: Annotated[bytes, msgspec.Meta(max_length=limits.CAPSULE_SLICE_BYTES_MAX)]


class SliceFolder(_Record, frozen=True, kw_only=True):
    """The files that the browser keeps for the pages of one origin."""

    origin: Annotated[Plain, msgspec.Meta(min_length=1, max_length=limits.ORIGIN_CHARS_MAX)]
    files: Annotated[tuple[SliceFile, ...], msgspec.Meta(min_length=1, max_length=limits.CAPSULE_SLICE_FILES_MAX)]
    """Sorted by name, each once."""

    @property
    def size_bytes(self) -> int:
        """The total size of its files."""
        return sum(len(each.data) for each in self.files)


class Slice(_Record, frozen=True, kw_only=True):
    """Folders of one profile; there may be none."""

    version: Annotated[Plain, msgspec.Meta(max_length=64, pattern=LINE_PATTERN)] = ""
    """Version of the browser that wrote them; only this version can read them. Empty without folders."""
    folders: Annotated[tuple[SliceFolder, ...], msgspec.Meta(max_length=limits.CAPSULE_ORIGINS_MAX)] = ()
    """Sorted by origin, each once."""

    def __bool__(self) -> bool:
        return bool(self.folders)

    def has(self, origin: str) -> bool:
        """True if there is a folder of ``origin``."""
        return any(each.origin == origin for each in self.folders)

    def size_bytes(self, origin: str) -> int:
        """The size of the folder of ``origin``."""
        return sum(each.size_bytes for each in self.folders if each.origin == origin)


NO_SLICE: Final = Slice()


def is_file_name(name: str) -> bool:
    """True if LevelDB or Chromium gives files such a name."""
    return _NAME.fullmatch(name) is not None


def folder_of(origin: str) -> str:
    """The name that Chromium gives to the folders of ``origin``, without their ending: ``https_shop.example_0``.

    It is empty for a text that is no origin. The default port is written as 0.
    """
    scheme, _, place = origin.partition("://")
    if origin_of(origin) != origin or scheme not in ("http", "https"):
        return ""
    host, colon, port = place.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = place, "0"
    name = f"{scheme}_{host.replace(':', '_')}_{port}"
    return name if _FOLDER.fullmatch(name) else ""


def origin_of_folder(name: str) -> str:
    """The origin whose ``folder_of`` is ``name``; empty if there is none."""
    found = _FOLDER.fullmatch(name)
    if found is None:
        return ""
    scheme, host, port = found.groups()
    host = host.replace("_", ":") if host.startswith("[") else host
    origin = origin_of(f"{scheme}://{host}" + ("" if port == "0" else f":{port}"))
    return origin if folder_of(origin) == name else ""


def check_slice(given: Slice) -> Slice:
    """``given``, once it is safe to write into a profile.

    Checks, in order: a version if there is a folder, and none without; folders of origins, sorted, each once; number and size of
    all files; names of the forms above, sorted, each once; ``CURRENT`` refers to a file of the slice. Errors: ``capsule.invalid``.
    """
    if bool(given.version) != bool(given.folders):
        raise MeshError("capsule.invalid", "a slice has the version of the browser that has written it")
    origins = [each.origin for each in given.folders]
    if origins != sorted(set(origins)) or not all(map(folder_of, origins)):
        raise MeshError("capsule.invalid", "the folders of a slice are of origins, sorted, each once")
    if not within_limits(given):
        raise MeshError("capsule.invalid", "a slice has more or larger files than a capsule keeps")
    for folder in given.folders:
        names = [each.name for each in folder.files]
        if names != sorted(set(names)) or not all(map(is_file_name, names)):
            raise MeshError("capsule.invalid", "a file of a slice has a name that no browser gives")
        current = next((each.data for each in folder.files if each.name == _CURRENT), b"")
        manifests = {f"{name.removeprefix('leveldb/')}\n" for name in names if "MANIFEST" in name}
        # LevelDB opens any file that ``CURRENT`` names.
        if current.decode("latin-1") not in manifests:
            raise MeshError("capsule.invalid", "a database of a slice names no file of its own")
    return given


def within_limits(given: Slice) -> bool:
    """True if a capsule can keep this number and size of files."""
    files = [each for folder in given.folders for each in folder.files]
    sizes = sum(len(each.data) for each in files)
    return len(files) <= limits.CAPSULE_SLICE_FILES_MAX and sizes <= limits.CAPSULE_SLICE_BYTES_MAX


def same_content(one: Slice, other: Slice) -> bool:
    """True if both hold the same data. Writes that LevelDB makes when it is opened do not count."""
    return one.version == other.version and _content(one) == _content(other)


def _content(given: Slice) -> dict[tuple[str, str], object]:
    return {
        (folder.origin, each.name): list(_batches(each.data)) if each.name.endswith(".log") else each.data
        for folder in given.folders
        for each in folder.files
    }


def _batches(log: bytes) -> Iterator[bytes]:
    """The non-empty batches in a log of LevelDB (doc/log_format.md). From a part of another form on, the raw rest follows."""
    at, pending = 0, bytearray()
    while at < len(log):
        left = _LOG_BLOCK - at % _LOG_BLOCK
        if left < _LOG_HEAD:
            at += left
            continue
        size, kind = int.from_bytes(log[at + 4 : at + 6], "little"), log[at + 6 : at + 7]
        if size + _LOG_HEAD > left or not kind or at + _LOG_HEAD + size > len(log):
            yield log[at:]
            return
        pending += log[at + _LOG_HEAD : at + _LOG_HEAD + size]
        at += _LOG_HEAD + size
        if kind[0] in (_FULL, _LAST):
            if pending[_BATCH_HEAD - 4 : _BATCH_HEAD] != bytes(4):
                yield bytes(pending)
            pending = bytearray()
    yield bytes(pending)
