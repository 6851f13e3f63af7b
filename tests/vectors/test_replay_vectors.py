"""The code is held to ``replay.json``."""

from __future__ import annotations

import base64
import hashlib
import io
import json
from typing import Any

import pytest

from node.sessions.keeping.reports import open_report
from node.sessions.shared.replay_plan import ReplaySource
from protocol.errors import MeshError
from protocol.messages import KIND_REPLAY_REPORT
from protocol.recording.pages.page_text import compare_text
from protocol.recording.records.bundle import verify_bundle
from protocol.recording.replays.replay import Rebase, text_counts
from protocol.wire import envelope
from tests.session_samples import KEY, NODE, find_key
from tests.vectors import replay_vectors as vectors
from tests.vectors.generate import FOLDER

VECTORS = json.loads((FOLDER / vectors.NAME).read_text(encoding="utf-8"))
BUNDLE = json.loads((FOLDER / "bundle.json").read_text(encoding="utf-8"))["cases"][0]["bundle"]


def test_the_file_is_what_the_generator_writes() -> None:
    assert (FOLDER / vectors.NAME).read_text(encoding="utf-8") == vectors.render()


@pytest.mark.parametrize("case", VECTORS["texts"], ids=lambda case: case["name"])
def test_two_texts_compare_as_written(case: dict[str, Any]) -> None:
    assert compare_text(case["recorded"], case["met"]) == case["text"]


@pytest.mark.parametrize("case", VECTORS["at_home"], ids=lambda case: case["name"])
def test_a_text_is_brought_home_as_written(case: dict[str, Any]) -> None:
    assert Rebase(VECTORS["recorded_origin"], case["origin"]).text_homeward(case["met"]) == case["home"]


@pytest.mark.parametrize("case", VECTORS["reports"], ids=lambda case: case["name"])
def test_a_report_is_believed_or_refused_as_written(case: dict[str, Any]) -> None:
    bundle = verify_bundle(io.BytesIO(base64.b64decode(BUNDLE)), find_key)
    manifest = hashlib.sha256(bundle.manifest_bytes).digest()
    recorded = ReplaySource(session=bundle.session, steps=bundle.steps(), manifest=manifest)
    header = envelope.EnvelopeHeader(issuer=NODE, issued_s=1_700_000_101, unique=bytes(16))
    sealed = envelope.seal(bytes.fromhex(case["hex"]), kind=KIND_REPLAY_REPORT, key=KEY, header=header)
    if "code" in case:
        with pytest.raises(MeshError) as caught:
            open_report(sealed, find_key, recorded)
        assert caught.value.code == case["code"]
        return
    report = open_report(sealed, find_key, recorded)
    assert (report.matched, text_counts(report.steps)) == (case["matched"], case["text"])
