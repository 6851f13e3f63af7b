"""Compares the cost of a replay with a bare Playwright script that performs the same steps.

Conditions: the demo shop, served by its own process on loopback without added delay; one headless Chromium for each side, started
with the same arguments; fresh context per round, opened before the clock starts. Ten steps: one address, eight links, one text
read. The script clicks by role and name and waits for the address of the next page, which includes its load event; the replay does
the same, and observes, classifies and compares every step, takes no pictures, and signs its report. Rounds alternate.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from nacl.signing import SigningKey
from playwright.async_api import Browser as PlaywrightBrowser
from playwright.async_api import async_playwright

from adapters.browser.launch.arguments import DETERMINISM_ARGS, HARDENING_ARGS
from adapters.browser.launch.chromium import launcher
from adapters.browser.launch.settings import BrowserSettings, find_executable
from adapters.clock.system import SystemClock
from adapters.ports.browser import Browser
from adapters.ports.store import Store
from benchmarks.registry import benchmark
from node.live.acting.driver import Gate
from node.live.recording.keeping import Recording
from node.live.recording.run import record, record_actions
from node.sessions.replaying.replayer import replay
from node.sessions.shared.replay_plan import ReplayPlan, ReplaySource
from node.signing.identity import Identity
from node.signing.witness import Witness
from protocol.page.actions.action import Action, Click, Extract, Goto, Locator
from protocol.recording.records.session import Profile
from protocol.recording.records.verdict import Verdict
from protocol.risk.requests.requests import GuardPolicy
from tests.twins.storage import MemoryStore

ROUNDS: Final = 7
START_TIMEOUT_S: Final = 20
LINKS: Final = (
    ("Mugs", "**/products?category=mugs"),
    ("Plates", "**/products?category=plates"),
    ("Bowls", "**/products?category=bowls"),
    ("Lamps", "**/products?category=lamps"),
    ("Blankets", "**/products?category=blankets"),
    ("Cushions", "**/products?category=cushions"),
    ("Vases", "**/products?category=vases"),
    ("Help", "**/help"),
)
SETTINGS: Final = BrowserSettings(sandbox=False)


@asynccontextmanager
async def shop() -> AsyncIterator[str]:
    """The shop in a process of its own, so that serving takes no time from either side's event loop."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "trailmesh", "demo", "shop", "--json", "--port", "0", stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(START_TIMEOUT_S):
            line = await process.stdout.readline()
        yield json.loads(line)["url"]
    finally:
        with contextlib.suppress(ProcessLookupError):  # it may have ended by itself
            process.terminate()
        await process.wait()


async def _bare(browser: PlaywrightBrowser, url: str) -> float:
    """Seconds a plain script takes."""
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    page = await context.new_page()
    began = time.perf_counter()
    await page.goto(f"{url}/")
    for name, address in LINKS:
        await page.get_by_role("link", name=name, exact=True).first.click()
        await page.wait_for_url(address)
    await page.get_by_role("heading", level=1).first.inner_text()
    taken = time.perf_counter() - began
    await context.close()
    return taken


async def _replayed(browser: Browser, recorded: ReplaySource, store: Store, witness: Witness) -> float:
    """Seconds a replay takes."""
    page = await (await browser.open(Profile(), GuardPolicy())).page()
    began = time.perf_counter()
    plan = ReplayPlan(browser=browser.info, gate=Gate(report=witness.trail.gate))
    done = await replay(recorded, store, page, SystemClock(), witness, plan)
    taken = time.perf_counter() - began
    assert done.report.verdict == Verdict.PASS, "a replay that diverges measures something else"
    await page.close()
    return taken


async def _recorded(browser: Browser, store: Store, witness: Witness, url: str) -> ReplaySource:
    page = await (await browser.open(Profile(), GuardPolicy())).page()
    actions: list[Action] = [Goto(url=f"{url}/")]
    actions += [Click(target=Locator(role="link", name=name, nth=0)) for name, _ in LINKS]
    actions.append(Extract(name="heading", target=Locator(selectors=("css=h1",))))
    plan = Recording(
        title="ten steps", start_url=url, profile=Profile(), browser=browser.info, gate=Gate(report=witness.trail.gate)
    )
    async with record(store, page, SystemClock(), witness, plan) as recorder:
        await record_actions(recorder, actions)
    await page.close()
    return ReplaySource(session=recorder.session, steps=recorder.steps, manifest=bytes(32))


async def _ratio() -> float:
    store = MemoryStore()
    witness = Witness(Identity(SigningKey(bytes(32)), SystemClock()), store, SystemClock())
    await witness.load()
    async with shop() as url, async_playwright() as driver:
        arguments = [*HARDENING_ARGS, *DETERMINISM_ARGS]
        bare = await driver.chromium.launch(executable_path=find_executable(SETTINGS), args=arguments)
        ours = await launcher(SETTINGS)()
        try:
            recorded = await _recorded(ours, store, witness, url)
            await _bare(bare, url)  # both sides have been through the pages once before anything is measured
            pairs = [(await _replayed(ours, recorded, store, witness), await _bare(bare, url)) for _ in range(ROUNDS)]
        finally:
            await ours.close()
            await bare.close()
    replays, scripts = zip(*pairs, strict=True)
    ratio: float = statistics.median(replays) / statistics.median(scripts)
    return ratio


@benchmark("session.replay_ratio", unit="times bare Playwright", target=1.2, direction="at most")
def replay_ratio() -> float:
    """Time of a ten-step replay over that of a bare script; medians of rounds taken in turn."""
    return asyncio.run(_ratio())
