"""The ways out of a page, each to another origin and to a destructive address of its own: none gets out under the guard."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final

import pytest
import pytest_asyncio
from playwright.async_api import Browser as PlaywrightBrowser
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Playwright, async_playwright

from adapters.browser.launch import arguments
from adapters.browser.launch.attached import attacher
from adapters.browser.launch.chromium import launcher
from adapters.browser.launch.persistent import persistent_launcher
from adapters.browser.launch.settings import BrowserSettings, find_executable
from adapters.ports.browser import Browser, Context
from protocol.capsule.slices import NO_SLICE
from protocol.errors import MeshError
from protocol.page.actions.action import Click, Goto, Locator
from protocol.recording.records.session import ATTACHED_WALLED, Profile
from protocol.risk.requests.requests import GuardPolicy
from tests.sites.pages.backends import SETTINGS, running_chromium
from tests.sites.ways_out import certificate
from tests.sites.ways_out.features import ASKED, QUIET, SENDS
from tests.sites.ways_out.ground import Ground, Tried, Way, listed
from tests.sites.ways_out.left_out import LEFT_OUT
from tests.sites.ways_out.rows import ROWS
from tests.sites.ways_out.secure import AT_LEISURE

_AT_ONCE: Final = 4
_ROUNDS: Final = 4
_QUIET_MOST_S: Final = 10.0
_AT_ONCE_REPORTED: Final = "--short-reporting-delay"
"""Chromium sends reports after a second, not after a minute."""

_PAST_ATTACHED: Final = frozenset(
    Way(name, own=True)
    for name in ("shared worker over TLS", "speculation of links", "speculation prefetch", "speculation prerender")
)
"""What an attached browser asks past every guard (docs/THREATS.md). The tunnel sees only that the host may be read from."""

Leave = Callable[[], Awaitable[None]]
Visit = Callable[[str, bool], Awaitable[Leave]]


@pytest_asyncio.fixture(params=[False, True], ids=["plain", "over TLS"])
async def ground(request: pytest.FixtureRequest) -> AsyncIterator[Ground]:
    """The site and its canaries: the rows for plain HTTP, or those for TLS."""
    made = Ground([row for row in ROWS if row.tls == request.param], certificate.made() if request.param else None)
    await made.start()
    yield made
    await made.stop()


async def visited(
    ground: Ground, pages: Sequence[Tried], visit: Visit, quiet_s: float, at_once: int = _AT_ONCE
) -> None:
    """Visit pages of the site, some at once, and leave them once all is tried and nothing has arrived for a while."""
    for start in range(0, len(pages), at_once):
        some = pages[start : start + at_once]
        leave = await asyncio.gather(*(visit(page.url, page.press) for page in some))
        await ground.quiet([way for page in some for way in page.ways], quiet_s, _QUIET_MOST_S)
        await asyncio.gather(*(each() for each in leave))


async def _pressed(context: Context, url: str, press: bool) -> Leave:
    """Open a page of the site, and press its button. Nobody reads the page beyond that: the ways out need no reader."""
    page = await context.page()

    async def work() -> None:
        with contextlib.suppress(MeshError):  # several ways lead away from the page
            outcome = await page.perform(Goto(url=url))
            buttons = [each for each in outcome.observation.elements if each.name == "Go"] if press else []
            for button in buttons[:1]:
                await page.perform(Click(target=Locator()), ref=button.ref)

    working = asyncio.ensure_future(work())

    async def leave() -> None:
        if press:
            await working
        working.cancel()
        await page.close()
        await asyncio.gather(working, return_exceptions=True)

    if press:
        await asyncio.wait({working}, timeout=_QUIET_MOST_S)
    return leave


@contextlib.asynccontextmanager
async def browsers(kind: str, extra: tuple[str, ...], patch: pytest.MonkeyPatch) -> AsyncIterator[Browser]:
    """One that is started, attached to, or started with a profile of its own, with the arguments that only these tests need."""
    async with contextlib.AsyncExitStack() as stack:
        if kind == "launched":
            patch.setattr(arguments, "DETERMINISM_ARGS", (*arguments.DETERMINISM_ARGS, *extra))
            browser = await launcher(SETTINGS)()
        elif kind == "persistent":
            patch.setattr(arguments, "DETERMINISM_ARGS", (*arguments.DETERMINISM_ARGS, *extra))
            browser = await persistent_launcher(SETTINGS)(Profile(), NO_SLICE)
        else:
            address, _ = await stack.enter_async_context(running_chromium(*extra))
            browser = await attacher(BrowserSettings(cdp_url=address))()
            assert browser.info.backend == ATTACHED_WALLED
        stack.push_async_callback(browser.close)
        yield browser


@pytest.mark.parametrize(
    "kind",
    ["launched", *(pytest.param(kind, marks=pytest.mark.field) for kind in ("attached", "persistent"))],
)
async def test_none_of_two_hundred_ways_out_of_a_page_gets_past_the_guard(
    ground: Ground, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: adapters/browser/base/unrequested.py, DEEDS. Guard: adapters/browser/launch/browser.py, _options.

    Over TLS the policy names the origin of the site, so that the tunnel knows it too.
    """
    policy = GuardPolicy(origins=(ground.origin,)) if ground.argument else GuardPolicy()
    extra = (ground.argument, _AT_ONCE_REPORTED) if ground.argument else (_AT_ONCE_REPORTED,)
    async with browsers(kind, extra, monkeypatch) as browser:
        context = await browser.open(Profile(), policy)
        quiet_s = 1.5 if ground.argument else 0.8
        at_once = 1 if kind == "attached" else _AT_ONCE  # every request is stopped twice there
        await visited(ground, ground.pages(), lambda url, press: _pressed(context, url, press), quiet_s, at_once)
    assert not ground.ways() - ground.served, f"not tried: {listed(ground.ways() - ground.served)}"
    assert len(ROWS) > 200
    known = _PAST_ATTACHED if kind == "attached" and ground.argument else frozenset()
    assert not ground.reached - known, f"got out: {listed(ground.reached - known)}"


