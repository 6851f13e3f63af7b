"""What the tunnel adds to loading a page.

Conditions: the demo shop in a process of its own on loopback, without added delay; two headless Chromiums with the same guard, one
whose connections go through the tunnel and its wall, one that is configured to connect directly. Each round opens a fresh context
at both, and with it new connections, and loads the same pages in it; the clock runs until they have loaded. Rounds alternate, and
so does who begins; the fastest round of each side, because whatever else the machine does can only add to it.
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

ROUNDS: Final = 15
PATHS: Final = ("/", "/products", "/products?category=mugs", "/help", "/products?category=lamps")
DIRECT: Final = msgspec.structs.replace(SETTINGS, extra_args=("--proxy-server=direct://",))


async def _loaded(browser: Browser, url: str) -> float:
    """Seconds that the pages take, one after another in a fresh context."""
    context = await browser.open(Profile(), GuardPolicy())
    page = await context.page()
    began = time.perf_counter()
    for path in PATHS:
        await page.perform(Goto(url=url + path))
    taken = time.perf_counter() - began
    await context.close()
    return taken


async def _ratio() -> float:
    async with shop() as url:
        tunnelled, direct = await launcher(SETTINGS)(), await launcher(DIRECT)()
        try:
            rounds = []
            for number in range(ROUNDS):
                first, second = (tunnelled, direct) if number % 2 else (direct, tunnelled)
                taken = {first: await _loaded(first, url), second: await _loaded(second, url)}
                rounds.append((taken[tunnelled], taken[direct]))
        finally:
            await tunnelled.close()
            await direct.close()
    through, bare = (min(each) for each in zip(*rounds, strict=True))
    return through / bare


@benchmark("egress.proxy_overhead", unit="times a direct connection", target=1.15, direction="at most")
def proxy_overhead() -> float:
    """Time of loading pages through the tunnel over that of loading them directly."""
    return asyncio.run(_ratio())
