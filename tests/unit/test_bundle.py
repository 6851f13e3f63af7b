"""Session bundles: what is written, what is verified, what is refused."""

from __future__ import annotations

import hashlib
import io
import struct
import zipfile
from collections.abc import Callable

import msgspec
import pytest
from nacl.signing import SigningKey

from protocol import ids, limits
from protocol.errors import MeshError
from protocol.log import merkle
from protocol.recording.records import flat_zip
from protocol.recording.records.bundle import (
    MEDIA_TYPE,
    BundleWriter,
    Manifest,
    leaf_of,
    make_manifest,
    open_bundle,
    step_path,
    verify_bundle,
    write_bundle,
)
from protocol.recording.records.session import Step
from protocol.recording.records.verdict import Verdict
from protocol.wire import cbor
from tests.session_samples import (
    NODE,
    PUBLIC,
    find_key,
    sample_bundle,
    sample_manifest,
    sample_session,
    sample_steps,
    sign,
)
from tests.tables import each

BUNDLE = sample_bundle()


class Counting(io.BytesIO):
    """Counts the bytes that are read."""

    taken = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.taken += len(data)
        return data


def refusal(data: bytes) -> MeshError:
    with pytest.raises(MeshError) as caught:
        verify_bundle(io.BytesIO(data), find_key)
    return caught.value


def archive(parts: list[tuple[str, bytes]]) -> bytes:
    """Any entries in our layout."""
    out = io.BytesIO()
    writer = flat_zip.ZipWriter(out)
    for name, data in parts:
        writer.add(name, data)
    writer.finish()
    return out.getvalue()


