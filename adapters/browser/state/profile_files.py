"""The IndexedDB folders in a profile directory: written before Chromium starts, and read after it has ended (ADR 57).

Only directories made by this node are read, never other profiles.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from protocol import limits
from protocol.capsule.slices import (
    NO_SLICE,
    Slice,
    SliceFile,
    SliceFolder,
    check_slice,
    folder_of,
    is_file_name,
    origin_of_folder,
)
from protocol.errors import MeshError

_PLACE: Final = ("Default", "IndexedDB")
_KINDS: Final = ("leveldb", "blob")
_LEFT_BEHIND: Final = re.compile(r"leveldb/(?:LOG(?:\.old)?|LOCK|[0-9]+\.dbtmp)")
"""Files that are recreated when the database opens. A log of LevelDB contains times and paths."""
_DEPTH_MAX: Final = 3
_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW


def write_slice(directory: Path, given: Slice) -> None:
    """Write ``given`` into the profile in ``directory``, which no browser has used yet.

    Errors: ``capsule.invalid`` (``check_slice``: a name that leads elsewhere), ``browser.launch``.
    """
    root = directory.joinpath(*_PLACE)
    try:
        for folder in check_slice(given).folders:
            for each in folder.files:
                kind, _, name = each.name.partition("/")
                path = root / f"{folder_of(folder.origin)}.indexeddb.{kind}" / name
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with os.fdopen(os.open(path, _WRITE, 0o600), "wb") as file:
                    file.write(each.data)
    except OSError as error:
        raise MeshError("browser.launch", "its profile cannot be written", reason="directory") from error


def read_slice(directory: Path, version: str, takes: Callable[[str], bool]) -> Slice:
    """The data of the profile in ``directory`` for the origins that ``takes`` accepts. No browser may use the profile any more.
    version: that of the browser that used it. Errors: ``input.too_large``, ``browser.state`` (an unknown or unreadable file).
    """
    root = directory.joinpath(*_PLACE)
    found: dict[str, list[SliceFile]] = {}
    files = left = 0
    try:
        for origin, name, path in _files(root, takes):
            with os.fdopen(os.open(path, _READ), "rb") as file:
                files, left = files + 1, left + os.fstat(file.fileno()).st_size
                if files > limits.CAPSULE_SLICE_FILES_MAX or left > limits.CAPSULE_SLICE_BYTES_MAX:
                    raise MeshError(
                        "input.too_large",
                        f"IndexedDB of more than {limits.CAPSULE_SLICE_BYTES_MAX} bytes or"
                        f" {limits.CAPSULE_SLICE_FILES_MAX} files: log in without --slice",
                    )
                found.setdefault(origin, []).append(
                    SliceFile(name=name, data=file.read(limits.CAPSULE_SLICE_BYTES_MAX))
                )
    except OSError as error:
        raise MeshError("browser.state", "the files of IndexedDB cannot be read") from error
    folders = tuple(
        SliceFolder(origin=origin, files=tuple(sorted(found[origin], key=lambda each: each.name)))
        for origin in sorted(found)
    )
    return check_slice(Slice(version=version, folders=folders)) if folders else NO_SLICE


def _files(root: Path, takes: Callable[[str], bool]) -> Iterator[tuple[str, str, Path]]:
    """Origin, name in a slice and path of each file. Errors: ``browser.state``; ``OSError``."""
    with suppress(FileNotFoundError):
        for folder in sorted(root.iterdir()):
            place, _, kind = folder.name.rpartition(".indexeddb.")
            origin = origin_of_folder(place)
            if kind not in _KINDS or not origin or not takes(origin):
                continue
            for path in _below(folder, _DEPTH_MAX):
                name = f"{kind}/{path.relative_to(folder).as_posix()}"
                if _LEFT_BEHIND.fullmatch(name):
                    continue
                if not is_file_name(name):
                    raise MeshError("browser.state", "the browser keeps files in IndexedDB that are not known here")
                yield origin, name, path


def _below(folder: Path, depth: int) -> Iterator[Path]:
    """Each file below ``folder``. Anything else but a folder, such as a link, is an error: ``browser.state``."""
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            if entry.is_dir(follow_symlinks=False) and depth:
                yield from _below(Path(entry.path), depth - 1)
            elif entry.is_file(follow_symlinks=False):
                yield Path(entry.path)
            else:
                raise MeshError("browser.state", "there is something else than files in IndexedDB")
