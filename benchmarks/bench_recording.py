"""Compares the time of recording with a bare Playwright script that stores the same data.

As ``bench_session``, ten steps in the demo shop, one headless Chromium for each side, rounds in turn. After each step the script
takes a screenshot and the accessibility snapshot and writes both to files. The recording does the same, classifies each action,
looks a second time for what changes by itself, redacts, stores on disk so that a power cut takes nothing, and signs.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from nacl.signing import SigningKey
from playwright.async_api import Browser as PlaywrightBrowser
from playwright.async_api import Page as PlaywrightPage
from playwright.async_api import async_playwright

from adapters.browser.launch.arguments import DETERMINISM_ARGS, HARDENING_ARGS
from adapters.browser.launch.chromium import launcher
from adapters.browser.launch.settings import find_executable
from adapters.clock.system import SystemClock
from adapters.ports.browser import Browser
from adapters.ports.store import Store
from adapters.storage.sqlite import SqliteStore
from benchmarks.bench_session import LINKS, SETTINGS, shop
from benchmarks.registry import benchmark
from node.live.acting.driver import Gate
from node.live.recording.keeping import Recording
from node.live.recording.run import record, record_actions
from node.signing.identity import Identity
from node.signing.witness import Witness
from protocol.page.actions.action import Action, Click, Extract, Goto, Locator
from protocol.recording.records.session import Profile
from protocol.recording.records.verdict import Verdict
from protocol.risk.requests.requests import GuardPolicy

ROUNDS: Final = 7


def _link(name: str) -> Click:
    return Click(target=Locator(role="link", name=name, nth=0))


def _heading() -> Extract:
    return Extract(name="heading", target=Locator(selectors=("css=h1",)))


TEN_STEPS: Final[tuple[Action, ...]] = (*(_link(name) for name, _ in LINKS), _heading())
"""After the address."""


@asynccontextmanager
async def _node(home: Path) -> AsyncIterator[tuple[Store, Witness]]:
    """A store on disk and a signer."""
    store = await SqliteStore.open(home)
    witness = Witness(Identity(SigningKey(bytes(32)), SystemClock()), store, SystemClock())
    await witness.load()
    try:
        yield store, witness
    finally:
        await store.close()


async def _recorded(browser: Browser, store: Store, witness: Witness, actions: Sequence[Action], url: str) -> float:
    """Seconds that a recording takes, from the first action to its signature."""
    page = await (await browser.open(Profile(), GuardPolicy())).page()
    plan = Recording(
        title="flow", start_url=url, profile=Profile(), browser=browser.info, gate=Gate(report=witness.trail.gate)
    )
    began = time.perf_counter()
    async with record(store, page, SystemClock(), witness, plan) as recorder:
        await record_actions(recorder, [Goto(url=url), *actions])
    taken = time.perf_counter() - began
    await page.close()
    assert recorder.session.verdict == Verdict.PASS, "a recording that fails measures something else"
    return taken


async def _keep(page: PlaywrightPage, directory: Path, number: int) -> None:
    (directory / f"{number}.png").write_bytes(await page.screenshot())
    (directory / f"{number}.txt").write_text(await page.aria_snapshot(mode="ai"), encoding="utf-8")


async def _scripted(browser: PlaywrightBrowser, url: str, directory: Path) -> float:
    """Seconds a plain script takes that keeps a picture and a snapshot of each step."""
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    page = await context.new_page()
    began = time.perf_counter()
    await page.goto(f"{url}/")
    await _keep(page, directory, 1)
    for number, (name, address) in enumerate(LINKS, 2):
        await page.get_by_role("link", name=name, exact=True).first.click()
        await page.wait_for_url(address)
        await _keep(page, directory, number)
    await page.get_by_role("heading", level=1).first.inner_text()
    await _keep(page, directory, len(LINKS) + 2)
    taken = time.perf_counter() - began
    await context.close()
    return taken


async def _overhead() -> float:
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="trailmesh-bench-")))
        store, witness = await stack.enter_async_context(_node(directory / "home"))
        url, driver = await stack.enter_async_context(shop()), await stack.enter_async_context(async_playwright())
        arguments = [*HARDENING_ARGS, *DETERMINISM_ARGS]
        bare = await driver.chromium.launch(executable_path=find_executable(SETTINGS), args=arguments)
        stack.push_async_callback(bare.close)
        ours = await launcher(SETTINGS)()
        stack.push_async_callback(ours.close)
        pairs = []
        for _ in range(ROUNDS + 1):
            taken = await _recorded(ours, store, witness, TEN_STEPS, f"{url}/")
            pairs.append((taken, await _scripted(bare, url, directory)))
        recorded, scripted = zip(
            *pairs[1:], strict=True
        )  # in the first round both sides see the pages for the first time
        ratio: float = statistics.median(recorded) / statistics.median(scripted)
        return ratio


@benchmark("session.record_overhead", unit="times bare Playwright", target=1.25, direction="at most")
def record_overhead() -> float:
    """Time of a ten-step recording over that of a bare script that keeps pictures and snapshots; medians of rounds in turn."""
    return asyncio.run(_overhead())
