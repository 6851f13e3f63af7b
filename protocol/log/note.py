"""Signed notes: the text format of https://c2sp.org/signed-note, Ed25519, and the cosignatures of
https://c2sp.org/tlog-cosignature.

    <text, some lines>
    (an empty line)
    — <key name> <base64 of key id (4 bytes) and signature>

A key id is the start of SHA-256 over key name, line feed, one byte for the kind of key, and the public key. It only selects a
candidate key; the signature decides. Lines of unknown keys are skipped, as the format demands.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Final

import msgspec
from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

from protocol import limits
from protocol.errors import MeshError

_DASH: Final = "— "
_ED25519, _COSIGNATURE = 1, 4
_KEY_ID_BYTES: Final = 4
_SIGNATURE_BYTES: Final = 64
_TIME_BYTES: Final = 8


class SignatureLine(msgspec.Struct, frozen=True, kw_only=True):
    """One signature line."""

    name: str
    key_id: bytes
    signature: bytes
    """The bytes after the key id. Their form depends on the kind of key."""

    def __str__(self) -> str:
        return f"{_DASH}{self.name} {base64.b64encode(self.key_id + self.signature).decode()}\n"


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A well-formed note, whose signatures are not checked yet."""

    text: str
    """Ends with a line feed."""
    lines: tuple[SignatureLine, ...]

    def encode(self) -> bytes:
        """The bytes that ``parse`` reads as this note."""
        return (self.text + "\n" + "".join(map(str, self.lines))).encode()

    def with_line(self, line: SignatureLine) -> Note:
        """This note with one more signature."""
        return Note(text=self.text, lines=(*self.lines, line))


def _bad(reason: str) -> MeshError:
    return MeshError("log.invalid", f"not a signed note: {reason}")


def parse(data: bytes) -> Note:
    """The note in ``data``.

    Checks, in order: size; UTF-8; no control characters but line feeds; text, an empty line and signatures, each ended by a line
    feed; not too many signatures; each in its one form. A note that passes encodes to the same bytes. Errors: ``log.invalid``.
    """
    if len(data) > limits.NOTE_BYTES_MAX:
        raise _bad(f"{len(data)} bytes where {limits.NOTE_BYTES_MAX} are allowed")
    try:
        whole = data.decode()
    except UnicodeDecodeError as error:
        raise _bad("not UTF-8") from error
    if any(char < " " and char != "\n" for char in whole):
        raise _bad("control characters")
    text, _, signed = whole.rpartition("\n\n")  # without an empty line there is no text
    if not text or not signed.endswith("\n"):
        raise _bad("text, an empty line and signature lines are expected")
    lines = signed[:-1].split("\n")
    if len(lines) > limits.NOTE_SIGNATURES_MAX:
        raise _bad(f"more than {limits.NOTE_SIGNATURES_MAX} signatures")
    return Note(text=text + "\n", lines=tuple(parse_line(line) for line in lines))


def parse_line(text: str) -> SignatureLine:
    """The signature in one line, without its line feed. Errors: ``log.invalid``."""
    parts = text.removeprefix(_DASH).split(" ")
    if not text.startswith(_DASH) or len(parts) != 2 or not is_name(parts[0]):
        raise _bad("a signature line must be a dash, a key name and base64")
    try:
        raw = base64.b64decode(parts[1], validate=True)
    except (binascii.Error, ValueError) as error:
        raise _bad("a signature is not base64") from error
    # Re-encoded and compared: base64 has unused bits, so one signature could have several texts.
    if len(raw) <= _KEY_ID_BYTES or base64.b64encode(raw).decode() != parts[1]:
        raise _bad("a signature is too short, or its base64 is not canonical")
    return SignatureLine(name=parts[0], key_id=raw[:_KEY_ID_BYTES], signature=raw[_KEY_ID_BYTES:])


def is_name(name: str) -> bool:
    """True if ``name`` can be a key name: not empty, printable, without spaces and plus signs."""
    return bool(name) and len(name) <= limits.NOTE_NAME_CHARS_MAX and name.isprintable() and not set(name) & {" ", "+"}


def _key_id(name: str, kind: int, public_key: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + bytes([kind]) + public_key).digest()[:_KEY_ID_BYTES]


def sign(text: str, name: str, key: SigningKey) -> Note:
    """``text`` (ends with a line feed) signed by ``key`` under ``name``."""
    assert text.endswith("\n") and is_name(name)
    key_id = _key_id(name, _ED25519, bytes(key.verify_key))
    return Note(
        text=text, lines=(SignatureLine(name=name, key_id=key_id, signature=key.sign(text.encode()).signature),)
    )


def check(note: Note, name: str, public_key: bytes) -> None:
    """Check that a line of ``note`` is a valid signature of ``public_key`` (32 bytes) under ``name``.

    A line that names this key and does not verify makes the note invalid, even if other lines verify. Errors: ``log.invalid``.
    """
    key_id = _key_id(name, _ED25519, public_key)
    claimed = [line for line in note.lines if (line.name, line.key_id) == (name, key_id)]
    if not claimed:
        raise MeshError("log.invalid", f"the note is not signed by {name[:80]}")
    # Every claimed line is verified, so that a valid signature cannot cover up a forged one.
    for line in claimed:
        _verify(note.text.encode(), line.signature, public_key)


def line_of(note: Note, name: str, public_key: bytes) -> SignatureLine | None:
    """The line that claims to be signed by ``public_key`` under ``name``. ``check`` verifies the claim."""
    key_id = _key_id(name, _ED25519, public_key)
    return next((line for line in note.lines if (line.name, line.key_id) == (name, key_id)), None)


def _verify(message: bytes, signature: bytes, public_key: bytes) -> None:
    try:
        VerifyKey(public_key).verify(message, signature)
    except (BadSignatureError, ValueError, TypeError) as error:  # PyNaCl raises them for a wrong length
        raise MeshError("log.invalid", "the signature of a note does not verify") from error


def cosign(note: Note, name: str, key: SigningKey, time_s: int) -> SignatureLine:
    """The cosignature of ``key`` under ``name``: it states that ``key`` had verified the checkpoint ``note`` against all it had
    seen at ``time_s``.
    """
    key_id = _key_id(name, _COSIGNATURE, bytes(key.verify_key))
    signature = key.sign(_cosigned(note, time_s)).signature
    return SignatureLine(name=name, key_id=key_id, signature=time_s.to_bytes(_TIME_BYTES, "big") + signature)


def _cosigned(note: Note, time_s: int) -> bytes:
    return f"cosignature/v1\ntime {time_s}\n{note.text}".encode()


def cosigned_at(note: Note, name: str, public_key: bytes) -> int | None:
    """When ``public_key`` cosigned ``note`` under ``name``, in seconds since 1970; None if it did not. Errors: ``log.invalid``."""
    key_id = _key_id(name, _COSIGNATURE, public_key)
    for line in note.lines:
        if (line.name, line.key_id) == (name, key_id):
            if len(line.signature) != _TIME_BYTES + _SIGNATURE_BYTES:
                raise MeshError("log.invalid", "a cosignature has the wrong length")
            time_s = int.from_bytes(line.signature[:_TIME_BYTES], "big")
            _verify(_cosigned(note, time_s), line.signature[_TIME_BYTES:], public_key)
            return time_s
    return None
