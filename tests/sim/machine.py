"""One node and the machine under it: what a crash takes, and what it leaves.

A life is one run of a node's process. At a crash the life ends: whatever it was doing goes on to its next use of a port
(disk, network, clock) and no further, without any cleaning up. The machine keeps what was stored, and begins another life.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NoReturn, cast

from nacl.signing import SigningKey

from adapters.keys.file import MemoryKeyStore
from adapters.ports.records import LeaseRecord
from adapters.ports.store import Store
from adapters.ports.tables import Table
from adapters.ports.transport import PeerAddress, PeerHandler
from adapters.storage.files.records import unpack
from node.api.node import Node
from node.config.settings import Config, ExploreConfig
from node.rooms import assemble
from node.signing import identity
from protocol import limits
from protocol.errors import MeshError
from protocol.keys import recovery
from tests.memory_rooms import memory_ports
from tests.mesh_memory import SlowBrowser, shop_site
from tests.sim.truth import WRITE_S_MAX
from tests.twins.browser import MemoryBrowser
from tests.twins.clock import START_MS
from tests.twins.storage import MemoryStore
from tests.twins.tables import MemoryRows, RowStore
from tests.twins.transport import Leg, MemoryClient, MemoryServer

if TYPE_CHECKING:
    from tests.sim.world import World

_SWEEP_EVERY_S = 30
_READS = (
    "get_",
    "find_",
    "peers",
    "sessions",
    "session",
    "steps",
    "artefacts",
    "search",
    "deltas",
    "lease",
    "log",
    "feed",
    "agents",
    "capsule",
    "running_",
    "schedules",
)
SITE = shop_site(fanout=4, depth=3)


class LifeClock:
    """The clock of one life: time passes as in the world, and somebody may have set it wrong."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self._drawn = 0

    def now_ms(self) -> int:
        """Milliseconds since 1970, by this machine."""
        return self._life.machine.now_ms()

    def random(self, count: int) -> bytes:
        """Never the same twice, also not in another life."""
        self._drawn += 1
        machine = self._life.machine
        text = f"{machine.world.seed}/{machine.name}/{self._life.number}/{self._drawn}"
        return hashlib.shake_256(text.encode()).digest(count)

    async def sleep(self, seconds: float) -> None:
        """Wait, whatever the clock says meanwhile."""
        await self._life.breathe()
        await asyncio.sleep(max(0.0, seconds))
        await self._life.breathe()


class PageClock(LifeClock):
    """How long pages take: forever, once the world is still."""

    async def sleep(self, seconds: float) -> None:
        """Wait for a page."""
        if self._life.machine.world.still:
            await self._life.machine.world.forever()
        await super().sleep(seconds * self._life.dice.uniform(0.2, 2.0))


class Disk:
    """The store of one life: each operation takes a moment, is done whole or not at all, and is watched."""

    def __init__(self, life: Life, store: MemoryStore) -> None:
        self._life = life
        self._store = store

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self._store, name)
        life, reads = self._life, name.startswith(_READS)

        async def act(*args: Any, **named: Any) -> Any:
            await life.breathe()
            await asyncio.sleep(0 if reads else life.dice.uniform(0.0, WRITE_S_MAX))
            await life.breathe()
            result = await method(*args, **named)
            if not reads:
                life.machine.stored(name, args, result)
            return result

        setattr(self, name, act)
        return act

    async def hold(self, tables: object) -> None:
        """A store in memory has every table."""

    def rows(self, table: Table[Any]) -> MemoryRows[Any]:
        """As ``Store.rows``."""
        return MemoryRows(cast(RowStore, self), table)

    async def close(self) -> None:
        """What is stored stays."""


