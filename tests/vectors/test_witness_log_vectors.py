"""The committed vectors of the witness log, and that the generator still writes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from protocol.errors import MeshError
from protocol.log import log_proof, log_renewal, witness_log
from protocol.wire import cbor
from tests.vectors import witness_log_vectors

VECTORS = json.loads(witness_log_vectors.FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", VECTORS["notes"], ids=lambda case: case["name"])
def test_a_committed_checkpoint_is_accepted_or_refused_as_written(case: dict[str, Any]) -> None:
    data, key = case["note"].encode(), bytes.fromhex(VECTORS["public_key"])
    if "code" in case:
        with pytest.raises(MeshError) as caught:
            witness_log.open_checkpoint(data, VECTORS["node"], key)
        assert caught.value.code == case["code"]
        return
    checkpoint, signed = witness_log.open_checkpoint(data, VECTORS["node"], key)
    assert (checkpoint.size, checkpoint.root.hex()) == (case["size"], case["root"])
    assert signed.encode() == data


@pytest.mark.parametrize("case", VECTORS["proofs"], ids=lambda case: case["name"])
def test_a_committed_proof_is_accepted_or_refused_as_written(case: dict[str, Any]) -> None:
    data = json.dumps(case["proof"]).encode()
    if "code" in case:
        with pytest.raises(MeshError) as caught:
            log_proof.check(log_proof.decode(data))
        assert caught.value.code == case["code"]
        return
    assert log_proof.check(log_proof.decode(data)).shows == case["shows"]


@pytest.mark.parametrize("case", VECTORS["openings"], ids=lambda case: case["name"])
def test_a_committed_opening_is_accepted_or_refused_as_written(case: dict[str, Any]) -> None:
    data, key = bytes.fromhex(case["hex"]), bytes.fromhex(VECTORS["public_key"])
    if "code" in case:
        with pytest.raises(MeshError) as caught:
            log_renewal.named_by(cbor.decode_as(data, witness_log.Opening), VECTORS["node"], key)
        assert caught.value.code == case["code"]
        return
    opening = cbor.decode_as(data, witness_log.Opening)
    assert (opening.log, opening.opened_ms) == (case["log"], case["opened_ms"])
    named = log_renewal.named_by(opening, VECTORS["node"], key)
    assert [f"{told.number} {told.size}" for told, _ in named] == case["names"]


@pytest.mark.parametrize("case", VECTORS["renewals"], ids=lambda case: case["name"])
def test_a_committed_renewal_stands_as_written(case: dict[str, Any]) -> None:
    held, *named = (
        witness_log.open_checkpoint(text.encode(), VECTORS["node"], bytes.fromhex(VECTORS["public_key"]))[0]
        for text in (case["held"], *case["named"])
    )
    proof = tuple(bytes.fromhex(item) for item in case["former_hashes"])
    link = witness_log.Link(base_size=case["former_size"], base_root=b"", proof=proof)
    assert log_renewal.account(held, case["number"], named, link)[0].value == case["standing"]


@pytest.mark.parametrize("case", VECTORS["tags"], ids=lambda case: case["name"])
def test_a_tag_is_the_committed_one(case: dict[str, Any]) -> None:
    assert witness_log.acquaintance(case["one"], case["other"], case["about"]).hex() == case["tag"]


def test_the_generator_writes_the_committed_vectors() -> None:
    assert witness_log_vectors.FILE.read_text(encoding="utf-8") == witness_log_vectors.render()
