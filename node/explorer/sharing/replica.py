"""One node's copy of a search: the merged tree, its own share, and the signed deltas behind both.

Own results go into registers first (``own``) and become deltas at ``flush``. A delta is stored, then merged, then published, in
this order, so that a crash cannot lose a published delta. After a restart the own share is read back from the stored deltas and
written again as a new epoch.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

from adapters.ports.records import DeltaRecord
from adapters.ports.search import NewTreeWriter, TreeWriter
from adapters.ports.store import Store
from node.base.paging import every_delta
from node.explorer.expulsions import Expulsions
from node.explorer.sharing.idle_keys import IdleKeys
from node.explorer.sharing.own_share import OwnShare
from node.explorer.sharing.tree_view import TreeView
from node.signing import Feed, Witness
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.messages import SearchSpec, ShareHead
from protocol.search.delta import KIND, Decoded, Delta, DeltaReader, decode_chunk, decode_delta, encode_delta
from protocol.search.entry import TreeUpdate, root_key
from protocol.search.tree import CheckRoom, SearchTree
from protocol.search.uct import Uct
from protocol.wire import envelope

log = logging.getLogger(__name__)

_OFFENCES = frozenset({"delta.invalid", "delta.equivocation"})
"""Errors that an honest peer cannot cause. A gap or a full tree is not such an error."""
_DECODED_HERE_BYTES_MAX = 16 * limits.KIB
"""Larger chunks are decoded in a thread: this many bytes contain about 130 nodes and take about 10 ms."""


class Replica:
    """A search as this node knows it. Its writer belongs to one flush at a time; merging happens between awaits."""

    def __init__(
        self,
        spec: SearchSpec,
        witness: Witness,
        store: Store,
        new_writer: NewTreeWriter,
        check_room: CheckRoom = lambda count: None,
    ) -> None:
        self.spec = spec
        self.tree = SearchTree(spec.id, check_room)
        self.uct = Uct(self.tree, witness.node)
        self.root = root_key(spec.id)
        self.own = OwnShare(self.root)
        self.view = TreeView(self.tree, self.uct, self.own)
        self.idle = IdleKeys()
        self.epoch = 0
        self.seq = 0
        self.expelled: dict[str, str] = {}
        """Peers that were expelled from this search, each with the error code."""
        self.aside: dict[str, str] = {}
        """Peers whose share does not count until ``take_back``, each with the error code."""
        self.would_send: list[str] = []
        """Refused requests of this node's own work that would change something; each once."""
        self.login_at = ""
        """Origin of the first page that asked this node's own work for a login."""
        self.changed = asyncio.Event()
        """Set when there are new own deltas to publish."""
        self._witness = witness
        self._store = store
        self._expulsions = Expulsions(store)
        self._new_writer = new_writer
        self._writer: TreeWriter | None = None
        self._readers: dict[str, DeltaReader] = {}
        self._broken = False
        self._flushing = asyncio.Lock()
        self._merging = asyncio.Lock()

    # --- opening -----------------------------------------------------------------------------------------------------

    @property
    def leads(self) -> bool:
        """True if this node coordinates the search."""
        return self.spec.coordinator == self._witness.node

    @property
    def feed(self) -> Feed:
        """The change feed of this node."""
        return self._witness.feed

    async def load(self, find_key: envelope.KeyFinder, public_keys: Mapping[str, bytes]) -> None:
        """Read back every stored delta, and open the next own epoch with the own share.

        Stored deltas of a peer that is no longer trusted are left out, as if it had never been met. So is the share of a peer
        that was expelled, or whose stored deltas are invalid. Errors: ``store.corrupt``; ``envelope.*`` and ``delta.*`` if the
        own stored deltas were changed.
        """
        await self.read(find_key, public_keys)
        for peer in await self._expulsions.of(self.spec.id):
            await self._store.drop_deltas(self.spec.id, peer)  # in case a crash came in between
        self._open_epoch()
        await self.flush()

    async def read(self, find_key: envelope.KeyFinder, public_keys: Mapping[str, bytes]) -> None:
        """Merge every stored delta of trusted peers, without an epoch of our own: to look at a search.

        Errors: those of ``load``.
        """
        me = self._witness.node
        trusted = {**public_keys, me: self._witness.genesis_key}
        self.expelled = await self._expulsions.of(self.spec.id)
        await self._read(every_delta(self._store, self.spec.id), find_key, trusted)

    async def _read(
        self, records: AsyncIterator[DeltaRecord], find_key: envelope.KeyFinder, trusted: Mapping[str, bytes]
    ) -> None:
        me = self._witness.node
        async for record in records:
            if record.peer not in trusted or record.peer in self.expelled or record.peer in self.aside:
                continue
            await asyncio.sleep(0)  # thousands of small chunks block the loop as long as one large chunk
            try:
                opened = envelope.verify(record.envelope, kinds=frozenset({KIND}), find_key=find_key)
                await self._merge(record.peer, trusted[record.peer], opened.payload)
            except MeshError as error:
                if record.peer == me or error.code == "search.full":  # nobody is at fault
                    raise
                if error.code == "delta.gap":
                    continue  # no fault of the peer; it will send the rest again
                self.expelled[record.peer] = error.code
                await self._forget(record.peer)

    def _reader(self, peer: str, public_key: bytes) -> DeltaReader:
        if peer not in self._readers:
            may_lease = peer == self.spec.coordinator
            self._readers[peer] = DeltaReader(public_key, self.spec.id, may_lease=may_lease)
        return self._readers[peer]

    async def _merge(self, peer: str, public_key: bytes, payload: bytes) -> bool:
        """Read the next delta of ``peer`` into the tree; False if it was known. One at a time for each peer.

        Errors: ``delta.*``; the reason, if the peer is expelled meanwhile.
        """
        reader = self._reader(peer, public_key)
        delta = reader.wants(payload)
        if delta is None:
            return False
        decoded = await _decoded(delta.chunk, may_lease=reader.may_lease)
        self.check_welcome(peer)
        update = reader.read(payload, decoded)
        assert update is not None, "it was wanted"
        try:
            rows = self.tree.apply(peer, reader.epoch, update)
        except MeshError:
            reader.unread()  # keep chain and tree consistent: the delta will be requested again
            raise
        self.uct.refresh(rows)
        for key, row in zip(update.stat_keys, update.stats, strict=True):
            self.view.note_state(key, row["state"].tobytes())
        if peer == self._witness.node and self._writer is None:
            self._recall(reader.epoch, update)
        return True

    def _recall(self, epoch: int, update: TreeUpdate) -> None:
        """Restore the own share from an own delta that was stored before a restart."""
        if epoch > self.epoch:
            self.epoch = epoch
            self.own.forget()
        self.own.recall(update)

    # --- own results -------------------------------------------------------------------------------------------------

    def adopt(self, branch: bytes, prefix: Sequence[bytes]) -> None:
        """Name the nodes of an assigned prefix, in case their deltas have not come yet. Errors: ``delta.invalid``."""
        self.own.adopt(branch, prefix, lambda key: self.tree.row(key) is not None)

    async def flush(self) -> None:
        """Store new results as deltas, merge them, and wake the task that publishes them.

        After an error the own chain may have a hole, so the next flush writes the whole own share as a new epoch.
        Errors: ``store.full``, ``store.corrupt``.
        """
        async with self._flushing:
            assert self._writer is not None
            if self._writer.full or self._broken:
                self._open_epoch()
            # Until all deltas are stored: a failure in between leaves a hole, and later deltas would not follow.
            self._broken = True
            for update in self.own.take():
                for delta in self._writer.flush(update):
                    await self._keep_own(delta)
            self._broken = False

    async def _keep_own(self, delta: Delta) -> None:
        me, payload = self._witness.node, encode_delta(delta)
        artefact = await self._witness.artefact(KIND, self.spec.id, payload)
        await self._store.append_delta(
            DeltaRecord(search=self.spec.id, peer=me, epoch=delta.epoch, seq=delta.seq, envelope=artefact.envelope)
        )
        self.seq = delta.seq
        merged = await self._merge(me, self._witness.genesis_key, payload)
        assert merged, "an own delta is always new"
        self.changed.set()

    def _open_epoch(self) -> None:
        """Begin the next epoch: a new document in which the whole own share is written again."""
        self.epoch += 1
        self.seq = 0
        self._writer = self._new_writer(self._witness.genesis_key, self.spec.id, self.epoch)
        self.own.renew()

    # --- peers' results -------------------------------------------------------------------------------------------------

    def check_welcome(self, peer: str) -> None:
        """Refuse a peer that was expelled from this search. Errors: the code of the reason."""
        if peer in self.expelled:
            raise MeshError(self.expelled[peer], "you were expelled from this search, and your share was removed")
        if peer in self.aside:
            raise MeshError(self.aside[peer], "your share of this search is ignored while you are frozen")

    async def receive(self, peer: str, public_key: bytes, sealed: bytes, find_key: envelope.KeyFinder) -> None:
        """Store and merge one delta of ``peer``; a repeated one changes nothing.

        Checks, in order: envelope and signature; written by ``peer``; the peer was not expelled from this search; search,
        sequence, chain and every entry. A valid delta is merged and stored, and only then confirmed to the sender. A delta that
        no honest peer sends costs its writer its whole share, for good. Errors: ``envelope.*``, ``delta.*``, ``peer.limit``.
        """
        opened = envelope.verify(sealed, kinds=frozenset({KIND}), find_key=find_key)
        if opened.header.issuer != peer:
            raise MeshError("envelope.issuer", "a delta is sent by its writer only")
        async with self._merging:
            self.check_welcome(peer)
            try:
                if not await self._merge(peer, public_key, opened.payload):
                    return
                delta = decode_delta(opened.payload)
                record = DeltaRecord(search=self.spec.id, peer=peer, epoch=delta.epoch, seq=delta.seq, envelope=sealed)
                await self._keep(record)
            except MeshError as error:
                if error.code in _OFFENCES and peer not in self.expelled:
                    log.error("the share of %s is dropped from %s: %s", ids.short(peer), self.spec.id, error)
                    await self._expel(peer, error.code)
                raise

    async def _keep(self, record: DeltaRecord) -> None:
        """Store a delta that was just merged. One that cannot be stored counts as unread, so that it is requested again.

        The sender is never told that we have more than a restart would find.
        """
        try:
            await self._store.append_delta(record)
        except MeshError:
            self._readers[record.peer].unread()
            raise

    async def drop(self, peer: str, code: str) -> None:
        """Expel ``peer`` and remove its share, as if it had never been met; from now on it gets the error ``code``.

        Its messages on the way are refused. The tree stays usable meanwhile. A second call does nothing. Errors: ``store.*``.
        """
        self.expelled.setdefault(peer, code)
        async with self._merging:  # wait until a delta that was just merged is also stored, then remove both
            await self._expel(peer, code)

    async def set_aside(self, peer: str, code: str) -> None:
        """Remove the share of ``peer``, which is frozen because of ``code``, from the tree; its stored deltas stay."""
        self.aside[peer] = code
        async with self._merging:  # a delta that is being merged is removed too
            await self._forget(peer)

    async def take_back(self, peer: str, public_key: bytes, find_key: envelope.KeyFinder) -> None:
        """Merge the stored share of a ``peer`` that was set aside, and is no longer frozen. Errors: ``store.*``."""
        async with self._merging:
            del self.aside[peer]
            await self._read(every_delta(self._store, self.spec.id, peer=peer), find_key, {peer: public_key})

    async def _expel(self, peer: str, code: str) -> None:
        self.expelled.setdefault(peer, code)
        await self._expulsions.add(self.spec.id, peer, code)
        await self._witness.trail.write("peer.expelled", subject=peer, code=code, note={"search": self.spec.id})
        await self.feed.tell(FeedKind.SEARCH_EXPELLED, self.spec.id, peer)
        await self._forget(peer)
        await self._store.drop_deltas(self.spec.id, peer)

    async def _forget(self, peer: str) -> None:
        """Remove the share of ``peer`` from the tree; other tasks run between two slices of it."""
        self._readers.pop(peer, None)
        slices = self._forgetting(peer)
        try:
            for _ in slices:
                await asyncio.sleep(0)
        finally:
            for _ in slices:  # if cancelled half-way, finish: the tree must stay consistent
                pass

    def _forgetting(self, peer: str) -> Iterator[None]:
        if peer not in self.tree.peers:
            return
        for rows in self.tree.dropping(peer):
            self.uct.refresh(rows)
            yield
        # The removed peer may have been the only source of a state, so recompute it from the other peers.
        self.view.forget_states()
        for nearest in self.tree.states():
            for state, key in nearest.items():
                self.view.note_state(key, state)
            yield

    def have(self, peer: str) -> tuple[int, int]:
        """The newest (epoch, sequence number) merged from ``peer``."""
        reader = self._readers.get(peer)
        return (reader.epoch, reader.next_seq - 1) if reader else (0, 0)

    def heads(self) -> list[ShareHead]:
        """The end of each writer's share in this copy."""
        ends = [(peer, reader, reader.next_seq - 1) for peer, reader in self._readers.items()]
        return [
            ShareHead(writer=peer, epoch=reader.epoch, seq=seq, digest=reader.digest(reader.epoch, seq) or b"")
            for peer, reader, seq in ends
            if seq
        ]

    def contradicts(self, head: ShareHead) -> bool:
        """True if this node holds a different delta under the number of ``head``."""
        reader = self._readers.get(head.writer)
        digest = reader.digest(head.epoch, head.seq) if reader else None
        return digest not in (None, head.digest)


async def _decoded(chunk: bytes, *, may_lease: bool) -> Decoded:
    """``chunk``, decoded without blocking other tasks. Errors: ``delta.invalid``."""
    if len(chunk) <= _DECODED_HERE_BYTES_MAX:
        return decode_chunk(chunk, may_lease=may_lease)
    return await asyncio.to_thread(decode_chunk, chunk, may_lease=may_lease)
