"""The peers of this node: who they are, how they became peers, and how they are called."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import TypeVar

import msgspec
from nacl.signing import VerifyKey

from adapters.ports import (
    Clock,
    PeerAddress,
    PeerClient,
    PeerRecord,
    PeerServer,
    Store,
)
from node.config import Config
from node.contacts import Contacts
from node.identity import Identity
from node.trail import Trail
from node.usage import Usage
from node.witness import Witness
from protocol import cbor, ids, limits
from protocol.address import parse_address
from protocol.envelope import content_type
from protocol.errors import MeshError
from protocol.grants import Grants, Scope, check_grants, each_in_words
from protocol.keylog import KeyLog
from protocol.messages import (
    KIND_DELTA,
    KIND_MESSAGE,
    DeltaPush,
    Done,
    GrantsPush,
    KeysAsk,
    KeysPush,
    KeysTell,
    StatusAsk,
    StatusTell,
)
from protocol.origin import fits, origin_of
from protocol.pairing import Paired
from protocol.trust import TrustedPeer, TrustSet

log = logging.getLogger(__name__)
T = TypeVar("T", bound=msgspec.Struct)

PATH_PREFIX = "/peer/v1/"
_ROUTES_OF_FROZEN = frozenset({"status", "log/checkpoint", "log/consistency"})
"""What a frozen peer is still asked: how it is, and to account for its log."""
_AT_ONCE = 8
"""How many peers are called at once when all of them are."""
_SEEN_EVERY_MS = 60_000
"""How often the time a peer was last seen is written down."""


class Peers:
    """Keeps the trust set and the channel in step with the store."""

    def __init__(
        self,
        identity: Identity,
        witness: Witness,
        config: Config,
        store: Store,
        clock: Clock,
        client: PeerClient,
        server: PeerServer,
    ) -> None:
        self._identity = identity
        self._witness = witness
        self._config = config
        self._store = store
        self._clock = clock
        self._client = client
        self._server = server
        self._records: dict[str, PeerRecord] = {}
        self._distrusted: dict[str, PeerRecord] = {}
        self._writing = asyncio.Lock()
        """Held from reading a record to keeping its change, so that no change undoes another."""
        self._logs: dict[str, KeyLog] = {}
        self._trust = TrustSet()
        self._frozen: dict[str, str] = {}
        self.contacts = Contacts(clock)
        self.usage = Usage(store, clock, config.policy.peer_disk_mib * limits.MIB)
        """How much disk each peer takes up here."""
        self.changed: Callable[[], None] = lambda: None
        """Called after every change of the trust set."""
        self.ended: Callable[[str], None] = lambda node: None
        """Called when a peer was just learned to have revoked itself, or to have a key log that contradicts itself."""
        self.addresses: tuple[str, ...] = config.listen.advertise
        """Where peers reach us."""

    @property
    def me(self) -> str:
        """This node's id."""
        return self._identity.node

    @property
    def trail(self) -> Trail:
        """This node's audit trail."""
        return self._witness.trail

    async def load(self) -> None:
        """Trust what the store says."""
        await self.usage.load()
        self._use({record.node: record for record in await self._store.peers()})
        self._server.trust(self._trust.keys)

    def _use(self, records: dict[str, PeerRecord]) -> None:
        """Trust the peers among ``records``, everybody this node ever paired with, that nobody distrusted."""
        trusted_before = self._trust.keys
        self._records = {node: record for node, record in records.items() if not record.distrusted_ms}
        self._distrusted = {node: record for node, record in records.items() if record.distrusted_ms}
        self._logs = {record.node: self._log_of(record) for record in records.values() if record.key_log}
        self._trust = TrustSet(
            TrustedPeer(node=r.node, public_key=r.public_key, grants=r.grants, log=self._logs.get(r.node))
            for r in self._records.values()
        )
        if self._trust.keys != trusted_before:  # what a peer may do is not the channel's matter
            self._server.trust(self._trust.keys)
        self.changed()

    async def _keep(self, record: PeerRecord) -> None:
        """Keep a record, then act by it; the caller holds ``_writing``. Errors: ``store.*``."""
        await self._store.put_peer(record)
        self._use({**self._records, **self._distrusted, record.node: record})

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
        """All peers that are trusted, by pairing time; those that ended their own key log too."""
        return sorted(self._records.values(), key=lambda record: record.paired_ms)

    def distrusted(self) -> list[PeerRecord]:
        """The peers that this node's owner distrusted, by pairing time."""
        return sorted(self._distrusted.values(), key=lambda record: record.paired_ms)

    def knows(self, node: str) -> bool:
        """Whether ``node`` is a peer, and not distrusted."""
        return node in self._records

    def everybody(self) -> list[str]:
        """Everybody this node ever paired with: those whose end still has to be told and heard of."""
        return [*self._records, *self._distrusted]

    def met(self, node: str) -> bool:
        """Whether this node ever paired with ``node``."""
        return node in self._records or node in self._distrusted

    def acts(self, node: str) -> bool:
        """Whether ``node`` is a peer that may act: neither distrusted, nor revoked, nor with a key log that is frozen."""
        return node in self._trust.keys

    def standing(self, node: str) -> str:
        """Empty for a peer in order; otherwise the error code that says why it is not."""
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
        """The name of whoever this node ever paired with, or its own; empty for anybody else."""
        if node == self.me:
            return self._config.name
        record = self._records.get(node) or self._distrusted.get(node)
        return record.name if record else ""

    def check_welcome(self, node: str) -> None:
        """Nothing, unless ``node`` is distrusted. Errors: ``peer.distrusted``."""
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
        """Whether ``require`` lets it pass."""
        try:
            self.require(node, scope, url)
        except MeshError:
            return False
        return True

    def lets_us(self, node: str, scope: Scope, url: str) -> bool:
        """Whether a peer said last that we may do ``scope`` there, at the origin of ``url``."""
        record = self._records.get(node)
        return record is not None and fits(record.granted_us.get(scope, ()), origin_of(url))

    @property
    def frozen(self) -> Mapping[str, str]:
        """Peers whose log is not in order, and the code that says why: their scopes do not work, and nothing is asked of them."""
        return self._frozen

    def freeze(self, node: str, code: str) -> None:
        """``node`` is not to be relied on, because of ``code``. Equivocation is for good."""
        if self._frozen.get(node) != "log.equivocation":
            self._frozen[node] = code

    def thaw(self, node: str) -> None:
        """The log of ``node`` is in order again."""
        if self._frozen.get(node) == "log.unproven":
            del self._frozen[node]

    def find_key(self, issuer: str, candidate: bytes, issued_s: int) -> VerifyKey | None:
        """The key of a peer at that time, or our own; the ``KeyFinder`` of everything this node verifies.

        Errors: ``peer.distrusted``, whatever it signed; ``keylog.*`` for what a key signed that has ended since.
        """
        if issuer == self._identity.node:
            return self._identity.log.find_key(candidate, issued_s)
        self.check_welcome(issuer)
        found = self._trust.find_key(issuer, candidate, issued_s)
        if found is None and issuer in self._logs:
            self._logs[issuer].check_active()  # so that the reason is named
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
        """As ``find``, among everybody this node ever paired with."""
        return _called(text, (*self._records.values(), *self._distrusted.values()))

    # --- calling -----------------------------------------------------------------------------------------------------

    async def call(self, node: str, route: str, record: msgspec.Struct, answer: type[T]) -> T:
        """The peer's answer to one signed message. A peer that answers under another key is asked for its key log first.

        Errors: ``peer.unknown``, ``peer.distrusted``, ``keylog.fork``, ``keylog.revoked``, ``peer.unreachable``,
        ``peer.refused_us``, ``peer.clock``, ``peer.protocol``, or the code the peer answered; ``envelope.time`` says which clock
        is ahead, and by how much.
        """
        self.check_welcome(node)
        known = self._records.get(node)
        if known is None:
            raise MeshError("peer.unknown", f"{ids.short(node)} is not a peer", node=node)
        if node in self._frozen and route not in _ROUTES_OF_FROZEN:
            raise MeshError(self._frozen[node], node=node)
        if not self._is_active(node):
            with contextlib.suppress(MeshError):
                await self.follow(node)  # its owner may have recovered it meanwhile
            self.genesis_key(node)  # it may have been removed meanwhile
            self._logs[node].check_active()
            self.check_welcome(node)
            known = self._records[node]
        try:
            raw = await self._send(known, known.public_key, route, record)
        except MeshError as error:
            if error.code != "peer.identity" or not await self.follow(node):
                raise
            raw = await self._send(known, self.public_key(node), route, record)
        self.check_welcome(node)  # it may have been distrusted meanwhile
        await self.saw(node)
        told = _decode(raw, answer, known.name, route)
        if isinstance(told, StatusTell):
            await self.heard_grants(node, told.grants)
        return told

    def _is_active(self, node: str) -> bool:
        known = self._logs.get(node)
        return known is None or known.active

    async def _send(self, known: PeerRecord, public_key: bytes, route: str, record: msgspec.Struct) -> bytes:
        body = self._identity.message(record, audience=known.node, path=PATH_PREFIX + route)
        peer = PeerAddress(node=known.node, public_key=public_key, addresses=known.addresses)
        try:
            raw = await self._client.call(peer, route, body, content_type=content_type(KIND_MESSAGE))
        except MeshError as error:
            raise self.contacts.failed(known, error) from error
        self.contacts.answered(known.node)
        return raw

    async def saw(self, node: str) -> None:
        """The peer was heard of just now."""
        now_ms = self._clock.now_ms()
        if node not in self._records or now_ms - self._records[node].seen_ms <= _SEEN_EVERY_MS:
            return
        async with self._writing:
            if node not in self._records or now_ms - self._records[node].seen_ms <= _SEEN_EVERY_MS:
                return
            record = msgspec.structs.replace(self._records[node], seen_ms=now_ms)
            self._records[node] = record  # at once: nothing is decided by it
            await self._store.put_peer(record)

    async def knock(self, address: str, public_key: bytes) -> MeshError | None:
        """Send a signed delta to a node, peer or not; its refusal, None if there was none.

        Errors: ``peer.unreachable``, ``invite.url``.
        """
        parse_address(address)
        node = ids.node_id(public_key)
        search = ids.make_id("sea", self._clock.random(ids.ID_RANDOM_BYTES))
        delta = await self._witness.artefact(KIND_DELTA, search, b"")
        push = DeltaPush(search=search, deltas=(delta.envelope,))
        body = self._identity.message(push, audience=node, path=PATH_PREFIX + "deltas/push")
        peer = PeerAddress(node=node, public_key=public_key, addresses=(address,))
        try:
            await self._client.call(peer, "deltas/push", body, content_type=content_type(KIND_MESSAGE))
        except MeshError as error:
            if error.code == "peer.unreachable":
                raise
            return error
        return None

    # --- keys of peers -----------------------------------------------------------------------------------------------

    async def adopt(self, data: bytes) -> bool:
        """Learn from a key log of a peer, whoever showed it: it proves itself. Whether anything was new.

        What is known of the peer is kept as one step with the trust set; its connections under an older key are dropped.
        Of a peer that is distrusted no more than that is learned: others are told of its end. Errors: ``keylog.*``,
        ``peer.unknown``.
        """
        shown = KeyLog.read(data, now_s=self._clock.now_ms() // 1000)
        async with self._writing:
            record = self._records.get(shown.node) or self._distrusted.get(shown.node)
            if record is None:
                raise MeshError("peer.unknown", f"{ids.short(shown.node)} is not a peer", node=shown.node)
            known = self._logs.get(shown.node)
            if known is None and record.public_key != shown.genesis_key:
                raise MeshError("keylog.invalid", "the log does not begin with the key this peer was paired under")
            merged = shown if known is None else known.merge(shown)
            if merged is known:
                return False
            record = msgspec.structs.replace(
                record, public_key=merged.key, key_log=merged.encode(), parting=not merged.active
            )
            became = "frozen" if merged.frozen else "another key" if merged.active else "revoked"
            note = {"became": became, "events": str(len(merged))}
            await self.trail.write("peer.keys", who=record.node, subject=record.node, note=note)
            await self._keep(record)
        state = "is frozen" if merged.frozen else "has revoked itself" if not merged.active else "changed its key"
        log.warning("peer %s (%s) %s", record.name, ids.short(record.node), state)
        if not merged.active:
            self.ended(record.node)
        return True

    def parting(self) -> list[str]:
        """Those who may act no longer, and with whom something is still to be ended."""
        return [record.node for record in (*self.records(), *self.distrusted()) if record.parting]

    async def parted(self, node: str) -> None:
        """Everything with ``node`` has ended. Errors: ``store.*``."""
        async with self._writing:
            for records in (self._records, self._distrusted):
                if node in records and records[node].parting and not self.acts(node):
                    records[node] = msgspec.structs.replace(records[node], parting=False)
                    await self._store.put_peer(records[node])  # whom this node trusts has not changed

    async def hang_up(self, node: str) -> None:
        """End every connection to ``node`` that this node opened."""
        await self._client.drop(node)

    async def distrust(self, node: str, reason: str) -> PeerRecord:
        """Have a peer out of the trust set, which ends its connections. Twice is once; a later reason replaces the first.

        Kept first: from then on no restart lets it in. Errors: ``peer.unknown``, ``store.*``.
        """
        async with self._writing:
            known = self._records.get(node) or self._distrusted.get(node)
            if known is None:
                raise MeshError("peer.unknown", f"{ids.short(node)} is not a peer", node=node)
            since_ms = known.distrusted_ms or max(1, self._clock.now_ms())
            reason = reason or known.distrust_reason
            record = msgspec.structs.replace(known, distrusted_ms=since_ms, distrust_reason=reason, parting=True)
            await self._keep(record)
        log.warning("peer %s (%s) is distrusted", record.name, ids.short(node))
        return record

    async def trust(self, node: str) -> PeerRecord:
        """Take a peer back that was distrusted, with the scopes it had. Twice is once.

        Errors: ``peer.unknown``, ``peer.limit``, ``keylog.revoked``, ``keylog.fork``, ``store.*``.
        """
        async with self._writing:
            if node in self._records:
                return self._records[node]
            known = self._distrusted.get(node)
            if known is None:
                raise MeshError("peer.unknown", f"{ids.short(node)} is not a peer", node=node)
            if node in self._logs:
                self._logs[node].check_active()  # its own word is final, whatever we think of it
            if len(self._records) >= limits.PEERS_MAX:
                raise MeshError("peer.limit", f"a node has at most {limits.PEERS_MAX} peers")
            record = msgspec.structs.replace(known, distrusted_ms=0, distrust_reason="", parting=False)
            await self._keep(record)
        log.warning("peer %s (%s) is trusted again", record.name, ids.short(node))
        return record

    async def follow(self, node: str) -> bool:
        """Look under which key a peer listens now and, if that is another one, ask for its key log. Whether it was believed.

        Nothing is believed of who answers there but the log. Errors: ``peer.*``, ``keylog.*``.
        """
        self.check_welcome(node)
        known = self._records[node]
        at = PeerAddress(node=node, public_key=known.public_key, addresses=known.addresses)
        shown = await self._client.look(at)
        if shown is None or shown == known.public_key:
            return False
        raw = await self._send(known, shown, "keys/pull", KeysAsk())
        told = _decode(raw, KeysTell, known.name, "keys/pull")
        return await self.adopt(told.log) and self.public_key(node) == shown

    async def refresh(self) -> None:
        """Ask every peer under which key it listens and what we may do there; who does not answer is left for the next time."""
        await self._each(self.follow)
        await self.ask_all()

    async def push_keys(self, own: KeyLog) -> tuple[list[str], list[str]]:
        """Show our key log to every peer that has an address: the names of those that took it, and of the others."""
        push = KeysPush(log=own.encode())

        async def show(node: str) -> None:
            try:
                await self.call(node, "keys/push", push, Done)
            except MeshError as error:
                if own.active or error.code != "peer.refused_us":
                    raise  # otherwise it has understood: it knows this node no more

        return await self._each(show)

    async def ask_all(self) -> tuple[list[str], list[str]]:
        """The names of the peers that answer us as we are now, and of the others."""
        return await self._each(lambda node: self.call(node, "status", StatusAsk(), StatusTell))

    async def tell(self, route: str, record: msgspec.Struct, nodes: Collection[str]) -> tuple[list[str], list[str]]:
        """Send ``record`` to those of ``nodes`` that are peers: the names of those that took it, and of the others."""
        return await self._each(lambda node: self.call(node, route, record, Done), nodes)

    async def _each(
        self, act: Callable[[str], Awaitable[object]], nodes: Collection[str] | None = None
    ) -> tuple[list[str], list[str]]:
        places = asyncio.Semaphore(_AT_ONCE)

        async def one(node: str) -> bool:
            async with places:
                try:
                    await act(node)
                except MeshError as error:
                    log.info("%s: %s", self.name_of(node), error)
                    return False
                return True

        records = [record for record in self.records() if nodes is None or record.node in nodes]
        went = await asyncio.gather(*(one(record.node) for record in records))
        named = [(record.name, well) for record, well in zip(records, went, strict=True)]
        return [name for name, well in named if well], [name for name, well in named if not well]

    # --- pairing -----------------------------------------------------------------------------------------------------

    async def add(self, paired: Paired) -> PeerRecord:
        """Trust who was paired with. Errors: those of ``check``, ``store.*``."""
        async with self._writing:  # so that two at once do not both take the last place
            self.check(paired)
            record = PeerRecord(
                node=paired.node,
                name=paired.name,
                public_key=paired.public_key,
                key_log=paired.log.encode(),
                addresses=paired.addresses,
                grants=paired.grants,
                granted_us=paired.granted_us,
                paired_ms=self._clock.now_ms(),
            )
            before = self._records.get(paired.node)
            had = each_in_words(before.grants) if before else None
            await self.trail.paired(record.node, record.name, each_in_words(record.grants), had)
            await self._keep(record)
        log.info("paired with %s (%s)", record.name, ids.short(record.node))
        return record

    def check(self, paired: Paired) -> None:
        """Whether ``add`` would take it. Errors: ``peer.distrusted``, ``keylog.*``, ``peer.limit``.

        Pairing again never takes a peer back behind what is known of its keys: a thief of a key that was rotated away could
        show the old log with any invite.
        """
        self.check_welcome(paired.node)
        if paired.node not in self._records and len(self._records) >= limits.PEERS_MAX:
            raise MeshError("peer.limit", f"a node has at most {limits.PEERS_MAX} peers")
        known = self._logs.get(paired.node)
        if known is None:
            return
        merged = known.merge(paired.log)
        merged.check_active()
        if merged.key != paired.public_key or merged.encode() != paired.log.encode():
            raise MeshError(
                "keylog.invalid", "the peer showed an older key log than the one known of it", node=paired.node
            )

    # --- grants ------------------------------------------------------------------------------------------------------

    async def regrant(self, node: str, change: Callable[[Grants], Grants]) -> tuple[Grants, Grants]:
        """What a peer might do here, and what it may from now on: what ``change`` makes of it. Its connections stay.

        Errors: those of ``change``, ``store.*``.
        """
        async with self._writing:
            record = self._records[node]
            after = change(record.grants)
            await self._keep(msgspec.structs.replace(record, grants=after))
            return record.grants, after

    async def push_grants(self, node: str) -> bool:
        """Tell a peer what it may do here; False if it was not reached, it then learns it when it next asks."""
        try:
            await self.call(node, "grants/push", GrantsPush(grants=self._records[node].grants), Done)
        except MeshError as error:
            log.info("%s was not told its grants: %s", self._records[node].name, error)
            return False
        return True

    async def heard_grants(self, node: str, grants: Grants) -> None:
        """A peer says what we may do there. Errors: ``message.invalid``, ``store.*``."""
        check_grants(grants)
        async with self._writing:
            record = self._records.get(node)
            if record is not None and record.granted_us != grants:
                await self._keep(msgspec.structs.replace(record, granted_us=grants))

    async def close(self) -> None:
        """End the connections to peers. Twice is once."""
        await self._client.close()


def _called(text: str, records: Iterable[PeerRecord]) -> PeerRecord:
    """The one of ``records`` with this name, short id or id. Errors: ``input.not_found``, ``input.invalid`` when several fit."""
    wanted = text.strip()
    found = [r for r in records if wanted in (r.name, r.node) or ids.short(r.node) == wanted.upper()]
    if len(found) == 1:
        return found[0]
    if found:
        raise MeshError("input.invalid", f"{len(found)} peers are called {wanted!r}: give the node id")
    raise MeshError("input.not_found", f"no peer is called {wanted!r}")


def _decode(raw: bytes, answer: type[T], name: str, route: str) -> T:
    """Errors: ``peer.protocol``."""
    try:
        return cbor.decode_as(raw, answer, bytes_max=limits.PEER_BODY_BYTES_MAX)
    except MeshError as error:
        raise MeshError("peer.protocol", f"{name} answered {route} with something else") from error
