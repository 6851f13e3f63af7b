"""``trailmesh snapshot``: every line that it prints means the element it was printed for, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.ports.browser import Browser
from node.live.acting.preparing import prepare
from node.sessions.actions.action_files import parse_actions
from node.sessions.actions.looking import take
from node.verbs.sessions.page import SnapshotParams
from protocol.page.actions.action import Goto, Hover, target_of
from protocol.page.actions.locator import fitting
from protocol.page.actions.scope import container, part
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from tests.mesh_nodes import CONFIG, cli, shop
from tests.sites.pages.server import PageServer

pytestmark = pytest.mark.browser

PAGES = ("/form.html", "/frames.html", "/table.html", "/targets.html")
SHOP = ("/", "/c/mugs", "/login")


@pytest.mark.asyncio(loop_scope="session")
async def test_each_line_means_exactly_its_element(browser: Browser, tmp_path: Path) -> None:
    server = PageServer()
    await server.start()
    context = await browser.open(Profile(), GuardPolicy())
    try:
        with shop(tmp_path) as (there, _):
            page = await context.page()
            for url in (*(server.origin + path for path in PAGES), *(there + path for path in SHOP)):
                await page.perform(Goto(url=url))
                observation = await page.observe()
                taken = await take(page, observation, SnapshotParams(url=url, limit=120))
                assert len(taken.elements) > 5, url
                by_place = 0
                chosen = await take(page, observation, SnapshotParams(url=url, limit=1, text="LINK", actions_only=True))
                assert [item.role for item in chosen.elements] == ["link"]
                assert "assert" not in "".join(chosen.elements[0].lines)
                for element in taken.elements:
                    text = f"start: {url}\nsteps:\n" + "".join(f"  - {line}\n" for line in element.lines)
                    for action in parse_actions(text.encode()).actions[1:]:
                        target = target_of(action)
                        assert target is not None
                        found, seen = await prepare(page, observation, Hover(target=target))
                        assert found.ref == element.ref, (url, element.lines, found.element)
                        if not target.selectors and not element.only_by_place:
                            outer = None if target.within is None else container(target.within, target.frame, seen)
                            assert len(fitting(target, part(outer, seen))) == 1, (url, element.lines)
                    by_place += element.only_by_place
                assert by_place <= 6, f"{url}: what else tells them apart must be used"
    finally:
        await context.close()
        await server.stop()


def test_the_command_needs_no_node_and_prints_an_action_file(tmp_path: Path) -> None:
    config, file = tmp_path / "config.yaml", tmp_path / "shop.yaml"
    config.write_text(CONFIG)
    with shop(tmp_path) as (there, effects):
        status, out, err = cli("snapshot", f"{there}/login", "--config", str(config))
        assert (status, err) == (0, "")
        assert "value: {secret: password}" in out
        file.write_text(out)
        assert cli("actions", "check", str(file))[0] == 0
        assert not effects.exists() or not effects.read_text()
