"""The gate stands before every action: one function reaches a page, and nothing goes round it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from node.live.acting.driver import Driver, Gate
from node.live.finding.options import fit
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Fill, Goto, Locator, Select
from protocol.page.seen.observation import Element, Traits
from protocol.risk.pressing.classes import Risk
from protocol.risk.requests.requests import GuardPolicy
from tests.tables import each
from tests.twins.browser import Document, MemoryPage, MemorySite

ANY = Locator()
NODE = Path(__file__).parents[2] / "node"
MAY_REACH = {
    "live/acting/driver.py": 2,  # Driver.act: the action, and its page loaded again where the site had put it off
    "live/browsers/browsers.py": 1,  # the page that waits as long as the configuration says passes the call on
}
RECORDERS = {"recorder"}
"""What else has a method of this name: it records, and acts through ``Driver`` itself."""


def _uses(source: str) -> int:
    """How often ``.perform`` of something that is no recorder stands in a module, called or not."""
    return sum(
        isinstance(node, ast.Attribute)
        and node.attr == "perform"
        and not (isinstance(node.value, ast.Name) and node.value.id in RECORDERS)
        for node in ast.walk(ast.parse(source))
    )


def test_no_module_of_the_node_but_acting_performs_on_a_page() -> None:
    found = {str(path.relative_to(NODE)): _uses(path.read_text()) for path in NODE.rglob("*.py")}
    assert {name: count for name, count in found.items() if count} == MAY_REACH


@each(
    "source",
    ["await page.perform(action)", "await self._page.perform(action)", "act = page.perform", "f(x.page.perform)"],
)
def test_what_would_go_round_it_is_found(source: str) -> None:
    assert _uses(f"async def f(self, page, x):\n    {source}\n") == 1


async def test_what_the_gate_refuses_never_reaches_the_page() -> None:
    address = "http://shop.test/account/delete?id=1"
    site = MemorySite({address: Document(title="Gone", controls=())})
    reported = []

    async def report(action: Action, risk: Risk, admitted: bool) -> None:
        reported.append((action, admitted))

    driver = Driver(MemoryPage(site, GuardPolicy()), Gate(report=report))
    with pytest.raises(MeshError) as refused:
        await driver.act(Goto(url=address))
    assert refused.value.code == "risk.refused"
    assert driver.prepared is not None  # its class was judged, and that is all
    assert reported == [(Goto(url=address), False)]
    assert site.reached == []


def test_an_option_is_found_however_it_is_spaced_and_capitalised() -> None:
    element = Element(ref="e1", role="combobox", name="Sort", options=("Relevance", "Price,  low to high"))
    for value in ("price, low to high", "  Price, LOW\tto high ", "Price,  low to high"):
        assert fit(Fill(target=ANY, value=value), element) == Select(target=ANY, option="Price,  low to high")
    with pytest.raises(MeshError) as refused:
        fit(Fill(target=ANY, value="Price"), element)
    assert (refused.value.code, refused.value.detail["options"]) == ("action.not_possible", list(element.options))


@each("value", ["on", "Yes", "", "0"])
def test_a_check_box_is_not_filled_because_its_value_does_not_say_whether_it_is_checked(value: str) -> None:
    with pytest.raises(MeshError) as refused:
        fit(Fill(target=ANY, value=value), Element(ref="e1", role="checkbox", name="Remember"))
    assert refused.value.code == "action.not_possible"


def test_a_list_is_known_by_its_role_or_its_tag_and_a_field_stays_a_field() -> None:
    fill = Fill(target=ANY, value="Red")
    for role, tag in (("combobox", ""), ("listbox", ""), ("textbox", "select")):
        element = Element(ref="e1", role=role, name="Colour", options=("Red",), traits=Traits(tag=tag))
        assert fit(fill, element) == Select(target=ANY, option="Red")
    assert fit(fill, Element(ref="e1", role="textbox", name="Colour", options=("Red",))) == fill
    assert fit(fill, Element(ref="e1", role="combobox", name="Colour")) == fill
