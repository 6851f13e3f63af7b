"""A capsule: the header in clear, the sealed stream, and the signed record that holds them together.

A reader checks, in this order: the signature of the tenant around ``SealedPayload``; the header (``read_header``); the stream
(``check_stream``); that it is a recipient (``open_state``).
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Final

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from protocol import ids, limits
from protocol.capsule import stream as streams
from protocol.capsule.policy import Policy, Time, check_policy
from protocol.capsule.state import CapsuleState
from protocol.errors import MeshError
from protocol.kinds import Plain
from protocol.recording.records.session import Profile
from protocol.trust.origin import fits, origin_of
from protocol.wire import cbor, envelope
from protocol.wire.line import LINE_PATTERN

KIND_CAPSULE: Final = "capsule"
SUITE: Final = 1
"""HPKE with X25519, HKDF-SHA256, ChaCha20-Poly1305; the stream of ``protocol.capsule.stream``. Any other suite gets another number.
"""
WRAPPED_BYTES: Final = 80
"""A content key for one recipient: an ephemeral public key, the key, a tag."""
_KEY_DOMAIN: Final = b"trailmesh-capsule-key-v1\x00"

Count = Annotated[int, msgspec.Meta(ge=0, le=2**31)]
Digest = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
KeyId = Annotated[bytes, msgspec.Meta(min_length=8, max_length=8)]


class _Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class OriginState(_Record, frozen=True, kw_only=True):
    """Counts of the state of one origin. Names are sealed as values are, because names can identify a person too."""

    origin: Annotated[Plain, msgspec.Meta(max_length=limits.ORIGIN_CHARS_MAX)]
    cookies: Count
    """Cookies that the browser sends to this origin."""
    local: Count
    session: Count
    databases: Count
    slice: Annotated[int, msgspec.Meta(ge=0, le=limits.CAPSULE_SLICE_BYTES_MAX)] = 0
    """Bytes of the files of a browser's profile for this origin; 0 for none."""
    basic: Annotated[int, msgspec.Meta(ge=0, le=1)] = 0
    """1 if it holds a user name and a password for HTTP basic authentication of this origin."""


class BrowserProfile(_Record, frozen=True, kw_only=True):
    """The browser that the state was captured from. Sites end sessions whose browser changes."""

    name: Annotated[Plain, msgspec.Meta(max_length=64, pattern=LINE_PATTERN)] = ""
    version: Annotated[Plain, msgspec.Meta(max_length=64, pattern=LINE_PATTERN)] = ""
    user_agent: Annotated[Plain, msgspec.Meta(max_length=512, pattern=LINE_PATTERN)] = ""
    """Empty if unknown, for example for an imported file."""
    profile: Profile = Profile()


class Recipient(_Record, frozen=True, kw_only=True):
    """A node that can open the state."""

    node: ids.NodeId
    key: KeyId
    """The first bytes of its sealing key."""


class LogHead(_Record, frozen=True, kw_only=True):
    """The end of the tenant's witness log when the capsule was sealed."""

    number: Count
    size: Annotated[int, msgspec.Meta(ge=0, le=limits.LOG_SIZE_MAX)]
    root: Digest


class CapsuleHeader(_Record, frozen=True, kw_only=True):
    """The part of a capsule that everybody may read. The sealed state is bound to its bytes."""

    suite: Annotated[int, msgspec.Meta(ge=1, le=2**16)]
    id: ids.CapsuleId
    generation: Annotated[int, msgspec.Meta(ge=1, le=2**31)]
    tenant: ids.NodeId
    """The node that captured it. Nobody else can sign a capsule with this header."""
    owner: Annotated[Plain, msgspec.Meta(max_length=32)]
    """Id of the owner's key that consented; empty for nobody."""
    name: Annotated[Plain, msgspec.Meta(max_length=limits.CAPSULE_LABEL_CHARS_MAX, pattern=LINE_PATTERN)]
    origins: Annotated[tuple[OriginState, ...], msgspec.Meta(min_length=1, max_length=limits.CAPSULE_ORIGINS_MAX)]
    """Sorted by origin, each once and within the origins of the policy."""
    browser: BrowserProfile
    policy: Policy
    recipients: Annotated[tuple[Recipient, ...], msgspec.Meta(min_length=1, max_length=limits.CAPSULE_RECIPIENTS_MAX)]
    """Sorted by node, each once."""
    device: Annotated[bytes, msgspec.Meta(max_length=32)]
    """Mark of the machine it was captured on, made for this capsule alone; empty if unknown."""
    captured_ms: Time
    mfa_ms: Time
    """When a second factor was last given; 0 if unknown."""
    sealed_ms: Time
    state_bytes: Annotated[int, msgspec.Meta(ge=0, le=limits.CAPSULE_STATE_BYTES_MAX)]
    head: LogHead
    slice_version: Annotated[Plain, msgspec.Meta(max_length=64, pattern=LINE_PATTERN)] = ""
    """The only browser version that can mount its files of a profile; empty without such files."""


