"""The gate stands before every action: one function reaches a page, and nothing goes round it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from adapters.browser.memory import Document, MemoryPage, MemorySite
from node.live.acting import Driver, Gate
from protocol.errors import MeshError
from protocol.page.action import Action, Goto
from protocol.risk.classes import GuardPolicy, Risk

NODE = Path(__file__).parents[2] / "node"
MAY_REACH = {
    "live/acting.py": 1,  # Driver.act
    "live/browsers.py": 1,  # the page that waits as long as the configuration says passes the call on
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


@pytest.mark.parametrize(
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
