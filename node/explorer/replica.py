"""One node's copy of a search: the merged tree, its own share, and the signed deltas behind both.

Own results go into plain registers first and become deltas at ``flush``: stored, then merged, then published, in this order, so
that nothing leaves the node that a crash could take back. After a restart the own share is read back from the own deltas and
written again as a new epoch.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from adapters.ports import DeltaRecord, NewTreeWriter, Store, TreeWriter
from node.explorer.visit import Visit, register_of
from node.explorer.walker import WalkStep
from node.witness import Witness
from protocol import envelope, ids, limits
from protocol.delta import KIND, Delta, DeltaReader, decode_delta, encode_delta
from protocol.entry import (
    SCALE,
    STATE_UNKNOWN,
    LeaseEntry,
    NodeEntry,
    Register,
    TreeUpdate,
    decode_action,
    encode_action,
    make_update,
    root_key,
)
from protocol.errors import MeshError
from protocol.messages import SearchSpec
from protocol.policy import Candidate
from protocol.tree import CLOSED, VISITS, Rows, SearchTree
from protocol.uct import Uct

log = logging.getLogger(__name__)

_OFFENCES = frozenset({"delta.invalid", "delta.equivocation"})
"""What no honest peer sends. A gap or a full tree is nobody's fault."""


class Replica:
    """A search as this node knows it. Its writer belongs to one flush at a time; merging happens between awaits."""

    def __init__(self, spec: SearchSpec, witness: Witness, store: Store, new_writer: NewTreeWriter) -> None:
        self.spec = spec
        self.tree = SearchTree(spec.id)
        self.uct = Uct(self.tree, witness.node)
        self.root = root_key(spec.id)
        self.epoch = 0
        self.seq = 0
        self.changed = asyncio.Event()
        """Set when there are new own deltas to publish."""
        self._witness = witness
        self._store = store
        self._new_writer = new_writer
        self._writer: TreeWriter | None = None
        self._readers: dict[str, DeltaReader] = {}
        self._own: dict[bytes, Register] = {}
        self._own_nodes: dict[bytes, NodeEntry] = {}
        self._own_children: dict[bytes, list[bytes]] = {}
        self._own_leases: dict[bytes, LeaseEntry] = {}
        self._dirty: set[bytes] = set()
        self._new_nodes: dict[bytes, NodeEntry] = {}
        self._new_leases: dict[bytes, LeaseEntry] = {}
        self._by_state: dict[bytes, bytes] = {}
        self._offenders: dict[str, str] = {}
        """Peers whose share was dropped, and the code that did it."""
        self._broken = False
        self._flushing = asyncio.Lock()
        self._merging = asyncio.Lock()

    # --- opening -----------------------------------------------------------------------------------------------------

    async def load(self, find_key: envelope.KeyFinder, public_keys: Mapping[str, bytes]) -> None:
        """Read back every stored delta, and open the next own epoch with the own share.

        A stored delta of a peer that is no longer trusted is left out: its share is gone, as if it had never been met.
        So is the share of a peer whose stored deltas do not hold. Errors: ``store.corrupt``; ``envelope.*`` and ``delta.*`` when
        the own deltas are not what was stored.
        """
        await self.read(find_key, public_keys)
        for key, entry in self._own_nodes.items():
            self._own_children.setdefault(entry.parent, []).append(key)
        self._open_epoch()
        await self.flush()

    async def read(self, find_key: envelope.KeyFinder, public_keys: Mapping[str, bytes]) -> None:
        """Merge every stored delta of trusted peers, without an epoch of our own: to look at a search.

        Errors: those of ``load``.
        """
        me = self._witness.node
        trusted = {**public_keys, me: self._witness.genesis_key}
        for record in await self._store.deltas(self.spec.id):
            if record.peer not in trusted or record.peer in self._offenders:
                continue
            try:
                opened = envelope.verify(record.envelope, kinds=frozenset({KIND}), find_key=find_key)
                self._merge(record.peer, trusted[record.peer], opened.payload)
            except MeshError as error:
                if record.peer == me:
                    raise
                if error.code == "delta.gap":
                    continue  # nobody's fault: the peer will send from there again
                self._expel(record.peer, error)

    def _reader(self, peer: str, public_key: bytes) -> DeltaReader:
        if peer not in self._readers:
            may_lease = peer == self.spec.coordinator
            self._readers[peer] = DeltaReader(public_key, self.spec.id, may_lease=may_lease)
        return self._readers[peer]

    def _merge(self, peer: str, public_key: bytes, payload: bytes) -> bool:
        """Read the next delta of ``peer`` into the tree; False when it was known. Errors: ``delta.*``."""
        reader = self._reader(peer, public_key)
        update = reader.read(payload)
        if update is None:
            return False
        epoch = reader.epoch
        try:
            rows = self.tree.apply(peer, epoch, update)
        except MeshError:
            reader.unread()  # chain and tree stay in step: the delta is still wanted
            raise
        self._refresh(rows)
        self._note_states(update)
        if peer == self._witness.node and self._writer is None:
            self._recall(epoch, update)
        return True

    def _recall(self, epoch: int, update: TreeUpdate) -> None:
        """Take back the own share from an own delta that was stored before a restart."""
        if epoch > self.epoch:
            self.epoch = epoch
            self._own, self._own_nodes, self._own_leases = {}, {}, {}
        self._own_nodes |= update.nodes
        self._own_leases |= update.leases
        self._own |= zip(update.stat_keys, map(register_of, update.stats), strict=True)

    def _refresh(self, rows: Rows) -> None:
        self.uct.refresh(rows)

    def _note_states(self, update: TreeUpdate) -> None:
        for key, row in zip(update.stat_keys, update.stats, strict=True):
            self._note_state(key, row["state"].tobytes())

    def _note_state(self, key: bytes, state: bytes) -> None:
        if state == STATE_UNKNOWN:
            return
        known = self._by_state.get(state)
        if known is None or (self.depth(key), key) < (self.depth(known), known):
            self._by_state[state] = key

    # --- own results -------------------------------------------------------------------------------------------------

    def add_children(self, parent: bytes, candidates: Sequence[Candidate]) -> None:
        """Name what can be done after ``parent``; what is named already stays as it is.

        Actions too large for the tree are left out, and so are those beyond what one peer may name after one node.
        """
        for candidate in candidates:
            try:
                action = encode_action(candidate.action)
            except MeshError as error:
                log.debug("a candidate is left out: %s", error)
                continue
            prior = round(candidate.prior * SCALE)
            self._name(NodeEntry(parent=parent, action=action, prior=prior, risk=candidate.risk))

    def _name(self, entry: NodeEntry) -> None:
        siblings = self._own_children.setdefault(entry.parent, [])
        if entry.key not in self._own_nodes and len(siblings) < limits.CANDIDATES_PER_STATE_MAX:
            self._own_nodes[entry.key] = self._new_nodes[entry.key] = entry
            siblings.append(entry.key)

    def adopt(self, branch: bytes, prefix: Sequence[bytes]) -> None:
        """Name the nodes of an assigned prefix, in case their deltas have not come yet. Errors: ``delta.invalid``."""
        parent = self.root
        entries = []
        for action in prefix:
            decode_action(action)
            entry = NodeEntry(parent=parent, action=action, prior=0, risk=1)
            entries.append(entry)
            parent = entry.key
        if parent != branch:
            raise MeshError("delta.invalid", "the branch does not follow from its prefix")
        for entry in entries:
            if self.tree.row(entry.key) is None:
                self._name(entry)

    def record(self, visit: Visit) -> None:
        """Add one iteration to the registers of every node it passed, the root included."""
        for key in (self.root, *visit.trail):
            self._own[key] = visit.added_to(self._own.get(key, Register()), key)
            self._dirty.add(key)

    def close_node(self, key: bytes) -> None:
        """Nothing is left to try below ``key``."""
        self._own[key] = msgspec.structs.replace(self._own.get(key, Register()), closed=True)
        self._dirty.add(key)

    def note_lease(self, branch: bytes, lease: LeaseEntry) -> None:
        """The coordinator's word on who works on ``branch``."""
        self._own_leases[branch] = self._new_leases[branch] = lease

    def live_leases(self) -> dict[bytes, LeaseEntry]:
        """The leases this node, as coordinator, calls live in its share, by branch."""
        return {branch: entry for branch, entry in self._own_leases.items() if entry.live}

    async def flush(self) -> None:
        """Make what is new durable, merge it, and wake whoever publishes.

        After an error the own chain may have a hole, so the next flush writes the whole own share as a new epoch.
        Errors: ``store.full``, ``store.corrupt``.
        """
        async with self._flushing:
            assert self._writer is not None
            if self._writer.full or self._broken:
                self._open_epoch()
            self._broken = True
            update = make_update(
                self._new_nodes, {key: self._own[key] for key in sorted(self._dirty)}, self._new_leases
            )
            self._new_nodes, self._new_leases, self._dirty = {}, {}, set()
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
        merged = self._merge(me, self._witness.genesis_key, payload)
        assert merged, "an own delta is always new"
        self.changed.set()

    def _open_epoch(self) -> None:
        """Begin the next epoch: a new document in which the whole own share is written again."""
        self.epoch += 1
        self.seq = 0
        self._writer = self._new_writer(self._witness.genesis_key, self.spec.id, self.epoch)
        self._new_nodes, self._new_leases, self._dirty = dict(self._own_nodes), dict(self._own_leases), set(self._own)

    # --- what peers found --------------------------------------------------------------------------------------------

    async def receive(self, peer: str, public_key: bytes, sealed: bytes, find_key: envelope.KeyFinder) -> None:
        """Keep and merge one delta of ``peer``; a repeated one does no harm.

        Checks, in order: envelope and signature; written by ``peer``; a peer that has not broken the rules in this search; search,
        sequence, chain and every entry. What passes is merged and stored; the sender hears of it only after both. A delta that no
        honest peer sends costs its writer its whole share. Errors: ``envelope.*``, ``delta.*``, ``peer.limit``.
        """
        opened = envelope.verify(sealed, kinds=frozenset({KIND}), find_key=find_key)
        if opened.claims.issuer != peer:
            raise MeshError("envelope.issuer", "a delta is sent by its writer only")
        async with self._merging:
            if peer in self._offenders:
                raise MeshError(self._offenders[peer], "your share of this search was dropped for an earlier delta")
            try:
                if not self._merge(peer, public_key, opened.payload):
                    return
                delta = decode_delta(opened.payload)
                record = DeltaRecord(search=self.spec.id, peer=peer, epoch=delta.epoch, seq=delta.seq, envelope=sealed)
                await self._keep(record)
            except MeshError as error:
                if error.code in _OFFENCES:
                    self._expel(peer, error)
                    await self._store.drop_deltas(self.spec.id, peer)
                raise

    async def _keep(self, record: DeltaRecord) -> None:
        """Store a delta that was just merged. One that cannot be stored counts as unread, so that it is wanted again:

        what the sender is told we have is never more than what a restart finds.
        """
        try:
            await self._store.append_delta(record)
        except MeshError:
            self._readers[record.peer].unread()
            raise

    def _expel(self, peer: str, error: MeshError) -> None:
        log.error("the share of %s is dropped from %s: %s", ids.short(peer), self.spec.id, error)
        self._offenders[peer] = error.code
        self.drop(peer)

    def drop(self, peer: str) -> None:
        """Forget a peer's share, as if it had never been met."""
        self._readers.pop(peer, None)
        self._refresh(self.tree.drop(peer))

    def have(self, peer: str) -> tuple[int, int]:
        """The newest (epoch, sequence number) merged from ``peer``."""
        reader = self._readers.get(peer)
        return (reader.epoch, reader.next_seq - 1) if reader else (0, 0)

    # --- reading, by key ---------------------------------------------------------------------------------------------

    def steps_to(self, key: bytes) -> list[WalkStep]:
        """The path from the start page to ``key``, with the states known on the way. Errors: ``input.not_found``."""
        steps: list[WalkStep] = []
        while key != self.root:
            entry = self._entry(key)
            steps.append(WalkStep(key=key, action=decode_action(entry.action), state=self.state(key)))
            key = entry.parent
        return steps[::-1]

    def _entry(self, key: bytes) -> NodeEntry:
        own = self._own_nodes.get(key)
        row = self.tree.row(key)
        if own is None and row is None:
            raise MeshError("input.not_found", "no such node in the search tree")
        return own or self.tree.node(row or 0)

    def action(self, key: bytes) -> bytes:
        """The encoded action that leads to ``key``, merged or not yet."""
        return self._entry(key).action

    def state(self, key: bytes) -> bytes:
        """The state hash seen at ``key``: what this node saw, else what most peers say; empty when unknown."""
        own = self._own.get(key)
        if own is not None and own.state != STATE_UNKNOWN:
            return own.state
        row = self.tree.row(key)
        state = self.tree.agreement(row).state if row is not None else STATE_UNKNOWN
        return b"" if state == STATE_UNKNOWN else state

    def visits(self, key: bytes) -> int:
        """Visits of all peers, merged so far."""
        row = self.tree.row(key)
        return int(self.tree.totals[row, VISITS]) if row is not None else 0

    def depth(self, key: bytes) -> int:
        """Steps from the start page; a large number when it is not connected yet."""
        row = self.tree.row(key)
        depth = int(self.tree.depth[row]) if row is not None else -1
        return depth if depth >= 0 else 1_000

    def closed(self, key: bytes) -> bool:
        """Whether anybody says that nothing is left to try below ``key``."""
        row = self.tree.row(key)
        return row is not None and bool(self.tree.totals[row, CLOSED])

    def expanded(self, key: bytes) -> bool:
        """Whether anybody has named what can be done after ``key``."""
        row = self.tree.row(key)
        return key in self._own_children or (row is not None and bool(len(self.tree.children(row))))

    def children(self, key: bytes) -> list[bytes]:
        """The named children of ``key``, most promising first, merged so far."""
        row = self.tree.row(key)
        return [self.tree.key(child) for child in self.tree.children(row).tolist()] if row is not None else []

    def choosable(self, key: bytes) -> list[bytes]:
        """The children of ``key`` that may be chosen, most promising by prior first: neither risky nor closed."""
        row = self.tree.row(key)
        if row is None:
            return []
        return [self.tree.key(child) for child in self.tree.children(row).tolist() if self.uct.base[child] > -math.inf]

    def untried(self, key: bytes, *, risk_class_max: int) -> list[tuple[bytes, NodeEntry]]:
        """Children of ``key`` that nobody has tried and that may be performed.

        What was just named here is not merged before the next flush, so the own share is asked as well.
        """
        found = {child: self._entry(child) for child in (*self._own_children.get(key, ()), *self.children(key))}
        return [
            (child, entry)
            for child, entry in found.items()
            if entry.risk <= risk_class_max and child not in self._own and not self.visits(child)
        ]

    def descend(self, key: bytes) -> list[bytes]:
        """The most promising way down from ``key`` (left out), by production-aware UCT; empty when nothing can be chosen."""
        row = self.tree.row(key)
        if row is None:
            return []
        return [self.tree.key(below) for below in self.uct.descend(row)[1:]]

    def nearest_with_state(self, state: bytes) -> bytes | None:
        """The node nearest to the start page at which ``state`` was seen."""
        return self._by_state.get(state)

    @contextlib.contextmanager
    def working_on(self, key: bytes) -> Iterator[None]:
        """Count a virtual loss at ``key`` while this node works there."""
        self._refresh(self.tree.begin(key))
        try:
            yield
        finally:
            self._refresh(self.tree.end(key))
