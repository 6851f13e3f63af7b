"""Checkpoints between peers: sent, judged, held, cosigned, passed on; what contradicts itself is kept as proof and frozen.

One call is a whole exchange: the caller's checkpoint with its proof, what it holds of the reader's log, and what both know of
others; the answer is the same from the other side. A node that has just started sends no checkpoint of its own before it has heard
what the peer holds of it: if its store was restored from a copy, it learns so before it contradicts itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NoReturn

import msgspec

from adapters.log_records import CosignedRecord, EquivocationRecord, HeadRecord
from adapters.ports import Clock, Store
from node.peers import Peers
from node.tasks import Tasks
from node.witness import Witness, open_opening
from protocol import ids, limits, log_proof, merkle, note, witness_log
from protocol.audit import NODE
from protocol.errors import MeshError
from protocol.log_proof import Equivocation, key_of
from protocol.messages import (
    KeyHead,
    LogConsistency,
    LogConsistencyAsk,
    LogProveAsk,
    LogProven,
    LogSync,
)
from protocol.note import Note
from protocol.witness_log import Checkpoint, Link, Standing, acquaintance, judge

log = logging.getLogger(__name__)

_TRIES = 3
"""Calls of one sync: hear what the peer holds, show what follows it, and once more if it had moved on meanwhile."""
_CLAIMS_PER_NODE_MAX = 8
Signed = tuple[Checkpoint, Note]


class LogExchange:
    """This node's knowledge of the logs of its peers."""

    def __init__(self, witness: Witness, peers: Peers, store: Store, clock: Clock) -> None:
        self._witness = witness
        self._peers = peers
        self._store = store
        self._clock = clock
        self._held: dict[str, Signed] = {}
        self._holds: dict[str, Checkpoint] = {}
        """What each peer was last heard to hold of our log."""
        self._tags: dict[str, frozenset[bytes]] = {}
        self._heads_told: dict[str, dict[bytes, bytes]] = {}
        """By peer and tag, where it said that key logs of nodes we both know end."""
        self._claims: dict[str, dict[tuple[int, int, bytes], Signed]] = {}
        """Checkpoints that others showed us and that their own node has not connected yet with what we hold."""
        self._proofs: dict[str, bytes] = {}
        self._judging = asyncio.Lock()
        self._tasks = Tasks()

    async def load(self) -> None:
        """Take up what the store holds. A checkpoint of a node that is no peer any more is left where it is."""
        await self.recall()
        for cosigned in await self._store.cosigned():
            if self._peers.met(cosigned.witness) and not self._peers.acts(cosigned.witness):
                await self._store.drop_cosigned(cosigned.witness)  # should a crash have come in between
        for found in await self._store.equivocations():
            self._proofs[found.node] = found.proof
            self._peers.freeze(found.node, "log.equivocation")

    async def recall(self, node: str = "") -> None:
        """Hold the stored checkpoint of one peer again, or those of all."""
        for head in await self._store.heads():
            if self._peers.knows(head.node) and node in ("", head.node):
                keys = self._peers.public_keys_of(head.node)
                self._held[head.node] = witness_log.open_checkpoint(head.checkpoint, head.node, *keys)

    async def forget(self, node: str) -> None:
        """Rely no more on what ``node`` said of anybody's log, ours included. Its own checkpoint stays in the store."""
        for known in (self._held, self._holds, self._tags, self._heads_told, self._claims):
            known.pop(node, None)
        await self._store.drop_cosigned(node)

    def acquainted(self, node: str) -> list[str]:
        """The other peers that said they know ``node``."""
        return [peer for peer in self._others(node) if self._tag(peer, node) in self._tags.get(peer, frozenset())]

    def held(self, node: str) -> Signed | None:
        """The checkpoint held of a peer's log."""
        return self._held.get(node)

    def proof(self, node: str) -> bytes:
        """The proof that ``node`` has signed two histories; empty if there is none."""
        return self._proofs.get(node, b"")

    # --- calling -----------------------------------------------------------------------------------------------------

    async def round(self) -> None:
        """Sync with every peer that can be called. What goes wrong with one does not concern the others."""
        called = [r.node for r in self._peers.records() if r.addresses and self._peers.acts(r.node)]
        called = [node for node in called if node not in self._proofs]
        results = await asyncio.gather(*(self.sync(node) for node in called), return_exceptions=True)
        for node, result in zip(called, results, strict=True):
            if isinstance(result, MeshError):
                log.log(
                    logging.DEBUG if result.retryable else logging.WARNING, "sync with %s: %s", ids.short(node), result
                )
            elif isinstance(result, BaseException):
                raise result

    def soon(self) -> None:
        """Begin a round beside what else is done now, such as opening a search."""
        self._tasks.start(self.round(), "log round")

    async def close(self) -> None:
        """Stop what ``soon`` began."""
        await self._tasks.close()

    async def sync(self, node: str) -> None:
        """Exchange checkpoints with one peer until both hold the other's newest, and settle what others said about it.

        Errors: ``log.rollback``, ``log.equivocation``, ``log.unproven``, ``log.invalid``, ``peer.*``, the peer's own.
        """
        for _ in range(_TRIES):
            shown = self._witness.log.checkpoint if node in self._holds else None
            answer = await self._peers.call(node, "log/checkpoint", await self._message(node), LogSync)
            await self._take(node, answer)
            if self._holds.get(node) == shown:
                break
        await self._settle_claims(node)
        frozen = self._peers.frozen.get(node)
        if frozen is not None:
            raise MeshError(frozen, node=node)

    async def on_sync(self, caller: str, ask: LogSync) -> LogSync:
        """A peer's sync. Errors: ``log.rollback``, ``log.equivocation``, ``log.invalid``, ``envelope.*``."""
        if caller in self._proofs:
            raise MeshError("log.equivocation", node=caller)
        await self._take(caller, ask)
        return await self._message(caller)

    async def on_consistency(self, caller: str, ask: LogConsistencyAsk) -> LogConsistency:
        """A peer asks how our log grew. Errors: ``input.invalid``."""
        link = await self._witness.link(ask.log, ask.old_size, ask.new_size)
        return LogConsistency(old_root=link.base_root, hashes=link.proof)

    async def on_prove(self, caller: str, ask: LogProveAsk) -> LogProven:
        """A peer asks for the proof of one of our artefacts; who asks knows it already. Errors: ``log.not_logged``."""
        return LogProven(proof=log_proof.encode(await self._witness.prove(ask.digest)))

    def routes(self) -> dict[str, Callable[[str, Any], Awaitable[msgspec.Struct]]]:
        """Handlers of the peer API, by route."""
        return {
            "log/checkpoint": self.on_sync,
            "log/consistency": self.on_consistency,
            "log/prove": self.on_prove,
        }

    async def _message(self, node: str) -> LogSync:
        """What ``node`` is to hear now."""
        tags = {self._tag(node, other): other for other in self._peers.everybody() if other != node}
        mutual = [other for tag, other in tags.items() if tag in self._tags.get(node, frozenset())]
        proofs = [self._proofs[other] for other in mutual if other in self._proofs]
        notes = [self._held[other][1].encode() for other in mutual if other in self._held and other not in self._proofs]
        said = LogSync(
            yours=self._yours(node),
            tags=tuple(tags)[: limits.PEERS_MAX],
            key_heads=self._key_heads(node, mutual),
            key_logs=self._key_logs(node, mutual),
            notes=tuple(notes[: limits.LOG_GOSSIP_NOTES_MAX]),
            proofs=tuple(proofs[: limits.LOG_GOSSIP_PROOFS_MAX]),
        )
        own = self._witness.log
        base = self._holds.get(node)
        if base is None or self._witness.rollback:
            return said
        base_size = base.size if base.number == own.checkpoint.number else 1
        link = await self._witness.link(own.checkpoint.number, base_size, own.checkpoint.size)
        return LogSync(
            head=own.signed.encode(),
            opening=own.opening,
            base_size=link.base_size,
            base_root=link.base_root,
            hashes=link.proof,
            yours=said.yours,
            tags=said.tags,
            notes=said.notes,
            proofs=said.proofs,
            key_heads=said.key_heads,
            key_logs=said.key_logs,
        )

    def _key_heads(self, node: str, mutual: Sequence[str]) -> tuple[KeyHead, ...]:
        known = [(other, self._peers.key_log(other)) for other in mutual]
        heads = [KeyHead(tag=self._tag(node, other), head=keys.head) for other, keys in known if keys]
        return tuple(heads[: limits.PEERS_MAX])

    def _key_logs(self, node: str, mutual: Sequence[str]) -> tuple[bytes, ...]:
        """The key logs that ``node`` is to be shown: it said that they end elsewhere."""
        told = self._heads_told.get(node, {})
        known = [(told.get(self._tag(node, other)), self._peers.key_log(other)) for other in mutual]
        differ = [keys for head, keys in known if keys and head not in (None, keys.head)]
        encoded = [keys.encode() for keys in sorted(differ, key=lambda keys: keys.active)]
        fitting = [data for data in encoded if len(data) <= limits.KEY_LOG_BYTES_MAX]
        return tuple(fitting[: limits.LOG_GOSSIP_KEY_LOGS_MAX])

    def _others(self, node: str) -> list[str]:
        return [record.node for record in self._peers.records() if record.node != node]

    def _tag(self, node: str, other: str) -> bytes:
        return acquaintance(self._peers.me, node, other)

    def _yours(self, node: str) -> bytes:
        """The reader's checkpoint, cosigned; one of a later log that others showed us, as it is."""
        held = self._held.get(node)
        later = self._later(node, held[0].number if held else -1)
        if later is not None:
            return later[1].encode()
        return held[1].with_line(self._witness.cosign(held[1])).encode() if held else b""

    def _later(self, node: str, number: int) -> Signed | None:
        """A checkpoint of a later log of ``node`` than ``number``, shown to us by others."""
        later = [claim for claim in self._claims.get(node, {}).values() if claim[0].number > number]
        return max(later, key=lambda claim: (claim[0].number, claim[0].size), default=None)

    # --- hearing -----------------------------------------------------------------------------------------------------

    async def _take(self, node: str, said: LogSync) -> None:
        """Everything a peer said, in order: about us, about itself, about others. Errors: those of ``on_sync``."""
        self._tags[node] = frozenset(said.tags)
        self._heads_told[node] = {told.tag: told.head for told in said.key_heads}
        for data in said.key_logs:
            await self._hear_keys(data)
        await self._hear_of_us(node, said.yours)
        if said.head:
            await self._hear(node, said)
        for data in said.proofs:
            await self._hear_proof(data)
        for data in said.notes:
            await self._hear_claim(data)

    async def _hear_of_us(self, node: str, data: bytes) -> None:
        """What a peer holds of our log: does ours continue it? Its cosignature is kept. Errors: ``log.rollback``, …

        What it has not cosigned it was shown by others and does not hold.
        """
        me = self._peers.me
        nothing = Checkpoint(node=me, number=-1, size=1, root=b"")  # whoever has only the opening, holds size 1
        if not data:
            self._holds[node] = nothing
            return
        seen, signed = witness_log.open_checkpoint(data, me, *self._witness.public_keys)
        await self._witness.compare(seen, signed)
        key = self._peers.public_key(node)
        time_s = witness_log.cosigned_at(signed, node, key)
        self._holds[node] = nothing if time_s is None else seen
        named = key_of(node, key, self._peers.key_log(node))
        if time_s is not None and len(named.key_log) <= limits.LOG_COSIGNER_KEYS_BYTES_MAX:
            name = witness_log.cosigner(node)
            plain = witness_log.bare(signed, *self._witness.public_keys)
            line = next(str(line)[:-1] for line in signed.lines if line.name == name)
            await self._store.put_cosigned(
                CosignedRecord(
                    witness=node,
                    public_key=key,
                    key_log=named.key_log,
                    log=seen.number,
                    size=seen.size,
                    checkpoint=plain.encode(),
                    line=line,
                    time_s=time_s,
                )
            )

    async def _hear(self, node: str, said: LogSync) -> None:
        """A peer's own checkpoint: judge it and hold it, or act on what is wrong with it.

        Errors: ``log.invalid``, ``envelope.*``; ``log.equivocation`` and ``log.unproven`` once the peer is frozen for it.
        """
        told, signed = witness_log.open_checkpoint(said.head, node, self._peers.public_key(node))
        opening = open_opening(said.opening, node, self._peers.find_key)
        begun = witness_log.beginning(node, said.opening, opening)
        if begun.number != told.number:
            raise MeshError("log.invalid", "the opening is of another log than the checkpoint")
        link = Link(base_size=said.base_size, base_root=said.base_root, proof=said.hashes)
        async with self._judging:
            held = self._held.get(node)
            known = held is not None and held[0].number >= told.number
            standing = judge(held[0] if known and held else begun, told, link)
            if self._later(node, told.number) is not None:
                standing = Standing.UNPROVEN  # others hold a later log of it, which it does not own up to
            if standing is Standing.CONTRADICTS and not known:
                standing = Standing.UNPROVEN  # of its opening the node has signed no checkpoint that we hold
            if standing in (Standing.SAME, Standing.AHEAD):
                await self._hold(told, signed)
            elif standing is Standing.CONTRADICTS and held is not None:
                await self._found(node, held, (told, signed), link)
            elif standing is Standing.UNPROVEN:
                await self._suspend(node)

    async def _hold(self, told: Checkpoint, signed: Note) -> None:
        kept = witness_log.bare(signed, *self._peers.public_keys_of(told.node))
        head = HeadRecord(node=told.node, checkpoint=kept.encode(), seen_ms=self._clock.now_ms())
        await self._store.put_head(head)
        self._held[told.node] = (told, kept)
        claims = self._claims.get(told.node, {})
        open_claims = {
            key: claim for key, claim in claims.items() if claim[0].number >= told.number and claim[0] != told
        }
        self._claims[told.node] = open_claims
        if not open_claims:
            await self._thaw(told.node)

    async def _suspend(self, node: str) -> None:
        log.warning("the log of %s could not be shown to continue what was seen of it", ids.short(node))
        await self._distrust(node, "log.unproven")

    async def _distrust(self, node: str, code: str) -> None:
        before = self._peers.frozen.get(node)
        self._peers.freeze(node, code)  # before the row: a full disk must not keep trust alive
        if self._peers.frozen[node] != before:
            await self._peers.trail.write("peer.frozen", who=NODE, subject=node, code=code)

    async def _thaw(self, node: str) -> None:
        if self._peers.frozen.get(node) == "log.unproven":
            await self._peers.trail.write("peer.thawed", who=NODE, subject=node)
            self._peers.thaw(node)

    async def _found(self, node: str, one: Signed, other: Signed, link: Link) -> NoReturn:
        """Two checkpoints that contradict each other: keep them and freeze their node. Errors: ``log.equivocation``."""
        first, second = sorted((one, other), key=lambda signed: signed[0].size)
        larger = second[0].size > first[0].size
        proof = Equivocation(
            signer=key_of(node, self._peers.public_key(node), self._peers.key_log(node)),
            first=first[1].encode().decode(),
            second=second[1].encode().decode(),
            first_root=link.base_root if larger else b"",
            hashes=link.proof if larger else (),
        )
        await self._freeze(proof)
        raise MeshError("log.equivocation", node=node)

    async def _freeze(self, proof: Equivocation) -> None:
        log_proof.check_equivocation(proof)
        node, data = proof.signer.node, log_proof.encode(proof)
        found = EquivocationRecord(node=node, proof=data, found_ms=self._clock.now_ms())
        if await self._store.put_equivocation(found):
            log.error("%s has signed two histories of its log: it is frozen", ids.short(node))
            self._proofs[node] = data
        await self._distrust(node, "log.equivocation")

    # --- what others say ---------------------------------------------------------------------------------------------

    async def _hear_keys(self, data: bytes) -> None:
        """A key log another peer passed on: it proves itself. One that shows nothing is left aside."""
        try:
            await self._peers.adopt(data)
        except MeshError as error:
            log.debug("a key log that a peer passed on is left aside: %s", error)
        await asyncio.sleep(0)  # checking a long one takes some ten milliseconds

    async def _hear_proof(self, data: bytes) -> None:
        """A proof another peer passed on: it speaks for itself. Errors: ``log.invalid``."""
        proof = log_proof.decode(data)
        if not isinstance(proof, Equivocation):
            raise MeshError("log.invalid", "a proof of equivocation is expected")
        if self._peers.knows(proof.signer.node) and proof.signer.node not in self._proofs:
            await self._freeze(proof)

    async def _hear_claim(self, data: bytes) -> None:
        """A checkpoint of a node we know, shown by another peer. Errors: ``log.invalid``, ``log.equivocation``."""
        node = witness_log.peek(note.parse(data)).node
        if not self._peers.knows(node) or node in self._proofs:
            return
        try:
            claim = witness_log.open_checkpoint(data, node, self._peers.public_key(node))
        except MeshError as error:
            log.debug("a checkpoint of %s is left aside: %s", ids.short(node), error)
            return  # who tells us may not have heard yet that its node has changed its key
        async with self._judging:
            held = self._held.get(node)
            if held is not None and (claim[0].number < held[0].number or claim[0] == held[0]):
                return
            if held is not None and (claim[0].number, claim[0].size) == (held[0].number, held[0].size):
                nothing = Link(base_size=0, base_root=b"", proof=())
                try:
                    await self._found(node, held, claim, nothing)
                except MeshError:
                    return  # of a third node: who told us is not to blame
            claims = self._claims.setdefault(node, {})
            if len(claims) < _CLAIMS_PER_NODE_MAX:
                claims[claim[0].number, claim[0].size, claim[0].root] = claim

    async def _settle_claims(self, node: str) -> None:
        """Have ``node`` connect what others showed of its log with what it showed us.

        Errors: ``log.equivocation``, ``log.unproven``, ``peer.*``.
        """
        held = self._held.get(node)
        for key, claim in list(self._claims.get(node, {}).items()):
            if held is None or claim[0].number != held[0].number:
                continue
            first, second = sorted((held, claim), key=lambda signed: signed[0].size)
            link = await self._ask_link(node, first[0], second[0])
            async with self._judging:
                if link.base_root != first[0].root:
                    await self._found(node, first, second, link)
                self._claims[node].pop(key, None)
                if second is claim and self._held.get(node) is held:
                    await self._hold(*claim)
                held = self._held[node]
        if held is not None and not self._claims.get(node):
            await self._thaw(node)

    async def _ask_link(self, node: str, first: Checkpoint, second: Checkpoint) -> Link:
        """How ``node`` says the first became the second; the proof holds, the root may be another. Errors: ``log.unproven``, …"""
        if (first.size, first.root) == (second.size, second.root):
            return Link(base_size=first.size, base_root=first.root, proof=())
        if first.size == second.size:
            return Link(base_size=first.size, base_root=second.root, proof=())
        ask = LogConsistencyAsk(log=first.number, old_size=first.size, new_size=second.size)
        try:
            told = await self._peers.call(node, "log/consistency", ask, LogConsistency)
        except MeshError as error:
            if error.retryable:
                raise
            await self._suspend(node)
            raise MeshError("log.unproven", f"asked for its log, the peer answered: {error.code}", node=node) from error
        if not merkle.proves_consistency(first.size, second.size, told.old_root, second.root, told.hashes):
            await self._suspend(node)
            raise MeshError("log.unproven", node=node)
        return Link(base_size=first.size, base_root=told.old_root, proof=told.hashes)
