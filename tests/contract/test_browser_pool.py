"""The pool over real browsers: what a crash ends, what stays of an idle browser, what nobody waits for any more."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from adapters.browser.launch import profile_directory
from adapters.browser.launch.browser import ChromiumBrowser
from adapters.browser.launch.chromium import launcher
from adapters.browser.launch.profile_directory import browser_processes, remove_profile_directory
from adapters.ports.browser import Browser, Page
from node.live.browsers import Browsers
from protocol.errors import MeshError
from protocol.page.actions.action import Goto
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from tests.sites.pages.backends import SETTINGS
from tests.sites.pages.server import PageServer


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where browsers have their directories, during the test."""
    made = Path(tempfile.mkdtemp(dir="/tmp"))  # short enough, unlike tmp_path
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    monkeypatch.setattr(profile_directory, "usual_roots", lambda: (str(made),))  # else they lie in memory
    yield made
    remove_profile_directory(made)


async def until(condition: Callable[[], bool], seconds: float = 120) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  (there is no event to wait for)
            await asyncio.sleep(0.02)


def directories(root: Path) -> list[Path]:
    """The directories of browsers that there are."""
    return list(root.iterdir())


def children() -> set[str]:
    """The processes that this one has started: drivers of browsers among them."""
    return {pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


async def title(page: Page, site: PageServer) -> str:
    return (await page.perform(Goto(url=site.origin + "/table.html"))).observation.title


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are listed by Linux only")
async def test_of_an_idle_browser_no_process_and_no_file_stays(root: Path) -> None:
    before = children()
    browsers = Browsers(launcher(SETTINGS), idle_s=0.3)
    context = await browsers.context(Profile(), GuardPolicy())
    await context.page()
    (directory,) = directories(root)
    assert len(browser_processes(directory)) > 2
    # One more for a moment: what starts the driver or the browser ends by itself.
    await until(lambda: len(children() - before) == 1)
    await context.close()
    await until(lambda: not browser_processes(directory) and not directories(root) and children() <= before)
    await browsers.close()


async def test_a_crash_ends_the_sessions_of_its_browser_only_and_the_next_is_in_a_new_one(root: Path) -> None:
    site = PageServer()
    await site.start()
    browsers = Browsers(launcher(SETTINGS), contexts_per_browser_max=2)
    try:
        first, second = [await browsers.context(Profile(), GuardPolicy()) for _ in range(2)]
        (crashing,) = directories(root)
        other = await browsers.context(Profile(), GuardPolicy())
        assert len(directories(root)) == 2
        pages = [await context.page() for context in (first, second, other)]
        for pid in browser_processes(crashing):
            os.kill(pid, signal.SIGKILL)
        for page in pages[:2]:
            with pytest.raises(MeshError) as caught:
                await title(page, site)
            assert caught.value.code == "browser.crashed"
        assert await title(pages[2], site) == "A long table"
        await until(lambda: browsers.running == 1)
        for _ in range(2):
            async with browsers.page(Profile(), GuardPolicy()) as page:
                assert await title(page, site) == "A long table"
        await until(lambda: crashing not in directories(root))
    finally:
        await browsers.close()
        await site.stop()
    assert directories(root) == []


async def test_a_context_that_nobody_waits_for_any_more_is_closed_and_so_is_a_page(root: Path) -> None:
    browser = await launcher(SETTINGS)()
    assert isinstance(browser, ChromiumBrowser)
    try:
        for turns in range(1, 40, 3):
            opening = asyncio.create_task(browser.open(Profile(), GuardPolicy()))
            for _ in range(turns):
                await asyncio.sleep(0.002)
            if not opening.cancel():
                await (await opening).close()
        await until(lambda: not browser.contexts)
        context = await browser.open(Profile(), GuardPolicy())
        for turns in range(1, 40, 6):
            page = asyncio.create_task(context.page())
            for _ in range(turns):
                await asyncio.sleep(0.004)
            if not page.cancel():
                await (await page).close()
        await until(lambda: not context.pages)
        await until(lambda: not context.windows)
    finally:
        await browser.close()


async def test_closing_a_browser_while_contexts_are_opened_in_it_leaves_nothing(root: Path) -> None:
    browser: Browser = await launcher(SETTINGS)()
    opening = [asyncio.create_task(browser.open(Profile(), GuardPolicy())) for _ in range(4)]
    await asyncio.sleep(0.01)
    await asyncio.wait_for(browser.close(), 120)
    for result in await asyncio.gather(*opening, return_exceptions=True):
        assert not isinstance(result, BaseException) or (
            isinstance(result, MeshError) and result.code.startswith("browser.")
        )
    assert directories(root) == []