class SealedPayload(_Record, frozen=True, kw_only=True):
    """The payload of the artefact, which the tenant signs."""

    header: Annotated[bytes, msgspec.Meta(max_length=limits.CAPSULE_HEADER_BYTES_MAX)]
    """``CapsuleHeader``, encoded."""
    keys: Annotated[
        tuple[Annotated[bytes, msgspec.Meta(min_length=WRAPPED_BYTES, max_length=WRAPPED_BYTES)], ...],
        msgspec.Meta(max_length=limits.CAPSULE_RECIPIENTS_MAX),
    ]
    """The content key, wrapped for each recipient, in the order of the header."""
    stream: Digest
    """SHA-256 of the stream."""
    consent_key: Annotated[bytes, msgspec.Meta(max_length=32)] = b""
    """Public key of the person who consented. The tenant vouches that it is an owner's."""
    consent: Annotated[bytes, msgspec.Meta(max_length=limits.APPROVAL_BYTES_MAX)] = b""
    """An envelope of that person (``protocol.capsule.consent``)."""


class Capsule(msgspec.Struct, frozen=True, kw_only=True):
    """A capsule whose signature and header were checked. Its state is still sealed."""

    header: CapsuleHeader
    sealed: SealedPayload
    envelope: bytes

    @property
    def digest(self) -> bytes:
        """The digest by which the witness log names the capsule."""
        return hashlib.sha256(self.envelope).digest()


def suite() -> Suite:
    """HPKE of ``SUITE``."""
    return Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)


def key_info(header: bytes) -> bytes:
    """The HPKE info that binds a wrapped content key to its header."""
    return _KEY_DOMAIN + streams.header_digest(header)


def read_header(data: bytes) -> CapsuleHeader:
    """The header in ``data``.

    Checks, in order: form and bounds; the suite is known; policy (``check_policy``); origins and recipients sorted, each once,
    origins within the policy; the tenant is a recipient; the version of a slice if there
    is one; times in order, expiry within ``CAPSULE_DAYS_MAX``.
    Errors: ``cbor.*``, ``message.invalid``, ``capsule.suite``, ``capsule.invalid``.
    """
    header = cbor.decode_as(data, CapsuleHeader, bytes_max=limits.CAPSULE_HEADER_BYTES_MAX)
    if header.suite != SUITE:
        raise MeshError("capsule.suite", f"suite {header.suite}", suite=header.suite)
    policy = check_policy(header.policy)
    named = [each.origin for each in header.origins]
    if any(origin_of(origin) != origin for origin in named) or named != sorted(set(named)):
        raise MeshError("capsule.invalid", "the origins of a header are canonical, sorted, each once")
    if not all(fits(policy.origins, origin) for origin in named):
        raise MeshError("capsule.invalid", "there is state of an origin that the policy does not name")
    nodes = [each.node for each in header.recipients]
    if nodes != sorted(set(nodes)) or header.tenant not in nodes:
        raise MeshError("capsule.invalid", "the recipients of a header are sorted, each once, the tenant among them")
    if bool(header.slice_version) != any(each.slice for each in header.origins):
        raise MeshError("capsule.invalid", "the version of a browser stands there if, and only if, there is a slice")
    if header.owner and not ids.is_id("own", header.owner):
        raise MeshError("capsule.invalid", "the owner is no id of an owner's key")
    if not header.captured_ms <= header.sealed_ms < policy.expires_ms <= header.captured_ms + _LIFE_MS:
        raise MeshError(
            "capsule.invalid", f"it is sealed after its capture and ends within {limits.CAPSULE_DAYS_MAX} days"
        )
    return header


