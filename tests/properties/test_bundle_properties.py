"""Bundles under arbitrary bytes: a bundle or a ``MeshError``, nothing else."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import MeshError
from protocol.page.secrets.redaction import redact_text, redact_url
from protocol.recording.records import flat_zip
from protocol.recording.records.bundle import verify_bundle
from tests.session_samples import find_key, sample_bundle

BUNDLE = sample_bundle()
NAMES = st.sampled_from(["mimetype", "manifest.cose", "manifest.cbor", "steps/000001.cbor", f"blobs/{'0' * 64}", "x"])


def refused(data: bytes) -> MeshError:
    with pytest.raises(MeshError) as caught:
        verify_bundle(io.BytesIO(data), find_key)
    return caught.value


@given(st.binary(max_size=400))
def test_any_bytes_are_refused_in_words(data: bytes) -> None:
    assert refused(data).code == "bundle.invalid"


@settings(max_examples=300)
@given(st.integers(0, len(BUNDLE) - 1), st.integers(1, 255))
def test_no_byte_can_be_changed(offset: int, flip: int) -> None:
    changed = bytearray(BUNDLE)
    changed[offset] ^= flip
    error = refused(bytes(changed))
    for entry in flat_zip.read_directory(io.BytesIO(BUNDLE)):
        if entry.offset <= offset < entry.end:
            assert error.code == "bundle.element"
            assert error.detail["element"] == entry.name


@given(st.integers(0, len(BUNDLE)), st.integers(0, 200), st.binary(max_size=60))
def test_no_stretch_can_be_exchanged(start: int, length: int, patch: bytes) -> None:
    changed = BUNDLE[:start] + patch + BUNDLE[start + length :]
    if changed != BUNDLE:
        refused(changed)


@given(st.lists(st.tuples(NAMES, st.binary(max_size=40)), max_size=6))
def test_canonical_archives_of_anything_else_are_refused(parts: list[tuple[str, bytes]]) -> None:
    out = io.BytesIO()
    writer = flat_zip.ZipWriter(out)
    for name, data in parts:
        writer.add(name, data)
    writer.finish()
    entries = flat_zip.read_directory(io.BytesIO(out.getvalue()))
    assert [entry.name for entry in entries] == [name for name, _ in parts]
    refused(out.getvalue())


@given(st.text(max_size=120))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    assert redact_url(redact_url(text)) == redact_url(text)


@given(st.text(max_size=60), st.text(min_size=4, max_size=12), st.text(max_size=60))
def test_a_secret_never_survives_in_text(before: str, value: str, after: str) -> None:
    name = "n"
    if value not in "‹secret:n›":
        assert value not in redact_text(before + value + after, {name: value}).replace("‹secret:n›", "\0")
