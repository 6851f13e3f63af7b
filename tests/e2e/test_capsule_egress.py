"""Hostile pages of the very origin that a mounted capsule is for: nothing of it gets out, in either kind of browser."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import pytest_asyncio

from adapters.browser.launch.attached import attacher
from adapters.browser.launch.chromium import launcher
from adapters.browser.launch.settings import BrowserSettings
from adapters.ports.browser import Page
from node.api.node import Node
from node.live.browsers import Lent, Wish, guard_for, mounted_context
from node.process.setup import init_home
from node.process.wiring import open_node
from protocol.errors import MeshError
from protocol.page.actions.action import Click, Goto, Locator
from protocol.recording.records.session import Profile
from tests.canaries import found_in
from tests.sites.pages.backends import SETTINGS, running_chromium
from tests.sites.ways_out.ground import Ground, Tried, Way, listed
from tests.sites.ways_out.rows import ROWS

pytestmark = pytest.mark.browser
_AT_ONCE: Final = 3
_QUIET_MOST_S: Final = 10.0
_LISTEN_S: Final = 3
_HEARD_BYTES: Final = 64 * 1024
CANARY: Final = "s3ss10n-0f-the-ground-Kw42"


class Listening(Ground):
    """Its canaries also keep what they are sent first. The cookie of the site is one for every port of its host."""

    def __init__(self) -> None:
        super().__init__([row for row in ROWS if not row.tls])
        self.heard: dict[Way, bytes] = {}

    async def _canary(self, way: Way) -> None:
        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._arrived(way)
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(_LISTEN_S):
                    self.heard[way] = self.heard.get(way, b"") + await reader.read(_HEARD_BYTES)
            writer.close()

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        self._servers.append(server)
        self._datagrams.append(await self._hearing(way, port))
        self._ports.append(port)


@pytest_asyncio.fixture
async def ground() -> AsyncIterator[Listening]:
    """The site and its canaries."""
    made = Listening()
    await made.start()
    yield made
    await made.stop()


@contextlib.asynccontextmanager
async def node_with(ground: Ground, directory: Path, backend: str) -> AsyncIterator[Node]:
    """A node with a login for the site, and a browser of its own or one that runs already."""
    home, file = directory / "home", directory / "state.json"
    init_home(home, name="anna", listen="127.0.0.1:0", config_file=None, recovery_out=str(directory / "r.txt"))
    cookie = {"name": "sid", "value": CANARY, "domain": "127.0.0.1", "path": "/", "expires": -1, "httpOnly": True}
    stored = {"origin": ground.origin, "localStorage": [{"name": "token", "value": f"{CANARY}-local"}]}
    await asyncio.to_thread(file.write_text, json.dumps({"cookies": [cookie], "origins": [stored]}))
    async with contextlib.AsyncExitStack() as stack:
        opener = launcher(SETTINGS)
        if backend == "attached":
            address, _ = await stack.enter_async_context(running_chromium())
            opener = attacher(BrowserSettings(cdp_url=address))
        node = await stack.enter_async_context(open_node(home, open_browser=opener))
        given = {"file": str(file), "name": "ground", "origins": [ground.origin]}
        await node.dispatch("capsule.capture", msgspec.json.encode(given), lambda event: None)
        yield node


@contextlib.asynccontextmanager
async def logged_in(node: Node, ground: Ground) -> AsyncIterator[tuple[Lent, Page]]:
    """A context with the login, as work begins with one."""
    wish = Wish(task="live", guard=guard_for(node.rooms.config.policy), start_url=f"{ground.origin}/", risk_max=1)
    async with mounted_context(node.rooms.browsers, Profile(), "ground", wish) as (_, context, page):
        yield context, page


async def holds(context: Lent) -> bool:
    """Whether the browser has the login."""
    found: dict[str, Any] = json.loads((await context.state()).storage)
    return [each["value"] for each in found["cookies"] if each["name"] == "sid"] == [CANARY]


async def visited(ground: Ground, context: Lent, first: Page) -> None:
    """Visit every page of the site in one context, some at once, and leave them once nothing has arrived for a while."""
    tabs = [first] + [await context.page() for _ in range(_AT_ONCE - 1)]

    async def visit(tab: Page, page: Tried) -> None:
        with contextlib.suppress(MeshError):  # several ways lead away from the page
            outcome = await tab.perform(Goto(url=page.url))
            for button in (
                [each for each in outcome.observation.elements if each.name == "Go"][:1] if page.press else []
            ):
                await tab.perform(Click(target=Locator()), ref=button.ref)

    pages = ground.pages()
    for start in range(0, len(pages), _AT_ONCE):
        some = pages[start : start + _AT_ONCE]
        await asyncio.gather(*(visit(tab, page) for tab, page in zip(tabs, some, strict=False)))
        await ground.quiet([way for page in some for way in page.ways], 0.5, _QUIET_MOST_S)


async def tried(ground: Ground, directory: Path, backend: str) -> None:
    """Try every way in a browser with the login."""
    async with node_with(ground, directory, backend) as node, logged_in(node, ground) as (context, page):
        assert await holds(context)
        await visited(ground, context, page)
        assert await holds(context), "the pages were those of somebody who is logged in, until the end"
    assert not ground.ways() - ground.served, f"not tried: {listed(ground.ways() - ground.served)}"


@pytest.mark.field
async def test_no_page_gets_anything_out_of_a_browser_that_holds_a_login(ground: Listening, tmp_path: Path) -> None:
    await tried(ground, tmp_path, "launched")
    assert not ground.reached, f"got out: {listed(ground.reached)}"


@pytest.mark.field
async def test_no_page_gets_anything_out_of_a_running_browser_that_holds_a_login(
    ground: Listening, tmp_path: Path
) -> None:
    await tried(ground, tmp_path, "attached")
    carried = {way for way, data in ground.heard.items() if found_in(data, {"login": CANARY.encode()})}
    assert not carried, f"carried the login: {listed(carried)}"
    assert not ground.reached, f"got out: {listed(ground.reached)}"


@pytest.mark.parametrize("backend", ["launched", "attached"])
async def test_a_redirect_out_of_the_origins_is_an_error_that_says_where_it_led(
    ground: Listening, tmp_path: Path, backend: str
) -> None:
    async with node_with(ground, tmp_path, backend) as node, logged_in(node, ground) as (context, page):
        for status in (301, 302, 303, 307, 308):
            with pytest.raises(MeshError) as caught:
                await page.perform(Goto(url=f"{ground.origin}/go/0.out?s={status}"))
            there = f"http://127.0.0.1:{ground._ports[0]}"
            refused = caught.value
            assert (refused.code, refused.detail["rule"], refused.detail["origin"]) == (
                "browser.refused",
                "capsule",
                there,
            )
        assert await holds(context)
    assert not ground.reached
