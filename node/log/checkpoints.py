"""Sends, cosigns and passes on checkpoints between peers. ``node/log/peer_logs.py`` judges the checkpoints that are received.

One call is a complete exchange. The caller sends its checkpoint with its proof, the checkpoint of the reader's log that it holds,
and checkpoints of other nodes that both know. The answer has the same form. A node that has just started sends no checkpoint of
its own before it has heard which one the peer holds. If its store was restored from a backup, it learns this before it signs a
second history.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import msgspec

from adapters.cosigned_records import COSIGNED, CosignedRecord
from adapters.ports.clock import Clock
from adapters.ports.store import Store
from node.base.tasks import Tasks
from node.log.log_watch import LogAnswer
from node.log.peer_logs import PeerLogs
from node.signing import Witness
from node.trust import Calls
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.log import log_proof, note, witness_log
from protocol.log.log_proof import key_of
from protocol.log.witness_log import TAG_BYTES, Checkpoint, acquaintance
from protocol.messages import (
    KeyHead,
    LogConsistency,
    LogConsistencyAsk,
    LogProveAsk,
    LogProven,
    LogSync,
)

log = logging.getLogger(__name__)

_TRIES = 3
"""Calls of one sync: learn what the peer holds, send what follows it, and repeat once if the peer's log grew meanwhile."""


