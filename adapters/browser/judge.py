"""The one judge of a browser that is ours: CDP ``Fetch`` on the browser itself.

It pauses every hop of every request of every frame, process, window and worker, first ones included, before anything
is sent; so there is no race with a window that opens or a frame that moves to another process. In a browser that is
somebody else's it would make their tabs wait too: ``routing.Routing`` is for those.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError

from adapters.browser.network import NetworkGuard, answer, pause_requests, permitted


class BrowserJudge:
    """Brings each request of a browser before the guard of the page it belongs to."""

    def __init__(self, session: CDPSession) -> None:
        self._session = session
        self._contexts: dict[str, NetworkGuard] = {}
        self._frames: dict[str, NetworkGuard] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Judge from now on. What belongs to no guard is refused."""
        self._session.on("Fetch.requestPaused", self._paused)
        await pause_requests(self._session)

    async def admit(self, page: CDPSession, guard: NetworkGuard) -> None:
        """``page``, still blank, is the one of its context that may send, under ``guard``."""
        target = (await page.send("Target.getTargetInfo"))["targetInfo"]
        self._contexts[target["browserContextId"]] = guard
        self._frames[target["targetId"]] = guard
        page.on("Page.frameAttached", lambda event: self._frames.update({event["frameId"]: guard}))

    def release(self, guard: NetworkGuard) -> None:
        """The page of ``guard`` is gone."""
        for known in (self._contexts, self._frames):
            for key in [key for key, value in known.items() if value is guard]:
                del known[key]

    def _paused(self, event: Mapping[str, Any]) -> None:
        task = asyncio.ensure_future(self._judge(event))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _judge(self, event: Mapping[str, Any]) -> None:
        frame = event["frameId"]
        guard = self._frames.get(frame)
        with contextlib.suppress(PlaywrightError):  # the browser went away: nothing is left to let through
            permit = permitted(event, guard) if guard is not None else await self._judge_unknown(frame, event)
            await answer(self._session, event, permit)

    async def _judge_unknown(self, frame: str, event: Mapping[str, Any]) -> bool:
        """The judgement on what no page session told of: a process of its own, a worker, another window."""
        target = await self._target(frame)
        if target is None:
            # Deep inside another process, or gone already: it must satisfy whoever it may belong to.
            known = self._frames.get(frame)
            return permitted(event, *([known] if known else set(self._contexts.values())))
        guard = self._contexts.get(target.get("browserContextId", ""))
        if guard is None:
            return False
        if target["type"] == "page":
            guard.pop_up(event["request"]["method"], event["request"]["url"])
            return False
        self._frames[frame] = guard
        return permitted(event, guard)

    async def _target(self, frame: str) -> Mapping[str, Any] | None:
        try:
            answered = await self._session.send("Target.getTargetInfo", {"targetId": frame})
        except PlaywrightError:
            return None  # there is no such target
        target: Mapping[str, Any] = answered["targetInfo"]
        return target
