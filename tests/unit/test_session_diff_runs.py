"""Two runs of one session, compared; and two recordings beside each other as a page."""

from __future__ import annotations

import io
import re
from pathlib import Path

import msgspec
import pytest
from PIL import Image

from node.sessions.showing.comparison import render_comparison
from node.sessions.showing.lines import compare_lines
from node.verbs.sessions.session_results import RecordedSession, RunDiff, SessionDiff
from protocol.recording.replays.diff import diff_steps
from protocol.recording.replays.replay import Rebase
from tests.session_samples import sample_session, sample_steps
from tests.twins.browser import Document
from tests.unit.test_sessions_handover import node_of
from tests.unit.test_sessions_room import ORIGIN, Bench


@pytest.fixture
async def bench() -> Bench:
    return await node_of()


@pytest.fixture
async def done(bench: Bench) -> RecordedSession:
    return await bench.record()


async def reports(bench: Bench, done: RecordedSession) -> tuple[str, str]:
    """A replay of what was recorded, and one of a shop whose mugs are sold out."""
    whole = (await bench.call("replay", session=done.id)).report
    bench.site.documents[f"{ORIGIN}/mugs"] = Document(title="Mugs", text=("none",))
    other = (await bench.call("replay", session=done.id)).report
    assert (whole.verdict, other.verdict) == ("pass", "partial")
    return whole.id, other.id


async def test_two_replays_are_compared_by_what_they_say_of_each_step(bench: Bench, done: RecordedSession) -> None:
    whole, other = await reports(bench, done)
    compared: RunDiff = await bench.call("diff", first=whole, second=other)
    assert (compared.session.id, compared.same) == (done.id, False)
    assert [(step.index, step.status, step.first) for step in compared.steps] == [
        (1, "same", "as recorded"),
        (2, "differs", "as recorded"),
        (3, "differs", "as recorded"),
    ]
    assert "text differs" in compared.steps[1].second
    assert compared.steps[2].second == "not performed: action.target_missing"
    same = await bench.call("diff", first=whole, second=whole)
    assert same.same


async def test_a_replay_is_compared_with_its_recording_and_with_no_other(bench: Bench, done: RecordedSession) -> None:
    whole, other = await reports(bench, done)
    assert (await bench.call("diff", first=done.id, second=whole)).same
    turned = await bench.call("diff", first=other, second=done.id)
    assert (turned.first.id, turned.second, turned.steps[1].second) == (other, None, "as recorded")
    fork = await bench.call("fork", session=done.id, until=1)
    refused = await bench.refused("diff", first=fork.id, second=whole)
    assert (refused.code, "different sessions" in refused.message) == ("input.invalid", True)


async def test_a_report_is_found_by_the_beginning_of_its_id(bench: Bench, done: RecordedSession) -> None:
    whole, other = await reports(bench, done)
    assert (await bench.call("diff", first=whole[:11], second=other[:11])).first.id == whole
    assert (await bench.refused("diff", first="rep-", second=other)).message.startswith("2 replay reports")
    assert (await bench.refused("diff", first="rep-none", second=other)).code == "input.not_found"


async def test_two_runs_are_written_as_a_page(bench: Bench, done: RecordedSession, tmp_path: Path) -> None:
    whole, other = await reports(bench, done)
    out = tmp_path / "runs.html"
    compared = await bench.call("diff", first=whole, second=other, html=str(out))
    assert (compared.html, out.stat().st_mode & 0o777) == (str(out), 0o600)
    html = out.read_text()
    assert "Comparison: different" in html and f"replay report {other}" in html
    assert "second: not performed: action.target_missing" in html


def picture(colour: str) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (40, 20), colour).save(out, "PNG")
    return out.getvalue()


def test_two_recordings_stand_beside_each_other_with_pictures_and_texts() -> None:
    (step, *_), blobs = sample_steps()
    texts = (b"- price 10\n- <script>", b"- price 12\n- <script>")
    other = msgspec.structs.replace(step, snapshot=b"2" * 32, screenshot=b"3" * 32)
    blobs |= {step.snapshot: texts[0], step.screenshot: picture("red"), b"2" * 32: texts[1], b"3" * 32: picture("blue")}
    both = diff_steps(step, other, texts, Rebase())
    only = diff_steps(step, None, (None, None), Rebase())
    session = sample_session([step])
    compared = SessionDiff(first=session, second=session, steps=(both, only), same=False)
    html = render_comparison(compared, ([step], [other]), blobs, made_ms=0)
    assert html.count("data:image/png") == 4  # both, what differs, and the one that stands alone
    assert "100.0 % of the picture differs" in html
    assert "<del>- - price 10</del>" in html and "<ins>+ - price 12</ins>" in html
    assert "only first" in html
    assert "<script" not in html
    assert re.search(r"default-src 'none'; img-src data:; style-src 'sha256-", html.replace("&#39;", "'"))
    # A text or a picture that the store has lost is left out.
    assert "data:image" not in render_comparison(compared, ([step], [other]), {}, made_ms=0)


def test_long_texts_are_compared_up_to_a_bound_and_show_what_changed() -> None:
    assert compare_lines("a\nb", "a\nb") == ()
    old = [f"line {number}" for number in range(50)]
    new = [*old[:20], "other", *old[21:]]
    signs = [line.sign for line in compare_lines("\n".join(old), "\n".join(new))]
    assert signs == ["…", " ", " ", " ", "-", "+", " ", " ", " "]
    many = compare_lines("\n".join(old * 100), "\n".join(f"new {number}" for number in range(5_000)))
    assert len(many) == 401
    assert many[-1].text == "more is not shown"
