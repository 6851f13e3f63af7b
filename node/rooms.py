"""What one installation is made of. Put together by ``node.process.wiring``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from adapters.ports import Clock, Discovery, PeerServer, Store
from adapters.refusals import Refusals
from node.audit import Audit
from node.base import LoopWatch
from node.config import Config
from node.distrust import Distrust, Notices
from node.explorer import Explorer
from node.live import Browsers
from node.log import LogExchange, Logs
from node.pairing import PairingDesk
from node.sessions import Sessions
from node.signing import Identity, Witness
from node.trust import Calls, ClockMark, OwnKeys, Peers, Reach, RefusalBook, TrustChanges
from protocol import ids
from protocol.errors import MeshError


@dataclass(kw_only=True)
class Rooms:
    """The rooms, and whether their door is open."""

    home: Path
    config: Config
    identity: Identity
    store: Store
    clock: Clock
    browsers: Browsers
    witness: Witness
    peers: Peers
    changes: TrustChanges
    clock_mark: ClockMark
    calls: Calls
    pairing: PairingDesk
    log_exchange: LogExchange
    logs: Logs
    audit: Audit
    sessions: Sessions
    explorer: Explorer
    server: PeerServer
    refusals: Refusals
    refusal_book: RefusalBook
    own_keys: OwnKeys
    reach: Reach
    notices: Notices
    distrust: Distrust
    discovery: Discovery
    words: Callable[[bytes], str]
    """A digest as six words for people to compare."""
    loop_watch: LoopWatch = field(default_factory=LoopWatch)
    address: str = ""
    """Where peers reach this node; empty while it does not serve."""

    @property
    def serving(self) -> bool:
        """Whether peers can reach this node now."""
        return bool(self.address)

    def need_serving(self) -> None:
        """Errors: ``node.not_serving``."""
        if not self.serving:
            raise MeshError("node.not_serving", home=str(self.home))

    async def close(self) -> None:
        """Stop everything, in the order in which things depend on each other. Twice is once."""
        await self.pairing.close()
        await self.distrust.close()
        await self.explorer.close()
        await self.log_exchange.close()
        await self.discovery.close()
        await self.reach.close()
        await self.calls.close()
        await self.server.close()
        await self.browsers.close()
        await self.witness.close()
        await self.clock_mark.close()
        await self.refusal_book.keep()
        await self.store.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.config.name}, {ids.short(self.identity.node)})"
