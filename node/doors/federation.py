"""The peer API: checks requests from other nodes and passes them to handlers.

Every request passes, in order: the channel (which identifies the caller), the route, the caller's protocol version, its
scope, the size, the envelope (signed by the caller, for this node, for this route, fresh, not seen before), the record of
the route, the caller's disk quota, and a row of the audit trail if the route is privileged. Only then a handler gets it.
Refusals are counted.
"""

from __future__ import annotations

import asyncio
from typing import Final

from adapters.ports.clock import Clock
from node.doors import peer_routes
from node.doors.door import Door
from node.trust import PATH_PREFIX, ClockMark, TrustChanges
from node.verbs import Caller, CallerKind, Handler, called_by
from protocol import limits
from protocol.errors import MeshError
from protocol.introduction import open_introduction
from protocol.messages import KIND_MESSAGE, Done
from protocol.refusals import Refusals
from protocol.routes import INTRODUCE, ROUTES
from protocol.wire import cbor
from protocol.wire.envelope import ReplayWindow, route_binding, verify_message

_ROWS_BYTES = 1_024
"""Approximate size of the two audit rows of a privileged request."""


DOOR: Final = Door(
    name="peers",
    listens="`listen.port` at `listen.host`; with `listen.reach: held` also connections that this node keeps open to its peers",
    admits="peers; a stranger may only pair and introduce a new key",
    credential="mutual TLS with the witness key, or signed HTTP behind a proxy; each message is signed too",
    origin="a page has no such key",
    connections=limits.CONNECTIONS_TOTAL_MAX,
    body_bytes_max=limits.LOG_MESSAGE_BYTES_MAX,
)


class FederationApi:
    """Checks requests of peers and hands them to handlers."""

    def __init__(self, changes: TrustChanges, mark: ClockMark, clock: Clock, refusals: Refusals | None = None) -> None:
        """mark: already loaded; gives the earliest accepted issue time. refusals: counts the refusals."""
        self._refusals = refusals or Refusals()
        self._changes, self._peers = changes, changes.peers
        self._clock = clock
        self._mark = mark
        self._window = ReplayWindow(mark.opens_s, later=mark.later)
        self._handlers: dict[str, Handler] = {}

    def serve(self, route: str, handler: Handler) -> None:
        """Answer ``route`` with ``handler``."""
        assert route in ROUTES
        self._handlers[route] = handler

    async def handle(self, caller: str, route: str, body: bytes) -> bytes:
        """The answer to one request.

        Errors: ``input.not_found``, ``peer.*``, ``envelope.*``, ``message.invalid``, the handler's.
        """
        try:
            return await (self._answer(caller, route, body) if caller else self._introduced(route, body))
        except MeshError as error:
            self._refusals.count(
                route if route in (*ROUTES, INTRODUCE) else "route", node=caller, code=error.shown.code
            )
            raise

    async def _introduced(self, route: str, body: bytes) -> bytes:
        """Handle an introduction: a peer calls under an unknown key and shows the key log that leads to it. All other such
        calls are refused.

        Checks, in order: route; the introduction (``open_introduction``); a peer; not seen before. Errors: those.
        """
        if route != INTRODUCE:
            raise MeshError("input.not_found", f"no route {route} for an unknown caller")
        now_s, me = self._clock.now_ms() // 1000, self._peers.me
        binding = route_binding("POST", PATH_PREFIX + route)
        # In a thread: verifying a long log takes about ten milliseconds, and any stranger may send one.
        said = await asyncio.to_thread(open_introduction, body, binding=binding, audience=me, now_s=now_s)
        if not self._peers.knows(said.log.node):
            raise MeshError("peer.unknown", node=said.log.node)
        self._window.admit(said.header, now_s)
        await self._mark.heard(said.header, now_s)
        await self._changes.learn(said.log)
        return cbor.encode(Done())

    async def _answer(self, caller: str, route: str, body: bytes) -> bytes:
        known = ROUTES.get(route)
        handler = self._handlers.get(route)
        if known is None or handler is None:
            raise MeshError("input.not_found", f"no route {route}")
        self._peers.check_version(caller, route)
        self._peers.require(caller, known.scope)
        if len(body) > known.bytes_max:
            raise MeshError("input.too_large", f"a message over {route} may have at most {known.bytes_max} bytes")
        now_s = self._clock.now_ms() // 1000
        opened = verify_message(
            body,
            kinds=frozenset({KIND_MESSAGE}),
            find_key=self._peers.find_key,
            binding=route_binding("POST", PATH_PREFIX + route),
            audience=self._peers.me,
            now_s=now_s,
            window=self._window,
        )
        if opened.header.issuer != caller:
            raise MeshError("envelope.issuer", "signed by another node than the caller")
        await self._mark.heard(opened.header, now_s)
        record = cbor.decode_as(opened.payload, known.request, bytes_max=known.bytes_max)
        await self._changes.saw(caller)
        await self._charge(caller, route, len(body) if known.keeps else 0)
        trail, declared = self._peers.trail, peer_routes.ROUTES.get(route, peer_routes.UNDECLARED)
        with called_by(Caller(kind=CallerKind.PEER, name=caller)):
            if declared is None:
                with trail.for_peer(caller):
                    return cbor.encode(await handler(caller, record))
            async with trail.declared(route, declared, caller, record):
                return cbor.encode(await handler(caller, record))

    async def _charge(self, caller: str, route: str, kept_bytes: int) -> None:
        """Charge the caller's quota with the bytes that its request may store here. Errors: ``peer.quota``."""
        if peer_routes.ROUTES.get(route, peer_routes.UNDECLARED) is not None:
            kept_bytes += _ROWS_BYTES
        if kept_bytes:
            await self._peers.usage.admit(caller, kept_bytes)
