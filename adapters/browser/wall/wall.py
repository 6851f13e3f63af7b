"""The connections and requests of one browser that the tunnel lets out: those that a guard has let through a moment ago.

The guard sees only what Chromium shows it. Hidden requests (its updater, its predictions, a web feature that bypasses every
interception) reach only the tunnel, and no guard has let them through. A connection can come before its request, so the tunnel
waits a moment before it refuses.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Final, Generic, NamedTuple, TypeVar
from urllib.parse import urlsplit, urlunsplit

from protocol import limits
from protocol.risk.requests.requests import GuardPolicy, judge_request
from protocol.trust.origin import fits, origin_of

K = TypeVar("K")

USUAL_PORT: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_SERVICES: Final = (".google.com", ".googleapis.com", ".gstatic.com", ".gvt1.com", ".googleusercontent.com")
"""Hosts that Chromium itself asks for updates, suggestions and keys."""
_METHODS: Final = frozenset({"CONNECT", "WS", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_SOCKET_S: Final = 5.0  # from its judgement until the page connects
_AFTER_S: Final = 5.0  # requests that a page sends as it closes leave after its guard was released


class TunnelRefusal(NamedTuple):
    """A refusal of the tunnel."""

    method: str
    """``CONNECT`` where only host and port are known."""
    url: str
    own: bool
    """True if Chromium itself made the request: no page was open, or the host is one of its services."""


class Destination(NamedTuple):
    """The place that a connection leads to, as far as the tunnel sees."""

    scheme: str
    """``http``, ``https``, ``ws`` or ``wss``."""
    host: str
    port: int

    @property
    def origin(self) -> str:
        """The origin as an address writes it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = USUAL_PORT[self.scheme] == self.port
        return f"{self.scheme}://{host}" if usual else f"{self.scheme}://{host}:{self.port}"


class _Kept(Generic[K]):
    """Keys with an expiry time. The oldest are dropped if there are too many, because a page can request any number."""

    def __init__(self, most: int, now: Callable[[], float]) -> None:
        self._until: dict[K, float] = {}
        self._most, self._now = most, now

    def note(self, key: K, seconds: float) -> None:
        self._until[key] = max(self._now() + seconds, self._until.pop(key, 0.0))
        if len(self._until) > self._most:
            del self._until[next(iter(self._until))]

    def drop(self, key: K) -> bool:
        """Forget ``key``. True if it held until now."""
        held = key in self
        self._until.pop(key, None)
        return held

    def held(self) -> list[K]:
        return [key for key in self._until if key in self]

    def __contains__(self, key: K) -> bool:
        return self._until.get(key, 0.0) > self._now()


