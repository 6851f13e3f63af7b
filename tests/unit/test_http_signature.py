"""Signed HTTP against its profile, and against an independent implementation of RFC 9421."""

from __future__ import annotations

import base64
import datetime
import time
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from http_message_signatures import HTTPMessageSigner, HTTPMessageVerifier, HTTPSignatureKeyResolver, algorithms
from http_message_signatures.exceptions import HTTPMessageSignaturesException
from nacl.signing import SigningKey

from protocol import ids, limits
from protocol.errors import MeshError
from protocol.wire import http_signature as signed
from protocol.wire.envelope import ReplayWindow
from tests.tables import each

ANNA, BERT = SigningKey(b"\x01" * 32), SigningKey(b"\x02" * 32)
NODE = ids.node_id(bytes(ANNA.verify_key))
NOW_S = int(time.time())
NONCE = bytes(range(16))
MEDIA = "application/vnd.trailmesh.message+cose"
BODY = b"\x00body"
REQUEST = signed.request("proxy.example", "/peer/v1/status", MEDIA, signed.digest(BODY))


class Keys(HTTPSignatureKeyResolver):
    """Anna's key for the oracle."""

    def resolve_private_key(self, key_id: str) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(bytes(ANNA))

    def resolve_public_key(self, key_id: str) -> Ed25519PublicKey:
        assert key_id == NODE
        return Ed25519PublicKey.from_public_bytes(bytes(ANNA.verify_key))


class Message:
    """A request or an answer as the oracle sees it."""

    request: Message

    def __init__(self, headers: dict[str, str], **fields: Any) -> None:
        self.method, self.url = "POST", "https://proxy.example/peer/v1/status"
        self.headers = {"Content-Type": MEDIA, "Content-Digest": signed.digest(BODY)} | headers
        for name, value in fields.items():
            setattr(self, name, value)


def headers_of(message: signed.HttpMessage = REQUEST, *, key: SigningKey = ANNA, now_s: int = NOW_S) -> dict[str, str]:
    return signed.sign(message, key=key, node=NODE, now_s=now_s, nonce=NONCE)


def key_of(node: str) -> bytes | None:
    return bytes(ANNA.verify_key) if node == NODE else None


def verify(
    headers: dict[str, str], *messages: signed.HttpMessage, now_s: int = NOW_S, window: ReplayWindow | None = None
) -> str:
    return signed.verify(headers, messages or (REQUEST,), key_of=key_of, now_s=now_s, window=window)


def refused(headers: dict[str, str], *messages: signed.HttpMessage, now_s: int = NOW_S) -> str:
    with pytest.raises(MeshError) as caught:
        verify(headers, *messages, now_s=now_s)
    return caught.value.code


def oracle() -> HTTPMessageVerifier:
    return HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=Keys())


def test_the_oracle_believes_a_request_of_ours_and_finds_everything_covered() -> None:
    (found,) = oracle().verify(
        Message(headers_of(now_s=int(time.time()))),  # the oracle looks at the machine's clock
        expect_tag=signed.TAG,
        require_components=signed.REQUEST_COMPONENTS,
        body=BODY,
    )
    assert found.parameters["keyid"] == NODE


def test_the_oracle_believes_an_answer_of_ours_bound_to_its_request() -> None:
    now_s = int(time.time())
    asked = headers_of(now_s=now_s)
    answer = signed.answer(200, "application/cbor", signed.digest(BODY), asked["Signature"])
    said = Message(
        headers_of(answer, now_s=now_s) | {"Content-Type": "application/cbor"}, status_code=200, request=Message(asked)
    )
    (found,) = oracle().verify(said, expect_tag=signed.TAG, require_components=signed.ANSWER_COMPONENTS)
    assert found.label == signed.LABEL
    said.request = Message(headers_of(now_s=now_s - 1))
    with pytest.raises(HTTPMessageSignaturesException):
        oracle().verify(said, expect_tag=signed.TAG)


def test_we_believe_a_request_the_oracle_signed() -> None:
    message = Message({})
    signer = HTTPMessageSigner(signature_algorithm=algorithms.ED25519, key_resolver=Keys())
    moment = datetime.datetime.fromtimestamp(NOW_S, datetime.UTC)
    signer.sign(
        message,
        key_id=NODE,
        created=moment,
        expires=moment + datetime.timedelta(seconds=60),
        nonce=NONCE.hex(),
        label=signed.LABEL,
        tag=signed.TAG,
        include_alg=True,
        use_existing_digest=True,
        covered_component_ids=[name.strip('"') for name in signed.REQUEST_COMPONENTS],
    )
    given = {name: message.headers[name] for name in ("Signature-Input", "Signature")}
    ordered = headers_of()["Signature-Input"]
    if given["Signature-Input"] == ordered:
        assert verify(given) == NODE
    else:  # the order of parameters is ours to fix: the oracle has its own
        assert refused(given) == "peer.signature"
        assert sorted(given["Signature-Input"].split(";")) == sorted(ordered.split(";"))


def test_what_we_sign_we_believe_once() -> None:
    window = ReplayWindow(NOW_S - 10)
    assert verify(headers_of(), window=window) == NODE
    with pytest.raises(MeshError) as caught:
        verify(headers_of(), window=window)
    assert caught.value.code == "envelope.replayed"


def test_a_node_with_several_authorities_is_addressed_by_any_of_them() -> None:
    other = signed.request("other.example:8443", "/peer/v1/status", MEDIA, signed.digest(BODY))
    assert verify(headers_of(), other, REQUEST) == NODE
    assert refused(headers_of(), other) == "peer.signature"


