"""Every way to open a browser on the test pages, as one async context manager each."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass

from adapters.browser.launch.attached import attacher
from adapters.browser.launch.chromium import launcher
from adapters.browser.launch.settings import BrowserSettings, find_executable
from adapters.ports.browser import Browser
from tests.sites.pages.model import ORIGIN, site
from tests.sites.pages.server import PageServer
from tests.twins.browser import MemoryBrowser

# The tests may run as root, where Chromium refuses to start with its sandbox.
SETTINGS = BrowserSettings(sandbox=False, launch_timeout_ms=120_000)
NAMES = ("launched", "attached", "memory")
_START_TIMEOUT_S = 120


@dataclass
class Backend:
    """A browser and the site it is to visit."""

    browser: Browser
    origin: str
    reached: list[str]


@contextlib.asynccontextmanager
async def running_chromium(*arguments: str) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    """A Chromium that nobody of ours launched: its CDP address and its process. arguments: further ones."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = await asyncio.create_subprocess_exec(
            find_executable(SETTINGS),
            "--headless=new",
            "--no-sandbox",
            "--no-first-run",
            "--disable-background-networking",
            # For speed only: see adapters/browser/launch/arguments.py.
            "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,SpareRendererForSitePerProcess",
            "--remote-debugging-port=0",
            f"--user-data-dir={profile}",
            *arguments,
            "about:blank",
            stderr=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
        )
        try:
            yield await asyncio.wait_for(_address(process), _START_TIMEOUT_S), process
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.communicate()


async def _address(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    async for line in process.stderr:
        text = line.decode(errors="replace")
        if "DevTools listening on ws://" in text:
            return "http://" + text.split("ws://")[1].split("/")[0]
    raise AssertionError("Chromium ended before it listened")


@contextlib.asynccontextmanager
async def backend(name: str) -> AsyncIterator[Backend]:
    """The backend called ``name``, started; all of it is stopped afterwards."""
    async with contextlib.AsyncExitStack() as stack:
        if name == "memory":
            pages = site()
            yield Backend(MemoryBrowser(pages), ORIGIN, pages.reached)
            return
        server = PageServer()
        await server.start()
        stack.push_async_callback(server.stop)
        if name == "attached":
            address, _ = await stack.enter_async_context(running_chromium())
            browser = await attacher(BrowserSettings(cdp_url=address))()
        else:
            browser = await launcher(SETTINGS)()
        stack.push_async_callback(browser.close)
        yield Backend(browser, server.origin, server.reached)
