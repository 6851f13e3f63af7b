"""Guards taken out of the code under test, one at a time: a simulation that does not miss them would find nothing else either."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock

from adapters.ports.records import ArtefactRecord
from node.explorer.coordinating import lease_desk
from node.explorer.sharing.exchange import Exchange
from node.explorer.sharing.replica import Replica
from node.explorer.sharing.share_heads import ShareHeads
from node.log.peer_logs import PeerLogs
from node.signing.witness import OwnLog, Witness
from protocol.log import witness_log
from protocol.log.merkle_growth import Frontier
from protocol.log.witness_log import Checkpoint, Standing, entry_hash
from protocol.search.lease import LeaseBook
from protocol.trust import trust_set as trust
from protocol.trust.grants import Scope
from protocol.wire import envelope
from protocol.wire.envelope import ReplayWindow
from tests.sim.hostile import Mallory


@contextlib.contextmanager
def trusts_everybody() -> Iterator[None]:
    """Every peer may do everything."""

    def require(self: trust.TrustSet, node: str, scope: Scope, origin: str | None = None) -> trust.TrustedPeer:
        return self._peers[node]

    with mock.patch.object(trust.TrustSet, "require", require):
        yield


@contextlib.contextmanager
def believes_any_signature() -> Iterator[None]:
    """Whoever is named as the issuer of a delta is taken to have signed it."""
    gullible = SimpleNamespace(verify=lambda data, **named: envelope.peek(data))
    with mock.patch("node.explorer.sharing.replica.envelope", gullible):
        yield


@contextlib.contextmanager
def sends_before_it_stores() -> Iterator[None]:
    """The log grows in memory only; what was signed leaves the node, and a crash takes back that it ever existed."""

    async def append(
        self: Witness, number: int, frontier: Frontier, opening: bytes, head: bytes, artefacts: Sequence[ArtefactRecord]
    ) -> OwnLog:
        if not frontier.count:
            return await real(self, number, frontier, opening, head, artefacts)
        for made in artefacts:
            frontier.append(entry_hash(made.digest))
        told = Checkpoint(node=self.node, number=number, size=frontier.count, root=frontier.root)
        signed = witness_log.sign(told, self.identity.key)
        return OwnLog(checkpoint=told, signed=signed, opening=opening, frontier=frontier, register=head)

    real = Witness._append
    with mock.patch.object(Witness, "_append", append):
        yield


@contextlib.contextmanager
def answers_repetitions() -> Iterator[None]:
    """A message counts as often as it comes."""
    with mock.patch.object(ReplayWindow, "admit", lambda self, header, now_s: None):
        yield


@contextlib.contextmanager
def overlooks_two_histories() -> Iterator[None]:
    """A log that contradicts itself is taken for one that cannot be connected."""
    judge = witness_log.judge

    def blind(*args: Any) -> Standing:
        standing = judge(*args)
        return Standing.UNCONNECTED if standing is Standing.CONTRADICTS else standing

    async def deaf(self: PeerLogs, data: bytes) -> None:
        return None

    with (
        mock.patch("node.log.peer_logs.judge", blind),
        mock.patch.object(PeerLogs, "hear_from_others", deaf),
        mock.patch.object(PeerLogs, "hear_proof", deaf),
    ):
        yield


@contextlib.contextmanager
def keeps_the_share_of_the_distrusted() -> Iterator[None]:
    """Trust taken back leaves everything where it is."""

    async def keep(self: Replica, peer: str, code: str) -> None:
        """Nothing."""

    with mock.patch.object(Replica, "drop", keep):
        yield


@contextlib.contextmanager
def leases_twice() -> Iterator[None]:
    """A branch that somebody works on is free."""
    grant = LeaseBook.grant

    def generous(self: LeaseBook, lease_id: str, *, branch: bytes, **named: Any) -> Any:
        self._live.pop(branch, None)
        return grant(self, lease_id, branch=branch, **named)

    with (
        mock.patch.object(LeaseBook, "grant", generous),
        mock.patch.object(lease_desk.LeaseDesk, "branches", frozenset()),
    ):
        yield


@contextlib.contextmanager
def loses_deltas() -> Iterator[None]:
    """Some deltas are never sent."""

    async def forgetful(self: Exchange, epoch: int, seq: int) -> list[Any]:
        return [delta for delta in await after(self, epoch, seq) if delta.seq % 4]

    after = Exchange._after
    with mock.patch.object(Exchange, "_after", forgetful):
        yield


@contextlib.contextmanager
def believes_each_story() -> Iterator[None]:
    """What others were told by a writer is of no concern."""

    async def deaf(self: ShareHeads, teller: str, heads: Any, readers: Any) -> None:
        return None

    made = Mallory.__init__

    def with_one_attack(self: Mallory, world: Any, machine: Any) -> None:
        # Its other attacks would have it frozen or put out for something else, and its share with it.
        made(self, world, machine)
        self._attacks = [self.tell_two_stories]

    with mock.patch.object(ShareHeads, "compare", deaf), mock.patch.object(Mallory, "__init__", with_one_attack):
        yield


class Missed(NamedTuple):
    """What a simulation without the guard comes to."""

    promise: str
    """The promise that is broken."""
    seed: int
    """One that breaks it early. Any change of the node gives seeds another course, so it is where to look first, no more."""


MUTANTS = {
    trusts_everybody: Missed("1", 4),
    believes_any_signature: Missed("1", 9),
    answers_repetitions: Missed("1", 5),
    keeps_the_share_of_the_distrusted: Missed("2", 28),
    sends_before_it_stores: Missed("3", 2),
    overlooks_two_histories: Missed("3", 23),
    loses_deltas: Missed("4", 10),
    leases_twice: Missed("5", 2),
    believes_each_story: Missed("6", 3),
}
"""Each with what shows that it is missing."""
