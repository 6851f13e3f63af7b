"""A site that renews a login at each page and says it back: nothing of it stays of a replay or of a search with the capsule."""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from node.api.node import Node
from protocol.errors import MeshError
from tests.canaries import found_in, layers
from tests.e2e.logins import SHOWN, KeptLogin, actions, ask, refusal
from tests.e2e.test_canaries_capsule import cells
from tests.login_site import LoginSite

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

_PAGE = """<title>Account NEW</title><h1>Welcome anna</h1><p>your session is NEW</p><p hidden>and still NEW</p>
<a href=/orders>Orders</a> <a href=/more title="more of NEW">More of NEW</a> <a href=/shown>Shown</a>
<button aria-label="Look at NEW">Look</button>
<button onclick="fetch('/orders').then(answer => answer.text()).then(
  text => fetch('/seen/' + /session is (.+?)<[/]p>/.exec(text)[1], {method: 'POST'}))">Send</button>
<script>console.error('session NEW'); localStorage.setItem('token', 'STORED'); document.title += localStorage.getItem('token');
if ('PATH' === 'shown') setTimeout(() => { document.body.append(' and later STORED'); }, 300);</script>"""


class RenewingSite(LoginSite):
    """Each page renews a cookie and an entry of storage, and says both in every way that a page can."""

    def __init__(self) -> None:
        super().__init__(rotates=True)
        self.made: list[str] = []

    def _page(self, path: str, given: str) -> web.Response:
        session, stored = (secrets.token_urlsafe(24) for _ in range(2))
        self.made += (session, stored)
        text = _PAGE.replace("NEW", session).replace("STORED", stored).replace("PATH", path)
        answer = web.Response(text=text, content_type="text/html")
        self.sessions = {session}
        answer.set_cookie("sid", session, httponly=True)
        return answer

    def canaries(self) -> dict[str, bytes]:
        """All that it has made until now."""
        return {f"value {number}": value.encode() for number, value in enumerate(self.made)}


def left_in(directory: Path, site: RenewingSite, *told: object) -> set[tuple[str, str]]:
    """Where a value is found: in files, in the cells of the store, or in what was ``told``."""
    values = site.canaries()
    every = [(path.name, path.read_bytes()) for path in directory.rglob("*") if path.is_file()]
    assert {"store.db"} <= {name for name, _ in every}
    every += [("told", msgspec.json.encode(each)) for each in told]
    found = {(name, hit) for name, data in every for layer in layers(data) for hit in found_in(layer, values)}
    return found | {("cell", hit) for cell in cells(directory / "home" / "store.db") for hit in found_in(cell, values)}


async def recorded(node: Node, site: RenewingSite) -> str:
    found = await ask(node, "session.record", actions=actions(site, SHOWN), capsule="shop")
    assert found.verdict == "pass", found.reason
    return str(found.id)


async def test_a_replay_holds_and_tells_nothing_that_the_site_has_renewed(logins: KeptLogin, tmp_path: Path) -> None:
    """Guard: node/sessions/replaying/replayer.py, _Run.__init__."""
    site = RenewingSite()
    async with logins.node(site, tmp_path) as node:
        session = await recorded(node, site)
        before = len(site.made)
        files: dict[str, Any] = {"html": str(tmp_path / "replay.html"), "junit": str(tmp_path / "replay.xml")}
        replayed = await ask(node, "session.replay", session=session, capsule="shop", level="text", **files)
        assert len(site.made) > before, "the replay was given newer values"
        assert replayed.report.steps[-1].performed, replayed.report.reason
        shown = await ask(node, "session.show", session=session)
        assert "‹secret:login." in str(shown)
    assert left_in(tmp_path, site, replayed, shown) == set()


async def test_nobody_is_asked_about_a_request_that_says_what_the_site_has_just_made(
    logins: KeptLogin, tmp_path: Path
) -> None:
    """Guard: node/live/acting/driver.py, Driver._decides."""
    site, told = RenewingSite(), list[dict[str, Any]]()
    press = "click: {role: button, name: Send}"
    async with logins.node(site, tmp_path, class_max=7) as node:
        given = {"actions": actions(site, press), "capsule": "shop", "ask": True}
        with pytest.raises(MeshError, match="was refused"):
            await node.dispatch("session.record", msgspec.json.encode(given), told.append)
        assert len(site.made) > 2, "the press has renewed the login"
    assert left_in(tmp_path, site, told) == set()
    assert not [event for event in told if "question" in event], "nobody can judge a request that says a login"


async def test_a_search_holds_and_tells_nothing_that_the_site_has_renewed(logins: KeptLogin, tmp_path: Path) -> None:
    """Guard: node/explorer/working/walker.py, Walker.__init__."""
    site = RenewingSite()
    async with logins.node(site, tmp_path) as node:
        given: dict[str, Any] = {
            "goal": "see the orders",
            "start": f"{site.origin}/",
            "until": {"title": "never"},
            "capsule": "shop",
        }
        failed = await refusal(node, "explore.run", **given, seconds=8)
        assert failed.code in {"search.not_found_goal", "search.exhausted"}
        shown = await ask(node, "explore.show", search=failed.detail["search"])
        assert len(site.made) > 8 and shown.nodes > 2
    assert left_in(tmp_path, site, shown, [failed.message, failed.detail]) == set()


async def test_the_session_of_a_search_holds_nothing_that_the_site_has_renewed(
    logins: KeptLogin, tmp_path: Path
) -> None:
    """Guard: node/explorer/working/page_work.py, PageWork.replay_claim."""
    site = RenewingSite()
    async with logins.node(site, tmp_path) as node:
        given: dict[str, Any] = {
            "goal": "see the orders",
            "start": f"{site.origin}/",
            "until": {"url": "*/orders"},
            "capsule": "shop",
        }
        verified = ""
        with contextlib.suppress(MeshError):
            verified = (await ask(node, "explore.run", **given, seconds=20)).session
        shown = [
            await ask(node, "session.show", session=each.id) for each in (await ask(node, "session.list")).sessions
        ]
    # Also of a claim that did not hold: its session is kept until the step that failed.
    assert left_in(tmp_path, site, shown) == set()
    assert verified in {each.session.id for each in shown} and "Account ‹secret:" in str(shown)
