"""Writes ``pairing.json`` and ``channel.json``: ``python -m tests.vectors.pairing_vectors`` (``--check`` only compares).

Alice invites, Bob joins. Messages and certificates are put together from docs/protocol/pairing.md and channel.md, without
the code under test.
"""

from __future__ import annotations

import datetime
import hashlib
import hmac
import json
import sys
from typing import Any

import cbor2
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from nacl.signing import SigningKey

from tests.vectors.generate import ALICE, BOB, FOLDER, node_id
from tests.vectors.keylog_vectors import commitment, event, packed, public, recover, revoke, rotate

Case = dict[str, Any]
RECOVERY, LATER, CHANNEL = (SigningKey(bytes([number]) * 32) for number in (9, 5, 7))
TOKEN, NONCE = b"t" * 16, b"n" * 16
EXPIRES_S, NOW_S = 3_000, 2_500
MADE_S, LIFE_S, BACKDATE_S = 1_700_000_000, 7 * 86_400, 4 * 86_400
OFFERED = {"deltas:read": ["https://*.shop.example", "https://shop.example"], "deltas:write": ["*"]}
ALICE_ID, BOB_ID = node_id(public(ALICE)), node_id(public(BOB))


# --- certificates ----------------------------------------------------------------------------------------------------


def certificate(
    *,
    signer: SigningKey = ALICE,
    named: SigningKey = ALICE,
    node: str = ALICE_ID,
    unit: str | None = None,
    flip: bool = False,
) -> bytes:
    """The channel certificate that Alice makes at ``MADE_S``, DER; right in everything that is not asked to be wrong."""
    said = public(named).hex() if unit is None else unit
    names = [x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, said)] if said else []
    issuer = x509.Name([*names, x509.NameAttribute(NameOID.COMMON_NAME, node)])
    usage = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
    purposes = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    authority = Ed25519PublicKey.from_public_bytes(public(named))
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "channel")]))
        .issuer_name(issuer)
        .public_key(Ed25519PublicKey.from_public_bytes(public(CHANNEL)))
        .serial_number(0x4711)
        .not_valid_before(datetime.datetime.fromtimestamp(MADE_S - BACKDATE_S, datetime.UTC))
        .not_valid_after(datetime.datetime.fromtimestamp(MADE_S + LIFE_S, datetime.UTC))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("channel.trailmesh.invalid")]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority), critical=False)
        .sign(Ed25519PrivateKey.from_private_bytes(bytes(signer)), None)
        .public_bytes(serialization.Encoding.DER)
    )
    return made[:-1] + bytes([made[-1] ^ 1]) if flip else made


def channel_cases() -> list[Case]:
    """A leaf certificate, seen at ``now_s``: whose it is, or the code."""
    cases: list[tuple[str, bytes, int, str]] = [
        ("right", certificate(), MADE_S, ""),
        ("four days earlier", certificate(), MADE_S - BACKDATE_S, ""),
        ("the last second", certificate(), MADE_S + LIFE_S - 1, ""),
        ("not valid yet", certificate(), MADE_S - BACKDATE_S - 1, "peer.identity"),
        ("over", certificate(), MADE_S + LIFE_S + 1, "peer.identity"),
        ("signed by another key than it names", certificate(signer=BOB), MADE_S, "peer.identity"),
        ("signature changed", certificate(flip=True), MADE_S, "peer.identity"),
        ("no key in its issuer", certificate(unit=""), MADE_S, "peer.identity"),
        ("a key that is not hexadecimal", certificate(unit="x" * 64), MADE_S, "peer.identity"),
        ("cut", certificate()[:-1], MADE_S, "peer.identity"),
        ("nothing", b"", MADE_S, "peer.identity"),
    ]
    told = {"node": ALICE_ID, "key": public(ALICE).hex()}
    return [
        {"name": name, "leaf": leaf.hex(), "now_s": now_s} | ({"code": code} if code else told)
        for name, leaf, now_s, code in cases
    ]


# --- pairing ---------------------------------------------------------------------------------------------------------

LEAF = certificate()


def cbor(value: Any) -> bytes:
    return cbor2.dumps(value, canonical=True)


