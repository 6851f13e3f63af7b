"""Other signed records about capsules: certificates of sealing keys, uses and revocations by nodes, and consents by people."""

from __future__ import annotations

import hashlib
from typing import Annotated, Final, TypeVar

import msgspec
from nacl.signing import SigningKey, VerifyKey

from protocol import ids, limits
from protocol.approval.owners import owner_id
from protocol.capsule.capsule import SUITE, CapsuleHeader, Digest, SealedPayload
from protocol.capsule.policy import Policy, Task, Time
from protocol.errors import MeshError
from protocol.kinds import Plain
from protocol.wire import cbor, envelope, formats

KIND_SEALING_KEY: Final = "sealing-key"
KIND_USE: Final = "capsule-use"
KIND_REVOCATION: Final = "capsule-revocation"
KIND_CONSENT: Final = "capsule-consent"
_TERMS_DOMAIN: Final = b"trailmesh-capsule-terms-v2\x00"
_LIFE_MS: Final = limits.SEALING_KEY_DAYS_MAX * 86_400_000


class _Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class SealingCertificate(_Record, frozen=True, kw_only=True):
    """A sealing key of a node; kind ``sealing-key``."""

    node: ids.NodeId
    suite: Annotated[int, msgspec.Meta(ge=1, le=2**16)] = SUITE
    key: Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
    """X25519, public."""
    begins_ms: Time
    ends_ms: Time
    """When its private half is destroyed. State that is sealed to it cannot be opened after that."""


class Use(_Record, frozen=True, kw_only=True):
    """A capsule is about to be used; kind ``capsule-use``."""

    capsule: ids.CapsuleId
    tenant: ids.NodeId
    node: ids.NodeId
    """The node that uses it."""
    generation: Annotated[int, msgspec.Meta(ge=1, le=2**31)]
    number: Annotated[int, msgspec.Meta(ge=1, le=limits.CAPSULE_USES_MAX)]
    """The number of the use, as this node counts its own."""
    task: Task
    at_ms: Time


class Revocation(_Record, frozen=True, kw_only=True):
    """The tenant ends a capsule, every generation of it; kind ``capsule-revocation``."""

    capsule: ids.CapsuleId
    tenant: ids.NodeId
    revoked_ms: Time


T = TypeVar("T", SealingCertificate, Use, Revocation)


class Terms(_Record, frozen=True, kw_only=True):
    """The terms that a person consents to. They hold no generation: newer state of the same login needs no new consent, any other
    change does.
    """

    capsule: ids.CapsuleId
    tenant: ids.NodeId
    origins: tuple[Plain, ...]
    policy: Policy
    recipients: tuple[ids.NodeId, ...]
    slice: bool
    """True if keys that no script can read travel with it. A consent to a login does not cover them."""


class Consent(_Record, frozen=True, kw_only=True):
    """The consent that a person signs; kind ``capsule-consent``."""

    capsule: ids.CapsuleId
    terms: Digest
    expires_ms: Time


def open_certificate(sealed: bytes, node: str, find_key: envelope.KeyFinder, *, now_ms: int) -> SealingCertificate:
    """The certificate of a sealing key of ``node``, once it is found to be valid now.

    Checks, in order: signature, by the node that it names; suite; a life of at most ``SEALING_KEY_DAYS_MAX``; it has begun, give or
    take ``CLOCK_SKEW_S``, and not ended. Errors: ``envelope.*``, ``message.invalid``, ``capsule.suite``, ``capsule.key_ended``.
    """
    made = _opened(sealed, SealingCertificate, KIND_SEALING_KEY, find_key)
    if made.node != node:
        raise MeshError("capsule.issuer", f"a sealing key of {ids.short(made.node)}, not of {ids.short(node)}")
    if made.suite != SUITE:
        raise MeshError("capsule.suite", f"suite {made.suite}", suite=made.suite)
    if not 0 < made.ends_ms - made.begins_ms <= _LIFE_MS:
        raise MeshError("capsule.invalid", f"a sealing key lives for at most {limits.SEALING_KEY_DAYS_MAX} days")
    if now_ms >= made.ends_ms or now_ms < made.begins_ms - limits.CLOCK_SKEW_S * 1000:
        raise MeshError("capsule.key_ended", f"the sealing key of {ids.short(node)} does not hold now")
    return made


