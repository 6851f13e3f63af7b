"""The ways out of a page, each to another origin and to a destructive address of its own: none gets out under the guard."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import pytest
import pytest_asyncio
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import async_playwright

from adapters.browser.chromium import launcher
from adapters.browser.settings import find_executable
from protocol.errors import MeshError
from protocol.page.action import Goto
from protocol.recording.session import Profile
from protocol.risk.requests import GuardPolicy
from tests.sites.pages.backends import SETTINGS
from tests.sites.ways_out.ground import Ground, listed
from tests.sites.ways_out.rows import ROWS
from tests.sites.ways_out.unshown import UNSHOWN

pytestmark = pytest.mark.timeout(300)
_AT_ONCE: Final = 4
_QUIET_MOST_S: Final = 10.0

Leave = Callable[[], Awaitable[None]]


@pytest_asyncio.fixture
async def ground() -> AsyncIterator[Ground]:
    """The site and its canaries."""
    made = Ground(ROWS)
    await made.start()
    yield made
    await made.stop()


async def visited(ground: Ground, visit: Callable[[str], Awaitable[Leave]], quiet_s: float) -> None:
    """Visit every page of the site, some at once, and leave them once nothing has arrived for a while."""
    pages = ground.pages()
    for start in range(0, len(pages), _AT_ONCE):
        leave = await asyncio.gather(*map(visit, pages[start : start + _AT_ONCE]))
        await ground.quiet(quiet_s, _QUIET_MOST_S)
        await asyncio.gather(*(each() for each in leave))


async def test_none_of_two_hundred_ways_out_of_a_page_gets_past_the_guard(ground: Ground) -> None:
    """Guard: adapters/browser/arguments.py, HARDENING_ARGS."""
    browser = await launcher(SETTINGS)()
    try:
        context = await browser.open(Profile(), GuardPolicy())

        async def visit(url: str) -> Leave:
            page = await context.page()
            with contextlib.suppress(MeshError):  # several ways lead away from the page
                await page.perform(Goto(url=url))
            return page.close

        await visited(ground, visit, 0.5)
    finally:
        await browser.close()
    assert not ground.ways() - ground.served, f"not tried: {listed(ground.ways() - ground.served)}"
    assert len(ROWS) > 200
    assert not ground.reached, f"got out: {listed(ground.reached)}"


@pytest.mark.field
async def test_each_way_out_gets_out_of_a_chromium_without_a_guard_unless_it_is_listed_with_the_reason(
    ground: Ground,
) -> None:
    """Without this, a way that leads nowhere would pass above, and say nothing."""
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(
            executable_path=find_executable(SETTINGS),
            args=["--no-sandbox", "--disable-popup-blocking"],
            ignore_default_args=["--disable-background-networking", "--disable-component-update"],
        )
        context = await browser.new_context()

        async def visit(url: str) -> Leave:
            page = await context.new_page()
            with contextlib.suppress(PlaywrightError):
                await page.goto(url, timeout=15_000)
            return page.close

        await visited(ground, visit, 3)
        await browser.close()
    unshown = {name for names in UNSHOWN.values() for name in names}
    assert unshown <= {row.name for row in ROWS}
    shown = {way for way in ground.ways() if way.name not in unshown}
    assert not shown - ground.reached, f"lead nowhere: {listed(shown - ground.reached)}"
