"""The code is held to ``sas.json``: every message byte for byte, every refusal at its place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from nacl.signing import SigningKey

from protocol.errors import MeshError
from protocol.keys.keylog import KeyLog
from protocol.pairing.by_digits import Party, SasJoiner, SasWindow
from protocol.pairing.by_invite import SelfDescription
from protocol.wire import cbor
from tests.vectors import sas_vectors

VECTORS = json.loads(sas_vectors.FILE.read_text(encoding="utf-8"))
EXCHANGE: dict[str, Any] = {
    name: value if name in ("digits", "decided") else bytes.fromhex(value)
    for name, value in VECTORS["exchange"].items()
}
LEAF = EXCHANGE["leaf_sha256"]


def party(side: str) -> tuple[Party, bytes]:
    """The node that describes itself in the body of ``side``, and its nonce."""
    said = cbor.decode_as(EXCHANGE[f"{side}_body"], SelfDescription)
    key = SigningKey(EXCHANGE[f"{side}_seed"])
    made = Party(
        key,
        log=KeyLog.read(said.log),
        name=said.name,
        addresses=said.addresses,
        grants=said.grants,
        asks=said.asks,
    )
    return made, said.nonce


def test_the_file_is_what_the_generator_writes() -> None:
    assert sas_vectors.FILE.read_text(encoding="utf-8") == sas_vectors.text()


def test_a_whole_exchange_byte_for_byte() -> None:
    (alice, alice_nonce), (bob, bob_nonce) = party("window"), party("joiner")
    window, joiner = SasWindow(alice, expires_s=sas_vectors.EXPIRES_S), SasJoiner(bob, nonce=bob_nonce)

    def answer(request: bytes) -> bytes:
        return window.handle(request, LEAF, sas_vectors.NOW_S, alice_nonce)

    signer = bytes(SigningKey(EXCHANGE["window_seed"]).verify_key)
    assert joiner.commit(signer, LEAF) == EXCHANGE["commit"]
    assert answer(EXCHANGE["commit"]) == EXCHANGE["offer"]
    assert joiner.reveal(EXCHANGE["offer"]) == EXCHANGE["reveal"]
    assert answer(EXCHANGE["reveal"]) == EXCHANGE["sealed"]
    assert joiner.verify(EXCHANGE["sealed"])[1] == window.digits == EXCHANGE["digits"]
    assert joiner.decide(True) == EXCHANGE["decide"]
    assert answer(EXCHANGE["decide"]).hex() == EXCHANGE["decided"]["waiting"]
    window.decide(True)
    assert window.settle()
    window.store()
    assert answer(EXCHANGE["decide"]).hex() == EXCHANGE["decided"]["agreed"]
    for state, said in EXCHANGE["decided"].items():
        assert joiner.decided(bytes.fromhex(said)) == state


@pytest.mark.parametrize("case", VECTORS["refused"], ids=lambda case: case["name"])
def test_the_last_request_is_refused(case: dict[str, Any]) -> None:
    alice, nonce = party("window")
    window = SasWindow(alice, expires_s=sas_vectors.EXPIRES_S)
    *before, last = (bytes.fromhex(request) for request in case["requests"])
    for request in before:
        window.handle(request, LEAF, sas_vectors.NOW_S, nonce)
    with pytest.raises(MeshError) as caught:
        window.handle(last, LEAF, sas_vectors.NOW_S, nonce)
    assert caught.value.code == "pairing.refused"
