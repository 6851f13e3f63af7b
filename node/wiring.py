"""Assembles a node from its parts: the only place that names concrete adapters."""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from adapters.browser.attached import attacher
from adapters.browser.chromium import launcher
from adapters.browser.settings import BrowserSettings
from adapters.clock.system import SystemClock
from adapters.discovery.multicast import MulticastDiscovery
from adapters.ports import Clock
from adapters.search.writer import TreeWriter
from adapters.storage.lock import locked
from adapters.storage.sqlite import SqliteStore
from adapters.transport.client import MeshClient
from adapters.transport.held import HeldTable
from adapters.transport.pairing import TlsPairingClient, TlsPairingServer
from adapters.transport.server import MeshServer, url_of
from adapters.transport.signed_server import SignedServer
from node import config as configuration
from node import identity
from node.browsers import Browsers
from node.explorer.explorer import Explorer
from node.node import Node
from node.peers import Peers
from node.reach import Reach
from node.sessions import Sessions
from protocol.errors import MeshError
from protocol.http_signature import authority_of
from protocol.pairing import parse_peer_address

_LOCK_WAIT_S = 2.0
"""A command that works without a running node owns the data directory for a moment: worth waiting for."""


def system_clock() -> Clock:
    """The clock and randomness of this machine."""
    return SystemClock()


@contextlib.asynccontextmanager
async def open_node(home: Path) -> AsyncIterator[Node]:
    """The node of ``home``, owned by this process until the end of the block; not serving peers yet.

    Errors: ``node.not_initialised``, ``node.locked``, ``config.invalid``, ``store.*``.
    """
    config = configuration.load(home)
    clock = system_clock()
    with locked(home, wait_s=_LOCK_WAIT_S):
        own = identity.load(home, clock)
        store = await SqliteStore.open(home)
        node = _assemble(home, config, own, store, clock)
        try:
            await node.peers.load()
            yield node
        finally:
            await node.close()


def _assemble(
    home: Path, config: configuration.Config, own: identity.Identity, store: SqliteStore, clock: Clock
) -> Node:
    listen = config.listen
    host = advertised_host(listen)
    held = HeldTable()

    def now_s() -> float:
        return clock.now_ms() / 1000

    server = (
        _signed_server(own, listen, now_s)
        if listen.proxy == "rfc9421"
        else MeshServer(own.key, listen.host, listen.port, advertise=host, now_s=now_s, held=held)
    )
    client = MeshClient(own.key, now_s=now_s, held=held, ca_file=config.outgoing.ca_file)
    settings = browser_settings(config.browser)
    browsers = Browsers(
        attacher(settings) if settings.cdp_url else launcher(settings),
        step_timeout_ms=config.browser.step_timeout_ms,
        navigation_timeout_ms=config.browser.navigation_timeout_ms,
    )
    peers = Peers(
        own,
        config,
        store,
        clock,
        client=client,
        server=server,
        new_pairing_server=lambda: TlsPairingServer(own.key, listen.host, advertise=host, now_s=now_s),
        pairing_client=TlsPairingClient(now_s=now_s),
    )
    if listen.reach == "held":
        peers.addresses = ()
    elif not peers.addresses:
        peers.addresses = (url_of(host, listen.port),)
    sessions = Sessions(own, config, store, clock, browsers, peers)
    explorer = Explorer(own, config, store, clock, browsers, peers, TreeWriter)
    reach = Reach(peers, client, server, clock, mode=listen.reach)
    discovery = MulticastDiscovery(config.discovery.interfaces)
    return Node(home, config, own, store, clock, browsers, peers, sessions, explorer, server, reach, discovery)


def _signed_server(own: identity.Identity, listen: configuration.Listen, now_s: Callable[[], float]) -> SignedServer:
    """The server of a node behind a proxy. Errors: ``config.invalid``."""
    found = [parse_peer_address(address) for address in listen.advertise]
    if not found or not all(signed for _, _, signed in found):
        raise MeshError("config.invalid", "listen.proxy needs listen.advertise: signed+https://host:port of the proxy")
    if not _is_loopback(listen.host):
        raise MeshError("config.invalid", "listen.proxy needs a loopback address in listen.host: it speaks plain HTTP")
    authorities = [authority_of(host, port) for host, port, _ in found]
    return SignedServer(
        own.key, listen.host, listen.port, authorities=authorities, address=listen.advertise[0], now_s=now_s
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def browser_settings(config: configuration.BrowserConfig) -> BrowserSettings:
    """How the browser adapter is told what the configuration says."""
    return BrowserSettings(
        executable=config.executable,
        cdp_url=config.cdp_url,
        headless=config.headless,
        sandbox=config.sandbox,
    )


def advertised_host(listen: configuration.Listen) -> str:
    """The host peers are told. Errors: ``config.invalid`` when only the machine's owner can know it."""
    if listen.advertise:
        return parse_peer_address(listen.advertise[0])[0]
    if listen.host in ("0.0.0.0", "::"):  # noqa: S104 (compared, not bound)
        raise MeshError(
            "config.invalid", f"listen.host {listen.host} needs listen.advertise: how else would peers find it?"
        )
    return listen.host
