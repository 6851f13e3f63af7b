"""What the tunnel adds to loading a page.

Conditions: the demo shop in a process of its own on loopback, without added delay; two headless Chromiums with the same guard, one
whose connections go through the tunnel and its wall, one that is configured to connect directly. Each round opens a fresh context
at both, and with it new connections, and loads the same pages in it, one after another; the clock runs until each has loaded.
Rounds alternate, and so does who begins. The fastest load of each page counts: whatever else the machine does can only add to it.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

import msgspec

from adapters.browser.chromium import launcher
from adapters.ports import Browser
from benchmarks.bench_capsule import SETTINGS
from benchmarks.bench_session import shop
from benchmarks.registry import benchmark
from protocol.page.action import Goto
from protocol.recording.session import Profile
from protocol.risk.requests import GuardPolicy

ROUNDS: Final = 20
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
    async with shop() as url:
        tunnelled, direct = await launcher(SETTINGS)(), await launcher(DIRECT)()
        rounds: dict[Browser, list[list[float]]] = {tunnelled: [], direct: []}
        try:
            for number in range(ROUNDS):
                for browser in (tunnelled, direct) if number % 2 else (direct, tunnelled):
                    rounds[browser].append(await _loaded(browser, url))
        finally:
            await tunnelled.close()
            await direct.close()
    through, bare = (sum(map(min, zip(*rounds[browser], strict=True))) for browser in (tunnelled, direct))
    return through / bare


@benchmark("egress.proxy_overhead", unit="times a direct connection", target=1.15, direction="at most")
def proxy_overhead() -> float:
    """Time of loading pages through the tunnel over that of loading them directly."""
    return asyncio.run(_ratio())
