"""Pages larger than most: they are read to their end, and where a bound cuts one, nothing is concluded of what lies behind it."""

from __future__ import annotations

import pytest

from adapters.ports.browser import Page
from node.live.acting.driver import Driver, Gate
from protocol import limits
from protocol.errors import MeshError
from protocol.goal.condition import Condition, ElementTest, judge
from protocol.page.actions.action import Action, Assert, Click, Extract, Locator, Wait, Within
from protocol.page.seen.observation import Cut
from protocol.page.showing.element_ids import ElementIds
from protocol.page.showing.outline import outline
from tests.gates import unreported
from tests.sites.pages.server import PageServer
from tests.sites.pages.visits import shown

pytestmark = pytest.mark.asyncio(loop_scope="module")
ROWS = 500
ROW = "<tr><td><a href=/part?{0}>Part {0}</a><td>{0}<td><button onclick=\"document.title = 'pressed'\">Pick</button>"
HEAD = "<h1>Parts</h1><table id=all><tr><th>Part<th>Number<th>Choice"
END = "</table><div role=alert>Sold out</div><button id=end onclick=\"document.title = 'more'\">Show more</button>"
MORE = Locator(role="button", name="Show more")
PICK = Locator(role="button", name="Pick")


def rows(count: int) -> str:
    return HEAD + "".join(ROW.format(n) for n in range(count)) + END


async def outcome(driver: Driver, action: Action) -> str:
    """The code of the error that ``action`` ends in; empty if it is done."""
    driver.observation = None
    try:
        await driver.act(action)
    except MeshError as error:
        return error.code
    return ""


def asserted(what: str, target: Locator, expected: str = "") -> Assert:
    return Assert(what=what, target=target, expected=expected, timeout_ms=1)  # type: ignore[arg-type]


async def test_a_page_of_thousands_of_controls_is_read_to_its_end(page: Page, site: PageServer) -> None:
    seen = await shown(page, site, rows(ROWS))
    assert not seen.cut
    driver = Driver(page, Gate(report=unreported, risk_max=4))
    steps: dict[Action, str] = {
        asserted("hidden", MORE): "action.assertion_failed",
        asserted("hidden", Locator(role="alert")): "action.assertion_failed",
        asserted("count", PICK, str(ROWS)): "",
        asserted("count", PICK, str(ROWS - 1)): "action.assertion_failed",
        asserted("hidden", Locator(role="button", name="Show less")): "",
        Click(target=Locator(role="button", name="Pick", within=Within(role="row", text=f"Part {ROWS - 1}"))): "",
        Click(target=MORE): "",
    }
    assert {action: await outcome(driver, action) for action in steps} == steps
    assert driver.observation is not None
    assert driver.observation.title == "more"


@pytest.mark.parametrize(
    ("bound", "most", "cut"),
    [("OBSERVATION_ELEMENTS_MAX", 40, "elements"), ("SNAPSHOT_LINES_MAX", 60, "lines")],
)
async def test_nothing_is_concluded_of_what_lies_behind_the_end_of_a_page_that_is_cut(
    page: Page, site: PageServer, monkeypatch: pytest.MonkeyPatch, bound: str, most: int, cut: str
) -> None:
    monkeypatch.setattr(limits, bound, most)
    seen = await shown(page, site, rows(30))
    assert [each.bound for each in seen.cut] == [cut]
    assert "left out" in outline(ElementIds().name(seen, {}))[-1][1]
    driver = Driver(page, Gate(report=unreported, risk_max=4))
    first = Within(role="row", text="Part 0")
    table = Locator(selectors=("css=#all",))
    unknown: list[Action] = [
        asserted("hidden", MORE),
        Wait(target=MORE, state="hidden", timeout_ms=1),
        asserted("visible", MORE),
        asserted("count", PICK, "30"),
        asserted("count", MORE, "0"),
        asserted("hidden", Locator(selectors=('aria/Show more[role="button"]',))),
        asserted("enabled", Locator(role="link", name="Part 0")),
        Assert(what="cell", row="Part 0", column="Number", expected="0", target=table, timeout_ms=1),
        Assert(what="order", column="Number", expected="ascending", target=table, timeout_ms=1),
        Assert(what="hidden", target=Locator(role="button", name="Pick", within=first), timeout_ms=1),
        Click(target=MORE),
        Click(target=Locator(role="link", name="Part 0")),
        Click(target=Locator(role="button", name="Pick", within=first)),
        Extract(name="more", target=MORE),
    ]
    known: dict[Action, str] = {
        asserted("visible", PICK): "",
        asserted("hidden", PICK): "action.assertion_failed",
        asserted("hidden", Locator(selectors=("css=#end",))): "action.assertion_failed",
        asserted("hidden", Locator(selectors=("css=#none",))): "",
        asserted("count", Locator(selectors=("css=button >> text=Pick",)), "1"): "action.assertion_failed",
        Click(target=Locator(role="button", name="Pick", nth=2)): "",
        Click(target=Locator(selectors=("css=a >> nth=0",))): "",
    }
    assert {action: await outcome(driver, action) for action in unknown} == dict.fromkeys(unknown, "page.cut")
    assert {action: await outcome(driver, action) for action in known} == known


