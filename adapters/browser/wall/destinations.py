"""The destinations of one browser's requests: judged for each request, and enforced for each connection.

The guard knows the page that asks, but not the IP address to which Chromium will connect; the tunnel knows the address, but not
the page. So the guard notes which hosts in private networks it has let through, and the tunnel connects to no others. A name that
resolves elsewhere at the time of the connection is refused.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import time
from typing import Any, Final, Literal, TypeVar
from urllib.parse import urlsplit

from adapters.browser.wall.wall import Wall
from protocol.risk.requests.destinations import judge_destination, literal_address
from protocol.risk.requests.requests import GuardPolicy
from protocol.wire.destination import NetworkZone, place_of

Attempt = Literal["connected", "no_name", "refused", "unreachable", "late", "proxy"]
"""How an attempt to connect ended. ``late``: no answer came in time. ``proxy``: a proxy did not connect."""
K = TypeVar("K")
V = TypeVar("V")

_KEPT_S: Final = 60.0
_KEPT_MAX: Final = 1_000
_USUAL_PORT: Final = {"http": 80, "https": 443}


class Destinations:
    """The destinations of one browser. Its guards write them, and its tunnel reads them."""

    def __init__(self, wall: Wall | None = None) -> None:
        self.wall = wall or Wall()
        """A further check of the tunnel before it connects."""
        self._found: dict[str, tuple[float, tuple[str, ...]]] = {}
        """By name: the addresses that it resolved to, and the time until which they are used again."""
        self._admitted: dict[tuple[str, int], None] = {}
        """Hosts and ports in private networks that a guard has let through."""
        self._ends: dict[tuple[str, int], Attempt] = {}
        """How the last attempt to connect to each host and port ended."""

    def note(self, host: str, port: int, end: Attempt) -> None:
        """The tunnel reports how its last attempt to connect there ended."""
        _remember(self._ends, (host.lower(), port), end)

    def attempt(self, url: str) -> Attempt | None:
        """How the last attempt to connect to the host of ``url`` ended; None if none has ended yet."""
        parts = urlsplit(url)
        port = parts.port or _USUAL_PORT.get(parts.scheme, 0)
        return self._ends.get(((parts.hostname or "").strip("[]"), port))

    async def refuse(self, url: str, policy: GuardPolicy) -> str | None:
        """The rule by which ``policy`` refuses a request to the addresses that ``url`` resolves to now; None if it may go there.

        A name that cannot be resolved is not refused.
        """
        parts = urlsplit(url)
        if parts.scheme not in _USUAL_PORT or not parts.hostname:
            return None  # it loads nothing from the network
        addresses = await self._addresses(parts.hostname, literal_address(url))
        rules = (judge_destination(url, address, policy.private) for address in addresses)
        if rule := next(filter(None, rules), None):
            return rule
        if any(place_of(address) is not NetworkZone.PUBLIC for address in addresses):
            _remember(self._admitted, (parts.hostname, parts.port or _USUAL_PORT[parts.scheme]), None)
        return None

    async def ways(self, host: str, port: int) -> list[tuple[Any, ...]]:
        """The addresses of ``host``, as ``getaddrinfo`` gives them, except those that no guard has let through.

        Errors: ``OSError``, ``UnicodeError``.
        """
        found = await asyncio.get_running_loop().getaddrinfo(_looked_up(host), port, type=socket.SOCK_STREAM)
        admitted = (host.lower(), port) in self._admitted
        ways = [way for way in found if _may_lead(host, str(way[4][0]), admitted)]
        if not ways:
            raise OSError(
                errno.EHOSTUNREACH, "every address of it is in a private network, and no guard has let it through"
            )
        return ways

    async def _addresses(self, host: str, literal: str) -> tuple[str, ...]:
        if literal:
            return (literal,)
        until, addresses = self._found.get(host, (0.0, ()))
        if until < time.monotonic():
            try:
                found = await asyncio.get_running_loop().getaddrinfo(_looked_up(host), None, type=socket.SOCK_STREAM)
            except (OSError, UnicodeError):
                return ()
            addresses = tuple({str(way[4][0]) for way in found})
            _remember(self._found, host, (time.monotonic() + _KEPT_S, addresses))
        return addresses


def _looked_up(host: str) -> str:
    """The name to look up for ``host``: names below ``localhost`` are this machine (RFC 6761), so no resolver is asked."""
    return "localhost" if host.lower().rstrip(".").endswith(".localhost") else host


def _may_lead(host: str, address: str, admitted: bool) -> bool:
    place = place_of(address)
    return place is NetworkZone.PUBLIC or (admitted and (place is NetworkZone.PRIVATE or host == address))


def _remember(kept: dict[K, V], key: K, value: V) -> None:
    """Keep it as the newest entry. The oldest are dropped if there are too many, because a page can request any number of
    names.
    """
    kept.pop(key, None)
    kept[key] = value
    while len(kept) > _KEPT_MAX:
        del kept[next(iter(kept))]
