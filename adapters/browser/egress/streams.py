"""Counts the events that sites send to the EventSources of a page, and ends those that receive too much."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError

from adapters.browser.egress.activity import Activity
from protocol import limits
from protocol.risk.requests.sockets import TrafficCount

_TYPE: Final = "text/event-stream"


def is_stream(headers: Mapping[str, str]) -> bool:
    """True if a request looks like one of an EventSource, whose kind Chromium calls XHR. A script that imitates it counts as
    one."""
    return any(name.lower() == "accept" and value.strip().lower() == _TYPE for name, value in headers.items())


class Streams:
    """The EventSources of one page, by their addresses, because an EventSource that lost its connection reconnects by itself.

    For EventSources of workers and of frames in other processes, only their number is limited.
    """

    def __init__(self, activity: Activity, full: Callable[[str], None]) -> None:
        """full: called once for an address that sent too much."""
        self._activity, self._full = activity, full
        self._session: CDPSession | None = None
        self._counts = False
        self._flows: dict[str, TrafficCount] = {}
        self._addresses: dict[str, str] = {}
        """By request id: the addresses that send events."""
        self._over: set[str] = set()

    def watch(self, session: CDPSession) -> None:
        """session: that of the page."""
        self._session = session

    def permits(self, url: str) -> bool:
        """True if the page may open an EventSource at ``url``; its events are counted from then on."""
        if url in self._over or (url not in self._flows and len(self._flows) >= limits.STREAMS_MAX):
            return False
        self._flows.setdefault(url, TrafficCount(limits.STREAM_EVENTS_MAX, limits.STREAM_BYTES_MAX))
        if self._session is not None and not self._counts:
            # Only now, because a message for each request of each page would slow down all of them.
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
        if flow is None:  # it was requested before this listened
            url, flow = next(iter(self._flows.items()))
        if not flow.takes(event["data"]) and url not in self._over:
            self._over.add(url)
            self._full(url)
            self._activity.spawn(self._stop())

    async def _stop(self) -> None:
        """Stop all loading of the page, because nothing else ends an EventSource from outside. It reconnects, and is then
        refused.
        """
        with contextlib.suppress(PlaywrightError):
            if self._session is not None:
                await self._session.send("Page.stopLoading")
