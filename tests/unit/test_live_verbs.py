"""What the verbs of live sessions take and give: texts, secrets, options, pictures and pages."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import msgspec
import pytest

from node.live.sessions.acts import Act
from node.verbs.live import live
from node.verbs.live.live import Acted, Observed, PageList, Pictured
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Fill, Locator, Scroll
from protocol.page.seen.observation import Traits
from protocol.recording.records.verdict import Verdict
from tests.twins.browser import Effect
from tests.unit.test_live_sessions import ORIGIN, Bench, control, ref_of


@pytest.fixture
async def bench() -> Bench:
    made = Bench()
    await made.witness.load()
    return made


async def test_an_action_of_several_steps_says_what_all_of_them_did(bench: Bench) -> None:
    opened = await bench.open()
    acted: Acted = await bench.call("type", opened.session, ref="e2", text="mug", submit=True)
    assert acted.did == ("fill searchbox “Search” with “mug”", "press Enter in searchbox “Search”")
    assert (acted.session, acted.extracted, acted.settled, acted.dialogs) == (opened.session, "", True, ())
    assert (acted.observation.shows, acted.actions_left) == ("change", 197)
    extracted: Acted = await bench.call("act", opened.session, action="extract: {ref: e1, as: link}")
    assert (extracted.did, extracted.extracted) == (("extract “link” from link “Mugs”",), "Mugs")
    gone: Acted = await bench.call("navigate", opened.session, url=f"{ORIGIN}/mugs")
    assert (gone.extracted, gone.did) == ("", (f"open {ORIGIN}/mugs",))


async def test_an_agent_is_told_what_the_steps_note(bench: Bench) -> None:
    """Taken out: the notes of the recorder's steps in ``LiveSession.act``."""
    for address in (f"{ORIGIN}/", f"{ORIGIN}/mugs"):
        bench.site.documents[address] = msgspec.structs.replace(bench.site.documents[address], unfinished=True)
    opened = await bench.open()
    acted: Acted = await bench.call("navigate", opened.session, url=f"{ORIGIN}/mugs")
    assert all("the page was still loading" in each.notes for each in (opened, acted))
    extracted: Acted = await bench.call("act", opened.session, action="scroll: {direction: down}")
    assert "the page was still loading" not in extracted.notes


async def test_several_actions_have_the_highest_of_their_classes(bench: Bench) -> None:
    home = bench.site.documents[f"{ORIGIN}/"]
    traits = Traits(tag="input", form_method="post", form_action="/save")
    note = control("textbox", "Note", traits=traits)
    bench.site.documents[f"{ORIGIN}/"] = msgspec.structs.replace(home, controls=(note, *home.controls))
    opened = await bench.open(approve_class=7)
    session = bench.live._open[opened.session]
    write = Fill(target=Locator(role="textbox", name="Note"), value="x")
    for actions in ((write, Scroll()), (Scroll(), write)):
        acted = await session.act([Act(each) for each in actions])
        assert (acted.risk, len(acted.did)) == (3, 2)
    assert (await session.act([Act(Scroll())])).risk == 1


async def test_typing_takes_a_text_or_a_secret_and_choosing_takes_one_option(bench: Bench) -> None:
    opened = await bench.open()
    both = await bench.refused("type", opened.session, ref="e2", text="a", secret="word")
    assert both.code == "input.invalid"
    with pytest.raises(msgspec.ValidationError):
        await bench.call("select", opened.session, ref="e4", values=[])
    assert (await bench.refused("type", opened.session, ref="e2", secret="word")).code.startswith("action.secret")
    missing = await bench.refused("select", opened.session, ref="e4", values=["Weight"])
    assert missing.code == "action.not_possible"
    assert await bench.verdicts(opened.session) == [(Verdict.OPEN, 3)]


