"""One node's copy of a search: the merged tree, its own share, and the signed deltas behind both.

Own results go into plain registers first and become deltas at ``flush``: stored, then merged, then published, in this order, so that
nothing leaves the node that a crash could take back. After a restart the own share is read back from the own deltas and written
again as a new epoch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from adapters.ports import DeltaRecord, Store
from node.explorer.walker import WalkStep
from node.identity import Identity
from protocol import uct
from protocol.delta import Delta, DeltaReader, open_delta
from protocol.entry import (
    SCALE,
    STATE_UNKNOWN,
    LeaseEntry,
    NodeEntry,
    Register,
    decode_action,
    encode_action,
    root_key,
)
from protocol.envelope import KeyFinder
from protocol.errors import MeshError
from protocol.messages import KIND_DELTA, SearchSpec
from protocol.policy import Candidate
from protocol.tree import SearchTree


class Writer(Protocol):
    """Writes this node's document of one search and epoch."""

    def flush(
        self,
        nodes: Mapping[bytes, NodeEntry],
        stats: Mapping[bytes, Register],
        leases: Mapping[bytes, LeaseEntry],
    ) -> Sequence[bytes]:
        """The change chunks that carry these entries; none if there is nothing new."""


NewWriter = Callable[[bytes, str, int], Writer]
"""``(public key, search id, epoch) -> Writer``"""


class Visit(msgspec.Struct, frozen=True, kw_only=True):
    """One iteration: which nodes it passed and what came of it."""

    trail: tuple[bytes, ...]
    """Keys from below the root to the last node."""
    value: float
    """0 to 1."""
    cost_ms: int
    success: bool = False
    failed: bool = False
    """The last action of the trail could not be performed."""
    closed: bool = False
    """Nothing is left to try below the last node."""
    states: Mapping[bytes, bytes] = {}
    """State hashes seen, by node key."""


