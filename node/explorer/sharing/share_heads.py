"""Detects equivocation in a search: a writer that sends different deltas with the same number to two participants.

Participants send each other the heads of every writer's deltas: epoch, number and hash of the last one. If two hashes for one
number differ, the two signed deltas together are the proof. The proof is stored and passed on, and the writer is expelled.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence

import msgspec

from adapters.ports.store import Store
from node.explorer.sharing.replica import Replica
from node.trust import Calls
from protocol import ids
from protocol.errors import MeshError
from protocol.messages import DeltaProof, DeltaShow, DeltaShown, ShareHead
from protocol.search import delta
from protocol.wire import cbor

log = logging.getLogger(__name__)


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    one: bytes
    other: bytes


def proof_key(search: str, writer: str) -> str:
    """The store key of the proof that ``writer`` wrote two deltas under one number."""
    return f"search/{search}/two-deltas/{writer}"


class ShareHeads:
    """The heads of one search."""

    def __init__(self, replica: Replica, calls: Calls, store: Store) -> None:
        self._replica, self._calls, self._peers, self._store = replica, calls, calls.peers, store
        self._told: dict[str, tuple[ShareHead, ...]] = {}
        self._comparing: set[str] = set()

    def tell(self, reader: str) -> tuple[ShareHead, ...]:
        """The heads to send to ``reader``: the last delta that this node holds of every other writer."""
        heads = self._heads(reader)
        self._told[reader] = heads
        return heads

    def are_news(self, reader: str) -> bool:
        """True if these heads differ from those last sent to ``reader``."""
        return self._heads(reader) != self._told.get(reader, ())

    def _heads(self, reader: str) -> tuple[ShareHead, ...]:
        but = {reader, self._peers.me, *self._replica.expelled}
        return tuple(head for head in self._replica.heads() if head.writer not in but)

    async def compare(self, teller: str, heads: Sequence[ShareHead], readers: Collection[str]) -> None:
        """Compare the heads that ``teller`` sent with the deltas that this node holds.

        A writer with two deltas for one number is expelled, and ``readers`` receive the proof. If ``teller`` cannot show its
        delta, nothing is proved.
        """
        if teller in self._comparing:
            return  # at most one request to a peer at a time, however many heads it sends
        self._comparing.add(teller)
        try:
            for head in heads:
                if head.writer not in (teller, self._peers.me) and self._replica.contradicts(head):
                    await self._hear(teller, head, readers)
        finally:
            self._comparing.discard(teller)

    async def _hear(self, teller: str, head: ShareHead, readers: Collection[str]) -> None:
        try:
            await self._convict(teller, head, readers)
        except MeshError as error:
            log.info("%s does not show another delta of %s: %s", ids.short(teller), ids.short(head.writer), error)

    async def _convict(self, teller: str, head: ShareHead, readers: Collection[str]) -> None:
        search = self._replica.spec.id
        ask = DeltaShow(search=search, writer=head.writer, epoch=head.epoch, seq=head.seq)
        told = await self._calls.call(teller, "deltas/show", ask, DeltaShown)
        # Only both deltas together, each signed by the writer, are a proof: the teller's word alone is none.
        mine = await self.show(head.writer, head.epoch, head.seq)
        proof = DeltaProof(search=search, one=mine, other=told.delta)
        if await self.take(proof):
            await self._calls.tell("deltas/proof", proof, [peer for peer in readers if peer != head.writer])

    async def show(self, writer: str, epoch: int, seq: int) -> bytes:
        """The signed delta that this node holds under a number. Errors: ``input.not_found``."""
        held = await self._store.deltas(self._replica.spec.id, peer=writer, epoch=epoch, after_seq=seq - 1)
        if not held or held[0].seq != seq:
            raise MeshError("input.not_found", "this node does not have that delta")
        return held[0].envelope

    async def take(self, proof: DeltaProof) -> bool:
        """Expel the writer whom ``proof`` convicts. True if that is news.

        Errors: ``delta.invalid``, ``envelope.*``, ``store.*``.
        """
        search = self._replica.spec.id
        found = delta.check_equivocation(proof.one, proof.other, search, self._peers.find_key)
        if found.writer == self._peers.me or found.writer in self._replica.expelled:
            return False
        log.error("%s wrote two deltas under number %d of %s", ids.short(found.writer), found.seq, search)
        # The proof first, so that after a crash the reason of the expulsion is known.
        await self._store.put_meta(
            proof_key(search, found.writer), cbor.encode(_Kept(one=proof.one, other=proof.other))
        )
        await self._replica.drop(found.writer, "delta.equivocation")
        return True
