"""Writes ``capsule.json``: ``python -m tests.vectors.capsule_vectors`` (``--check`` only compares).

Headers, keys and streams are put together from docs/protocol/capsule.md and RFC 9180, without the code under test.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import sys
from collections.abc import Mapping
from typing import Any

import cbor2
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from nacl.signing import SigningKey

from tests.vectors.approval_vectors import check_digit, owner_id
from tests.vectors.generate import FOLDER, node_id

NAME = "capsule.json"
ALICE, BOB, ANNA = (SigningKey(bytes([number]) * 32) for number in (1, 2, 3))
ALICE_ID, BOB_ID = node_id(bytes(ALICE.verify_key)), node_id(bytes(BOB.verify_key))
SEALING = {ALICE_ID: bytes([11]) * 32, BOB_ID: bytes([12]) * 32}
OTHER = bytes([13]) * 32
NOW_MS = 1_900_000_000_000
SHOP = "https://shop.example"
ID = "cap-AAAAAAAAAAAAAAAAAAAA" + check_digit("A" * 20)
CONTENT_KEY = bytes(range(32))
Fields = dict[str, Any]


# --- RFC 9180 and the stream, by hand -----------------------------------------------------------------------------------


def extract(salt: bytes, secret: bytes) -> bytes:
    """HKDF-Extract with SHA-256."""
    return hmac.digest(salt or bytes(32), secret, "sha256")


def expand(secret: bytes, info: bytes, size: int) -> bytes:
    """HKDF-Expand with SHA-256."""
    made, block, number = b"", b"", 1
    while len(made) < size:
        block = hmac.digest(secret, block + info + bytes([number]), "sha256")
        made, number = made + block, number + 1
    return made[:size]


def wrap(content_key: bytes, public: bytes, info: bytes, ephemeral: bytes) -> bytes:
    """HPKE, base mode, single-shot, of DHKEM(X25519), HKDF-SHA256, ChaCha20-Poly1305. ephemeral: 32 bytes, private."""
    key = X25519PrivateKey.from_private_bytes(ephemeral)
    enc = key.public_key().public_bytes_raw()
    shared = key.exchange(X25519PublicKey.from_public_bytes(public))
    kem = b"KEM" + (0x20).to_bytes(2, "big")
    eae = extract(b"", b"HPKE-v1" + kem + b"eae_prk" + shared)
    secret = expand(eae, (32).to_bytes(2, "big") + b"HPKE-v1" + kem + b"shared_secret" + enc + public, 32)
    suite = b"HPKE" + b"".join(number.to_bytes(2, "big") for number in (0x20, 1, 3))
    label = b"HPKE-v1" + suite
    context = b"\0" + extract(b"", label + b"psk_id_hash") + extract(b"", label + b"info_hash" + info)
    base = extract(secret, label + b"secret")
    chunk_key = expand(base, (32).to_bytes(2, "big") + label + b"key" + context, 32)
    nonce = expand(base, (12).to_bytes(2, "big") + label + b"base_nonce" + context, 12)
    return enc + ChaCha20Poly1305(chunk_key).encrypt(nonce, content_key, b"")


def bound(header: bytes) -> bytes:
    """What everything sealed is bound to."""
    return hashlib.sha256(b"trailmesh-capsule-v1\0" + header).digest()


def sealed_stream(state: bytes, header: bytes, content_key: bytes = CONTENT_KEY) -> bytes:
    """Commitment and chunks."""
    made = expand(extract(bound(header), content_key), b"trailmesh-capsule-stream-v1", 64)
    size = 65_536
    count = max(1, -(-len(state) // size))
    chunks = [
        ChaCha20Poly1305(made[32:]).encrypt(
            number.to_bytes(11, "big") + bytes([number == count - 1]), state[number * size : (number + 1) * size], b""
        )
        for number in range(count)
    ]
    return made[:32] + b"".join(chunks)


# --- records --------------------------------------------------------------------------------------------------------------


def policy(**changes: Any) -> Fields:
    """A policy, with every field."""
    usual: Fields = {
        "purpose": "to test",
        "origins": [SHOP],
        "tasks": ["live", "replay"],
        "class_max": 2,
        "replays_max": 3,
        "expires_ms": NOW_MS + 86_400_000,
        "fresh_s": 3_600,
        "mfa_s": 600,
        "cross_device": False,
        "cross_installation": False,
        "consent": True,
        "probes": True,
    }
    return usual | changes


def facts(**changes: Any) -> Fields:
    """A use that breaks no rule of it."""
    usual: Fields = {
        "now_ms": NOW_MS,
        "latest_ms": NOW_MS,
        "heard_ms": NOW_MS,
        "origins": [SHOP],
        "task": "replay",
        "level": 2,
        "uses": 2,
        "mfa_ms": NOW_MS,
        "same_device": True,
        "same_installation": True,
        "consent_until_ms": NOW_MS + 1,
    }
    return usual | changes


def header(state: bytes, **changes: Any) -> Fields:
    """A header for Alice and Bob."""
    public = {
        node: X25519PrivateKey.from_private_bytes(key).public_key().public_bytes_raw() for node, key in SEALING.items()
    }
    profile = {
        "width_px": 1280,
        "height_px": 800,
        "locale": "en-GB",
        "timezone": "UTC",
        "reduced_motion": True,
        "color_scheme": "light",
        "mobile": False,
    }
    usual: Fields = {
        "suite": 1,
        "id": ID,
        "generation": 1,
        "tenant": ALICE_ID,
        "owner": owner_id(ANNA),
        "name": "shop",
        "origins": [{"origin": SHOP, "cookies": 1, "local": 0, "session": 0, "databases": 0, "slice": 0, "basic": 0}],
        "browser": {"name": "", "version": "", "user_agent": "", "profile": profile},
        "policy": policy(),
        "recipients": [{"node": node, "key": public[node][:8]} for node in sorted(SEALING)],
        "device": b"",
        "captured_ms": NOW_MS,
        "mfa_ms": 0,
        "sealed_ms": NOW_MS,
        "state_bytes": len(state),
        "head": {"number": 0, "size": 1, "root": bytes(32)},
        "slice_version": "",
    }
    return usual | changes


def encoded(value: Any) -> bytes:
    """Deterministic CBOR."""
    return cbor2.dumps(value, canonical=True)


def sign1(payload: Fields, key: SigningKey, kind: str, issuer: str) -> bytes:
    """An artefact."""
    claims = {1: issuer, 6: NOW_MS // 1000, 7: b"u" * 16}
    head = {1: -8, 3: f"application/vnd.trailmesh.{kind}+cose", 4: bytes(key.verify_key)[:8], 15: claims}
    protected, body = encoded(head), encoded(payload)
    signature = key.sign(cbor2.dumps(["Signature1", protected, b"", body])).signature
    return encoded(cbor2.CBORTag(18, [protected, {}, body, signature]))


def terms(made: Fields) -> bytes:
    """What a person signs."""
    said = {
        "capsule": made["id"],
        "tenant": made["tenant"],
        "origins": [each["origin"] for each in made["origins"]],
        "policy": made["policy"],
        "recipients": [each["node"] for each in made["recipients"]],
        "slice": bool(made["slice_version"]),
    }
    return hashlib.sha256(b"trailmesh-capsule-terms-v2\0" + encoded(said)).digest()


def capsule(made: Fields, state: bytes, *, told: Fields | None = None, **changes: Any) -> tuple[Fields, bytes]:
    """``SealedPayload`` and the stream. told: the header that is shown, if it is another one than the sealed one."""
    raw = encoded(made)
    info = b"trailmesh-capsule-key-v1\0" + bound(raw)
    keys = [
        wrap(
            CONTENT_KEY,
            X25519PrivateKey.from_private_bytes(SEALING[each["node"]]).public_key().public_bytes_raw(),
            info,
            bytes([100 + place]) * 32,
        )
        for place, each in enumerate(made["recipients"])
    ]
    stream = sealed_stream(state, raw)
    consent = {"capsule": made["id"], "terms": terms(made), "expires_ms": NOW_MS + 3_600_000}
    fields: Fields = {
        "header": encoded(told or made),
        "keys": keys,
        "stream": hashlib.sha256(stream).digest(),
        "consent_key": bytes(ANNA.verify_key),
        "consent": sign1(consent, ANNA, "capsule-consent", owner_id(ANNA)),
    }
    return fields | changes, stream


NO_SLICE: Fields = {"version": "", "folders": []}
PLAIN: Fields = {
    "cookies": [
        {
            "name": "sid",
            "value": "secret",
            "domain": "shop.example",
            "path": "/",
            "expires_s": 0,
            "http_only": True,
            "secure": True,
            "same_site": "lax",
            "partition": "",
            "cross_site": False,
        }
    ],
    "storage": [],
    "lost": [],
    "slice": NO_SLICE,
    "basic": [],
}
STATE = encoded(PLAIN)
FILES = {
    "blob/1/00/2": b"a file",
    "leveldb/000003.log": b"a key",
    "leveldb/CURRENT": b"MANIFEST-000001\n",
    "leveldb/MANIFEST-000001": b"a manifest",
}


def sliced(version: str = "156.0.8078.108", origin: str = SHOP, *, files: Mapping[str, bytes] | None = None) -> bytes:
    """A state with files of a profile. files: other ones, by name."""
    listed = [{"name": name, "data": data} for name, data in sorted({**FILES, **(files or {})}.items())]
    return encoded(PLAIN | {"slice": {"version": version, "folders": [{"origin": origin, "files": listed}]}})


def sliced_header(
    state: bytes, *, size: int = sum(map(len, FILES.values())), version: str = "156.0.8078.108"
) -> Fields:
    """A header that tells of them. size: of all files."""
    origin = {"origin": SHOP, "cookies": 1, "local": 0, "session": 0, "databases": 0, "slice": size, "basic": 0}
    return header(state, origins=[origin], slice_version=version)


def sealed_cases() -> list[Fields]:
    """Capsules with a reader: the state it opens, or the code."""
    made = header(STATE)
    good, stream = capsule(made, STATE)
    changed = header(STATE, policy=policy(replays_max=4))
    cut = stream[:-1]
    swapped = stream[:-20] + bytes([stream[-20] ^ 1]) + stream[-19:]

    def case(name: str, fields: Fields, data: bytes, code: str = "", state: bytes = STATE, **more: Any) -> Fields:
        signer, issuer = more.pop("signer", ALICE), more.pop("issuer", ALICE_ID)
        reader = {"node": BOB_ID, "key": SEALING[BOB_ID].hex()} | more
        told = {"code": code} if code else {"state": state.hex(), "consent_until_ms": NOW_MS + 3_600_000}
        made = sign1(fields, signer, "capsule.2", issuer)
        return {"name": name, "hex": made.hex(), "stream": data.hex()} | reader | told

    def signed(data: bytes) -> Fields:
        return good | {"stream": hashlib.sha256(data).digest()}

    def with_files(name: str, state: bytes, code: str = "", **told: Any) -> Fields:
        return case(name, *capsule(sliced_header(state, **told), state), code, state)

    files = sliced()
    size = sum(map(len, FILES.values()))
    return [
        with_files("files of a profile", files),
        with_files("files of more bytes than the header tells", files, "capsule.invalid", size=size - 1),
        with_files("files of another version than the header tells", files, "capsule.invalid", version="1.2.3.4"),
        with_files("a version without files", STATE, "capsule.invalid", size=0),
        with_files("files without a version", files, "capsule.invalid", version=""),
        with_files("files that the header tells and the state lacks", STATE, "capsule.invalid"),
        with_files(
            "a file that is to be written elsewhere",
            sliced(files={"leveldb/../../../Preferences": b""}),
            "capsule.invalid",
        ),
        with_files("a file that is no database's", sliced(files={"leveldb/LOCK": b""}), "capsule.invalid"),
        with_files(
            "a database that is to be opened with a file elsewhere",
            sliced(files={"leveldb/CURRENT": b"../../../../x\n"}),
            "capsule.invalid",
            size=size - 3,
        ),
        with_files("files of an origin in another form", sliced(origin=SHOP + "/"), "capsule.invalid"),
        case("opened by its importer", good, stream),
        case("opened by its tenant", good, stream, node=ALICE_ID, key=SEALING[ALICE_ID].hex()),
        case("opened by a node that is no recipient", good, stream, "capsule.recipient", key=OTHER.hex()),
        case("signed by its importer", good, stream, "capsule.issuer", signer=BOB, issuer=BOB_ID),
        case("a policy that was changed", good | {"header": encoded(changed)}, stream, "capsule.altered"),
        case("a recipient that was taken out", good | {"keys": good["keys"][:1]}, stream, "capsule.stripped"),
        case("wrapped keys in another order", good | {"keys": good["keys"][::-1]}, stream, "capsule.altered"),
        case("a stream without its end", good, cut, "capsule.truncated"),
        case("another stream than the signed one", good, swapped, "capsule.stream"),
        case("a chunk that was changed before it was signed", signed(swapped), swapped, "capsule.chunks"),
        case(
            "a commitment to another key",
            signed(other := sealed_stream(STATE, encoded(made), bytes(32))),
            other,
            "capsule.altered",
        ),
        case("another suite", good | {"header": encoded(header(STATE, suite=2))}, stream, "capsule.suite"),
        case(
            "a policy for every origin",
            good | {"header": encoded(header(STATE, policy=policy(origins=["*"])))},
            stream,
            "capsule.invalid",
        ),
        case("a consent to other terms", *capsule(header(STATE, name="x"), STATE, **_foreign()), "capsule.consent"),
    ]


def _foreign() -> Fields:
    other = header(STATE, policy=policy(replays_max=4))
    said = {"capsule": ID, "terms": terms(other), "expires_ms": NOW_MS + 3_600_000}
    return {"consent": sign1(said, ANNA, "capsule-consent", owner_id(ANNA))}


def policy_cases() -> list[Fields]:
    """Policies and uses: the code of the first rule that is broken, or none."""
    evil = "https://evil.example"

    def case(name: str, code: str = "", rules: Fields | None = None, **found: Any) -> Fields:
        return {"name": name, "policy": policy(**rules or {}), "facts": facts(**found), "code": code}

    return [
        case("every rule kept, to its limit"),
        case("a clock that was set back", "capsule.clock", latest_ms=NOW_MS + 60_001),
        case("a clock within the skew", latest_ms=NOW_MS + 60_000),
        case("expired", "capsule.expired", {"expires_ms": NOW_MS}),
        case("not heard of for too long", "capsule.stale", heard_ms=NOW_MS - 3_600_001),
        case("heard of just in time", heard_ms=NOW_MS - 3_600_000),
        case("another origin", "capsule.origin", origins=[SHOP, evil]),
        case("no origin", "capsule.origin", origins=[]),
        case("every origin", "capsule.origin", origins=["*"]),
        case(
            "a subdomain of a pattern", "", {"origins": ["https://*.shop.example"]}, origins=["https://a.shop.example"]
        ),
        case("the domain of a pattern", "capsule.origin", {"origins": ["https://*.shop.example"]}),
        case("another task", "capsule.task", task="explore"),
        case("a higher class", "capsule.class", level=3),
        case("used up", "capsule.replays", uses=3),
        case("an old second factor", "capsule.mfa", mfa_ms=NOW_MS - 600_001),
        case("no second factor", "capsule.mfa", mfa_ms=0),
        case("no second factor is needed", "", {"mfa_s": 0}, mfa_ms=0),
        case("another node", "capsule.installation", same_installation=False),
        case("another node, allowed", "", {"cross_installation": True}, same_installation=False),
        case("another machine", "capsule.device", same_device=False),
        case("another machine, allowed", "", {"cross_device": True}, same_device=False),
        case("no consent", "capsule.consent", consent_until_ms=0),
        case("a consent that ends now", "capsule.consent", consent_until_ms=NOW_MS),
        case("no consent is needed", "", {"consent": False}, consent_until_ms=0),
        case("two rules: the first counts", "capsule.expired", {"expires_ms": NOW_MS}, uses=3),
    ]


def render() -> str:
    """The file."""
    made = {
        "nodes": [{"id": node_id(bytes(key.verify_key)), "key": bytes(key.verify_key).hex()} for key in (ALICE, BOB)],
        "header": encoded(header(STATE)).hex(),
        "bound": bound(encoded(header(STATE))).hex(),
        "terms": terms(header(STATE)).hex(),
        "policies": policy_cases(),
        "cases": sealed_cases(),
    }
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> int:
    """Write the file, or compare it."""
    path = FOLDER / NAME
    if "--check" in arguments:
        fresh = path.read_text(encoding="utf-8") == render()
        print(f"{path.name} is {'fresh' if fresh else 'stale'}")
        return 0 if fresh else 1
    path.write_text(render(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
