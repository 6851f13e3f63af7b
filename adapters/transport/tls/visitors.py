"""Limits callers with an unknown key: at a time and per minute, for each address and in total.

A visitor presents a channel certificate like any other caller, signed by the *visitor key*. That key is public: its seed is the
SHA-256 of a public text. So the listener can still demand a certificate under a known key from every caller. A caller with this
certificate is not authenticated as any node: it may send one request, over one route (``protocol/introduction.py``).
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import Callable
from typing import Final

from nacl.signing import SigningKey

from adapters.transport.tls.certificates import ChannelIdentity
from protocol import limits

# The seed is public on purpose: TLS then still requires a certificate, but this key proves nothing about the caller.
_SIGNER: Final = SigningKey(hashlib.sha256(b"trailmesh-visitor-v1").digest())
VISITOR: Final = "visitor"
"""Used in place of a node id. It is not a valid id, so no trust set contains it."""
VISITOR_KEY: Final = bytes(_SIGNER.verify_key)
_MINUTE_S: Final = 60.0


def visitor(now_s: Callable[[], float]) -> ChannelIdentity:
    """The identity of an anonymous caller. now_s: seconds since 1970."""
    return ChannelIdentity(_SIGNER, node=VISITOR, now_s=now_s)


class Visitors:
    """The current visitors and those of the last minute."""

    def __init__(self) -> None:
        self._here: set[str] = set()
        self._lately: deque[tuple[float, str]] = deque()

    def enter(self, address: str) -> bool:
        """True if a visitor from ``address`` is admitted; then it counts until ``leave``."""
        now_s = asyncio.get_running_loop().time()
        while self._lately and self._lately[0][0] <= now_s - _MINUTE_S:
            self._lately.popleft()
        # Counted per address too, so that one address cannot use up the places of all others.
        from_there = sum(origin == address for _, origin in self._lately)
        if (
            address in self._here
            or len(self._here) >= limits.VISITORS_MAX
            or from_there >= limits.VISITORS_PER_MINUTE_PER_ADDRESS
            or len(self._lately) >= limits.VISITORS_PER_MINUTE
        ):
            return False
        self._here.add(address)
        self._lately.append((now_s, address))
        return True

    def leave(self, address: str) -> None:
        """The visitor from ``address`` has gone."""
        self._here.discard(address)
