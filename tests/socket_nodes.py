"""Peers on real sockets in one process, each with a clock that can be set: for tests of what passes between two nodes."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
from collections.abc import AsyncIterator

import msgspec
from nacl.signing import SigningKey

from adapters.ports.records import PeerRecord
from adapters.ports.transport import PeerAddress
from adapters.transport.client import MeshClient
from adapters.transport.server import MeshServer
from node.config.settings import Config
from node.doors.federation import FederationApi
from node.rooms import assemble
from node.signing.identity import Identity
from node.trust.calls import PATH_PREFIX
from node.trust.clock_mark import ClockMark
from node.verbs.verb import Handler
from protocol.errors import MeshError
from protocol.keys import keylog
from protocol.keys.key_event import EVENT_RANDOM_BYTES, recovery_commitment
from protocol.messages import KIND_MESSAGE, Done, KeysTell, StatusAsk
from protocol.wire.envelope import content_type
from tests.key_logs import RECOVERY, public
from tests.memory_rooms import LastingStore, home_of, memory_ports
from tests.twins.clock import ManualClock

ROUTES = ("status", "reach/echo", "keys/push")


class SetClock(ManualClock):
    """A clock that its owner also sets back."""

    def move(self, seconds: int) -> None:
        """Forward, or back."""
        self._now_ms += seconds * 1000


class SocketNode:
    """The channel, the peers and the peer API of a node; most routes are answered with ``Done``."""

    def __init__(self, name: str) -> None:
        self.name, self.clock, self.store = name, SetClock(seed=len(name)), LastingStore()
        self.key = SigningKey(hashlib.sha256(name.encode()).digest())
        now_s = self.clock.now_ms() // 1000
        log = keylog.begin(
            self.key, recovery_commitment(public(RECOVERY)), now_s=now_s, random=bytes(EVENT_RANDOM_BYTES)
        )
        self.identity = Identity(self.key, self.clock, log)
        self.server, self.client = MeshServer(self.key), MeshClient(self.key)
        self.heard: list[str] = []
        """Routes on which a message has passed every check."""
        self.url = ""
        self.home = home_of(self)

    @property
    def id(self) -> str:
        """The node id."""
        return self.identity.node

    @property
    def at(self) -> PeerAddress:
        """How others reach it."""
        return PeerAddress(node=self.id, public_key=bytes(self.key.verify_key), addresses=(self.url,))

    async def start(self) -> None:
        """Listen."""
        ports = memory_ports(self.identity, self.clock, store=self.store, server=self.server, client=self.client)
        self.rooms = assemble(self.home, Config(name=self.name), self.identity, ports)
        trust = self.rooms.trust
        self.peers, self.changes, self.calls, self.mark = trust.peers, trust.changes, trust.calls, trust.clock_mark
        await self.rooms.start()
        self._serve()
        self.url = await self.server.start(lambda caller, route, body: self.api.handle(caller, route, body))

    async def open_api(self, *, crashed: bool = False) -> None:
        """A peer API that remembers nothing: what a restart leaves of it, or a crash."""
        if not crashed:
            await self.mark.close()
        self.mark = ClockMark(self.store, self.clock)
        await self.mark.load()
        self._serve()

    def _serve(self) -> None:
        self.api = FederationApi(self.changes, self.mark, self.clock)
        for route in ROUTES:
            self.api.serve(route, self._hear(route, Done()))
        self.api.serve("keys/pull", self._hear("keys/pull", KeysTell(log=self.identity.log.encode())))

    def _hear(self, route: str, answer: msgspec.Struct) -> Handler:
        async def handle(caller: str, record: msgspec.Struct) -> msgspec.Struct:
            self.heard.append(route)
            return answer

        return handle

    def message(self, to: SocketNode, route: str = "status") -> bytes:
        """A message that asks nothing, signed now."""
        return self.identity.message(StatusAsk(), audience=to.id, path=PATH_PREFIX + route)

    async def post(self, to: SocketNode, body: bytes, route: str = "status") -> str:
        """Send ``body`` under this node's own certificate; the code of the refusal, empty if there was none."""
        try:
            await self.client.call(to.at, route, body, content_type=content_type(KIND_MESSAGE))
        except MeshError as error:
            return error.code
        return ""

    async def know(self, other: SocketNode) -> None:
        """Make a peer of ``other``."""
        record = PeerRecord(
            node=other.id,
            name=other.name,
            public_key=other.identity.public_key,
            key_log=other.identity.log.encode(),
            addresses=(other.url,),
            grants={},
            paired_ms=self.clock.now_ms(),
        )
        await self.store.put_peer(record)
        await self.peers.load()

    async def stop(self) -> None:
        """End it."""
        await self.rooms.close()


@contextlib.asynccontextmanager
async def socket_nodes(*names: str) -> AsyncIterator[list[SocketNode]]:
    """Serving nodes, each a peer of each other; stopped at the end."""
    nodes = [SocketNode(name) for name in names]
    try:
        for node in nodes:
            await node.start()
        for one, other in itertools.permutations(nodes, 2):
            await one.know(other)
        yield nodes
    finally:
        for node in nodes:
            await node.stop()
