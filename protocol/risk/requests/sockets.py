"""Decides which WebSockets a page may open: only those at addresses that the owner has named, as `WS https://host/path` or in
`policy.sites`. Their messages cannot be judged, so none is allowed by default.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

import msgspec

from protocol.risk.requests.allowed import allows
from protocol.risk.requests.refused import SOCKET
from protocol.risk.requests.requests import GuardPolicy, judge_request
from protocol.risk.requests.sites import path_fits, rule_at

SOCKET_METHOD: Final = "WS"
"""The word in place of a method in an entry, and in a refused request."""


def page_url(url: str) -> str:
    """The address of a WebSocket in the form of entries: with the scheme of the pages that open it."""
    return f"http{url[2:]}" if url.startswith(("ws://", "wss://")) else url


def judge_socket(url: str, policy: GuardPolicy) -> str | None:
    """The reason why ``policy`` refuses to open a WebSocket; None if it may be opened.

    Checks, in order: those of ``judge_request`` up to the host; the allow list; ``connect`` in the site's rule.
    """
    web = page_url(url)
    rule = judge_request("GET", web, "websocket", False, None, msgspec.structs.replace(policy, read_only=False))
    if rule is not None or not policy.read_only:
        return rule
    index = rule_at(policy.sites, web)
    listed = index is not None and any(path_fits(each, urlsplit(web).path) for each in policy.sites[index].connect)
    return None if listed or any(allows(entry, SOCKET_METHOD, web) for entry in policy.allow) else SOCKET


class TrafficCount:
    """Counts the traffic of one WebSocket in both directions, or of the EventSources from one address."""

    def __init__(self, messages_max: int, bytes_max: int) -> None:
        self._messages_max, self._bytes_max = messages_max, bytes_max
        self.messages = self.bytes = 0

    def takes(self, message: str | bytes) -> bool:
        """Count a message. Returns True while the traffic is within the limits."""
        self.messages += 1
        self.bytes += len(message)
        return self.messages <= self._messages_max and self.bytes <= self._bytes_max
