"""New tabs: held beside each other, recorded, replayed, and demanded by ``expect``."""

from __future__ import annotations

import pytest

from protocol.page.seen.observation import Element
from tests.twins.browser import Control, Document, Effect
from tests.unit.test_sessions_handover import node_of
from tests.unit.test_sessions_room import ORIGIN, Bench

STEPS = f"start: {ORIGIN}/\nsteps:\n- click: {{role: link, name: Mugs}}\n"
EXPECTED = STEPS + "  expect: {tab: yes}"
THERE_AND_BACK = STEPS + "- switch_tab: 1\n- click: {role: link, name: Mugs}\n- switch_tab: 2\n- close_tab:\n"
NONE = "step 2: no new tab was opened, as expected"


def opens(bench: Bench, *, tab: bool) -> None:
    """From now on the link opens its page in a new tab, or in its own."""
    link = Element(ref="", role="link", name="Mugs", url="/mugs")
    effect = Effect(popup="/mugs") if tab else Effect()
    bench.site.documents[f"{ORIGIN}/"] = Document(title="Shop", controls=(Control(element=link, effect=effect),))


@pytest.fixture
async def bench() -> Bench:
    made = await node_of()
    opens(made, tab=True)
    return made


async def test_a_new_tab_comes_to_the_front_and_stands_in_the_step(bench: Bench) -> None:
    done = await bench.record(STEPS)
    shown = await bench.call("show", session=done.id)
    assert [(step.tab, step.on_tab, step.title) for step in shown.steps] == [(False, 1, "Shop"), (True, 2, "Mugs")]


async def test_each_step_is_done_in_the_tab_in_front_and_a_replay_follows(bench: Bench) -> None:
    done = await bench.record(THERE_AND_BACK)
    shown = await bench.call("show", session=done.id)
    assert [(step.on_tab, step.title) for step in shown.steps] == [
        (1, "Shop"),
        (2, "Mugs"),
        (1, "Shop"),
        (3, "Mugs"),
        (2, "Mugs"),
        (3, "Mugs"),
    ]
    assert (await bench.call("replay", session=done.id)).report.verdict == "pass"


async def test_a_step_of_a_tab_that_did_not_open_is_not_done_in_another_one(bench: Bench) -> None:
    done = await bench.record(STEPS + "- extract: {role: heading, name: Tin mug, as: mug}\n")
    opens(bench, tab=False)
    report = (await bench.call("replay", session=done.id)).report
    assert [(match.performed, match.error) for match in report.steps] == [
        (True, ""),
        (True, ""),
        (False, "action.tab_missing"),
    ]


async def test_an_action_that_is_to_open_a_tab_must_open_one(bench: Bench) -> None:
    done = await bench.record(EXPECTED)
    assert done.verdict == "pass"
    assert (await bench.call("replay", session=done.id)).report.verdict == "pass"
    opens(bench, tab=False)
    report = (await bench.call("replay", session=done.id)).report
    assert (report.verdict, report.reason, report.steps[1].matched) == ("partial", NONE, False)
    done = await bench.record(EXPECTED)
    assert (done.verdict, done.reason) == ("partial", NONE)


async def test_an_error_of_an_earlier_tab_brings_those_of_a_later_one_into_no_other_step(bench: Bench) -> None:
    bench.site.documents[f"{ORIGIN}/mugs"] = Document(title="Mugs", console=("in the second tab",))
    bench.site.documents[f"{ORIGIN}/cups"] = Document(title="Cups", console=("in the first tab",))
    done = await bench.record(STEPS + f"- switch_tab: 1\n- goto: {ORIGIN}/cups\n")
    shown = await bench.call("show", session=done.id)
    assert [step.console for step in shown.steps] == [(), ("in the second tab",), (), ("in the first tab",)]
