"""One-time links to the page, and the cookies that they are exchanged for. Both live in this process only.

The token of a link stands in the fragment of its address, which no web browser sends: the script of the entrance removes it from
the history and posts it. So nothing that only fetches an address uses a link up.
"""

from __future__ import annotations

import functools
import hashlib
from typing import Final

from adapters.ports.clock import Clock
from node.verbs import Caller, CallerKind
from protocol import limits

_PLACE_BYTES: Final = 8


class Entry:
    """Who may read the page."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._links: dict[bytes, int] = {}
        self._visits: dict[bytes, int] = {}
        """Ends in milliseconds since 1970, by the hash of a token or cookie; oldest first."""

    @functools.cached_property
    def place(self) -> str:
        """A part of the path of every page, and of the cookie. Servers on other ports of this machine have the same host, so a web
        browser would send them a cookie of a path that they can guess.
        """
        return self._clock.random(_PLACE_BYTES).hex()

    @property
    def cookie_name(self) -> str:
        """The name of the cookie, which other nodes of this machine do not use."""
        return f"trailmesh_{self.place}"

    def link(self) -> str:
        """A new token of a link."""
        return self._add(self._links, limits.PAGE_LINK_S, limits.PAGE_LINKS_MAX)

    def enter(self, token: str) -> str:
        """The value of a new cookie for the token of a link, which is used up by this. Empty for any other token."""
        if self._clock.now_ms() >= self._links.pop(_hash(token), 0):
            return ""
        return self._add(self._visits, limits.PAGE_VISIT_S, limits.PAGE_VISITS_MAX)

    def caller(self, cookie: str) -> Caller | None:
        """The caller with this cookie; None if there is none, or its time is over."""
        key = _hash(cookie)
        if self._clock.now_ms() >= self._visits.get(key, 0):
            return None
        return Caller(kind=CallerKind.PAGE, name=key.hex()[:8])

    def _add(self, held: dict[bytes, int], seconds: int, most: int) -> str:
        now_ms = self._clock.now_ms()
        for key in [key for key, ends_ms in held.items() if ends_ms <= now_ms]:
            del held[key]
        while len(held) >= most:
            del held[next(iter(held))]
        token = self._clock.random(limits.PAGE_TOKEN_BYTES).hex()
        held[_hash(token)] = now_ms + seconds * 1_000
        return token


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()
