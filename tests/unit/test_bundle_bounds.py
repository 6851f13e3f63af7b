"""Bundles and the archives that they are, at their limits: what just fits, what does not, and which reason is given."""

from __future__ import annotations

import hashlib
import io
import struct
import zlib
from typing import Any

import msgspec
import pytest

from protocol import ids, limits
from protocol.errors import MeshError
from protocol.log import merkle
from protocol.page.actions.dialogs import Dialog
from protocol.page.actions.downloads import Download
from protocol.recording.records import bundle, flat_zip
from protocol.recording.records.bundle import (
    MEDIA_TYPE,
    VERSION,
    BundleWriter,
    Manifest,
    leaf_of,
    make_manifest,
    open_bundle,
    verify_bundle,
)
from protocol.recording.records.flat_zip import ZipEntry
from protocol.recording.records.session import Expect, RequestFault
from protocol.recording.records.verdict import Verdict
from protocol.wire import cbor
from tests.session_samples import find_key, sample_bundle, sample_manifest, sample_session, sample_steps, sign
from tests.tables import each

STEPS, BLOBS = sample_steps()
SIZES = {digest: len(data) for digest, data in BLOBS.items()}
BUNDLE = sample_bundle()
HEAD_NAMES = ("mimetype", "manifest.cose", "manifest.cbor")


def refusal(call: Any, *arguments: Any, **named: Any) -> tuple[str, str, dict[str, Any]]:
    with pytest.raises(MeshError) as caught:
        call(*arguments, **named)
    return caught.value.code, caught.value.message, caught.value.detail


# --- the archive -----------------------------------------------------------------------------------------------------


def archive(*parts: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    writer = flat_zip.ZipWriter(out)
    for name, data in parts:
        writer.add(name, data)
    writer.finish()
    return out.getvalue()


def listed(data: bytes) -> list[ZipEntry]:
    return flat_zip.read_directory(io.BytesIO(data))


def end(count: int, directory_bytes: int, offset: int) -> bytes:
    return struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, count, count, directory_bytes, offset, 0)


def directory_of(data: bytes) -> tuple[int, bytes]:
    """Where the directory begins, and its bytes."""
    start = struct.unpack_from("<I", data, len(data) - 6)[0]
    return start, data[start:-22]


ONE = archive(("a", b"content"))
START, DIRECTORY = directory_of(ONE)
TWICE = 2 * len(DIRECTORY)


def test_an_archive_is_back_to_back_with_its_entries_in_order() -> None:
    first = ZipEntry("a", 7, zlib.crc32(b"content"), 0)
    second = ZipEntry("bb", 0, 0, 38)
    assert listed(archive(("a", b"content"), ("bb", b""))) == [first, second]
    assert [(entry.start, entry.end) for entry in (first, second)] == [(31, 38), (70, 70)]
    assert listed(archive()) == []
    assert listed(archive(("a", b""), ("", b""))) == [ZipEntry("a", 0, 0, 0), ZipEntry("", 0, 0, 31)]
    assert listed(archive(("n" * limits.BUNDLE_PATH_CHARS_MAX, b"")))[0].size == 0


@each(
    ("data", "reason"),
    [
        (bytes(21), "21 bytes; between 22 and 268435456 are allowed"),
        (bytes(22), "the last bytes are not a plain end record"),
        (b"x" + end(0, 0, 0), "bytes before, after or between the parts of the archive"),
        (b"x" + end(0, 0, 1), "bytes that belong to no entry"),
        (b"x" + end(0, 1, 0), "the directory is larger than its entries can be"),
        (archive(("n" * 129, b"")), "the directory is larger than its entries can be"),
        (archive(("n" * 129, b""), ("m", b"")), "an entry name is too long or not ASCII"),
        (ONE[:-22] + end(2, len(DIRECTORY), START), "the directory ends early"),
        (ONE[:-22] + b"more" + end(1, len(DIRECTORY) + 4, START), "bytes that belong to no entry"),
        (ONE[:START] + b"gap!" + DIRECTORY + end(1, len(DIRECTORY), START + 4), "bytes that belong to no entry"),
        (
            ONE[:START] + DIRECTORY * 2 + end(2, TWICE, START),
            "a directory entry is not in canonical form",
        ),
        (ONE[:START] + DIRECTORY[:-1] + b"\xff" + ONE[-22:], "an entry name is too long or not ASCII"),
    ],
)
def test_an_archive_of_another_layout_is_refused_with_the_first_thing_that_is_wrong(data: bytes, reason: str) -> None:
    assert refusal(listed, data)[:2] == ("bundle.invalid", reason)


