"""Assembles a node from its parts. Only this module, and ``machine`` for the browser and the clock, name concrete adapters."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import ipaddress
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec

from adapters.browser.launch.profile_directory import remove_abandoned
from adapters.choosing.over_http import HttpChooser
from adapters.discovery.multicast import MulticastDiscovery
from adapters.keys import os_keyring, values, words
from adapters.keys import passphrase as sealed
from adapters.keys.file import FileKeyStore
from adapters.keys.passphrase import PassphraseKeyStore
from adapters.keys.seeds import read_lines
from adapters.notify.sender import OutsideNotifier
from adapters.ports.browser import OpenBrowser, OpenPersistent, no_persistent, no_proxied
from adapters.ports.clock import Clock
from adapters.ports.keys import KeyStore
from adapters.ports.login_signs import HearPage, ReadSigns
from adapters.ports.store import Store
from adapters.ports.watching import OpenWatched
from adapters.search.writer import TreeWriter
from adapters.storage.lock import locked
from adapters.storage.sqlite import SqliteStore
from adapters.transport.client import MeshClient
from adapters.transport.held import HeldTable
from adapters.transport.pairing import TlsPairingClient, TlsPairingServer
from adapters.transport.server import MeshServer, url_of
from adapters.transport.signed_server import SignedServer
from node.api import Node
from node.approvals import end_answers
from node.base.files import STORE_FILE, write_private
from node.config import settings as configuration
from node.health import doctor
from node.live.browsers import open_browsers
from node.process.machine import (
    browser_of,
    browser_settings,
    machine_id,
    opened,
    persistent_of,
    proxied_of,
    system_clock,
)
from node.process.passphrase import AskPassphrase, passphrase_source
from node.rooms import Ports, assemble
from node.signing import contents, identity
from node.verbs.nodes.node import Health
from protocol.errors import MeshError
from protocol.refusals import Refusals
from protocol.wire.address import parse_peer_address
from protocol.wire.http_signature import authority_of

_LOCK_WAIT_S = 2.0
"""How long to wait for the lock, because a command without a running node holds it only briefly."""


def new_key_store(home: Path, *, passphrase: AskPassphrase | None = None, keyring: bool = False) -> KeyStore:
    """The key store for a new node's witness key: unencrypted file (mode 0600), sealed file, or the user's keyring.

    Errors: ``input.invalid`` (sealed and in the keyring at once).
    """
    path = home / identity.KEY_FILE
    if keyring and passphrase:
        raise MeshError(
            "input.invalid", "a keyring has its own passphrase: choose either --keyring or --passphrase-file"
        )
    if keyring:
        return os_keyring.KeyringKeyStore(path, write_private, system_clock().random(16).hex())
    if passphrase:
        return PassphraseKeyStore(path, write_private, passphrase)
    return FileKeyStore(path, write_private)


def open_key_store(home: Path, passphrase: AskPassphrase) -> KeyStore:
    """The key store of the witness key in ``home``, in the form that its key file names.

    Errors: ``node.not_initialised``, ``node.incomplete``, ``store.corrupt``.
    """
    contents.check_files(home, identity.KEY_FILE, identity.LOG_FILE)
    path = home / identity.KEY_FILE
    form = read_lines(path)[0]
    if sealed.is_sealed(form):
        return PassphraseKeyStore(path, write_private, passphrase)
    if os_keyring.is_named(form):
        return os_keyring.KeyringKeyStore(path, write_private, "")
    return FileKeyStore(path, write_private)


def owner_key_store(path: Path, passphrase: AskPassphrase) -> KeyStore:
    """The key store of an owner's key at ``path``, which is always sealed."""
    return PassphraseKeyStore(path, write_private, passphrase, owner=True)


secret_from_keyring = values.from_keyring
secret_from_command = values.from_command
recovery_words = words.to_words
fingerprint_words = words.fingerprint


