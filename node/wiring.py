"""Assembles a node from its parts: the only place that names concrete adapters."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from adapters.browser.attached import attacher
from adapters.browser.chromium import launcher
from adapters.browser.settings import BrowserSettings
from adapters.clock.system import SystemClock
from adapters.keys import os_keyring, words
from adapters.keys import passphrase as sealed
from adapters.keys.file import FileKeyStore
from adapters.keys.passphrase import PassphraseKeyStore
from adapters.keys.seeds import read_lines
from adapters.ports import Clock, KeyStore
from adapters.search.writer import TreeWriter
from adapters.storage.lock import locked
from adapters.storage.sqlite import SqliteStore
from adapters.transport.client import MeshClient
from adapters.transport.pairing import TlsPairingClient, TlsPairingServer
from adapters.transport.server import MeshServer, url_of
from node import config as configuration
from node import identity
from node.browsers import Browsers
from node.explorer.explorer import Explorer
from node.files import write_private
from node.log_exchange import LogExchange
from node.node import Node
from node.own_keys import OwnKeys
from node.passphrase import Ask, source
from node.peers import Peers
from node.sessions import Sessions
from node.witness import Witness
from protocol.errors import MeshError
from protocol.pairing import parse_address

_LOCK_WAIT_S = 2.0
"""A command that works without a running node owns the data directory for a moment: worth waiting for."""


def system_clock() -> Clock:
    """The clock and randomness of this machine."""
    return SystemClock()


def new_key_store(home: Path, *, passphrase: Ask | None = None, keyring: bool = False) -> KeyStore:
    """Where the witness key of a new node will be kept: in the open (mode 0600), sealed, or in the user's keyring.

    Errors: ``input.invalid`` (sealed and in the keyring at once).
    """
    path = home / identity.KEY_FILE
    if keyring and passphrase:
        raise MeshError("input.invalid", "a keyring has a passphrase of its own: choose one of the two")
    if keyring:
        return os_keyring.KeyringKeyStore(path, write_private, system_clock().random(16).hex())
    if passphrase:
        return PassphraseKeyStore(path, write_private, passphrase)
    return FileKeyStore(path, write_private)


def open_key_store(home: Path, passphrase: Ask) -> KeyStore:
    """Where the witness key of the node in ``home`` is kept, as its key file says.

    Errors: ``node.not_initialised``, ``store.corrupt``.
    """
    path = home / identity.KEY_FILE
    form = read_lines(path)[0]
    if sealed.is_sealed(form):
        return PassphraseKeyStore(path, write_private, passphrase)
    if os_keyring.is_named(form):
        return os_keyring.KeyringKeyStore(path, write_private, "")
    return FileKeyStore(path, write_private)


recovery_words = words.to_words
fingerprint_words = words.fingerprint


@contextlib.asynccontextmanager
async def open_node(home: Path, passphrase: Ask | None = None) -> AsyncIterator[Node]:
    """The node of ``home``, owned by this process until the end of the block; not serving peers yet.

    passphrase: asked only if the witness key is sealed; by default the environment's file, or a person.
    Errors: ``node.not_initialised``, ``node.locked``, ``config.invalid``, ``store.*``, ``key.*``.
    """
    config = configuration.load(home)
    clock = system_clock()
    with locked(home, wait_s=_LOCK_WAIT_S):
        keys = open_key_store(home, passphrase or source(None))
        own = identity.load(home, clock, keys)
        store = await SqliteStore.open(home)
        node = _assemble(home, config, own, keys, store, clock)
        try:
            await node.witness.load()
            await node.peers.load()
            await node.log_exchange.load()
            yield node
        finally:
            await node.close()


def _assemble(
    home: Path,
    config: configuration.Config,
    own: identity.Identity,
    keys: KeyStore,
    store: SqliteStore,
    clock: Clock,
) -> Node:
    listen = config.listen
    host = advertised_host(listen)
    server = MeshServer(own.key, listen.host, listen.port, node=own.node, advertise=host)
    client = MeshClient(own.key, node=own.node)
    settings = browser_settings(config.browser)
    browsers = Browsers(
        attacher(settings) if settings.cdp_url else launcher(settings),
        step_timeout_ms=config.browser.step_timeout_ms,
        navigation_timeout_ms=config.browser.navigation_timeout_ms,
    )
    witness = Witness(own, store, clock)
    peers = Peers(
        own,
        witness,
        config,
        store,
        clock,
        client=client,
        server=server,
        new_pairing_server=lambda: TlsPairingServer(own.key, listen.host, node=own.node, advertise=host),
        pairing_client=TlsPairingClient(),
    )
    if not peers.addresses:
        peers.addresses = (url_of(host, listen.port),)
    log_exchange = LogExchange(witness, peers, store, clock)
    sessions = Sessions(witness, config, store, clock, browsers, peers)
    explorer = Explorer(witness, config, store, clock, browsers, peers, TreeWriter)
    own_keys = OwnKeys(home, own, keys, clock, peers, (server, client), words.from_words)
    return Node(
        home, config, own, store, clock, browsers, witness, peers, log_exchange, sessions, explorer, server, own_keys
    )


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
        return parse_address(listen.advertise[0])[0]
    if listen.host in ("0.0.0.0", "::"):  # noqa: S104 (compared, not bound)
        raise MeshError(
            "config.invalid", f"listen.host {listen.host} needs listen.advertise: how else would peers find it?"
        )
    return listen.host