async def test_a_frame_whose_document_never_comes_leaves_the_rest_of_its_page_readable(
    page: Page, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken out: the look at ``children`` in ``read_far_labels``, ``Facts.awaited``, ``Camera._with_documents``."""
    monkeypatch.setattr(limits, "SETTLE_TIMEOUT_MS", 1)
    held = site.origin.replace("127.0.0.1", "localhost") + "/held.html"
    seen = await shown(page, site, f"<h1>K</h1><iframe src=/held.html></iframe><iframe src={held}></iframe><button>Bad")
    assert [(each.bound, each.left_out) for each in seen.cut] == [("frames", 2)]
    assert (await page.screenshot()).startswith(b"\x89PNG")
    driver = Driver(page, Gate(report=unreported, risk_max=4))
    bad, inner = Locator(role="button", name="Bad"), Locator(role="button", name="Bad", frame="f1")
    steps: dict[Action, str] = {
        asserted("hidden", bad): "action.assertion_failed",
        asserted("count", inner, "0"): "page.cut",
        Click(target=bad): "",
    }
    assert {action: await outcome(driver, action) for action in steps} == steps
    for text, is_met in (("Bad", True), ("Good", None)):
        assert judge(Condition(text=text), seen) == is_met
    site.hold.set()


async def test_a_condition_is_neither_met_nor_missed_by_what_was_not_read(page: Page, site: PageServer) -> None:
    seen = await shown(page, site, rows(2))
    part = type(seen)(
        url=seen.url,
        title=seen.title,
        text=seen.text,
        elements=seen.elements[:3],
        cut=(Cut(bound="lines", left_out=9),),
    )
    gone = Condition(element=ElementTest(role="button", name="show more"))
    there = Condition(element=ElementTest(role="heading", name="parts"))
    judged = [
        gone,
        Condition(not_=gone),
        Condition(any=(gone, there)),
        Condition(all=(gone, Condition(not_=there))),
        there,
    ]
    assert [judge(each, part) for each in judged] == [None, None, True, False, True]
    assert [judge(each, seen) for each in judged] == [True, False, True, False, True]


async def test_what_the_pointer_passes_through_is_seen_and_counted_and_what_shows_nothing_is_not(
    page: Page, site: PageServer
) -> None:
    notices = "<div style='pointer-events: none'><div role=alert>Saved</div><button>Undo</button></div>"
    await shown(page, site, f"<button>Undo</button><div role=status></div>{notices}<dialog>Closed</dialog>")
    driver = Driver(page, Gate(report=unreported, risk_max=4))
    alert, undo = Locator(role="alert"), Locator(role="button", name="Undo")
    steps: dict[Action, str] = {
        asserted("hidden", alert): "action.assertion_failed",
        asserted("visible", alert): "",
        asserted("text", alert, "Saved"): "",
        asserted("count", alert, "1"): "",
        asserted("count", undo, "2"): "",
        asserted("hidden", Locator(role="status")): "",
        asserted("count", Locator(role="status"), "0"): "",
        asserted("hidden", Locator(role="dialog")): "",
    }
    assert {action: await outcome(driver, action) for action in steps} == steps
