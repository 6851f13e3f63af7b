"""The HTML file of a recording or a replay: what it shows, and that nothing in it can act or load."""

from __future__ import annotations

import base64
import hashlib
import io
import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from PIL import Image, ImageDraw

from node.live.recording import compacted, data_address
from node.sessions.showing.files import write_recording, write_replay
from node.sessions.showing.pictures import compare_pictures
from node.sessions.showing.report import render_recording, render_replay
from node.sessions.showing.seen import ReplayFiles, ReplaySeen, Signature
from node.verbs.sessions.session_results import ShownSession
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import describe
from protocol.page.showing.markup import MarkupLine, MarkupShown, WayShown
from protocol.recording.records.findings import Difference
from protocol.recording.records.session import Skipped
from protocol.recording.replays.call_log import PageLine
from protocol.recording.replays.replay import not_performed
from tests.session_samples import NODE, SESSION_ID, matched, sample_session
from tests.tables import each
from tests.unit.test_replay_files import PRICE, RED, STEPS, other, told

EVIL = "</style><script>alert(1)</script>\"'><img src=https://evil.example/x onerror=alert(1)>"
SIGNED = (
    Signature(what="session", by=NODE, name="anna"),
    Signature(what="replay report", by=NODE, name="", fault="x.y"),
)


def picture(text: str = "", size: tuple[int, int] = (80, 40)) -> bytes:
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).rectangle((10, 10, 10 + 4 * len(text), 20), fill="navy")
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


OLD, NEW = picture("ten"), picture("sold out")
RECORDED = {STEPS[0].screenshot: OLD}
PICTURES = ReplaySeen(pictures={1: OLD, 4: NEW})
HTML = render_replay(RED, RECORDED, PICTURES, SIGNED, made_ms=0)


