"""The requests that Chromium sends without a pause: plain reads of files for a page, from origins that the guard has let through.

CDP ``Fetch`` pauses each request that fits one of its patterns. A pattern names one kind of request and supports only the
wildcards ``*`` and ``?``; no pattern excludes requests. So the patterns here fit every request except those that are certainly
permitted: pictures, styles, scripts, fonts and media whose address contains none of ``DOUBTFUL_PARTS``. All others are paused and
judged, and so is each redirect.

The patterns are valid for one policy. While pages with different policies are open in a browser, all its requests are paused.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError

from adapters.browser.wall import Wall
from protocol.risk.addresses.address_prefilter import DOUBTFUL_PARTS, PLAIN_CHARACTERS
from protocol.risk.requests.requests import GuardPolicy
from protocol.trust.origin import origin_of

_ALWAYS: Final = ("Document", "XHR", "Fetch", "Ping", "CSPViolationReport", "Other")
"""Kinds of requests that are always paused. Kinds without a name in CDP are paused by their address, as files are."""
_FILES: Final = frozenset({"Image", "Stylesheet", "Script", "Font", "Media"})
_CAPITALS: Final = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_RARE: Final = tuple(
    chr(code) for code in range(0x20, 0x7F) if chr(code) not in PLAIN_CHARACTERS and chr(code) not in _CAPITALS
)
"""Characters that are rare in addresses: one pattern for each character is shorter than one for each position. ``%`` is included,
because an escape can hide a word.
"""
_COMMON: Final = tuple(PLAIN_CHARACTERS)
_ORIGINS_MAX: Final = 4
_KEPT_S: Final = 60.0  # afterwards a name is looked up again
_FILES_BEFORE: Final = 3  # one picture from an origin does not justify a thousand patterns

WINDOW_WITHOUT_FILES: Final = r"""
if (window === top && opener && opener !== window && !/^https?:$/.test(location.protocol)) {
  const policy = document.createElement('meta');
  policy.httpEquiv = 'Content-Security-Policy';
  policy.content = "default-src 'none'";
  (document.head || document.documentElement || document).append(policy);
}
"""
"""Stops the empty document of a window that a page opened from loading anything, because plain reads are not paused and would be
sent before the window is closed.

Playwright runs it while the script that opened the window still waits. The guard refuses any other document of a window.
"""


def doubtful(origins: Iterable[str]) -> list[dict[str, str]]:
    """Patterns of all requests that must be judged although ``origins`` were let through; of all requests if there are no
    origins.
    """
    starts = [f"{origin}/" for origin in origins]
    if not starts:
        return [{"urlPattern": "*"}]
    words = (_plain(part).replace(" ", "*") for part in DOUBTFUL_PARTS)
    addresses = [*_elsewhere(starts), *(f"*{each}*" for each in (*words, *_CAPITALS, *map(_plain, _RARE)))]
    return [{"urlPattern": "*", "resourceType": kind} for kind in _ALWAYS] + [
        {"urlPattern": each} for each in addresses
    ]


def _elsewhere(starts: list[str]) -> Iterator[str]:
    """Patterns of all addresses that contain no character of ``_CAPITALS`` or ``_RARE`` and begin with none of ``starts``."""
    for begun in sorted({start[:length] for start in starts for length in range(len(start))}):
        goes_on = {start[len(begun)] for start in starts if start.startswith(begun)}
        yield from (f"{_plain(begun + other)}*" for other in _COMMON if other not in goes_on)
        yield _plain(begun)


def _plain(text: str) -> str:
    return "".join(f"\\{character}" if character in "*?\\" else character for character in text)


class PlainReads:
    """Tells the CDP session of a browser which requests to pause, based on what its guards have permitted."""

    def __init__(self, session: CDPSession, wall: Wall | None = None) -> None:
        """wall: that of the tunnel, which learns what is not paused; None without a tunnel."""
        self._session = session
        self._wall = wall
        self._policies: list[GuardPolicy] = []
        """The policies of the open pages."""
        self._learned: GuardPolicy | None = None
        """The policy under which ``_origins`` were let through."""
        self._origins: dict[str, asyncio.TimerHandle] = {}
        self._seen: Counter[str] = Counter()
        self._asking: set[str] = set()
        """Origins that asked for HTTP authentication: a request that is not paused would wait forever for the answer."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Pause doubtful requests from now on; at first these are all."""
        patterns = doubtful(self._origins)
        await self._session.send("Fetch.enable", {"patterns": patterns, "handleAuthRequests": True})

    async def admit(self, policy: GuardPolicy) -> None:
        """A page opens under ``policy``. Origins learned under another policy do not count for it."""
        self._policies.append(policy)
        if self._wall is not None:
            self._wall.opens(policy)
        if self._origins and policy != self._learned:
            self._forget()
            await self.start()

    def release(self, policy: GuardPolicy) -> None:
        """The page of ``policy`` has closed. Its origins stay for the next page under that policy: learning them again would
        slow it down."""
        self._policies.remove(policy)
        if self._wall is not None:
            self._wall.closes(policy)

    def permitted(self, event: Mapping[str, Any], policy: GuardPolicy) -> None:
        """``policy`` lets through a request of ``Fetch.requestPaused`` that may go where its address resolves to."""
        kind, url = event["resourceType"], event["request"]["url"]
        origin = origin_of(url) if kind == "Document" or kind in _FILES else ""
        # The address in the form in which the browser writes it, because the patterns match no other form of the origin.
        if not origin or origin in self._origins or origin in self._asking or not url.startswith(f"{origin}/"):
            return
        self._seen[origin] += 1 if kind in _FILES else _FILES_BEFORE
        alone = all(each == policy for each in self._policies)
        if self._policies and alone and self._seen[origin] >= _FILES_BEFORE and len(self._origins) < _ORIGINS_MAX:
            self._learned = policy
            self._origins[origin] = asyncio.get_running_loop().call_later(_KEPT_S, self._expire, origin)
            if self._wall is not None:
                self._wall.reads(origin, policy, _KEPT_S)
            self._tell()

    async def pause_all(self) -> None:
        """Pause every request from now on, until ``permitted`` is called again."""
        if self._origins:
            self._forget()
            await self.start()

    def asks(self, url: str) -> None:
        """The site of ``url`` asked for HTTP authentication: all requests to it are paused from now on."""
        origin = origin_of(url)
        if len(self._asking) < _ORIGINS_MAX:
            self._asking.add(origin)
        if origin in self._origins:
            self._origins[origin].cancel()
            self._expire(origin)

    def _expire(self, origin: str) -> None:
        del self._origins[origin]
        del self._seen[origin]
        self._tell()

    def _forget(self) -> None:
        for timer in self._origins.values():
            timer.cancel()
        self._origins.clear()
        self._seen.clear()

    def _tell(self) -> None:
        # The patterns are made when they are sent: if two calls overlap, neither sends outdated ones.
        task = asyncio.ensure_future(self._told())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _told(self) -> None:
        try:
            await self.start()
        except PlaywrightError:
            return  # the browser has gone
