"""The file in which a capsule travels: its envelope, the proof that it is in the tenant's witness log, and the stream."""

from __future__ import annotations

import struct
from typing import Final

import msgspec

from protocol import limits
from protocol.capsule.capsule import Capsule, check_stream, open_capsule
from protocol.errors import MeshError
from protocol.log import log_proof
from protocol.log.log_proof import InclusionProof
from protocol.wire import formats
from protocol.wire.envelope import KeyFinder

MAGIC: Final = b"TMCAPSUL"
FORMAT: Final = formats.version_of("capsule-file")
_HEAD: Final = struct.Struct(">8sIII")


class CapsuleFile(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a file, not checked yet."""

    envelope: bytes
    proof: bytes
    """An ``InclusionProof``, encoded as in a proof file."""
    stream: bytes


def pack(file: CapsuleFile) -> bytes:
    """The bytes of a file."""
    return _HEAD.pack(MAGIC, FORMAT, len(file.envelope), len(file.proof)) + file.envelope + file.proof + file.stream


def unpack(data: bytes) -> CapsuleFile:
    """The parts in ``data``. Errors: ``capsule.invalid``, ``capsule.truncated``, ``format.*``."""
    if len(data) > limits.CAPSULE_FILE_BYTES_MAX:
        raise MeshError("capsule.invalid", f"{len(data)} bytes where {limits.CAPSULE_FILE_BYTES_MAX} are allowed")
    if not data.startswith(MAGIC):
        raise MeshError("capsule.invalid", "this is no capsule")
    if len(data) < _HEAD.size:
        raise MeshError("capsule.truncated", "it ends in its first bytes")
    _, form, envelope_bytes, proof_bytes = _HEAD.unpack_from(data)
    formats.check_version("capsule-file", form)
    proof_at = _HEAD.size + envelope_bytes
    stream_at = proof_at + proof_bytes
    if envelope_bytes > limits.CAPSULE_ENVELOPE_BYTES_MAX or proof_bytes > limits.LOG_PROOF_BYTES_MAX:
        raise MeshError("capsule.invalid", "envelope or proof are larger than allowed")
    if stream_at > len(data):
        raise MeshError("capsule.truncated", "it ends before the sealed state")
    return CapsuleFile(
        envelope=data[_HEAD.size : proof_at], proof=data[proof_at:stream_at], stream=data[stream_at:]
    )  # fmt: skip


def open_file(file: CapsuleFile, find_key: KeyFinder) -> Capsule:
    """The capsule in ``file``.

    Checks, in order: ``open_capsule``; the stream; the proof is of this envelope, in a log of the tenant.
    Errors: those of ``open_capsule``, ``capsule.truncated``, ``capsule.stream``, ``log.invalid``.
    """
    capsule = open_capsule(file.envelope, find_key)
    check_stream(capsule.sealed, capsule.header, file.stream)
    proof = log_proof.decode(file.proof)
    if not isinstance(proof, InclusionProof):
        raise MeshError("log.invalid", "the file holds a proof of something else")
    found = log_proof.check_inclusion(proof)
    if (found.node, found.digest) != (capsule.header.tenant, capsule.digest.hex()):
        raise MeshError("log.invalid", "the proof is of another artefact, or of another node's log")
    return capsule
