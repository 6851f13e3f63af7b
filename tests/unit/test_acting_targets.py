"""How ``prepare`` finds an element by the selectors of an action, on the in-memory browser."""

from __future__ import annotations

import contextlib

import pytest

from node.live.acting.preparing import Prepared, judged, prepare
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Click, Extract, Goto, Locator, target_of
from protocol.page.actions.evidence import ElementEvidence
from protocol.page.seen.observation import Element
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from tests.tables import each
from tests.twins.browser import Control, MemoryBrowser, site_of
from tests.unit.test_observation import card

ORIGIN = "http://targets.test"


def control(role: str, name: str, *selectors: str, hidden: bool = False) -> Control:
    return Control(element=Element(ref="", role=role, name=name), selectors=selectors, hidden=hidden)


ROWS = (
    control("button", "Drop", "css=.drop"),
    control("button", "Drop", "css=.drop", "css=#beer"),
    control("button", "Drop", "css=#hidden", hidden=True),
    control("status", "Total: 4", "css=#total"),
)


async def prepared(action: Action) -> Prepared:
    page = await (await MemoryBrowser(site_of(ORIGIN, {"/": ("Rows", ROWS)})).open(Profile(), GuardPolicy())).page()
    outcome = await page.perform(Goto(url=ORIGIN + "/"))
    ready, _ = await prepare(page, outcome.observation, action)
    return ready


@pytest.mark.parametrize(
    ("was", "now", "name", "code"),
    [
        ("switch", "tab", "Recent", ""),
        ("link", "button", "Recent", "action.target_differs"),
        ("switch", "tab", "", "action.target_differs"),
        ("switch", "checkbox", "Recent", "action.target_differs"),
        ("link", "generic", "Recent", "action.target_differs"),
        ("link", "button", "Delete account", "action.target_differs"),
    ],
)
async def test_a_control_that_was_built_anew_is_the_recorded_one_for_a_step_that_does_not_write(
    was: str, now: str, name: str, code: str
) -> None:
    site = site_of(ORIGIN, {"/": ("Rows", (control(now, name, "css=#it"),))})
    page = await (await MemoryBrowser(site).open(Profile(), GuardPolicy())).page()
    outcome = await page.perform(Goto(url=ORIGIN + "/"))
    click, evidence = (
        Click(target=Locator(role=was, name=name, selectors=("css=#it",))),
        ElementEvidence(role=was, name=name),
    )
    with pytest.raises(MeshError) if code else contextlib.nullcontext() as caught:
        await prepare(page, outcome.observation, click, evidence=evidence)
    assert not caught or caught.value.code == code
    with pytest.raises(MeshError):
        # What an author writes is no less than what is written.
        await prepare(page, outcome.observation, click)


def drop(*selectors: str, role: str = "", name: str = "", nth: int = 0, frame: str = "") -> Click:
    return Click(target=Locator(role=role, name=name, nth=nth, frame=frame, selectors=selectors))


async def test_the_element_that_a_selector_matches_is_stored_with_role_name_and_place() -> None:
    ready = await prepared(drop("css=#beer"))
    assert ready.ref == "e2"
    assert target_of(ready.action) == Locator(role="button", name="Drop", nth=1, selectors=("css=#beer",))


@pytest.mark.parametrize("nth", [0, 1, 7])
async def test_the_recorded_place_does_not_count_beside_a_selector(nth: int) -> None:
    """Guard: node/live/acting/preparing.py, prepare."""
    ready = await prepared(drop("css=#beer", role="button", name="Drop", nth=nth))
    assert ready.ref == "e2"
    assert target_of(ready.action) == Locator(role="button", name="Drop", nth=1, selectors=("css=#beer",))


async def test_a_selector_that_matches_nothing_gives_way_to_the_next() -> None:
    assert (await prepared(drop("css=#gone", "css=#beer"))).ref == "e2"


@pytest.mark.parametrize(
    ("action", "code", "message"),
    [
        (drop("css=#gone", role="button", name="Drop"), "action.target_missing", "expected button “Drop”"),
        (drop("css=#gone", "css=#lost"), "action.target_missing", "nothing matches css=#gone or css=#lost"),
        (drop("css=.drop", "css=#beer", role="button", name="Drop"), "action.target_ambiguous", "2 visible elements"),
        (drop("css=#hidden", "css=#beer"), "action.not_possible", "not visible"),
        (drop("css=#beer", role="link"), "action.target_differs", "expected link “”, found button “Drop” by css=#beer"),
        (drop("css=#beer", name="Keep"), "action.target_differs", "expected element “Keep”, found button “Drop”"),
        (drop("css=#beer", frame="f1"), "action.target_missing", "nothing matches css=#beer"),
        (drop("css=#total", role="status", name="Total: 3"), "action.target_differs", "found status “Total: 4”"),
        (
            Extract(name="total", target=Locator(role="button", name="Total: 4", selectors=("css=#total",))),
            "action.target_differs",
            "found status “Total: 4”",
        ),
        (Click(target=Locator()), "action.target_missing", "neither role, name nor selectors"),
    ],
)
async def test_no_other_element_is_taken_for_the_one_that_the_selectors_mean(
    action: Action, code: str, message: str
) -> None:
    """Guard: protocol/page/actions/locator.py, confirm. Role, name and place would have found an element in several of these
    cases."""
    with pytest.raises(MeshError) as caught:
        await prepared(action)
    assert caught.value.code == code
    assert message in caught.value.message


