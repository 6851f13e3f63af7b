"""Records what each peer last showed of its log and when, and applies the policy about silence. The records are stored.

A checkpoint contains no time. So this node measures the age of a log on its own clock, from the moment when the peer last showed
a head that is not older than the one held. A peer that shows no head is not necessarily dishonest: the owner of this node is told,
and ``policy.log_silence`` decides whether the peer is frozen until it shows one.
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Sequence
from typing import Final

import msgspec

from adapters.ports.clock import Clock
from adapters.ports.store import MetaStore
from node.trust import Peers
from protocol import ids
from protocol.audit import NODE
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.wire import cbor

log = logging.getLogger(__name__)

_KEY: Final = "log/watch/"
SILENT_CODE: Final = "log.silent"


class LogAnswer(enum.StrEnum):
    """The kind of answer of a peer that was asked for its log."""

    NOTHING = ""
    """Not asked yet."""
    CURRENT = "current"
    """A head that equals or extends the stored one."""
    SILENT = "silent"
    """An answer without a head."""
    BEHIND = "behind"
    """A smaller head than the stored one, or a head of a replaced log."""
    UNPROVEN = "unproven"
    """A head that is not proven to extend the stored one."""
    CONTRADICTING = "contradicting"
    """Two signed histories (equivocation)."""


class LogFacts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Stored facts about the log of one peer, in addition to its head."""

    shown: LogAnswer = LogAnswer.NOTHING
    since_ms: int = 0
    """Time since which it shows this."""
    told_number: int = 0
    """Number and size of the head it showed then; size 0 for none."""
    told_size: int = 0
    renewed_ms: int = 0
    """Time at which it last opened a new log; 0 for never."""
    restored: bool = False
    """True if it declared then that entries were lost."""
    suspended: bool = False
    """Suspended (``log.unproven``), also after a restart and after it has opened another log."""
    by_owner: bool = False
    """Only the owner of this node can lift the suspension: ``node trust``."""
    unconnected: tuple[bytes, ...] = ()
    """The checkpoints it was suspended for, as signed notes."""
    past: tuple[bytes, ...] = ()
    """The last known checkpoints of its former logs, as signed notes, oldest first."""


class LogWatch:
    """The records of all peers, and the policy about silence."""

    def __init__(self, peers: Peers, store: MetaStore, clock: Clock) -> None:
        self._peers, self._store, self._clock = peers, store, clock
        self._known: dict[str, LogFacts] = {}
        self.current_ms: dict[str, int] = {}
        """When each peer last showed a current head."""

    async def load(self) -> None:
        """Read the stored records of all nodes that this node ever paired with. Errors: ``store.corrupt``."""
        for node in self._peers.everybody():
            data = await self._store.get_meta(_KEY + node)
            if data:
                self._known[node] = cbor.decode_as(data, LogFacts)

    def of(self, node: str) -> LogFacts:
        """The record of a peer's log."""
        return self._known.get(node, LogFacts())

    async def change(self, node: str, **changes: object) -> None:
        """Change the record of ``node``; nothing is written if nothing changes. Errors: ``store.*``."""
        before = self.of(node)
        now = msgspec.structs.replace(before, **changes)
        if now != before:
            self._known[node] = now
            await self._store.put_meta(_KEY + node, cbor.encode(now))

    async def note(self, node: str, shown: LogAnswer, told: tuple[int, int] = (0, 0)) -> None:
        """Record what ``node`` has shown of its log. ``told``: number and size of its head. Errors: ``store.*``."""
        now_ms, before = self._clock.now_ms(), self.of(node)
        if shown is LogAnswer.CURRENT:
            self.current_ms[node] = now_ms
        if shown is not before.shown:
            if shown is not LogAnswer.CURRENT:
                log.warning("state of the log that %s showed: %s", ids.short(node), shown.value)
            await self.change(node, shown=shown, since_ms=now_ms, told_number=told[0], told_size=told[1])
            await self._tell(node, before.shown, shown)
        await self.weigh(node)

    async def _tell(self, node: str, before: LogAnswer, shown: LogAnswer) -> None:
        fine = (LogAnswer.NOTHING, LogAnswer.CURRENT)
        if shown not in fine:
            await self._peers.feed.tell(FeedKind.PEER_LOG_DOUBTED, node, who=NODE)
        elif before not in fine:
            await self._peers.feed.tell(FeedKind.PEER_LOG_SHOWN, node, who=NODE)

    async def weigh(self, node: str) -> None:
        """Freeze a silent peer, or end the freeze, according to the policy. Errors: ``store.*``."""
        frozen = self._peers.frozen.get(node)
        if self.silent(node) and self._peers.policy.log_silence == "freeze":
            if frozen is None:
                self._peers.freeze(node, SILENT_CODE)
                await self._peers.trail.write("peer.frozen", who=NODE, subject=node, code=SILENT_CODE)
                await self._peers.feed.tell(FeedKind.PEER_FROZEN, node, who=NODE)
        elif frozen == SILENT_CODE:
            await self._peers.trail.write("peer.thawed", who=NODE, subject=node)
            self._peers.thaw(node, SILENT_CODE)
            await self._peers.feed.tell(FeedKind.PEER_UNFROZEN, node, who=NODE)

    async def weigh_all(self) -> None:
        """Apply the policy to every peer, because a log also becomes too old by time alone."""
        for record in self._peers.records():
            try:
                await self.weigh(record.node)
            except MeshError as error:
                log.warning(
                    "the policy about silent logs could not be applied to %s: %s", ids.short(record.node), error
                )

    def silent(self, node: str) -> bool:
        """True if ``node`` does not show its log: it answered without a current head, or showed none for too long."""
        return self.of(node).shown in (LogAnswer.SILENT, LogAnswer.BEHIND, LogAnswer.UNPROVEN) or self.is_old(node)

    def is_old(self, node: str) -> bool:
        """True if the last current head of ``node`` is older than ``policy.log_age_s``."""
        record = self._peers.record(node)
        last_ms = max(self.current_ms.get(node, 0), record.paired_ms if record else 0)
        return self._clock.now_ms() - last_ms > self._peers.policy.log_age_s * 1000

    def in_words(self, node: str) -> str:
        """The message for the owner; empty if all is in order."""
        known = self.of(node)
        match known.shown:
            case LogAnswer.SILENT:
                return "answers without a head of its log"
            case LogAnswer.BEHIND:
                return f"shows an older head of its log than the stored one (log {known.told_number}, size {known.told_size})"
            case LogAnswer.UNPROVEN:
                return "shows a head that is not proven to extend the stored one"
            case LogAnswer.CONTRADICTING:
                return "has signed two histories of its log"
            case _:
                return "has shown no current head of its log for too long" if self.is_old(node) else ""

    async def renewed(self, node: str, past: Sequence[bytes], *, restored: bool) -> None:
        """Record that ``node`` has opened a new log. ``past``: the last checkpoints of the former ones. Errors: ``store.*``."""
        log.warning("%s has opened a new log%s", ids.short(node), ", because entries were lost" if restored else "")
        await self.change(node, renewed_ms=self._clock.now_ms(), restored=restored, past=tuple(past))
        code = "log.restored" if restored else "log.renewed"
        await self._peers.trail.write("peer.log", who=NODE, subject=node, note={"what": code})
