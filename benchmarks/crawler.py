"""The plain other arm of a search: breadth first, links only, a snapshot and a picture of each page."""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple
from urllib.parse import urldefrag, urlsplit

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page, Route, async_playwright

from protocol.goal.condition import Condition, holds
from protocol.page.seen.observation import Element, Observation

ORDERS: Final = re.compile(r"log-?out|sign-?out|delete|remove|/del/|exit", re.IGNORECASE)
"""Addresses that it leaves alone."""
_NAMED: Final = re.compile(r'^\W*(\w+) "([^"]*)"', re.MULTILINE)
"""An element in a snapshot of Playwright: its role and its name."""
_LOAD_MS: Final = 10_000
_STILL_MS: Final = 80
_READ_MS: Final = 5_000


class Crawled(NamedTuple):
    """The addresses that one crawl opened, and when it met the goal."""

    addresses: int
    """How many distinct addresses were opened and observed."""
    found_s: float | None = None
    """After how many seconds a page met the condition; None if none did."""


async def crawl(
    start: str, seconds: float, chromium: str, *, state: Any = None, until: Condition | None = None
) -> Crawled:
    """Crawl the site of ``start`` for ``seconds``, or until a page meets ``until``. state: a login, as Playwright stores it."""
    met, todo, seen = {urldefrag(start)[0]}, deque([start]), 0
    async with _browsing(chromium, state) as page:
        began = time.monotonic()
        while todo and time.monotonic() - began < seconds:
            try:
                observed, links = await _read(page, todo.popleft())
            except PlaywrightError:
                continue  # a page that cannot be read is skipped
            seen += 1
            if until is not None and holds(until, observed):
                return Crawled(seen, time.monotonic() - began)
            for link in (urldefrag(each)[0] for each in links):
                if urlsplit(link).netloc == urlsplit(start).netloc and link not in met and not ORDERS.search(link):
                    met.add(link)
                    todo.append(link)
    return Crawled(seen)


@asynccontextmanager
async def _browsing(chromium: str, state: Any) -> AsyncIterator[Page]:
    async with async_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu"]
        browser = await playwright.chromium.launch(executable_path=chromium, args=arguments)
        context = await browser.new_context(
            viewport={"width": 1280, "height": 800}, reduced_motion="reduce", storage_state=state
        )
        await context.route("**/*", _only_reads)
        yield await context.new_page()
        await browser.close()


async def _only_reads(route: Route) -> None:
    await (route.continue_() if route.request.method in ("GET", "HEAD") else route.abort())


async def _read(page: Page, url: str) -> tuple[Observation, list[str]]:
    """Open ``url``; return the observation of its page and the addresses of its links."""
    await page.goto(url, wait_until="load", timeout=_LOAD_MS)
    await asyncio.sleep(_STILL_MS / 1000)
    shown = await page.locator("body").aria_snapshot(timeout=_READ_MS)
    await page.screenshot()
    text = await page.locator("body").inner_text(timeout=_READ_MS)
    links: list[str] = await page.eval_on_selector_all("a[href]", "found => found.map(each => each.href)")
    elements = tuple(
        Element(ref=f"e{place}", role=role, name=name) for place, (role, name) in enumerate(_NAMED.findall(shown), 1)
    )
    return Observation(url=page.url, title=await page.title(), text=f"{shown}\n{text}", elements=elements), links
