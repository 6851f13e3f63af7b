"""What Chromium sends without a pause: plain reads of files that a page loads, from origins that the guard has let through.

CDP ``Fetch`` pauses each request that fits one of its patterns. A pattern names one kind of request and knows only the
wildcards ``*`` and ``?``; none says what is *not* to be paused. So the patterns here fit every request but those that are
certainly permitted: pictures, styles, scripts, fonts and media at an address in which none of ``DOUBTFUL_PARTS`` stands.
All others are paused and judged, each redirect by itself.

This holds for one policy. As long as pages with different ones are open in a browser, each of its requests is paused.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError

from adapters.browser.egress.wall import Wall
from protocol.risk.doubtful import DOUBTFUL_PARTS, PLAIN_CHARACTERS
from protocol.risk.requests import GuardPolicy
from protocol.trust.origin import origin_of

_ALWAYS: Final = ("Document", "XHR", "Fetch", "Ping", "CSPViolationReport", "Other")
"""Kinds of which every request is paused. What has no name in this protocol is paused by its address, as files are."""
_FILES: Final = frozenset({"Image", "Stylesheet", "Script", "Font", "Media"})
_CAPITALS: Final = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_RARE: Final = tuple(
    chr(code) for code in range(0x20, 0x7F) if chr(code) not in PLAIN_CHARACTERS and chr(code) not in _CAPITALS
)
"""Rare in addresses: one pattern for each is shorter than one for each place. An escape can hide a word, so ``%`` is among them."""
_COMMON: Final = tuple(PLAIN_CHARACTERS)
_ORIGINS_MAX: Final = 4
_KEPT_S: Final = 60.0  # what a name resolves to is looked up again after this time
_FILES_BEFORE: Final = 3  # one picture from an origin is no reason to send a thousand patterns

WINDOW_WITHOUT_FILES: Final = r"""
if (window === top && opener && opener !== window && !/^https?:$/.test(location.protocol)) {
  const policy = document.createElement('meta');
  policy.httpEquiv = 'Content-Security-Policy';
  policy.content = "default-src 'none'";
  (document.head || document.documentElement || document).append(policy);
}
"""
"""Has the empty document of a window that a page opened load nothing. Plain reads are not paused, and would be sent
before the window is closed.

Playwright runs it while the script that opened the window still waits. The guard refuses any other document of a window.
"""


def doubtful(origins: Iterable[str]) -> list[dict[str, str]]:
    """Patterns of everything that must be judged, where ``origins`` were let through; of everything if there are none."""
    starts = [f"{origin}/" for origin in origins]
    if not starts:
        return [{"urlPattern": "*"}]
    words = (_plain(part).replace(" ", "*") for part in DOUBTFUL_PARTS)
    addresses = [*_elsewhere(starts), *(f"*{each}*" for each in (*words, *_CAPITALS, *map(_plain, _RARE)))]
    return [{"urlPattern": "*", "resourceType": kind} for kind in _ALWAYS] + [
        {"urlPattern": each} for each in addresses
    ]


def _elsewhere(starts: list[str]) -> Iterator[str]:
    """Patterns of every address without a character of ``_CAPITALS`` or ``_RARE`` that begins with none of ``starts``."""
    for begun in sorted({start[:length] for start in starts for length in range(len(start))}):
        goes_on = {start[len(begun)] for start in starts if start.startswith(begun)}
        yield from (f"{_plain(begun + other)}*" for other in _COMMON if other not in goes_on)
        yield _plain(begun)


def _plain(text: str) -> str:
    return "".join(f"\\{character}" if character in "*?\\" else character for character in text)


class PlainReads:
    """Tells the CDP session of a browser what to pause, by what its guards have permitted."""

    def __init__(self, session: CDPSession, wall: Wall | None = None) -> None:
        """wall: that of the tunnel, which is told what is not paused; None if there is no tunnel."""
        self._session = session
        self._wall = wall
        self._policies: list[GuardPolicy] = []
        """Of the pages that are open."""
        self._learned: GuardPolicy | None = None
        """The policy under which ``_origins`` were let through."""
        self._origins: dict[str, asyncio.TimerHandle] = {}
        self._seen: Counter[str] = Counter()
        self._asking: set[str] = set()
        """Origins that asked for HTTP authentication: what is not paused waits for ever for the answer."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Pause what is doubtful from now on; everything, at first."""
        patterns = doubtful(self._origins)
        await self._session.send("Fetch.enable", {"patterns": patterns, "handleAuthRequests": True})

    async def admit(self, policy: GuardPolicy) -> None:
        """A page opens under ``policy``. What was learned under another one does not count for it."""
        self._policies.append(policy)
        if self._wall is not None:
            self._wall.opens(policy)
        if self._origins and policy != self._learned:
            self._forget()
            await self.start()

    def release(self, policy: GuardPolicy) -> None:
        """Its page is gone. What was learned holds for the next one under the same policy: to tell it anew would slow that one."""
        self._policies.remove(policy)
        if self._wall is not None:
            self._wall.closes(policy)

    def permitted(self, event: Mapping[str, Any], policy: GuardPolicy) -> None:
        """``Fetch.requestPaused`` told of a request that ``policy`` lets through, and that may go where its address leads."""
        kind, url = event["resourceType"], event["request"]["url"]
        origin = origin_of(url) if kind == "Document" or kind in _FILES else ""
        # The address as the browser writes it: with another form of the origin the patterns would fit nothing.
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
        """Have each request pause once this returns, until ``permitted`` tells of the next ones."""
        if self._origins:
            self._forget()
            await self.start()

    def asks(self, url: str) -> None:
        """The site of ``url`` asked for HTTP authentication: all that goes there is paused from now on."""
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
        # The patterns are made when they are sent: of two calls that overtake each other none sends what no longer holds.
        task = asyncio.ensure_future(self._told())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _told(self) -> None:
        try:
            await self.start()
        except PlaywrightError:
            return  # the browser has gone
