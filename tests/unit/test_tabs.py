"""New tabs: followed in the page, recorded, and demanded by ``expect``."""

from __future__ import annotations

import pytest

from protocol.page.observation import Element
from tests.twins.browser import Control, Document, Effect
from tests.unit.test_sessions_handover import node_of
from tests.unit.test_sessions_room import ORIGIN, Bench

STEPS = f"start: {ORIGIN}/\nsteps:\n- click: {{role: link, name: Mugs}}\n"
EXPECTED = STEPS + "  expect: {tab: yes}"
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


async def test_a_new_tab_is_followed_and_stands_in_the_step(bench: Bench) -> None:
    done = await bench.record(STEPS)
    shown = await bench.call("show", session=done.id)
    assert [(step.tab, step.title) for step in shown.steps] == [(False, "Shop"), (True, "Mugs")]


async def test_an_action_that_is_to_open_a_tab_must_open_one(bench: Bench) -> None:
    done = await bench.record(EXPECTED)
    assert done.verdict == "pass"
    assert (await bench.call("replay", session=done.id)).report.verdict == "pass"
    opens(bench, tab=False)
    report = (await bench.call("replay", session=done.id)).report
    assert (report.verdict, report.reason, report.steps[1].matched) == ("partial", NONE, False)
    done = await bench.record(EXPECTED)
    assert (done.verdict, done.reason) == ("partial", NONE)
