"""Deltas: one signed automerge change each, and the reader that follows one peer's chain of them.

Every peer writes only its own document about a search, so its deltas form one chain: sequence numbers without gaps, and each
change names the hash of its predecessor. A new *epoch* starts a new, empty chain and replaces all earlier epochs of the peer.
Nothing is lost by that: registers are cumulative, and the new epoch writes all of them again.
"""

from __future__ import annotations

import hashlib
from typing import Annotated

import msgspec

from protocol import limits
from protocol.errors import MeshError
from protocol.ids import SearchId
from protocol.search.chunk import ACTOR_BYTES, HASH_BYTES, DocumentChange, decode_change
from protocol.search.entry import TreeUpdate, decode_lease, decode_node, parse_key, unpack_registers
from protocol.wire import cbor, envelope

KIND = "delta"
"""Kind of the envelope around a delta."""

_Hash = Annotated[bytes, msgspec.Meta(min_length=HASH_BYTES, max_length=HASH_BYTES)]


class DeltaHead(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The position of a delta among those of its writer."""

    search: SearchId
    epoch: Annotated[int, msgspec.Meta(ge=1, le=limits.EPOCH_MAX)]
    seq: Annotated[int, msgspec.Meta(ge=1, le=limits.EPOCH_DELTAS_MAX)]
    """Counts from 1 within the epoch."""
    prior_heads: Annotated[tuple[_Hash, ...], msgspec.Meta(max_length=1)] = ()
    """In the first delta of an epoch: the hash of the previous epoch's last change, if the writer still knows it."""


class Delta(DeltaHead, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The payload of a delta envelope."""

    chunk: Annotated[bytes, msgspec.Meta(max_length=limits.CHUNK_BYTES_MAX)]
    """One automerge change chunk."""


def encode_delta(delta: Delta) -> bytes:
    """The payload for the envelope: strict CBOR."""
    return cbor.encode(delta)


def decode_delta(payload: bytes) -> Delta:
    """The delta in ``payload``; its chunk is not decoded yet. Errors: ``delta.invalid``."""
    try:
        delta = cbor.decode_as(payload, Delta, bytes_max=limits.ARTEFACT_BYTES_MAX, items_max=16, depth_max=2)
    except MeshError as error:
        raise MeshError("delta.invalid", f"payload: {error.message}") from error
    if delta.prior_heads and delta.seq != 1:
        raise MeshError("delta.invalid", "only the first delta of an epoch names earlier heads")
    return delta


class TwoDeltas(msgspec.Struct, frozen=True, kw_only=True):
    """A writer has signed two deltas under one number."""

    writer: str
    epoch: int
    seq: int


def check_equivocation(one: bytes, other: bytes, search_id: str, find_key: envelope.KeyFinder) -> TwoDeltas:
    """The evidence that two signed deltas give together.

    Checks, in order: both signed, by one node; of this search; the same epoch and number; different payloads: a delta that was
    signed twice counts as one. Errors: ``envelope.*``, ``delta.invalid``.
    """
    opened = [envelope.verify(sealed, kinds=frozenset({KIND}), find_key=find_key) for sealed in (one, other)]
    writers = {each.header.issuer for each in opened}
    deltas = [decode_delta(each.payload) for each in opened]
    places = {(delta.search, delta.epoch, delta.seq) for delta in deltas}
    if len(writers) != 1 or len(places) != 1 or deltas[0].search != search_id:
        raise MeshError("delta.invalid", "expected two deltas of one writer with one number")
    if opened[0].payload == opened[1].payload:
        raise MeshError("delta.invalid", "the two deltas are equal")
    return TwoDeltas(writer=writers.pop(), epoch=deltas[0].epoch, seq=deltas[0].seq)


def actor_of(public_key: bytes) -> bytes:
    """The automerge actor id of the owner of ``public_key`` (32 bytes): 16 bytes."""
    return hashlib.sha256(public_key).digest()[:ACTOR_BYTES]


def read_change(change: DocumentChange, *, may_lease: bool) -> TreeUpdate:
    """The entries of ``change``, each decoded and within its bounds. Errors: ``delta.invalid``."""
    if change.leases and not may_lease:
        raise MeshError("delta.invalid", "only the coordinator writes leases")
    nodes = {}
    for text, value in change.nodes:
        key = parse_key(text)
        nodes[key] = decode_node(key, value)
    return TreeUpdate(
        nodes=nodes,
        stat_keys=tuple(parse_key(text) for text, _ in change.stats),
        stats=unpack_registers([value for _, value in change.stats]),
        leases={parse_key(text): decode_lease(value) for text, value in change.leases},
    )


class Decoded(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a chunk alone: its place in the chain is not checked yet."""

    change: DocumentChange
    update: TreeUpdate


def decode_chunk(chunk: bytes, *, may_lease: bool) -> Decoded:
    """The change in ``chunk`` and its entries. Pure, and most of the work of reading a delta: decode large chunks on a thread.

    Errors: ``delta.invalid``.
    """
    change = decode_change(chunk)
    return Decoded(change=change, update=read_change(change, may_lease=may_lease))


class DeltaReader:
    """Follows the deltas of one peer in one search.

    ``read`` takes payloads whose envelope was verified as the peer's. It changes nothing if it raises. If the tree refuses the
    returned update, call ``unread`` to keep both consistent.
    """

    def __init__(self, public_key: bytes, search_id: str, *, may_lease: bool = False) -> None:
        """``public_key``: the peer's, 32 bytes. ``may_lease``: the peer is the coordinator of the search."""
        self._actor = actor_of(public_key)
        self._search = search_id
        self.may_lease = may_lease
        self._puts = 0
        self._max_op = 0
        self._hash: bytes | None = None
        self._digests: list[bytes] = []
        self._before: tuple[int, int, bytes | None, int, list[bytes]] | None = None
        self.epoch = 0
        """The current epoch of the peer; 0 before the first delta."""

    @property
    def next_seq(self) -> int:
        """The next expected sequence number in ``epoch``."""
        return len(self._digests) + 1

    def digest(self, epoch: int, seq: int) -> bytes | None:
        """SHA-256 of the payload read under a number of the current epoch; None for any other."""
        return self._digests[seq - 1] if epoch == self.epoch and 1 <= seq < self.next_seq else None

    @property
    def head(self) -> bytes | None:
        """Hash of the last change read; None before the first."""
        return self._hash

    def wants(self, payload: bytes) -> Delta | None:
        """The delta in ``payload`` if it is the next one; None if it was read before or belongs to a replaced epoch.

        Checks, in order: form and search; place in the chain (old epoch, repeated, or missing predecessors). Errors: those of
        ``read``.
        """
        delta = decode_delta(payload)
        if delta.search != self._search:
            raise MeshError("delta.invalid", "the delta belongs to another search")
        # The epoch was replaced, so its deltas no longer matter.
        if delta.epoch < self.epoch:
            return None
        wanted = 1 if delta.epoch > self.epoch else self.next_seq
        if delta.seq < wanted:
            # The payloads are compared, not the envelopes: the same payload may be signed again.
            if self._digests[delta.seq - 1] != hashlib.sha256(payload).digest():
                raise MeshError("delta.equivocation", epoch=delta.epoch, seq=delta.seq)
            return None
        if delta.seq > wanted:
            raise MeshError("delta.gap", epoch=delta.epoch, seq=wanted)
        return delta

    def read(self, payload: bytes, decoded: Decoded | None = None) -> TreeUpdate | None:
        """The update in ``payload``; None if it was read before or belongs to a replaced epoch.

        ``decoded``: the result of ``decode_chunk`` for its chunk, if it exists already. Checks, in order: those of ``wants``;
        the chunk and every entry; actor, sequence, predecessor and operation numbers; puts per epoch. A delta of a higher epoch
        with ``seq`` 1 starts that epoch; its update replaces all earlier ones of the peer. Errors: ``delta.invalid``;
        ``delta.gap`` (detail: the expected ``epoch`` and ``seq``); ``delta.equivocation``.
        """
        delta = self.wants(payload)
        if delta is None:
            return None
        fresh = delta.epoch > self.epoch
        if decoded is None:
            decoded = decode_chunk(delta.chunk, may_lease=self.may_lease)
        change = decoded.change
        self._check_chain(change, delta.seq, fresh)
        # A document grows with every put, so the sum over an epoch is limited, not only each change.
        puts = change.puts + (0 if fresh else self._puts)
        if puts > limits.EPOCH_PUTS_MAX:
            raise MeshError("delta.invalid", "too many puts in one epoch")
        # Kept for `unread`: the tree may still refuse the update.
        self._before = (self.epoch, self._puts, self._hash, self._max_op, self._digests)
        if fresh:
            self._digests = []
        self._digests.append(hashlib.sha256(payload).digest())
        self.epoch, self._puts, self._hash, self._max_op = delta.epoch, puts, change.hash, change.max_op
        return decoded.update

    def unread(self) -> None:
        """Undo the last ``read`` that returned an update, because the tree refused it: it is expected again."""
        assert self._before is not None, "nothing was read"
        self._digests.pop()
        self.epoch, self._puts, self._hash, self._max_op, self._digests = self._before
        self._before = None

    def _check_chain(self, change: DocumentChange, seq: int, fresh: bool) -> None:
        # Without this check a peer could publish a change that another node wrote, under its own signature.
        if change.actor != self._actor:
            raise MeshError("delta.invalid", "the actor is not the signer")
        previous, start_op = (None, 1) if fresh else (self._hash, self._max_op + 1)
        if (change.seq, change.previous, change.start_op) != (seq, previous, start_op):
            raise MeshError("delta.invalid", "the change does not follow the one before it")