class Wire:
    """The ``PeerClient`` of one life."""

    def __init__(self, life: Life, inner: MemoryClient) -> None:
        self._life = life
        self._inner = inner

    async def call(
        self, peer: PeerAddress, route: str, body: bytes, *, content_type: str, timeout_s: float = 0
    ) -> bytes:
        """As ``PeerClient.call``."""
        await self._life.breathe()
        try:
            return await self._inner.call(peer, route, body, content_type=content_type, timeout_s=timeout_s)
        finally:
            await self._life.breathe()

    async def look(self, peer: PeerAddress) -> tuple[bytes, ...]:
        """As ``PeerClient.look``; there and back, like a call."""
        await self._life.breathe()
        weather, me = self._life.machine.world.weather, self._life.machine.id
        try:
            async with asyncio.timeout(limits.CONNECT_TIMEOUT_S):
                await weather(Leg(source=me, target=peer.node, route="look", payload=b"", is_answer=False))
                return await self._inner.look(peer)
        except TimeoutError as error:
            raise MeshError("peer.unreachable", "no answer", peer=peer.node) from error
        finally:
            await self._life.breathe()

    async def introduce(self, peer: PeerAddress, body: bytes) -> None:
        """As ``PeerClient.introduce``."""
        await self._life.breathe()
        try:
            await self._inner.introduce(peer, body)
        finally:
            await self._life.breathe()

    def rekey(self, key: SigningKey) -> None:
        """As ``PeerClient.rekey``."""
        self._inner.rekey(key)

    def way(self, node: str) -> str:
        """As ``PeerClient.way``."""
        return self._inner.way(node)

    async def hold(self, peer: PeerAddress, handler: PeerHandler, *, opened: Callable[[], None]) -> NoReturn:
        """As ``PeerClient.hold``."""
        await self._inner.hold(peer, handler, opened=opened)

    async def drop(self, node: str) -> None:
        """As ``PeerClient.drop``."""
        await self._inner.drop(node)

    async def close(self) -> None:
        """As ``PeerClient.close``."""
        await self._inner.close()


class Life:
    """One run of a node's process, over ports that end with it."""

    def __init__(self, machine: Machine, number: int) -> None:
        world = machine.world
        self.machine = machine
        self.number = number
        self.alive = True
        self.serving = False
        self.dice = world.dice(f"{machine.name}/{number}")
        self._jobs: list[asyncio.Task[Any]] = []
        clock = LifeClock(self)
        own = identity.load(machine.home, clock, machine.keys)
        self.identity = own
        network = world.network
        self.server: MemoryServer = network.server(machine.id, own.public_key, machine.address)
        wire = Wire(self, network.client(machine.id, own.public_key))
        store = cast(Store, Disk(self, machine.store))
        self.rooms = assemble(
            machine.home,
            machine.config,
            own,
            memory_ports(
                own,
                clock,
                store=store,
                keys=machine.keys,
                open_browser=self._open_browser,
                server=self.server,
                client=wire,
                addresses=(machine.address,),
            ),
        )

    async def _open_browser(self) -> MemoryBrowser:
        return SlowBrowser(SITE, PageClock(self), 0.5)

    async def breathe(self) -> None:
        """Nothing, while this life lasts; afterwards it does not return."""
        if not self.alive:
            await self.machine.world.forever()

    def start(self, work: Awaitable[Any]) -> asyncio.Task[Any]:
        """Work that belongs to this life."""
        task = asyncio.ensure_future(work)
        self._jobs.append(task)
        return task

    async def serve(self) -> None:
        """As ``node.process.runtime.serve`` begins: what was stored is taken up, then the door opens."""
        rooms = self.rooms
        await rooms.start()
        self.node = Node(rooms)
        await rooms.serve(self._handle)
        self.start(self._every(_SWEEP_EVERY_S, rooms.explorer.sweep))
        self.start(self._every(limits.LOG_SYNC_EVERY_S, self._log_round))
        self.start(self._every(limits.KEY_FOLLOW_EVERY_S, rooms.trust.calls.refresh, at_once=True))
        self.serving = True

    async def _handle(self, caller: str, route: str, body: bytes) -> bytes:
        if self.machine.overhear is not None:
            self.machine.overhear(caller, route, body)
        answer = await self.node.federation.handle(caller, route, body)
        self.machine.world.truth.check_answered(self, caller, route, body)
        return answer

    async def _log_round(self) -> None:
        if self.machine.log_round is not None:
            await self.machine.log_round(self)
        else:
            await self.rooms.log.exchange.round()

    async def _every(self, seconds: float, job: Callable[[], Awaitable[Any]], *, at_once: bool = False) -> None:
        if at_once:
            await job()
        while True:
            await self.rooms.clock.sleep(seconds)
            await job()

    async def end(self) -> None:
        """As a node that is asked to stop."""
        for job in self._jobs:
            job.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)
        await self.rooms.close()
        self.alive = False