def parts_of(data: bytes) -> list[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        return [(item.filename, opened.read(item)) for item in opened.infolist()]


def resigned(change: Callable[[Manifest], Manifest], **signing: object) -> bytes:
    """The sample with a changed manifest under a valid signature."""
    parts = parts_of(BUNDLE)
    manifest = cbor.encode(change(cbor.decode_as(parts[2][1], Manifest)))
    parts[1:3] = [("manifest.cose", sign(manifest, **signing)), ("manifest.cbor", manifest)]  # type: ignore[arg-type]
    return archive(parts)


def test_what_was_written_is_read_back_and_verified() -> None:
    steps, blobs = sample_steps()
    bundle = verify_bundle(io.BytesIO(BUNDLE), find_key)
    assert bundle.session == sample_session(steps)
    assert bundle.steps() == steps
    assert {digest: bundle.blob(digest) for digest in blobs} == blobs
    assert bundle.header.issuer == NODE
    assert bundle.manifest_digest == hashlib.sha256(bundle.manifest_bytes).digest()
    assert bundle.signature == sign(bundle.manifest_bytes)


def test_writing_it_again_gives_the_same_bytes() -> None:
    bundle = verify_bundle(io.BytesIO(BUNDLE), find_key)
    out = io.BytesIO()
    write_bundle(
        out,
        signature=bundle.signature,
        manifest=bundle.manifest_bytes,
        steps=bundle.steps(),
        read_blob=bundle.blob,
    )
    assert out.getvalue() == BUNDLE == sample_bundle()


def test_other_zip_tools_read_it() -> None:
    with zipfile.ZipFile(io.BytesIO(BUNDLE)) as opened:
        assert opened.testzip() is None
        names = opened.namelist()
        assert opened.read("mimetype") == MEDIA_TYPE
        assert all(item.compress_type == zipfile.ZIP_STORED for item in opened.infolist())
    assert names[:3] == ["mimetype", "manifest.cose", "manifest.cbor"]
    assert names[3:] == sorted(names[3:])


def test_one_step_is_read_without_the_rest() -> None:
    file = Counting(BUNDLE)
    bundle = open_bundle(file, find_key)
    file.taken = 0
    step = bundle.step(2)
    assert step.index == 2
    assert file.taken == len(cbor.encode(step))


def test_one_step_is_proved_to_belong_to_the_signed_root() -> None:
    manifest = open_bundle(io.BytesIO(BUNDLE), find_key).manifest
    leaves = [leaf_of(element) for element in manifest.elements]
    index = next(i for i, element in enumerate(manifest.elements) if element.path == step_path(3))
    proof = merkle.inclusion_proof(leaves, index)
    assert merkle.proves_inclusion(leaves[index], index, len(leaves), proof, manifest.root)
    assert not merkle.proves_inclusion(leaves[index - 1], index, len(leaves), proof, manifest.root)


def test_every_flipped_byte_of_an_element_names_exactly_that_element() -> None:
    entries = flat_zip.read_directory(io.BytesIO(BUNDLE))
    for entry in entries:
        for offset in range(entry.offset, entry.end, 1 if entry.name.startswith("steps/") else 37):
            changed = bytearray(BUNDLE)
            changed[offset] ^= 0x01
            error = refusal(bytes(changed))
            assert error.code == "bundle.element", (entry.name, offset)
            assert error.detail["element"] == entry.name
            if entry.name.startswith("steps/"):
                assert error.detail["index"] == int(entry.name[6:12])


def test_an_element_that_was_exchanged_with_its_checksum_is_found() -> None:
    """The archive is right throughout, and only what was signed tells.

    Guard: protocol/recording/records/bundle.py, Bundle.element.
    Guard: protocol/recording/records/bundle.py, open_bundle.
    """
    parts = parts_of(BUNDLE)
    for place, (name, data) in enumerate(parts[2:], 2):
        changed = [*parts[:place], (name, data[:-1] + bytes([data[-1] ^ 1])), *parts[place + 1 :]]
        error = refusal(archive(changed))
        assert (error.code, error.detail.get("element")) == ("bundle.element", name)


def test_a_changed_blob_names_the_step_that_shows_it() -> None:
    steps, _ = sample_steps()
    entries = {entry.name: entry for entry in flat_zip.read_directory(io.BytesIO(BUNDLE))}
    entry = entries[f"blobs/{steps[2].snapshot.hex()}"]
    changed = bytearray(BUNDLE)
    changed[entry.start] ^= 0xFF
    error = refusal(bytes(changed))
    assert error.detail == {"element": entry.name, "index": 3}


def test_all_bad_elements_are_listed() -> None:
    entries = {entry.name: entry for entry in flat_zip.read_directory(io.BytesIO(BUNDLE))}
    changed = bytearray(BUNDLE)
    for path in (step_path(1), step_path(4)):
        changed[entries[path].start] ^= 0xFF
    bundle = open_bundle(io.BytesIO(bytes(changed)), find_key)
    assert [fault.detail["index"] for fault in bundle.faults()] == [1, 4]


def test_every_flipped_byte_of_the_directory_is_refused() -> None:
    start = max(entry.end for entry in flat_zip.read_directory(io.BytesIO(BUNDLE)))
    for offset in range(start, len(BUNDLE)):
        changed = bytearray(BUNDLE)
        changed[offset] ^= 0x04
        assert refusal(bytes(changed)).code in ("bundle.invalid", "bundle.element")


def _zip64_end(data: bytes) -> bytes:
    return data[:-22] + struct.pack("<4sQ", b"PK\x06\x06", 44) + bytes(44) + data[-22:]


def _gap(data: bytes) -> bytes:
    """Four bytes between the entries and the directory, the end record adjusted: a valid ZIP to most readers."""
    end = bytearray(data[-22:])
    directory = struct.unpack_from("<I", end, 16)[0]
    struct.pack_into("<I", end, 16, directory + 4)
    return data[:directory] + b"gap!" + data[directory:-22] + bytes(end)


def _appended(data: bytes) -> bytes:
    file = io.BytesIO(data)
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(file, "a") as opened:
        opened.writestr("steps/000001.cbor", b"another first step")
    return file.getvalue()


def _compressed(data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in parts_of(data):
            opened.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _rezipped(data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as opened:
        for name, content in parts_of(data):
            opened.writestr(name, content)
    return out.getvalue()


def _commented(data: bytes) -> bytes:
    file = io.BytesIO(data)
    with zipfile.ZipFile(file, "a") as opened:
        opened.comment = b"hello"
    return file.getvalue()


HOSTILE: dict[str, Callable[[bytes], bytes]] = {
    "nothing at all": lambda data: b"",
    "a prefix": lambda data: b"MZ" + data,
    "trailing bytes": lambda data: data + b"\x00",
    "an end record twice": lambda data: data + data[-22:],
    "the last byte cut off": lambda data: data[:-1],
    "a gap": _gap,
    "a 64-bit end record": _zip64_end,
    "fewer entries on this disk": lambda data: data[:-14] + bytes([data[-14] - 1]) + data[-13:],
    "a duplicate entry": _appended,
    "compression": _compressed,
    "other dates and attributes": _rezipped,
    "a comment": _commented,
    "unsorted entries": lambda data: archive([*parts_of(data)[:3], *reversed(parts_of(data)[3:])]),
    "an entry of another name": lambda data: archive([*parts_of(data), ("zebra", b"")]),
    "a step outside the folder": lambda data: archive([*parts_of(data), ("steps/../../x", b"")]),
    "one element less": lambda data: archive(parts_of(data)[:-1]),
    "the manifest later": lambda data: archive([*parts_of(data)[:2], *parts_of(data)[3:], parts_of(data)[2]]),
    "too many elements": lambda data: archive(
        [*parts_of(data)[:3], *((f"blobs/{i:064x}", b"") for i in range(limits.BUNDLE_ELEMENTS_MAX + 1))]
    ),
    "a step that is too large": lambda data: archive(
        [*parts_of(data)[:-1], ("steps/000004.cbor", bytes(limits.ENVELOPE_BYTES_MAX + 1))]
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_is_not_canonical_is_refused(name: str) -> None:
    """Guard: protocol/recording/records/flat_zip.py, read_directory."""
    assert refusal(HOSTILE[name](BUNDLE)).code == "bundle.invalid"


@each("name", ["mimetype", "manifest.cose", "manifest.cbor"])
def test_what_stands_at_the_head_stands_there_alone(name: str) -> None:
    parts = parts_of(BUNDLE)
    again = sorted([*parts[3:], (name, b"")])
    assert refusal(archive([*parts[:3], *again])).message == "entries are unsorted or duplicate"


def test_each_entry_stands_in_its_order_and_once() -> None:
    parts = parts_of(BUNDLE)
    for rest in ([*parts[3:], parts[-1]], [*parts[3:-2], parts[-1], parts[-2]]):
        assert refusal(archive([*parts[:3], *rest])).message == "entries are unsorted or duplicate"


def test_another_media_type_is_refused() -> None:
    parts = parts_of(BUNDLE)
    parts[0] = ("mimetype", MEDIA_TYPE[:-1] + b"q")
    assert refusal(archive(parts)).detail == {"element": "mimetype"}


def test_only_a_trusted_key_of_the_recorder_opens_it() -> None:
    """Guard: protocol/recording/records/bundle.py, _check_session."""
    other = SigningKey(bytes(32))
    stranger = resigned(lambda manifest: manifest, key=other)
    assert refusal(stranger).code == "envelope.key_unknown"
    forged = resigned(lambda manifest: manifest, key=other).replace(bytes(other.verify_key)[:8], PUBLIC[:8])
    assert refusal(forged).code in ("envelope.signature", "bundle.element")
    replaced = resigned(
        lambda manifest: msgspec.structs.replace(
            manifest, session=msgspec.structs.replace(manifest.session, node=ids.node_id(bytes(32)))
        )
    )
    assert refusal(replaced).code == "envelope.issuer"


def test_a_report_envelope_is_no_session_signature() -> None:
    assert refusal(resigned(lambda manifest: manifest, kind="replay-report")).code == "envelope.kind"


@each(
    "change",
    [
        {"version": 0},
        {"root": bytes(32)},
        {"session": {"verdict": Verdict.OPEN}},
        {"session": {"steps": 3}},
    ],
)
def test_a_signed_manifest_that_contradicts_itself_is_refused(change: dict[str, object]) -> None:
    def apply(manifest: Manifest) -> Manifest:
        fields = dict(change)
        if isinstance(fields.get("session"), dict):
            fields["session"] = msgspec.structs.replace(manifest.session, **fields["session"])  # type: ignore[arg-type]
        return msgspec.structs.replace(manifest, **fields)

    assert refusal(resigned(apply)).code == "bundle.invalid"


def test_a_blob_that_no_step_names_is_refused() -> None:
    steps, blobs = sample_steps()
    bare = [msgspec.structs.replace(step, screenshot=b"") for step in steps]
    full = open_bundle(io.BytesIO(BUNDLE), find_key).manifest
    lean = cbor.decode_as(make_manifest(sample_session(bare), bare, {d: len(b) for d, b in blobs.items()}), Manifest)
    elements = [item for item in full.elements if item.path.startswith("blobs/")] + [
        item for item in lean.elements if item.path.startswith("steps/")
    ]
    manifest = cbor.encode(
        msgspec.structs.replace(
            lean, elements=tuple(elements), root=merkle.root([leaf_of(element) for element in elements])
        )
    )
    out = io.BytesIO()
    write_bundle(out, signature=sign(manifest), manifest=manifest, steps=bare, read_blob=blobs.__getitem__)
    error = refusal(out.getvalue())
    assert error.code == "bundle.element"
    assert error.detail["element"] == f"blobs/{steps[0].screenshot.hex()}"


def test_a_session_of_more_steps_than_may_be_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SESSION_STEPS_MAX", 4)
    verify_bundle(io.BytesIO(BUNDLE), find_key)
    monkeypatch.setattr(limits, "SESSION_STEPS_MAX", 3)
    assert refusal(BUNDLE).message == "4 step elements for 4 steps"


def with_last_step(step: Step, path: str) -> bytes:
    """The sample with another last step at ``path``, signed as it is, though no writer of ours would."""
    data = cbor.encode(step)
    parts = [*parts_of(BUNDLE)[:-1], (path, data)]

    def changed(manifest: Manifest) -> Manifest:
        last = msgspec.structs.replace(
            manifest.elements[-1], path=path, size=len(data), sha256=hashlib.sha256(data).digest()
        )
        elements = (*manifest.elements[:-1], last)
        root = merkle.root([leaf_of(element) for element in elements])
        return msgspec.structs.replace(manifest, elements=elements, root=root)

    manifest = cbor.encode(changed(cbor.decode_as(parts[2][1], Manifest)))
    parts[1:3] = [("manifest.cose", sign(manifest)), ("manifest.cbor", manifest)]
    return archive(parts)


def test_the_steps_are_numbered_from_one_without_a_gap() -> None:
    last = sample_steps()[0][3]
    verify_bundle(io.BytesIO(with_last_step(last, step_path(4))), find_key)
    moved = with_last_step(msgspec.structs.replace(last, index=5), step_path(5))
    assert refusal(moved).message == "4 step elements for 4 steps"


@pytest.mark.parametrize(
    "change",
    [
        {"state": b"short"},
        {"snapshot": b"short"},
        {"screenshot": b"short"},
        {"risk": 0},
        {"risk": 8},
        {"started_ms": -1},
        {"duration_ms": -1},
        {"ok": False},
        {"error": "browser.timeout"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_signed_step_that_contradicts_itself_is_refused(change: dict[str, object]) -> None:
    step = msgspec.structs.replace(sample_steps()[0][3], **change)
    error = refusal(with_last_step(step, step_path(4)))
    assert (error.code, error.detail["index"]) == ("bundle.element", 4)
    assert "contradict" in error.message or "Expected `int` >= 0" in error.message


def test_a_signed_step_with_another_index_is_refused() -> None:
    steps, blobs = sample_steps()
    moved = [*steps[:3], msgspec.structs.replace(steps[3], state=b"short")]
    manifest = sample_manifest(moved, blobs)
    out = io.BytesIO()
    write_bundle(out, signature=sign(manifest), manifest=manifest, steps=moved, read_blob=blobs.__getitem__)
    assert refusal(out.getvalue()).detail["index"] == 4


def test_the_writer_refuses_what_was_not_signed() -> None:
    steps, blobs = sample_steps()
    manifest = sample_manifest(steps, blobs)
    with pytest.raises(MeshError, match=r"manifest\.cbor"):
        BundleWriter(io.BytesIO(), signature=sign(b"another manifest"), manifest=manifest)
    writer = BundleWriter(io.BytesIO(), signature=sign(manifest), manifest=manifest)
    with pytest.raises(MeshError) as caught:
        writer.add(b"something else")
    assert caught.value.code == "bundle.element"


def test_an_open_session_has_no_manifest() -> None:
    steps, _ = sample_steps()
    session = msgspec.structs.replace(sample_session(steps), verdict=Verdict.INTERRUPTED)
    with pytest.raises(MeshError) as caught:
        make_manifest(session, steps, {})
    assert caught.value.code == "session.not_committed"


def test_a_session_too_large_for_a_bundle_is_refused_when_it_is_signed() -> None:
    steps, blobs = sample_steps()
    sizes = dict.fromkeys(blobs, limits.SCREENSHOT_BYTES_MAX + 1)
    with pytest.raises(MeshError) as caught:
        make_manifest(sample_session(steps), steps, sizes)
    assert caught.value.code == "input.too_large"
