"""Signed notes: a known answer of another implementation, and what is refused."""

from __future__ import annotations

import base64

import pytest
from nacl.signing import SigningKey

from protocol import limits
from protocol.errors import MeshError
from protocol.log import note
from protocol.log.note import SignatureLine
from tests.tables import each

KEY = SigningKey(bytes([1]) * 32)
PUBLIC = bytes(KEY.verify_key)
# The example of golang.org/x/mod/sumdb/note.
GO_TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
GO_NOTE = (
    f"{GO_TEXT}\n— PeterNeumann "
    "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
GO_KEY = base64.b64decode("ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")[1:]


def refused(data: bytes) -> str:
    """The message of the refusal."""
    with pytest.raises(MeshError) as caught:
        note.parse(data)
    assert caught.value.code == "log.invalid"
    return caught.value.message


def test_a_note_of_another_implementation_verifies() -> None:
    parsed = note.parse(GO_NOTE.encode())
    assert parsed.text == GO_TEXT
    note.check(parsed, "PeterNeumann", GO_KEY)


def test_what_is_signed_is_read_again_byte_for_byte() -> None:
    signed = note.sign("a\nb\n", "name", KEY)
    assert note.parse(signed.encode()) == signed
    note.check(signed, "name", PUBLIC)


@each(
    "text",
    [
        "",
        "text\n",
        "text\n\n",
        "\n\n— n AAAAAAA=\n",
        "text\n\n— n AAAAAAA=",
        "te\x00xt\n\n— n AAAAAAA=\n",
        "t\r\n\n— n AAAAAAA=\n",
    ],
)
def test_text_an_empty_line_and_signatures_are_required(text: str) -> None:
    refused(text.encode())


@each(
    "line",
    [
        "- n AAAAAAA=",
        "—n AAAAAAA=",
        "—  AAAAAAA=",
        "— n",
        "— n A A",
        "— n+m AAAAAAA=",
        "— n AAAAAA",
        "— n AAAAAAB=",
        "— n AAAA",
        "— n !!!!",
    ],
)
def test_a_signature_line_has_one_form_only(line: str) -> None:
    refused(f"text\n\n{line}\n".encode())


def test_size_and_number_of_signatures_are_bounded() -> None:
    line = "— n AAAAAAA=\n"
    assert len(note.parse(("t\n\n" + line * limits.NOTE_SIGNATURES_MAX).encode()).lines) == limits.NOTE_SIGNATURES_MAX
    assert "more than" in refused(("t\n\n" + line * (limits.NOTE_SIGNATURES_MAX + 1)).encode())
    assert "bytes" in refused(b"t" * limits.NOTE_BYTES_MAX + b"\n\n" + line.encode())


def test_lines_of_unknown_keys_are_skipped() -> None:
    signed = note.sign("t\n", "name", KEY)
    other = note.sign("t\n", "name", SigningKey(bytes([2]) * 32)).lines[0]
    note.check(note.Note(text=signed.text, lines=(other, *signed.lines)), "name", PUBLIC)


def test_a_line_that_claims_the_key_and_does_not_verify_spoils_the_note() -> None:
    signed = note.sign("t\n", "name", KEY)
    forged = SignatureLine(name="name", key_id=signed.lines[0].key_id, signature=bytes(64))
    for lines in ((forged,), (*signed.lines, forged)):
        with pytest.raises(MeshError) as caught:
            note.check(note.Note(text="t\n", lines=lines), "name", PUBLIC)
        assert caught.value.code == "log.invalid"


def test_a_note_under_another_name_is_not_signed() -> None:
    with pytest.raises(MeshError):
        note.check(note.sign("t\n", "name", KEY), "other", PUBLIC)


def test_a_cosignature_says_when_and_binds_text_and_time() -> None:
    signed = note.sign("t\n", "log", KEY)
    witness = SigningKey(bytes([3]) * 32)
    line = note.cosign(signed, "witness", witness, 1_700_000_000)
    assert note.cosigned_at(signed.with_line(line), "witness", bytes(witness.verify_key)) == 1_700_000_000
    assert note.cosigned_at(signed, "witness", bytes(witness.verify_key)) is None
    later = SignatureLine(name="witness", key_id=line.key_id, signature=b"\0" * 8 + line.signature[8:])
    for spoiled in (later, SignatureLine(name="witness", key_id=line.key_id, signature=line.signature[:-1])):
        with pytest.raises(MeshError):
            note.cosigned_at(signed.with_line(spoiled), "witness", bytes(witness.verify_key))
    other_text = note.sign("u\n", "log", KEY).with_line(line)
    with pytest.raises(MeshError):
        note.cosigned_at(other_text, "witness", bytes(witness.verify_key))


def test_a_cosignature_does_not_pass_for_a_signature_of_a_log() -> None:
    line = note.cosign(note.sign("t\n", "log", KEY), "log", KEY, 1)
    with pytest.raises(MeshError):
        note.check(note.Note(text="t\n", lines=(line,)), "log", PUBLIC)
