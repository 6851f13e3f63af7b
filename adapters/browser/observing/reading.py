"""Reads a page: Playwright's snapshot of it, and facts about its controls that no snapshot contains."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final, NamedTuple

from playwright.async_api import Page
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from adapters.browser.egress import Activity
from adapters.browser.observing.aria import AriaNode, parse, unread
from adapters.browser.observing.view import FrameFacts, wanted_refs
from adapters.browser.observing.worlds import Worlds
from protocol import limits

_EMPTY_FRAME_MS: Final = 1_500  # the time limit of a snapshot that leaves out a frame without a document


class PageRead(NamedTuple):
    """The result of reading a page."""

    roots: list[AriaNode]
    facts: FrameFacts
    unknown: list[str]
    """Playwright refs of the controls without facts."""


class _Parsed(NamedTuple):
    roots: list[AriaNode]
    unread: int
    wanted: dict[str, int]
    """Playwright refs of the nodes whose traits an observation needs, each with its priority."""


class PageReader:
    """Reads one page."""

    def __init__(self, page: Page, worlds: Worlds, activity: Activity) -> None:
        self._page = page
        self._worlds = worlds
        self._activity = activity

    async def now(self) -> PageRead:
        """Read the page. The script for the facts needs the refs that Playwright's snapshot has left on the elements just
        before.
        """
        if len(self._page.frames) == 1:
            # Both are sent at once, and reach the page in this order: waiting in between would cost each step a round trip. If the
            # order changed, or another document was loaded meanwhile, the facts do not belong to the snapshot.
            serial = self._activity.serial
            parsed, facts = await asyncio.gather(self._parsed(), self._worlds.facts())
            early = bool(parsed.wanted.keys() - facts.traits.keys()) or (facts.unmarked and _has_refs(parsed.roots))
            if self._activity.serial != serial or early:
                facts = await self._worlds.facts()
        else:
            snapshot = await self._snapshot()
            facts, parsed = await asyncio.gather(self._worlds.facts(), _parsed(snapshot))
        facts.unread = parsed.unread
        facts.unfinished = self._activity.unfinished
        facts.awaited = min(self._activity.frames_loading, sum(not frame.url for frame in self._page.frames))
        unknown = parsed.wanted.keys() - facts.traits.keys()
        return PageRead(parsed.roots, facts, sorted(unknown, key=parsed.wanted.__getitem__))

    async def _parsed(self) -> _Parsed:
        return await asyncio.to_thread(_read, await self._snapshot())

    async def _snapshot(self) -> str:
        """Playwright's snapshot of the page.

        A frame whose document never loads, or that Chromium refuses to load (``file:`` in a web page), has neither address nor
        document. Playwright waits for it until the timeout, and then returns the rest of the page.
        """
        if any(not frame.url for frame in self._page.frames):
            with contextlib.suppress(PlaywrightTimeoutError):  # the rest took longer, so it gets the normal time
                return await self._page.aria_snapshot(mode="ai", timeout=_EMPTY_FRAME_MS)
        return await self._page.aria_snapshot(mode="ai", timeout=limits.STEP_TIMEOUT_MS + limits.READ_MORE_MS_MAX)


async def _parsed(snapshot: str) -> _Parsed:
    await asyncio.sleep(0)  # let concurrent requests to the browser go first, so that they are answered meanwhile
    return await asyncio.to_thread(_read, snapshot)


def _read(snapshot: str) -> _Parsed:
    roots = parse(snapshot)
    return _Parsed(roots, unread(snapshot), {ref: place for place, ref in enumerate(wanted_refs(roots))})


def _has_refs(roots: list[AriaNode]) -> bool:
    return any(node.ref for root in roots for node in root.walk())
