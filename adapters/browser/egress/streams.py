"""Counts what sites send to the EventSources of a page, and ends those over which too much came."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError

from adapters.browser.egress.activity import Activity
from protocol import limits
from protocol.risk.sockets import Flow

_TYPE: Final = "text/event-stream"


def is_stream(headers: Mapping[str, str]) -> bool:
    """Whether a request is one of an EventSource; Chromium calls its kind XHR. A script that says so too is counted as one."""
    return any(name.lower() == "accept" and value.strip().lower() == _TYPE for name, value in headers.items())


class Streams:
    """The EventSources of one page, by their addresses: one that lost its connection asks again by itself.

    Those of workers and of frames in other processes are bounded in number only.
    """

    def __init__(self, activity: Activity, full: Callable[[str], None]) -> None:
        """full: called once for an address from which too much came."""
        self._activity, self._full = activity, full
        self._session: CDPSession | None = None
        self._counts = False
        self._flows: dict[str, Flow] = {}
        self._addresses: dict[str, str] = {}
        """Of the requests over which events come."""
        self._over: set[str] = set()

    def watch(self, session: CDPSession) -> None:
        """session: of the page."""
        self._session = session

    def permits(self, url: str) -> bool:
        """Whether the page may open one at ``url``; what comes over it is counted from then on."""
        if url in self._over or (url not in self._flows and len(self._flows) >= limits.STREAMS_MAX):
            return False
        self._flows.setdefault(url, Flow(limits.STREAM_EVENTS_MAX, limits.STREAM_BYTES_MAX))
        if self._session is not None and not self._counts:
            # Only now: a message for each request of each page would slow down all of them.
            self._counts = True
            self._session.on("Network.requestWillBeSent", self._asked)
            self._session.on("Network.eventSourceMessageReceived", self._came)
            self._activity.spawn(self._begin(self._session))
        return True

    @staticmethod
    async def _begin(session: CDPSession) -> None:
        with contextlib.suppress(PlaywrightError):  # the page has gone
            await session.send("Network.enable", {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0})

    def _asked(self, event: Mapping[str, Any]) -> None:
        if (url := event["request"]["url"]) in self._flows:
            self._addresses[event["requestId"]] = url

    def _came(self, event: Mapping[str, Any]) -> None:
        url = self._addresses.get(event["requestId"], "")
        flow = self._flows.get(url)
        if flow is None:  # it was asked for before this listened
            url, flow = next(iter(self._flows.items()))
        if not flow.takes(event["data"]) and url not in self._over:
            self._over.add(url)
            self._full(url)
            self._activity.spawn(self._stop())

    async def _stop(self) -> None:
        """Have the page load no more: nothing else ends an EventSource from outside. It asks again, and is refused."""
        with contextlib.suppress(PlaywrightError):
            if self._session is not None:
                await self._session.send("Page.stopLoading")