def open_use(sealed: bytes, find_key: envelope.KeyFinder) -> Use:
    """A signed use, by the node that it names. Errors: ``envelope.*``, ``message.invalid``, ``capsule.issuer``."""
    return _opened(sealed, Use, KIND_USE, find_key)


def open_revocation(sealed: bytes, find_key: envelope.KeyFinder) -> Revocation:
    """A signed revocation, by the tenant that it names. Errors: ``envelope.*``, ``message.invalid``, ``capsule.issuer``."""
    return _opened(sealed, Revocation, KIND_REVOCATION, find_key)


def _opened(sealed: bytes, record: type[T], kind: str, find_key: envelope.KeyFinder) -> T:
    opened = envelope.verify(
        sealed, kinds=frozenset({kind}), find_key=find_key, bytes_max=limits.CAPSULE_ARTEFACT_BYTES_MAX
    )
    made = cbor.decode_as(opened.payload, record)
    signer = made.tenant if isinstance(made, Revocation) else made.node
    if opened.header.issuer != signer:
        raise MeshError("capsule.issuer", f"signed by {ids.short(opened.header.issuer)}, not by {ids.short(signer)}")
    return made


# --- consent ---------------------------------------------------------------------------------------------------------


def terms_of(header: CapsuleHeader) -> Terms:
    """The terms of a capsule."""
    return Terms(
        capsule=header.id,
        tenant=header.tenant,
        origins=tuple(each.origin for each in header.origins),
        policy=header.policy,
        recipients=tuple(each.node for each in header.recipients),
        slice=bool(header.slice_version),
    )


def terms_digest(terms: Terms) -> bytes:
    """The digest of the terms, which a consent signs."""
    return hashlib.sha256(_TERMS_DOMAIN + cbor.encode(terms)).digest()


def seal_consent(consent: Consent, key: SigningKey, *, now_s: int, unique: bytes) -> bytes:
    """``consent`` signed by a person's key. unique: 16 random bytes."""
    header = envelope.EnvelopeHeader(issuer=owner_id(bytes(key.verify_key)), issued_s=now_s, unique=unique)
    return envelope.seal(cbor.encode(consent), kind=KIND_CONSENT, key=key, header=header)


def consent_until_ms(header: CapsuleHeader, sealed: SealedPayload) -> int:
    """The end of the consent of a capsule; 0 if there is none.

    Checks, in order: the key is the one that the header names as owner; its signature; this capsule; these terms.
    Errors: ``format.*``; ``capsule.consent`` if there is one and it is not valid.
    """
    if not header.owner and not sealed.consent:
        return 0
    if len(sealed.consent_key) != 32 or owner_id(sealed.consent_key) != header.owner:
        raise MeshError("capsule.consent", "the key of the consent is not that of the owner in the header")

    def find(issuer: str, key_id: bytes, issued_s: int) -> VerifyKey | None:
        fits = issuer == header.owner and key_id == envelope.key_id(sealed.consent_key)
        return VerifyKey(sealed.consent_key) if fits else None

    try:
        opened = envelope.verify(
            sealed.consent, kinds=frozenset({KIND_CONSENT}), find_key=find, bytes_max=limits.APPROVAL_BYTES_MAX
        )
        consent = cbor.decode_as(opened.payload, Consent)
    except MeshError as error:
        refused = MeshError("capsule.consent", f"{error.code}: {error.message}")
        raise formats.unless_version(error, refused) from error
    if consent.capsule != header.id or consent.terms != terms_digest(terms_of(header)):
        raise MeshError("capsule.consent", "it was given for another capsule, or on other terms")
    return consent.expires_ms
