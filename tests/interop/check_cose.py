"""Our envelopes against two other COSE implementations, in both directions. Runs in the environment of ``make interop``.

pycose and python-cwt share no code with each other or with us but the CBOR codec, here in an older version than ours.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import cbor2
import pytest
from cwt import COSE, COSEKey
from nacl.signing import SigningKey
from pycose.algorithms import EdDSA
from pycose.headers import KID, Algorithm, ContentType
from pycose.keys import OKPKey
from pycose.keys.curves import Ed25519
from pycose.messages import Sign1Message

from protocol.errors import MeshError
from protocol.ids import node_id
from protocol.wire import envelope

ALICE, BOB = (SigningKey(bytes([seed]) * 32) for seed in (1, 2))
PUBLIC: Final = bytes(ALICE.verify_key)
ALICE_ID, BOB_ID = node_id(PUBLIC), node_id(bytes(BOB.verify_key))
BINDING: Final = envelope.route_binding("POST", "/peer/v1/probe")
MEDIA: Final = envelope.content_type("probe")
CLAIMS: Final[dict[int, Any]] = {1: ALICE_ID, 3: BOB_ID, 4: 1_120, 6: 1_000, 7: b"u" * 16}
HEADER: Final[dict[int, Any]] = {1: -8, 3: MEDIA, 4: PUBLIC[:8], 15: CLAIMS}
VECTORS: Final = json.loads((Path(__file__).parent.parent / "vectors" / "envelope.json").read_bytes())
ACCEPTED: Final = [bytes.fromhex(case["hex"]) for case in VECTORS if "code" not in case]
FORGED: Final = [bytes.fromhex(case["hex"]) for case in VECTORS if case.get("code") == "envelope.signature"]


def cwt_key(*, private: bool) -> Any:
    """Alice's key as python-cwt wants it."""
    jwk = {1: 1, 3: -8, -1: 6, -2: PUBLIC} | ({-4: bytes(ALICE)} if private else {})
    return COSEKey.new(jwk | {2: PUBLIC[:8]})


def read_with_pycose(data: bytes, binding: bytes) -> tuple[dict[int, Any], bytes]:
    """Protected header as plain numbers, and payload. Raises ``ValueError`` for a wrong signature."""
    message = Sign1Message.decode(data)
    message.key = OKPKey(crv=Ed25519, x=PUBLIC)
    message.external_aad = binding
    if not message.verify_signature():
        raise ValueError("signature")
    assert message.uhdr == {}
    protected: dict[int, Any] = cbor2.loads(message.phdr_encoded)
    return protected, message.payload


def read_with_cwt(data: bytes, binding: bytes) -> tuple[dict[int, Any], bytes]:
    """As ``read_with_pycose``; its errors differ."""
    protected, unprotected, payload = COSE.new().decode_with_headers(data, cwt_key(private=False), external_aad=binding)
    assert unprotected == {}
    return dict(protected), payload


def make_with_pycose(header: dict[int, Any], payload: bytes, binding: bytes, unprotected: dict[Any, Any]) -> bytes:
    known: dict[int, Any] = {1: Algorithm, 3: ContentType, 4: KID}
    phdr = {known.get(name, name): EdDSA if name == 1 else value for name, value in header.items()}
    message = Sign1Message(phdr=phdr, uhdr=unprotected, payload=payload, external_aad=binding)
    message.key = OKPKey(crv=Ed25519, x=PUBLIC, d=bytes(ALICE))
    encoded: bytes = message.encode()
    return encoded


def make_with_cwt(header: dict[int, Any], payload: bytes, binding: bytes, unprotected: dict[Any, Any]) -> bytes:
    made = COSE.new().encode_and_sign(
        payload, cwt_key(private=True), protected=header, unprotected=unprotected, external_aad=binding
    )
    assert isinstance(made, bytes)
    return made


Read = Callable[[bytes, bytes], tuple[dict[int, Any], bytes]]
Make = Callable[[dict[int, Any], bytes, bytes, dict[Any, Any]], bytes]
READERS = pytest.mark.parametrize("read", [read_with_pycose, read_with_cwt])
MAKERS = pytest.mark.parametrize("make", [make_with_pycose, make_with_cwt])


def opened(data: bytes) -> envelope.Envelope:
    """As Bob reads a message of Alice."""
    return envelope.verify_message(
        data,
        kinds=frozenset({"probe"}),
        find_key=envelope.single_key(PUBLIC, ALICE_ID),
        binding=BINDING,
        audience=BOB_ID,
        now_s=1_000,
        window=envelope.ReplayWindow(0),
    )