def genesis(key: SigningKey) -> bytes:
    said = {"op": "genesis", "key": public(key), "recovery": commitment(RECOVERY)}
    return event(said, key, at_s=1_000, node=node_id(public(key)))


ALICE_LOG, BOB_LOG = packed([genesis(ALICE)]), packed([genesis(BOB)])
BOB_ROTATED = event(rotate(LATER, 1, genesis(BOB)), BOB, LATER, at_s=2_000, node=BOB_ID)
BOB_RIVAL = event(rotate(CHANNEL, 1, genesis(BOB)), BOB, CHANNEL, at_s=2_000, node=BOB_ID)
BOB_ENDED = event(revoke(BOB, 1, genesis(BOB)), BOB, at_s=2_000, node=BOB_ID)
ALICE_RECOVERED = event(recover(LATER, 1, genesis(ALICE)), RECOVERY, LATER, at_s=2_000, node=ALICE_ID)


def said(log: bytes, name: str, nonce: bytes, /, **changed: Any) -> dict[str, Any]:
    """A self-description; a field that is None is left out."""
    addresses = ["https://192.0.2.7:7443"]
    fields = {"log": log, "name": name, "addresses": addresses, "grants": {}, "asks": {}, "nonce": nonce} | changed
    return {field: value for field, value in fields.items() if value is not None}


def signed(
    body: bytes, start: list[Any], key: SigningKey, *, token: bytes = TOKEN, sent: bytes | None = None, **more: Any
) -> bytes:
    """``body`` with its proof and signature. sent: another body than the one that was signed."""
    transcript = cbor([*start, body])
    proof = hmac.digest(token, transcript, "sha256")
    fields = {"body": body if sent is None else sent, "proof": proof, "signature": key.sign(transcript).signature}
    return cbor(fields | more)


def join(
    description: dict[str, Any] | None = None, *, inviter: SigningKey = ALICE, leaf: bytes = LEAF, **more: Any
) -> bytes:
    """Bob's request."""
    body = cbor(description or said(BOB_LOG, "bob", NONCE))
    key = more.pop("key", BOB)
    return signed(body, ["trailmesh-join-v1", public(inviter), hashlib.sha256(leaf).digest()], key, **more)


def answer(description: dict[str, Any] | None = None, *, to: bytes, leaf: bytes = LEAF, **more: Any) -> bytes:
    """Alice's answer to the request ``to``."""
    body = cbor(description or said(ALICE_LOG, "alice", b"", grants=OFFERED))
    key, domain = more.pop("key", ALICE), more.pop("domain", "trailmesh-join-answer-v1")
    start = [domain, hashlib.sha256(to).digest(), hashlib.sha256(leaf).digest()]
    return signed(body, start, key, **more)


def _bob(**changed: Any) -> bytes:
    return join(said(BOB_LOG, "bob", NONCE, **changed))


