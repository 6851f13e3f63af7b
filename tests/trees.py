"""Small peers and trees for tests."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from adapters.search.writer import TreeWriter
from protocol import ids
from protocol.errors import MeshError
from protocol.page.actions.action import Click, Locator
from protocol.search.delta import Delta, DeltaReader, encode_delta
from protocol.search.entry import (
    SCALE,
    STATE_UNKNOWN,
    LeaseEntry,
    NodeEntry,
    Register,
    TreeUpdate,
    encode_action,
    make_update,
    root_key,
)
from protocol.search.tree import SearchTree

SEARCH = "sea-AAAAAAAAAAAAAAAAAAAAA"
ROOT_KEY = root_key(SEARCH)
PEERS = ("alice", "bob", "carol", "dave")


def public_key(peer: str) -> bytes:
    """32 bytes that stand for the key of ``peer``."""
    return peer.encode().ljust(32, b"-")


def click(name: str) -> bytes:
    """An encoded action."""
    return encode_action(Click(target=Locator(role="link", name=name)))


def node(name: str, parent: bytes = ROOT_KEY, *, prior: float = 0.5, risk: int = 1) -> NodeEntry:
    """A node that clicks ``name``."""
    return NodeEntry(parent=parent, action=click(name), prior=round(prior * SCALE), risk=risk)


def lease(number: int, *, live: bool = True, term: int = 1) -> LeaseEntry:
    """A lease of some worker."""
    lease_id = ids.make_id("lea", (number << 4).to_bytes(ids.ID_RANDOM_BYTES))
    return LeaseEntry(worker=ids.node_id(public_key("bob")), lease=lease_id, term=term, live=live)


class Share:
    """Collects what a search finds. ``take`` is what has changed since the last call, ``everything`` starts a new
    epoch.
    """

    def __init__(self) -> None:
        self._nodes: dict[bytes, NodeEntry] = {}
        self._stats: dict[bytes, Register] = {}
        self._leases: dict[bytes, LeaseEntry] = {}
        self._changed: tuple[set[bytes], set[bytes], set[bytes]] = (set(), set(), set())

    def name(self, entry: NodeEntry) -> bytes:
        """Name a node; its key."""
        key = entry.key
        if self._nodes.get(key) != entry:
            self._nodes[key] = entry
            self._changed[0].add(key)
        return key

    def visit(
        self, path: Iterable[bytes], *, value: int, cost_ms: int, success: bool = False, failure: bool = False
    ) -> None:
        """Count one visit at every node of ``path`` (keys, the root's included).

        value: 0..``SCALE``.
        """
        for key in path:
            old = self._stats.get(key, Register())
            self._put(
                key,
                msgspec.structs.replace(
                    old,
                    visits=old.visits + 1,
                    value_sum=old.value_sum + value,
                    best=max(old.best, value),
                    cost_ms=old.cost_ms + cost_ms,
                    successes=old.successes + success,
                    failures=old.failures + failure,
                ),
            )

    def saw(self, key: bytes, state: bytes) -> None:
        """The action of ``key`` led to ``state`` (a state hash; its first 16 bytes are kept)."""
        kept = state[: len(STATE_UNKNOWN)]
        self._put(key, msgspec.structs.replace(self._stats.get(key, Register()), state=kept))

    def close(self, key: bytes) -> None:
        """Nothing is left to try below ``key``."""
        self._put(key, msgspec.structs.replace(self._stats.get(key, Register()), closed=True))

    def lease(self, branch: bytes, entry: LeaseEntry) -> None:
        """Coordinator only: who works on ``branch``."""
        if self._leases.get(branch) != entry:
            self._leases[branch] = entry
            self._changed[2].add(branch)

    def _put(self, key: bytes, register: Register) -> None:
        if self._stats.get(key) != register:
            self._stats[key] = register
            self._changed[1].add(key)

    def take(self) -> TreeUpdate:
        """What has changed since the last ``take`` or ``everything``, for the own tree and the writer alike."""
        nodes, stats, leases = self._changed
        self._changed = (set(), set(), set())
        return make_update(
            {key: self._nodes[key] for key in sorted(nodes)},
            {key: self._stats[key] for key in sorted(stats)},
            {key: self._leases[key] for key in sorted(leases)},
        )

    def everything(self) -> TreeUpdate:
        """All of it: the first update of a new epoch."""
        self._changed = (set(), set(), set())
        return make_update(self._nodes, self._stats, self._leases)


class Peer:
    """A peer that searches, writes its document and keeps the payloads of its deltas."""

    def __init__(self, name: str, epoch: int = 1) -> None:
        self.name = name
        self.share = Share()
        self.writer = TreeWriter(public_key(name), SEARCH, epoch)
        self.payloads: list[bytes] = []

    def publish(self) -> None:
        """Write what is new as one delta or more."""
        self._send(self.writer.flush(self.share.take()))

    def restart(self) -> None:
        """Begin a new epoch that says everything again."""
        heads = (self.writer.head,) if self.writer.head else ()
        self.writer = TreeWriter(public_key(self.name), SEARCH, self.writer.epoch + 1, prior_heads=heads)
        self._send(self.writer.flush(self.share.everything()))

    def _send(self, deltas: Iterable[Delta]) -> None:
        self.payloads.extend(encode_delta(delta) for delta in deltas)


class Receiver:
    """A node that merges the deltas of others, in whatever order they come; early ones wait."""

    def __init__(self, *, coordinator: str = "alice") -> None:
        self.tree = SearchTree(SEARCH)
        self._coordinator = coordinator
        self._readers: dict[str, DeltaReader] = {}
        self._early: list[tuple[str, bytes]] = []

    def receive(self, peer: str, payload: bytes) -> None:
        """Merge a payload, then what it was missing for."""
        if not self._merge(peer, payload):
            self._early.append((peer, payload))
            return
        waiting, self._early = self._early, []
        for early in waiting:
            self.receive(*early)

    def _merge(self, peer: str, payload: bytes) -> bool:
        may_lease = peer == self._coordinator
        reader = self._readers.setdefault(peer, DeltaReader(public_key(peer), SEARCH, may_lease=may_lease))
        try:
            update = reader.read(payload)
        except MeshError as error:
            if error.code == "delta.gap":
                return False
            raise
        if update is not None:
            try:
                self.tree.apply(peer, reader.epoch, update)
            except MeshError:
                reader.unread()
                raise
        return True