async def test_what_is_read_may_have_changed_its_name() -> None:
    target = Locator(role="status", name="Total: 3", selectors=("css=#total",))
    ready = await prepared(Extract(name="total", target=target))
    assert ready.ref == "e3"


async def test_a_name_is_compared_without_regard_to_case_and_space() -> None:
    assert (await prepared(drop("css=#beer", role="button", name=" drop "))).ref == "e2"


@each(("url", "level"), [("https://shop.example/mugs/7", 1), ("https://shop.example/mugs/7/delete", 7), ("", 4)])
def test_a_click_on_what_stands_in_a_control_has_the_class_of_the_control(url: str, level: int) -> None:
    """Guard: node/live/acting/preparing.py, judged."""
    page = card("link" if url else "button", url)
    action = Click(target=Locator(role="heading", name="Tidewater Mug"))
    assert judged(action, page.elements[1], page).level == level
    assert judged(action, page.elements[2], page).level == 4


BUTTONS = (
    control("button", "Keep", "css=#keep", "css=.first"),
    control("button", "Drop", "css=#drop", "css=.first + *", "css=.both"),
    control("button", "Lose", "css=.both"),
)


async def on_buttons(*selectors: str) -> Prepared:
    page = await (await MemoryBrowser(site_of(ORIGIN, {"/": ("B", BUTTONS)})).open(Profile(), GuardPolicy())).page()
    outcome = await page.perform(Goto(url=ORIGIN + "/"))
    ready, _ = await prepare(page, outcome.observation, drop(*selectors))
    return ready


async def test_selectors_that_find_two_elements_stop_the_step_and_both_are_named() -> None:
    """Guard: node/live/finding/selecting.py, selected."""
    with pytest.raises(MeshError) as caught:
        await on_buttons("css=#keep", "css=#drop")
    assert caught.value.code == "action.target_differs"
    assert caught.value.message == "css=#keep finds button “Keep”, but css=#drop finds button “Drop”"
    with pytest.raises(MeshError, match="aria/Keep finds button “Keep”, but css=#drop finds"):
        await on_buttons("aria/Keep", "css=#gone", "css=#drop")


async def test_selectors_after_the_first_that_find_none_or_several_elements_change_nothing() -> None:
    assert (
        await on_buttons("css=#drop", "css=.first + *", "css=#gone", "css=.both", 'aria/Drop[role="button"]')
    ).ref == "e2"
    with pytest.raises(MeshError) as caught:
        await on_buttons("css=.both", "css=#drop")
    assert caught.value.code == "action.target_ambiguous"


HEADER = (
    control("columnheader", "Price", "css=th", "css=.both"),
    control("link", "Price", "css=th a", "css=.both"),
    control("button", "Next", "css=#next"),
)


async def on_header(*selectors: str) -> Prepared:
    page = await (await MemoryBrowser(site_of(ORIGIN, {"/": ("B", HEADER)})).open(Profile(), GuardPolicy())).page()
    outcome = await page.perform(Goto(url=ORIGIN + "/"))
    ready, _ = await prepare(page, outcome.observation, Click(target=Locator(selectors=selectors)))
    return ready


async def test_a_later_selector_chooses_only_among_what_the_name_fits() -> None:
    """Guard: node/live/finding/selecting.py, selected."""
    assert (await on_header("aria/Price", "css=th a")).ref == "e2"
    assert (await on_header("aria/Price", "css=#gone", "css=.both", "css=th")).ref == "e1"
    for selectors, code, said in (
        (("aria/Price",), "action.target_ambiguous", "aria/Price matches 2"),
        (("aria/Price", "css=.both"), "action.target_ambiguous", "aria/Price matches 2"),
        (("aria/Price", "css=#next"), "action.target_ambiguous", "aria/Price matches 2"),
        (
            ("aria/Price", "css=th a", "css=th"),
            "action.target_differs",
            "css=th a finds link “Price”, but css=th finds",
        ),
    ):
        with pytest.raises(MeshError, match=said) as caught:
            await on_header(*selectors)
        assert caught.value.code == code
