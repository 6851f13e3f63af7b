"""Waits until a page has loaded, and until it stops changing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final

from adapters.browser.egress import Activity
from adapters.browser.observing import still_scripts
from adapters.browser.observing.ahead import EarlyObservations
from adapters.browser.observing.worlds import Worlds
from protocol import limits
from protocol.errors import MeshError

POLL_S: Final = (0.016, 0.032)
_LOADING_S: Final = 0.5  # the time for which loading delays reading a page; a slow picture may take far longer


class Stillness:
    """Waits until one page is still."""

    def __init__(self, activity: Activity, worlds: Worlds, ahead: EarlyObservations, frames: Callable[[], int]) -> None:
        """frames: counts the frames of the page, in reach or not."""
        self._activity = activity
        self._worlds = worlds
        self._ahead = ahead
        self._frames = frames
        self.seen = False
        """True if the page was read when it was found still, and has not changed since."""
        self._rests = 0
        """The number of times it was still: a document that was loaded since the last time is still being built."""
        self.quiet_ms = limits.SETTLE_QUIET_MS
        """The time without a change that counts as still."""
        self.first_ms = limits.SETTLE_QUIET_MS
        """The same for a page that has not changed at all since it is watched."""
        self.arrival_ms = limits.NAVIGATION_TIMEOUT_MS
        """How long the next document of the page may take."""

    async def dialog(self) -> None:
        """Wait for an expected dialog, within a limit: it can be late, and opened by an answer to a request."""
        end = time.monotonic() + limits.DIALOG_TIMEOUT_MS / 1000
        while not self._activity.dialogs and not self._activity.gone.done() and (left := end - time.monotonic()) > 0:
            await self._activity.changed(left)

    async def loaded(self) -> None:
        """Wait for the page to load, within a limit: reading too early slows the renderer and finds content that will change."""
        end = time.monotonic() + _LOADING_S
        while not self._activity.idle and (left := end - time.monotonic()) > 0:
            await self._activity.changed(left)

    def _quiet(self) -> str:
        told = {
            "QUIET_MS": self.quiet_ms,
            "FIRST_MS": self.first_ms,
            "BUSY_MS": limits.SETTLE_BUSY_MS,
            "BLANK_MS": limits.SETTLE_BLANK_MS,
            "ANSWER_MS": limits.SETTLE_ANSWER_MS,
            "RESTS": self._rests,
            "UNFINISHED": int(self._activity.unfinished),
        }
        script = still_scripts.QUIET
        for name, value in told.items():
            script = script.replace(name, str(value))
        return script

    def _left_s(self, began: float, patience_ms: Callable[[], int]) -> float:
        patience = self.arrival_ms if self._activity.navigating else patience_ms()
        return patience / 1000 - (time.monotonic() - began)

    async def _watched(self, quiet: str, began: float, patience_ms: Callable[[], int]) -> list[Any]:
        """The results of ``quiet`` in each frame. Raises ``TimeoutError``."""
        answers = asyncio.ensure_future(self._worlds.everywhere(quiet, wait=True))
        try:
            while not answers.done():
                if (left := self._left_s(began, patience_ms)) <= 0:
                    raise TimeoutError
                await asyncio.wait({answers}, timeout=left)
            return answers.result()
        finally:
            answers.cancel()

    async def until_still(self, patience_ms: Callable[[], int], *, ahead: bool = False) -> bool:
        """Wait for loading to end and then for a time without changes; False if that never came.

        patience_ms: the time limit, asked repeatedly: the page may turn out to be large meanwhile. ahead: observe the page
        meanwhile; ``seen`` tells if that counts. A navigation gets more time than scripts that never rest.
        """
        self.seen, began = False, time.monotonic()
        while not self._activity.gone.done():
            left = self._left_s(began, patience_ms)
            if left <= 0:
                return False
            if not self._activity.idle:
                await self._activity.changed(left)
                continue
            serial = self._activity.serial
            changes = asyncio.ensure_future(self._watched(self._quiet(), began, patience_ms))
            if ahead:
                await asyncio.sleep(0)  # the watch begins before the observation
                self._ahead.begin()
            try:
                answers = await changes
            except TimeoutError:
                return False
            except asyncio.CancelledError:  # the page has reached the expected state
                self._rests += 1
                raise
            finally:
                if not changes.done() or changes.cancelled() or changes.exception():
                    self._ahead.forget()
            still = bool(answers) and self._activity.idle and self._activity.serial == serial
            reached = len(answers) == self._frames()
            self.seen = await self._ahead.counts(unchanged=still and reached and not any(answers))
            if still:
                self._rests += 1
                return True
            if not answers:
                await asyncio.sleep(POLL_S[0])  # between two documents there is no execution context
        raise MeshError("browser.crashed", "the browser disappeared while the page was settling")
