"""Measures the cost of opening a live session, and how long an idle browser stays open.

Conditions: one headless Chromium, launched here. ``live.open_ms``: a context and its first page in a browser that runs already,
from the call of the pool until the page is ready; each is closed before the next is opened. ``live.idle_close_s``: from the end of
the configured pause until no process of the browser is left and its directory is gone.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from pathlib import Path
from typing import Final

from adapters.browser.launch.browser import ChromiumBrowser
from adapters.browser.launch.chromium import launcher
from adapters.browser.launch.profile_directory import browser_processes
from adapters.browser.launch.settings import BrowserSettings
from adapters.ports.browser import Browser
from benchmarks.registry import benchmark
from node.live.browsers import Browsers
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy

ROUNDS: Final = 20
IDLE_S: Final = 1.0
GONE_TIMEOUT_S: Final = 30
SETTINGS: Final = BrowserSettings(sandbox=False)


async def _opened_ms() -> float:
    browsers = Browsers(launcher(SETTINGS))
    times = []
    try:
        await browsers.info()
        for _ in range(ROUNDS + 1):
            began = time.perf_counter()
            context = await browsers.context(Profile(), GuardPolicy())
            await context.page()
            times.append(time.perf_counter() - began)
            await context.close()
    finally:
        await browsers.close()
    return statistics.median(times[1:]) * 1_000  # the first page also warms Chromium up


async def _closed_s() -> float:
    directories: list[Path] = []

    async def start() -> Browser:
        browser = await launcher(SETTINGS)()
        assert isinstance(browser, ChromiumBrowser)
        directories.append(browser.profile_directory)
        return browser

    browsers = Browsers(start, idle_s=IDLE_S)
    try:
        context = await browsers.context(Profile(), GuardPolicy())
        await context.page()
        assert browser_processes(directories[0]), "a browser without processes measures nothing"
        await context.close()
        began = time.perf_counter()
        async with asyncio.timeout(GONE_TIMEOUT_S):
            while browser_processes(directories[0]) or directories[0].exists():  # noqa: ASYNC110  (nobody tells of it)
                await asyncio.sleep(0.01)
        return time.perf_counter() - began - IDLE_S
    finally:
        await browsers.close()


@benchmark("live.open_ms", unit="ms", target=300, direction="at most")
def open_ms() -> float:
    """A context with its first page in a running browser; median."""
    return asyncio.run(_opened_ms())


@benchmark("live.idle_close_s", unit="s", target=2, direction="at most")
def idle_close_s() -> float:
    """From the end of the pause of an idle browser until nothing of it is left."""
    return asyncio.run(_closed_s())
