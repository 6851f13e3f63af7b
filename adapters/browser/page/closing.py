"""Closes pages. Chromium would send a request that is being judged when its page closes, so the network is cut off first."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from playwright.async_api import CDPSession, Page
from playwright.async_api import Error as PlaywrightError

from adapters.browser.egress import Activity
from protocol import limits
from protocol.errors import MeshError

_BLANK_TIMEOUT_MS: Final = 1_000
_OFFLINE: Final = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}


async def blank(page: Page) -> None:
    """Make ``page`` abort its navigation."""
    with contextlib.suppress(PlaywrightError):
        await page.goto("about:blank", timeout=_BLANK_TIMEOUT_MS)


async def close(page: Page, session: CDPSession, activity: Activity, *, cuts_off: bool) -> None:
    """Close ``page``; never raises. cuts_off: cut it off from the network first."""
    if cuts_off:
        with contextlib.suppress(Exception):  # closing must not raise: the browser may be gone
            await asyncio.wait_for(_cut_off(page, session), limits.STEP_TIMEOUT_MS / 1000)
    with contextlib.suppress(MeshError):
        await activity.alive(
            page.close(), timeout_ms=limits.STEP_TIMEOUT_MS, otherwise="browser.crashed", doing="closing"
        )
    activity.lost()


async def _cut_off(page: Page, session: CDPSession) -> None:
    """Stop ``page`` from navigating, then cut its network."""
    await blank(page)
    await session.send("Network.enable")
    await session.send("Network.emulateNetworkConditions", _OFFLINE)
