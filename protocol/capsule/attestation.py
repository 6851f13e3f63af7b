"""The attestation of a scan: a node signs what it found in the state of a login when it sealed it."""

from __future__ import annotations

import hashlib
from typing import Annotated, Final

import msgspec

from protocol import ids, limits
from protocol.capsule.policy import Time
from protocol.errors import MeshError
from protocol.kinds import Plain
from protocol.wire import cbor, envelope, formats
from protocol.wire.line import LINE_PATTERN

KIND_ATTESTATION: Final = "cookie-attestation"
_HANDLE_DOMAIN: Final = b"trailmesh-cookie-handle-v1\x00"


class _Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Attested(_Record, frozen=True, kw_only=True):
    """The number of findings of one kind at a host."""

    kind: Annotated[Plain, msgspec.Meta(max_length=64, pattern=LINE_PATTERN)]
    host: Annotated[Plain, msgspec.Meta(max_length=limits.CAPSULE_DOMAIN_CHARS_MAX, pattern=LINE_PATTERN)]
    count: Annotated[int, msgspec.Meta(ge=1, le=2**31)]


class Attestation(_Record, frozen=True, kw_only=True):
    """A scan of one generation of a capsule; kind ``cookie-attestation``, signed by the node that sealed it."""

    handle: Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
    """``handle_of`` the capsule, so that the attestation alone does not reveal its login."""
    generation: Annotated[int, msgspec.Meta(ge=1, le=2**31)]
    node: ids.NodeId
    scanner: Annotated[int, msgspec.Meta(ge=1, le=2**16)]
    at_ms: Time
    found: Annotated[tuple[Attested, ...], msgspec.Meta(max_length=limits.ATTESTATION_FINDINGS_MAX)]


def handle_of(capsule: str) -> bytes:
    """The name of a capsule in attestations."""
    return hashlib.sha256(_HANDLE_DOMAIN + capsule.encode()).digest()


def open_attestation(
    sealed: bytes, capsule: str, generation: int, *, node: str, find_key: envelope.KeyFinder
) -> Attestation:
    """The attestation of ``node`` about a generation of a capsule.

    Checks, in order: signature; form; signed by the node that it names, which is ``node``; about this capsule and generation.
    Errors: ``format.*``; ``capsule.attestation``, whose detail has the code of the check that failed.
    """
    try:
        opened = envelope.verify(
            sealed, kinds=frozenset({KIND_ATTESTATION}), find_key=find_key, bytes_max=limits.ATTESTATION_BYTES_MAX
        )
        said = cbor.decode_as(opened.payload, Attestation)
    except MeshError as error:
        refused = MeshError("capsule.attestation", error.message, capsule=capsule, because=error.code)
        raise formats.unless_version(error, refused) from error
    if opened.header.issuer != node or said.node != node:
        raise MeshError("capsule.attestation", "it is signed by another node", capsule=capsule, because="issuer")
    if (said.handle, said.generation) != (handle_of(capsule), generation):
        raise MeshError("capsule.attestation", "it is about other state", capsule=capsule, because="handle")
    return said
