"""The peers of this node: their identities, keys and grants, for every other room.

``node/trust/trust_changes.py`` changes them, and ``node/trust/calls.py`` calls them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nacl.signing import VerifyKey

from adapters.ports.clock import Clock
from adapters.ports.records import PeerRecord
from adapters.ports.store import Store
from adapters.ports.transport import PeerServer
from node.base.listeners import Listeners
from node.config import Config, PolicyConfig
from node.signing import Feed, Trail, Witness
from node.trust.usage import Usage
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.keys.keylog import KeyLog
from protocol.messages import PROTOCOL_VERSION
from protocol.routes import VERSIONLESS
from protocol.trust.grants import Scope
from protocol.trust.origin import fits, origin_of
from protocol.trust.trust_set import TrustedPeer, TrustSet


class Peers:
    """Keeps the trust set and the channel in step with the store."""

    def __init__(
        self,
        witness: Witness,
        config: Config,
        store: Store,
        clock: Clock,
        server: PeerServer,
        addresses: tuple[str, ...] | None = None,
    ) -> None:
        """addresses: returns the addresses at which peers reach this node; by default those of the configuration."""
        self._witness = witness
        self._identity = witness.identity
        self._config = config
        self._store = store
        self._server = server
        self._records: dict[str, PeerRecord] = {}
        self._distrusted: dict[str, PeerRecord] = {}
        self._logs: dict[str, KeyLog] = {}
        self._trust = TrustSet()
        self._frozen: dict[str, str] = {}
        self.usage = Usage(store, clock, config.policy.peer_disk_mib * limits.MIB)
        """How much disk each peer takes up here."""
        self._versions: dict[str, int] = {}
        """Protocol version that each peer last reported since this node started."""
        self.standing_changed = Listeners[[str]]()
        """Told of a peer that was frozen, or is not frozen any more."""
        self.changed = Listeners[[]]()
        """Told after every change of the trust set."""
        self.addresses = config.listen.advertise if addresses is None else addresses

    @property
    def me(self) -> str:
        """This node's id."""
        return self._identity.node

    @property
    def policy(self) -> PolicyConfig:
        """The policy of this node's owner."""
        return self._config.policy

    @property
    def trail(self) -> Trail:
        """This node's audit trail."""
        return self._witness.trail

    @property
    def feed(self) -> Feed:
        """The change feed of this node."""
        return self._witness.feed

    async def load(self) -> None:
        """Build the trust set from the store."""
        await self.usage.load()
        self._use({record.node: record for record in await self._store.peers()})
        self._server.trust(self._trust.keys)

    def use(self, record: PeerRecord) -> None:
        """Replace the record of a peer and update the trust set. Errors: ``store.corrupt``."""
        self._use({**self._records, **self._distrusted, record.node: record})

    def note(self, record: PeerRecord) -> None:
        """As ``use``, for a change that does not affect the trust set."""
        (self._distrusted if record.distrusted_ms else self._records)[record.node] = record

    def _use(self, records: dict[str, PeerRecord]) -> None:
        """Build the trust set from ``records`` (every node ever paired), without those that are distrusted."""
        trusted_before = self._trust.keys
        self._records = {node: record for node, record in records.items() if not record.distrusted_ms}
        self._distrusted = {node: record for node, record in records.items() if record.distrusted_ms}
        self._logs = {record.node: self._log_of(record) for record in records.values() if record.key_log}
        self._trust = TrustSet(
            TrustedPeer(node=r.node, public_key=r.public_key, grants=r.grants, log=self._logs.get(r.node))
            for r in self._records.values()
        )
        if self._trust.keys != trusted_before:  # the channel needs only identities; grants are checked per request
            self._server.trust(self._trust.keys)
        self.changed.tell()

    def _log_of(self, record: PeerRecord) -> KeyLog:
        """The key log of ``record``, verified once. Errors: ``store.corrupt``."""
        known = self._logs.get(record.node)
        if known is not None and known.encode() == record.key_log:
            return known
        try:
            return KeyLog.read(record.key_log)
        except MeshError as error:
            raise MeshError("store.corrupt", f"the key log of {record.name}: {error.message}") from error

    # --- asking ------------------------------------------------------------------------------------------------------

    def records(self) -> list[PeerRecord]:
        """All peers that are not distrusted, by pairing time, including those that revoked themselves."""
        return sorted(self._records.values(), key=lambda record: record.paired_ms)

    def distrusted(self) -> list[PeerRecord]:
        """The peers that this node's owner distrusted, by pairing time."""
        return sorted(self._distrusted.values(), key=lambda record: record.paired_ms)

    def record(self, node: str) -> PeerRecord | None:
        """The record of ``node``, if this node ever paired with it."""
        return self._records.get(node) or self._distrusted.get(node)

    def knows(self, node: str) -> bool:
        """True if ``node`` is a peer and not distrusted."""
        return node in self._records

    def everybody(self) -> list[str]:
        """Every node this one ever paired with. Revocations are exchanged about all of them."""
        return [*self._records, *self._distrusted]

    def met(self, node: str) -> bool:
        """True if this node ever paired with ``node``."""
        return node in self._records or node in self._distrusted

    def parting(self) -> list[str]:
        """Peers that may no longer act and for which cleaning up is not finished."""
        return [record.node for record in (*self.records(), *self.distrusted()) if record.parting]

    def acts(self, node: str) -> bool:
        """True if ``node`` is a peer that may act: it is not distrusted or revoked, and its key log is not frozen."""
        return node in self._trust.keys

    def standing(self, node: str) -> str:
        """The error code that says why ``node`` may not act; empty if it may."""
        if node in self._distrusted:
            return "peer.distrusted"
        if node not in self._records:
            return "peer.unknown"
        try:
            if node in self._logs:
                self._logs[node].check_active()
        except MeshError as error:
            return error.code
        return self._frozen.get(node, "")

    def name_of(self, node: str) -> str:
        """The name of this node or of a node that it ever paired with; empty for any other."""
        if node == self.me:
            return self._config.name
        record = self.record(node)
        return record.name if record else ""

    def names_of(self, nodes: Iterable[str]) -> dict[str, str]:
        """The names of ``nodes`` here, by node id, without nodes that have none. Our own node is ``this node``."""
        named = {node: "this node" if node == self.me else self.name_of(node) for node in nodes if node}
        return {node: name for node, name in named.items() if name}

    def check_welcome(self, node: str) -> None:
        """Refuse ``node`` if it is distrusted. Errors: ``peer.distrusted``."""
        record = self._distrusted.get(node)
        if record is not None:
            raise MeshError("peer.distrusted", f"{record.name} ({ids.short(node)}) is distrusted here", node=node)

    def genesis_key(self, node: str) -> bytes:
        """The key a peer began with; it stays when the current key changes. Errors: ``peer.unknown``."""
        if node not in self._records:
            raise MeshError("peer.unknown", f"{ids.short(node)} is not a peer", node=node)
        known = self._logs.get(node)
        return known.genesis_key if known else self._records[node].public_key

    def public_key(self, node: str) -> bytes:
        """The current key of a peer. Errors: ``peer.unknown``."""
        if node not in self._records:
            raise MeshError("peer.unknown", f"{ids.short(node)} is not a peer", node=node)
        return self._records[node].public_key

    def public_keys_of(self, node: str) -> tuple[bytes, ...]:
        """Every key that was a peer's, the current one last. Errors: ``peer.unknown``."""
        known = self._logs.get(node)
        return tuple(dict.fromkeys((*(known.keys if known else ()), self.public_key(node))))

    def genesis_keys(self) -> dict[str, bytes]:
        """Node id to genesis key, of every peer that is neither frozen nor revoked."""
        return {node: self.genesis_key(node) for node in self._trust.keys}

    def key_log(self, node: str) -> KeyLog | None:
        """The key log of a peer, if it has shown one."""
        return self._logs.get(node)

    def require(self, node: str, scope: str | None, url: str | None = None) -> TrustedPeer:
        """The peer, once it may do ``scope`` here, at the origin of ``url`` unless that is None.

        Errors: ``peer.distrusted``, ``peer.unknown``, ``peer.scope``, ``keylog.*``; ``log.*`` while its scopes are frozen.
        """
        self.check_welcome(node)
        origin = None if url is None else origin_of(url)
        peer = self._trust.require(node, Scope(scope) if scope else Scope.STATUS, origin)
        if scope and node in self._frozen:
            raise MeshError(self._frozen[node], node=node)
        return peer

    def may(self, node: str, scope: Scope, url: str) -> bool:
        """True if ``require`` raises nothing."""
        try:
            self.require(node, scope, url)
        except MeshError:
            return False
        return True

    def lets_us(self, node: str, scope: Scope, url: str) -> bool:
        """True if the peer's last report grants us ``scope`` there, at the origin of ``url``."""
        record = self._records.get(node)
        # This is only the last report: the peer decides again when it is asked.
        return record is not None and fits(record.granted_us.get(scope, ()), origin_of(url))

    @property
    def frozen(self) -> Mapping[str, str]:
        """Peers whose log is not in order, each with the error code. Their scopes are suspended, and they are not called."""
        return self._frozen

    def freeze(self, node: str, code: str) -> None:
        """Freeze ``node`` because of ``code``. Equivocation is permanent and takes precedence over a suspension."""
        known = self._frozen.get(node)
        # Silence is the weakest reason, and must not hide another one.
        if known != "log.equivocation" and not (known and code == "log.silent"):
            self._frozen[node] = code
        self.standing_changed.tell(node)

    def thaw(self, node: str, code: str = "log.unproven") -> None:
        """End the freeze of ``node`` for ``code``. A freeze for equivocation is permanent."""
        if code != "log.equivocation" and self._frozen.get(node) == code:
            del self._frozen[node]
        self.standing_changed.tell(node)

    def heard_version(self, node: str, protocol: int) -> None:
        """Record the protocol version that a peer reports."""
        self._versions[node] = protocol

    def is_version_known(self, node: str) -> bool:
        """True if a peer has reported its protocol version since this node started."""
        return node in self._versions

    def check_version(self, node: str, route: str) -> None:
        """Refuse ``route`` if the protocol version that ``node`` reported does not support it. Errors: ``peer.version``."""
        theirs = self._versions.get(node, PROTOCOL_VERSION)
        if theirs != PROTOCOL_VERSION and route not in VERSIONLESS:
            older = ids.short(node) if theirs < PROTOCOL_VERSION else "this node"
            told = f"{ids.short(node)} speaks protocol {theirs}, this node protocol {PROTOCOL_VERSION}: upgrade {older}"
            raise MeshError("peer.version", told, node=node, protocol=theirs)

    def find_key(self, issuer: str, candidate: bytes, issued_s: int) -> VerifyKey | None:
        """The key of a peer at that time, or our own. It is the ``KeyFinder`` for everything that this node verifies.

        Errors: ``peer.distrusted`` for everything that such a node signed; ``keylog.*`` if the key has been replaced or
        revoked since.
        """
        if issuer == self._identity.node:
            return self._identity.log.find_key(candidate, issued_s)
        self.check_welcome(issuer)
        found = self._trust.find_key(issuer, candidate, issued_s)
        if found is None and issuer in self._logs:
            self._logs[issuer].check_active()  # so that the error names the reason
        return found

    def find(self, text: str) -> PeerRecord:
        """The peer with this name, short id or id.

        Errors: ``input.not_found``, ``input.invalid`` when several fit, ``peer.distrusted`` when only a distrusted one does.
        """
        try:
            return _called(text, self._records.values())
        except MeshError as error:
            if error.code == "input.not_found":
                self.check_welcome(_called(text, self._distrusted.values()).node)
            raise

    def find_met(self, text: str) -> PeerRecord:
        """As ``find``, but among all nodes that this node ever paired with."""
        return _called(text, (*self._records.values(), *self._distrusted.values()))


def _called(text: str, records: Iterable[PeerRecord]) -> PeerRecord:
    """The one of ``records`` with this name, short id or id. Errors: ``input.not_found``, ``input.invalid`` when several fit."""
    wanted = text.strip()
    found = [r for r in records if wanted in (r.name, r.node) or ids.short(r.node) == wanted.upper()]
    if len(found) == 1:
        return found[0]
    if found:
        raise MeshError("input.invalid", f"{len(found)} peers match {wanted!r}: give the node id")
    raise MeshError("input.not_found", f"no peer is called {wanted!r}")
