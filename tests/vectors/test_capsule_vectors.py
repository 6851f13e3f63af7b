"""The code is held to ``capsule.json``."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from nacl.signing import VerifyKey

from protocol.capsule.artefacts import consent_until_ms, terms_digest, terms_of
from protocol.capsule.capsule import check_sliced, check_stream, open_capsule, open_state, read_header
from protocol.capsule.policy import Policy, UseFacts, judge_use
from protocol.capsule.state import decode_state, encode_state
from protocol.capsule.stream import header_digest
from protocol.errors import MeshError
from protocol.wire import cbor
from tests.vectors import capsule_vectors as vectors
from tests.vectors.generate import FOLDER

VECTORS = json.loads((FOLDER / vectors.NAME).read_text(encoding="utf-8"))
KEYS = {each["id"]: VerifyKey(bytes.fromhex(each["key"])) for each in VECTORS["nodes"]}


def test_the_file_is_what_the_generator_writes() -> None:
    assert (FOLDER / vectors.NAME).read_text(encoding="utf-8") == vectors.render()


def test_a_header_is_encoded_bound_and_consented_to_as_written() -> None:
    raw = bytes.fromhex(VECTORS["header"])
    header = read_header(raw)
    assert cbor.encode(header) == raw
    assert header_digest(raw).hex() == VECTORS["bound"]
    assert terms_digest(terms_of(header)).hex() == VECTORS["terms"]


@pytest.mark.parametrize("case", VECTORS["policies"], ids=lambda case: case["name"])
def test_a_use_is_judged_as_written(case: dict[str, Any]) -> None:
    policy, facts = msgspec.convert(case["policy"], Policy), msgspec.convert(case["facts"], UseFacts)
    assert (judge_use(policy, facts) or "") == case["code"]


def opened(case: dict[str, Any]) -> tuple[bytes, int]:
    """State and consent, by every check of a reader."""
    stream = bytes.fromhex(case["stream"])
    capsule = open_capsule(bytes.fromhex(case["hex"]), lambda issuer, key_id, issued_s: KEYS.get(issuer))
    check_stream(capsule.sealed, capsule.header, stream)
    key = X25519PrivateKey.from_private_bytes(bytes.fromhex(case["key"]))
    state = open_state(capsule.sealed, stream, node=case["node"], key=key)
    check_sliced(capsule.header, decode_state(state))
    return state, consent_until_ms(capsule.header, capsule.sealed)


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])
def test_a_capsule_is_opened_as_written(case: dict[str, Any]) -> None:
    if "code" in case:
        with pytest.raises(MeshError) as caught:
            opened(case)
        assert caught.value.code == case["code"]
        return
    state, until_ms = opened(case)
    assert (state.hex(), until_ms) == (case["state"], case["consent_until_ms"])
    assert encode_state(decode_state(state)) == state
