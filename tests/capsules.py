"""Capsules for tests: a policy, a header, a state, and everything sealed by hand."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from nacl.signing import SigningKey

from protocol import ids
from protocol.capsule import stream as streams
from protocol.capsule.artefacts import Consent, seal_consent, terms_digest, terms_of
from protocol.capsule.capsule import (
    KIND_CAPSULE,
    BrowserProfile,
    CapsuleHeader,
    LogHead,
    OriginState,
    Recipient,
    SealedPayload,
    key_info,
    sealing_key_id,
)
from protocol.capsule.policy import Policy, UseFacts
from protocol.capsule.state import (
    CapsuleState,
    Cookie,
    IndexedDatabase,
    ObjectStore,
    ObjectStoreRecord,
    OriginStorage,
    StorageItem,
    encode_state,
)
from protocol.wire import cbor, envelope
from tests.vectors.capsule_vectors import wrap

NOW_MS = 1_900_000_000_000
DAY_MS = 86_400_000
SHOP = "https://shop.example"
ALICE, BOB, CAROL = (SigningKey(bytes([number]) * 32) for number in (1, 2, 3))
ALICE_ID, BOB_ID, CAROL_ID = (ids.node_id(bytes(key.verify_key)) for key in (ALICE, BOB, CAROL))
ALICE_SEALING, BOB_SEALING, CAROL_SEALING = (
    X25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in (11, 12, 13)
)
CANARY = "s3cr3t-c00kie-7Qq2"
STATE = CapsuleState(
    cookies=(Cookie(name="sid", value=CANARY, domain="shop.example", http_only=True, secure=True, same_site="lax"),),
    storage=(
        OriginStorage(
            origin=SHOP,
            local=(StorageItem(name="token", value=CANARY + "-local"),),
            session=(StorageItem(name="tab", value=CANARY + "-tab"),),
            databases=(
                IndexedDatabase(
                    name="auth",
                    version=2,
                    stores=(ObjectStore(name="keys", entries=(ObjectStoreRecord(key='"k"', value=f'"{CANARY}-db"'),)),),
                ),
            ),
        ),
    ),
)


def policy(**changes: Any) -> Policy:
    """A policy that allows everything for thirty days."""
    usual: dict[str, Any] = {
        "purpose": "to test",
        "origins": (SHOP,),
        "tasks": ("explore", "live", "record", "replay", "schedule"),
        "class_max": 7,
        "replays_max": 100,
        "expires_ms": NOW_MS + 30 * DAY_MS,
        "fresh_s": 86_400,
        "mfa_s": 0,
        "cross_device": True,
        "cross_installation": True,
        "consent": False,
        "probes": True,
    }
    return Policy(**usual | changes)


def facts(**changes: Any) -> UseFacts:
    """A use that breaks no rule of ``policy()``."""
    usual: dict[str, Any] = {
        "now_ms": NOW_MS,
        "latest_ms": NOW_MS,
        "heard_ms": NOW_MS,
        "origins": (SHOP,),
        "task": "replay",
        "level": 2,
        "uses": 0,
        "mfa_ms": NOW_MS,
        "same_device": True,
        "same_installation": True,
        "consent_until_ms": NOW_MS + 1,
    }
    return UseFacts(**usual | changes)


def recipient(node: str, key: X25519PrivateKey) -> Recipient:
    """A node with its sealing key."""
    return Recipient(node=node, key=sealing_key_id(key.public_key().public_bytes_raw()))


def header(**changes: Any) -> CapsuleHeader:
    """The header of a capsule of Alice, sealed to her and to Bob."""
    nodes = sorted([recipient(ALICE_ID, ALICE_SEALING), recipient(BOB_ID, BOB_SEALING)], key=lambda each: each.node)
    usual: dict[str, Any] = {
        "suite": 1,
        "id": ids.make_id("cap", bytes(13)),
        "generation": 1,
        "tenant": ALICE_ID,
        "owner": "",
        "name": "shop",
        "origins": (OriginState(origin=SHOP, cookies=1, local=1, session=1, databases=1),),
        "browser": BrowserProfile(),
        "policy": policy(),
        "recipients": tuple(nodes),
        "device": b"",
        "captured_ms": NOW_MS,
        "mfa_ms": 0,
        "sealed_ms": NOW_MS,
        "state_bytes": len(encode_state(STATE)),
        "head": LogHead(number=0, size=1, root=bytes(32)),
    }
    return CapsuleHeader(**usual | changes)


def sealed(
    made: CapsuleHeader | None = None, state: bytes | None = None, **changes: Any
) -> tuple[SealedPayload, bytes]:
    """The signed record of a capsule, not signed yet, and its stream."""
    data = encode_state(STATE) if state is None else state
    encoded = cbor.encode(made or header())
    content_key = hashlib.sha256(encoded).digest()
    publics = {recipient(node, key): key.public_key().public_bytes_raw() for node, key in _KEYS.items()}
    # Not by the library, which draws a random key: what is made of a capsule in tests must be the same each time.
    keys = tuple(
        wrap(content_key, publics[each], key_info(encoded), hashlib.sha256(encoded + bytes([place])).digest())
        for place, each in enumerate((made or header()).recipients)
    )
    stream = streams.seal_stream(data, encoded, content_key)
    usual: dict[str, Any] = {"header": encoded, "keys": keys, "stream": hashlib.sha256(stream).digest()}
    return SealedPayload(**usual | changes), stream


_KEYS = {ALICE_ID: ALICE_SEALING, BOB_ID: BOB_SEALING, CAROL_ID: CAROL_SEALING}


def artefact(record: msgspec.Struct | bytes, kind: str = KIND_CAPSULE, key: SigningKey = ALICE) -> bytes:
    """``record`` signed by the node of ``key``."""
    said = envelope.EnvelopeHeader(issuer=ids.node_id(bytes(key.verify_key)), issued_s=NOW_MS // 1000, unique=bytes(16))
    payload = record if isinstance(record, bytes) else cbor.encode(record)
    return envelope.seal(payload, kind=kind, key=key, header=said)


def consented(made: CapsuleHeader, key: SigningKey, **changes: Any) -> dict[str, bytes]:
    """The fields of ``SealedPayload`` that hold a person's consent to ``made``."""
    usual: dict[str, Any] = {
        "capsule": made.id,
        "terms": terms_digest(terms_of(made)),
        "expires_ms": NOW_MS + 30 * DAY_MS,
    }
    signed = seal_consent(Consent(**usual | changes), key, now_s=NOW_MS // 1000, unique=bytes(16))
    return {"consent_key": bytes(key.verify_key), "consent": signed}
