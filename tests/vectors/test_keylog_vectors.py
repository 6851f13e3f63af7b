"""The code is held to ``keylog.json``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from protocol.errors import MeshError
from protocol.keylog import KeyLog
from tests.vectors import keylog_vectors

VECTORS = json.loads(keylog_vectors.FILE.read_text(encoding="utf-8"))


def test_the_file_is_what_the_generator_writes() -> None:
    assert keylog_vectors.FILE.read_text(encoding="utf-8") == keylog_vectors.text()


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])
def test_a_key_log_is_held_or_refused_with_its_code(case: dict[str, Any]) -> None:
    first, *rest = (bytes.fromhex(raw) for raw in case["events"])
    log: KeyLog | None = None
    try:
        log = KeyLog.begin(first)
        for raw in rest:
            log = log.apply(raw)
    except MeshError as error:
        assert error.code == case.get("code"), error.message
        assert log is None or len(log) >= len(rest) - 1
        return
    assert "code" not in case
    state = "frozen" if log.frozen else "revoked" if log.revoked_s is not None else "active"
    assert (log.node, log.key.hex(), state) == (VECTORS["node"], case["key"], case["state"])