def request_cases() -> list[Case]:
    """What Alice's open invite says to a request at ``now_s``: whom she pairs with, or the code."""
    rotated = said(packed([genesis(BOB), BOB_ROTATED]), "bob", NONCE)
    frozen = said(packed([genesis(BOB), BOB_ROTATED], 1, (BOB_RIVAL,)), "bob", NONCE)
    ended = said(packed([genesis(BOB), BOB_ENDED]), "bob", NONCE)
    held: list[tuple[str, bytes, SigningKey]] = [
        ("right", join(), BOB),
        ("no address, and defaults left out", _bob(addresses=None, grants=None, asks=None), BOB),
        ("an address for signed HTTP", _bob(addresses=["signed+https://bob.example:443"]), BOB),
        ("after a rotation", join(rotated, key=LATER), LATER),
    ]
    wrong: dict[str, bytes] = {
        "another token": join(token=b"x" * 16),
        "for another inviter": join(inviter=LATER),
        "under another certificate": join(leaf=certificate(node=BOB_ID)),
        "another body than was signed": join(sent=cbor(said(BOB_LOG, "eve", NONCE))),
        "signed by another key": join(key=LATER),
        "signed by an earlier key": join(rotated, key=BOB),
        "a frozen key log": join(frozen, key=LATER),
        "a revoked node": join(ended),
        "the inviter's own node": join(said(ALICE_LOG, "bob", NONCE), key=ALICE),
        "no nonce": _bob(nonce=None),
        "a short nonce": _bob(nonce=b"n" * 15),
        "an empty name": _bob(name=""),
        "a name of 65 characters": _bob(name="x" * 65),
        "a name with a line feed": _bob(name="bob\nby"),
        "a name that begins with a space": _bob(name=" bob"),
        "nine addresses": _bob(addresses=["https://192.0.2.7:7443"] * 9),
        "an address without port": _bob(addresses=["https://192.0.2.7"]),
        "an unknown scope": _bob(grants={"everything": ["*"]}),
        "grants as a list": _bob(grants=["deltas:read"]),
        "a scope for no origin": _bob(grants={"deltas:read": []}),
        "origins out of order": _bob(grants={"deltas:read": ["https://b.example", "https://a.example"]}),
        "an origin with its usual port": _bob(asks={"deltas:read": ["https://a.example:443"]}),
        "an origin within another": _bob(asks={"deltas:read": ["https://*.a.example", "https://b.a.example"]}),
        "status, which cannot be granted": _bob(grants={"status": ["*"]}),
        "an unknown field in the body": _bob(more=1),
        "an unknown field": join(more=1),
        "a trailing byte": join() + b"\0",
        "nothing": b"",
    }
    paired = {"node": BOB_ID}
    return [
        *(
            {"name": name, "request": data.hex(), "now_s": NOW_S} | paired | {"key": public(key).hex()}
            for name, data, key in held
        ),
        {"name": "expired", "request": join().hex(), "now_s": EXPIRES_S, "code": "invite.expired"},
        *({"name": n, "request": data.hex(), "now_s": NOW_S, "code": "invite.refused"} for n, data in wrong.items()),
    ]


def answer_cases() -> list[Case]:
    """What Bob makes of an answer to the first request: with whom he pairs, or the code."""
    right = join()
    recovered = said(packed([genesis(ALICE), ALICE_RECOVERED]), "alice", b"")
    cases: list[tuple[str, bytes, str]] = [
        ("right", answer(to=right), ""),
        ("to another request", answer(to=join(said(BOB_LOG, "bob", b"m" * 16))), "peer.protocol"),
        ("with the domain of a request", answer(to=right, domain="trailmesh-join-v1"), "peer.protocol"),
        ("under another certificate", answer(to=right, leaf=certificate(node=BOB_ID)), "peer.protocol"),
        ("another token", answer(to=right, token=b"x" * 16), "peer.protocol"),
        ("signed by another key", answer(to=right, key=BOB), "peer.protocol"),
        ("with a nonce", answer(said(ALICE_LOG, "alice", NONCE), to=right), "peer.protocol"),
        (
            "an unknown scope",
            answer(said(ALICE_LOG, "alice", b"", grants={"everything": ["*"]}), to=right),
            "peer.protocol",
        ),
        ("the request itself", right, "peer.protocol"),
        ("nothing", b"", "peer.protocol"),
        ("of another node", answer(said(BOB_LOG, "alice", b""), to=right, key=BOB), "peer.identity"),
        ("under another key than the listener's", answer(recovered, to=right, key=LATER), "peer.identity"),
    ]
    told = {"node": ALICE_ID, "key": public(ALICE).hex(), "granted": OFFERED}
    return [{"name": n, "answer": data.hex()} | ({"code": code} if code else told) for n, data, code in cases]


def files() -> dict[str, str]:
    """Name → text of both files."""
    pairing = {
        "inviter": ALICE_ID,
        "inviter_key": public(ALICE).hex(),
        "token": TOKEN.hex(),
        "expires_s": EXPIRES_S,
        "leaf": LEAF.hex(),
        "requests": request_cases(),
        "answers": answer_cases(),
    }
    made = {"pairing.json": pairing, "channel.json": channel_cases()}
    return {name: json.dumps(body, indent=1) + "\n" for name, body in made.items()}


def main(arguments: list[str]) -> int:
    """0, or 1 if ``--check`` finds a file that differs."""
    differing = 0
    for name, text in files().items():
        if "--check" not in arguments:
            (FOLDER / name).write_text(text, encoding="utf-8")
        elif (FOLDER / name).read_text(encoding="utf-8") != text:
            print(f"{name} differs from what its generator makes")
            differing = 1
    return differing


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
