"""The code is held to ``pairing.json`` and ``channel.json``."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from adapters.transport.tls.certificates import channel_certificate, signer_of
from protocol.errors import MeshError
from protocol.keys.keylog import KeyLog
from protocol.pairing.by_invite import Inviter, Joiner
from protocol.pairing.invite import make_invite, parse_invite
from tests.vectors import pairing_vectors as vectors
from tests.vectors.generate import ALICE, BOB, FOLDER

PAIRING, CHANNEL = (
    json.loads((FOLDER / name).read_text(encoding="utf-8")) for name in ("pairing.json", "channel.json")
)
LEAF_HASH = hashlib.sha256(bytes.fromhex(PAIRING["leaf"])).digest()


def test_the_files_are_what_the_generator_writes() -> None:
    for name, text in vectors.files().items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text


@pytest.mark.parametrize("case", CHANNEL, ids=lambda case: case["name"])
def test_a_certificate_says_whose_it_is_or_is_refused(case: dict[str, Any]) -> None:
    leaf = bytes.fromhex(case["leaf"])
    if "code" in case:
        with pytest.raises(MeshError) as caught:
            signer_of(leaf, case["now_s"])
        assert caught.value.code == case["code"]
        return
    signer = signer_of(leaf, case["now_s"])
    assert (signer.node, signer.public_key.hex()) == (case["node"], case["key"])


def test_our_certificates_have_the_form_of_the_vector() -> None:
    right = x509.load_der_x509_certificate(bytes.fromhex(CHANNEL[0]["leaf"]))
    channel_key = right.public_key()
    assert isinstance(channel_key, Ed25519PublicKey)
    ours = channel_certificate(
        bytes(ALICE),
        CHANNEL[0]["node"],
        channel_key,
        from_s=vectors.MADE_S - vectors.BACKDATE_S,
        until_s=vectors.MADE_S + vectors.LIFE_S,
    )
    assert (ours.issuer, ours.subject, list(ours.extensions)) == (right.issuer, right.subject, list(right.extensions))
    assert (ours.not_valid_before_utc, ours.not_valid_after_utc) == (
        right.not_valid_before_utc,
        right.not_valid_after_utc,
    )


@pytest.mark.parametrize("case", PAIRING["requests"], ids=lambda case: case["name"])
def test_a_request_pairs_or_is_refused(case: dict[str, Any]) -> None:
    inviter = Inviter(
        ALICE,
        log=KeyLog.read(vectors.ALICE_LOG),
        token=bytes.fromhex(PAIRING["token"]),
        expires_s=PAIRING["expires_s"],
        name="alice",
    )
    request = bytes.fromhex(case["request"])
    if "code" in case:
        with pytest.raises(MeshError) as caught:
            inviter.handle(request, LEAF_HASH, case["now_s"])
        assert caught.value.code == case["code"]
        return
    _, paired = inviter.handle(request, LEAF_HASH, case["now_s"])
    assert (paired.node, paired.public_key.hex(), paired.name) == (case["node"], case["key"], "bob")
    with pytest.raises(MeshError) as caught:
        inviter.handle(request, LEAF_HASH, case["now_s"])
    assert caught.value.code == "invite.refused", "an invite pairs once"


@pytest.mark.parametrize("case", PAIRING["answers"], ids=lambda case: case["name"])
def test_an_answer_pairs_or_is_refused(case: dict[str, Any]) -> None:
    token = bytes.fromhex(PAIRING["token"])
    invite = make_invite(address="https://192.0.2.1:1", node=PAIRING["inviter"], token=token, expires_s=3_000)
    joiner = Joiner(
        parse_invite(invite, 2_000),
        BOB,
        log=KeyLog.read(vectors.BOB_LOG),
        name="bob",
        addresses=("https://192.0.2.7:7443",),
        nonce=vectors.NONCE,
    )
    request = joiner.request(bytes.fromhex(PAIRING["inviter_key"]), LEAF_HASH)
    assert request.hex() == PAIRING["requests"][0]["request"], "the first request is what the code sends"
    answer = bytes.fromhex(case["answer"])
    if "code" in case:
        with pytest.raises(MeshError) as caught:
            joiner.finish(answer)
        assert caught.value.code == case["code"]
        return
    paired = joiner.finish(answer)
    granted = {scope: list(origins) for scope, origins in paired.granted_us.items()}
    assert (paired.node, paired.public_key.hex(), granted) == (case["node"], case["key"], case["granted"])