async def test_waiting_takes_seconds_and_records_milliseconds(bench: Bench) -> None:
    opened = await bench.open()
    await bench.call("wait", opened.session, text="Welcome", time=1.5)
    await bench.call("wait", opened.session)
    (recorded,) = (await bench.call("show", opened.session)).recorded
    steps = await bench.store.steps(recorded.id)
    assert [getattr(step.action, "timeout_ms", 0) for step in steps] == [0, 1_500, 5_000]
    assert [getattr(step.action, "text", "") for step in steps] == ["", "Welcome", ""]


async def test_an_action_keeps_the_time_that_its_caller_gave_it(bench: Bench) -> None:
    opened = await bench.open()
    await bench.call("press", opened.session, key="Tab", timeout=1.5)
    await bench.call("act", opened.session, action="{press: Tab, timeout: 7s}")
    (recorded,) = (await bench.call("show", opened.session)).recorded
    assert [step.action.timeout_ms for step in await bench.store.steps(recorded.id)] == [0, 1_500, 7_000]


async def test_a_picture_is_given_or_written_and_a_page_that_opened_nothing_has_one_too(
    bench: Bench, tmp_path: Path
) -> None:
    opened, out = await bench.open(), tmp_path / "page.png"
    given: Pictured = await bench.call("screenshot", opened.session)
    written: Pictured = await bench.call("screenshot", opened.session, out=str(out))
    image = out.read_bytes()
    assert (given.session, given.bytes, given.out) == (opened.session, len(image), "")
    assert base64.b64decode(given.png) == image
    assert out.stat().st_mode & 0o777 == 0o600, "a page can show what is for nobody else"
    assert written == Pictured(session=opened.session, bytes=len(image), png="", out=str(out))
    refused = await bench.refused("screenshot", opened.session, out=str(tmp_path))
    assert (refused.code, str(tmp_path) in refused.message) == ("input.invalid", True)
    await bench.call("pages", opened.session, action="new")
    assert (await bench.call("screenshot", opened.session)).bytes == len(image)


async def test_a_page_is_closed_by_its_index_and_the_current_one_stays_current(bench: Bench) -> None:
    """Pages 0 to 3, of which number 2 is the current one."""
    for closed, left in ((0, [1, 2, 3]), (3, [0, 1, 2]), (2, [0, 1, 3]), (None, [0, 1, 3])):
        opened = await bench.open(pages=4)
        names = ["Shop", "Mugs", "Shop", "Mugs"]
        for path in ("/mugs", "/", "/mugs"):
            await bench.call("pages", opened.session, action="new", url=ORIGIN + path)
        before = (await bench.call("pages", opened.session, action="select", index=2)).pages
        assert [(page.index, page.current, page.title) for page in before] == [
            (index, index == 2, name) for index, name in enumerate(names)
        ]
        given: dict[str, Any] = {} if closed is None else {"index": closed}
        listed: PageList = await bench.call("pages", opened.session, action="close", **given)
        current = 2 if closed in (3, 2, None) else 1
        assert [page.recorded for page in listed.pages] == [before[index].recorded for index in left]
        assert [page.current for page in listed.pages] == [index == current for index in range(3)]
        assert len(bench.started[-1]._contexts[-1].pages) == 3  # it is closed in the browser too
        assert listed.observation is not None and listed.observation.page == current
        await bench.call("close", opened.session)


async def test_a_page_that_is_not_there_is_named_with_the_last_one_that_is(bench: Bench) -> None:
    opened = await bench.open(pages=2)
    await bench.call("pages", opened.session, action="new")
    for name in ("select", "close"):
        for index in (-1, 2):
            refused = await bench.refused("pages", opened.session, action=name, index=index)
            assert (refused.code, refused.message) == (
                "input.not_found",
                f"there is no page {index}: the last one is 1",
            )
    many = await bench.refused("pages", opened.session, action="new")
    assert (many.code, many.message) == ("input.too_large", "at most 2 pages may be open: close one first")
    assert [page.current for page in (await bench.call("pages", opened.session)).pages] == [False, True]
    await bench.call("pages", opened.session, action="close")
    refused = await bench.refused("pages", opened.session, action="close", index=0)
    assert refused.code == "input.invalid"
    assert await bench.verdicts(opened.session) == [(Verdict.OPEN, 1)]


