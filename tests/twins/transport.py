"""The peer transport without sockets: same trust, same codes, same limits, and weather that a test decides on."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, NoReturn

import msgspec
from nacl.signing import SigningKey

from adapters.ports.transport import PeerAddress, PeerHandler
from adapters.transport.held import Answering, EndedError, HeldLink, HeldTable
from adapters.transport.tls import answers
from adapters.transport.tls.bounds import Bounds
from adapters.transport.tls.failures import LostError, NotReachedError, may_have_been_acted_on, not_reached
from adapters.transport.tls.quota import Quota
from adapters.transport.tls.visitors import Visitors
from adapters.transport.ways import HELD, Ways
from protocol import limits
from protocol.errors import MeshError
from protocol.routes import INTRODUCE, request_bytes_max


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


class MemoryPipe:
    """One end of a connection in memory. Frames that were sent before it ended arrive."""

    def __init__(self) -> None:
        self._inbox: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._other: MemoryPipe | None = None

    @classmethod
    def pair(cls) -> tuple[MemoryPipe, MemoryPipe]:
        """Both ends."""
        one, two = cls(), cls()
        one._other, two._other = two, one
        return one, two

    async def send(self, data: bytes) -> None:
        """Errors: ``EndedError``."""
        if self._other is None:
            raise EndedError
        self._other._inbox.put_nowait(data)

    async def receive(self) -> bytes:
        """Errors: ``EndedError``."""
        data = await self._inbox.get()
        if data is None:
            self._inbox.put_nowait(None)
            raise EndedError
        return data

    async def close(self) -> None:
        """End it for both."""
        self.abort()

    def abort(self) -> None:
        """End it for both, now."""
        other, self._other = self._other, None
        self._inbox.put_nowait(None)
        if other is not None:
            other.abort()


class MemoryNetwork:
    """Where memory servers listen and memory clients call."""

    def __init__(self, weather: Weather = _calm, *, bounds: Bounds | None = None) -> None:
        self.weather = weather
        self.bounds = bounds or Bounds()
        self.listening: dict[str, MemoryServer] = {}
        self._held: dict[str, HeldTable] = {}
        self._made = 0

    def held(self, node: str) -> HeldTable:
        """The connections that are kept open to ``node``: its server and its client share them."""
        return self._held.setdefault(node, HeldTable())

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
        self._visitors = Visitors()
        self._handler: PeerHandler | None = None
        self._refusals: Counter[str] = Counter()
        self._open: dict[asyncio.Future[None], tuple[str, bytes]] = {}
        self._table = network.held(node)
        self._attending: set[asyncio.Task[None]] = set()

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
        self._table.sweep()

    @property
    def held(self) -> frozenset[str]:
        """The peers that keep a connection open over which they can be called."""
        return self._table.nodes

    def rekey(self, key: SigningKey) -> None:
        """Listen under another key from now on."""
        self.public_key = bytes(key.verify_key)

    @property
    def peers(self) -> frozenset[str]:
        """The peers that are calling now, or keep a connection open."""
        return frozenset(node for node, _ in self._open.values()) | self.held

    @property
    def refusals(self) -> Mapping[str, int]:
        """Calls that were refused, by reason."""
        return MappingProxyType(self._refusals)

    async def close(self) -> None:
        """Stop listening and break off every call. A second call does nothing."""
        if self._network.listening.get(self._address) is self:
            del self._network.listening[self._address]
        for gone in self._open:
            if not gone.done():
                gone.set_exception(MeshError("peer.unreachable", "the peer stopped"))
        self._table.close()

    async def accept(self, node: str, key: bytes) -> MemoryPipe:
        """The other end of a connection that ``node``, which holds ``key``, keeps open. Errors: ``peer.refused_us``."""
        if self._trusted.get(node) != key:
            self._refusals["unknown"] += 1
            raise answers.disconnect_reason(self.node)
        near, far = MemoryPipe.pair()
        link = HeldLink(
            node,
            near,
            abort=near.abort,
            usable=lambda: self._trusted.get(node) == key,
            bounds=self._network.bounds,
        )
        task = asyncio.create_task(self._attend(link))
        self._attending.add(task)
        task.add_done_callback(self._attending.discard)
        await asyncio.sleep(0)  # it is offered for calls before the holder hears that it is open
        return far

    async def _attend(self, link: HeldLink) -> None:
        if reason := await self._table.attend(link):
            self._refusals[reason] += 1

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

    async def hear_visitor(self, address: str, body: bytes) -> bytes:
        """Answer a caller nobody knows. Errors: ``peer.refused_us`` (too many of them), ``input.too_large``, ``peer.unknown``."""
        assert self._handler is not None
        if not self._visitors.enter(address):
            self._refusals["visitors"] += 1
            raise answers.disconnect_reason(self.node)
        try:
            if len(body) > limits.KEYS_MESSAGE_BYTES_MAX:
                self._refusals["body_size"] += 1
                raise MeshError("input.too_large", f"a body can have at most {limits.KEYS_MESSAGE_BYTES_MAX} bytes")
            return await answers.introduced(self._handler, body)
        except MeshError as error:
            raise answers.decode_error(answers.encode_error(error), self.node) from None
        finally:
            self._visitors.leave(address)

    async def _answer(self, node: str, route: str, body: bytes) -> bytes:
        assert self._handler is not None
        try:
            try:
                place = await self._quota.enter(node)
            except MeshError:
                self._refusals["quota"] += 1
                raise
            with place:
                size_max = min(self._network.bounds.body_bytes_max, request_bytes_max(route))
                if len(body) > size_max:
                    self._refusals["body_size"] += 1
                    raise MeshError("input.too_large", f"a body can have at most {size_max} bytes")
                return await self._handler(node, route, body)
        except MeshError as error:
            # Through the wire form, so that what a peer would not get to see is not seen here either.
            raise answers.decode_error(answers.encode_error(error), self.node) from None


class MemoryClient:
    """A ``PeerClient`` in a ``MemoryNetwork``."""

    def __init__(self, network: MemoryNetwork, node: str, public_key: bytes) -> None:
        self._network, self._node, self._key = network, node, public_key
        self._held = network.held(node)
        self._answering = Answering(network.bounds)
        self._ways = Ways()
        self._deadlines: dict[asyncio.Timeout, str] = {}
        """Of the calls that run, with the node that is called."""
        self._dropped: set[asyncio.Timeout] = set()
        self._pipes: dict[MemoryPipe, str] = {}
        """Connections that are held open, with the node they lead to."""

    def rekey(self, key: SigningKey) -> None:
        """Call under another key from now on."""
        self._key = bytes(key.verify_key)

    async def look(self, peer: PeerAddress) -> tuple[bytes, ...]:
        """As ``MeshClient.look``."""
        servers = [self._network.listening[at] for at in peer.addresses if at in self._network.listening]
        if not servers:
            raise MeshError("peer.unreachable", "nothing listens there", peer=peer.node)
        return tuple(dict.fromkeys(server.public_key for server in servers if server.node == peer.node))

    async def introduce(self, peer: PeerAddress, body: bytes) -> None:
        """As ``MeshClient.introduce``; each node is taken to have an address of its own."""
        missed: list[MeshError] = []
        for address in peer.addresses:
            try:
                server = self._find(peer, address)
            except NotReachedError as error:
                missed.append(error.error)
                continue
            leg = Leg(source=self._node, target=peer.node, route=INTRODUCE, payload=body, is_answer=False)
            try:
                async with asyncio.timeout(limits.REQUEST_TIMEOUT_S):
                    await self._network.weather(leg)
                    answer = await server.hear_visitor(self._node, body)
                    leg = Leg(source=peer.node, target=self._node, route=INTRODUCE, payload=answer, is_answer=True)
                    await self._network.weather(leg)
            except TimeoutError as error:
                raise MeshError("peer.unreachable", "no answer in time", peer=peer.node) from error
            return
        raise not_reached(peer.node, missed)

    async def call(
        self, peer: PeerAddress, route: str, body: bytes, *, content_type: str, timeout_s: float = 0
    ) -> bytes:
        """As ``MeshClient.call``."""
        if len(body) > limits.PEER_BODY_BYTES_MAX:
            raise MeshError("input.too_large", f"a body can have at most {limits.PEER_BODY_BYTES_MAX} bytes")
        limit_s = timeout_s or limits.REQUEST_TIMEOUT_S
        deadline = asyncio.timeout(limit_s)
        try:
            async with deadline:
                self._deadlines[deadline] = peer.node
                answer = await self._try_ways(peer, route, body, content_type)
        except TimeoutError as error:
            why = "its connections were dropped" if deadline in self._dropped else f"no answer within {limit_s:g} s"
            raise MeshError("peer.unreachable", why, peer=peer.node) from error
        finally:
            self._deadlines.pop(deadline, None)
            self._dropped.discard(deadline)
        if len(answer) > limits.PEER_BODY_BYTES_MAX:
            raise MeshError(
                "peer.protocol", f"an answer of more than {limits.PEER_BODY_BYTES_MAX} bytes", peer=peer.node
            )
        return answer

    def way(self, node: str) -> str:
        """As ``MeshClient.way``."""
        return self._ways.last(node)

    async def hold(self, peer: PeerAddress, handler: PeerHandler, *, opened: Callable[[], None]) -> NoReturn:
        """As ``MeshClient.hold``; there are no certificates here to renew."""
        missed: list[MeshError] = []
        for address in self._ways.order(peer.node, peer.addresses, held=False):
            try:
                pipe = await self._find(peer, address).accept(self._node, self._key)
            except NotReachedError as error:
                missed.append(error.error)
                continue
            self._pipes[pipe] = peer.node
            opened()
            try:
                raise await self._answering.serve(peer.node, pipe, handler)
            finally:
                del self._pipes[pipe]
        raise not_reached(peer.node, missed)

    async def drop(self, node: str) -> None:
        """As ``MeshClient.drop``."""
        for pipe in [pipe for pipe, holder in self._pipes.items() if holder == node]:
            pipe.abort()
        now_s = asyncio.get_running_loop().time()
        for deadline in [deadline for deadline, called in self._deadlines.items() if called == node]:
            if not deadline.expired():
                self._dropped.add(deadline)
                deadline.reschedule(now_s)

    async def close(self) -> None:
        """Cancel the calls that run here."""
        await self._answering.close()

    async def _try_ways(self, peer: PeerAddress, route: str, body: bytes, content_type: str) -> bytes:
        missed: list[MeshError] = []
        for way in self._ways.order(peer.node, peer.addresses, held=self._held.has(peer.node)):
            try:
                answer = await self._take(peer, way, route, body, content_type)
            except NotReachedError as error:
                missed.append(error.error)
                continue
            except LostError as lost:
                raise may_have_been_acted_on(peer.node) from lost
            self._ways.took(peer.node, way)
            return answer
        raise not_reached(peer.node, missed)

    async def _take(self, peer: PeerAddress, way: str, route: str, body: bytes, content_type: str) -> bytes:
        server = None if way == HELD else self._find(peer, way)
        await self._network.weather(
            Leg(source=self._node, target=peer.node, route=route, payload=body, is_answer=False)
        )
        if server is None:
            answer = await self._held.call(peer.node, route, content_type, body)
        else:
            answer = await server.take(self._node, self._key, route, body)
        await self._network.weather(
            Leg(source=peer.node, target=self._node, route=route, payload=answer, is_answer=True)
        )
        return answer

    def _find(self, peer: PeerAddress, address: str) -> MemoryServer:
        server = self._network.listening.get(address)
        if server is None:
            raise NotReachedError(MeshError("peer.unreachable", "nothing listens there", peer=peer.node))
        if (server.node, server.public_key) != (peer.node, peer.public_key):
            told = "the node at this address does not hold the peer's key"
            raise NotReachedError(MeshError("peer.identity", told, peer=peer.node))
        return server
