"""The checkpoints that this node holds of the logs of its peers. A peer whose log contradicts itself is frozen, with the proof.

A checkpoint comes from its own node, with a proof that it continues the held one. If another node shows it, its own node is asked
for that proof. A missing proof does not prove misbehaviour, but the node is suspended until it gives one. A log that replaces
another is accepted once its openings account for the held checkpoint (``protocol/log/log_renewal.py``). The last checkpoints of
former logs are kept.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import NoReturn

from adapters.ports.clock import Clock
from adapters.ports.store import Store
from node.log.log_watch import LogAnswer, LogWatch
from node.log.stored import EQUIVOCATIONS, HEADS, EquivocationRecord, HeadRecord
from node.signing import open_opening
from node.trust import Calls
from protocol import ids, limits
from protocol.audit import NODE
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.log import log_proof, log_renewal, merkle, note, witness_log
from protocol.log.log_proof import Equivocation, key_of
from protocol.log.log_renewal import Signed
from protocol.log.note import Note
from protocol.log.witness_log import Checkpoint, Link, Standing, judge
from protocol.messages import LogConsistency, LogConsistencyAsk, LogSync

log = logging.getLogger(__name__)

_SHOWN = {
    Standing.SAME: LogAnswer.CURRENT,
    Standing.AHEAD: LogAnswer.CURRENT,
    Standing.BEHIND: LogAnswer.BEHIND,
    Standing.REPLACED: LogAnswer.BEHIND,
    Standing.UNCONNECTED: LogAnswer.UNPROVEN,
    Standing.UNPROVEN: LogAnswer.UNPROVEN,
    Standing.CONTRADICTS: LogAnswer.CONTRADICTING,
}
_NO_LINK = Link(base_size=0, base_root=b"", proof=())


class PeerLogs:
    """The newest checkpoint of each peer, and the faults of its log."""

    def __init__(self, calls: Calls, store: Store, clock: Clock) -> None:
        self._calls, self._peers = calls, calls.peers
        self._store = store
        self._clock = clock
        self.watch = LogWatch(self._peers, store, clock)
        """The records of what each peer showed."""
        self._held: dict[str, Signed] = {}
        self._unconnected: dict[str, dict[tuple[int, int, bytes], Signed]] = {}
        """Checkpoints shown by other nodes that their own node has not yet proven consistent with ours."""
        self._proofs: dict[str, bytes] = {}
        self._judging = asyncio.Lock()

    async def load(self) -> None:
        """Read the stored checkpoints. Those of former peers stay in the store and are not loaded."""
        await self.watch.load()
        await self.recall()
        for node in self._peers.everybody():
            if self.watch.of(node).suspended:
                self._peers.freeze(node, "log.unproven")
                for other in self._still_its_own(node, self.watch.of(node).unconnected):
                    self._keep_unconnected(node, other)
        for found in await self._store.rows(EQUIVOCATIONS).find():
            self._proofs[found.node] = found.proof
            self._peers.freeze(found.node, "log.equivocation")

    async def recall(self, node: str = "") -> None:
        """Load the stored checkpoint of one peer, or of all."""
        for head in await self._store.rows(HEADS).find():
            if self._peers.knows(head.node) and node in ("", head.node):
                self._take_up(head)

    def _take_up(self, head: HeadRecord) -> None:
        """Use a stored checkpoint, unless a recovery has since disowned its key."""
        try:
            self.watch.current_ms[head.node] = head.seen_ms
            keys = self._peers.public_keys_of(head.node)
            self._held[head.node] = witness_log.open_checkpoint(head.checkpoint, head.node, *keys)
        except MeshError as error:
            log.warning("the stored checkpoint of %s is ignored: %s", ids.short(head.node), error)

    def forget(self, node: str) -> None:
        """Drop the checkpoint of ``node`` from memory. It stays in the store."""
        self._held.pop(node, None)
        self._unconnected.pop(node, None)

    def held(self, node: str) -> Signed | None:
        """The checkpoint held of a peer's log; None if a recovery has disowned the key that signed it (the key of a thief)."""
        held = self._held.get(node)
        if held is None or not self._peers.knows(node):
            return held
        if not witness_log.is_signed(held[1], *self._peers.public_keys_of(node)):
            log.warning("the stored checkpoint of %s was signed by a key that the node has disowned", ids.short(node))
            held = None
            self.forget(node)
        return held

    def proof(self, node: str) -> bytes:
        """The proof that ``node`` has signed two histories; empty if there is none."""
        return self._proofs.get(node, b"")

    def past(self, node: str) -> list[Signed]:
        """The last known checkpoints of a peer's former logs, oldest first; without those of disowned keys."""
        return self._still_its_own(node, self.watch.of(node).past)

    def _still_its_own(self, node: str, notes: Sequence[bytes]) -> list[Signed]:
        keys = self._peers.public_keys_of(node) if notes and self._peers.knows(node) else ()
        parsed = [note.parse(data) for data in notes]
        return [(witness_log.peek(signed), signed) for signed in parsed if witness_log.is_signed(signed, *keys)]

    def later(self, node: str, number: int) -> Signed | None:
        """A checkpoint, shown by others, of a log of ``node`` with a higher number than ``number``."""
        later = [other for other in self._unconnected.get(node, {}).values() if other[0].number > number]
        return max(later, key=lambda other: (other[0].number, other[0].size), default=None)

    # --- what the node itself says -----------------------------------------------------------------------------------

    async def hear(self, node: str, said: LogSync) -> LogAnswer:
        """Judge a peer's own checkpoint; store it or act on the fault. Returns the standing of the log.

        Errors: ``log.invalid``, ``envelope.*``; ``log.equivocation`` and ``log.unproven`` once the peer is frozen for it.
        """
        told, signed = witness_log.open_checkpoint(said.head, node, self._peers.public_key(node))
        opening = open_opening(said.opening, node, self._peers.find_key)
        begun = witness_log.beginning(node, said.opening, opening)
        if begun.number != told.number:
            raise MeshError("log.invalid", "the opening belongs to another log than the checkpoint")
        openings = [open_opening(sealed, node, self._peers.find_key) for sealed in said.openings]
        keys = self._peers.public_keys_of(node)
        named = [one for each in (*openings, opening) for one in log_renewal.named_by(each, node, *keys)]
        link = Link(base_size=said.base_size, base_root=said.base_root, proof=said.hashes)
        async with self._judging:
            held = self.held(node)
            known = held is not None and held[0].number >= told.number
            if held is not None and not known:
                replaced = await self._account(node, held, told, named, said)
                if replaced is not LogAnswer.CURRENT:
                    return replaced
            standing = judge(held[0] if known and held else begun, told, link)
            if self.later(node, told.number) is not None:
                standing = Standing.UNPROVEN  # others showed a later log of this node, which it does not show itself
            if standing is Standing.CONTRADICTS and not known:
                standing = Standing.UNPROVEN  # we hold no signed checkpoint of the log's opening
            if standing in (Standing.SAME, Standing.AHEAD):
                if not known:
                    restored = any(each.others for each in (*openings, opening))
                    await self._replace(node, held, named, restored=restored)
                await self._hold(told, signed)
            elif standing is Standing.CONTRADICTS and held is not None:
                await self._found(node, held, (told, signed), link)
            elif standing is Standing.UNPROVEN:
                await self._suspend(node)
        return _SHOWN[standing]

    async def _account(
        self, node: str, held: Signed, told: Checkpoint, named: Sequence[Signed], said: LogSync
    ) -> LogAnswer:
        """Return CURRENT if ``named`` accounts for the stored checkpoint of the log that is replaced. Errors:
        ``log.equivocation``."""
        for before in (held, *self.past(node)):
            for one in named:
                if (one[0].number, one[0].size) == (before[0].number, before[0].size) and one[0].root != before[0].root:
                    await self._found(node, before, one, _NO_LINK)
        link = Link(base_size=said.former_size, base_root=b"", proof=said.former_hashes)
        standing, _ = log_renewal.account(held[0], told.number, [one for one, _ in named], link)
        if standing is Standing.UNPROVEN:
            await self._suspend(node)
        return _SHOWN[standing]

    async def _replace(self, node: str, held: Signed | None, named: Sequence[Signed], *, restored: bool) -> None:
        """Keep the last checkpoints of the former logs. A log that lost entries is reported to the owner or suspended, by policy.

        The peer itself cannot lift a suspension: one that was suspended for lost entries waits for the owner of this node.
        """
        keys = self._peers.public_keys_of(node)
        notes = [signed for _, signed in (*self.past(node), *([held] if held else ()), *named)]
        past = tuple(dict.fromkeys(witness_log.bare(signed, *keys).encode() for signed in notes))
        past = past[-limits.LOG_PAST_KEPT_MAX :]
        if held is None:
            await self.watch.change(node, past=past)
            return
        await self.watch.renewed(node, past, restored=restored)
        if restored and (self._peers.policy.log_silence == "freeze" or self.watch.of(node).suspended):
            await self._suspend(node, by_owner=True)

    async def accept(self, node: str) -> None:
        """Accept the present log of ``node`` by decision of this node's owner, which ends a suspension. Checkpoints of
        former logs are kept.

        Equivocation is not forgiven. Errors: ``store.*``.
        """
        async with self._judging:
            if not self.watch.of(node).suspended:
                return
            held = self._held.pop(node, None)
            self._unconnected.pop(node, None)
            past = (*self.watch.of(node).past, *([held[1].encode()] if held else ()))
            await self.watch.change(node, by_owner=False, past=tuple(dict.fromkeys(past))[-limits.LOG_PAST_KEPT_MAX :])
            await self._thaw(node)

    async def _hold(self, told: Checkpoint, signed: Note) -> None:
        kept = witness_log.bare(signed, *self._peers.public_keys_of(told.node))
        head = HeadRecord(node=told.node, checkpoint=kept.encode(), seen_ms=self._clock.now_ms())
        await self._store.rows(HEADS).put(head)
        self._held[told.node] = (told, kept)
        unconnected = self._unconnected.get(told.node, {})
        left = {key: other for key, other in unconnected.items() if other[0] != told}
        self._unconnected[told.node] = left
        if not left:
            await self._thaw(told.node)

    async def _suspend(self, node: str, *, by_owner: bool = False) -> None:
        log.warning("the log of %s is not proven to extend what was seen of it", ids.short(node))
        unconnected = tuple(signed.encode() for _, signed in self._unconnected.get(node, {}).values())
        await self.watch.change(
            node, suspended=True, by_owner=by_owner or self.watch.of(node).by_owner, unconnected=unconnected
        )
        await self._freeze(node, "log.unproven")

    async def _freeze(self, node: str, code: str) -> None:
        before = self._peers.frozen.get(node)
        self._peers.freeze(node, code)  # before writing the row: a full disk must not delay the freeze
        if self._peers.frozen[node] != before:
            await self._peers.trail.write("peer.frozen", who=NODE, subject=node, code=code)
            await self._peers.feed.tell(FeedKind.PEER_FROZEN, node, who=NODE)

    async def _thaw(self, node: str) -> None:
        if self.watch.of(node).by_owner:
            return
        await self.watch.change(node, suspended=False, unconnected=())
        if self._peers.frozen.get(node) == "log.unproven":
            await self._peers.trail.write("peer.thawed", who=NODE, subject=node)
            self._peers.thaw(node)
            await self._peers.feed.tell(FeedKind.PEER_UNFROZEN, node, who=NODE)

    async def _found(self, node: str, one: Signed, other: Signed, link: Link) -> NoReturn:
        """Store two contradicting checkpoints as proof and freeze their node. Errors: ``log.equivocation``."""
        first, second = sorted((one, other), key=lambda signed: signed[0].size)
        larger = second[0].size > first[0].size
        proof = Equivocation(
            signer=key_of(node, self._peers.public_key(node), self._peers.key_log(node)),
            first=first[1].encode().decode(),
            second=second[1].encode().decode(),
            first_root=link.base_root if larger else b"",
            hashes=link.proof if larger else (),
        )
        await self._convict(proof)
        raise MeshError("log.equivocation", node=node)

    async def _convict(self, proof: Equivocation) -> None:
        log_proof.check_equivocation(proof)
        node, data = proof.signer.node, log_proof.encode(proof)
        found = EquivocationRecord(node=node, proof=data, found_ms=self._clock.now_ms())
        if await self._store.rows(EQUIVOCATIONS).add(found):
            log.error("%s has signed two histories of its log: it is frozen", ids.short(node))
            self._proofs[node] = data
        await self._freeze(node, "log.equivocation")

    # --- what others say ---------------------------------------------------------------------------------------------

    async def hear_proof(self, data: bytes) -> None:
        """Take a proof of equivocation that another peer passed on. It can be checked without trusting that peer. Errors:
        ``log.invalid``.
        """
        proof = log_proof.decode(data)
        if not isinstance(proof, Equivocation):
            raise MeshError("log.invalid", "a proof of equivocation is required")
        if self._peers.knows(proof.signer.node) and proof.signer.node not in self._proofs:
            await self._convict(proof)

    async def hear_from_others(self, data: bytes) -> None:
        """Take a checkpoint of a known node that another peer showed. Errors: ``log.invalid``, ``log.equivocation``."""
        node = witness_log.peek(note.parse(data)).node
        if not self._peers.knows(node) or node in self._proofs:
            return
        try:
            # Accept any key the node ever had: the other peer may hold a checkpoint from before a rotation, and a dishonest
            # node could otherwise escape its old checkpoints by rotating its key.
            other = witness_log.open_checkpoint(data, node, *self._peers.public_keys_of(node))
        except MeshError as error:
            log.debug("a checkpoint of %s is ignored: %s", ids.short(node), error)
            return  # signed by a key that is unknown here, or disowned
        async with self._judging:
            held = self.held(node)
            former = held is not None and other[0].number < held[0].number
            known = self._of_log(node, other[0].number)
            if other[0] in (one for one, _ in known) or (former and not known):
                return
            against = next((one for one in known if one[0].size == other[0].size), None)
            if against is not None:
                try:
                    await self._found(node, against, other, _NO_LINK)
                except MeshError:
                    return  # the fault is of a third node, not of the peer that showed it
            self._keep_unconnected(node, other)

    def _keep_unconnected(self, node: str, other: Signed) -> None:
        unconnected = self._unconnected.setdefault(node, {})
        if len(unconnected) < limits.LOG_UNCONNECTED_PER_NODE_MAX:
            unconnected[other[0].number, other[0].size, other[0].root] = other

    def _of_log(self, node: str, number: int) -> list[Signed]:
        """The checkpoints known of log ``number`` of a peer, by size."""
        held = self.held(node)
        known = [*self.past(node), *([held] if held else ())]
        return sorted((one for one in known if one[0].number == number), key=lambda one: one[0].size)

    async def settle_unconnected(self, node: str) -> None:
        """Ask ``node`` to prove that its log as shown to others and as shown to us is the same.

        Errors: ``log.equivocation``, ``log.unproven``, ``peer.*``.
        """
        for key, other in list(self._unconnected.get(node, {}).items()):
            held, known = self.held(node), self._of_log(node, other[0].number)
            if held is None or other[0].number > held[0].number:
                continue
            if not known or other[0] in (one for one, _ in known):
                self._unconnected.get(node, {}).pop(key, None)
                continue
            await self._connect(node, known[-1], other)
            if self.held(node) is None:
                return
            self._unconnected.get(node, {}).pop(key, None)
        held = self.held(node)
        # Only checkpoints from others are settled here. A peer whose own head was not connected stays suspended until one is.
        if held is not None and not self._unconnected.get(node) and self.watch.of(node).shown is LogAnswer.CURRENT:
            await self._thaw(node)

    async def connect(self, node: str, data: bytes) -> None:
        """Check that ``data``, a checkpoint that ``node`` itself shows, is consistent with the stored one of that log.

        Errors: ``log.invalid``, ``log.equivocation``, ``log.unproven``, ``peer.*``.
        """
        shown = witness_log.open_checkpoint(data, node, *self._peers.public_keys_of(node))
        known = self._of_log(node, shown[0].number)
        if not known:
            raise MeshError("log.unproven", "this node has no checkpoint of that log", node=node)
        if shown[0] not in (one for one, _ in known):
            await self._connect(node, known[-1], shown)

    async def _connect(self, node: str, known: Signed, other: Signed) -> None:
        """Have ``node`` prove that ``other`` is consistent with the known checkpoint of that log. The larger one is held
        afterwards.

        Errors: ``log.equivocation``, ``log.unproven``, ``peer.*``.
        """
        first, second = sorted((known, other), key=lambda signed: signed[0].size)
        link = await self._ask_link(node, first[0], second[0])
        async with self._judging:
            held = self.held(node)
            if held is None:
                return  # in the meantime the key was disowned or the peer distrusted
            if link.base_root != first[0].root:
                await self._found(node, first, second, link)
            if second is other and known is held:
                await self._hold(*other)

    async def _ask_link(self, node: str, first: Checkpoint, second: Checkpoint) -> Link:
        """Ask ``node`` for a consistency proof between two sizes. The proof is valid, but its root may differ from the
        stored one. Errors: ``log.unproven``, …"""
        if (first.size, first.root) == (second.size, second.root):
            return Link(base_size=first.size, base_root=first.root, proof=())
        if first.size == second.size:
            return Link(base_size=first.size, base_root=second.root, proof=())
        ask = LogConsistencyAsk(log=first.number, old_size=first.size, new_size=second.size)
        try:
            told = await self._calls.call(node, "log/consistency", ask, LogConsistency)
        except MeshError as error:
            if error.retryable:
                raise
            if error.code == "log.rollback":  # the peer reports that it was restored from a copy and signs nothing
                raise MeshError(
                    "log.unproven", "the peer reports that entries of its log were lost", node=node
                ) from error
            await self._suspend(node)
            raise MeshError(
                "log.unproven", f"instead of proving its log the peer answered: {error.code}", node=node
            ) from error
        if not merkle.proves_consistency(first.size, second.size, told.old_root, second.root, told.hashes):
            await self._suspend(node)
            raise MeshError("log.unproven", node=node)
        return Link(base_size=first.size, base_root=told.old_root, proof=told.hashes)