class Wall:
    """The wall of one browser. Its guards write it, and its tunnel asks it."""

    def __init__(self, now: Callable[[], float] = time.monotonic, wait_ms: int = 0) -> None:
        """now: returns the seconds of a monotonic clock. wait_ms: the time to wait for a guard; 0 for the usual time."""
        self._now = now
        self._wait_ms = wait_ms
        self.refused: Counter[tuple[str, str]] = Counter()
        """How often the tunnel refused, by asker (``browser`` or ``page``) and method."""
        self._policies: Counter[GuardPolicy] = Counter()
        """The policies of the open pages."""
        self._left = _Kept[GuardPolicy](limits.TUNNEL_PLACES_MAX, now)
        self._places = _Kept[Destination](limits.TUNNEL_PLACES_MAX, now)
        self._requests = _Kept[tuple[str, str]](limits.TUNNEL_REQUESTS_MAX, now)
        self._sockets = _Kept[tuple[str, int]](limits.TUNNEL_PLACES_MAX, now)
        """Numbered addresses of WebSockets that were let through and have not reached the tunnel yet."""
        self._numbers = count()
        self._read: dict[str, tuple[float, GuardPolicy]] = {}
        self._waiting: set[asyncio.Event] = set()
        self._tell: Callable[[TunnelRefusal], None] = lambda _: None

    # --- written by the guards ---

    def opens(self, policy: GuardPolicy) -> None:
        """A page opens under ``policy``."""
        self._policies[policy] += 1

    def closes(self, policy: GuardPolicy) -> None:
        """A page under ``policy`` has closed."""
        self._policies[policy] -= 1
        if self._policies[policy] <= 0:
            del self._policies[policy]
            self._left.note(policy, _AFTER_S)

    def admit(self, method: str, url: str) -> None:
        """A guard let a request through."""
        if place := place_of(url):
            self._places.note(place, limits.TUNNEL_ADMITTED_S)
            self._requests.note((method, _bare(url)), limits.TUNNEL_ADMITTED_S)
            self._stir()

    def admit_socket(self, url: str) -> None:
        """A guard let a page open a WebSocket: one connection."""
        self._sockets.note((_bare(url), next(self._numbers)), _SOCKET_S)
        self._stir()

    def reads(self, origin: str, policy: GuardPolicy, seconds: float) -> None:
        """Files of ``origin`` may be read without asking a guard of ``policy``, for ``seconds``."""
        if place := place_of(f"{origin}/"):
            lasts = seconds + limits.TUNNEL_ADMITTED_S
            self._read[place.origin] = (self._now() + lasts, policy)
            self._places.note(place, lasts)

    def watch(self, tell: Callable[[TunnelRefusal], None]) -> None:
        """Call ``tell`` for each refusal."""
        self._tell = tell

    def _stir(self) -> None:
        for event in self._waiting:
            event.set()

    @property
    def waiting(self) -> int:
        """How many connections and requests wait for a guard to let them through."""
        return len(self._waiting)

    # --- asked by the tunnel ---

    async def connects(self, scheme: str, host: str, port: int) -> Destination | None:
        """The place that a connection may open to; None if it may not, which is counted.

        scheme: ``http``, ``https``, or ``ws`` for a WebSocket with or without TLS.
        """
        place = Destination(scheme, host.lower(), port)
        if scheme == "ws":
            found: list[Destination] = []
            opened = await self._in_time(lambda: self._expects(place, found), "WS", place.origin)
            return found[0] if opened else None
        return place if await self._in_time(lambda: self._open_to(place), "CONNECT", place.origin) else None

    async def expects(self, host: str, port: int) -> bool:
        """True if any traffic to ``host`` and ``port`` was let through. A refused attempt is counted."""
        places = [Destination(scheme, host.lower(), port) for scheme in ("http", "https")]

        def holds() -> bool:
            return any(self._open_to(place) for place in places) or self._socket_to(*places[0][1:]) is not None

        usual = places[1] if port == USUAL_PORT["https"] else places[0]
        return await self._in_time(holds, "CONNECT", usual.origin)

    def permits(self, method: str, url: str, replaced_by: str = "") -> bool:
        """True if a request that the tunnel can read may go on now. replaced_by: as for ``judge_request``."""
        if (method, _bare(url)) in self._requests:
            return True
        place = place_of(url)
        until, policy = self._read.get(place.origin if place else "", (0.0, None))
        if policy is None or until < self._now() or method not in ("GET", "HEAD"):
            return False
        return judge_request(method, url, "fetch", False, None, policy, replaced_by=replaced_by) is None

    async def sends(self, method: str, url: str, replaced_by: str = "") -> bool:
        """As ``permits``, but waits a moment for the guard. A refusal is counted."""
        return await self._in_time(lambda: self.permits(method, url, replaced_by), method, url)

    def opens_socket(self, url: str) -> bool:
        """True if a WebSocket with this readable address was let through. A refusal is counted."""
        if any(known == _bare(url) and self._sockets.drop((known, number)) for known, number in self._sockets.held()):
            return True
        self.turn_away("WS", url)
        return False

    def _expects(self, place: Destination, found: list[Destination]) -> bool:
        """True if a WebSocket to this host and port was let through; its place is added to ``found``."""
        known = self._socket_to(place.host, place.port)
        if known is None:
            return False
        leads, key = known
        found.append(leads)
        # The address of an unencrypted WebSocket is read after it is connected.
        return leads.scheme == "ws" or self._sockets.drop(key)

    def _socket_to(self, host: str, port: int) -> tuple[Destination, tuple[str, int]] | None:
        """A WebSocket to this host and port that was let through, with its key."""
        noted = ((place_of(key[0]), key) for key in self._sockets.held())
        return next(
            ((leads, key) for leads, key in noted if leads and leads[1:] == (host, port) and self._within(leads)), None
        )

    def _open_to(self, place: Destination) -> bool:
        return place in self._places and self._within(place)

    def _within(self, place: Destination) -> bool:
        """True if an open page may contact ``place`` at all."""
        origin = origin_of(place.origin.replace("ws", "http", 1) if place.scheme in ("ws", "wss") else place.origin)
        policies = [*self._policies, *self._left.held()]
        return any(not policy.origins or fits(policy.origins, origin) for policy in policies)

    async def _in_time(self, holds: Callable[[], bool], method: str, url: str) -> bool:
        if holds():
            return True
        stirred = asyncio.Event()
        self._waiting.add(stirred)
        try:
            async with asyncio.timeout((self._wait_ms or limits.TUNNEL_WAIT_MS) / 1000):
                while not holds():
                    stirred.clear()
                    await stirred.wait()
                return True
        except TimeoutError:
            self.turn_away(method, url)
            return False
        finally:
            self._waiting.discard(stirred)

    def turn_away(self, method: str, url: str) -> None:
        """Count a refusal, and report it."""
        place = place_of(url)
        own = not self._policies or place is None or place.host.endswith(_SERVICES)
        self.refused["browser" if own else "page", method if method in _METHODS else "other"] += 1
        self._tell(TunnelRefusal(method, url, own))


def place_of(url: str) -> Destination | None:
    """The place of a connection for ``url``; None if it needs none."""
    parts = urlsplit(url)
    if parts.scheme not in USUAL_PORT or not parts.hostname:
        return None
    return Destination(parts.scheme, parts.hostname, parts.port or USUAL_PORT[parts.scheme])


def _bare(url: str) -> str:
    """An address in the form of a request line: without fragment, name and password."""
    parts = urlsplit(url.partition("#")[0])
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], path=parts.path or "/"))
