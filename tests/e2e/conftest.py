"""A browser, a node and the test pages, for tests in which a session is recorded and replayed in the process of the test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.browser.launch.chromium import launcher
from adapters.browser.launch.settings import BrowserSettings
from adapters.ports.browser import Browser
from tests.e2e.test_record_replay import Node, made_node
from tests.sites.pages.server import PageServer


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    opened = await launcher(BrowserSettings(sandbox=False))()
    yield opened
    await opened.close()


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Node]:
    async with made_node(tmp_path, 1) as opened:
        yield opened


@pytest.fixture
async def site() -> AsyncIterator[PageServer]:
    server = PageServer()
    await server.start()
    yield server
    await server.stop()