@pytest.mark.parametrize(
    "other",
    [
        signed.request("evil.example", "/peer/v1/status", MEDIA, signed.digest(BODY)),
        signed.request("proxy.example", "/peer/v1/deltas/push", MEDIA, signed.digest(BODY)),
        signed.request("proxy.example", "/peer/v1/status", MEDIA + "x", signed.digest(BODY)),
        signed.request("proxy.example", "/peer/v1/status", MEDIA, signed.digest(BODY + b"x")),
        signed.answer(200, MEDIA, signed.digest(BODY), "tm=:x:"),
    ],
    ids=["authority", "path", "media type", "body", "an answer"],
)
def test_a_signature_is_for_one_message_only(other: signed.HttpMessage) -> None:
    assert refused(headers_of(), other) == "peer.signature"


def test_a_signature_of_another_key_is_refused() -> None:
    assert refused(headers_of(key=BERT)) == "peer.signature"


def test_a_node_that_is_not_trusted_is_refused() -> None:
    stranger = ids.node_id(bytes(BERT.verify_key))
    given = signed.sign(REQUEST, key=BERT, node=stranger, now_s=NOW_S, nonce=NONCE)
    assert refused(given) == "peer.signature"


@each(
    ("late_s", "code"),
    [(0, ""), (59, ""), (119, ""), (121, "envelope.time"), (-59, ""), (-61, "envelope.time")],
)
def test_a_signature_lives_for_a_minute_give_or_take_the_skew(late_s: int, code: str) -> None:
    if code:
        assert refused(headers_of(), now_s=NOW_S + late_s) == code
    else:
        assert verify(headers_of(), now_s=NOW_S + late_s) == NODE


def changed(name: str, old: str, new: str) -> dict[str, str]:
    given = headers_of()
    assert old in given[name]
    return given | {name: given[name].replace(old, new, 1)}


INPUT = "Signature-Input"
FORMS: dict[str, dict[str, str]] = {
    "no headers": {},
    "no signature": {INPUT: headers_of()[INPUT]},
    "no input": {"Signature": headers_of()["Signature"]},
    "another label": changed(INPUT, "tm=", "sig1="),
    "two signatures": changed(INPUT, "tm=", 'x=("@method");created=1, tm='),
    "another algorithm": changed(INPUT, "ed25519", "hmac-sha256"),
    "no algorithm": changed(INPUT, ';alg="ed25519"', ""),
    "another tag": changed(INPUT, "trailmesh-1", "trailmesh-2"),
    "no nonce": changed(INPUT, f';nonce="{NONCE.hex()}"', ""),
    "a short nonce": changed(INPUT, NONCE.hex(), NONCE.hex()[2:]),
    "no expiry": changed(INPUT, f";expires={NOW_S + 60}", ""),
    "a component less": changed(INPUT, ' "content-digest"', ""),
    "method only": changed(INPUT, ' "@authority" "@path" "content-type" "content-digest"', ""),
    "a component more": changed(INPUT, '"content-digest")', '"content-digest" "date")'),
    "another order": changed(INPUT, '"@method" "@authority"', '"@authority" "@method"'),
    "a parameter more": changed(INPUT, ";created", ";x=1;created"),
    "white space": changed(INPUT, ";created", "; created"),
    "a signature that is cut": changed("Signature", "==:", "=:"),
    "no base64": changed("Signature", "tm=:", "tm=:!"),
    "too long": changed(INPUT, "tm=", "tm=" + " " * 2000),
}


@pytest.mark.parametrize("headers", FORMS.values(), ids=FORMS.keys())
def test_a_signature_of_another_form_is_refused(headers: dict[str, str]) -> None:
    assert refused(headers) == "peer.signature"


def test_a_longer_life_than_allowed_is_refused_even_if_signed() -> None:
    parameters = headers_of()[INPUT].removeprefix("tm=").replace(f"expires={NOW_S + 60}", f"expires={NOW_S + 61}")
    value = ANNA.sign(signed._base(REQUEST, parameters)).signature
    given = {INPUT: f"tm={parameters}", "Signature": f"tm=:{base64.b64encode(value).decode()}:"}
    assert refused(given) == "envelope.time"


def lasting(created_s: int, expires_s: int) -> dict[str, str]:
    """Headers signed by the node for a life of any length."""
    given = headers_of()[INPUT].removeprefix("tm=")
    parameters = given.replace(f"created={NOW_S}", f"created={created_s}").replace(
        f"expires={NOW_S + 60}", f"expires={expires_s}"
    )
    value = ANNA.sign(signed._base(REQUEST, parameters)).signature
    return {INPUT: f"tm={parameters}", "Signature": f"tm=:{base64.b64encode(value).decode()}:"}


def test_a_signature_does_not_end_before_it_begins() -> None:
    assert refused(lasting(NOW_S, NOW_S - 1)) == "envelope.time"
    assert verify(lasting(NOW_S, NOW_S)) == NODE


@each(
    ("host", "port", "authority"),
    [
        ("Node.Example", 443, "node.example"),
        ("10.0.0.7", 8443, "10.0.0.7:8443"),
        ("::1", 443, "[::1]"),
        ("::1", 1, "[::1]:1"),
    ],
)
def test_an_authority_is_written_as_the_web_writes_it(host: str, port: int, authority: str) -> None:
    assert signed.authority_of(host, port) == authority


def test_the_limits_of_time_are_those_that_are_promised() -> None:
    assert (limits.HTTP_SIGNATURE_LIFETIME_S, limits.CLOCK_SKEW_S) == (60, 60)
