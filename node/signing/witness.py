"""The one place that signs durable artefacts, and this node's log of all of them.

An artefact is signed, entered in the log, and returned to its caller only when the log entry is on disk. So no artefact can leave
the node without an entry in the log. A crash in between leaves an entry for an artefact that nobody has seen.

This is a group commit: artefacts that are signed during an append wait for it and are then appended together, in one
transaction and under one checkpoint, however many there are.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import msgspec

from adapters.cosigned_records import COSIGNED
from adapters.log_records import LeafRecord, LogRecord, Subtree
from adapters.ports.clock import Clock
from adapters.ports.records import ArtefactRecord
from adapters.ports.store import Store
from node.base.paging import every_artefact
from node.signing import register
from node.signing.feed import Feed
from node.signing.identity import Identity
from node.signing.log_check import own_artefacts
from node.signing.trail import Trail
from protocol import ids, limits
from protocol.audit import NODE
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.log import note, witness_log
from protocol.log.log_proof import InclusionProof, KeyOf, key_of
from protocol.log.merkle_growth import Frontier, Part, consistency_parts, cover, folded, inclusion_parts, root_parts
from protocol.log.note import Note, SignatureLine
from protocol.log.register import KEPT, KINDS, begun
from protocol.log.witness_log import KIND_OPENING, Checkpoint, Link, Opening, entry_hash, origin
from protocol.page.secrets.personal import Tokens
from protocol.wire import cbor, envelope

log = logging.getLogger(__name__)

_ROLLBACK_KEY = "log.rollback"


class OwnLog(msgspec.Struct, frozen=True, kw_only=True):
    """State of this node's log after its last append."""

    checkpoint: Checkpoint
    signed: Note
    opening: bytes
    """The artefact that opened it."""
    frontier: Frontier
    register: bytes
    """The running hash of its register; empty once the store was changed from outside."""


