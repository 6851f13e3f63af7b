"""What is so, whatever the nodes believe: who trusts whom, what honest nodes signed and stored. Held against every write of an
honest node and every message it sends.

Nothing here asks the code under test: trust is what people decided in this run, signatures are checked with libsodium itself.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

from adapters.log_records import LeafRecord, LogRecord
from adapters.ports.records import DeltaRecord, LeaseRecord, PeerRecord, SearchRecord
from node.log.stored import EquivocationRecord, HeadRecord
from protocol import limits
from protocol.errors import MeshError
from protocol.keys.keylog import KeyLog
from protocol.log import log_proof, note, witness_log
from protocol.log.merkle_growth import Frontier
from protocol.log.witness_log import Checkpoint, entry_hash
from protocol.messages import BranchAssign, BranchReturn, DeltaBatch, DeltaPush, LogSync, SearchOpen
from protocol.routes import ROUTES
from protocol.wire import cbor, envelope
from tests.twins.transport import Leg

if TYPE_CHECKING:
    from tests.sim.machine import Life, Machine

_CARRIERS = frozenset({"deltas/push", "deltas/pull", "search/open", "branch/assign", "branch/return", "log/checkpoint"})
"""Routes on which artefacts and checkpoints travel."""
WRITE_S_MAX = 0.01
"""How long a write to a store takes at most."""
_LIVE, _ENDED = "live", frozenset({"done", "expired", "revoked"})


class Shadow:
    """A log of an honest node as its store has it: every root it ever had."""

    def __init__(self) -> None:
        self._frontier = Frontier()
        self.roots: dict[int, bytes] = {}

    @property
    def size(self) -> int:
        """Entries."""
        return self._frontier.count

    def append(self, digest: bytes) -> None:
        """One more entry."""
        self._frontier.append(entry_hash(digest))
        self.roots[self.size] = self._frontier.root


def signed_by(sealed: bytes, key: bytes) -> bool:
    """Whether the artefact ``sealed`` carries a signature by ``key`` (32 bytes): RFC 9052, section 4.4, by hand."""
    protected, payload, signature = envelope._parts(sealed, limits.ARTEFACT_BYTES_MAX)
    said = cbor.encode(["Signature1", protected, b"", payload])
    try:
        VerifyKey(key).verify(said, signature)
    except BadSignatureError:
        return False
    return True


class Truth:
    """What holds in one run. ``violate`` is told what does not."""

    def __init__(self, violate: Callable[[str], None]) -> None:
        self._violate = violate
        self.machines: dict[str, Machine] = {}
        """By node id."""
        self.trusted: dict[str, dict[str, frozenset[str]]] = defaultdict(dict)
        """Node id → peer → what the peer may do there, as people decided."""
        self.unsure: set[tuple[str, str]] = set()
        """(node, peer): trust was being taken back; a crash may have come first."""
        self.revoked: dict[tuple[str, str], tuple[int, float]] = {}
        """(node, peer): the node has understood that the peer has revoked itself: since when (seconds since 1970), and from which
        moment of virtual time on: what was being written then had been judged before."""
        self.proven: set[tuple[str, str]] = set()
        """(node, peer): the node holds a proof that the peer has two histories."""
        self.logged: dict[str, set[bytes]] = defaultdict(set)
        """Node id → hashes of what its stored log holds."""
        self.shadows: dict[tuple[str, int], Shadow] = defaultdict(Shadow)
        """By node id and number of the log."""
        self.told: dict[tuple[str, str], set[Checkpoint]] = defaultdict(set)
        """(node, about): checkpoints of a hostile node that reached an honest one since ``told`` was last cleared."""
        self._keys: dict[str, dict[bytes, None]] = defaultdict(dict)
        self._answered: set[tuple[str, bytes]] = set()
        self.leases: dict[str, str] = {}
        """Status of every lease in its coordinator's store."""

    def add(self, machine: Machine) -> None:
        """A machine joins."""
        self.machines[machine.id] = machine

    def name(self, node: str) -> str:
        """For people."""
        known = self.machines.get(node)
        return known.name if known else node[:6]

    def honest(self, node: str) -> bool:
        """Whether it does what the code says."""
        known = self.machines.get(node)
        return known is not None and not known.hostile

    def may(self, node: str, peer: str, scope: str) -> bool:
        """Whether people at ``node`` let ``peer`` do this, and nothing is known there that forbids it."""
        return scope in self.trusted[node].get(peer, ()) and (node, peer) not in self.proven

    def current_key(self, node: str) -> bytes:
        """The key a node connects with."""
        life = self.machines[node].life
        return life.identity.public_key if life else self.machines[node].key_log.key

    def keys(self, node: str) -> tuple[bytes, ...]:
        """Every key that was ever the node's."""
        machine = self.machines[node]
        log = machine.life.identity.log if machine.life else machine.key_log
        self._keys[node] |= dict.fromkeys((*log.keys, log.key))
        return tuple(self._keys[node])

    # --- what honest nodes store -------------------------------------------------------------------------------------

    def check_stored(self, machine: Machine, operation: str, args: tuple[Any, ...], result: Any) -> None:
        """An honest node has written something."""
        match operation, args:
            case "append_log", (LogRecord() as log, leaves, _):
                self._log_grew(machine.id, log, leaves)
            case "append_delta", (DeltaRecord() as delta,) if result:
                self._delta_kept(machine.id, delta)
            case "put_search", (SearchRecord() as search,):
                if search.coordinator != machine.id and search.status == "running":
                    self._need(machine.id, search.coordinator, "branch:assign", search.spec, "a search")
            case "put_lease", (LeaseRecord() as lease,):
                self._lease_kept(machine, lease)
            case "put_peer", (PeerRecord(key_log=data) as peer,) if data:
                revoked_s = KeyLog.read(data).revoked_s
                if revoked_s and self.revoked.get((machine.id, peer.node), (0, 0.0))[0] != revoked_s:
                    self.revoked[machine.id, peer.node] = revoked_s, machine.world.loop.time() + WRITE_S_MAX
            case "put_row", (_, HeadRecord() as head):
                self._check_note(head.node, head.checkpoint, f"{machine.name} holds")
            case "add_row", (_, EquivocationRecord() as found):
                if self.honest(found.node):
                    self._violate(f"3: {machine.name} calls honest {self.name(found.node)} a liar")
                log_proof.check(log_proof.decode(found.proof))
                self.proven.add((machine.id, found.node))
            case _:
                pass

    def _log_grew(self, node: str, log: LogRecord, leaves: list[LeafRecord]) -> None:
        shadow = self.shadows[node, log.number]
        for leaf in leaves:
            if leaf.index != shadow.size:
                self._violate(f"3: the log of {self.name(node)} has {shadow.size} entries and gets number {leaf.index}")
                return
            shadow.append(leaf.digest)
            self.logged[node].add(leaf.digest)
        self._check_note(node, log.checkpoint, "it signed")

    def _check_note(self, node: str, data: bytes, who: str) -> None:
        """A checkpoint of an honest node is one of the states of its stored log."""
        if not self.honest(node):
            return
        told = witness_log.peek(note.parse(data))
        root = self.shadows[node, told.number].roots.get(told.size)
        if root is None:
            self._violate(f"3: {who} a checkpoint of {self.name(node)} of size {told.size}, which its store never had")
        elif root != told.root:
            self._violate(f"3: {who} a checkpoint of {self.name(node)} that forks its log at {told.size}")

    def _delta_kept(self, node: str, delta: DeltaRecord) -> None:
        if delta.peer != node:
            self._need(node, delta.peer, "deltas:write", delta.envelope, "a delta")
        elif hashlib.sha256(delta.envelope).digest() not in self.logged[node]:
            self._violate(f"3: {self.name(node)} keeps an own delta that its log does not hold")

    def _need(self, node: str, author: str, scope: str, sealed: bytes, what: str) -> None:
        """An artefact that an honest node accepts was signed by its author, who may hand it in."""
        here = f"{self.name(node)} accepts {what} of {self.name(author)}"
        if not self.may(node, author, scope):
            proven = " proven to lie" if (node, author) in self.proven else ""
            known = self.trusted[node].get(author)
            why = "whom it does not trust" if known is None else f"who{proven} may only {sorted(known)}"
            self._violate(f"{2 if known is None else 1}: {here}, {why}")
        if author not in self.machines or not any(signed_by(sealed, key) for key in self.keys(author)):
            self._violate(f"1: {here}, which that node did not sign")
        elif self.honest(author) and hashlib.sha256(sealed).digest() not in self.logged[author]:
            self._violate(f"1: {here}, which is not in that node's log")
        since_s, from_s = self.revoked.get((node, author), (None, 0.0))
        header = envelope.peek(sealed).header
        if header.issuer != author:
            self._violate(f"1: {here}, which names {self.name(header.issuer)}")
        if since_s is not None and header.issued_s >= since_s and self.machines[node].world.loop.time() > from_s:
            self._violate(f"2: {here}, signed after that node's revocation, of which it knew")

    def _lease_kept(self, machine: Machine, lease: LeaseRecord) -> None:
        sealed = envelope.peek(lease.assignment)
        coordinator = sealed.header.issuer
        if coordinator != machine.id:
            if lease.status == _LIVE:
                self._need(machine.id, coordinator, "branch:assign", lease.assignment, "an assignment")
            return
        before = self.leases.get(lease.id, "")
        if lease.status == _LIVE:
            if before in _ENDED:
                self._violate(f"5: lease {lease.id} lives again after it was {before}")
            others = [
                other
                for other in machine.live_leases(lease.search)
                if other.branch == lease.branch and other.id != lease.id
            ]
            if others:
                self._violate(f"5: one branch is leased to two: {lease.id} and {others[0].id}")
        self.leases[lease.id] = lease.status
        if lease.result and lease.worker != machine.id:
            known = machine.results.setdefault(lease.id, lease.result)
            if known is lease.result:
                self._need(machine.id, lease.worker, "branch:accept", lease.result, "a result")
            elif known != lease.result:
                self._violate(f"5: the result of lease {lease.id} was replaced by another")

    def check_answered(self, life: Life, caller: str, route: str, body: bytes) -> None:
        """A node has done what a message asks: it does so once, in whatever life."""
        node = life.machine.id
        key = (node, hashlib.sha256(body).digest())
        before = key in self._answered
        self._answered.add(key)
        if before and self.honest(node):
            self._violate(f"1: {self.name(node)} answers the same {route} of {self.name(caller)} twice")

    # --- what honest nodes send --------------------------------------------------------------------------------------

    def check_leg(self, leg: Leg) -> None:
        """A message leaves a node: what an honest one has signed is in its stored log before."""
        if leg.route not in _CARRIERS or not self.honest(leg.source):
            return
        record = _record_of(leg)
        match record:
            case DeltaPush(deltas=deltas) | DeltaBatch(deltas=deltas):
                sealed = list(deltas)
            case SearchOpen(spec=one) | BranchAssign(assignment=one) | BranchReturn(result=one):
                sealed = [one]
            case LogSync(head=head):
                sealed = []
                if head:
                    self._check_note(leg.source, head, "it sends")
            case _:
                return
        for one in sealed:
            if hashlib.sha256(one).digest() not in self.logged[leg.source]:
                self._violate(f"3: {self.name(leg.source)} sends in {leg.route} what its stored log does not hold")

    def _is_heard(self, life: Life, source: str) -> bool:
        """Whether what ``source`` says is listened to: a frozen peer, or one under another key, is refused whatever it tells."""
        peers, there = life.rooms.trust.peers, self.machines[source].life
        if source in peers.frozen or not peers.knows(source) or not peers.acts(source):
            return False
        return there is None or peers.public_key(source) == there.identity.public_key

    def arrived(self, leg: Leg) -> None:
        """A message reaches a node: an honest one is to make something of checkpoints that contradict each other."""
        if leg.route != "log/checkpoint" or not self.honest(leg.target) or all(map(self.honest, self.machines)):
            return
        life = self.machines[leg.target].life
        if life is None or not self._is_heard(life, leg.source):
            return
        record = _record_of(leg)
        if not isinstance(record, LogSync):
            return
        for data in (record.head, *record.notes):
            try:
                told = witness_log.peek(note.parse(data)) if data else None
            except MeshError:
                continue
            if told is not None and told.node in self.machines and not self.honest(told.node):
                self.told[leg.target, told.node].add(told)


def _record_of(leg: Leg) -> msgspec.Struct | None:
    """What a message says; None if it says nothing that can be read."""
    route = ROUTES.get(leg.route)
    if route is None:
        return None
    try:
        payload = leg.payload if leg.is_answer else envelope.peek(leg.payload).payload
        kind = route.answer if leg.is_answer else route.request
        return cbor.decode_as(payload, kind, bytes_max=limits.PEER_BODY_BYTES_MAX)
    except MeshError:
        return None
