"""Archives that two readers understand differently: each is shown to divide them, and each is refused here.

Python's ``zipfile`` goes by the directory at the end. Streaming readers go by the headers in front of each content. An
attacker who shows one file to both decides what each of them sees.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable

import pytest

from protocol.errors import MeshError
from protocol.recording.records import flat_zip
from protocol.recording.records.bundle import verify_bundle
from tests.session_samples import find_key, sample_bundle

BUNDLE = sample_bundle()
ENTRIES = flat_zip.read_directory(io.BytesIO(BUNDLE))
STEP = next(entry for entry in ENTRIES if entry.name.startswith("steps/"))
DIRECTORY = max(entry.end for entry in ENTRIES)

Contents = list[tuple[str, bytes]]


def listed(data: bytes) -> Contents:
    """What a reader sees that goes by the directory, the last of equal names."""
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        return [(name, opened.read(name)) for name in dict.fromkeys(opened.namelist())]


def streamed(data: bytes) -> Contents:
    """What a reader sees that goes from header to header, from the first one on; as far as it can read."""
    found, at = list[tuple[str, bytes]](), data.find(b"PK\x03\x04")
    while data[at : at + 4] == b"PK\x03\x04":
        method, _, _, _, size, _, name_bytes, extra = struct.unpack_from("<8xHHHIIIHH", data, at)
        start = at + 30 + name_bytes + extra
        content = data[start : start + size]
        name = data[at + 30 : at + 30 + name_bytes].decode("latin-1")
        found.append((name, zlib.decompress(content, -15) if method == 8 else content))
        at = start + size
    return found


def carved(data: bytes) -> Contents:
    """What a reader sees that looks for headers anywhere, as recovery tools and some scanners do."""
    found, at = list[tuple[str, bytes]](), data.find(b"PK\x03\x04")
    while at >= 0:
        size, name_bytes, extra = struct.unpack_from("<18xI4xHH", data, at)
        start = at + 30 + name_bytes + extra
        found.append((data[at + 30 : at + 30 + name_bytes].decode("latin-1"), data[start : start + size]))
        at = data.find(b"PK\x03\x04", at + 4)
    return found


def _patched(offset: int, value: bytes) -> bytes:
    return BUNDLE[:offset] + value + BUNDLE[offset + len(value) :]


def other_local_name() -> bytes:
    """The directory says steps/…, the header in front of the content another name of the same length."""
    return _patched(STEP.offset + 30, b"STEPS")


def other_local_size() -> bytes:
    """The header in front of the content says that it is one byte shorter."""
    return _patched(STEP.offset + 18, struct.pack("<II", STEP.size - 1, STEP.size - 1))


def other_offset() -> bytes:
    """The directory says that a step lies where another one does."""
    place, at = ENTRIES.index(STEP), DIRECTORY
    for entry in ENTRIES[:place]:
        at += 46 + len(entry.name)
    return _patched(at + 42, struct.pack("<I", ENTRIES[place + 1].offset))


def hidden_in_front() -> bytes:
    """An entry before the first, which the directory does not know; its offsets are moved along."""
    hidden = io.BytesIO()
    writer = flat_zip.ZipWriter(hidden)
    writer.add("hidden", b"payload")
    extra = hidden.getvalue()[: 30 + len("hidden") + len(b"payload")]
    directory = bytearray(BUNDLE[DIRECTORY:-22])
    at = 0
    for entry in ENTRIES:
        struct.pack_into("<I", directory, at + 42, entry.offset + len(extra))
        at += 46 + len(entry.name)
    end = bytearray(BUNDLE[-22:])
    struct.pack_into("<I", end, 16, DIRECTORY + len(extra))
    return extra + BUNDLE[:DIRECTORY] + bytes(directory) + bytes(end)


def hidden_behind() -> bytes:
    """An entry between the last content and the directory, which the directory does not know."""
    hidden = io.BytesIO()
    writer = flat_zip.ZipWriter(hidden)
    writer.add("hidden", b"payload")
    extra = hidden.getvalue()[: 30 + len("hidden") + len(b"payload")]
    end = bytearray(BUNDLE[-22:])
    struct.pack_into("<I", end, 16, DIRECTORY + len(extra))
    return BUNDLE[:DIRECTORY] + extra + BUNDLE[DIRECTORY:-22] + bytes(end)


def second_archive_in_comment() -> bytes:
    """A whole second archive in the comment of the first: readers that look for the last directory see that one."""
    other = io.BytesIO()
    writer = flat_zip.ZipWriter(other)
    writer.add("mimetype", b"another archive altogether")
    writer.finish()
    end = bytearray(BUNDLE[-22:])
    struct.pack_into("<H", end, 20, len(other.getvalue()))
    return BUNDLE[:-22] + bytes(end) + other.getvalue()


DIVIDING: dict[str, Callable[[], bytes]] = {
    make.__name__: make
    for make in (
        other_local_name,
        other_local_size,
        other_offset,
        hidden_in_front,
        hidden_behind,
        second_archive_in_comment,
    )
}


@pytest.mark.parametrize("name", DIVIDING)
def test_an_archive_that_divides_its_readers_is_refused(name: str) -> None:
    """Guard: protocol/recording/records/bundle.py, open_bundle.
    Guard: protocol/recording/records/flat_zip.py, read_directory.
    Guard: protocol/recording/records/flat_zip.py, _parse_central.
    """
    data = DIVIDING[name]()
    seen = []
    for read in (listed, streamed, carved):
        try:
            seen.append(read(data))
        except zipfile.BadZipFile:
            seen.append([])
    assert any(one != other for one in seen for other in seen), "it divides them"
    with pytest.raises(MeshError) as caught:
        verify_bundle(io.BytesIO(data), find_key)
    assert caught.value.code in ("bundle.invalid", "bundle.element")


def test_readers_agree_on_a_bundle_that_is_accepted() -> None:
    verify_bundle(io.BytesIO(BUNDLE), find_key)
    assert listed(BUNDLE) == streamed(BUNDLE) == carved(BUNDLE)
