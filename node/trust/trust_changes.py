"""Every change to the records of peers: paired, new key, new grants, distrusted, trusted again.

Changes are made one at a time. Each is stored before it takes effect (``Peers.use``), so that a restart cannot undo a change that
had an effect.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import msgspec

from adapters.ports import Clock, PeerRecord, PeerStore
from node.base import to_its_end
from node.trust.peers import Peers
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.feed import Kind
from protocol.keys.keylog import KeyLog
from protocol.pairing.by_invite import Paired
from protocol.trust.grants import Grants, check_grants, each_in_words, in_words

log = logging.getLogger(__name__)

_SEEN_EVERY_MS = 60_000
"""How often the time a peer was last seen is written down."""


class TrustChanges:
    """Changes the records of peers."""

    def __init__(self, peers: Peers, store: PeerStore, clock: Clock) -> None:
        self.peers = peers
        self._store = store
        self._clock = clock
        self._writing = asyncio.Lock()
        """Held from reading a record to keeping its change, so that no change undoes another."""
        self.ended: Callable[[str], None] = lambda node: None
        """Called when a peer was just learned to have revoked itself, or to have a key log that contradicts itself."""

    async def _keep(self, record: PeerRecord, kind: Kind, who: str = "") -> None:
        """Keep a record, then act by it; the caller holds ``_writing``. kind, who: what the feed says. Errors: ``store.*``."""
        await to_its_end(self._put(record, kind, who))

    async def _put(self, record: PeerRecord, kind: Kind, who: str) -> None:
        await self.peers.feed.along(lambda news: self._store.put_peer(record, news=news), kind, record.node, who=who)
        self.peers.use(record)

    # --- pairing -----------------------------------------------------------------------------------------------------

    async def add(self, paired: Paired) -> PeerRecord:
        """Add a newly paired peer. Errors: those of ``check``, ``store.*``."""
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
            before = self.peers.record(paired.node)
            had = each_in_words(before.grants) if before else None
            who = await self.peers.trail.paired(record.node, record.name, each_in_words(record.grants), had)
            await self._keep(record, Kind.PEER_PAIRED, who)
        replaced = f" again: it could do {in_words(before.grants)} here" if before else ""
        log.info(
            "paired with %s (%s)%s, may do %s", record.name, ids.short(record.node), replaced, in_words(record.grants)
        )
        return record

    def check(self, paired: Paired) -> None:
        """Whether ``add`` would take it. Errors: ``peer.distrusted``, ``keylog.*``, ``peer.limit``.

        Pairing again never takes a peer back behind what is known of its keys: a thief of a key that was rotated away could
        show the old log with any invite.
        """
        self.peers.check_welcome(paired.node)
        if not self.peers.knows(paired.node):
            self._check_room()
        known = self.peers.key_log(paired.node)
        if known is None:
            return
        merged = known.merge(paired.log)
        merged.check_active()
        if merged.key != paired.public_key or merged.encode() != paired.log.encode():
            raise MeshError(
                "keylog.invalid", "the peer showed an older key log than the one known of it", node=paired.node
            )

    def _check_room(self) -> None:
        """Errors: ``peer.limit``."""
        if len(self.peers.records()) >= limits.PEERS_MAX:
            raise MeshError("peer.limit", f"a node has at most {limits.PEERS_MAX} peers")

    # --- keys --------------------------------------------------------------------------------------------------------

    async def adopt(self, data: bytes) -> bool:
        """Merge a key log of a peer. It proves itself, so any node may show it. Returns whether anything was new.

        What is known of the peer is kept as one step with the trust set; its connections under an older key are dropped.
        Of a peer that is distrusted no more than that is learned: others are told of its end. Errors: ``keylog.*``,
        ``peer.unknown``.
        """
        return await self.learn(KeyLog.read(data, now_s=self._clock.now_ms() // 1000))

    async def learn(self, shown: KeyLog) -> bool:
        """As ``adopt``, from a log that was read just now."""
        return await to_its_end(self._learn(shown))

    async def _learn(self, shown: KeyLog) -> bool:
        async with self._writing:
            record = self._met(shown.node)
            known = self.peers.key_log(shown.node)
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
            await self.peers.trail.write("peer.keys", who=record.node, subject=record.node, note=note)
            await self._keep(record, Kind.PEER_KEYS, record.node)
        state = "is frozen" if merged.frozen else "has revoked itself" if not merged.active else "changed its key"
        log.warning("peer %s (%s) %s", record.name, ids.short(record.node), state)
        if not merged.active:
            self.ended(record.node)
        return True

    def _met(self, node: str) -> PeerRecord:
        """Errors: ``peer.unknown``."""
        record = self.peers.record(node)
        if record is None:
            raise MeshError("peer.unknown", f"{ids.short(node)} is not a peer", node=node)
        return record

    # --- distrust ----------------------------------------------------------------------------------------------------

    async def distrust(self, node: str, reason: str) -> PeerRecord:
        """Have a peer out of the trust set, which ends its connections. Twice is once; a later reason replaces the first.

        Kept first: from then on no restart lets it in. Errors: ``peer.unknown``, ``store.*``.
        """
        async with self._writing:
            known = self._met(node)
            since_ms = known.distrusted_ms or max(1, self._clock.now_ms())
            reason = reason or known.distrust_reason
            record = msgspec.structs.replace(known, distrusted_ms=since_ms, distrust_reason=reason, parting=True)
            await self._keep(record, Kind.PEER_DISTRUSTED)
        log.warning("peer %s (%s) is distrusted", record.name, ids.short(node))
        return record

    async def trust(self, node: str) -> PeerRecord:
        """Take a peer back that was distrusted, with the scopes it had. Twice is once.

        Errors: ``peer.unknown``, ``peer.limit``, ``keylog.revoked``, ``keylog.fork``, ``store.*``.
        """
        async with self._writing:
            known = self._met(node)
            keys = self.peers.key_log(node)
            if keys is not None:
                keys.check_active()  # its own word is final, whatever we think of it
            if not known.distrusted_ms:
                return known
            self._check_room()
            record = msgspec.structs.replace(known, distrusted_ms=0, distrust_reason="", parting=False)
            await self._keep(record, Kind.PEER_TRUSTED)
        log.warning("peer %s (%s) is trusted again", record.name, ids.short(node))
        return record

    async def parted(self, node: str) -> None:
        """Everything with ``node`` has ended. Errors: ``store.*``."""
        async with self._writing:
            record = self.peers.record(node)
            if record is not None and record.parting and not self.peers.acts(node):
                await self._note(msgspec.structs.replace(record, parting=False))

    # --- grants and the rest -----------------------------------------------------------------------------------------

    async def regrant(self, node: str, change: Callable[[Grants], Grants]) -> tuple[Grants, Grants]:
        """What a peer might do here, and what it may from now on: what ``change`` makes of it. Its connections stay.

        Errors: those of ``change``, ``store.*``.
        """
        async with self._writing:
            record = self._met(node)
            after = change(record.grants)
            await self._keep(msgspec.structs.replace(record, grants=after), Kind.PEER_GRANTS)
            return record.grants, after

    async def heard_grants(self, node: str, grants: Grants) -> None:
        """Record the grants that this node has at a peer. Errors: ``message.invalid``, ``store.*``."""
        check_grants(grants)
        async with self._writing:
            record = self.peers.record(node)
            if record is not None and not record.distrusted_ms and record.granted_us != grants:
                await self._note(msgspec.structs.replace(record, granted_us=grants))
                await self.peers.feed.tell(Kind.PEER_GRANTED_US, node)

    async def saw(self, node: str) -> None:
        """Record the time of this contact with the peer."""
        if not self._is_news(node):
            return
        async with self._writing:
            if self._is_news(node):
                await self._note(msgspec.structs.replace(self._met(node), seen_ms=self._clock.now_ms()))

    def _is_news(self, node: str) -> bool:
        record = self.peers.record(node) if self.peers.knows(node) else None
        return record is not None and self._clock.now_ms() - record.seen_ms > _SEEN_EVERY_MS

    async def _note(self, record: PeerRecord) -> None:
        """Keep a record that changes nobody's trust; known at once, since nothing is decided by it."""
        self.peers.note(record)
        await self._store.put_peer(record)