def test_an_archive_may_be_as_large_as_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BUNDLE_BYTES_MAX", len(ONE))
    assert len(listed(ONE)) == 1
    monkeypatch.setattr(limits, "BUNDLE_BYTES_MAX", len(ONE) - 1)
    assert refusal(listed, ONE)[1] == f"{len(ONE)} bytes; between 22 and {len(ONE) - 1} are allowed"


def test_what_lies_beyond_the_end_of_a_file_is_not_read() -> None:
    entry = ZipEntry("a", 8, 0, 0)
    for read in (flat_zip.read_content, flat_zip.check_local_header):
        assert refusal(read, io.BytesIO(ONE[:20]), entry)[:2] == ("bundle.invalid", "the file ends early")
    assert flat_zip.read_content(io.BytesIO(ONE), entry._replace(size=7)) is None
    assert flat_zip.check_local_header(io.BytesIO(ONE), listed(ONE)[0])
    assert not flat_zip.check_local_header(io.BytesIO(ONE), entry)


# --- writing a bundle ------------------------------------------------------------------------------------------------

MANIFEST = sample_manifest(STEPS, BLOBS)
ELEMENTS = cbor.decode_as(MANIFEST, Manifest).elements
TOTAL = sum(element.size for element in ELEMENTS)


@pytest.mark.parametrize(
    ("limit", "fits"),
    [
        ("BUNDLE_ELEMENTS_MAX", len(ELEMENTS)),
        ("BUNDLE_MANIFEST_BYTES_MAX", len(MANIFEST)),
        ("BUNDLE_BYTES_MAX", TOTAL + 2 * limits.MIB),
    ],
)
def test_a_session_fits_a_bundle_up_to_each_limit(limit: str, fits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, limit, fits)
    assert make_manifest(sample_session(STEPS), STEPS, SIZES) == MANIFEST
    monkeypatch.setattr(limits, limit, fits - 1)
    code, message, _ = refusal(make_manifest, sample_session(STEPS), STEPS, SIZES)
    assert (code, message) == ("input.too_large", f"the session does not fit a bundle ({len(ELEMENTS)} elements)")


def test_a_single_blob_may_be_as_large_as_a_picture_and_no_larger() -> None:
    digest = STEPS[1].snapshot
    make_manifest(sample_session(STEPS), STEPS, SIZES | {digest: limits.SCREENSHOT_BYTES_MAX})
    larger = SIZES | {digest: limits.SCREENSHOT_BYTES_MAX + 1}
    assert refusal(make_manifest, sample_session(STEPS), STEPS, larger)[0] == "input.too_large"


@each("verdict", [Verdict.OPEN, Verdict.INTERRUPTED])
def test_a_session_that_was_not_committed_has_no_manifest(verdict: Verdict) -> None:
    session = msgspec.structs.replace(sample_session(STEPS), verdict=verdict)
    assert refusal(make_manifest, session, STEPS, SIZES)[0] == "session.not_committed"


def test_each_element_is_written_only_as_it_was_signed() -> None:
    (first, *_) = ELEMENTS
    data = BLOBS[first.sha256]
    writer = BundleWriter(io.BytesIO(), signature=sign(MANIFEST), manifest=MANIFEST)
    for other in (b"", data[:-1] + b"x", data + b"x"):
        code, message, detail = refusal(writer.add, other)
        assert (code, detail) == ("bundle.element", {"element": first.path})
        assert message == f"{first.path}: it does not match the signed manifest"
    writer.add(data)
    assert refusal(writer.add, data)[2] == {"element": ELEMENTS[1].path}, "the next one is expected"
    longer = make_manifest(sample_session(STEPS), STEPS, SIZES | {first.sha256: len(data) + 1})
    writer = BundleWriter(io.BytesIO(), signature=sign(longer), manifest=longer)
    assert refusal(writer.add, data)[0] == "bundle.element"


# --- reading a bundle ------------------------------------------------------------------------------------------------


def parts_of(data: bytes) -> list[tuple[str, bytes]]:
    file = io.BytesIO(data)
    return [(entry.name, flat_zip.read_content(file, entry) or b"") for entry in listed(data)]


PARTS = parts_of(BUNDLE)


def opened(data: bytes) -> bundle.Bundle:
    return open_bundle(io.BytesIO(data), find_key)


def verified(data: bytes) -> None:
    verify_bundle(io.BytesIO(data), find_key)


def signed(manifest: bytes, parts: list[tuple[str, bytes]] = PARTS) -> bytes:
    """A bundle with this manifest, under a valid signature."""
    return archive(parts[0], ("manifest.cose", sign(manifest)), ("manifest.cbor", manifest), *parts[3:])


def with_session(**changes: Any) -> bytes:
    manifest = cbor.decode_as(MANIFEST, Manifest)
    session = msgspec.structs.replace(manifest.session, **changes)
    return signed(cbor.encode(msgspec.structs.replace(manifest, session=session)))


