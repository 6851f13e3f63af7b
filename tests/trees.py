"""Small peers and trees for tests."""

from __future__ import annotations

from collections.abc import Iterable

from adapters.search.writer import TreeWriter
from protocol.action import Click, Locator
from protocol.delta import Delta, DeltaReader, encode_delta
from protocol.entry import SCALE, LeaseEntry, NodeEntry, encode_action, root_key
from protocol.errors import MeshError
from protocol.share import OwnShare
from protocol.tree import SearchTree

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
    return LeaseEntry(worker="bob", lease=f"lea-{number}", term=term, live=live)


class Peer:
    """A peer that searches, writes its document and keeps the payloads of its deltas."""

    def __init__(self, name: str, epoch: int = 1) -> None:
        self.name = name
        self.share = OwnShare()
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
            self.tree.apply(peer, reader.epoch, update)
        return True
