"""The plain other arm of a search: breadth first, links only, a snapshot and a picture of each page."""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from typing import Final
from urllib.parse import urldefrag, urlsplit

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page, Route, async_playwright

ORDERS: Final = re.compile(r"log-?out|sign-?out|delete|remove|/del/|exit", re.IGNORECASE)
"""Addresses that it leaves alone."""
_LOAD_MS: Final = 10_000
_STILL_MS: Final = 80
_READ_MS: Final = 5_000


async def crawl(start: str, seconds: float, chromium: str) -> int:
    """How many distinct addresses of the site of ``start`` were opened and observed within ``seconds``."""
    async with async_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu"]
        browser = await playwright.chromium.launch(executable_path=chromium, args=arguments)
        context = await browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
        await context.route("**/*", _only_reads)
        page, ends = await context.new_page(), time.monotonic() + seconds
        met, todo, seen = {urldefrag(start)[0]}, deque([start]), 0
        while todo and time.monotonic() < ends:
            try:
                links = await _links(page, todo.popleft())
            except PlaywrightError:
                continue  # a page that cannot be read is skipped
            seen += 1
            for link in (urldefrag(each)[0] for each in links):
                if urlsplit(link).netloc == urlsplit(start).netloc and link not in met and not ORDERS.search(link):
                    met.add(link)
                    todo.append(link)
        await browser.close()
    return seen


async def _only_reads(route: Route) -> None:
    await (route.continue_() if route.request.method in ("GET", "HEAD") else route.abort())


async def _links(page: Page, url: str) -> list[str]:
    await page.goto(url, wait_until="load", timeout=_LOAD_MS)
    await asyncio.sleep(_STILL_MS / 1000)
    await page.locator("body").aria_snapshot(timeout=_READ_MS)
    await page.screenshot()
    await page.locator("body").inner_text(timeout=_READ_MS)
    found: list[str] = await page.eval_on_selector_all("a[href]", "found => found.map(each => each.href)")
    return found