class Replica:
    """A search as this node knows it. Only its own task writes; merging is done between awaits."""

    def __init__(self, spec: SearchSpec, identity: Identity, store: Store, new_writer: NewWriter) -> None:
        self.spec = spec
        self.tree = SearchTree(spec.id)
        self.selector = uct.Selector(self.tree)
        self.root = root_key(spec.id)
        self.epoch = 0
        self.seq = 0
        self._identity = identity
        self._store = store
        self._new_writer = new_writer
        self._writer: Writer | None = None
        self._readers: dict[str, DeltaReader] = {}
        self._own: dict[bytes, Register] = {}
        self._own_nodes: dict[bytes, NodeEntry] = {}
        self._own_children: dict[bytes, list[bytes]] = {}
        self._own_leases: dict[bytes, LeaseEntry] = {}
        self._dirty: set[bytes] = set()
        self._new_nodes: dict[bytes, NodeEntry] = {}
        self._new_leases: dict[bytes, LeaseEntry] = {}
        self._flushing = asyncio.Lock()
        self._merging = asyncio.Lock()
        self.changed = asyncio.Event()
        """Set when there are new own deltas to publish."""

    # --- opening -----------------------------------------------------------------------------------------------------

    async def load(self, find_key: KeyFinder, public_keys: Mapping[str, bytes]) -> None:
        """Read back every stored delta, and open the next own epoch with the own share.

        A stored delta of a peer that is no longer trusted is left out: its share is gone, as if it had never been met.
        """
        me = self._identity.node
        for record in await self._store.deltas(self.spec.id):
            if record.peer != me and record.peer not in public_keys:
                continue
            key = self._identity.public_key if record.peer == me else public_keys[record.peer]
            delta = open_delta(record.envelope, find_key)
            update = self._reader(record.peer, key).read(delta)
            if update is None:
                continue
            self.tree.apply(record.peer, delta.epoch, update)
            if record.peer == me:
                if delta.epoch > self.epoch:
                    self.epoch = delta.epoch
                    self._own.clear()
                    self._own_nodes.clear()
                    self._own_leases.clear()
                self._own_nodes |= update.nodes
                self._own_leases |= update.leases
                self._own |= zip(update.stat_keys, map(register_of, update.stats), strict=True)
        for key, entry in self._own_nodes.items():
            self._own_children.setdefault(entry.parent, []).append(key)
        self.epoch += 1
        self._writer = self._new_writer(self._identity.public_key, self.spec.id, self.epoch)
        self._new_nodes = dict(self._own_nodes)
        self._new_leases = dict(self._own_leases)
        self._dirty = set(self._own)
        await self.flush()

    def _reader(self, peer: str, public_key: bytes) -> DeltaReader:
        if peer not in self._readers:
            self._readers[peer] = DeltaReader(self.spec.id, public_key)
        return self._readers[peer]

    # --- own results -------------------------------------------------------------------------------------------------

    def add_children(self, parent: bytes, candidates: Sequence[Candidate]) -> None:
        """Name what can be done after ``parent``; what is named already stays as it is."""
        for candidate in candidates:
            entry = NodeEntry(
                parent=parent,
                action=encode_action(candidate.action),
                prior=round(candidate.prior * SCALE),
                risk=candidate.risk,
            )
            if entry.key not in self._own_nodes:
                self._own_nodes[entry.key] = self._new_nodes[entry.key] = entry
                self._own_children.setdefault(parent, []).append(entry.key)

    def record(self, visit: Visit) -> None:
        """Add one iteration to the registers of every node it passed, the root included."""
        value = round(max(0.0, min(1.0, visit.value)) * SCALE)
        for key in (self.root, *visit.trail):
            last = bool(visit.trail) and key == visit.trail[-1]
            old = self._own.get(key, Register())
            self._own[key] = Register(
                visits=old.visits + 1,
                value_sum=old.value_sum + value,
                best=max(old.best, value),
                cost_ms=old.cost_ms + visit.cost_ms,
                successes=old.successes + visit.success,
                failures=old.failures + (visit.failed and last),
                closed=old.closed or (visit.closed and last),
                state=visit.states.get(key, old.state),
            )
            self._dirty.add(key)

    def close_node(self, key: bytes) -> None:
        """Nothing is left to try below ``key``."""
        self._own[key] = msgspec.structs.replace(self._own.get(key, Register()), closed=True)
        self._dirty.add(key)

    def note_state(self, key: bytes, state: bytes) -> None:
        """The state hash seen at ``key``."""
        self._own[key] = msgspec.structs.replace(self._own.get(key, Register()), state=state)
        self._dirty.add(key)

    def note_lease(self, branch: bytes, *, worker: str, lease: str, live: bool) -> None:
        """The coordinator's word on who works on ``branch``."""
        old = self._own_leases.get(branch)
        term = (old.term if old else 0) + (1 if live else 0)
        entry = LeaseEntry(worker=worker, lease=lease, term=max(term, 1), live=live)
        self._own_leases[branch] = self._new_leases[branch] = entry

    async def flush(self) -> None:
        """Make what is new durable, merge it, and wake whoever publishes. Errors: ``store.full``, ``store.corrupt``."""
        async with self._flushing:
            assert self._writer is not None
            nodes, self._new_nodes = self._new_nodes, {}
            leases, self._new_leases = self._new_leases, {}
            stats = {key: self._own[key] for key in self._dirty}
            self._dirty = set()
            for chunk in self._writer.flush(nodes, stats, leases):
                self.seq += 1
                delta = Delta(search=self.spec.id, epoch=self.epoch, seq=self.seq, chunk=chunk)
                artefact = self._identity.artefact(KIND_DELTA, self.spec.id, delta)
                me = self._identity.node
                await self._store.append_delta(
                    DeltaRecord(
                        search=self.spec.id, peer=me, epoch=self.epoch, seq=self.seq, envelope=artefact.envelope
                    )
                )
                update = self._reader(me, self._identity.public_key).read(delta)
                assert update is not None
                self.tree.apply(me, self.epoch, update)
                self.changed.set()

    # --- what peers found --------------------------------------------------------------------------------------------

    async def receive(self, peer: str, public_key: bytes, sealed: bytes, find_key: KeyFinder) -> None:
        """Keep and merge one delta of ``peer``; a repeated one does no harm.

        Checks, in order: envelope and signature; written by ``peer`` for this search; sequence, chain and every entry; then it is
        stored, then merged. Errors: ``envelope.*``, ``delta.*``.
        """
        delta = open_delta(sealed, find_key, issuer=peer)
        if delta.search != self.spec.id:
            raise MeshError("delta.invalid", "the delta belongs to another search")
        async with self._merging:
            update = self._reader(peer, public_key).read(delta)
            if update is None:
                return
            await self._store.append_delta(
                DeltaRecord(search=self.spec.id, peer=peer, epoch=delta.epoch, seq=delta.seq, envelope=sealed)
            )
            self.tree.apply(peer, delta.epoch, update)

    def drop(self, peer: str) -> None:
        """Forget a peer's share, as if it had never been met."""
        self._readers.pop(peer, None)
        self.tree.drop(peer)

    def have(self, peer: str) -> tuple[int, int]:
        """The newest (epoch, sequence number) merged from ``peer``."""
        reader = self._readers.get(peer)
        return (reader.epoch, reader.seq) if reader else (0, 0)

    # --- reading -----------------------------------------------------------------------------------------------------

    def steps_to(self, key: bytes) -> list[WalkStep]:
        """The path from the start page to ``key``, with the states known on the way. Errors: ``input.not_found``."""
        steps = []
        for node in self.tree.path_keys(key):
            state = self.tree.state(node)
            steps.append(
                WalkStep(
                    key=node,
                    action=decode_action(self.tree.action(node)),
                    state=b"" if state == STATE_UNKNOWN else state,
                )
            )
        return steps

    def expanded(self, key: bytes) -> bool:
        """Whether anybody has named what can be done after ``key``."""
        return key in self._own_children or bool(self.tree.children(key))

    def action(self, key: bytes) -> bytes:
        """The encoded action that leads to ``key``, merged or not yet."""
        own = self._own_nodes.get(key)
        return own.action if own else self.tree.action(key)

    def untried(self, key: bytes, *, risk_class_max: int) -> list[tuple[bytes, NodeEntry]]:
        """Children of ``key`` that nobody has tried and that may be performed.

        What was just named here is not merged before the next flush, so the own share is asked as well.
        """
        found = {child: self._own_nodes[child] for child in self._own_children.get(key, ())}
        for child in self.tree.children(key):
            found.setdefault(child, self.tree.entry(child))
        return [
            (child, entry)
            for child, entry in found.items()
            if entry.risk <= risk_class_max and child not in self._own and not self.tree.visits(child)
        ]

    def descend(self, key: bytes) -> list[bytes]:
        """The most promising way down from ``key``, by production-aware UCT; empty when nothing below can be chosen."""
        return self.selector.descend(key)


def register_of(row: object) -> Register:
    """One row of a decoded update as a record."""
    visits, value_sum, best, cost_ms, successes, failures, closed, state = row  # type: ignore[misc]
    return Register(
        visits=int(visits),  # type: ignore[has-type]
        value_sum=int(value_sum),  # type: ignore[has-type]
        best=int(best),  # type: ignore[has-type]
        cost_ms=int(cost_ms),  # type: ignore[has-type]
        successes=int(successes),  # type: ignore[has-type]
        failures=int(failures),  # type: ignore[has-type]
        closed=bool(closed),  # type: ignore[has-type]
        state=state.tobytes(),  # type: ignore[has-type]
    )
