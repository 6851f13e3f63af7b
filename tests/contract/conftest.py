"""The test pages, served, and the browsers that visit them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

import pytest
import pytest_asyncio

from adapters.browser.launch.attached import attacher
from adapters.browser.launch.chromium import launcher
from adapters.browser.launch.settings import BrowserSettings
from adapters.ports.browser import Browser, Page
from protocol import limits
from tests.sites.pages.backends import SETTINGS, running_chromium
from tests.sites.pages.server import PageServer
from tests.sites.pages.shared import SharedPage

_PATIENCE: Final = {"STEP_TIMEOUT_MS": 60_000, "SETTLE_TIMEOUT_MS": 60_000, "NAVIGATION_TIMEOUT_MS": 120_000}
_EVERY_THIRD: Final = {"test_browser.py", "test_browser_context.py", "test_browser_state.py"}


@pytest.hookimpl(tryfirst=True)  # before what `-m` leaves out is decided
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """``make test`` tries an attached browser in every third test of some files, ``make field`` in all of them."""
    attached = [item for item in items if item.path.name in _EVERY_THIRD and "[attached" in item.name]
    for place, item in enumerate(attached):
        if place % 3:
            item.add_marker(pytest.mark.field)


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is only slow on a busy machine is never given up. A test of such a limit sets it itself, and small."""
    for name, limit_ms in _PATIENCE.items():
        monkeypatch.setattr(limits, name, limit_ms)


@pytest_asyncio.fixture(loop_scope="module")
async def site() -> AsyncIterator[PageServer]:
    """The pages, for one test: its log holds nothing of another."""
    server = PageServer()
    await server.start()
    yield server
    await server.stop()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def launched() -> AsyncIterator[Browser]:
    """A Chromium of our own, for all tests of a file."""
    opened = await launcher(SETTINGS)()
    yield opened
    await opened.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def launched_page(launched: Browser) -> AsyncIterator[SharedPage]:
    """The page of that Chromium that the tests of a file share."""
    shared = SharedPage(launched)
    yield shared
    await shared.close()


@pytest_asyncio.fixture(loop_scope="module")
async def page(launched_page: SharedPage, site: PageServer) -> AsyncIterator[Page]:
    """That page under the guard, blank: each test has a site, and with it an origin, of its own."""
    yield await launched_page.blank()
    await launched_page.leave()


# With the guard, windows and waiting only `make field` tries an attached browser.
@pytest_asyncio.fixture(
    params=("launched", pytest.param("attached", marks=pytest.mark.field)), scope="module", loop_scope="module"
)
async def browser(request: pytest.FixtureRequest, launched: Browser) -> AsyncIterator[Browser]:
    """Each way to a Chromium in turn."""
    if request.param == "launched":
        yield launched
        return
    async with running_chromium() as (address, _):
        opened = await attacher(BrowserSettings(cdp_url=address))()
        yield opened
        await opened.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser_page(browser: Browser) -> AsyncIterator[SharedPage]:
    """The page of each Chromium in turn that the tests of a file share."""
    shared = SharedPage(browser)
    yield shared
    await shared.close()


@pytest_asyncio.fixture(loop_scope="module")
async def each_page(browser_page: SharedPage, site: PageServer) -> AsyncIterator[Page]:
    """As ``page``, of each way to a Chromium in turn."""
    yield await browser_page.blank()
    await browser_page.leave()
