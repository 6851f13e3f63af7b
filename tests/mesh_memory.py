"""Whole meshes in one process: real explorers over the in-memory twins of store, transport and browser, on a quick
clock.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
from nacl.signing import SigningKey

from adapters.ports.browser import NOTHING, ActionOutcome, Given
from adapters.ports.clock import Clock
from adapters.ports.records import PeerRecord
from adapters.transport.tls.bounds import Bounds
from node.api.node import Node
from node.config.settings import Config, ExploreConfig
from node.explorer.sharing.replica import Replica
from node.live.browsers.metering import UNMETERED
from node.rooms import assemble
from node.signing.identity import Identity
from protocol.errors import MeshError
from protocol.goal.condition import Condition
from protocol.messages import PROTOCOL_VERSION, StatusAsk, StatusTell
from protocol.page.actions.action import Action
from protocol.page.secrets.secrets import Secrets
from protocol.page.seen.observation import Element
from protocol.risk.requests.requests import GuardPolicy
from protocol.trust.grants import Grants, parse_grants
from tests.memory_rooms import LastingStore, home_of, memory_ports
from tests.twins.browser import Control, Document, Kept, MemoryBrowser, MemoryPage, MemorySite
from tests.twins.clock import START_MS
from tests.twins.storage import MemoryStore
from tests.twins.transport import MemoryNetwork

ORIGIN = "http://shop.test"
SHELVES = ("oak", "elm", "ash", "fir", "yew")
"""Words, not numbers: pages that differ in numbers only count as one state."""
GOAL_PATH = "/ash/elm/fir"
FOUND = Condition(url=f"*{GOAL_PATH}")
NEVER = Condition(url="*/never")
EXPLORE = parse_grants("explore")
_WAIT_S = 120.0


class QuickClock:
    """The clock of the event loop, faster; randomness from a seed. Implements ``adapters.ports.Clock``.

    In virtual time (``tests/conftest.py``) it moves only when all tasks wait.
    """

    def __init__(self, factor: float = 20.0) -> None:
        self._factor = factor
        self._began_s: float | None = None
        self._drawn = itertools.count()
        self.ahead_ms = 0
        """How much further the clock was set."""

    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return START_MS + self.ahead_ms + int(self._passed_s() * 1000 * self._factor)

    def _passed_s(self) -> float:
        """Since it was first asked while a loop was running."""
        try:
            now_s = asyncio.get_running_loop().time()
        except RuntimeError:
            return 0.0
        if self._began_s is None:
            self._began_s = now_s
        return now_s - self._began_s

    def random(self, count: int) -> bytes:
        """Never for real keys."""
        return hashlib.shake_256(str(next(self._drawn)).encode()).digest(count)

    async def sleep(self, seconds: float) -> None:
        """Wait, but less."""
        await asyncio.sleep(seconds / self._factor)


def shop_site(fanout: int = 5, depth: int = 3) -> MemorySite:
    """Pages that link to ``fanout`` pages below them each, ``depth`` deep; of all only ``GOAL_PATH`` is wanted."""
    documents: dict[str, Document] = {}
    for length in range(depth + 1):
        for path in itertools.product(SHELVES[:fanout], repeat=length):
            address = "/" + "/".join(path)
            below = SHELVES[:fanout] if length < depth else ()
            links = tuple(
                Control(
                    element=Element(
                        ref="", role="link", name=f"Shelf {' '.join(path)} {word}", url=f"{address.rstrip('/')}/{word}"
                    )
                )
                for word in below
            )
            heading = Control(element=Element(ref="", role="heading", name=f"Page {' '.join(path)}"))
            documents[ORIGIN + address] = Document(title=f"Page {' '.join(path)}", controls=(heading, *links))
    return MemorySite(documents)


class SlowBrowser(MemoryBrowser):
    """The twin, with pages that take their time."""

    def __init__(self, site: MemorySite, clock: Clock, step_s: float) -> None:
        super().__init__(site)
        self._where = site
        self._clock = clock
        self._step_s = step_s
        self.opened: list[_SlowPage] = []

    def new_page(self, guard: GuardPolicy, kept: Kept) -> MemoryPage:
        """A new page of a context."""
        page = _SlowPage(self._where, guard, kept, self._clock, self._step_s)
        self.opened.append(page)
        return page


class _SlowPage(MemoryPage):
    def __init__(self, site: MemorySite, guard: GuardPolicy, kept: Kept, clock: Clock, step_s: float) -> None:
        super().__init__(site, guard, kept)
        self._clock = clock
        self._step_s = step_s

    async def perform(
        self,
        action: Action,
        *,
        ref: str | None = None,
        expect: bytes | None = None,
        secrets: Secrets | None = None,
        timeout_ms: int = 0,
        given: Given = NOTHING,
    ) -> ActionOutcome:
        """``adapters.ports.Page.perform``."""
        await self._clock.sleep(self._step_s)
        return await super().perform(
            action, ref=ref, expect=expect, secrets=secrets, timeout_ms=timeout_ms, given=given
        )


class MemoryNode:
    """One node: what survives a restart (key, store), and the running rest."""

    def __init__(self, mesh: MemoryMesh, name: str, config: Config) -> None:
        self.mesh = mesh
        self.name = name
        self.config = config
        self.store: MemoryStore = LastingStore()
        self.home = mesh.home / name
        self.home.mkdir(exist_ok=True)
        self.site = mesh.site
        self.step_s = 0.2
        self.browsers_opened: list[SlowBrowser] = []
        key = SigningKey(hashlib.sha256(name.encode()).digest())
        self.identity = Identity(key, mesh.clock)
        self.address = f"https://{name}.invalid:443"
        self.running = False
        self.protocol = PROTOCOL_VERSION
        """Which protocol it says that it speaks."""

    @property
    def id(self) -> str:
        """The node id."""
        return self.identity.node

    @property
    def pages(self) -> int:
        """How many pages are open in its browsers."""
        return sum(page.is_open for browser in self.browsers_opened for page in browser.opened)

    async def _open_browser(self) -> SlowBrowser:
        browser = SlowBrowser(self.site, self.mesh.clock, self.step_s)
        self.browsers_opened.append(browser)
        return browser

    def crash_browsers(self) -> None:
        """End its browsers as killed processes would; the next page is of a new one."""
        for browser in self.browsers_opened:
            browser.crash()

    async def start(self) -> None:
        """Assemble it over its store and listen."""
        mesh = self.mesh
        self.server = mesh.network.server(self.id, self.identity.public_key, self.address)
        self.client = mesh.network.client(self.id, self.identity.public_key)
        ports = memory_ports(
            self.identity,
            mesh.clock,
            store=self.store,
            open_browser=self._open_browser,
            server=self.server,
            client=self.client,
            addresses=(self.address,),
        )
        self.rooms = rooms = assemble(self.home, self.config, self.identity, ports)
        self.browsers, self.witness, self.approvals = rooms.browsers, rooms.witness, rooms.approvals
        self.peers, self.changes, self.calls = rooms.trust.peers, rooms.trust.changes, rooms.trust.calls
        self.log_exchange, self.explorer, self.mark = rooms.log.exchange, rooms.explorer, rooms.trust.clock_mark
        self.notices, self.distrust = rooms.revocation.notices, rooms.revocation.distrust
        # Tests name agents as callers that nobody has added: their time with a browser is not counted.
        self.browsers.metering = UNMETERED
        await rooms.start()
        self.api = Node(rooms).federation
        self.api.serve("status", self._on_status)
        # As ``Rooms.serve``, without the first round of checkpoints: tests say themselves when nodes show each other their logs.
        await self.distrust.start()
        await self.explorer.start()
        await self.mark.settle()
        rooms.serving.address = await self.server.start(self.api.handle)
        self.running = True

    async def _on_status(self, caller: str, ask: StatusAsk) -> StatusTell:
        record = self.peers.record(caller)
        return StatusTell(
            node=self.id,
            name=self.name,
            version="0",
            protocol=self.protocol,
            now_ms=self.mesh.clock.now_ms(),
            grants=record.grants if record else {},
        )

    async def ask(self, verb: str, **params: Any) -> Any:
        """The result of a verb of its rooms."""
        bound = {known.name: (known, run) for known, run in {**self.distrust.bound, **self.notices.bound}.items()}
        known, run = bound[verb]
        return await run(known.takes(**params), lambda event: None)

    async def stop(self) -> None:
        """End it as the runtime does. A second call does nothing."""
        if self.running:
            self.running = False
            await self.rooms.close()

    async def crash(self) -> None:
        """Be gone for everybody else at once; what it was doing is not told to anybody."""
        self.mesh.network.listening.pop(self.address, None)
        self.mesh.dead.add(self.id)
        await self.stop()
        self.mesh.dead.discard(self.id)

    async def replica(self, search_id: str) -> Replica:
        """Its copy of a search."""
        return (await self.explorer.view(search_id))[3]

    async def run(
        self, condition: Condition = FOUND, *, seconds: int = 4_000, tell: Any = None, peers: list[str] | None = None
    ) -> Any:
        """Coordinate a search with ``peers``, or every peer that lets it."""
        return await self.explorer.run(
            goal="find the page",
            start_url=f"{ORIGIN}/",
            condition=condition,
            peers=peers,
            seconds=seconds,
            seed=7,
            tell=tell or (lambda event: None),
        )


class MemoryMesh:
    """Nodes that share a network, a site and a clock."""

    def __init__(self, site: MemorySite | None = None) -> None:
        self.clock = QuickClock()
        self.site = site or shop_site()
        self.dead: set[str] = set()
        self.network = MemoryNetwork(self._weather, bounds=Bounds(requests_per_s=2_000, requests_burst=2_000))
        self.nodes: list[MemoryNode] = []
        self.home = home_of(self)

    async def _weather(self, leg: Any) -> None:
        if leg.source in self.dead or leg.target in self.dead:
            raise MeshError("peer.unreachable", "the node has crashed")

    async def add(self, name: str, **explore: Any) -> MemoryNode:
        """A started node that knows nobody."""
        settings = {"lease_seconds": 4, "lease_iterations": 3} | explore
        node = MemoryNode(self, name, Config(name=name, explore=ExploreConfig(**settings)))
        self.nodes.append(node)
        await node.start()
        return node

    async def pair(self, one: MemoryNode, other: MemoryNode, grants: Grants = EXPLORE) -> None:
        """Make both peers of each other, each with ``grants`` at the other."""
        for here, there in ((one, other), (other, one)):
            await here.store.put_peer(
                PeerRecord(
                    node=there.id,
                    name=there.name,
                    public_key=there.identity.public_key,
                    addresses=(there.address,),
                    grants=grants,
                    granted_us=grants,
                    paired_ms=self.clock.now_ms(),
                )
            )
            await here.peers.load()


@contextlib.asynccontextmanager
async def memory_mesh(*names: str, site: MemorySite | None = None, **explore: Any) -> AsyncIterator[list[MemoryNode]]:
    """Started nodes, each a peer of each other; all stopped at the end."""
    mesh = MemoryMesh(site)
    try:
        nodes = [await mesh.add(name, **explore) for name in names]
        for one, other in itertools.combinations(nodes, 2):
            await mesh.pair(one, other)
        yield nodes
    finally:
        for node in mesh.nodes:
            await node.stop()


async def until(condition: Callable[[], Any], what: str, seconds: float = _WAIT_S) -> Any:
    """Poll ``condition()``, which may be a coroutine function, until it is true; its value. Raises ``TimeoutError``."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while True:
        value = condition()
        if asyncio.iscoroutine(value):
            value = await value
        if value:
            return value
        if loop.time() > deadline:
            raise TimeoutError(what)
        await asyncio.sleep(0.01)


class Script:
    """A participant that answers the peer API by hand; what it was sent is in ``got``."""

    def __init__(self, node: MemoryNode) -> None:
        self.node = node
        self.got: list[tuple[str, msgspec.Struct]] = []

    def serve(self, route: str, answer: msgspec.Struct) -> None:
        """Answer ``route`` with ``answer`` from now on."""

        async def handle(caller: str, record: msgspec.Struct) -> msgspec.Struct:
            self.got.append((route, record))
            return answer

        self.node.api.serve(route, handle)

    def of(self, route: str) -> list[Any]:
        """What came in on ``route``."""
        return [record for name, record in self.got if name == route]