class LogExchange:
    """Exchanges checkpoints with each peer: of this node's log, of the peer's log, and of logs of other nodes."""

    def __init__(self, witness: Witness, calls: Calls, store: Store, clock: Clock) -> None:
        self._witness = witness
        self._calls, self._peers = calls, calls.peers
        self._store = store
        self.peer_logs = PeerLogs(calls, store, clock)
        self._holds: dict[str, Checkpoint] = {}
        """The checkpoint of our log that each peer last reported to hold."""
        self._tags: dict[str, bytes] = {}
        """The nodes that each peer knows: their tags, concatenated. As separate objects, the tags of 1,000 peers would be a
        million objects, and each full garbage collection would block the event loop for 100 ms."""
        self._heads_told: dict[str, dict[bytes, bytes]] = {}
        """By peer and tag: the length of the key log that the peer has of a node we both know."""
        self._composing = asyncio.Lock()
        self._told: Counter[str] = Counter()
        """How often each peer was sent checkpoints of others."""
        self._tasks = Tasks()

    async def load(self) -> None:
        """Load the stored state."""
        await self.peer_logs.load()
        for cosigned in await self._store.rows(COSIGNED).find():
            if self._peers.met(cosigned.witness) and not self._peers.acts(cosigned.witness):
                await self._store.rows(COSIGNED).remove(cosigned.witness)  # in case of a crash between the two writes

    async def forget(self, node: str) -> None:
        """Discard everything that ``node`` reported about any log, including ours. Its own checkpoint stays in the store."""
        for known in (self._holds, self._tags, self._heads_told, self._told):
            known.pop(node, None)
        self.peer_logs.forget(node)
        await self._store.rows(COSIGNED).remove(node)

    def acquainted(self, node: str) -> list[str]:
        """The other peers that said they know ``node``."""
        return [peer for peer in self._others(node) if self._knows(peer, node)]

    @property
    def answered(self) -> int:
        """The number of peers that, since this node was opened, reported a checkpoint of our log that we have."""
        return len(self._holds)

    # --- calling -----------------------------------------------------------------------------------------------------

    async def round(self) -> None:
        """Sync with every peer that can be called. An error with one does not affect the others."""
        called = [r.node for r in self._peers.records() if r.addresses and self._peers.acts(r.node)]
        called = [node for node in called if not self.peer_logs.proof(node)]
        waiting = iter(called)
        await asyncio.gather(*(self._sync_some(waiting) for _ in range(limits.LOG_SYNCS_AT_ONCE_MAX)))

    async def _sync_some(self, waiting: Iterator[str]) -> None:
        """Sync with the peers of ``waiting`` one by one. Several tasks share the list, so that an unreachable peer does not
        delay the rest."""
        for node in waiting:
            try:
                await self.sync(node)
            except MeshError as error:
                log.log(
                    logging.DEBUG if error.retryable else logging.WARNING, "sync with %s: %s", ids.short(node), error
                )
            except Exception:
                log.exception("defect in the sync with %s", ids.short(node))
        await self.peer_logs.watch.weigh_all()

    def soon(self) -> None:
        """Begin a round in the background, for example when a search is opened."""
        self._tasks.start(self.round(), "log round")

    async def close(self) -> None:
        """Stop the rounds that ``soon`` began."""
        await self._tasks.close()

    async def sync(self, node: str) -> None:
        """Exchange checkpoints with one peer until both hold the other's newest, and settle what others said about it.

        Errors: ``log.rollback``, ``log.equivocation``, ``log.unproven``, ``log.invalid``, ``peer.*``, the peer's own.
        """
        heard, told = LogAnswer.SILENT, (0, 0)
        try:
            for _ in range(_TRIES):
                shown = self._witness.log.checkpoint if node in self._holds else None
                answer = await self._ask(node)
                heard, told = await self._take(node, answer), _size_in(answer)
                if self._holds.get(node) == shown and heard is LogAnswer.CURRENT:
                    break
        except MeshError as error:
            if error.code in ("log.equivocation", "log.invalid"):
                heard = LogAnswer.CONTRADICTING if error.code == "log.equivocation" else LogAnswer.UNPROVEN
                await self.peer_logs.watch.note(node, heard)
            raise
        await self.peer_logs.watch.note(node, heard, told)
        await self.peer_logs.settle_unconnected(node)
        frozen = self._peers.frozen.get(node)
        if frozen is not None:
            raise MeshError(frozen, node=node)

    async def demand(self, node: str, digest: bytes) -> None:
        """Ask ``node`` to prove that the artefact with this SHA-256 is in its log, in the state that this node holds.

        Errors: ``log.not_logged``, ``log.invalid``; ``log.equivocation``, ``log.unproven``, ``log.rollback``, ``peer.*``, the
        peer's own.
        """
        told = await self._calls.call(node, "log/prove", LogProveAsk(digest=digest), LogProven)
        proof = log_proof.decode(told.proof)
        if not isinstance(proof, log_proof.InclusionProof) or (proof.digest, proof.signer.node) != (digest, node):
            raise MeshError("log.invalid", "the peer's proof is about something else", node=node)
        finding = log_proof.check_inclusion(proof)
        held = self.peer_logs.held(node)
        try:
            if held is None or witness_log.parse_origin(finding.log)[1] > held[0].number:
                await self.sync(node)
            await self.peer_logs.connect(node, proof.checkpoint.encode())
        except MeshError as error:
            if error.code != "log.invalid":
                raise
            # The proof itself is sound. The peer may have signed its checkpoint with a key that this node has not heard of yet.
            raise MeshError("log.unproven", f"its checkpoint: {error.message}", node=node) from error

    async def _ask(self, node: str) -> LogSync:
        """The peer's answer. A refusal counts as one that shows no log."""
        try:
            return await self._calls.call(node, "log/checkpoint", await self._composed(node), LogSync)
        except MeshError as error:
            if not error.retryable and not error.code.startswith(("peer.", "keylog.", "envelope.")):
                await self.peer_logs.watch.note(node, LogAnswer.SILENT)
            raise

    async def on_sync(self, caller: str, ask: LogSync) -> LogSync:
        """A peer's sync. Errors: ``log.rollback``, ``log.equivocation``, ``log.invalid``, ``envelope.*``."""
        if self.peer_logs.proof(caller):
            raise MeshError("log.equivocation", node=caller)
        if await self._take(caller, ask) is LogAnswer.CURRENT:
            await self.peer_logs.watch.note(caller, LogAnswer.CURRENT)
        return await self._composed(caller)

    async def on_consistency(self, caller: str, ask: LogConsistencyAsk) -> LogConsistency:
        """A peer asks for a consistency proof of our log. Errors: ``input.invalid``; ``log.rollback``: this node lost those
        entries."""
        if self._witness.rollback:
            raise MeshError("log.rollback")
        link = await self._witness.link(ask.log, ask.old_size, ask.new_size)
        return LogConsistency(old_root=link.base_root, hashes=link.proof)

    async def on_prove(self, caller: str, ask: LogProveAsk) -> LogProven:
        """The inclusion proof of an artefact of this node. Any peer may ask, because knowing the digest shows that it has
        the artefact. Errors: ``log.not_logged``."""
        try:
            return LogProven(proof=log_proof.encode(await self._witness.prove(ask.digest)))
        except MeshError:
            if self._witness.rollback:
                # After a rollback this node cannot know whether the artefact was in its log.
                raise MeshError("log.rollback") from None
            raise

    @property
    def routes(self) -> dict[str, Callable[[str, Any], Awaitable[msgspec.Struct]]]:
        """Handlers of the peer API, by route."""
        return {
            "log/checkpoint": self.on_sync,
            "log/consistency": self.on_consistency,
            "log/prove": self.on_prove,
        }

    async def _composed(self, node: str) -> LogSync:
        """Compose one message at a time, and let other tasks run before each: with many peers one takes milliseconds."""
        async with self._composing:
            await asyncio.sleep(0)
            return await self._message(node)

    async def _message(self, node: str) -> LogSync:
        """The message to send to ``node`` now."""
        tags = {self._tag(node, other): other for other in self._peers.everybody() if other != node}
        shared = self._tags_of(node)
        mutual = [other for tag, other in tags.items() if tag in shared]
        proofs = [proof for other in mutual if (proof := self.peer_logs.proof(other))]
        notes = [
            held[1].encode()
            for other in mutual
            if (held := self.peer_logs.held(other)) and not self.peer_logs.proof(other)
        ]
        turn = self._told[node]
        self._told[node] += 1
        yours, later = self._yours(node)
        said = LogSync(
            yours=yours,
            later=later,
            tags=tuple(tags)[: limits.PEERS_MAX],
            key_heads=self._key_heads(node, mutual),
            key_logs=self._key_logs(node, mutual),
            notes=_share(notes, limits.LOG_GOSSIP_NOTES_MAX, turn),
            proofs=_share(proofs, limits.LOG_GOSSIP_PROOFS_MAX, turn),
        )
        own = self._witness.log
        base = self._holds.get(node)
        if base is None or self._witness.rollback:
            return said
        base_size = base.size if base.number == own.checkpoint.number else 1
        former = await self._witness.former(base)
        link = await self._witness.link(own.checkpoint.number, base_size, own.checkpoint.size)
        return LogSync(
            head=own.signed.encode(),
            opening=own.opening,
            base_size=link.base_size,
            base_root=link.base_root,
            hashes=link.proof,
            openings=await self._witness.openings(base.number, own.checkpoint.number),
            former_size=former.base_size,
            former_hashes=former.proof,
            yours=said.yours,
            later=said.later,
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
        """The key logs to send to ``node``, because it reported a different end of them."""
        told = self._heads_told.get(node, {})
        known = [(told.get(self._tag(node, other)), self._peers.key_log(other)) for other in mutual]
        differ = [keys for head, keys in known if keys and head not in (None, keys.head)]
        encoded = [keys.encode() for keys in sorted(differ, key=lambda keys: keys.active)]
        fitting = [data for data in encoded if len(data) <= limits.KEY_LOG_BYTES_MAX]
        return tuple(fitting[: limits.LOG_GOSSIP_KEY_LOGS_MAX])

    def _others(self, node: str) -> list[str]:
        return [record.node for record in self._peers.records() if record.node != node]

    def _knows(self, peer: str, node: str) -> bool:
        tag, tags = self._tag(peer, node), self._tags.get(peer, b"")
        place = tags.find(tag)
        while place % TAG_BYTES and place > 0:  # the match spans two tags
            place = tags.find(tag, place + 1)
        return place >= 0

    def _tags_of(self, node: str) -> frozenset[bytes]:
        tags = self._tags.get(node, b"")
        return frozenset(tags[start : start + TAG_BYTES] for start in range(0, len(tags), TAG_BYTES))

    def _tag(self, node: str, other: str) -> bytes:
        return acquaintance(self._peers.me, node, other)

    def _yours(self, node: str) -> tuple[bytes, bytes]:
        """The reader's checkpoint with our cosignature, and without one a checkpoint of a later log that others showed us."""
        held = self.peer_logs.held(node)
        later = self.peer_logs.later(node, held[0].number if held else -1)
        cosigned = held[1].with_line(self._witness.cosign(held[1])).encode() if held else b""
        return cosigned, later[1].encode() if later else b""

    # --- hearing -----------------------------------------------------------------------------------------------------

    async def _take(self, node: str, said: LogSync) -> LogAnswer:
        """Process a peer's message, in order: about our log, its own log, other logs. Returns what it showed of its own log.

        Errors: those of ``on_sync``.
        """
        self._tags[node] = b"".join(said.tags)
        self._heads_told[node] = {told.tag: told.head for told in said.key_heads}
        for data in said.key_logs:
            await self._hear_keys(data)
        await self._hear_of_us(node, said.yours)
        if said.later:
            await self._witness.compare(
                *witness_log.open_checkpoint(said.later, self._peers.me, *self._witness.public_keys)
            )
        shown = await self.peer_logs.hear(node, said) if said.head else LogAnswer.SILENT
        for data in said.proofs:
            await self.peer_logs.hear_proof(data)
        for data in said.notes:
            await self.peer_logs.hear_from_others(data)
        return shown

    async def _hear_of_us(self, node: str, data: bytes) -> None:
        """Check that our log extends the checkpoint that a peer holds of it, and store the peer's cosignature. Errors:
        ``log.rollback``, …

        A checkpoint without its cosignature came from others and is not held by the peer.
        """
        me = self._peers.me
        nothing = Checkpoint(node=me, number=-1, size=1, root=b"")  # a peer that has only the opening holds size 1
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
            await self._store.rows(COSIGNED).put(
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

    async def _hear_keys(self, data: bytes) -> None:
        """Take a key log that another peer passed on. It contains its own proof; an invalid one is ignored."""
        try:
            await self._calls.changes.adopt(data)
        except MeshError as error:
            log.debug("a key log that a peer passed on is ignored: %s", error)
        await asyncio.sleep(0)  # verifying a long one takes about ten milliseconds


def _size_in(said: LogSync) -> tuple[int, int]:
    """Number and size of the head that a peer showed, which was opened; (0, 0) if it showed none."""
    told = witness_log.peek(note.parse(said.head)) if said.head else None
    return (told.number, told.size) if told else (0, 0)


def _share(told: Sequence[bytes], count_max: int, turn: int) -> tuple[bytes, ...]:
    """The part of ``told`` that fits in one message. The next message continues after it, so that all are sent in turn."""
    if len(told) <= count_max:
        return tuple(told)
    start = turn * count_max % len(told)
    return (*told[start:], *told[:start])[:count_max]
