"""The rooms of one installation and the ports they use. ``node.process.wiring`` assembles them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nacl.signing import SigningKey

from adapters.ports import (
    Clock,
    Discovery,
    KeyStore,
    NewTreeWriter,
    Notifier,
    OpenBrowser,
    OpenPersistent,
    PairingClient,
    PairingServer,
    PeerClient,
    PeerServer,
    Store,
    no_persistent,
)
from node.approvals import Approvals, OwnerKeys
from node.base import LoopWatch, Serving
from node.capsules.exchange import CapsuleExchange, CookieHandles, LoginWork, WorkAsking
from node.capsules.logins import Logins, Passkeys, Upkeep, from_live
from node.capsules.mount import Mounting, Unsealing
from node.capsules.seal import Capsules, Kept, Proving, SealingKeys
from node.config import Config
from node.distrust import Distrust, Notices
from node.explorer import Explorer, Parts
from node.live.acting import KeptCodes
from node.live.browsers import Browsers
from node.live.sessions import LiveSessions
from node.log import Audit, LogExchange, Logs
from node.pairing import PairingDesk
from node.schedules import ScheduledSearches, Schedules
from node.sessions.serving import ForPeers, Sessions
from node.signing import Identity, Witness
from node.trust import Calls, ClockMark, OwnKeys, Peers, Reach, RefusalBook, TrustChanges
from protocol import ids
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
    server: PeerServer
    client: PeerClient
    pairing_server: Callable[[], PairingServer]
    """A new listener for one pairing."""
    pairing_client: PairingClient
    discovery: Discovery
    tree_writer: NewTreeWriter
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


@dataclass(kw_only=True)
class Rooms:
    """All rooms of a node, and whether the node serves peers."""

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
    approvals: Approvals
    sessions: Sessions
    capsules: Capsules
    capsule_exchange: CapsuleExchange
    cookie_handles: CookieHandles
    capsule_upkeep: Upkeep
    capsule_unsealing: Unsealing
    logins: Logins
    passkeys: Passkeys
    login_work: LoginWork
    work_asking: WorkAsking
    live: LiveSessions
    explorer: Explorer
    schedules: Schedules
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
    serving: Serving
    loop_watch: LoopWatch = field(default_factory=LoopWatch)

    async def close(self) -> None:
        """Close everything, dependents before what they depend on. Twice is once."""
        await self.pairing.close()
        await self.distrust.close()
        await self.schedules.close()
        await self.explorer.close()
        await self.login_work.close()
        await self.log_exchange.close()
        await self.discovery.close()
        await self.reach.close()
        await self.calls.close()
        await self.server.close()
        await self.live.close()
        await self.browsers.close()
        await self.witness.close()
        await self.clock_mark.close()
        await self.refusal_book.keep()
        await self.store.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.config.name}, {ids.short(self.identity.node)})"


def assemble(home: Path, config: Config, own: Identity, ports: Ports) -> Rooms:
    """Build the rooms of the node ``own``; nothing is loaded or started yet."""
    store, clock, client, server = ports.store, ports.clock, ports.client, ports.server
    browsers = open_browsers(config, ports.open_browser, ports.open_persistent)
    witness = Witness(own, store, clock)
    peers = Peers(witness, config, store, clock, server)
    peers.addresses = ports.addresses
    changes = TrustChanges(peers, store, clock)
    calls = Calls(witness, changes, client, clock)
    pairing = PairingDesk(own, config, store, clock, changes, ports.pairing_server, ports.pairing_client)
    log_exchange = LogExchange(witness, calls, store, clock)
    notices = Notices(witness, calls, log_exchange, store, clock)
    serving = Serving(home)
    keys_of_owners = OwnerKeys(witness, store, clock)
    approvals = Approvals(witness, store, clock, keys_of_owners)
    browsers.codes = KeptCodes(store, clock)
    explorer = Explorer(witness, config, store, clock, browsers, calls, ports.tree_writer, log_exchange.demand)
    sessions = Sessions(witness, config, store, clock, browsers, peers, approvals.asker)
    parts = Parts(explorer, sessions, peers, store, clock, config.name)
    searching = ScheduledSearches(parts, witness, log_exchange, serving, clock)
    schedules = Schedules(store, clock, searching, ports.notifier, witness.feed)
    capsules, capsule_exchange = _capsules(home, ports, witness, peers, calls, keys_of_owners)
    browsers.mounts = mounting = Mounting(capsules, browsers.info_for_work)
    capsules.prove = Proving(capsules.kept, browsers, config).prove
    capsule_exchange.ended.append(mounting.ended)
    capsules.removed.append(mounting.ended)
    live = LiveSessions(witness, config, store, clock, browsers, serving, approvals.asker)
    capsules.live = from_live(live)
    upkeep = Upkeep(capsules, mounting, browsers, config)
    capsule_exchange.kill = upkeep.kill
    for_peers = ForPeers(sessions, store, config, peers, witness)
    login_work = LoginWork(capsules, calls, for_peers)
    cookie_handles = CookieHandles(capsules, capsule_exchange, calls)

    async def drop_peer(node: str) -> int:
        await login_work.drop_peer(node)
        # Beside each other: its offers are withdrawn once nobody seals a capsule, and its searches do not wait for that.
        _, count = await asyncio.gather(cookie_handles.drop_peer(node), explorer.drop_peer(node))
        return count

    own_keys = OwnKeys(
        home,
        own,
        ports.keys,
        clock,
        calls,
        (server, client),
        ports.from_words,
        end_pairing=pairing.close,
        end_work=explorer.stop_all,
    )
    passkeys = Passkeys(home, witness, clock)

    async def rewrap(under: Sequence[SigningKey]) -> None:
        await asyncio.to_thread(capsules.kept.keys.rewrap, under)
        await passkeys.rewrap(under)

    own_keys.rewrap = rewrap
    keys_of_owners.prove_recovery = own_keys.prove_recovery
    return Rooms(
        home=home,
        config=config,
        identity=own,
        store=store,
        clock=clock,
        browsers=browsers,
        witness=witness,
        peers=peers,
        changes=changes,
        clock_mark=ClockMark(store, clock),
        calls=calls,
        pairing=pairing,
        log_exchange=log_exchange,
        logs=Logs(witness, log_exchange, calls, store, config.name),
        audit=Audit(witness, peers, store),
        approvals=approvals,
        sessions=sessions,
        capsules=capsules,
        capsule_exchange=capsule_exchange,
        cookie_handles=cookie_handles,
        capsule_upkeep=upkeep,
        capsule_unsealing=Unsealing(capsules),
        login_work=login_work,
        work_asking=WorkAsking(calls, store, clock, for_peers.take_in),
        logins=Logins(capsules, witness, sessions.recordings.record, passkeys),
        passkeys=passkeys,
        live=live,
        explorer=explorer,
        schedules=schedules,
        server=server,
        refusals=ports.refusals,
        refusal_book=RefusalBook(ports.refusals, store, clock),
        own_keys=own_keys,
        notices=notices,
        distrust=Distrust(calls, log_exchange, notices, drop_peer),
        reach=Reach(calls, client, server, clock, mode=config.listen.reach),
        discovery=ports.discovery,
        words=ports.to_words,
        serving=serving,
    )


def _capsules(
    home: Path, ports: Ports, witness: Witness, peers: Peers, calls: Calls, keys: OwnerKeys
) -> tuple[Capsules, CapsuleExchange]:
    sealing = SealingKeys(home, witness, ports.store, ports.clock)
    capsules = Capsules(Kept(witness, ports.store, ports.clock, peers, sealing, machine=ports.machine))
    exchange = CapsuleExchange(capsules, calls, lambda: keys.owners)
    capsules.report = exchange.report
    return capsules, exchange


def open_browsers(
    config: Config, open_browser: OpenBrowser, open_persistent: OpenPersistent = no_persistent
) -> Browsers:
    """Build the pool of browsers with the sizes and waiting times of the configuration."""
    browser = config.browser
    return Browsers(
        open_browser,
        step_timeout_ms=browser.step_timeout_ms,
        navigation_timeout_ms=browser.navigation_timeout_ms,
        contexts_max=browser.contexts_max,
        contexts_for_owner=browser.contexts_for_owner,
        # Every connection to an attached browser reaches the same process, so more than one would not isolate crashes.
        contexts_per_browser_max=browser.contexts_max if browser.cdp_url else browser.contexts_per_browser_max,
        queue_max=browser.queue_max,
        queue_s=browser.queue_seconds,
        idle_s=browser.idle_seconds,
        open_persistent=open_persistent,
        attached=bool(browser.cdp_url),
    )
