"""Compares the cost of a large page with bare Playwright: a table of 10,000 rows, each with a link, a box and a button.

Conditions: the page is served on loopback; one headless Chromium for each side, started with the same arguments; a viewport of
1280 by 800; rounds alternate, and both figures are of the same rounds.

- Snapshot: ours is an observation with all that it is used for (every element with its traits, surroundings and address, the text,
  secrets taken out, the state); Playwright's is ``page.aria_snapshot(mode="ai")``.
- Click: ours is an action by role and name from beginning to end (find, classify, ask the gate, click, wait until the page is
  still, observe); Playwright's is ``get_by_role(…, name=…, exact=True).click()`` and the snapshot after it.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from functools import cache, partial
from typing import Final, NamedTuple

from aiohttp import web
from playwright.async_api import Page as PlaywrightPage
from playwright.async_api import async_playwright

from adapters.browser.launch.arguments import DETERMINISM_ARGS, HARDENING_ARGS
from adapters.browser.launch.chromium import launcher
from adapters.browser.launch.settings import BrowserSettings, find_executable
from adapters.ports.browser import Page
from benchmarks.registry import benchmark
from node.live.acting.driver import Driver, Gate
from protocol.page.actions.action import Click, Goto, Locator
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from tests.gates import unreported

ROWS: Final = 10_000
ROUNDS: Final = 5
TIMEOUT_MS: Final = 600_000
SETTINGS: Final = BrowserSettings(sandbox=False)
_ROW: Final = (
    '<tr><td><a href="/part/{0}">Part {0}</a></td><td>{0}.50</td><td><input type=checkbox aria-label="Choose {0}"></td>'
    "<td><button type=button onclick=\"document.title = 'shown {0}'\">Show {0}</button></td></tr>"
)
_PAGE: Final = (
    "<!doctype html><title>Stock</title><h1>Stock</h1><table><tr><th>Part</th><th>Price</th><th>Choice</th><th>Details</th></tr>"
    + "".join(_ROW.format(number) for number in range(ROWS))
    + "</table>"
)


class Ratios(NamedTuple):
    """Our median time over Playwright's."""

    snapshot: float
    click: float


async def _s(work: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


async def _rounds(ours: Page, bare: PlaywrightPage, url: str) -> Ratios:
    driver = Driver(ours, Gate(report=unreported, risk_max=4))
    await driver.act(Goto(url=url))
    await bare.goto(url)

    async def theirs(number: int) -> None:
        await bare.get_by_role("button", name=f"Show {number}", exact=True).click(timeout=TIMEOUT_MS)
        await bare.aria_snapshot(mode="ai", timeout=TIMEOUT_MS)

    snapshots: list[tuple[float, float]] = []
    clicks: list[tuple[float, float]] = []
    for place in range(ROUNDS + 1):
        number = place * (ROWS // (ROUNDS + 1)) + ROWS // 20
        snapshots.append((await _s(ours.observe), await _s(lambda: bare.aria_snapshot(mode="ai", timeout=TIMEOUT_MS))))
        driver.observation = await ours.observe()
        click = Click(target=Locator(role="button", name=f"Show {number}"))
        clicks.append((await _s(partial(driver.act, click)), await _s(partial(theirs, number))))
        assert driver.observation.title == f"shown {number}", "a click that did nothing measures something else"
    return Ratios(_ratio(snapshots[1:]), _ratio(clicks[1:]))  # the first round warms both up


def _ratio(pairs: list[tuple[float, float]]) -> float:
    ours, theirs = zip(*pairs, strict=True)
    ratio: float = statistics.median(ours) / statistics.median(theirs)
    return ratio


async def _measured() -> Ratios:
    application = web.Application()
    application.router.add_get("/", lambda _: _page())
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    ours = await launcher(SETTINGS)()
    try:
        async with async_playwright() as driver:
            arguments = [*HARDENING_ARGS, *DETERMINISM_ARGS]
            bare = await driver.chromium.launch(executable_path=find_executable(SETTINGS), args=arguments)
            context = await bare.new_context(viewport={"width": 1280, "height": 800})
            page = await (await ours.open(Profile(), GuardPolicy())).page()
            return await _rounds(page, await context.new_page(), url)
    finally:
        await ours.close()
        await runner.cleanup()


async def _page() -> web.Response:
    return web.Response(text=_PAGE, content_type="text/html")


@cache
def ratios() -> Ratios:
    """Both figures, of one run."""
    return asyncio.run(_measured())


@benchmark("page.big_ratio", unit="times bare Playwright", target=3, direction="at most")
def big_ratio() -> float:
    """Time of an observation of the page over that of Playwright's snapshot."""
    return ratios().snapshot


@benchmark("page.big_ratio_click", unit="times bare Playwright", target=4, direction="at most")
def big_ratio_click() -> float:
    """Time of a whole click over that of Playwright's click and snapshot."""
    return ratios().click