async def _unguarded(driver: Playwright, *extra: str) -> PlaywrightBrowser:
    return await driver.chromium.launch(
        executable_path=find_executable(SETTINGS),
        args=["--no-sandbox", "--disable-popup-blocking", _AT_ONCE_REPORTED, *extra],
        ignore_default_args=["--disable-background-networking", "--disable-component-update"],
    )


async def _tried(driver: Playwright, ground: Ground, pages: Sequence[Tried]) -> None:
    """Visit ``pages`` without a guard. Some ways end a Chromium that is told to go on at once."""
    browser = await _unguarded(driver, *([ground.argument] if ground.argument else []))
    context = await browser.new_context()

    async def visit(url: str, press: bool) -> Leave:
        page = await context.new_page()
        with contextlib.suppress(PlaywrightError):
            await page.goto(url, timeout=15_000)
            if press:
                await page.click("button", timeout=5_000)
        return page.close

    with contextlib.suppress(PlaywrightError):
        await visited(ground, pages, visit, 3)
    await browser.close()


@pytest.mark.field
async def test_each_way_out_gets_out_of_a_chromium_without_a_guard(ground: Ground) -> None:
    """Without this, a way that leads nowhere would pass above, and say nothing."""
    async with async_playwright() as driver:
        for _ in range(_ROUNDS):
            left = [page for page in ground.pages() if not ground.reached.issuperset(page.ways)]
            for start in range(0, len(left), _AT_ONCE):
                await _tried(driver, ground, left[start : start + _AT_ONCE])
    nowhere = {way for way in ground.ways() - ground.reached if way.name not in AT_LEISURE}
    assert not nowhere, f"lead nowhere: {listed(nowhere)}"


@pytest.mark.field
async def test_every_feature_that_chromium_lists_has_a_row_or_a_reason() -> None:
    site = Ground([], certificate.made())
    await site.start()
    async with async_playwright() as driver:
        browser = await _unguarded(driver, site.argument)
        page = await browser.new_page()
        await page.goto(f"{site.origin}/plain/")
        features = set(await page.evaluate(ASKED))
        await browser.close()
    await site.stop()
    assert len(features) > 100
    assert not features - SENDS.keys() - QUIET, "new in this Chromium"


def test_what_is_said_of_a_feature_is_a_row_or_a_reason() -> None:
    rows, reasons = {row.name for row in ROWS}, {name for names in LEFT_OUT.values() for name in names}
    assert len(rows) == len(ROWS)
    assert not set(SENDS.values()) - rows - reasons
    assert not rows & reasons
    assert not SENDS.keys() & QUIET