def with_element(place: int, data: bytes, path: str = "") -> bytes:
    """Another content, and perhaps another name, for one element, all of it signed."""
    manifest = cbor.decode_as(MANIFEST, Manifest)
    element = msgspec.structs.replace(
        ELEMENTS[place], size=len(data), sha256=hashlib.sha256(data).digest(), path=path or ELEMENTS[place].path
    )
    elements = [*ELEMENTS]
    elements[place] = element
    root = merkle.root([leaf_of(each) for each in elements])
    changed = cbor.encode(msgspec.structs.replace(manifest, elements=tuple(elements), root=root))
    parts = [*PARTS]
    parts[3 + place] = (element.path, data)
    return signed(changed, parts)


def test_what_a_bundle_does_not_have_is_not_found() -> None:
    whole = opened(BUNDLE)
    assert refusal(whole.element, "x" * 100) == (
        "input.not_found",
        f"the bundle has no {'x' * 80}",
        {"element": "x" * 80},
    )
    assert refusal(whole.step, 5)[0] == "input.not_found"
    assert refusal(whole.step, 0)[0] == "input.not_found"
    assert refusal(whole.blob, bytes(32))[0] == "input.not_found"
    for name in HEAD_NAMES:
        assert refusal(whole.element, name)[0] == "input.not_found"


@each(("name", "index"), [("steps/000001.cbor", 1), ("steps/1.cbor", 0), ("steps/000001.cborx", 0), ("blobs/1", 0)])
def test_only_the_path_of_a_step_has_an_index(name: str, index: int) -> None:
    assert bundle.step_index(name) == index
    assert bundle.step_path(12) == "steps/000012.cbor"


def test_the_sizes_of_entries_are_limited_by_their_kind() -> None:
    largest = ("steps/000004.cbor", bytes(limits.ENVELOPE_BYTES_MAX))
    other = "the elements of the file are not exactly those of the manifest"
    assert refusal(opened, archive(*PARTS[:-1], largest))[1] == other
    for name, data in (
        ("steps/000004.cbor", bytes(limits.ENVELOPE_BYTES_MAX + 1)),
        ("steps/4.cbor", b""),
        ("zebra", b""),
        ("steps/x", b""),
    ):
        told = f"{name} is not allowed here, or too large"
        assert refusal(opened, archive(*PARTS[:-1], (name, data))) == ("bundle.invalid", told, {"element": name})
    long = "steps/" + "x" * 100
    assert refusal(opened, archive(*PARTS[:-1], (long, b"")))[2] == {"element": long[:80]}
    assert refusal(opened, archive(("mimetype", MEDIA_TYPE + b"x"), *PARTS[1:]))[2] == {"element": "mimetype"}


def test_a_bundle_has_no_more_elements_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BUNDLE_ELEMENTS_MAX", len(ELEMENTS))
    assert opened(BUNDLE).steps() == STEPS
    monkeypatch.setattr(limits, "BUNDLE_ELEMENTS_MAX", len(ELEMENTS) - 1)
    assert refusal(opened, BUNDLE)[1] == f"more than {len(ELEMENTS) - 1} elements"


def test_the_first_element_must_not_be_named_as_a_head_either() -> None:
    again = archive(*PARTS[:3], ("manifest.cbor", b""), *PARTS[4:])
    assert refusal(opened, again)[1] == "entries are unsorted or duplicate"
    assert refusal(opened, archive(PARTS[1], PARTS[0], *PARTS[2:]))[1].endswith("must come first")
    assert refusal(opened, archive(*PARTS[:2]))[1].endswith("must come first")


@each(
    ("data", "reason"),
    [
        (signed(cbor.encode([1])), "manifest: it does not say which version it is of"),
        (signed(cbor.encode({})), "manifest: it does not say which version it is of"),
        (signed(cbor.encode({"version": VERSION})), "manifest: Object missing required field `session`"),
        (with_session(id=""), "the session record has no ses id in its canonical form"),
        (with_session(id="ses-1"), "the session record has no ses id in its canonical form"),
        (with_session(parent="ses-1"), "the session record has no ses id in its canonical form"),
        (with_session(search="sea-1"), "the session record has no sea id in its canonical form"),
        (with_session(verdict=Verdict.OPEN), "the session was never committed"),
        (with_session(verdict=Verdict.INTERRUPTED), "the session was never committed"),
        (with_session(steps=5), "4 step elements for 5 steps"),
        (with_element(0, b"other"), "manifest: a blob is not named by its hash"),
    ],
)
def test_a_signed_manifest_is_refused_with_the_first_thing_that_is_wrong(data: bytes, reason: str) -> None:
    assert refusal(opened, data)[:2] == ("bundle.invalid", reason)


