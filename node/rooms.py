"""The rooms of one installation and the ports they use. ``node.process.wiring`` assembles them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nacl.signing import SigningKey

from adapters.cosigned_records import COSIGNED
from adapters.ports.browser import OpenBrowser, OpenPersistent, OpenProxied, no_persistent, no_proxied
from adapters.ports.choosing import NewChooser, no_chooser
from adapters.ports.clock import Clock, Notifier
from adapters.ports.discovery import Discovery
from adapters.ports.keys import KeyStore
from adapters.ports.search import NewTreeWriter
from adapters.ports.store import Store
from adapters.ports.tables import Table
from adapters.ports.transport import PairingClient, PairingServer, PeerClient, PeerHandler, PeerServer
from node.agents import KEYED_CALLS, Agents, KeyedCalls
from node.approvals import QUESTIONS, Approvals, Explaining, OwnerKeys
from node.base import handed_files
from node.base.loop_watch import LoopWatch
from node.base.serving import Serving
from node.capsules.exchange import WORKS, CapsuleExchange, CookieHandles, LoginWork, Reporting, WorkAsking
from node.capsules.logins import Capturing, Logins, Passkeys, Upkeep, from_live
from node.capsules.mount import Mounting, Unsealing
from node.capsules.seal import Capsules, Endings, Kept, Proving, Repolicy, SealingKeys
from node.config import Config
from node.distrust import Distrust, Notices
from node.explorer import Explorer, ExploreVerbs, Parts
from node.live.acting import KeptCodes, Uploads
from node.live.browsers import Browsers, open_browsers
from node.live.sessions import LIVES, LiveSessions, LiveVerbs
from node.log import EQUIVOCATIONS, HEADS, Audit, LogExchange, Logs
from node.pairing import INVITES, PairingDesk, PairingVerbs
from node.schedules import ScheduledSearches, Schedules, ScheduleVerbs
from node.sessions.actions import PageVerbs, read_live_steps
from node.sessions.serving import ForPeers, Sessions, SessionVerbs
from node.signing import Identity, Witness, contents
from node.sites import Sites
from node.tasks import TASKS, TaskQueue
from node.trust import Calls, ClockMark, OwnKeys, Peers, Reach, RecoveryKey, RefusalBook, TrustChanges
from node.verbs import Room
from protocol import ids, limits
from protocol.refusals import Refusals


@dataclass(frozen=True, kw_only=True)
class Ports:
    """The ports of one node. After ``assemble`` its rooms own them, and ``Rooms.close`` closes them."""

    store: Store
    clock: Clock
    keys: KeyStore
    """Where the witness key is kept."""
    open_browser: OpenBrowser
    open_persistent: OpenPersistent = no_persistent
    """A browser of its own for a login with a slice of its profile."""
    open_proxied: OpenProxied = no_proxied
    """A browser of its own that goes through a proxy."""
    server: PeerServer
    client: PeerClient
    pairing_server: Callable[[], PairingServer]
    """A new listener for one pairing."""
    pairing_client: PairingClient
    discovery: Discovery
    tree_writer: NewTreeWriter
    new_chooser: NewChooser = no_chooser
    """Asks a rule or a model which action of a page a search should prefer."""
    notifier: Notifier
    """Sends notifications about finished scheduled runs."""
    refusals: Refusals = field(default_factory=Refusals)
    to_words: Callable[[bytes], str]
    """A digest as six words for people to compare."""
    from_words: Callable[[str], bytes]
    """Decodes a recovery key from its 24 words."""
    machine: str = ""
    """An id of this machine, for capsules that stay on it; empty if it has none."""
    addresses: tuple[str, ...] = ()
    """Addresses at which peers can reach this node; empty if it opens every connection itself."""


@dataclass(frozen=True, kw_only=True)
class Trust:
    """Whom this node trusts, and how it reaches them."""

    peers: Peers
    changes: TrustChanges
    calls: Calls
    clock_mark: ClockMark
    refusal_book: RefusalBook
    reach: Reach
    own_keys: OwnKeys


@dataclass(frozen=True, kw_only=True)
class Log:
    """The log of this node, and the logs of its peers."""

    exchange: LogExchange
    logs: Logs
    audit: Audit


@dataclass(frozen=True, kw_only=True)
class Revocation:
    """Peers that are distrusted."""

    notices: Notices
    distrust: Distrust


@dataclass(frozen=True, kw_only=True)
class SealedLogins:
    """Capsules, and what makes and uses them."""

    capsules: Capsules
    capturing: Capturing
    exchange: CapsuleExchange
    handles: CookieHandles
    upkeep: Upkeep
    unsealing: Unsealing
    logins: Logins
    passkeys: Passkeys
    work: LoginWork
    asking: WorkAsking


@dataclass(frozen=True, kw_only=True)
class Rooms:
    """All rooms of a node, and whether the node serves peers."""

    home: Path
    config: Config
    identity: Identity
    ports: Ports
    serving: Serving
    witness: Witness
    browsers: Browsers
    agents: Agents
    keyed_calls: KeyedCalls
    trust: Trust
    log: Log
    approvals: Approvals
    live: LiveSessions
    sessions: Sessions
    sealed: SealedLogins
    explorer: Explorer
    schedules: Schedules
    revocation: Revocation
    pairing: PairingDesk
    tasks: TaskQueue
    every: tuple[Room, ...]
    """The offers of all rooms, in the order in which they start."""
    loop_watch: LoopWatch = field(default_factory=LoopWatch)

    @property
    def store(self) -> Store:
        """The store of the node."""
        return self.ports.store

    @property
    def clock(self) -> Clock:
        """The clock of the node."""
        return self.ports.clock

    @property
    def tables(self) -> tuple[Table[Any], ...]:
        """The tables that rooms describe."""
        return tuple(table for room in self.every for table in room.tables)

    async def start(self) -> None:
        """Read what is stored. Nobody is served yet. Errors: ``store.*``."""
        await self.store.hold(self.tables)
        for room in self.every:
            for step in room.start:
                await step()

    async def serve(self, handle: PeerHandler) -> None:
        """Take up what was stored, then answer peers with ``handle``. Errors: ``node.address_in_use``, ``store.*``."""
        # Before anything is signed, ask the peers if they hold a later state of our log.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limits.LOG_START_SYNC_TIMEOUT_S):
                await self.log.exchange.round()
        await self.revocation.distrust.start()
        # Before peers can call: a result for a search that is not open yet would be rejected as late.
        await self.explorer.start()
        # Before peers can call: the node would refuse their new messages as issued before the mark.
        await self.trust.clock_mark.settle()
        self.serving.address = await self.ports.server.start(handle)
        self.trust.reach.start(handle)

    async def close(self) -> None:
        """Close everything, dependents before what they depend on. Twice is once."""
        for room in reversed(self.every):
            for step in room.close:
                await step()
        await self.store.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.config.name}, {ids.short(self.identity.node)})"


def assemble(home: Path, config: Config, own: Identity, ports: Ports) -> Rooms:
    """Build the rooms of the node ``own``; nothing is loaded or started yet."""
    store, clock, client, server = ports.store, ports.clock, ports.client, ports.server
    serving, witness = Serving(home), Witness(own, store, clock)
    recovery_key = RecoveryKey(own, ports.from_words)
    owners = OwnerKeys(witness, store, clock, recovery_key.prove)
    approvals = Approvals(witness, store, clock, owners)
    peers = Peers(witness, config, store, clock, server, ports.addresses)
    calls = Calls(witness, TrustChanges(peers, store, clock), client, clock)
    log_exchange = LogExchange(witness, calls, store, clock)

    passkeys = Passkeys(home, witness, clock)
    sealing = SealingKeys(home, witness, store, clock)
    kept = Kept(witness, store, clock, peers, sealing, machine=ports.machine, is_owner=owners.is_active)
    endings = Endings(kept)
    capsules = Capsules(kept, endings, Reporting(kept, calls, endings).report)
    agents = Agents(store, clock, ports.refusals, witness.feed, kept)
    keyed_calls = KeyedCalls(store, clock, approvals.standing)
    browsers = open_browsers(
        config,
        ports.open_browser,
        ports.open_persistent,
        ports.open_proxied,
        metering=agents,
        codes=KeptCodes(store, clock),
        uploads=Uploads((*config.browser.upload_folders, str(home / handed_files.FOLDER))),
        mounts=lambda browsers: Mounting(capsules, browsers.info_for_work),
    )
    live = LiveSessions(witness, config, store, clock, browsers, serving, approvals.asker)
    sessions = Sessions(witness, config, store, clock, browsers, peers, approvals.asker)
    explorer = Explorer(witness, config, store, clock, browsers, calls, ports.tree_writer, log_exchange.demand)
    pairing = PairingDesk(own, config, store, clock, calls.changes, ports.pairing_server, ports.pairing_client)
    parts = Parts(explorer, sessions, peers, store, clock, config.name)
    searching = ScheduledSearches(parts, witness, log_exchange, serving, clock)
    schedules = Schedules(store, clock, searching, ports.notifier, witness.feed)

    upkeep = Upkeep(capsules, browsers, config)
    for_peers = ForPeers(sessions, store, config, peers, witness)
    capturing = Capturing(capsules, Proving(kept, browsers, config).prove, from_live(live))
    exchange = CapsuleExchange(capsules, calls, lambda: owners.owners, upkeep.kill)
    sealed = SealedLogins(
        capsules=capsules,
        capturing=capturing,
        exchange=exchange,
        handles=CookieHandles(capsules, exchange, calls),
        upkeep=upkeep,
        unsealing=Unsealing(capsules),
        logins=Logins(capturing, witness, sessions.recordings.record, passkeys),
        passkeys=passkeys,
        work=LoginWork(capsules, calls, for_peers),
        asking=WorkAsking(calls, store, clock, for_peers.take_in),
    )

    async def rewrap(under: Sequence[SigningKey]) -> None:
        await asyncio.to_thread(sealing.rewrap, under)
        await passkeys.rewrap(under)

    own_keys = OwnKeys(
        home,
        own,
        ports.keys,
        clock,
        calls,
        (server, client),
        recovery_key,
        end_pairing=pairing.close,
        end_work=explorer.stop_all,
        rewrap=rewrap,
    )
    trust = Trust(
        peers=peers,
        changes=calls.changes,
        calls=calls,
        clock_mark=ClockMark(store, clock),
        refusal_book=RefusalBook(ports.refusals, store, clock),
        reach=Reach(calls, client, server, clock, mode=config.listen.reach),
        own_keys=own_keys,
    )
    log = Log(
        exchange=log_exchange,
        logs=Logs(witness, log_exchange, calls, store, config.name),
        audit=Audit(witness, peers, store),
    )
    notices = Notices(witness, calls, log_exchange, store, clock)

    async def drop_peer(node: str) -> int:
        await sealed.work.drop_peer(node)
        # Beside each other: its offers are withdrawn once nobody seals a capsule, and its searches do not wait for that.
        _, count = await asyncio.gather(sealed.handles.drop_peer(node), explorer.drop_peer(node))
        return count

    async def mark() -> None:
        contents.mark(home, own.node, store=True)

    distrust = Distrust(calls, log_exchange, notices, drop_peer)
    tasks = TaskQueue(witness, store, clock, agents.going_on)
    every = (
        # First, because loading other rooms may sign or report changes.
        Room(name="witness", start=(witness.load, mark), close=(witness.close,)),
        _trust_room(trust),
        Room(name="browsers", parts=(PageVerbs(witness, config, browsers),), close=(browsers.close,)),
        Room(name="channel", close=(ports.discovery.close, trust.reach.close, calls.close, server.close)),
        Room(
            name="log",
            parts=(log.logs, log.audit),
            tables=(HEADS, COSIGNED, EQUIVOCATIONS),
            routes=log_exchange.routes,
            start=(log_exchange.load,),
            close=(log_exchange.close,),
        ),
        Room(
            name="approvals",
            parts=(approvals, Explaining(config.policy, approvals)),
            tables=(QUESTIONS,),
            start=(approvals.load,),
        ),
        Room(name="agents", parts=(agents,), tables=(KEYED_CALLS,), start=(keyed_calls.load,)),
        _sealed_room(sealed),
        Room(
            name="live",
            parts=(LiveVerbs(live, read_live_steps),),
            tables=(LIVES,),
            start=(live.load,),
            close=(live.close,),
        ),
        Room(name="sessions", parts=(SessionVerbs(sessions),)),
        Room(
            name="explorer",
            parts=(ExploreVerbs(parts, log_exchange, serving, ports.new_chooser),),
            routes=explorer.routes,
            close=(explorer.close,),
        ),
        Room(name="sites", parts=(Sites(sessions.reading, store),)),
        Room(
            name="schedules",
            parts=(ScheduleVerbs(schedules, clock, kept),),
            start=(schedules.load,),
            close=(schedules.close,),
        ),
        Room(
            name="revocation",
            parts=(distrust, notices),
            routes=notices.routes,
            start=(notices.load,),
            close=(distrust.close,),
        ),
        Room(
            name="pairing",
            parts=(PairingVerbs(pairing, calls, serving, ports.to_words, explorer.reconsider),),
            tables=(INVITES,),
            close=(pairing.close,),
        ),
        # Last, because it closes first: its tasks use all other rooms.
        Room(name="tasks", tables=(TASKS,), start=(tasks.load,), close=(tasks.close,)),
    )
    return Rooms(
        home=home,
        config=config,
        identity=own,
        ports=ports,
        serving=serving,
        witness=witness,
        browsers=browsers,
        agents=agents,
        keyed_calls=keyed_calls,
        trust=trust,
        log=log,
        approvals=approvals,
        live=live,
        sessions=sessions,
        sealed=sealed,
        explorer=explorer,
        schedules=schedules,
        revocation=Revocation(notices=notices, distrust=distrust),
        pairing=pairing,
        tasks=tasks,
        every=every,
    )


def _trust_room(trust: Trust) -> Room:
    return Room(
        name="trust",
        parts=(trust.own_keys,),
        routes={**trust.own_keys.routes, "reach/echo": trust.reach.echo},
        start=(trust.peers.load, trust.clock_mark.load, trust.refusal_book.load),
        close=(trust.clock_mark.close, trust.refusal_book.keep),
    )


def _sealed_room(sealed: SealedLogins) -> Room:
    return Room(
        name="capsules",
        parts=(
            sealed.capsules,
            sealed.capturing,
            Repolicy(sealed.capsules),
            sealed.exchange,
            sealed.handles,
            sealed.logins,
            sealed.passkeys,
            sealed.asking,
            sealed.upkeep,
            sealed.unsealing,
        ),
        tables=(WORKS,),
        routes={**sealed.exchange.routes, **sealed.handles.routes, **sealed.work.routes},
        start=(sealed.capsules.load, sealed.work.load),
        close=(sealed.work.close,),
    )
