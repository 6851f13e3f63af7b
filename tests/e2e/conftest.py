"""A browser, a node and the test pages, for tests in which a session is recorded and replayed in the process of the test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from adapters.browser.launch.chromium import launcher
from adapters.ports.browser import Browser
from tests.e2e.logins import KeptLogin
from tests.e2e.test_record_replay import Node, made_node
from tests.mesh_nodes import Node as ServingNode
from tests.mesh_nodes import serving, shop
from tests.sites.pages.backends import SETTINGS
from tests.sites.pages.server import PageServer


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """One for all tests of a process; each opens contexts of its own. Its tests run in the loop of the session."""
    opened = await launcher(SETTINGS)()
    yield opened
    await opened.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def logins(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[KeptLogin]:
    """The capsule of a site with a login, captured once for all tests of a process."""
    async with KeptLogin.captured(browser, tmp_path_factory.mktemp("login")) as kept:
        yield kept


@pytest_asyncio.fixture(loop_scope="session")
async def node(tmp_path: Path) -> AsyncIterator[Node]:
    async with made_node(tmp_path, 1) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def site() -> AsyncIterator[PageServer]:
    server = PageServer()
    await server.start()
    yield server
    await server.stop()


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServingNode]:
    """A node that serves, for all tests of a process that look only at what they have made: its browser is started once."""
    with serving(tmp_path_factory.mktemp("served"), "anna") as (node,):
        yield node


@pytest.fixture
def anna(tmp_path: Path) -> Iterator[ServingNode]:
    """A node that serves, for one test: its commands share a browser."""
    with serving(tmp_path, "anna") as (node,):
        yield node


@pytest.fixture(scope="session")
def shop_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The demo shop, for all tests of a process that change nothing there."""
    with shop(tmp_path_factory.mktemp("shop")) as (url, _):
        yield url
