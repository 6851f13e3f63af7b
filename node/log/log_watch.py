"""Records what each peer last showed of its log and when, and applies the policy about silence. The records are stored.

A checkpoint contains no time. So this node measures the age of a log on its own clock, from the moment when the peer last showed
a head that is not older than the one held. A peer that shows no head is not thereby dishonest: the owner of this node is told,
and ``policy.log_silence`` decides whether the peer is frozen until it shows one.
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Sequence
from typing import Final

import msgspec

from adapters.ports import Clock, MetaStore
from node.trust import Peers
from protocol import ids
from protocol.audit import NODE
from protocol.errors import MeshError
from protocol.feed import Kind
from protocol.wire import cbor

log = logging.getLogger(__name__)

_KEY: Final = "log/watch/"
SILENT_CODE: Final = "log.silent"


class Shown(enum.StrEnum):
    """What a peer showed of its log when it was asked for it."""

    NOTHING = ""
    """It was not asked yet."""
    CURRENT = "current"
    """A head that is the one held, or continues it."""
    SILENT = "silent"
    """It answered, and showed no head."""
    BEHIND = "behind"
    """A smaller head than is held, or one of a log that was replaced."""
    UNPROVEN = "unproven"
    """A head that could not be connected with the one held."""
    CONTRADICTING = "contradicting"
    """It signed two histories."""


class Watched(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is kept about the log of one peer, beside the head that is held."""

    shown: Shown = Shown.NOTHING
    since_ms: int = 0
    """Since when it shows this."""
    told_number: int = 0
    """Number and size of the head it showed then; size 0 for none."""
    told_size: int = 0
    renewed_ms: int = 0
    """When it last opened another log; 0 for never."""
    restored: bool = False
    """Whether it said then that it had lost entries."""
    suspended: bool = False
    """Suspended (``log.unproven``), also after a restart and after it has opened another log."""
    by_owner: bool = False
    """Only the owner of this node lifts the suspension: ``node trust``."""
    unconnected: tuple[bytes, ...] = ()
    """The checkpoints it was suspended for, as signed notes."""
    past: tuple[bytes, ...] = ()
    """The last known checkpoints of its former logs, as signed notes, oldest first."""


class LogWatch:
    """The records of all peers, and the policy about silence."""

    def __init__(self, peers: Peers, store: MetaStore, clock: Clock) -> None:
        self._peers, self._store, self._clock = peers, store, clock
        self._known: dict[str, Watched] = {}
        self.current_ms: dict[str, int] = {}
        """When each peer last showed a current head."""

    async def load(self) -> None:
        """Take up what the store holds about everybody this node ever paired with. Errors: ``store.corrupt``."""
        for node in self._peers.everybody():
            data = await self._store.get_meta(_KEY + node)
            if data:
                self._known[node] = cbor.decode_as(data, Watched)

    def of(self, node: str) -> Watched:
        """What is known of a peer's log."""
        return self._known.get(node, Watched())

    async def change(self, node: str, **changes: object) -> None:
        """Keep something else about ``node``; nothing is written when nothing changes. Errors: ``store.*``."""
        before = self.of(node)
        now = msgspec.structs.replace(before, **changes)
        if now != before:
            self._known[node] = now
            await self._store.put_meta(_KEY + node, cbor.encode(now))

    async def note(self, node: str, shown: Shown, told: tuple[int, int] = (0, 0)) -> None:
        """Record what ``node`` has shown of its log. ``told``: number and size of its head. Errors: ``store.*``."""
        now_ms, before = self._clock.now_ms(), self.of(node)
        if shown is Shown.CURRENT:
            self.current_ms[node] = now_ms
        if shown is not before.shown:
            if shown is not Shown.CURRENT:
                log.warning("%s, asked for its log, showed it %s", ids.short(node), shown.value)
            await self.change(node, shown=shown, since_ms=now_ms, told_number=told[0], told_size=told[1])
            await self._tell(node, before.shown, shown)
        await self.weigh(node)

    async def _tell(self, node: str, before: Shown, shown: Shown) -> None:
        fine = (Shown.NOTHING, Shown.CURRENT)
        if shown not in fine:
            await self._peers.feed.tell(Kind.PEER_LOG_DOUBTED, node, who=NODE)
        elif before not in fine:
            await self._peers.feed.tell(Kind.PEER_LOG_SHOWN, node, who=NODE)

    async def weigh(self, node: str) -> None:
        """Freeze a silent peer, or end the freeze, according to the policy. Errors: ``store.*``."""
        frozen = self._peers.frozen.get(node)
        if self.silent(node) and self._peers.policy.log_silence == "freeze":
            if frozen is None:
                self._peers.freeze(node, SILENT_CODE)
                await self._peers.trail.write("peer.frozen", who=NODE, subject=node, code=SILENT_CODE)
                await self._peers.feed.tell(Kind.PEER_FROZEN, node, who=NODE)
        elif frozen == SILENT_CODE:
            await self._peers.trail.write("peer.thawed", who=NODE, subject=node)
            self._peers.thaw(node, SILENT_CODE)
            await self._peers.feed.tell(Kind.PEER_UNFROZEN, node, who=NODE)

    async def weigh_all(self) -> None:
        """Weigh every peer: time alone makes a log old."""
        for record in self._peers.records():
            try:
                await self.weigh(record.node)
            except MeshError as error:
                log.warning("the log of %s was not weighed: %s", ids.short(record.node), error)

    def silent(self, node: str) -> bool:
        """Whether ``node`` does not show its log: it answered without a current head, or showed none for too long."""
        return self.of(node).shown in (Shown.SILENT, Shown.BEHIND, Shown.UNPROVEN) or self.is_old(node)

    def is_old(self, node: str) -> bool:
        """Whether the last current head of ``node`` is older than ``policy.log_age_s``."""
        record = self._peers.record(node)
        last_ms = max(self.current_ms.get(node, 0), record.paired_ms if record else 0)
        return self._clock.now_ms() - last_ms > self._peers.policy.log_age_s * 1000

    def in_words(self, node: str) -> str:
        """The message for the owner; empty if all is in order."""
        known = self.of(node)
        match known.shown:
            case Shown.SILENT:
                return "answers and shows no head of its log"
            case Shown.BEHIND:
                return f"shows an older head of its log than is held (log {known.told_number}, size {known.told_size})"
            case Shown.UNPROVEN:
                return "shows a head that does not continue the one held"
            case Shown.CONTRADICTING:
                return "has signed two histories of its log"
            case _:
                return "has shown no current head of its log for too long" if self.is_old(node) else ""

    async def renewed(self, node: str, past: Sequence[bytes], *, restored: bool) -> None:
        """``node`` has opened another log. ``past``: the last checkpoints of the former ones. Errors: ``store.*``."""
        log.warning("%s has opened another log%s", ids.short(node), ", as it had lost entries" if restored else "")
        await self.change(node, renewed_ms=self._clock.now_ms(), restored=restored, past=tuple(past))
        code = "log.restored" if restored else "log.renewed"
        await self._peers.trail.write("peer.log", who=NODE, subject=node, note={"what": code})
