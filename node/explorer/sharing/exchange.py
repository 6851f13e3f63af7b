"""Exchanges deltas: pushes this node's own to every participant that may read them, and pulls missing ones."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from adapters.ports.clock import Clock
from adapters.ports.records import DeltaRecord
from adapters.ports.store import Store
from node.base.tasks import Tasks
from node.explorer.behind_login import reads
from node.explorer.sharing.log_proofs import DeltaProofs, LogProofs
from node.explorer.sharing.replica import Replica
from node.explorer.sharing.share_heads import ShareHeads
from node.trust import Calls
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.messages import DeltaBatch, DeltaHave, DeltaPull, DeltaPush
from protocol.trust.grants import Scope

log = logging.getLogger(__name__)

_PAUSE_S = 0.5
_PAUSE_MAX_S = 8.0
_PAUSE_REFUSED_S = 30.0
"""Pause after a refusal that may become obsolete: unknown key, wrong clock, missing scope."""
_COMPARE_EVERY_S = 10.0
"""Delay before other nodes are told that a share has grown here."""
_FOR_GOOD = frozenset({"delta.invalid", "delta.equivocation", "log.not_logged", "peer.unknown"})
"""Refusals that are final for the search: our share was dropped there, or the node is no longer a peer."""
_BATCH_BYTES_MAX = limits.PEER_BODY_BYTES_MAX // 2


class Exchange:
    """One search's traffic with its other participants."""

    def __init__(self, replica: Replica, calls: Calls, store: Store, clock: Clock, proofs: LogProofs) -> None:
        self._replica = replica
        self._calls, self._peers = calls, calls.peers
        self._store = store
        self._clock = clock
        self._wake: dict[str, asyncio.Event] = {}
        self._pushing: dict[str, asyncio.Task[None]] = {}
        self._tasks = Tasks()
        self.heads = ShareHeads(replica, calls, store)
        self._proofs = DeltaProofs(proofs, replica.spec.id, clock, self._expel)

    async def _expel(self, peer: str, code: str) -> None:
        self.drop(peer)
        await self._replica.drop(peer, code)

    def start(self) -> None:
        """Begin pushing to every participant that is a peer of this node."""
        spec = self._replica.spec
        for peer in spec.participants:
            if peer != self._peers.me and peer not in self._replica.expelled and self._peers.acts(peer):
                self._wake[peer] = asyncio.Event()
                self._wake[peer].set()
                self._pushing[peer] = self._tasks.start(self._push_to(peer), f"push {ids.short(peer)}")
        self._tasks.start(self._wake_all(), "deltas")
        self._tasks.start(self._compare_all(), "heads of shares")

    async def close(self) -> None:
        """Stop pushing. Undelivered deltas are stored and sent when the search is opened again."""
        await self._tasks.close()

    def drop(self, peer: str) -> None:
        """Stop pushing to ``peer``, pulling from it, and demanding proofs of it."""
        self._proofs.drop(peer)
        if peer in self._pushing:
            self._pushing.pop(peer).cancel()

    @property
    def pushes_to(self) -> frozenset[str]:
        """The peers that now receive own deltas."""
        return frozenset(peer for peer, task in self._pushing.items() if not task.done())

    async def _wake_all(self) -> None:
        while True:
            await self._replica.changed.wait()
            self._replica.changed.clear()
            for event in self._wake.values():
                event.set()

    async def _compare_all(self) -> None:
        """Exchange the heads of shares with every reader whenever they have changed."""
        while True:
            await self._clock.sleep(_COMPARE_EVERY_S)
            # Only if there are news: an idle search causes no traffic.
            due = [peer for peer in self.pushes_to if self.heads.are_news(peer)]
            await asyncio.gather(*(self.pull_from(peer) for peer in sorted(due)))

    async def receive(self, peer: str, deltas: Sequence[bytes]) -> None:
        """Store and merge deltas of their writer, and for a sample demand proof that they are in its log.

        Errors: those of ``Replica.receive``; ``log.unproven`` while a proof is overdue.
        """
        self._proofs.check(peer)
        for sealed in deltas:
            await self._replica.receive(peer, self._peers.genesis_key(peer), sealed, self._peers.find_key)
        self._proofs.sample(peer, deltas, self._tasks)

    async def _push_to(self, peer: str) -> None:
        # It is unknown which of our deltas the peer holds: its answer to the first push tells.
        epoch, seq, pause_s = 0, 0, _PAUSE_S
        await self.pull_from(peer)
        while True:
            await self._wake[peer].wait()
            self._wake[peer].clear()
            try:
                # A peer whose scope is restored later gets all deltas from its last position.
                while self._may_read(peer) and (batch := await self._after(epoch, seq)):
                    push = DeltaPush(search=self._replica.spec.id, deltas=tuple(item.envelope for item in batch))
                    have = await self._calls.call(peer, "deltas/push", push, DeltaHave)
                    # A peer that confirms a batch without storing it would otherwise receive the same deltas without end.
                    if have.epoch != batch[-1].epoch or have.seq < batch[-1].seq:
                        raise MeshError(
                            "delta.gap", "the delta was accepted but not stored", epoch=have.epoch, seq=have.seq + 1
                        )
                    epoch, seq, pause_s = have.epoch, have.seq, _PAUSE_S
                continue
            except MeshError as error:
                if error.code == "delta.gap":
                    epoch, seq = _count(error.detail.get("epoch"), 0), _count(error.detail.get("seq"), 1) - 1
                elif error.code in _FOR_GOOD:
                    log.warning("sending deltas to %s stops: %s", ids.short(peer), error)
                    return
                elif not error.retryable and error.code != "input.not_found":
                    log.info("sending deltas to %s is postponed: %s", ids.short(peer), error)
                    pause_s = _PAUSE_REFUSED_S
            await self._clock.sleep(pause_s)
            # Doubling, because a peer that is offline is usually offline for longer than one pause.
            pause_s = min(pause_s * 2, _PAUSE_MAX_S)
            self._wake[peer].set()

    def _may_read(self, peer: str) -> bool:
        spec = self._replica.spec
        return self._peers.may(peer, Scope.DELTAS_READ, spec.start_url) and reads(self._peers, peer, spec)

    async def _after(self, epoch: int, seq: int) -> list[DeltaRecord]:
        """The next own deltas for a peer that holds ``(epoch, seq)``: of the current epoch only, bounded in size."""
        after = seq if epoch == self._replica.epoch else 0
        return await self._store.deltas(
            self._replica.spec.id,
            peer=self._peers.me,
            epoch=self._replica.epoch,
            after_seq=after,
            limit=limits.DELTAS_PER_MESSAGE_MAX,
            bytes_max=_BATCH_BYTES_MAX,
        )

    async def pull_from(self, peer: str) -> None:
        """Fetch the deltas of ``peer`` that we lack; a peer that does not answer now will push later.

        Pulled deltas are merged like pushed ones, so the peer needs the same scope here.
        """
        try:
            more = True
            while more:
                self._peers.require(peer, Scope.DELTAS_WRITE, self._replica.spec.start_url)
                epoch, seq = self._replica.have(peer)
                heads = self.heads.tell(peer)
                ask = DeltaPull(search=self._replica.spec.id, epoch=epoch, after_seq=seq, heads=heads)
                batch = await self._calls.call(peer, "deltas/pull", ask, DeltaBatch)
                await self._peers.usage.admit(peer, sum(map(len, batch.deltas)))
                await self.receive(peer, batch.deltas)
                await self.heads.compare(peer, batch.heads, self.pushes_to)
                more = batch.more and self._replica.have(peer) != (epoch, seq)
        except MeshError as error:
            log.debug("nothing pulled from %s: %s", ids.short(peer), error)

    async def answer_pull(self, caller: str, ask: DeltaPull) -> DeltaBatch:
        """This node's own deltas after a given point, for a peer that requests them. The heads in the request are compared too."""
        if ask.heads:
            self._tasks.start(self.heads.compare(caller, ask.heads, self.pushes_to), f"heads of {ids.short(caller)}")
        batch = await self._after(ask.epoch, ask.after_seq)
        last = batch[-1].seq if batch else self._replica.seq
        return DeltaBatch(
            deltas=tuple(item.envelope for item in batch), more=last < self._replica.seq, heads=self.heads.tell(caller)
        )


def _count(value: Any, otherwise: int) -> int:
    """The number that a peer's refusal asks for, if it is valid; a peer may send anything."""
    return value if isinstance(value, int) and value >= otherwise else otherwise
