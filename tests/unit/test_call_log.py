"""What is said of the step at which a replay ended: on the terminal, in files, and to programs."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Click, Locator, Wait, Within
from protocol.page.actions.evidence import ElementEvidence
from protocol.page.seen.observation import Element, Observation
from protocol.recording.replays.call_log import call_log, page_lines
from tests.given_secrets import as_params
from tests.session_samples import sample_steps
from tests.twins.browser import Control, Document
from tests.unit.test_sessions_handover import node_of
from tests.unit.test_sessions_room import ORIGIN, Bench

HOME = f"{ORIGIN}/"
FILE = f"start: {HOME}\nsteps:\n- click: {{role: button, name: Buy now}}\n- scroll: down\n"
ERROR = MeshError("action.target_missing", "no button “Buy now”")


def page(*named: tuple[str, str], title: str = "Shop") -> Document:
    return Document(
        title=title, controls=tuple(Control(element=Element(ref="", role=role, name=name)) for role, name in named)
    )


@pytest.fixture
async def bench() -> Bench:
    made = await node_of()
    made.site.documents[HOME] = page(("button", "Buy now"))
    return made


async def test_the_line_of_a_failing_step_names_it_its_element_and_what_is_there_instead(bench: Bench) -> None:
    done = await bench.record(FILE, approve_class=7)
    bench.site.documents[HOME] = page(("button", "Buy later"), ("button", "Sold out"), ("link", "Buy now!"))
    bench.told.clear()
    result = await bench.call("replay", session=done.id, approve_class=7, on_mismatch="go")
    first, second = bench.told
    assert first["matched"] is False and "instead of" in first["instead"]
    assert (second["action"], second["error"]) == ("click button “Buy now”", "action.target_missing")
    assert "no button “Buy now”; there is “Buy later”" in second["instead"]
    assert result.call_log == (
        "click button “Buy now”",
        "looked for button “Buy now”",
        "recorded was button “Buy now”",
        f"on “Shop” at {HOME}, with 3 elements",
        f"action.target_missing: {second['instead']}",
        "near: link “Buy now!”",
        "near: button “Buy later”",
    )


async def test_a_replay_that_came_through_has_no_call_log(bench: Bench) -> None:
    done = await bench.record(FILE, approve_class=7)
    result = await bench.call("replay", session=done.id, approve_class=7)
    assert (result.call_log, result.report.verdict) == ((), "pass")
    assert [event["instead"] for event in bench.told if "instead" in event] == ["", "", ""]


async def test_files_tell_what_was_tried_and_show_the_texts(bench: Bench, tmp_path: Path) -> None:
    done = await bench.record(FILE, approve_class=7)
    bench.site.documents[HOME] = page(("button", "Buy later"))
    html, junit = tmp_path / "a.html", tmp_path / "a.xml"
    await bench.call("replay", session=done.id, approve_class=7, on_mismatch="go", html=str(html), junit=str(junit))
    shown = html.read_text()
    assert "looked for button “Buy now”" in shown and "near: button “Buy later”" in shown
    assert "<del>- - button &#34;Buy now&#34;</del>" in shown
    assert "<ins>+ - button &#34;Buy later&#34;</ins>" in shown
    assert "near: button “Buy later”" in junit.read_text()


async def test_nothing_is_told_of_a_page_without_the_secrets_of_the_recording(bench: Bench) -> None:
    bench.site.documents[HOME] = page(("button", "Buy now"), ("heading", "hunter22"))
    done = await bench.record(FILE, approve_class=7, secrets=as_params(word="hunter22"))
    bench.site.documents[HOME] = page(("button", "Buy later"), ("heading", "hunter22"))
    bench.told.clear()
    result = await bench.call("replay", session=done.id, approve_class=7, on_mismatch="go")
    assert (result.call_log, result.secrets_missing) == ((), ("word",))
    assert "hunter22" not in repr(bench.told)


def test_a_call_log_is_redacted_and_says_what_was_recorded() -> None:
    evidence = ElementEvidence(role="button", name="Pay", alike=2, group="row", cells=("Beer", "", "3 €"))
    within = Within(role="row", text="Beer")
    click = Click(target=Locator(selectors=("css=#pay", "text=Pay"), frame="f1", within=within))
    step = type(sample_steps()[0][0])(
        index=1,
        action=click,
        ok=True,
        url="",
        title="",
        state=b"",
        risk=1,
        started_ms=0,
        duration_ms=0,
        evidence=evidence,
    )
    seen = Observation(
        url="https://x.test/?token=abc",
        title="of tell-nobody",
        text="",
        elements=(Element(ref="e1", role="link", name="Pay tell-nobody", states=("disabled",), context="Cart"),),
    )
    lines = call_log(step, ERROR, seen, {"word": "tell-nobody"})
    assert "tell-nobody" not in repr(lines)
    assert lines[1] == "looked for css=#pay, then text=Pay in frame f1, in row “Beer”"
    assert lines[2] == "recorded was button “Pay” in a row that said Beer · 3 €, one of 3 of this name"
    unnamed = msgspec.structs.replace(step, evidence=msgspec.structs.replace(evidence, name="", cells=()))
    assert "recorded was button without a name, one of 3 like it" in call_log(unnamed, ERROR, None, {})
    assert lines[3] == "on “of ‹secret:word›” at https://x.test/?token=REDACTED, with 1 element"
    assert call_log(step, ERROR, None, {})[-1] == "action.target_missing: no button “Buy now”"
    wait = type(step)(
        index=1, action=Wait(text="x"), ok=True, url="", title="", state=b"", risk=1, started_ms=0, duration_ms=0
    )
    assert len(call_log(wait, ERROR, seen, {})) == 3


def test_the_page_at_which_a_replay_ended_is_redacted_and_what_is_like_the_element_is_marked() -> None:
    steps, _ = sample_steps([Click(target=Locator(role="button", name="Buy now"))])
    names = ("Home", "Buy it now", "Sell")
    far = [f"- line {number}" for number in range(limits.PAGE_LINES_SHOWN_MAX)]
    text = "\n".join([*far, "- of tell-nobody", *(f'- button "{name}"' for name in names)])
    elements = tuple(Element(ref=f"e{number}", role="button", name=name) for number, name in enumerate(names))
    lines = tuple(range(len(far) + 1, len(far) + 4))
    page = Observation(url="https://x.test/", title="", text=text, elements=elements, lines=lines)
    step = msgspec.structs.replace(steps[0], evidence=None)
    shown = page_lines(step, page, {"word": "tell-nobody"})
    assert [line.text for line in shown if line.marked] == ['- button "Buy it now"']
    assert "- of ‹secret:word›" in [line.text for line in shown] and "tell-nobody" not in repr(shown)
    assert len(shown) <= limits.PAGE_LINES_SHOWN_MAX
    assert page_lines(msgspec.structs.replace(step, action=Wait(text="x")), page, {})[0].text == "- line 0"