@contextlib.asynccontextmanager
async def open_node(
    home: Path,
    passphrase: AskPassphrase | None = None,
    *,
    clock: Clock | None = None,
    open_browser: OpenBrowser | None = None,
    open_persistent: OpenPersistent | None = None,
    key_lost: bool = False,
    sandbox: bool = True,
) -> AsyncIterator[Node]:
    """Open the node of ``home`` and hold its lock until the end of the block. It does not serve peers yet.

    passphrase: asked for only if the witness key is sealed; by default read from the environment's file, or from a person.
    key_lost: open it without its witness key, to recover it; the new key will be stored unencrypted (mode 0600). sandbox: False to
    start Chromium without its sandbox, whatever the configuration says. clock,
    open_browser, open_persistent: replace the machine's clock and the configured browsers. Browsers that a killed node left
    behind are ended. Errors: ``node.not_initialised``, ``node.incomplete``, ``node.locked``, ``config.invalid``, ``store.*``,
    ``key.*``.
    """
    contents.check_files(home, configuration.CONFIG_FILE)
    config = configuration.load(home)
    if not sandbox:
        config = msgspec.structs.replace(config, browser=msgspec.structs.replace(config.browser, sandbox=False))
    clock = clock or system_clock()
    with locked(home, wait_s=_LOCK_WAIT_S):
        if key_lost:
            keys: KeyStore = new_key_store(home)
            own = identity.without_key(home, clock)
        else:
            keys = open_key_store(home, passphrase or passphrase_source(None))
            own = identity.load(home, clock, keys)
        await asyncio.to_thread(remove_abandoned)
        store = await _open_store(home)
        rooms = assemble(home, config, own, _ports(config, own, keys, store, clock, open_browser, open_persistent))
        try:
            await rooms.start()
            yield Node(rooms)
        finally:
            await rooms.close()


async def _open_store(home: Path) -> SqliteStore:
    """The store, which must exist already if the mark says so. Errors: ``node.incomplete``, ``store.*``."""
    contents.check_files(home, STORE_FILE)
    store = await SqliteStore.open(home)
    try:
        contents.check_store(home, has_log=bool(await store.logs()))
    except BaseException:
        await store.close()
        raise
    return store


async def check_copy(directory: Path, node: str) -> None:
    """Check the store and the key log in ``directory``, an unpacked backup of ``node``, and cancel the answers in it. Nobody
    else uses it.

    Errors: ``backup.invalid``, ``config.invalid``, ``store.newer``, ``store.corrupt``.
    """
    configuration.load(directory)
    if identity.read_log(directory).node != node:
        raise MeshError("backup.invalid", "the key log in the backup is that of another node")
    store = await SqliteStore.open(directory)
    try:
        faults = await store.check()
        if not faults:
            await end_answers(store)
    finally:
        await store.close()
    if faults:
        raise MeshError("store.corrupt", f"the store in the backup is damaged: {faults[0]}", faults=faults[:20])


async def examine_apart(home: Path, error: MeshError, passphrase: AskPassphrase, *, browser: bool) -> Health:
    """Run the doctor on the node of ``home``, which could not be opened because of ``error``: check each part separately.

    Errors: ``node.not_initialised``, ``node.locked``.
    """
    config, config_fault = _config_apart(home)

    @contextlib.asynccontextmanager
    async def open_store() -> AsyncIterator[Store]:
        store = await _open_store(home)
        try:
            yield store
        finally:
            await store.close()

    with locked(home, wait_s=_LOCK_WAIT_S):
        browsers = open_browsers(config, browser_of(config.browser))
        parts = doctor.Apart(
            home=home,
            config=config,
            config_fault=config_fault,
            open_identity=lambda: identity.load(home, system_clock(), open_key_store(home, passphrase)),
            open_store=open_store,
            browsers=browsers,
        )
        try:
            # The configuration says which browser to start.
            return await doctor.examine_apart(parts, error, browser=browser and config_fault is None)
        finally:
            await browsers.close()


def _config_apart(home: Path) -> tuple[configuration.Config, MeshError | None]:
    """The configuration, or the defaults and the configuration's fault. Errors: ``node.not_initialised``."""
    try:
        contents.check_files(home, configuration.CONFIG_FILE)
        return configuration.load(home), None
    except MeshError as error:
        if error.code == "node.not_initialised":
            raise
        return configuration.Config(), error


def open_watched(config: configuration.BrowserConfig, attach: str = "") -> OpenWatched:
    """Opens a window for a person: of a new Chromium, or of the one that listens at ``attach``."""
    from adapters.browser.watching.watching import watcher

    settings = browser_settings(config)
    return watcher(functools.partial(opened, msgspec.structs.replace(settings, cdp_url=attach, headless=False)))


