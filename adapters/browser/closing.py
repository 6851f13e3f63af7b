"""How a page is left before it is closed: a request that waits for its judgement as its page closes is let go by Chromium."""

from __future__ import annotations

import contextlib
from typing import Final

from playwright.async_api import CDPSession, Page
from playwright.async_api import Error as PlaywrightError

_BLANK_TIMEOUT_MS: Final = 1_000
_OFFLINE: Final = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}


async def blank(page: Page) -> None:
    """Have ``page`` give up what it is on its way to."""
    with contextlib.suppress(PlaywrightError):
        await page.goto("about:blank", timeout=_BLANK_TIMEOUT_MS)


async def cut_off(page: Page, session: CDPSession) -> None:
    """Take away what could send ``page`` elsewhere, then its network."""
    await blank(page)
    await session.send("Network.enable")
    await session.send("Network.emulateNetworkConditions", _OFFLINE)