class Machine:
    """What outlives a crash: key, files, store, and a clock that may be wrong."""

    def __init__(self, world: World, name: str, *, hostile: bool = False) -> None:
        self.world = world
        self.name = name
        self.hostile = hostile
        self.keys = MemoryKeyStore()
        self.store = MemoryStore()
        self.home = world.home / name
        self.ahead_ms = 0
        self.latest_ms = 0
        """The latest time its clock showed before it was set."""
        self.life: Life | None = None
        self.gone = False
        """Whether its owner has given it up."""
        self.address = f"https://{name}.invalid:443"
        self.config = Config(name=name, explore=ExploreConfig(lease_seconds=4, lease_iterations=2))
        self.overhear: Callable[[str, str, bytes], None] | None = None
        """Told of every request that reaches this machine, if it is hostile."""
        self.log_round: Callable[[Life], Awaitable[None]] | None = None
        """What a hostile machine does instead of a round of checkpoints."""
        self.results: dict[str, bytes] = {}
        """Signed results of peers in this machine's store, by lease."""
        self._lives = 0
        self._ending: asyncio.Task[None] | None = None
        own = identity.create(_Birth(world, name), recovery.commitment(hashlib.sha256(name.encode()).digest()))
        identity.keep(self.home, own, self.keys)
        self.id = own.node
        self.genesis = own.public_key
        self.key_log = own.log

    def now_ms(self) -> int:
        """What its clock shows, milliseconds since 1970."""
        return START_MS + self.ahead_ms + int(self.world.loop.time() * 1000)

    def set_clock(self, ahead_ms: int) -> None:
        """Make its clock wrong by so much; 0 makes it right."""
        self.latest_ms = max(self.latest_ms, self.now_ms())
        self.ahead_ms = ahead_ms

    def stored(self, operation: str, args: tuple[Any, ...], result: Any) -> None:
        """The store has changed."""
        world = self.world
        what = type(args[1] if operation.endswith("_row") else args[0]).__name__ if args else ""
        world.note(f"{self.name} stores {operation} {what}")
        if not self.hostile:
            world.truth.check_stored(self, operation, args, result)

    async def boot(self) -> None:
        """Begin a life, once the one before has ended."""
        if self._ending is not None:
            await asyncio.wait([self._ending])
        if self.life is not None:
            return
        self._lives += 1
        self.world.note(f"{self.name} starts, life {self._lives}")
        life = Life(self, self._lives)
        self.life = life
        await life.serve()
        self.world.note(f"{self.name} serves")

    def crash(self) -> None:
        """The power fails."""
        life = self.life
        if life is None:
            return
        self.world.note(f"{self.name} crashes")
        life.alive = False
        self.life, self.key_log = None, life.identity.log
        # What the machines of others notice of it: connections break off.
        self.world.start(life.server.close())

    async def stop(self) -> None:
        """The node is asked to stop, and does."""
        life = self.life
        if life is not None:
            self.world.note(f"{self.name} stops")
            self.life, self.key_log = None, life.identity.log
            self._ending = self.world.start(life.end())  # to its end, also when whoever asked for it has left
            await asyncio.wait([self._ending])

    def live_leases(self, search: str) -> list[LeaseRecord]:
        """Leases this machine gave in one of its searches, as its store has them now."""
        found = [unpack(body, LeaseRecord) for body in self.store._leases.values()]
        return [lease for lease in found if lease.search == search and lease.status == "live"]

    def __repr__(self) -> str:
        return f"Machine({self.name})"


class _Birth:
    """Clock and chance for a key that is made before the first life."""

    def __init__(self, world: World, name: str) -> None:
        self._text = f"{world.seed}/{name}/birth"
        self._drawn = 0

    def now_ms(self) -> int:
        return START_MS

    def random(self, count: int) -> bytes:
        self._drawn += 1
        return hashlib.shake_256(f"{self._text}/{self._drawn}".encode()).digest(count)

    async def sleep(self, seconds: float) -> None:
        raise AssertionError
