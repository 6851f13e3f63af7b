"""The code is held to ``keylog.json``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from protocol.errors import MeshError
from protocol.keys.keylog import KeyLog
from protocol.wire.envelope import key_id
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


@pytest.mark.parametrize("case", VECTORS["logs"], ids=lambda case: case["name"])
def test_a_log_as_bytes_is_read_or_refused_with_its_code(case: dict[str, Any]) -> None:
    data = bytes.fromhex(case["log"])
    if "code" in case:
        with pytest.raises(MeshError) as caught:
            KeyLog.read(data, now_s=10_000)
        assert caught.value.code == case["code"]
        return
    log = KeyLog.read(data, now_s=10_000)
    assert (log.key.hex(), "frozen" if log.frozen else "active") == (case["key"], case["state"])
    assert log.encode().hex() == case.get("again", case["log"])


@pytest.mark.parametrize("case", VECTORS["periods"], ids=lambda case: case["name"])
def test_a_key_verifies_what_was_issued_in_its_time(case: dict[str, Any]) -> None:
    log = KeyLog.read(bytes.fromhex(case["log"]))
    every = [bytes(key.verify_key) for key in (keylog_vectors.FIRST, keylog_vectors.SECOND, keylog_vectors.THIRD)]
    found = [key for key in every if log.find_key(key_id(key), case["at_s"]) is not None]
    assert [key.hex() for key in found] == case["keys"]
