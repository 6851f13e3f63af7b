"""Replay uses the element that the author's selector matches, or stops: real Chromium, a list that changes meanwhile."""

from __future__ import annotations

import pytest

from adapters.ports.browser import Browser
from node.live.acting.driver import Gate
from node.live.recording.recorder import Recorder
from node.sessions.actions.action_files import parse_actions
from node.sessions.shared.replay_plan import ReplayResult
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Click, Locator
from protocol.risk.pressing.classes import Risk
from tests.e2e.test_record_replay import Node, recorded_by, replayed_by
from tests.gates import unreported
from tests.sites.pages.server import PageServer

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

BEER = "xpath=//tr[contains(.,'Beer')]//button"
WALK = """
title: Drop the beer
start: {url}/rows.html
steps:
  - click: {{selectors: ["{selector}"]}}
"""


def rows(*names: str, said: str = "Drop") -> str:
    """A table with a button in each row that asks the server to drop it."""
    lines = "".join(
        f"<tr><td>{name}</td><td><button type=button onclick=\"fetch('/dropped/{name}')\">{said}</button></td></tr>"
        for name in names
    )
    return f"<title>Rows</title><table>{lines}</table>"


def approved(action: Action, risk: Risk) -> bool:
    return True


GATE = Gate(report=unreported, approve=approved)


async def recorded(node: Node, browser: Browser, site: PageServer, selector: str = BEER) -> Recorder:
    """A session that drops the beer, third of three."""
    site.extra["/rows.html"] = rows("Ale", "Cider", "Beer")
    walk = parse_actions(WALK.format(url=site.origin, selector=selector).encode())
    recorder = await recorded_by(node, browser, walk.actions, url=walk.start_url, gate=GATE)
    assert dropped(site) == ["Beer"]
    return recorder


async def replayed(node: Node, browser: Browser, recorder: Recorder) -> ReplayResult:
    """Steps that write are performed also after a mismatch: what holds the click back is its target alone."""
    return await replayed_by(node, browser, recorder.session.id, gate=GATE, on_mismatch="go")


def dropped(site: PageServer) -> list[str]:
    """What was dropped since this was asked last."""
    names = [line.rpartition("/")[2] for line in site.reached if "/dropped/" in line]
    site.reached.clear()
    return names


async def test_a_replay_clicks_the_row_that_the_selector_names_wherever_it_stands(
    browser: Browser, node: Node, site: PageServer
) -> None:
    """With selectors, they decide."""
    recorder = await recorded(node, browser, site)
    click = recorder.steps[-1].action
    assert isinstance(click, Click)
    assert click.target == Locator(role="button", name="Drop", nth=2, selectors=(BEER,))
    site.extra["/rows.html"] = rows("Beer", "Cider", "Ale")
    again = await replayed(node, browser, recorder)
    assert dropped(site) == ["Beer"]
    assert again.report.steps[-1].performed


STOPS = {
    "gone": (
        rows("Ale", "Cider", "Wine"),
        "action.target_missing",
        f"nothing matches {BEER} (expected button “Drop”); nearest: ",
    ),
    "twice": (rows("Beer", "Ale", "Beer"), "action.target_ambiguous", f"{BEER} matches 2 visible elements"),
    "other name": (
        rows("Beer", said="Keep"),
        "action.target_differs",
        f"expected button “Drop”, found button “Keep” by {BEER}",
    ),
    "hidden": (
        rows("Ale", "Cider", "Wine") + rows("Beer").replace("<table", "<table hidden"),
        "action.not_possible",
        f"what {BEER} matches is not visible: the table",
    ),
}


async def test_a_replay_stops_without_a_click_when_the_selector_names_no_single_element_as_recorded(
    browser: Browser, node: Node, site: PageServer
) -> None:
    recorder = await recorded(node, browser, site)
    for name, (page, code, met) in STOPS.items():
        site.extra["/rows.html"] = page
        again = await replayed(node, browser, recorder)
        told = again.differences[-1]
        stopped = (dropped(site), again.report.steps[-1].error, told.what, told.met[: len(met)])
        assert (name, stopped) == (name, ([], code, "action", met))


async def test_a_hidden_link_is_refused_and_nothing_around_it_is_clicked(
    browser: Browser, node: Node, site: PageServer
) -> None:
    site.extra["/rows.html"] = (
        "<nav onclick=\"fetch('/dropped/nav')\">Menu<div id=sub style='display:none'><a href=/table.html>CPU</a></div></nav>"
    )
    walk = parse_actions(WALK.format(url=site.origin, selector="css=#sub a").encode())
    with pytest.raises(MeshError, match="not visible") as caught:
        await recorded_by(node, browser, walk.actions, url=walk.start_url, gate=GATE)
    assert caught.value.code == "action.not_possible"
    assert dropped(site) == []
    assert not any("table" in line for line in site.reached)


PLACED = """
title: Drop the beer
start: {url}/rows.html
steps:
  - click: {{role: button, name: Drop, nth: 2}}
  - click: {{role: button, name: Drop, within: {{role: row, text: Ale}}}}
"""


async def test_a_replay_by_role_and_name_drops_the_recorded_row_wherever_it_stands_and_no_other(
    browser: Browser, node: Node, site: PageServer
) -> None:
    """The row must say what was recorded of it."""
    site.extra["/rows.html"] = rows("Ale", "Cider", "Beer")
    walk = parse_actions(PLACED.format(url=site.origin).encode())
    recorder = await recorded_by(node, browser, walk.actions, url=walk.start_url, gate=GATE)
    assert dropped(site) == ["Beer", "Ale"]
    assert [step.evidence.cells for step in recorder.steps[1:] if step.evidence] == [("Beer", ""), ("Ale", "")]
    site.extra["/rows.html"] = rows("Beer", "Stout", "Ale", "Root Ale", said="\ue872 drop")
    again = await replayed(node, browser, recorder)
    assert dropped(site) == ["Beer", "Ale"]
    assert again.report.steps[-1].performed
    site.extra["/rows.html"] = rows("Ale", "Cider", "Wine")
    again = await replayed(node, browser, recorder)
    assert dropped(site) == []
    assert again.report.steps[-1].error == "action.target_differs"
    met = again.differences[-1].met
    assert "at “Beer”" in met
    assert "Wine" in met