_LIFE_MS: Final = limits.CAPSULE_DAYS_MAX * 86_400_000


def open_capsule(data: bytes, find_key: envelope.KeyFinder) -> Capsule:
    """The capsule in an envelope, once it is found to be signed by its tenant.

    Checks, in order: the signature, under a key that ``find_key`` trusts; form; header (``read_header``); signed by the tenant
    that the header names; as many wrapped keys as recipients. Errors: ``envelope.*``, ``cbor.*``, ``message.invalid``,
    ``capsule.*``.
    """
    opened = envelope.verify(
        data, kinds=frozenset({KIND_CAPSULE}), find_key=find_key, bytes_max=limits.CAPSULE_ENVELOPE_BYTES_MAX
    )
    sealed = cbor.decode_as(opened.payload, SealedPayload)
    header = read_header(sealed.header)
    if opened.header.issuer != header.tenant:
        raise MeshError("capsule.issuer", f"signed by {ids.short(opened.header.issuer)}", tenant=header.tenant)
    if len(sealed.keys) != len(header.recipients):
        raise MeshError("capsule.stripped", f"{len(sealed.keys)} keys for {len(header.recipients)} recipients")
    return Capsule(header=header, sealed=sealed, envelope=data)


def check_stream(sealed: SealedPayload, header: CapsuleHeader, stream: bytes) -> None:
    """Check that ``stream`` is the one that was signed. Errors: ``capsule.truncated``, ``capsule.stream``."""
    wanted = streams.stream_bytes(header.state_bytes)
    if len(stream) < wanted:
        raise MeshError("capsule.truncated", f"{len(stream)} bytes of {wanted}")
    if hashlib.sha256(stream).digest() != sealed.stream:
        raise MeshError("capsule.stream", "the sealed state is not the one that was signed")


def open_state(sealed: SealedPayload, stream: bytes, *, node: str, key: X25519PrivateKey) -> bytes:
    """The bytes of the state, opened by ``node`` with one of its sealing keys. The signature is not checked here.

    Checks, in order: as many keys as recipients; the node with this key is a recipient; its wrapped key opens under this
    header; the stream (``open_stream``). Errors: those of ``read_header``, ``capsule.stripped``, ``capsule.recipient``,
    ``capsule.altered``, ``capsule.truncated``, ``capsule.chunks``.
    """
    header = read_header(sealed.header)
    if len(sealed.keys) != len(header.recipients):
        raise MeshError("capsule.stripped", f"{len(sealed.keys)} keys for {len(header.recipients)} recipients")
    own = Recipient(node=node, key=sealing_key_id(key.public_key().public_bytes_raw()))
    if own not in header.recipients:
        raise MeshError("capsule.recipient")
    wrapped = sealed.keys[header.recipients.index(own)]
    try:
        content_key = suite().decrypt(wrapped, key, key_info(sealed.header))
    except (InvalidTag, ValueError):
        raise MeshError("capsule.altered") from None
    if len(content_key) != streams.CONTENT_KEY_BYTES:
        raise MeshError("capsule.altered")
    return streams.open_stream(stream, sealed.header, content_key, state_bytes=header.state_bytes)


def check_sliced(header: CapsuleHeader, state: CapsuleState) -> None:
    """Check that the header describes the slice of the state: uses are judged by the header. Errors: ``capsule.invalid``."""
    told = {each.origin: each.slice for each in header.origins if each.slice}
    found = {each.origin: each.size_bytes for each in state.slice.folders}
    if header.slice_version != state.slice.version or told != found:
        raise MeshError("capsule.invalid", "the slice is not the one that the header tells of", capsule=header.id)


def sealing_key_id(public_key: bytes) -> bytes:
    """The id of a sealing key. It only selects a candidate."""
    return public_key[:8]