def test_a_session_may_name_where_it_comes_from() -> None:
    parent, search = (ids.make_id(kind, bytes(13)) for kind in ("ses", "sea"))
    session = opened(with_session(parent=parent, search=search)).session
    assert (session.parent, session.search) == (parent, search)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"started_ms": 0, "duration_ms": 0}, ""),
        ({"risk": 7}, ""),
        ({"state": b"s" * 15}, "contradict"),
        ({"snapshot": b"s"}, "contradict"),
        ({"screenshot": b"s"}, "contradict"),
        ({"index": 3}, "contradict"),
        ({"risk": 8}, "contradict"),
        ({"risk": 0}, "contradict"),
        ({"ok": False}, "contradict"),
        ({"started_ms": -1}, "Expected `int` >= 0 - at `$.started_ms`"),
        ({"duration_ms": -1}, "Expected `int` >= 0 - at `$.duration_ms`"),
    ],
    ids=str,
)
def test_a_signed_step_is_whole_or_is_a_fault_of_its_own(changes: dict[str, Any], fault: str) -> None:
    data = with_element(len(ELEMENTS) - 1, cbor.encode(msgspec.structs.replace(STEPS[3], **changes)))
    if not fault:
        assert opened(data).step(4) == msgspec.structs.replace(STEPS[3], **changes)
        verified(data)
        return
    code, message, detail = refusal(verified, data)
    assert (code, detail) == ("bundle.element", {"element": "steps/000004.cbor", "index": 4})
    assert fault in message


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"ok": False, "error": "browser.timeout"}, "step 4: not performed (browser.timeout)"),
        ({"held": "failed"}, "step 4: the assertion did not hold"),
        (
            {"faults": (RequestFault(request="GET /x", fault="status", status=500),)},
            "step 4: GET /x was answered with 500",
        ),
        ({"expect": Expect(tab=True)}, "step 4: no new tab was opened, as expected"),
        ({"dialogs": (Dialog(kind="alert"),)}, "step 4: unexpected dialog: alert, dismissed"),
        ({"downloads": (Download(name="a", fault="failed"),)}, "step 4: download of “a”, failed"),
    ],
    ids=str,
)
def test_a_session_that_did_not_pass_is_not_believed_to_have_passed(changes: dict[str, Any], reason: str) -> None:
    """Guard: protocol/recording/records/bundle.py, Bundle.faults. Its signer could hide a step that failed from every replay."""
    data = with_element(len(ELEMENTS) - 1, cbor.encode(msgspec.structs.replace(STEPS[3], **changes)))
    assert opened(data).step(4) == msgspec.structs.replace(STEPS[3], **changes)
    code, message, _ = refusal(verified, data)
    assert code == "bundle.invalid"
    assert message == f"the session says that it passed, and did not: {reason}"


def test_a_step_without_a_picture_is_whole_too() -> None:
    bare = msgspec.structs.replace(STEPS[3], snapshot=b"")
    data = with_element(len(ELEMENTS) - 1, cbor.encode(bare))
    assert opened(data).step(4) == bare
    path = bundle.blob_path(STEPS[3].snapshot)
    told = f"{path} does not belong to any step"
    assert refusal(verified, data) == ("bundle.element", told, {"element": path})


def test_a_blob_that_a_step_names_and_nobody_has_is_missing() -> None:
    data = with_element(len(ELEMENTS) - 1, cbor.encode(msgspec.structs.replace(STEPS[3], screenshot=b"m" * 32)))
    path = bundle.blob_path(b"m" * 32)
    assert refusal(verified, data) == ("bundle.element", f"{path} is missing", {"element": path, "index": 4})


def damaged(*paths: str) -> list[dict[str, Any]]:
    """Faults of the sample with the first byte of these elements changed."""
    entries = {entry.name: entry for entry in listed(BUNDLE)}
    changed = bytearray(BUNDLE)
    for path in paths:
        changed[entries[path].start] ^= 0xFF
    return [fault.detail for fault in opened(bytes(changed)).faults()]


def test_a_damaged_blob_names_the_first_step_that_shows_it_unless_that_step_is_damaged_itself() -> None:
    snapshot, picture, first = (
        bundle.blob_path(STEPS[0].snapshot),
        bundle.blob_path(STEPS[0].screenshot),
        "steps/000001.cbor",
    )
    assert damaged(picture) == [{"element": picture, "index": 1}]
    assert damaged(picture, first) == [{"element": first, "index": 1}, {"element": picture, "index": 2}]
    assert damaged(snapshot, first) == [{"element": first, "index": 1}, {"element": snapshot}]
    assert damaged() == []