class Witness:
    """This node's signer of artefacts and its log. ``load`` comes first."""

    def __init__(self, identity: Identity, store: Store, clock: Clock) -> None:
        self.identity = identity
        self.trail = Trail(identity, store, clock)
        """The audit trail: records what this node does, as the witness log records what it signs."""
        self.feed = Feed(store, clock, who=lambda: self.trail.who)
        """The change feed."""
        self._store = store
        self._clock = clock
        self._log: OwnLog | None = None
        self._waiting: list[tuple[ArtefactRecord, asyncio.Future[None]]] = []
        self._appending: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()
        self._lost: list[bytes] = []
        """Own checkpoints that this node's logs do not extend, as signed notes."""
        self.tampered: tuple[str, ...] = ()
        """Changes of the register in the store that were found when it was read, one sentence each."""
        self._entries: dict[str, list[LeafRecord]] = {}
        """The entries of the register, by subject."""

    @property
    def rollback(self) -> bytes:
        """The largest own checkpoint that this node's logs do not extend; empty if there is none."""
        return max(self._lost, key=lambda data: _order(witness_log.peek(note.parse(data))), default=b"")

    @property
    def node(self) -> str:
        """This node's id."""
        return self.identity.node

    @property
    def tokens(self) -> Tokens:
        """The tokens that replace personal data in the store."""
        return self.identity.tokens

    @property
    def public_key(self) -> bytes:
        """The key that signs artefacts and checkpoints."""
        return self.identity.public_key

    @property
    def public_keys(self) -> tuple[bytes, ...]:
        """Every key that has signed this node's checkpoints, the current one last."""
        return tuple(dict.fromkeys((*self.identity.log.keys, self.identity.public_key)))

    @property
    def keys_ever(self) -> tuple[bytes, ...]:
        """Every key that may have signed data in this node's store, including keys that a recovery has disowned."""
        return tuple(dict.fromkeys((*self.identity.log.keys_ever, self.identity.public_key)))

    @property
    def genesis_key(self) -> bytes:
        """The key this node began with."""
        return self.identity.genesis_key

    @property
    def log(self) -> OwnLog:
        """The log that is being written; its checkpoint is signed by the current key, also when that was just changed."""
        assert self._log is not None, "load comes first"
        now = self._log
        if note.line_of(now.signed, origin(self.node, now.checkpoint.number), self.public_key) is None:
            signed = witness_log.sign(now.checkpoint, self.identity.key)
            self._log = now = msgspec.structs.replace(now, signed=signed)
        return now

    @property
    def waiting(self) -> int:
        """Number of artefacts that wait for the next append."""
        return len(self._waiting)

    # --- opening -----------------------------------------------------------------------------------------------------

    async def load(self) -> None:
        """Load the newest log or open the first one, and enter artefacts that are in the store but in no log.

        Errors: ``store.corrupt`` when the log is not the one that was signed.
        """
        lost = await self._store.get_meta(_ROLLBACK_KEY)
        self._lost = list(cbor.decode_as(lost, _Lost).notes) if lost else []
        if logs := await self._store.logs():
            await self._read_register()
            self._log = await self._read()
            self.identity.latest_s = max(self.identity.latest_s, *(record.latest_s for record in logs))
            return
        earlier = await own_artefacts(self._store, self.node)
        await self._open(0, previous=b"", earlier=earlier)

    async def _read_register(self) -> None:
        for leaf in await self._store.leaves_of(sorted(KINDS)):
            self._entries.setdefault(leaf.subject, []).append(leaf)
        self.tampered = await self.tampering()
        for told in self.tampered:
            log.error("the store was changed from outside: %s", told)

    async def tampering(self) -> tuple[str, ...]:
        """The present mismatches of the register in the store (``register.tampering``). Errors: ``store.*``."""
        return await register.tampering(self._store, self.identity)

    def check_untampered(self) -> None:
        """Raise if the store was changed from outside, before something relies on the register. Errors: ``store.tampered``."""
        if self.tampered:
            raise MeshError("store.tampered", f"the store was changed from outside: {self.tampered[0]}")

    def entries(self, kind: str, subject: str) -> list[LeafRecord]:
        """The entries of a kind of the register about ``subject``, oldest first."""
        return [leaf for leaf in self._entries.get(subject, ()) if leaf.kind == kind]

    async def _read(self) -> OwnLog:
        """The newest log of the store, checked against its signed checkpoint."""
        record = (await self._store.logs())[-1]
        # Not ``public_keys``: the last checkpoint may be of a key that a recovery has disowned since, and the node must
        # open.
        checkpoint, signed = witness_log.open_checkpoint(record.checkpoint, self.node, *self.keys_ever)
        frontier = Frontier(record.size, await self._store.log_subtrees(record.number, cover(0, record.size)))
        openings = await self._store.artefacts(subject=origin(self.node, record.number), kind=KIND_OPENING)
        expected = Checkpoint(node=self.node, number=record.number, size=record.size, root=frontier.root)
        if not openings or checkpoint != expected:
            raise MeshError("store.corrupt", f"log {record.number} does not match its checkpoint")
        own = [leaf for leaves in self._entries.values() for leaf in leaves if leaf.log == record.number]
        head = register.entered(begun(origin(self.node, record.number)), sorted(own, key=lambda leaf: leaf.index))
        return OwnLog(
            checkpoint=checkpoint,
            signed=signed,
            opening=openings[0].envelope,
            frontier=frontier,
            register=b"" if self.tampered else head,
        )

    async def _open(
        self, number: int, *, previous: bytes, others: tuple[bytes, ...] = (), earlier: Sequence[ArtefactRecord] = ()
    ) -> None:
        """Begin log ``number``. The opening is stored first, because a log without one cannot be shown to peers."""
        name = origin(self.node, number)
        stored = await self._store.artefacts(subject=name, kind=KIND_OPENING)
        if stored:
            opening = stored[0]  # left by a crash between opening and log
        else:
            said = Opening(log=name, previous=previous, others=others, opened_ms=self._clock.now_ms(), registered=True)
            opening = self.identity.artefact(KIND_OPENING, name, said)
            await self._store.put_artefact(opening)
        rest = [artefact for artefact in earlier if artefact.digest != opening.digest]
        head = begun(name)
        self._log = await self._append(number, Frontier(), opening.envelope, head, [opening, *rest])
        log.info("log %s is open", name)

    async def renew(self) -> Checkpoint:
        """Open the next log, which names the largest known checkpoint of the one it replaces. The new log's first checkpoint.

        Its number is higher than every number a peer has shown us, so that no log number is used twice. It also names the
        checkpoints that peers hold and this node has lost, and the end of the replaced log.
        Errors: ``keylog.revoked``, ``keylog.fork``, ``store.*``.
        """
        self.identity.check_active()
        async with self._writing:
            ends = sorted(
                (self.log.signed, *(note.parse(data) for data in self._lost)),
                key=lambda signed: _order(witness_log.peek(signed)),
            )
            previous, others = ends.pop(), tuple(signed.encode() for signed in ends[-limits.LOG_OTHERS_MAX :])
            number = witness_log.peek(previous).number + 1
            await self._open(number, previous=previous.encode(), others=others)
            await self._store.put_meta(_ROLLBACK_KEY, b"")
            self._lost = []
            await self.feed.tell(FeedKind.LOG_RENEWED, self.node)
            return self.log.checkpoint

    # --- signing -----------------------------------------------------------------------------------------------------

    async def artefact(self, kind: str, subject: str, record: msgspec.Struct | bytes) -> ArtefactRecord:
        """Sign ``record`` as a durable artefact about ``subject``; return it once it is in the log.

        Errors: ``keylog.revoked``, ``keylog.fork``, ``log.rollback``, ``store.full``, ``store.corrupt``, ``node.stopped``.
        """
        self.check_signs()
        made = self.identity.artefact(kind, subject, record)
        entered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((made, entered))
        if self._appending is None or self._appending.done():
            # In a separate task: the other waiting artefacts share this append, so cancelling one caller must not stop it.
            self._appending = asyncio.create_task(self._append_waiting(), name="witness log")
        await entered
        return made

    def check_signs(self) -> None:
        """Raise if this node cannot sign at present. Call it before long work whose result will be signed.

        Errors: ``keylog.revoked``, ``keylog.fork``, ``log.rollback``.
        """
        self.identity.check_active()
        self._check_rollback()

    def _check_rollback(self) -> None:
        if self.rollback:
            seen = witness_log.peek(note.parse(self.rollback))
            raise MeshError("log.rollback", log=origin(seen.node, seen.number), size=seen.size)

    async def _append_waiting(self) -> None:
        while self._waiting:
            batch = self._waiting[: limits.LOG_BATCH_ENTRIES_MAX]
            del self._waiting[: len(batch)]
            try:
                async with self._writing:
                    self._check_rollback()
                    now = self.log
                    made = [artefact for artefact, _ in batch]
                    self._log = await self._append(
                        now.checkpoint.number, now.frontier.copy(), now.opening, now.register, made
                    )
            except BaseException as error:
                # Every waiter gets the error, and it is raised in the task too.
                for _, entered in batch:
                    if not entered.done():
                        entered.set_exception(
                            error if isinstance(error, MeshError) else MeshError("node.stopped", "the log was closed")
                        )
                if not isinstance(error, Exception):
                    raise
                if not isinstance(error, MeshError):
                    log.exception("unexpected error in the witness log")
            else:
                for _, entered in batch:
                    if not entered.done():
                        entered.set_result(None)

    async def _append(
        self, number: int, frontier: Frontier, opening: bytes, head: bytes, artefacts: Sequence[ArtefactRecord]
    ) -> OwnLog:
        """Enter ``artefacts`` and sign the checkpoint over them, in one transaction."""
        leaves: list[LeafRecord] = []
        subtrees: dict[Subtree, bytes] = {}
        for made in artefacts:
            index = frontier.count
            leaves.append(LeafRecord(log=number, index=index, digest=made.digest, kind=made.kind, subject=made.subject))
            subtrees.update(frontier.append(entry_hash(made.digest)))
        checkpoint = Checkpoint(node=self.node, number=number, size=frontier.count, root=frontier.root)
        signed = witness_log.sign(checkpoint, self.identity.key)
        latest_s = self.identity.latest_s
        head = register.entered(head, leaves) if head else b""
        record = LogRecord(
            number=number,
            size=checkpoint.size,
            checkpoint=signed.encode(),
            latest_s=latest_s,
            register=await self._registered(number, checkpoint.size, head),
        )
        kept = [made for made in artefacts if made.kind in KEPT]
        await self._store.append_log(record, leaves, subtrees, artefacts=kept)
        for leaf in leaves:
            if leaf.kind in KINDS:
                self._entries.setdefault(leaf.subject, []).append(leaf)
        return OwnLog(checkpoint=checkpoint, signed=signed, opening=opening, frontier=frontier, register=head)

    async def _registered(self, number: int, size: int, head: bytes) -> bytes:
        """The signature over the register. One that was changed from outside is not signed again: the old signature stays."""
        if head:
            return register.signed(self.identity, number, size, head)
        return next((record.register for record in await self._store.logs() if record.number == number), b"")

    def cosign(self, signed: Note) -> SignatureLine:
        """This node's cosignature of another node's checkpoint. The caller must have verified the checkpoint."""
        return witness_log.cosign(signed, self.node, self.identity.key, self._clock.now_ms() // 1000)

    async def close(self) -> None:
        """Wait for the append in progress."""
        if self._appending is not None:
            await asyncio.gather(self._appending, return_exceptions=True)

    # --- proving -----------------------------------------------------------------------------------------------------

    async def _hashes(self, number: int, parts: Sequence[Part]) -> list[bytes]:
        stored = await self._store.log_subtrees(number, [place for part in parts for place in part])
        return folded(parts, stored)

    async def root_at(self, number: int, size: int) -> bytes:
        """The root of log ``number`` at ``size`` leaves. Errors: ``input.invalid`` if it never had that size."""
        await self._check_size(number, size)
        return (await self._hashes(number, root_parts(size)))[0]

    async def link(self, number: int, old_size: int, new_size: int) -> Link:
        """The consistency proof of log ``number`` between two sizes. Errors: ``input.invalid``."""
        if old_size > new_size:
            raise MeshError("input.invalid", "the old size is larger than the new one")
        await self._check_size(number, new_size)
        root = await self.root_at(number, old_size)
        proof = await self._hashes(number, consistency_parts(old_size, new_size))
        return Link(base_size=old_size, base_root=root, proof=tuple(proof))

    async def _check_size(self, number: int, size: int) -> None:
        known = {record.number: record.size for record in await self._store.logs()}
        if not 1 <= size <= known.get(number, 0):
            raise MeshError("input.invalid", f"log {number} of this node never had {size} entries")

    async def prove(self, digest: bytes) -> InclusionProof:
        """The inclusion proof of the artefact with this SHA-256, under the covering checkpoint with the most cosignatures.

        Errors: ``log.not_logged``.
        """
        leaf = await self._store.log_leaf(digest)
        if leaf is None:
            raise MeshError("log.not_logged", digest=digest.hex())
        checkpoint, signed, cosigners = await self._best_checkpoint(leaf)
        hashes = await self._hashes(leaf.log, inclusion_parts(leaf.index, checkpoint.size))
        return InclusionProof(
            signer=key_of(self.node, self.public_key, self.identity.log),
            digest=digest,
            index=leaf.index,
            hashes=tuple(hashes),
            checkpoint=signed.encode().decode(),
            cosigners=cosigners,
        )

    async def _best_checkpoint(self, leaf: LeafRecord) -> tuple[Checkpoint, Note, tuple[KeyOf, ...]]:
        covering = [c for c in await self._store.rows(COSIGNED).find() if c.log == leaf.log and c.size > leaf.index]
        if covering:
            sizes = [record.size for record in covering]
            size = max(sizes, key=lambda size: (sizes.count(size), size))
            chosen = [record for record in covering if record.size == size][: limits.LOG_COSIGNERS_MAX]
            signed = note.parse(chosen[0].checkpoint)
            for record in chosen:
                signed = signed.with_line(note.parse_line(record.line))
            named = tuple(
                KeyOf(node=record.witness, public_key=record.public_key, key_log=record.key_log) for record in chosen
            )
        else:
            record_of = {record.number: record for record in await self._store.logs()}
            signed, named = note.parse(record_of[leaf.log].checkpoint), ()
        return witness_log.peek(signed), signed, named

    # --- what others hold of us --------------------------------------------------------------------------------------

    async def compare(self, seen: Checkpoint, signed: Note) -> None:
        """Check that our logs extend ``seen``, a checkpoint that we signed (verified by the caller), or that an opening names it.

        Checks, in order: not larger than our log of that number; the root we had at that size; named by a later opening. A
        failure shows that our store was restored from a copy. It is stored, and nothing is signed until ``renew``.
        Errors: ``log.rollback``.
        """
        if await self._continues(seen):
            return
        lost = witness_log.bare(signed, *self.public_keys).encode()
        if lost not in self._lost and len(self._lost) < limits.LOG_OTHERS_MAX:
            self._lost.append(lost)
            await self._store.put_meta(_ROLLBACK_KEY, cbor.encode(_Lost(notes=tuple(self._lost))))
            log.error(
                "a peer holds entry %d of our log %d, which this node does not have: nothing is signed",
                seen.size,
                seen.number,
            )
            await self.feed.tell(FeedKind.LOG_LOST, self.node, who=NODE)
        raise MeshError("log.rollback", log=origin(seen.node, seen.number), size=seen.size)

    async def _continues(self, seen: Checkpoint) -> bool:
        sizes = {record.number: record.size for record in await self._store.logs()}
        if seen.size <= sizes.get(seen.number, 0) and await self.root_at(seen.number, seen.size) == seen.root:
            return True
        return seen.number < self.log.checkpoint.number and seen in await self._named()

    async def _named(self) -> list[Checkpoint]:
        """Every checkpoint that an opening of ours names."""
        openings = [cbor.decode_as(envelope.peek(sealed).payload, Opening) for _, sealed in await self._openings()]
        notes = [data for said in openings for data in (said.previous, *said.others) if data]
        return [witness_log.peek(note.parse(data)) for data in notes]

    async def _openings(self) -> list[tuple[int, bytes]]:
        """Number and opening of each log of ours, oldest first."""
        made = [
            opening async for opening in every_artefact(self._store, kind=KIND_OPENING) if opening.issuer == self.node
        ]
        return sorted((witness_log.parse_origin(artefact.subject)[1], artefact.envelope) for artefact in made)

    async def openings(self, after: int, before: int) -> tuple[bytes, ...]:
        """The openings of our logs between two numbers, oldest first, for a reader that holds log ``after`` (-1: none)."""
        if after in (-1, before):
            return ()
        between = [sealed for number, sealed in await self._openings() if after < number < before]
        return tuple(between[: limits.LOG_OPENINGS_SHOWN_MAX])

    async def former(self, held: Checkpoint) -> Link:
        """The proof that a former log extends ``held``, which a reader holds, up to its end; size 0 if there is nothing to
        prove."""
        if held.number == self.log.checkpoint.number:
            return Link(base_size=0, base_root=b"", proof=())
        sizes = {record.number: record.size for record in await self._store.logs()}
        size = sizes.get(held.number, 0)
        if held.size > size:
            return Link(base_size=0, base_root=b"", proof=())
        return await self.link(held.number, held.size, size)


class _Lost(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Stored form of the checkpoints whose entries this node has lost."""

    notes: tuple[bytes, ...]


def _order(checkpoint: Checkpoint) -> tuple[int, int]:
    return checkpoint.number, checkpoint.size


def open_opening(sealed: bytes, node: str, find_key: envelope.KeyFinder) -> Opening:
    """The opening in ``sealed``, once it is verified and signed by ``node``. Errors: ``envelope.*``, ``message.invalid``."""
    opened = envelope.verify(sealed, kinds=frozenset({KIND_OPENING}), find_key=find_key)
    if opened.header.issuer != node:
        raise MeshError("envelope.issuer", f"an opening of {ids.short(node)} signed by another node")
    return cbor.decode_as(opened.payload, Opening)
