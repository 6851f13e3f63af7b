"""The code is held to ``approval.json``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from protocol.approval.approval import open_approval
from protocol.approval.forms import path_form
from protocol.approval.owners import Owner, Owners, owner_id
from protocol.approval.question import Question, digest_of
from protocol.errors import MeshError
from protocol.wire import cbor, envelope
from tests.vectors import approval_vectors as vectors
from tests.vectors.generate import FOLDER

VECTORS = json.loads((FOLDER / vectors.NAME).read_text(encoding="utf-8"))
OWNERS = Owners(
    node=VECTORS["node"],
    every=tuple(
        Owner(
            id=each["id"],
            name=f"o{place}",
            key=bytes.fromhex(each["key"]),
            level_max=each["level_max"],
            added_s=0,
            by="",
        )
        for place, each in enumerate(VECTORS["owners"])
    ),
)


def test_the_file_is_what_the_generator_writes() -> None:
    assert (FOLDER / vectors.NAME).read_text(encoding="utf-8") == vectors.render()


def test_the_ids_of_owners_follow_from_their_keys() -> None:
    assert [owner_id(owner.key) for owner in OWNERS.every] == [owner.id for owner in OWNERS.every]


@pytest.mark.parametrize("case", VECTORS["paths"], ids=lambda case: case["name"])
def test_a_path_has_the_form_that_is_written(case: dict[str, Any]) -> None:
    assert path_form(case["path"]) == case["form"]


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])
def test_an_approval_is_read_as_written(case: dict[str, Any]) -> None:
    raw = bytes.fromhex(case["question"])
    question = cbor.decode_as(raw, Question)
    assert cbor.encode(question) == raw
    if "code" in case:
        with pytest.raises(MeshError) as caught:
            open_approval(bytes.fromhex(case["hex"]), question, OWNERS, now_ms=case["now_s"] * 1000)
        assert caught.value.code == case["code"]
        return
    found = open_approval(bytes.fromhex(case["hex"]), question, OWNERS, now_ms=case["now_s"] * 1000).approval
    assert (found.yes, found.scope, found.expires_ms) == (case["yes"], case["scope"], case["expires_ms"])


def test_a_statement_and_its_signature_make_the_envelope() -> None:
    found = VECTORS["statement"]
    made = envelope.from_signed(bytes.fromhex(found["hex"]), bytes.fromhex(found["signature"]))
    assert made.hex() == found["envelope"]
    assert (
        digest_of(cbor.decode_as(bytes.fromhex(VECTORS["cases"][0]["question"]), Question)).hex() == VECTORS["digest"]
    )
