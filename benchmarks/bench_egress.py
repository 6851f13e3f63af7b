"""Measures the time that the tunnel adds to loading a page.

Conditions: the demo shop in a process of its own on loopback, without added delay; two headless Chromiums with the same guard, one
whose connections go through the tunnel and its wall, one that is configured to connect directly. Each round opens a fresh context
at both, and with it new connections, and loads the same pages in it, one after another; the clock runs until each has loaded.
Rounds alternate, so does who begins, and half of them are with the other browser started first. The fastest load of each page
counts: whatever else the machine does can only add to it.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

import msgspec

from adapters.browser.launch.chromium import launcher
from adapters.browser.launch.settings import BrowserSettings
from adapters.ports.browser import Browser
from benchmarks.bench_capsule import SETTINGS
from benchmarks.bench_session import shop
from benchmarks.registry import benchmark
from protocol.page.actions.action import Goto
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy

ROUNDS: Final = 10
PATHS: Final = ("/", "/products", "/products?category=mugs", "/help", "/products?category=lamps")
DIRECT: Final = msgspec.structs.replace(SETTINGS, extra_args=("--proxy-server=direct://",))


async def _loaded(browser: Browser, url: str) -> list[float]:
    """Seconds that each page takes, one after another in a fresh context."""
    context = await browser.open(Profile(), GuardPolicy())
    page = await context.page()
    taken = []
    for path in PATHS:
        began = time.perf_counter()
        await page.perform(Goto(url=url + path))
        taken.append(time.perf_counter() - began)
    await context.close()
    return taken


async def _ratio() -> float:
    rounds: dict[BrowserSettings, list[list[float]]] = {SETTINGS: [], DIRECT: []}
    async with shop() as url:
        for sides in ((SETTINGS, DIRECT), (DIRECT, SETTINGS)):
            browsers = {side: await launcher(side)() for side in sides}
            try:
                for number in range(ROUNDS):
                    for side in sides if number % 2 else sides[::-1]:
                        rounds[side].append(await _loaded(browsers[side], url))
            finally:
                for browser in browsers.values():
                    await browser.close()
    through, bare = (sum(map(min, zip(*rounds[side], strict=True))) for side in (SETTINGS, DIRECT))
    ratio: float = through / bare
    return ratio


@benchmark("egress.proxy_overhead", unit="times a direct connection", target=1.15, direction="at most")
def proxy_overhead() -> float:
    """Time of loading pages through the tunnel over that of loading them directly."""
    return asyncio.run(_ratio())
