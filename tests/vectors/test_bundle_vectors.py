"""The committed bundle vectors, and that the generator still writes them."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import pytest

from protocol.errors import MeshError
from protocol.recording.records.bundle import verify_bundle
from tests.session_samples import find_key
from tests.vectors import bundle_vectors

VECTORS = json.loads(bundle_vectors.FILE.read_text())


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])
def test_a_committed_bundle_is_accepted_or_refused_as_written(case: dict[str, Any]) -> None:
    file = io.BytesIO(base64.b64decode(case["bundle"]))
    if not case["code"]:
        assert verify_bundle(file, find_key).session.node == VECTORS["node"]
        return
    with pytest.raises(MeshError) as caught:
        verify_bundle(file, find_key)
    assert caught.value.code == case["code"]


def test_the_generator_writes_the_committed_vectors() -> None:
    assert bundle_vectors.FILE.read_text() == bundle_vectors.render()