def open_signs(config: configuration.BrowserConfig) -> ReadSigns:
    """Reads how sites log in, in a new Chromium or the configured one."""
    from adapters.browser.watching.login_signs import reader

    return reader(functools.partial(opened, browser_settings(config)))


def open_heard(config: configuration.BrowserConfig) -> HearPage:
    """Listens to driven pages, in the same Chromiums as ``open_signs``."""
    from adapters.browser.watching.login_signs import hearer

    return hearer(functools.partial(opened, browser_settings(config)))


def _ports(
    config: configuration.Config,
    own: identity.Identity,
    keys: KeyStore,
    store: Store,
    clock: Clock,
    open_browser: OpenBrowser | None,
    open_persistent: OpenPersistent | None = None,
) -> Ports:
    """The adapters that the configuration names. Errors: ``config.invalid``."""
    listen = config.listen
    host = advertised_host(listen)
    held, refusals = HeldTable(), Refusals()

    def now_s() -> float:
        return clock.now_ms() / 1000

    server = (
        _signed_server(own, listen, now_s, refusals)
        if listen.proxy == "rfc9421"
        else MeshServer(
            own.key, listen.host, listen.port, node=own.node, advertise=host, now_s=now_s, held=held, refusals=refusals
        )
    )
    return Ports(
        store=store,
        clock=clock,
        keys=keys,
        open_browser=open_browser or browser_of(config.browser),
        # If browsers are given, no others are started.
        open_proxied=no_proxied if open_browser else proxied_of(config.browser),
        open_persistent=open_persistent or (no_persistent if open_browser else persistent_of(config.browser)),
        server=server,
        client=MeshClient(
            own.key, node=own.node, now_s=now_s, held=held, ca_file=config.outgoing.ca_file, refusals=refusals
        ),
        pairing_server=lambda: TlsPairingServer(
            own.key, listen.host, node=own.node, advertise=host, now_s=now_s, refusals=refusals
        ),
        pairing_client=TlsPairingClient(now_s=now_s),
        discovery=MulticastDiscovery(config.discovery.interfaces),
        tree_writer=TreeWriter,
        machine=machine_id(),
        new_chooser=HttpChooser,
        notifier=OutsideNotifier(),
        refusals=refusals,
        to_words=words.fingerprint,
        from_words=words.from_words,
        addresses=() if listen.reach == "held" else (listen.advertise or (url_of(host, listen.port),)),
    )


def _signed_server(
    own: identity.Identity, listen: configuration.Listen, now_s: Callable[[], float], refusals: Refusals | None = None
) -> SignedServer:
    """The server of a node behind a proxy. Errors: ``config.invalid``."""
    found = [parse_peer_address(address) for address in listen.advertise]
    if not found or not all(signed for _, _, signed in found):
        raise MeshError("config.invalid", "listen.proxy needs listen.advertise: signed+https://host:port of the proxy")
    if not _is_loopback(listen.host):
        raise MeshError(
            "config.invalid",
            "listen.proxy needs a loopback address in listen.host: traffic from the proxy is plain HTTP",
        )
    authorities = [authority_of(host, port) for host, port, _ in found]
    return SignedServer(
        own.key,
        listen.host,
        listen.port,
        node=own.node,
        authorities=authorities,
        address=listen.advertise[0],
        now_s=now_s,
        refusals=refusals,
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_everywhere(host: str) -> bool:
    """True if ``host`` means every interface of this machine, in any form that a socket accepts."""
    try:
        address = ipaddress.ip_address(host)
        return (getattr(address, "ipv4_mapped", None) or address).is_unspecified
    except ValueError:
        return not host.strip(
            "0.x"
        )  # sockets parse "0", "0x0" and "000.0" with inet_aton, and "" means every interface too


def advertised_host(listen: configuration.Listen) -> str:
    """The host name for peers. Errors: ``config.invalid`` if it cannot be derived from the listening address."""
    if listen.advertise:
        return parse_peer_address(listen.advertise[0])[0]
    if _is_everywhere(listen.host):
        raise MeshError(
            "config.invalid", f"listen.host {listen.host} needs listen.advertise, because peers cannot connect to it"
        )
    return listen.host
