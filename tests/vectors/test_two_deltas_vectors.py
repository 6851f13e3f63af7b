"""The committed vectors of two deltas under one number, and that the generator still writes them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from nacl.signing import VerifyKey

from protocol.errors import MeshError
from protocol.search.delta import check_equivocation
from tests.vectors import two_deltas_vectors

VECTORS = json.loads(two_deltas_vectors.FILE.read_text(encoding="utf-8"))
KEYS = {node: VerifyKey(bytes.fromhex(key)) for node, key in VECTORS["keys"].items()}


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])
def test_two_committed_deltas_show_what_is_written(case: dict[str, Any]) -> None:
    one, other = (bytes.fromhex(case[name]) for name in ("one", "other"))

    def find_key(issuer: str, key_id: bytes, issued_s: int) -> VerifyKey | None:
        return KEYS.get(issuer)

    if "code" in case:
        with pytest.raises(MeshError) as caught:
            check_equivocation(one, other, VECTORS["search"], find_key)
        assert caught.value.code == case["code"]
        return
    found = check_equivocation(one, other, VECTORS["search"], find_key)
    assert (found.writer, found.epoch, found.seq) == (case["writer"], case["epoch"], case["seq"])


def test_the_generator_writes_the_committed_vectors() -> None:
    assert two_deltas_vectors.FILE.read_text(encoding="utf-8") == two_deltas_vectors.render()