class Seen(HTMLParser):
    """Elements, attributes and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += f"{data} "


def test_the_policy_allows_the_one_style_sheet_and_pictures_in_the_file() -> None:
    style = re.search(r"<style>(.*?)</style>", HTML, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert ("content", policy) in Seen(HTML).attributes


def test_recorded_and_met_picture_stand_side_by_side_with_their_difference() -> None:
    images = [value for name, value in Seen(HTML).attributes if name == "src"]
    old = f"data:image/png;base64,{base64.b64encode(OLD).decode()}"
    same, new = (data_address(compacted(data)) for data in (OLD, NEW))
    assert images[:2] == [old, same]  # step 1: the same picture, and nothing to mark
    assert images[-3:-1] == [old, new]
    assert images[-1] not in (old, new)
    seen = Seen(HTML)
    assert "the pictures are the same" in seen.text
    assert re.search(r"\d+\.\d % of the picture differs", seen.text)


def test_verdict_differences_refusals_and_signatures_are_in_it() -> None:
    report = msgspec.structs.replace(RED.replayed.report, blocked=("POST /buy",))
    shown = msgspec.structs.replace(RED, replayed=msgspec.structs.replace(RED.replayed, report=report))
    text = " ".join(Seen(render_replay(shown, {}, ReplaySeen(), SIGNED, made_ms=0)).text.split())
    for one in (
        "Replay: partial",
        "First at step 4, extract “price” from status “Total”",
        "extracted when it was recorded: 9.90",
        "9.90 Sold out",
        "POST /buy",
    ):
        assert one in text
    assert f"session anna {NODE} verified replay report {NODE} x.y" in text


def test_steps_that_were_not_reached_are_named_as_such() -> None:
    stopped = told(matched(STEPS[0]), not_performed(STEPS[1], "action.target_missing", 3))
    text = Seen(render_replay(stopped, {}, ReplaySeen(), (), made_ms=0)).text
    assert (text.count("not reached"), text.count("not performed")) == (2, 1)
    assert "action.target_missing" in text


@each(
    ("change", "pill"),
    [
        ({}, "matched"),
        ({"text": "masked"}, "matched"),
        ({"text": "differs"}, "matched, text differs"),
        ({"text": "numbers"}, "matched, numbers in the text differ"),
        ({"title": False}, "matched, title differs"),
    ],
)
def test_a_step_that_matched_at_its_level_only_is_not_shown_green(change: dict[str, object], pill: str) -> None:
    match = msgspec.structs.replace(matched(STEPS[0]), **change)
    html = render_replay(told(match, *map(matched, STEPS[1:])), {}, ReplaySeen(), (), made_ms=0)
    tag = "good" if pill == "matched" else "warn"
    assert f'<li class="step {tag}" id="step-1">' in html
    assert f'<span class="tag {tag}">{pill}</span>' in html.partition('id="step-2"')[0]


def test_refused_requests_and_errors_of_the_console_stand_at_their_step() -> None:
    report = msgspec.structs.replace(RED.replayed.report, blocked=("POST /buy", "GET /else"))
    shown = msgspec.structs.replace(RED, replayed=msgspec.structs.replace(RED.replayed, report=report))
    seen = ReplaySeen(console={2: ("TypeError: x is missing",)}, refused={2: ("POST /buy",)})
    html = render_replay(shown, {}, seen, (), made_ms=0)
    step = html.partition('id="step-2"')[2].partition('id="step-3"')[0]
    assert "<code>TypeError: x is missing</code>" in step and "<code>POST /buy</code>" in step
    assert (html.count("POST /buy"), html.count("TypeError")) == (1, 1)
    # What no step is known for is listed at the end.
    assert "<code>GET /else</code>" in html.partition('id="step-4"')[2]


def test_steps_that_an_import_left_out_are_listed_with_their_reason() -> None:
    left = Skipped(place="steps[3]", what="hover", reason="it has no element", before=2)
    session = msgspec.structs.replace(sample_session(STEPS), skipped=(left,))
    text = " ".join(
        Seen(render_replay(msgspec.structs.replace(RED, session=session), {}, ReplaySeen(), (), made_ms=0)).text.split()
    )
    assert "Steps that the import left out" in text and "2 steps[3] hover it has no element" in text
    assert "left out" not in Seen(HTML).text


def test_nothing_that_a_page_says_becomes_markup_or_an_address_to_load() -> None:
    """Guard: node/sessions/showing/report.py, _environment."""
    steps = [msgspec.structs.replace(step, title=EVIL, url=EVIL, extracted=EVIL, blocked=(EVIL,)) for step in STEPS]
    session = msgspec.structs.replace(sample_session(steps, title=EVIL), start_url=EVIL)
    said = Difference(step=4, what="extracted", recorded=EVIL, met=EVIL)
    replay = told(*map(matched, STEPS[:3]), other(4), differences=(said,), stopped=EVIL)
    replay = msgspec.structs.replace(
        replay,
        session=session,
        steps=tuple(
            msgspec.structs.replace(each, step=step, did=EVIL) for each, step in zip(replay.steps, steps, strict=True)
        ),
    )
    evil = (Signature(what=EVIL, by=NODE, name=EVIL, fault=EVIL),)
    recording = ShownSession(session=session, steps=tuple(steps), described=(EVIL,) * len(steps), signed_by=NODE)
    svg = b"<svg onload=alert(1)>"
    for html in (
        render_replay(replay, {STEPS[0].screenshot: svg}, ReplaySeen(pictures={4: svg}), evil, made_ms=0),
        render_recording(recording, {STEPS[0].screenshot: svg}, evil, made_ms=0),
    ):
        seen = Seen(html)
        assert not {"script", "img", "iframe", "object", "link", "base", "form"} & set(seen.tags)
        assert not [name for name, _ in seen.attributes if name.startswith("on")]
        assert {value[0] for name, value in seen.attributes if name in ("href", "src")} <= {"#"}
        assert EVIL in seen.text


def test_a_recording_shows_every_step_with_its_picture_and_outcome() -> None:
    failed = msgspec.structs.replace(STEPS[3], ok=False, error="action.target_missing")
    steps = (*STEPS[:2], msgspec.structs.replace(STEPS[2], unseen=True, console=("x is undefined",)), failed)
    shown = ShownSession(
        session=sample_session(steps),
        steps=steps,
        described=tuple(describe(step.action) for step in steps),
        signed_by=NODE,
    )
    seen = Seen(render_recording(shown, RECORDED, SIGNED, made_ms=0))
    assert [name for name, _ in seen.attributes if name == "src"] == ["src"] * 4
    assert "Recording: partial" in seen.text
    assert (seen.text.count("done"), "action.target_missing" in seen.text) == (3, True)
    assert (seen.text.count("it was never there"), seen.text.count("x is undefined")) == (1, 1)


# --- pictures --------------------------------------------------------------------------------------------------------


def test_what_differs_is_marked_red_and_the_rest_is_not() -> None:
    compared = compare_pictures(OLD, NEW)
    assert compared is not None
    changed = 4 * (len("sold out") - len("ten")) * 11  # columns times rows
    assert compared.per_mille == -(-1_000 * changed // (80 * 40))
    marked = Image.open(io.BytesIO(compared.marked)).convert("RGB")
    red = [
        (x, y)
        for x in range(80)
        for y in range(40)
        if (pixel := marked.getpixel((x, y))) and isinstance(pixel, tuple) and pixel[0] - pixel[1] > 100
    ]
    assert len(red) == changed
    assert {x for x, _ in red} == set(range(23, 43))


def test_equal_pictures_have_nothing_marked_even_in_other_bytes() -> None:
    image, out = Image.open(io.BytesIO(OLD)), io.BytesIO()
    image.save(out, "PNG", compress_level=0)
    assert out.getvalue() != OLD
    for other_bytes in (OLD, out.getvalue()):
        compared = compare_pictures(OLD, other_bytes)
        assert compared is not None
        assert (compared.per_mille, compared.marked) == (0, b"")


def test_pictures_of_other_sizes_are_compared_from_their_corner() -> None:
    compared = compare_pictures(OLD, picture("ten", (80, 60)))
    assert compared is not None
    assert compared.per_mille == -(-1_000 * 20 // 60)


def _blank(width: int, height: int) -> bytes:
    out = io.BytesIO()
    Image.new("1", (width, height)).save(out, "PNG")
    return out.getvalue()


def test_a_picture_that_is_none_or_claims_too_many_pixels_is_not_compared() -> None:
    """Guard: node/sessions/showing/pictures.py, _opened."""
    side = int(limits.PICTURE_PIXELS_MAX**0.5)
    largest, larger = (_blank(side, height) for height in (side, side + 1))
    assert len(larger) < 32 * 1024
    assert compare_pictures(largest, OLD) is not None
    for bad in (larger, b"", b"GIF89a", OLD[:40], OLD[:-30]):
        assert compare_pictures(OLD, bad) is None
        assert compare_pictures(bad, OLD) is None


# --- files -----------------------------------------------------------------------------------------------------------


async def blob(digest: bytes) -> bytes:
    if digest != STEPS[0].screenshot:
        raise MeshError("blob.missing")
    return OLD


async def test_the_page_is_for_its_owner_only_and_a_lost_picture_is_left_out(tmp_path: Path) -> None:
    files, other_file = ReplayFiles(html=str(tmp_path / "a.html")), tmp_path / "b.html"
    await write_replay(files, RED, blob, PICTURES, SIGNED, made_ms=0)
    steps = (msgspec.structs.replace(STEPS[0], screenshot=bytes(32)), *STEPS[1:])
    shown = ShownSession(session=sample_session(steps), steps=steps, described=("a", "b", "c", "d"))
    await write_recording(ReplayFiles(html=str(other_file)), shown, blob, (), made_ms=0)
    assert check(tmp_path) == {"a.html": 0o600, "b.html": 0o600}
    assert read(tmp_path / "a.html") == HTML
    assert "no picture" in read(other_file)
    assert SESSION_ID in read(other_file)


def check(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}


def read(path: Path) -> str:
    return path.read_text()


@pytest.mark.parametrize("code", ["store.corrupt"])
async def test_a_store_that_fails_ends_the_file(tmp_path: Path, code: str) -> None:
    async def failing(digest: bytes) -> bytes:
        raise MeshError(code)

    with pytest.raises(MeshError, match=re.escape(code)):
        await write_replay(ReplayFiles(html=str(tmp_path / "a.html")), RED, failing, ReplaySeen(), (), made_ms=0)
    assert PRICE in RED.replayed.differences
    assert check(tmp_path) == {}


def test_the_texts_of_both_pages_are_shown_beside_the_pictures_line_by_line() -> None:
    old = "\n".join(["- heading Mugs", *(f"- line {i}" for i in range(20)), f"- price £10 {EVIL}"])
    blobs = {STEPS[3].snapshot: old.encode()}
    seen = ReplaySeen(texts={4: old.replace("£10", "£12") + "\n- Sold out"})
    html = render_replay(RED, blobs, seen, (), made_ms=0)
    (shown,) = re.findall(r'<pre class="lines">(.*?)</pre>', html, re.DOTALL)
    assert shown.count("<del>") == 1 and shown.count("<ins>") == 2
    assert "<del>- - price £10 &lt;/style&gt;" in shown
    assert "<ins>+ - Sold out</ins>" in shown
    assert "line 19" in shown and "line 2\n" not in shown  # some lines around each change, and no more
    assert "<script" not in html
    assert '<pre class="lines">' not in HTML


def test_what_was_tried_at_the_step_that_failed_is_shown() -> None:
    ended = msgspec.structs.replace(
        RED.steps[-1], call_log=("click button “Buy”", "looked for css=#buy", f"near: button “{EVIL}”")
    )
    html = render_replay(msgspec.structs.replace(RED, steps=(*RED.steps[:-1], ended)), {}, ReplaySeen(), (), made_ms=0)
    text = Seen(html).text
    assert "What was tried" in text and "looked for css=#buy" in text
    assert "<script" not in html
    assert "What was tried" not in HTML


def test_the_page_at_which_a_replay_ended_is_shown_with_what_is_like_the_element_marked() -> None:
    page = (PageLine("- heading", False), PageLine(f'- button "{EVIL}"', True))
    index = RED.steps[-1].step.index
    html = render_replay(RED, {}, ReplaySeen(page={index: page}), (), made_ms=0)
    assert html.count("<mark>") == 1 and "<script" not in html
    assert "The page at which it ended" in Seen(html).text and "The page at which it ended" not in HTML


def test_the_document_of_the_page_is_shown_with_a_link_to_each_element_that_a_way_leads_to() -> None:
    """Of a replay and of a recording. What the page says in it is text."""
    lines = (MarkupLine("<p>", (), False), MarkupLine(f'<b title="{EVIL}">', (1, 2), True))
    ways = (WayShown("css=b", 1, (1,)), WayShown("", 1, (1,)))
    found = MarkupShown(lines, ways, "3 elements and texts after these are not shown")
    index = RED.steps[-1].step.index
    shown = ShownSession(session=sample_session(STEPS), steps=tuple(STEPS), described=("a", "b", "c", "d"))
    pages = (
        render_replay(RED, {}, ReplaySeen(documents={index: found}), (), made_ms=0),
        render_recording(shown, {}, (), made_ms=0, documents={index: found}),
    )
    for html in pages:
        seen = Seen(html)
        assert "<script" not in html and EVIL in seen.text
        assert seen.attributes.count(("href", f"#step-{index}-line-1")) == 2
        assert ("id", f"step-{index}-line-1") in seen.attributes
        assert "</mark> ← 1, 2 (not shown)" in html and "3 elements and texts after these" in seen.text
        assert "what is most like the element: 1 element" in " ".join(seen.text.split())
