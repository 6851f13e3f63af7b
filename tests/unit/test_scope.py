"""Looking for an element inside another one, and ``aria/`` selectors: what is found, and every way to be refused."""

from __future__ import annotations

from typing import Any

import pytest

from node.live.acting.driver import Driver, Gate
from protocol.errors import MeshError
from protocol.page.actions.action import Click, Goto, Locator, Within
from protocol.page.actions.locator import by_aria
from protocol.page.actions.scope import container, node_of, part, stands_in
from protocol.page.seen.observation import Element, Observation
from protocol.risk.requests.requests import GuardPolicy
from tests.gates import unreported
from tests.tables import each
from tests.twins.browser import Control, Document, MemoryPage, MemorySite

HOME = "http://shop.test/"


def control(role: str, name: str, level: int, *selectors: str) -> Control:
    return Control(element=Element(ref="", role=role, name=name), level=level, selectors=selectors)


PAGE = Document(
    title="Cellar",
    controls=(
        control("row", "Beer 3 Edit", 0, "css=.row", "css=#beer"),
        control("cell", "Beer", 1),
        control("button", "Edit", 1),
        control("row", "Root Beer 4 Edit", 0, "css=.row"),
        control("cell", "Root Beer", 1),
        control("button", "Edit", 1),
        control("row", "outer", 0),
        control("cell", "Wine", 1),
        control("row", "inner", 1),
        control("cell", "Wine", 2),
        control("button", "Open", 2),
        control("button", "Open", 0),
    ),
)


async def observed() -> Observation:
    page = MemoryPage(MemorySite({HOME: PAGE}), GuardPolicy())
    return (await page.perform(Goto(url=HOME))).observation


async def clicked(**fields: Any) -> str:
    """The name of what is clicked with this locator, and of what it stands in; else the error code and message."""
    driver = Driver(MemoryPage(MemorySite({HOME: PAGE}), GuardPolicy()), Gate(report=unreported, risk_max=7))
    await driver.act(Goto(url=HOME))
    try:
        await driver.act(Click(target=Locator(**fields)))
    except MeshError as error:
        return f"{error.code}: {error.message}"
    assert driver.prepared is not None
    element, page = driver.prepared.element, driver.prepared.observation
    assert element is not None
    around = [item.name for item in page.elements if stands_in(element, item, page)]
    return f"{element.name} in {around[-1] if around else 'the page'}"


@pytest.mark.parametrize(
    ("within", "name"),
    [
        (Within(role="row", text="Beer"), "Beer 3 Edit"),  # not “Root Beer”, which only holds the word
        (Within(role="row", text="Root"), "Root Beer 4 Edit"),
        (Within(role="row", name="root beer 4  edit"), "Root Beer 4 Edit"),
        (Within(role="row", text="Wine"), "inner"),  # the row within the row
    ],
)
async def test_the_container_is_the_one_that_says_the_text_as_a_whole(within: Within, name: str) -> None:
    assert container(within, "", await observed()).name == name


@pytest.mark.parametrize(
    ("within", "frame", "code", "said"),
    [
        (Within(role="row", text="Gin"), "", "action.target_missing", "no row “Gin” to look in"),
        (Within(role="row", name="Beer"), "", "action.target_missing", "no row “Beer” to look in"),
        (Within(role="dialog", text="Beer"), "", "action.target_missing", "no dialog “Beer” to look in"),
        (Within(role="row", text="Beer"), "f1", "action.target_missing", "no row “Beer” to look in"),
        (Within(role="row", text="Edit"), "", "action.target_ambiguous", "2 fit row “Edit” to look in"),
        (Within(role="row"), "", "action.target_ambiguous", "4 fit row to look in"),
        (Within(role="dialog"), "", "action.target_missing", "no dialog to look in"),
    ],
)
async def test_no_container_or_several_are_refused_by_what_was_looked_for(
    within: Within, frame: str, code: str, said: str
) -> None:
    with pytest.raises(MeshError) as caught:
        container(within, frame, await observed())
    assert (caught.value.code, caught.value.message) == (code, said)


async def test_what_is_not_in_the_tree_stands_nowhere_and_holds_nothing() -> None:
    page = await observed()
    for ref in ("e999", "n999", "f1n999", ""):
        stranger = Element(ref=ref, role="button", name="Edit")
        assert node_of(stranger, page) == -1
        assert not stands_in(stranger, page.elements[0], page)
        assert not stands_in(page.elements[0], stranger, page)
        assert part(stranger, page).elements == ()
    assert part(None, page) is page
    assert not stands_in(page.elements[0], page.elements[0], page)


@pytest.mark.parametrize(
    ("fields", "result"),
    [
        (
            {"role": "button", "name": "Edit", "within": Within(role="row", text="Root Beer")},
            "Edit in Root Beer 4 Edit",
        ),
        ({"role": "button", "name": "Edit", "within": Within(selectors=("css=#beer",))}, "Edit in Beer 3 Edit"),
        (
            {"role": "button", "name": "Open", "within": Within(role="row", text="Beer")},
            "action.target_missing: no button “Open”",
        ),
        (
            {"role": "button", "name": "Edit", "within": Within(role="row", text="Gin")},
            "action.target_missing: no row “Gin” to look in",
        ),
        (
            {"role": "button", "name": "Edit", "within": Within(selectors=("css=.row",))},
            "action.target_ambiguous: css=.row matches 2 visible elements",
        ),
        (
            {"role": "button", "name": "Edit", "within": Within(selectors=("css=#gin",))},
            "action.target_missing: nothing matches css=#gin",
        ),
        (
            {"selectors": ('aria/Edit[role="button"]',), "within": Within(role="row", text="Beer")},
            "Edit in Beer 3 Edit",
        ),
        ({"selectors": ("aria/Open",), "within": Within(role="row", text="Wine")}, "Open in inner"),
        ({"selectors": ("aria/Edit",)}, "action.target_ambiguous: aria/Edit matches 2 visible elements"),
        ({"selectors": ("aria/Sell", 'aria/Wine[role="link"]')}, "action.target_missing: nothing matches aria/Sell or"),
        ({"selectors": ("aria/",)}, "action.target_missing: a selector must start with"),
    ],
)
async def test_an_element_is_found_inside_of_what_is_given_or_the_reason_is_said(
    fields: dict[str, Any], result: str
) -> None:
    said = await clicked(**fields)
    assert said.startswith(result)


@each(
    ("selector", "wanted"),
    [
        ("aria/Go", Locator(name="Go", frame="f1")),
        ('aria/Go[role="button"]', Locator(role="button", name="Go", frame="f1")),
        ('aria/[role="button"]', Locator(role="button", frame="f1")),
        ("aria/A [b]", Locator(name="A [b]", frame="f1")),
        ("css=a", None),
    ],
)
def test_an_aria_selector_is_a_name_with_or_without_a_role(selector: str, wanted: Locator | None) -> None:
    assert by_aria(selector, "f1") == wanted


async def test_a_role_alone_is_enough_for_the_only_one() -> None:
    link = Document(
        title="One", controls=(control("dialog", "", 0), control("link", "Yes", 1), control("link", "No", 0))
    )
    page = MemoryPage(MemorySite({HOME: link}), GuardPolicy())
    seen = (await page.perform(Goto(url=HOME))).observation
    outer = container(Within(role="dialog"), "", seen)
    assert [item.name for item in part(outer, seen).elements] == ["Yes"]
