"""How this node and its peers reach each other: connections that it keeps open, and the state of each path.

A node that accepts no connections (behind NAT, or by choice) keeps one connection to each peer open, and the peer calls it over
that connection. If the connection ends, the node opens it again. The wait doubles with every failure in a row.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from typing import Literal

from adapters.ports.clock import Clock
from adapters.ports.transport import PeerAddress, PeerClient, PeerHandler, PeerServer
from node.base.tasks import Tasks
from node.trust.calls import Calls
from node.verbs.nodes.node import Hold, PeerConnections
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.messages import EchoAsk, EchoTell, StatusAsk, StatusTell
from protocol.wire import backoff
from protocol.wire.line import one_line

log = logging.getLogger(__name__)

_OF_KEYS = frozenset({"peer.identity", "peer.refused_us"})
_STEADY_MS = 60_000
"""The end of a connection that was open for at least this long does not count as a failure."""


class Reach:
    """Keeps connections to peers open, and reports the state of the ways to them."""

    def __init__(
        self,
        calls: Calls,
        client: PeerClient,
        server: PeerServer,
        clock: Clock,
        *,
        mode: Literal["direct", "held", "both"],
    ) -> None:
        """mode: ``direct`` keeps no connection open; the others do."""
        self._calls, self._peers = calls, calls.peers
        self._client, self._server, self._clock = client, server, clock
        self._holding = mode != "direct"
        self._handler: PeerHandler | None = None
        self._tasks = Tasks()
        self._kept: dict[PeerAddress, asyncio.Task[None]] = {}
        self._holds: dict[str, Hold] = {}

    def start(self, handler: PeerHandler) -> None:
        """Keep a connection to every peer that has an address, from now on. handler: as for the peer listener."""
        self._handler = handler
        self._peers.changed.add(self._follow)
        self._follow()  # peers that are known already

    @property
    def holds(self) -> Mapping[str, Hold]:
        """The connections this node keeps open, by peer."""
        return dict(self._holds)

    def report(self, node: str) -> PeerConnections:
        """The state of the connections between this node and ``node``."""
        hold, contact = self._holds.get(node), self._calls.contacts.of(node)
        return PeerConnections(
            way=self._client.way(node),
            holds=node in self._server.held,
            held=hold,
            error=contact.error,
            message=contact.message,
            clock_apart_ms=contact.apart_ms,
        )

    async def echo(self, caller: str, ask: EchoAsk) -> EchoTell:
        """Handle ``reach/echo``: call ``caller`` back and report the result."""
        started_ms = self._clock.now_ms()
        try:
            async with asyncio.timeout(limits.ECHO_TIMEOUT_S):
                await self._calls.call(caller, "status", StatusAsk(), StatusTell)
        except TimeoutError:
            return EchoTell(
                reached=False, code="peer.unreachable", message=f"no answer within {limits.ECHO_TIMEOUT_S} s"
            )
        except MeshError as error:
            # The message may contain text from a peer, and the caller prints it.
            return EchoTell(reached=False, code=error.code, message=one_line(error.message)[:300])
        milliseconds = max(0, self._clock.now_ms() - started_ms)
        return EchoTell(reached=True, way=self._client.way(caller)[:300], milliseconds=milliseconds)

    def _follow(self) -> None:
        """Keep connections to the current peers, and to no others."""
        wanted = {
            PeerAddress(node=record.node, public_key=record.public_key, addresses=record.addresses)
            for record in self._peers.records()
            if self._holding and record.addresses
        }
        for peer in self._kept.keys() - wanted:
            self._kept.pop(peer).cancel()
            self._holds.pop(peer.node, None)
        for peer in wanted - self._kept.keys():
            self._kept[peer] = self._tasks.start(self._keep(peer), f"connection held to {ids.short(peer.node)}")

    async def _keep(self, peer: PeerAddress) -> None:
        """Open the connection again and again, until cancelled."""
        assert self._handler is not None
        failures = 0
        while True:
            started_ms = self._clock.now_ms()
            last = self._holds.get(peer.node)
            self._holds[peer.node] = Hold(
                state="connecting",
                since_ms=started_ms,
                failures=failures,
                error=last.error if last else "",
                message=last.message if last else "",
            )
            try:
                await self._client.hold(peer, self._handler, opened=lambda: self._opened(peer.node))
            except MeshError as error:
                failed = error
            if failed.code in _OF_KEYS:
                # One side may not know the other's new key yet. A call exchanges the key logs if that is so.
                with contextlib.suppress(MeshError):
                    await self._calls.call(peer.node, "status", StatusAsk(), StatusTell)
            now_ms = self._clock.now_ms()
            was = self._holds[peer.node]
            # A connection that was open for long says nothing against the peer, so the back-off starts again.
            failures = 1 if was.state == "open" and now_ms - was.since_ms >= _STEADY_MS else failures + 1
            wait_ms = backoff.delay_ms(failures, self._clock.random(backoff.RANDOM_BYTES))
            self._holds[peer.node] = Hold(
                state="waiting",
                since_ms=now_ms,
                failures=failures,
                error=failed.code,
                message=failed.message,
                next_try_ms=now_ms + wait_ms,
            )
            log.info("no connection to %s: %s; next try in %d ms", ids.short(peer.node), failed, wait_ms)
            await self._clock.sleep(wait_ms / 1000)

    def _opened(self, node: str) -> None:
        was = self._holds[node]
        if was.state != "open":  # renewing the certificate replaces the connection; the start time is kept
            self._holds[node] = Hold(state="open", since_ms=self._clock.now_ms(), failures=was.failures)

    async def close(self) -> None:
        """Close every connection. A second call does nothing."""
        self._peers.changed.remove(self._follow)
        self._kept.clear()
        self._holds.clear()
        await self._tasks.close()
