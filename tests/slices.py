"""Slices for tests: a folder as Chromium leaves one, and the logs of LevelDB in it."""

from __future__ import annotations

from collections.abc import Mapping

from protocol.capsule.slices import Slice, SliceFile, SliceFolder
from tests.capsules import CANARY, SHOP

VERSION = "156.0.8078.108"


def batch(*entries: bytes) -> bytes:
    """A batch of writes; empty without entries."""
    return bytes(8) + len(entries).to_bytes(4, "little") + b"".join(entries)


def log_of(*batches: bytes) -> bytes:
    """The log that holds them, each in one record."""
    return b"".join(bytes(4) + len(each).to_bytes(2, "little") + b"\x01" + each for each in batches)


FILES = {
    "blob/1/00/2": f"{CANARY}-blob".encode(),
    "leveldb/000003.log": log_of(batch(f"{CANARY}-key".encode())),
    "leveldb/CURRENT": b"MANIFEST-000001\n",
    "leveldb/MANIFEST-000001": b"manifest",
}


def folder(origin: str = SHOP, *, changes: Mapping[str, bytes | None] | None = None) -> SliceFolder:
    """The folder of ``origin``. changes: other content of files, by name; None for none."""
    files = {name: data for name, data in {**FILES, **(changes or {})}.items() if data is not None}
    return SliceFolder(
        origin=origin, files=tuple(SliceFile(name=name, data=data) for name, data in sorted(files.items()))
    )


def slice_of(*folders: SliceFolder, version: str = VERSION) -> Slice:
    """A slice; of the folder of the shop unless others are given."""
    return Slice(version=version, folders=folders or (folder(),))
