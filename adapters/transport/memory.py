"""The peer transport without sockets: same trust, same codes, same limits, and weather that a test decides on."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec
from nacl.signing import SigningKey

from adapters.ports import PeerAddress, PeerHandler
from adapters.transport import answers
from adapters.transport.guard import Bounds
from adapters.transport.quota import Quota
from protocol import limits
from protocol.errors import MeshError


class Leg(msgspec.Struct, frozen=True, kw_only=True):
    """One message on its way."""

    source: str
    """Node id."""
    target: str
    route: str
    payload: bytes
    is_answer: bool


Weather = Callable[[Leg], Awaitable[None]]
"""Awaited before each leg arrives: returns late to delay it, raises ``peer.unreachable`` to lose it."""


async def _calm(leg: Leg) -> None:
    """Everything arrives at once."""


class MemoryNetwork:
    """Where memory servers listen and memory clients call."""

    def __init__(self, weather: Weather = _calm, *, bounds: Bounds | None = None) -> None:
        self.weather = weather
        self.bounds = bounds or Bounds()
        self.listening: dict[str, MemoryServer] = {}
        self._made = 0

    def server(self, node: str, public_key: bytes, address: str = "") -> MemoryServer:
        """A server that is not started yet. address: where it will listen, or empty for any free one."""
        self._made += 1
        return MemoryServer(self, node, public_key, address or f"https://node-{self._made}.invalid:443")

    def client(self, node: str, public_key: bytes) -> MemoryClient:
        """A client of ``node``, which holds ``public_key``."""
        return MemoryClient(self, node, public_key)


class MemoryServer:
    """A ``PeerServer`` in a ``MemoryNetwork``. Trusts nobody until ``trust`` is called."""

    def __init__(self, network: MemoryNetwork, node: str, public_key: bytes, address: str) -> None:
        self.node, self.public_key = node, public_key
        self._network, self._address = network, address
        self._trusted: dict[str, bytes] = {}
        self._quota = Quota(network.bounds)
        self._handler: PeerHandler | None = None
        self._refusals: Counter[str] = Counter()
        self._open: dict[asyncio.Future[None], tuple[str, bytes]] = {}

    async def start(self, handler: PeerHandler) -> str:
        """Listen; the address. Errors: ``node.address_in_use``."""
        if self._address in self._network.listening:
            raise MeshError("node.address_in_use", f"{self._address} is taken")
        self._handler = handler
        self._network.listening[self._address] = self
        return self._address

    def trust(self, keys: Mapping[str, bytes]) -> None:
        """Replace the trust set; calls of peers that left it, or changed key, break off at once."""
        self._trusted = dict(keys)
        self._quota.keep(self._trusted)
        for gone, (node, key) in self._open.items():
            if self._trusted.get(node) != key and not gone.done():
                self._refusals["revoked"] += 1
                gone.set_exception(answers.disconnect_reason(self.node))

    def rekey(self, key: SigningKey) -> None:
        """Listen under another key from now on."""
        self.public_key = bytes(key.verify_key)

    @property
    def refusals(self) -> Mapping[str, int]:
        """Calls that were refused, by reason."""
        return MappingProxyType(self._refusals)

    async def close(self) -> None:
        """Stop listening and break off every call. Twice is once."""
        if self._network.listening.get(self._address) is self:
            del self._network.listening[self._address]
        for gone in self._open:
            if not gone.done():
                gone.set_exception(MeshError("peer.unreachable", "the peer stopped"))

    async def take(self, node: str, key: bytes, route: str, body: bytes) -> bytes:
        """Answer a call of ``node``, which holds ``key``.

        Errors: ``peer.refused_us``, or what the handler refuses with.
        """
        if self._trusted.get(node) != key:
            self._refusals["unknown"] += 1
            raise answers.disconnect_reason(self.node)
        gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._open[gone] = (node, key)
        work = asyncio.create_task(self._answer(node, route, body))
        waited: list[asyncio.Future[Any]] = [gone, work]
        try:
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                # As over sockets: the handler goes on, only nobody hears its answer.
                work.add_done_callback(lambda task: task.cancelled() or task.exception())
                gone.result()
            return work.result()
        except asyncio.CancelledError:
            work.cancel()
            raise
        finally:
            del self._open[gone]

    async def _answer(self, node: str, route: str, body: bytes) -> bytes:
        assert self._handler is not None
        try:
            try:
                place = await self._quota.enter(node)
            except MeshError:
                self._refusals["quota"] += 1
                raise
            with place:
                if len(body) > self._network.bounds.body_bytes_max:
                    self._refusals["body_size"] += 1
                    raise MeshError(
                        "input.too_large", f"a body has at most {self._network.bounds.body_bytes_max} bytes"
                    )
                return await self._handler(node, route, body)
        except MeshError as error:
            # Through the wire form, so that what a peer would not get to see is not seen here either.
            raise answers.decode_error(answers.encode_error(error), self.node) from None


class MemoryClient:
    """A ``PeerClient`` in a ``MemoryNetwork``."""

    def __init__(self, network: MemoryNetwork, node: str, public_key: bytes) -> None:
        self._network, self._node, self._key = network, node, public_key

    def rekey(self, key: SigningKey) -> None:
        """Call under another key from now on."""
        self._key = bytes(key.verify_key)

    async def look(self, peer: PeerAddress) -> bytes | None:
        """As ``MeshClient.look``."""
        servers = [self._network.listening[at] for at in peer.addresses if at in self._network.listening]
        if not servers:
            raise MeshError("peer.unreachable", "nothing listens there", peer=peer.node)
        return next((server.public_key for server in servers if server.node == peer.node), None)

    async def call(
        self, peer: PeerAddress, route: str, body: bytes, *, content_type: str, timeout_s: float = 0
    ) -> bytes:
        """As ``MeshClient.call``."""
        if len(body) > limits.PEER_BODY_BYTES_MAX:
            raise MeshError("input.too_large", f"a body has at most {limits.PEER_BODY_BYTES_MAX} bytes")
        limit_s = timeout_s or limits.REQUEST_TIMEOUT_S
        try:
            async with asyncio.timeout(limit_s):
                server = self._find(peer)
                await self._network.weather(
                    Leg(source=self._node, target=peer.node, route=route, payload=body, is_answer=False)
                )
                answer = await server.take(self._node, self._key, route, body)
                await self._network.weather(
                    Leg(source=peer.node, target=self._node, route=route, payload=answer, is_answer=True)
                )
        except TimeoutError as error:
            raise MeshError("peer.unreachable", f"no answer within {limit_s:g} s", peer=peer.node) from error
        if len(answer) > limits.PEER_BODY_BYTES_MAX:
            raise MeshError(
                "peer.protocol", f"an answer of more than {limits.PEER_BODY_BYTES_MAX} bytes", peer=peer.node
            )
        return answer

    async def close(self) -> None:
        """Nothing to close."""

    def _find(self, peer: PeerAddress) -> MemoryServer:
        wrong = False
        for address in peer.addresses:
            server = self._network.listening.get(address)
            if server is not None and (server.node, server.public_key) == (peer.node, peer.public_key):
                return server
            wrong = wrong or server is not None
        if wrong:
            raise MeshError("peer.identity", "the node at this address does not hold the peer's key", peer=peer.node)
        raise MeshError("peer.unreachable", "nothing listens there", peer=peer.node)