async def test_a_page_that_was_opened_by_another_is_no_page_of_the_session(bench: Bench) -> None:
    home = bench.site.documents[f"{ORIGIN}/"]
    beside = control("button", "Beside", effect=Effect(popup="/mugs"))
    bench.site.documents[f"{ORIGIN}/"] = msgspec.structs.replace(home, controls=(beside,))
    opened = await bench.open(approve_class=7)
    acted: Acted = await bench.call("click", opened.session, ref="e1")
    assert (acted.observation.page, acted.observation.title) == (0, "Mugs")
    assert len((await bench.call("pages", opened.session)).pages) == 1


async def test_an_id_is_asked_for_on_the_page_on_which_it_was_seen(bench: Bench) -> None:
    opened = await bench.open()
    await bench.call("pages", opened.session, action="new", url=f"{ORIGIN}/mugs")
    refused = await bench.refused("click", opened.session, ref="e5")
    assert (refused.code, refused.message) == ("live.stale_ref", "e5 button “Buy now” is not on the page now")
    await bench.call("pages", opened.session, action="select", index=0)
    assert (await bench.call("click", opened.session, ref="e1")).did == ("click link “Mugs”",)


async def test_a_field_is_cleared_by_an_empty_text_and_by_no_call_that_gives_none(bench: Bench) -> None:
    opened = await bench.open()
    await bench.call("type", opened.session, ref="e2", text="mug")
    refused = await bench.refused("type", opened.session, ref="e2")
    assert (refused.code, "an empty text clears" in refused.message) == ("input.invalid", True)
    seen: Observed = await bench.call("snapshot", opened.session)
    assert any(line.endswith('searchbox "Search": mug') for line in seen.lines)
    acted: Acted = await bench.call("type", opened.session, ref="e2", text="")
    assert acted.did == ("clear searchbox “Search”",)
    assert acted.observation.lines == ("# 1 field holds what was given",)
    with pytest.raises(msgspec.ValidationError):
        await bench.call("type", opened.session, ref="e2", text="x" * (limits.ACTION_TEXT_CHARS_MAX + 1))


async def test_the_owner_approves_one_action_with_the_verb_that_does_it(bench: Bench) -> None:
    bench.browsers._attached = True
    opened = await bench.open()
    buy = ref_of(opened.observation, "Buy now")
    assert (await bench.refused("click", opened.session, ref=buy, approve_class=1)).code == "risk.refused"
    await bench.call("click", opened.session, ref=buy, approve_class=7)
    assert (await bench.refused("click", opened.session, ref=buy)).code == "risk.refused"
    for verb in (live.CLICK, live.TYPE, live.SELECT, live.PRESS, live.ACT):
        assert "approve_class" in verb.owner_fields, verb.name


async def test_an_approval_reaches_the_gate_whichever_verb_brings_it(bench: Bench) -> None:
    bench.browsers._attached = True
    opened = await bench.open()
    cases: list[tuple[str, dict[str, Any]]] = [
        ("type", {"text": "mug"}),
        ("select", {"values": ["Price"]}),
        ("press", {"key": "Enter"}),
        ("click", {}),
    ]
    for name, params in cases:
        for approve_class, refused_by_gate in ((0, True), (7, False)):
            # A button is no control that takes a text or an option: whoever passes the gate is told so by the page.
            seen: Observed = await bench.call("snapshot", opened.session)
            given = params if name == "press" else {**params, "ref": ref_of(seen, "Buy now")}
            code = ""
            try:
                await bench.call(name, opened.session, **given, approve_class=approve_class)
            except MeshError as error:
                code = error.code
            assert (code == "risk.refused") is refused_by_gate, (name, code)
