"""Moves deltas: pushes the own ones to every participant that may read them, and pulls what was missed."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from adapters.ports import Clock, DeltaRecord, Store
from node.explorer.replica import Replica
from node.peers import Peers
from node.tasks import Tasks
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.grants import Scope
from protocol.messages import DeltaBatch, DeltaHave, DeltaPull, DeltaPush

log = logging.getLogger(__name__)

_PAUSE_S = 0.5
_PAUSE_MAX_S = 8.0
_MAY_CHANGE = frozenset({"input.not_found", "peer.scope"})
"""Refusals that may end without us: the search is not open there yet, the peer does not let us write now."""
_BATCH_BYTES_MAX = limits.PEER_BODY_BYTES_MAX // 2


class Exchange:
    """One search's traffic with its other participants."""

    def __init__(self, replica: Replica, peers: Peers, store: Store, clock: Clock) -> None:
        self._replica = replica
        self._peers = peers
        self._store = store
        self._clock = clock
        self._wake: dict[str, asyncio.Event] = {}
        self._tasks = Tasks()

    def start(self) -> None:
        """Begin pushing to every participant that is a peer of this node."""
        spec = self._replica.spec
        for peer in spec.participants:
            if peer != self._peers.me and self._peers.knows(peer):
                self._wake[peer] = asyncio.Event()
                self._wake[peer].set()
                self._tasks.start(self._push_to(peer), f"push {ids.short(peer)}")
        self._tasks.start(self._wake_all(), "deltas")

    async def close(self) -> None:
        """Stop pushing. What was not delivered is stored and goes out when the search is opened again."""
        await self._tasks.close()

    async def _wake_all(self) -> None:
        while True:
            await self._replica.changed.wait()
            self._replica.changed.clear()
            for event in self._wake.values():
                event.set()

    async def _push_to(self, peer: str) -> None:
        epoch, seq, pause_s = 0, 0, _PAUSE_S
        await self.pull_from(peer)
        while True:
            await self._wake[peer].wait()
            self._wake[peer].clear()
            try:
                # A peer that may read again later gets everything from where it stood.
                while self._may_read(peer) and (batch := await self._after(epoch, seq)):
                    push = DeltaPush(search=self._replica.spec.id, deltas=tuple(item.envelope for item in batch))
                    have = await self._peers.call(peer, "deltas/push", push, DeltaHave)
                    if have.epoch != batch[-1].epoch or have.seq < batch[-1].seq:
                        raise MeshError("delta.gap", "accepted and not kept", epoch=have.epoch, seq=have.seq + 1)
                    epoch, seq, pause_s = have.epoch, have.seq, _PAUSE_S
                continue
            except MeshError as error:
                if error.code == "delta.gap":
                    epoch, seq = _count(error.detail.get("epoch"), 0), _count(error.detail.get("seq"), 1) - 1
                elif not error.retryable and error.code not in _MAY_CHANGE:
                    log.warning("deltas to %s stop: %s", ids.short(peer), error)
                    return
            await self._clock.sleep(pause_s)
            pause_s = min(pause_s * 2, _PAUSE_MAX_S)
            self._wake[peer].set()

    def _may_read(self, peer: str) -> bool:
        return self._peers.may(peer, Scope.DELTAS_READ, self._replica.spec.start_url)

    async def _after(self, epoch: int, seq: int) -> list[DeltaRecord]:
        """The next own deltas a peer lacks that holds ``(epoch, seq)``: of the current epoch only, bounded in size."""
        after = seq if epoch == self._replica.epoch else 0
        stored = await self._store.deltas(
            self._replica.spec.id, peer=self._peers.me, epoch=self._replica.epoch, after_seq=after
        )
        return bounded(stored)

    async def pull_from(self, peer: str) -> None:
        """Fetch what ``peer`` has and we lack; a peer that does not answer now will push later."""
        try:
            more = True
            while more:
                epoch, seq = self._replica.have(peer)
                ask = DeltaPull(search=self._replica.spec.id, epoch=epoch, after_seq=seq)
                batch = await self._peers.call(peer, "deltas/pull", ask, DeltaBatch)
                for sealed in batch.deltas:
                    await self._replica.receive(peer, self._peers.genesis_key(peer), sealed, self._peers.find_key)
                more = batch.more and self._replica.have(peer) != (epoch, seq)
        except MeshError as error:
            log.debug("nothing pulled from %s: %s", ids.short(peer), error)

    async def answer_pull(self, ask: DeltaPull) -> DeltaBatch:
        """Our own deltas after a point, for a peer that asks."""
        batch = await self._after(ask.epoch, ask.after_seq)
        last = batch[-1].seq if batch else self._replica.seq
        return DeltaBatch(deltas=tuple(item.envelope for item in batch), more=last < self._replica.seq)


def _count(value: Any, otherwise: int) -> int:
    """What a peer's refusal says is wanted; a peer may say anything."""
    return value if isinstance(value, int) and value >= otherwise else otherwise


def bounded(records: list[DeltaRecord]) -> list[DeltaRecord]:
    """As many of ``records``, from the front, as fit one message."""
    total = 0
    for count, record in enumerate(records[: limits.DELTAS_PER_MESSAGE_MAX]):
        total += len(record.envelope)
        if total > _BATCH_BYTES_MAX and count:
            return records[:count]
    return records[: limits.DELTAS_PER_MESSAGE_MAX]
