"""Every change to the records of peers: paired, new key, new grants, distrusted, trusted again.

Changes are made one at a time. Each is stored before it takes effect (``Peers.use``), so that a restart cannot undo a change that
had an effect.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import msgspec

from adapters.ports.clock import Clock
from adapters.ports.records import PeerRecord
from adapters.ports.store import PeerStore
from node.base.listeners import Listeners
from node.base.tasks import to_its_end
from node.trust.peers import Peers
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.keys.keylog import KeyLog
from protocol.pairing.by_invite import Paired
from protocol.trust.grants import Grants, check_grants, each_in_words, in_words

log = logging.getLogger(__name__)

_SEEN_EVERY_MS = 60_000
"""How often the time of the last contact with a peer is stored."""


class TrustChanges:
    """Changes the records of peers."""

    def __init__(self, peers: Peers, store: PeerStore, clock: Clock) -> None:
        self.peers = peers
        self._store = store
        self._clock = clock
        self._writing = asyncio.Lock()
        """Held from reading a record until its change is stored, so that no change is lost."""
        self.ended = Listeners[[str]]()
        """Called when a key log shows that a peer revoked itself or that its key log has forked."""

    async def _keep(self, record: PeerRecord, kind: FeedKind, who: str = "") -> None:
        """Store a record, then apply it; the caller holds ``_writing``. kind, who: for the change feed. Errors: ``store.*``."""
        # Store and memory must agree, so a cancelled caller must not stop between the two writes.
        await to_its_end(self._put(record, kind, who))

    async def _put(self, record: PeerRecord, kind: FeedKind, who: str) -> None:
        await self.peers.feed.along(lambda news: self._store.put_peer(record, news=news), kind, record.node, who=who)
        self.peers.use(record)

    # --- pairing -----------------------------------------------------------------------------------------------------

    async def add(self, paired: Paired) -> PeerRecord:
        """Add a newly paired peer. Errors: those of ``check``, ``store.*``."""
        async with self._writing:  # one at a time, so that two pairings cannot both take the last place
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
            # The audit row comes first: if it cannot be written, the pairing is not stored.
            who = await self.peers.trail.paired(record.node, record.name, each_in_words(record.grants), had)
            await self._keep(record, FeedKind.PEER_PAIRED, who)
        replaced = f" again: it could do {in_words(before.grants)} here" if before else ""
        log.info(
            "paired with %s (%s)%s, may do %s", record.name, ids.short(record.node), replaced, in_words(record.grants)
        )
        return record

    def check(self, paired: Paired) -> None:
        """Check whether ``add`` would accept the peer. Errors: ``peer.distrusted``, ``keylog.*``, ``peer.limit``.

        Pairing again must not replace a known key log by an older one: a thief with a rotated key could present the old log
        with any invite.
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
            raise MeshError("keylog.invalid", "the peer showed an older key log than the known one", node=paired.node)

    def _check_room(self) -> None:
        """Errors: ``peer.limit``."""
        if len(self.peers.records()) >= limits.PEERS_MAX:
            raise MeshError("peer.limit", f"a node can have at most {limits.PEERS_MAX} peers")

    # --- keys --------------------------------------------------------------------------------------------------------

    async def adopt(self, data: bytes) -> bool:
        """Merge a key log of a peer. It contains its own proof, so any node may show it. Returns whether anything was new.

        The stored record and the trust set change together; connections under an older key are closed.
        For a distrusted peer only the log is updated, so that its revocation can be passed on. Errors: ``keylog.*``,
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
            # Without a stored log the key of the pairing is all that is known, so the log must begin with it.
            if known is None and record.public_key != shown.genesis_key:
                raise MeshError("keylog.invalid", "the log does not begin with the key that this peer was paired under")
            merged = shown if known is None else known.merge(shown)
            # ``merge`` gives back the same log if nothing is new.
            if merged is known:
                return False
            record = msgspec.structs.replace(
                record, public_key=merged.key, key_log=merged.encode(), parting=not merged.active
            )
            became = "frozen" if merged.frozen else "another key" if merged.active else "revoked"
            note = {"became": became, "events": str(len(merged))}
            await self.peers.trail.write("peer.keys", who=record.node, subject=record.node, note=note)
            await self._keep(record, FeedKind.PEER_KEYS, record.node)
        state = "is frozen" if merged.frozen else "has revoked itself" if not merged.active else "changed its key"
        log.warning("peer %s (%s) %s", record.name, ids.short(record.node), state)
        if not merged.active:
            self.ended.tell(record.node)
        return True

    def _met(self, node: str) -> PeerRecord:
        """Errors: ``peer.unknown``."""
        record = self.peers.record(node)
        if record is None:
            raise MeshError("peer.unknown", f"{ids.short(node)} is not a peer", node=node)
        return record

    # --- distrust ----------------------------------------------------------------------------------------------------

    async def distrust(self, node: str, reason: str) -> PeerRecord:
        """Remove a peer from the trust set, which ends its connections. Repeating it changes only the reason.

        The change is stored first, so that a restart cannot undo it. Errors: ``peer.unknown``, ``store.*``.
        """
        async with self._writing:
            known = self._met(node)
            since_ms = known.distrusted_ms or max(1, self._clock.now_ms())
            reason = reason or known.distrust_reason
            record = msgspec.structs.replace(known, distrusted_ms=since_ms, distrust_reason=reason, parting=True)
            await self._keep(record, FeedKind.PEER_DISTRUSTED)
        log.warning("peer %s (%s) is distrusted", record.name, ids.short(node))
        return record

    async def trust(self, node: str) -> PeerRecord:
        """Trust a distrusted peer again, with the scopes it had. A second call does nothing.

        Errors: ``peer.unknown``, ``peer.limit``, ``keylog.revoked``, ``keylog.fork``, ``store.*``.
        """
        async with self._writing:
            known = self._met(node)
            keys = self.peers.key_log(node)
            if keys is not None:
                keys.check_active()  # a self-revocation is final, whatever this node's owner decides
            if not known.distrusted_ms:
                return known
            self._check_room()
            record = msgspec.structs.replace(known, distrusted_ms=0, distrust_reason="", parting=False)
            await self._keep(record, FeedKind.PEER_TRUSTED)
        log.warning("peer %s (%s) is trusted again", record.name, ids.short(node))
        return record

    async def parted(self, node: str) -> None:
        """Record that the clean-up after distrusting ``node`` is finished. Errors: ``store.*``."""
        async with self._writing:
            record = self.peers.record(node)
            if record is not None and record.parting and not self.peers.acts(node):
                await self._note(msgspec.structs.replace(record, parting=False))

    # --- grants and the rest -----------------------------------------------------------------------------------------

    async def regrant(self, node: str, change: Callable[[Grants], Grants]) -> tuple[Grants, Grants]:
        """Change a peer's grants by ``change``; returns the grants before and after. Its connections stay open.

        Errors: those of ``change``, ``store.*``.
        """
        async with self._writing:
            record = self._met(node)
            after = change(record.grants)
            await self._keep(msgspec.structs.replace(record, grants=after), FeedKind.PEER_GRANTS)
            return record.grants, after

    async def heard_grants(self, node: str, grants: Grants) -> None:
        """Record the grants that this node has at a peer. Errors: ``message.invalid``, ``store.*``."""
        check_grants(grants)
        async with self._writing:
            record = self.peers.record(node)
            if record is not None and not record.distrusted_ms and record.granted_us != grants:
                await self._note(msgspec.structs.replace(record, granted_us=grants))
                await self.peers.feed.tell(FeedKind.PEER_GRANTED_US, node)

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
        """Store a record whose change does not affect trust. It is used at once, before it is stored."""
        self.peers.note(record)
        await self._store.put_peer(record)
