"""Hashes and signed notes at their edges: what just fits, and the reason why the rest does not."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from nacl.signing import SigningKey

from protocol import limits
from protocol.errors import MeshError
from protocol.log import merkle, note
from protocol.log.note import Note, SignatureLine
from tests.logs import KEY, PUBLIC
from tests.tables import each

WITNESS = SigningKey(bytes([3]) * 32)


def refusal(call: Any, *arguments: Any, **named: Any) -> str:
    """The message of a ``log.invalid``."""
    with pytest.raises(MeshError) as caught:
        call(*arguments, **named)
    assert caught.value.code == "log.invalid"
    return caught.value.message


# --- hashes ----------------------------------------------------------------------------------------------------------


def test_a_proof_of_another_length_proves_nothing_even_if_its_hashes_lead_to_the_root() -> None:
    leaf, one, two = (merkle.leaf_hash(bytes([number])) for number in range(3))
    above = merkle.node_hash(one, leaf)
    assert not merkle.proves_inclusion(leaf, 0, 1, [one], above)
    assert not merkle.proves_inclusion(leaf, 0, 4, [one], merkle.node_hash(leaf, one))
    assert merkle.proves_inclusion(leaf, 1, 2, [one], above)
    assert not merkle.proves_inclusion(leaf, 1, 2, [one, two], merkle.node_hash(two, above))
    assert not merkle.proves_consistency(1, 2, leaf, merkle.node_hash(two, merkle.node_hash(leaf, one)), [one, two])
    assert not merkle.proves_consistency(1, 4, leaf, merkle.node_hash(leaf, one), [one])
    # From three leaves to four, with one hash too many at the top of both.
    old, new = merkle.node_hash(two, leaf), merkle.node_hash(two, merkle.node_hash(leaf, one))
    assert merkle.proves_consistency(3, 4, old, new, [leaf, one, two])
    above_old, above_new = merkle.node_hash(one, old), merkle.node_hash(one, new)
    assert not merkle.proves_consistency(3, 4, above_old, above_new, [leaf, one, two, one])


def test_sizes_that_need_no_proof_have_none() -> None:
    root = merkle.leaf_hash(b"x")
    assert merkle.proves_consistency(3, 3, root, root, [])
    assert not merkle.proves_consistency(3, 3, root, root, [root])
    assert merkle.proves_consistency(0, 3, merkle.EMPTY_ROOT, root, [])
    assert not merkle.proves_consistency(0, 3, merkle.EMPTY_ROOT, root, [root])
    assert merkle.proves_consistency(0, 0, merkle.EMPTY_ROOT, merkle.EMPTY_ROOT, [])
    assert not merkle.proves_consistency(-1, 3, root, root, [])
    assert not merkle.proves_consistency(3, 5, root, root, [])


@each(("count", "proves"), [(merkle.PROOF_HASHES_MAX, True), (merkle.PROOF_HASHES_MAX + 1, False)])
def test_a_consistency_proof_has_no_more_hashes_than_the_highest_tree(count: int, proves: bool) -> None:
    proof = [merkle.leaf_hash(bytes([number])) for number in range(count)]
    first = new = merkle.leaf_hash(b"x")
    for sibling in proof:
        new = merkle.node_hash(new, sibling)
    assert merkle.proves_consistency(1, 1 << count, first, new, proof) is proves


# --- notes -----------------------------------------------------------------------------------------------------------

LINE = "— n AAAAAAA=\n"


def filled(size: int) -> bytes:
    tail = f"\n\n{LINE}".encode()
    return b"t" * (size - len(tail)) + tail


FORM = "not a signed note: text, an empty line and signature lines are expected"
CONTROL = "not a signed note: control characters"
DASH = "not a signed note: a signature line must be a dash, a key name and base64"
SHORT = "not a signed note: a signature is too short, or its base64 is not canonical"
LONGEST = "n" * limits.NOTE_NAME_CHARS_MAX


def test_a_note_may_be_as_large_as_its_limit() -> None:
    (line,) = note.parse(filled(limits.NOTE_BYTES_MAX)).lines
    assert line == SignatureLine(name="n", key_id=bytes(4), signature=b"\x00")
    told = "not a signed note: 8193 bytes where 8192 are allowed"
    assert refusal(note.parse, filled(limits.NOTE_BYTES_MAX + 1)) == told
    many = "t\n\n" + LINE * (limits.NOTE_SIGNATURES_MAX + 1)
    assert refusal(note.parse, many.encode()) == "not a signed note: more than 32 signatures"
    assert note.parse(f"a\n\nb\n\n{LINE}".encode()).text == "a\n\nb\n"


@each(
    ("text", "reason"),
    [
        ("", FORM),
        (f"t\n{LINE}", FORM),
        (f"\n\n{LINE}", FORM),
        ("t\n\n", FORM),
        (f"t\n\n{LINE[:-1]}", FORM),
        (f"t\x1f\n\n{LINE}", CONTROL),
        (f"t\t\n\n{LINE}", CONTROL),
        (f"t\n\n{LINE}\r\n", CONTROL),
        (f"t\n\n{LINE}\x7f\n", DASH),
        ("t\n\n- n AAAAAAA=\n", DASH),
        ("t\n\n— n\n", DASH),
        ("t\n\n— n AAAAAAA= x\n", DASH),
        ("t\n\n—  AAAAAAA=\n", DASH),
        ("t\n\n— a+b AAAAAAA=\n", DASH),
        ("t\n\n— a\u2003b AAAAAAA=\n", DASH),
        (f"t\n\n— {LONGEST}n AAAAAAA=\n", DASH),
        ("t\n\n— n !\n", "not a signed note: a signature is not base64"),
        ("t\n\n— n AAAAAA==\n", SHORT),
        ("t\n\n— n AAAAAAB=\n", SHORT),
        ("t\n\n— n \n", SHORT),
    ],
)
def test_a_note_out_of_form_is_refused_with_its_reason(text: str, reason: str) -> None:
    assert refusal(note.parse, text.encode()) == reason
    assert refusal(note.parse, b"\xff") == "not a signed note: not UTF-8"


def test_a_name_is_printed_and_has_no_space_and_no_plus() -> None:
    assert note.is_name(LONGEST)
    assert note.is_name("ü/1")
    assert not any(note.is_name(name) for name in ("", LONGEST + "n", "a b", "a+b", "a\u00a0b", "a\u200bb", "a\n"))


def test_a_note_says_who_did_not_sign_it() -> None:
    signed = note.sign("t\n", "name", KEY)
    assert refusal(note.check, signed, "o" * 100, PUBLIC) == f"the note is not signed by {'o' * 80}"
    assert note.line_of(signed, "name", PUBLIC) == signed.lines[0]
    assert note.line_of(signed, "other", PUBLIC) is None
    assert note.line_of(signed, "name", bytes(32)) is None
    short = Note(text="t\n", lines=(SignatureLine(name="name", key_id=signed.lines[0].key_id, signature=b"s"),))
    assert refusal(note.check, short, "name", PUBLIC) == "the signature of a note does not verify"


def test_a_cosignature_is_the_time_in_eight_bytes_and_a_signature() -> None:
    """https://c2sp.org/tlog-cosignature: what is signed, and the key id, which has a kind of its own."""
    signed = note.sign("t\n", "log", KEY)
    line = note.cosign(signed, "w", WITNESS, 258)
    public_key = bytes(WITNESS.verify_key)
    assert line.key_id == hashlib.sha256(b"w\n\x04" + public_key).digest()[:4]
    assert signed.lines[0].key_id == hashlib.sha256(b"log\n\x01" + PUBLIC).digest()[:4]
    assert (line.signature[:8], len(line.signature)) == (bytes([0, 0, 0, 0, 0, 0, 1, 2]), 72)
    WITNESS.verify_key.verify(b"cosignature/v1\ntime 258\nt\n", line.signature[8:])
    assert note.cosigned_at(signed.with_line(line), "w", public_key) == 258
    for length in (71, 73):
        other = SignatureLine(name="w", key_id=line.key_id, signature=(line.signature + b"s")[:length])
        told = refusal(note.cosigned_at, signed.with_line(other), "w", public_key)
        assert told == "a cosignature has the wrong length"
    assert note.cosigned_at(signed.with_line(line), "v", public_key) is None
