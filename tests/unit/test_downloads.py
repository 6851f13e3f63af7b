"""Downloads: recorded with name, size and hash, asserted, and compared in a replay."""

from __future__ import annotations

import hashlib

import msgspec
import pytest

from node.sessions.actions.action_files import parse_actions
from protocol.errors import MeshError
from protocol.page.actions.action import Assert
from protocol.page.actions.downloads import Download, describe_download, named
from protocol.page.secrets.redaction import Redaction, redacted
from protocol.page.seen.observation import Element
from protocol.recording.records.session import Level
from tests.tables import each
from tests.twins.browser import Control, Document, Effect
from tests.unit.test_sessions_handover import node_of
from tests.unit.test_sessions_room import ORIGIN, Bench

SHA = hashlib.sha256(b"12").digest()
CSV = Download(name="mugs.csv", size_bytes=2, sha256=SHA)
BROKEN = Download(name="mugs.csv", fault="too_large")
STEPS = f"start: {ORIGIN}/\nsteps:\n- click: {{role: button, name: Next}}\n"


async def bench_with(download: Download | None) -> Bench:
    bench = await node_of()
    change(bench, download)
    return bench


def change(bench: Bench, download: Download | None) -> None:
    """From now on the button of the site leads to ``download``."""
    button = Control(element=Element(ref="", role="button", name="Next"), effect=Effect(download=download))
    bench.site.documents[f"{ORIGIN}/"] = Document(title="Shop", controls=(button,))


def test_a_download_has_a_hash_or_a_fault() -> None:
    for wrong in ({}, {"sha256": SHA, "fault": "failed"}, {"sha256": b"short"}):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert({"name": "a", **wrong}, Download)
    assert describe_download(CSV) == f"“mugs.csv”, 2 bytes, SHA-256 {SHA.hex()[:16]}…"
    assert describe_download(BROKEN) == "“mugs.csv”, too large"


def test_the_last_whole_download_of_a_name_is_found() -> None:
    other = msgspec.structs.replace(CSV, name="cups.csv")
    assert named((CSV, other, BROKEN), "mugs.csv", part=False) == CSV
    assert named((CSV, other), ".csv", part=True) == other
    assert named((CSV, other), "mugs", part=False) is None
    assert named((CSV,), "mugs.csv", part=False, digest="0" * 64) is None
    assert named((BROKEN,), "mugs.csv", part=False) is None


def test_names_are_redacted() -> None:
    (kept,) = redacted((msgspec.structs.replace(CSV, name="swordfish.csv"),), Redaction({"word": "swordfish"}))
    assert kept.name == "‹secret:word›.csv"


@each(
    ("step", "made"),
    [
        ("{download: mugs.csv}", Assert(what="download", expected="mugs.csv")),
        ("{download: .csv, match: contains}", Assert(what="download", expected=".csv", match="contains")),
        (f"{{download: a, sha256: '{SHA.hex()}'}}", Assert(what="download", expected="a", sha256=SHA.hex())),
    ],
)
def test_a_download_is_asserted_by_its_name_and_content(step: str, made: Assert) -> None:
    assert parse_actions(f"{STEPS}- assert: {step}".encode()).actions[-1] == made


@each("step", ["{download: ''}", "{download: a, role: link}", "{title: a, sha256: b}", "{download: a, sha256: xyz}"])
def test_an_assertion_of_a_download_that_makes_no_sense_is_refused(step: str) -> None:
    with pytest.raises(MeshError) as refused:
        parse_actions(f"{STEPS}- assert: {step}".encode())
    assert refused.value.code == "input.invalid"


async def test_a_download_is_recorded_asserted_and_expected_in_a_replay() -> None:
    bench = await bench_with(CSV)
    done = await bench.record(STEPS)
    shown = await bench.call("show", session=done.id)
    assert (done.verdict, shown.steps[1].downloads) == ("pass", (CSV,))
    level: dict[Level, str] = {"text": "step 2: another content of the download", "structure": ""}
    assert (await bench.call("replay", session=done.id)).report.verdict == "pass"
    change(bench, msgspec.structs.replace(CSV, sha256=bytes(32)))
    for name, reason in level.items():
        assert (await bench.call("replay", session=done.id, level=name)).report.reason == reason
    change(bench, None)
    for name in level:
        report = (await bench.call("replay", session=done.id, level=name)).report
        assert report.reason == "step 2: no download of “mugs.csv”"
    change(bench, msgspec.structs.replace(CSV, name="cups.csv"))
    report = (await bench.call("replay", session=done.id)).report
    assert report.reason == "step 2: no download of “mugs.csv”"
    asserted = await bench.refused("record", actions=STEPS + "- assert: {download: mugs.csv, timeout_ms: 1}")
    assert asserted.code == "action.assertion_failed"
    assert asserted.detail["found"].startswith("“cups.csv”, 2 bytes")
    assert (await bench.record(STEPS + "- assert: {download: cups.csv}")).verdict == "pass"


async def test_a_download_that_breaks_off_keeps_a_session_from_passing() -> None:
    bench = await bench_with(BROKEN)
    done = await bench.record(STEPS)
    assert (done.verdict, done.reason) == ("partial", "step 2: download of “mugs.csv”, too large")
