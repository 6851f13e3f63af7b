"""Assertions: written in a file, judged on a page, recorded, replayed, and what a person is told of one that failed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from adapters.ports.browser import Page
from node.live.acting.driver import Driver, Gate
from node.sessions.actions.action_files import parse_actions
from protocol.errors import MeshError
from protocol.page.actions.action import Assert, Goto, Locator, Wait, describe
from protocol.page.actions.assertion import Seen, fits_response, found, holds
from protocol.page.seen.observation import Element, Traits
from protocol.recording.records.verdict import Verdict
from protocol.risk.requests.requests import GuardPolicy
from tests.gates import unreported
from tests.given_secrets import given_all
from tests.tables import each
from tests.twins.browser import Control, Document, MemoryPage, MemorySite
from tests.unit.test_sessions_handover import node_of
from tests.unit.test_sessions_room import ORIGIN, Bench

HOME = f"{ORIGIN}/"
BUTTON = Locator(role="button", name="Buy")


def written(step: str) -> Assert:
    (_, action) = parse_actions(f"start: {HOME}\nsteps:\n- assert: {step}".encode()).actions
    assert isinstance(action, Assert)
    return action


@each(
    ("step", "made"),
    [
        ("In stock", Assert(what="text", expected="In stock", match="contains")),
        ("{text: In stock, match: is}", Assert(what="text", expected="In stock")),
        ("{title: Mugs, soft: yes, timeout_ms: 90}", Assert(what="title", expected="Mugs", soft=True, timeout_ms=90)),
        ("{address: /mugs, match: contains}", Assert(what="address", expected="/mugs", match="contains")),
        ("{role: button, name: Buy, enabled: yes}", Assert(what="enabled", target=BUTTON)),
        ("{role: button, name: Buy, enabled: no}", Assert(what="disabled", target=BUTTON)),
        ("{role: button, name: Buy, visible: no}", Assert(what="hidden", target=BUTTON)),
        ("{role: button, name: Buy, hidden: no}", Assert(what="visible", target=BUTTON)),
        ("{role: button, name: Buy, checked: no}", Assert(what="unchecked", target=BUTTON)),
        ("{role: button, name: Buy, count: 3}", Assert(what="count", expected="3", target=BUTTON)),
        ("{role: button, name: Buy, value: ''}", Assert(what="value", target=BUTTON)),
        (
            '{selectors: ["css=a"], attribute: href, is: /mugs}',
            Assert(what="attribute", attribute="href", expected="/mugs", target=Locator(selectors=("css=a",))),
        ),
    ],
)
def test_an_assertion_is_written_by_what_it_is_about(step: str, made: Assert) -> None:
    assert written(step) == made


@each(
    ("step", "words"),
    [
        ("''", "`text` is empty"),
        ("{text: ' '}", "`text` is empty"),
        ("{title: a, text: b}", "exactly one of"),
        ("{role: button, name: Buy}", "exactly one of"),
        ("{name: Buy, text: a}", "needs `role`"),
        ("{role: button, title: a}", "about the page"),
        ("{visible: yes}", "assert visible needs `role`"),
        ("{count: 3}", "assert count needs `role`"),
        ("{role: button, count: many}", "whole number"),
        ("{role: button, visible: maybe}", "yes or no"),
        ("{role: button, attribute: href}", "needs `is: VALUE`"),
        ("{role: button, attribute: '', is: a}", "`attribute` is empty"),
        ("{role: button, attribute: href, is: '', match: contains}", "`is` is empty"),
        ("{title: a, is: b}", "`is` belongs to"),
        ("{role: button, visible: yes, match: is}", "no meaning"),
        ("{title: a, match: like}", "match"),
        ("{title: a, sooft: yes}", "unknown key"),
    ],
)
def test_an_assertion_that_says_too_little_or_too_much_is_refused(step: str, words: str) -> None:
    with pytest.raises(MeshError) as caught:
        written(step)
    assert caught.value.code == "input.invalid"
    assert words in caught.value.message


def element(*states: str, role: str = "button", **more: Any) -> Element:
    return Element(ref="e1", role=role, name="Buy", states=states, **more)


@each(
    ("what", "seen", "true", "said"),
    [
        ("visible", Seen(count=1, element=element()), True, "visible"),
        ("visible", Seen(), False, "no such element"),
        ("visible", Seen(count=2), False, "2 such elements"),
        ("hidden", Seen(), True, "hidden"),
        ("hidden", Seen(count=2), False, "visible"),
        ("enabled", Seen(count=1, element=element()), True, "enabled"),
        ("enabled", Seen(count=1, element=element("disabled")), False, "disabled"),
        ("enabled", Seen(), False, "no such element"),
        ("disabled", Seen(count=1, element=element("disabled")), True, "disabled"),
        ("disabled", Seen(), False, "no such element"),
        ("checked", Seen(count=1, element=element("checked", role="checkbox")), True, "checked"),
        ("checked", Seen(count=1, element=element("checked=mixed", role="checkbox")), False, "checked=mixed"),
        ("unchecked", Seen(count=1, element=element("checked=mixed", role="checkbox")), False, "checked=mixed"),
        ("unchecked", Seen(count=1, element=element(role="checkbox")), True, "unchecked"),
        ("unchecked", Seen(count=1, element=element()), False, "a button, which cannot be checked"),
        ("checked", Seen(count=1, element=element()), False, "a button, which cannot be checked"),
        ("unchecked", Seen(), False, "no such element"),
        ("text", Seen(count=1, element=element(), text=" Add\n to "), True, "“Add to”"),
        ("text", Seen(count=1, element=element(), text="Add to cart"), False, "“Add to cart”"),
        ("text", Seen(count=1, element=element(), text="add to"), False, "“add to”"),
        ("value", Seen(count=1, element=element()), False, "nothing that may be read"),
        ("attribute", Seen(count=1, element=element()), False, "no such attribute"),
        ("text", Seen(), False, "no such element"),
    ],
)
def test_an_assertion_holds_only_of_what_was_seen(what: Any, seen: Seen, true: bool, said: str) -> None:
    assertion = Assert(what=what, expected="Add to", target=BUTTON)
    assert holds(assertion, seen) is true
    assert found(assertion, seen) == said


def test_a_long_text_is_shown_around_what_was_expected() -> None:
    assertion = Assert(what="text", expected="price £10", match="contains")
    text = "word " * 200 + "price £12" + " word" * 200
    said = found(assertion, Seen(text=text))
    assert "price £12" in said
    assert len(said) < 220


# --- on a page -------------------------------------------------------------------------------------------------------


def shop(*, sold_out: bool = False, more: tuple[Control, ...] = ()) -> Document:
    states = ("disabled",) if sold_out else ()
    return Document(
        title="Shop",
        controls=(
            Control(element=Element(ref="", role="button", name="Buy", states=states), selectors=("css=#buy",)),
            Control(element=Element(ref="", role="link", name="Mug", url="/1"), attributes=(("href", "/1"),)),
            Control(element=Element(ref="", role="link", name="Mug", url="/2"), selectors=("css=a.two",)),
            Control(
                element=Element(
                    ref="", role="textbox", name="Password", traits=Traits(tag="input", input_type="password")
                )
            ),
            Control(element=Element(ref="", role="button", name="Ghost"), hidden=True, selectors=("css=#ghost",)),
            *more,
        ),
        text=("Sold out" if sold_out else "In stock",),
    )


class Changing(MemoryPage):
    """A page that changes while it is waited for."""

    def __init__(self, site: MemorySite, after: int) -> None:
        super().__init__(site, GuardPolicy())
        self.pauses: list[int] = []
        self._changes_after = after

    async def pause(self, pause_ms: int, *, ahead_ms: int = 0) -> None:
        self.pauses.append(pause_ms)
        if len(self.pauses) == self._changes_after:
            self.become(shop(sold_out=True))


async def driver(page: Page, **secrets: str) -> Driver:
    made = Driver(page, Gate(report=unreported), given_all(secrets, HOME))
    await made.act(Goto(url=HOME))
    return made


async def outcome(page: Page, step: str, **secrets: str) -> MeshError | None:
    made = await driver(page, **secrets)
    try:
        await made.act(written(step))
    except MeshError as error:
        return error
    return None


def changing(after: int = 0, document: Document | None = None) -> Changing:
    return Changing(MemorySite({HOME: document or shop()}), after)


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        (f"{{address: '{HOME}'}}", "{address: 'http://else.test/'}", f"found “{HOME}”"),
        ("{title: Shop}", "{title: Sho}", "found “Shop”"),
        ("In stock", "Sold out", "In stock"),
        ("{role: button, name: Buy, text: Buy, match: is}", "{role: button, name: Buy, text: Sell}", "found “Buy”"),
        ("{role: button, name: Buy, enabled: yes}", "{role: button, name: Buy, enabled: no}", "found enabled"),
        (
            "{role: button, name: Sell, visible: no}",
            "{role: button, name: Sell, visible: yes}",
            "found no such element",
        ),
        (
            '{selectors: ["css=#ghost"], hidden: yes}',
            '{selectors: ["css=#ghost"], visible: yes}',
            "found one that cannot be seen",
        ),
        ("{role: link, name: Mug, count: 2}", "{role: link, name: Mug, count: 1}", "found 2"),
        ("{role: link, count: 2}", "{role: button, count: 2}", "found 1"),
        ('{selectors: ["css=a.two"], count: 1}', '{selectors: ["css=a.none"], count: 1}', "found 0"),
        (
            "{role: link, name: Mug, nth: 0, attribute: href, is: /1}",
            "{role: link, name: Mug, nth: 0, attribute: src, is: /1}",
            "found no such attribute",
        ),
        ('{selectors: ["css=a.none"], visible: no}', '{selectors: ["css=a.two"], visible: no}', "found visible"),
        (
            "{role: textbox, name: Password, visible: yes}",
            "{role: textbox, name: Password, value: ''}",
            "found nothing that may be read",
        ),
    ],
)
async def test_what_is_on_the_page_holds_and_what_is_not_fails(right: str, wrong: str, said: str) -> None:
    assert await outcome(changing(), right) is None
    failed = await outcome(changing(), wrong)
    assert failed is not None
    assert failed.code == "action.assertion_failed"
    assert said in failed.message
    assert failed.detail["found"] in failed.message


async def test_an_assertion_waits_for_what_comes_and_no_longer_than_its_time() -> None:
    page = changing(after=3)
    assert await outcome(page, "Sold out") is None
    assert page.pauses == [100, 250, 500]
    page = changing()
    assert await outcome(page, "{text: Sold out, timeout_ms: 900}") is not None
    assert page.pauses == [100, 250, 500, 50]


async def test_a_selector_that_cannot_be_read_hides_nothing() -> None:
    page = changing()
    made = await driver(page)
    with pytest.raises(MeshError) as caught:
        await made.act(Assert(what="hidden", target=Locator(selectors=("#buy",))))
    assert (caught.value.code, page.pauses) == ("action.target_missing", [])


async def test_a_secret_is_asserted_and_told_by_its_name() -> None:
    document = msgspec.structs.replace(shop(), text=("Hello swordfish",))
    assert await outcome(changing(document=document), "Hello swordfish", word="swordfish") is None
    failed = await outcome(changing(document=document), "Bye swordfish", word="swordfish")
    assert failed is not None
    assert "swordfish" not in f"{failed.message}{failed.detail}"
    assert "Hello ‹secret:word›" in failed.detail["found"]


ROWS = tuple(
    control
    for name, states in (("Tea", ()), ("Milk", ("disabled",)), ("Cup", ()), ("Cup", ()))
    for control in (
        Control(element=Element(ref="", role="row", name=name)),
        Control(element=Element(ref="", role="button", name="Buy", states=states), selectors=("css=.buy",), level=1),
    )
)


@pytest.mark.parametrize(
    ("step", "true"),
    [
        ("{role: button, name: Buy, within: {role: row, name: Milk}, enabled: no}", True),
        ("{role: button, name: Buy, within: {role: row, name: Tea}, enabled: no}", False),
        ("{role: button, name: Buy, within: {role: row, name: Milk}, count: 1}", True),
        ("{role: button, name: Buy, count: 5}", True),
        ('{selectors: ["css=.buy"], within: {role: row, name: Milk}, enabled: no}', True),
        ('{selectors: ["css=.buy"], count: 4}', True),
        ("{role: button, name: Sell, within: {role: row, name: Milk}, hidden: yes}", True),
        ("{role: button, name: Buy, within: {role: row, name: Milk}, hidden: yes}", False),
        ("{role: button, name: Buy, within: {role: row, name: Wine}, hidden: yes}", True),
        ("{role: button, name: Buy, within: {role: row, name: Wine}, visible: yes}", False),
        ('{role: button, name: Buy, within: "css=#none", count: 0}', True),
        ('{role: button, name: Sell, within: "css=#ghost", hidden: yes}', True),
    ],
)
async def test_an_assertion_about_a_row_sees_only_what_is_in_the_row(step: str, true: bool) -> None:
    failed = await outcome(changing(document=shop(more=ROWS)), step)
    assert (failed is None) is true
    assert failed is None or failed.code == "action.assertion_failed"


@pytest.mark.parametrize("demanded", ["hidden: yes", "count: 2"])
async def test_rows_that_cannot_be_told_apart_hide_nothing_and_are_not_counted(demanded: str) -> None:
    step = f"{{role: button, name: Sell, within: {{role: row, name: Cup}}, {demanded}}}"
    failed = await outcome(changing(document=shop(more=ROWS)), step)
    assert failed is not None
    assert failed.code == "action.target_ambiguous"


# --- recorded and replayed -------------------------------------------------------------------------------------------


@pytest.fixture
async def bench() -> Bench:
    made = await node_of()
    made.site.documents[HOME] = shop()
    return made


def file(*steps: str) -> str:
    return f"start: {HOME}\nsteps:\n" + "\n".join(f"- {step}" for step in steps)


async def test_a_hard_assertion_that_fails_ends_the_recording_with_what_was_found(bench: Bench) -> None:
    refused = await bench.refused("record", actions=file("assert: {title: Mugs, timeout_ms: 1}", "scroll: down"))
    assert (refused.code, refused.detail["step"]) == ("action.assertion_failed", 2)
    assert refused.message == "expected the title to be “Mugs”, found “Shop”"
    (kept,) = await bench.store.sessions()
    step = (await bench.store.steps(kept.id))[-1]
    assert (kept.verdict, kept.steps) == (Verdict.PARTIAL, 2)
    assert (step.ok, step.error, step.extracted, step.held) == (False, "action.assertion_failed", "“Shop”", "failed")
    assert kept.reason == "step 2: the assertion did not hold"
    assert bench.told[-1]["did"] == "expect the title to be “Mugs”: found “Shop”"


async def test_after_a_soft_assertion_that_fails_the_recording_goes_on_and_is_no_pass(bench: Bench) -> None:
    steps = ("assert: {title: Mugs, soft: yes, timeout_ms: 1}", "assert: In stock", "scroll: down")
    refused = await bench.refused("record", actions=file(*steps))
    assert (refused.code, refused.detail["step"]) == ("action.assertion_failed", 2)
    (kept,) = await bench.store.sessions()
    assert [step.ok for step in await bench.store.steps(kept.id)] == [True, False, True, True]
    assert kept.verdict is Verdict.PARTIAL


async def test_a_replay_ends_red_at_a_hard_assertion_that_fails_and_passes_where_it_holds(bench: Bench) -> None:
    done = await bench.record(file("assert: {text: In stock, timeout_ms: 1}", "scroll: down"))
    assert (await bench.call("replay", session=done.id)).report.verdict == "pass"
    bench.site.documents[HOME] = shop(sold_out=True)
    replayed = await bench.call("replay", session=done.id)
    assert [(match.performed, match.held, match.error) for match in replayed.report.steps][1:] == [(True, False, "")]
    assert (replayed.report.verdict, replayed.report.level) == ("partial", "asserted")
    assert (replayed.report.reason, replayed.stopped_at) == ("step 2: the assertion did not hold", 2)
    assert "found “Buy Mug Mug Password Ghost Sold out”" in replayed.differences[-1].met
    shown = await bench.call("show", session=done.id)
    assert [report.id for report in shown.reports][-1:] and not shown.reports_refused


async def test_a_replay_goes_on_after_a_soft_assertion_that_fails_and_its_report_is_accepted(bench: Bench) -> None:
    done = await bench.record(file("assert: {text: In stock, soft: yes, timeout_ms: 1}", "scroll: down"))
    bench.site.documents[HOME] = shop(sold_out=True)
    replayed = await bench.call("replay", session=done.id)
    assert [(match.index, match.held) for match in replayed.report.steps] == [(1, True), (2, False), (3, True)]
    assert (replayed.report.verdict, replayed.stopped_at) == ("partial", 0)
    shown = await bench.call("show", session=done.id)
    assert ([report.id for report in shown.reports], shown.reports_refused) == ([replayed.report.id], ())


async def test_a_hard_assertion_that_fails_ends_a_replay_at_every_level(bench: Bench) -> None:
    done = await bench.record(file("assert: {text: In stock, timeout_ms: 1}", "scroll: down"))
    bench.site.documents[HOME] = shop(sold_out=True)
    report = (await bench.call("replay", session=done.id, level="performed")).report
    assert [(match.index, match.matched) for match in report.steps] == [(1, True), (2, True)]
    assert (report.verdict, report.reason) == ("partial", "not every step was performed")
    assert not (await bench.call("show", session=done.id)).reports_refused


async def test_an_asserted_address_is_expected_at_the_origin_of_the_replay(bench: Bench) -> None:
    other = "http://staging.test"
    done = await bench.record(file(f"assert: {{address: '{HOME}', timeout_ms: 1}}"))
    bench.site.documents[f"{other}/"] = shop()
    replayed = await bench.call("replay", session=done.id, base_url=other)
    assert [match.performed for match in replayed.report.steps] == [True, True]


# --- of the recorded element, and no other ---------------------------------------------------------------------------


def rows(*names: str, ticked: str = "", alike: str = "Done") -> Document:
    """A table with a box in each row; ``ticked`` names the row whose box is checked."""
    controls: list[Control] = []
    for place, name in enumerate(names):
        states = ("checked",) if name == ticked else ()
        box = Element(ref="", role="checkbox", name=alike, states=states)
        at = (f"css=#row{place} input", "css=.box") if place == 0 else (f"css=#row{place} input",)
        controls += [
            Control(element=Element(ref="", role="row", name=f"{name} {alike}")),
            Control(element=Element(ref="", role="cell", name=name), level=1),
            Control(element=box, level=1, selectors=at),
        ]
    return Document(title="Tasks", controls=tuple(controls))


@pytest.mark.parametrize(
    "target", ["role: checkbox, name: Done, nth: 1", 'selectors: ["css=#row1 input"]'], ids=["place", "selector"]
)
async def test_a_replay_is_not_content_with_the_state_of_another_row(bench: Bench, target: str) -> None:
    """Guard: node/live/finding/asserting.py, _agreeing."""
    bench.site.documents[HOME] = rows("Tea", "Milk", "Rum", ticked="Milk")
    done = await bench.record(file(f"assert: {{{target}, checked: yes, timeout_ms: 1}}"))
    assert (await bench.store.steps(done.id))[-1].evidence is not None
    assert (await bench.call("replay", session=done.id)).report.verdict == "pass"
    # The row moved on: what stands in its place now is checked, and the recorded one is not.
    bench.site.documents[HOME] = rows("Milk", "Tea", "Rum", ticked="Tea")
    replayed = await bench.call("replay", session=done.id)
    assert replayed.report.steps[-1].held is False
    assert replayed.report.verdict == "partial"


async def test_a_row_that_moved_is_found_by_what_it_says(bench: Bench) -> None:
    bench.site.documents[HOME] = rows("Tea", "Milk", "Rum", ticked="Milk")
    done = await bench.record(
        file("assert: {role: checkbox, name: Done, nth: 1, checked: yes, timeout_ms: 1}", "assert: {title: Tasks}")
    )
    bench.site.documents[HOME] = rows("Milk", "Tea", "Rum", ticked="Milk")
    assert (await bench.call("replay", session=done.id)).report.verdict == "pass"
    bench.site.documents[HOME] = rows("Tea", "Rum", "Gin", ticked="Rum")
    replayed = await bench.call("replay", session=done.id)
    assert "checkbox “Done” at “Milk”" in replayed.differences[-1].met


async def test_the_name_of_what_a_selector_finds_may_change_and_its_role_may_not(bench: Bench) -> None:
    bench.site.documents[HOME] = rows("Tea", ticked="Tea", alike="Done 1 minute ago")
    done = await bench.record(file('assert: {selectors: ["css=.box"], checked: yes, timeout_ms: 1}'))
    bench.site.documents[HOME] = rows("Tea", ticked="Tea", alike="Done 2 days ago")
    assert (await bench.call("replay", session=done.id)).report.steps[-1].held
    switch = Control(element=Element(ref="", role="switch", name="Done", states=("checked",)), selectors=("css=.box",))
    bench.site.documents[HOME] = Document(title="Tasks", controls=(switch,))
    replayed = await bench.call("replay", session=done.id)
    assert replayed.report.steps[-1].held is False
    assert "a switch, recorded was a checkbox" in replayed.differences[-1].met


async def test_that_something_is_visible_is_true_of_any_such_element(bench: Bench) -> None:
    bench.site.documents[HOME] = rows("Tea", "Milk")
    done = await bench.record(file("assert: {role: checkbox, name: Done, visible: yes, timeout_ms: 1}"))
    assert (await bench.store.steps(done.id))[-1].evidence is None
    bench.site.documents[HOME] = rows("Rum", "Gin")
    assert (await bench.call("replay", session=done.id)).report.steps[-1].held


@each(
    ("wait", "fits"),
    [
        (Wait(response="/save"), True),
        (Wait(response="/api/*?id=7", method="POST"), True),
        (Wait(response="https://shop.example/*save"), True),
        (Wait(response="/save", method="GET"), False),
        (Wait(response="id=7*save"), False),
        (Wait(response="/save*save"), False),
    ],
)
def test_an_answer_is_known_by_method_and_parts_of_its_address(wait: Wait, fits: bool) -> None:
    assert fits_response(wait, "POST", "https://shop.example/api/save?id=7") is fits


@each(
    ("text", "words"),
    [
        ("{response: /save, method: POST}", ""),
        ("{still_ms: 500, timeout_ms: 900}", ""),
        ("{response: '*'}", "part of an address"),
        ("{method: POST}", "needs `response`"),
        ("{response: /a, text: b}", "one of"),
        ("{response: /a, method: post}", "method"),
        ("{still_ms: 90000}", "still_ms"),
    ],
)
def test_waits_for_answers_and_stillness_are_written(text: str, words: str) -> None:
    file = f"start: {HOME}\nsteps:\n- wait: {text}".encode()
    if not words:
        assert describe(parse_actions(file).actions[1]).startswith("wait ")
        return
    with pytest.raises(MeshError, match=words):
        parse_actions(file)