def refusal(data: bytes) -> str:
    with pytest.raises(MeshError) as caught:
        opened(data)
    return caught.value.code


@READERS
@pytest.mark.parametrize("data", ACCEPTED)
def test_they_verify_our_committed_messages_and_read_header_and_cwt_claims(read: Read, data: bytes) -> None:
    header, payload = read(data, BINDING)
    assert (header, payload) == (HEADER, b"payload")


@READERS
@pytest.mark.parametrize("data", FORGED)
def test_they_refuse_the_committed_messages_whose_signature_is_wrong(read: Read, data: bytes) -> None:
    with pytest.raises(Exception):  # noqa: B017 (each library has errors of its own)
        read(data, BINDING)


@READERS
def test_they_refuse_our_message_under_another_route(read: Read) -> None:
    with pytest.raises(Exception):  # noqa: B017
        read(ACCEPTED[0], envelope.route_binding("POST", "/peer/v1/other"))


@READERS
@pytest.mark.parametrize("size", [0, 1, 23, 24, 255, 256, 65_535, 65_536])
def test_they_verify_our_artefacts_of_every_length_form(read: Read, size: int) -> None:
    said = envelope.EnvelopeHeader(issuer=ALICE_ID, issued_s=1_000, unique=b"u" * 16)
    data = envelope.seal(bytes(size), kind="probe", key=ALICE, header=said)
    header, payload = read(data, b"")
    assert payload == bytes(size)
    assert header[15] == {1: ALICE_ID, 6: 1_000, 7: b"u" * 16}


@MAKERS
def test_their_messages_within_our_profile_verify_here(make: Make) -> None:
    found = opened(make(HEADER, b"from outside", BINDING, {}))
    assert found.payload == b"from outside"
    assert found.header.unique == b"u" * 16


@MAKERS
def test_their_messages_within_our_profile_are_ours_byte_for_byte(make: Make) -> None:
    said = envelope.EnvelopeHeader(issuer=ALICE_ID, audience=BOB_ID, issued_s=1_000, expires_s=1_120, unique=b"u" * 16)
    ours = envelope.seal(b"payload", kind="probe", key=ALICE, header=said, binding=BINDING)
    assert make(HEADER, b"payload", BINDING, {}) == ours


@MAKERS
@pytest.mark.parametrize(
    ("name", "changes", "code"),
    [
        ("one more header", {16: "application/cwt"}, "envelope.invalid"),
        ("a float among the CWT claims", {15: CLAIMS | {6: 1_000.5}}, "envelope.invalid"),
        ("a whole number written as a float", {15: CLAIMS | {6: 1_000.0}}, "envelope.invalid"),
        ("a CWT claim more", {15: CLAIMS | {2: "subject"}}, "envelope.invalid"),
        ("another media type", {3: "text/plain"}, "envelope.invalid"),
        ("a media type by its number", {3: 60}, "envelope.invalid"),
        ("another kind", {3: envelope.content_type("other")}, "envelope.kind"),
        ("the key id of another key", {4: b"k" * 8}, "envelope.key_unknown"),
        ("another reader", {15: CLAIMS | {3: ALICE_ID}}, "envelope.audience"),
        ("a lifetime too long", {15: CLAIMS | {4: 9_999}}, "envelope.time"),
    ],
)
def test_their_messages_outside_our_profile_are_refused(
    make: Make, name: str, changes: dict[int, Any], code: str
) -> None:
    if make is make_with_cwt and 4 in changes:
        pytest.skip("python-cwt insists that the key id is the key's")
    assert refusal(make(HEADER | changes, b"payload", BINDING, {})) == code, name


@MAKERS
def test_their_messages_with_an_unprotected_header_are_refused(make: Make) -> None:
    assert refusal(make(HEADER, b"payload", BINDING, {99: b"x"})) == "envelope.invalid"


@MAKERS
def test_their_messages_bound_to_another_route_are_refused(make: Make) -> None:
    assert refusal(make(HEADER, b"payload", b"", {})) == "envelope.signature"


def test_a_message_under_another_algorithm_is_refused() -> None:
    elliptic = COSEKey.from_jwk(
        {
            "kty": "EC",
            "crv": "P-256",
            "alg": "ES256",
            "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
            "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",
            "d": "870MB6gfuTJ4HtUnUvYMyJpr5eUZNP4Bk43bVdj3eAE",
        }
    )
    made = COSE.new().encode_and_sign(b"payload", elliptic, protected=HEADER | {1: -7}, external_aad=BINDING)
    assert isinstance(made, bytes)
    assert refusal(made) == "envelope.invalid"
