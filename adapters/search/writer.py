"""Writes this node's own document about a search with automerge, one change chunk per delta.

The document is only written. Nothing is read back, and foreign bytes never reach automerge. After a restart a new epoch begins
with a new document, so nothing is loaded either. No call here waits; a writer belongs to one task.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from automerge.core import ROOT, Document, ObjType, ScalarType

from protocol import limits
from protocol.errors import MeshError
from protocol.search.chunk import MAPS
from protocol.search.delta import Delta, actor_of
from protocol.search.entry import TreeUpdate, key_text
from protocol.wire import cbor

_OP_BYTES: Final = 48
"""Upper bound of the bytes of a put in a chunk, without its value: key, value length, operation columns."""
_CHUNK_BYTES: Final = limits.CHUNK_BYTES_MAX - 4 * limits.KIB

_Put = tuple[int, str, bytes]
"""Place of the map in ``MAPS``, key, value."""


class TreeWriter:
    """The document of one (node, search, epoch)."""

    def __init__(self, public_key: bytes, search_id: str, epoch: int, *, prior_heads: tuple[bytes, ...] = ()) -> None:
        """``public_key``: this node's, 32 bytes. ``prior_heads``: ``head`` of the previous epoch, if known."""
        self._document = Document(actor_of(public_key))
        self._search = search_id
        self._prior_heads = prior_heads
        self._maps: list[bytes] = []
        self._heads: list[bytes] = []
        self._puts = 0
        self.epoch = epoch
        self.seq = 0
        """Sequence number of the last delta; 0 before the first."""

    @property
    def head(self) -> bytes | None:
        """Hash of the last change, None before the first."""
        return self._heads[0] if self._heads else None

    @property
    def full(self) -> bool:
        """True if it is time for a new epoch: nine tenths of an epoch's limits are used."""
        return self._puts > 0.9 * limits.EPOCH_PUTS_MAX or self.seq > 0.9 * limits.EPOCH_DELTAS_MAX

    def flush(self, update: TreeUpdate) -> list[Delta]:
        """The deltas for ``update``, in order: as many as the limits of a chunk require, none if nothing is new.

        Errors: ``input.too_large`` if the epoch cannot hold it (see ``full``); then nothing is written.
        """
        batches = list(_batches(_puts(update)))
        puts = sum(len(batch) for batch in batches)
        if self._puts + puts > limits.EPOCH_PUTS_MAX or self.seq + len(batches) > limits.EPOCH_DELTAS_MAX:
            raise MeshError("input.too_large", "the epoch is full: start a new one", puts=self._puts + puts)
        deltas = [self._commit(batch) for batch in batches]
        return [delta for delta in deltas if delta is not None]

    def _commit(self, batch: list[_Put]) -> Delta | None:
        """Commit one transaction as one change; None if every value was there already."""
        with self._document.transaction() as transaction:
            if not self._maps:
                # The reader identifies the maps by their order: they are operations 1 to 3 of the first change.
                self._maps = [transaction.put_object(ROOT, name.decode(), ObjType.Map) for name in MAPS]
            for place, key, value in batch:
                transaction.put(self._maps[place], key, ScalarType.Bytes, value)
        changes = self._document.get_changes(self._heads)
        if not changes:
            return None
        (change,) = changes
        self._puts += len(batch)
        self._heads = self._document.get_heads()
        self.seq += 1
        prior = self._prior_heads if self.seq == 1 else ()
        chunk = bytes(change.raw_bytes)
        return Delta(search=self._search, epoch=self.epoch, seq=self.seq, prior_heads=prior, chunk=chunk)


def _puts(update: TreeUpdate) -> Iterator[_Put]:
    for key, node in update.nodes.items():
        yield 0, key_text(key), cbor.encode(node)
    for key, register in zip(update.stat_keys, update.stats, strict=True):
        yield 1, key_text(key), register.tobytes()
    for key, lease in update.leases.items():
        yield 2, key_text(key), cbor.encode(lease)


def _batches(puts: Iterator[_Put]) -> Iterator[list[_Put]]:
    """``puts`` in batches that fit a chunk."""
    batch: list[_Put] = []
    used = 0
    for put in puts:
        size = _OP_BYTES + len(put[2])
        if batch and (used + size > _CHUNK_BYTES or len(batch) + len(MAPS) >= limits.CHUNK_OPS_MAX):
            yield batch
            batch, used = [], 0
        batch.append(put)
        used += size
    if batch:
        yield batch
