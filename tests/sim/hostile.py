"""A peer that lies: a real node with a real key, beside which somebody sends what no honest node would."""

from __future__ import annotations

import copy
import hashlib
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec
from nacl.signing import SigningKey

from adapters.ports.transport import PeerAddress
from adapters.search.writer import TreeWriter
from node.log.checkpoints import LogExchange
from node.signing.witness import Witness
from node.trust.calls import PATH_PREFIX
from protocol.errors import MeshError
from protocol.keys import keylog
from protocol.keys.key_event import EVENT_RANDOM_BYTES
from protocol.log.note import Note
from protocol.log.witness_log import Checkpoint
from protocol.messages import (
    KIND_ASSIGNMENT,
    KIND_RESULT,
    KIND_SEARCH,
    Assignment,
    BranchAssign,
    BranchLimits,
    BranchResult,
    BranchReturn,
    BranchRevoke,
    DeltaPush,
    KeysPush,
    LogConsistencyAsk,
    LogSync,
    SearchClose,
    SearchOpen,
    SearchSpec,
    Spend,
)
from protocol.page.actions.action import Click, Locator
from protocol.search.delta import KIND as KIND_DELTA
from protocol.search.delta import Delta, encode_delta
from protocol.search.entry import LeaseEntry, NodeEntry, Register, encode_action, make_update, node_key, root_key
from protocol.wire import cbor, envelope
from tests.sim.machine import Life, Machine

if TYPE_CHECKING:
    from tests.sim.world import World

_PAUSE_S = 0.8
_STRANGER = SigningKey(hashlib.sha256(b"nobody").digest())


async def _unashamed(seen: Checkpoint, signed: Note) -> None:
    """What others hold of this log is no concern."""


class Faces:
    """Two histories of one log, each shown to some peers."""

    def __init__(self, life: Life) -> None:
        self._life = life
        rooms = life.rooms
        store = copy.deepcopy(life.machine.store)
        self.witnesses = [rooms.witness, Witness(rooms.identity, store, rooms.clock)]
        for witness in self.witnesses:
            witness.compare = _unashamed  # type: ignore[method-assign]
        self._faces = [rooms.log.exchange, LogExchange(self.witnesses[1], rooms.trust.calls, store, rooms.clock)]
        self._shown: dict[str, int] = {}

    async def open(self, count: int) -> None:
        """Begin the second history with ``count`` artefacts that the first does not have."""
        await self.witnesses[1].load()
        for number in range(count):
            await self.witnesses[1].artefact(KIND_DELTA, "sea-AAAAAAAAAAAAAAAAAAAJO", bytes([number]))
        federation = self._life.node.federation
        federation.serve("log/checkpoint", self._sync)
        federation.serve("log/consistency", self._consistency)

    def _face(self, peer: str) -> LogExchange:
        return self._faces[self._shown.setdefault(peer, self._life.dice.randrange(2))]

    async def round(self) -> None:
        """Call every peer, as the node they know."""
        for record in self._life.rooms.trust.peers.records():
            try:
                await self._face(record.node).sync(record.node)
            except MeshError as error:
                self._life.machine.world.note(f"{self._life.machine.name} shows a face: {error.code}")

    async def _sync(self, caller: str, ask: LogSync) -> msgspec.Struct:
        # What others say about it goes unheard.
        return await self._face(caller).on_sync(caller, msgspec.structs.replace(ask, proofs=(), notes=()))

    async def _consistency(self, caller: str, ask: LogConsistencyAsk) -> msgspec.Struct:
        return await self._face(caller).on_consistency(caller, ask)

    async def together(self, one: Checkpoint, other: Checkpoint) -> bool:
        """Whether one history holds both."""
        for witness in self.witnesses:
            try:
                roots = [await witness.root_at(told.number, told.size) for told in (one, other)]
            except MeshError:
                continue
            if roots == [one.root, other.root]:
                return True
        return False


class Mallory:
    """Attacks from one hostile machine."""

    def __init__(self, world: World, machine: Machine) -> None:
        self.machine = machine
        self.faces: Faces | None = None
        self._world = world
        self._dice = world.dice(f"{machine.name} attacks")
        self._caught: deque[tuple[str, str, bytes]] = deque(maxlen=40)
        self._sent: deque[tuple[str, str, bytes]] = deque(maxlen=20)
        self._epoch = 50
        machine.overhear = self._overhear
        machine.log_round = self._log_round
        self._attacks: list[Callable[[str], Awaitable[None]]] = [
            *[self.break_signature] * 3,
            self.sign_as_another,
            self.push_what_others_wrote,
            self.repeat_what_was_heard,
            self.repeat_itself,
            self.skip_a_delta,
            self.write_two_deltas_in_one_place,
            *[self.tell_two_stories] * 2,
            self.write_leases,
            self.open_a_search_of_its_own,
            self.close_what_is_not_its_own,
            self.assign_in_another_s_search,
            self.return_a_lie,
            self.fork_its_keys,
            self.forge_keys_of_another,
            self.send_noise,
            self.call_as_another,
            *[self.show_two_faces] * 3,
            self.open_another_log,
        ]

    def _overhear(self, caller: str, route: str, body: bytes) -> None:
        self._caught.append((caller, route, body))

    async def _log_round(self, life: Life) -> None:
        if self.faces is not None:
            await self.faces.round()
        else:
            await life.rooms.log.exchange.round()

    async def run(self) -> None:
        """Attack until cancelled."""
        while True:
            await self._life.rooms.clock.sleep(self._dice.expovariate(1.0) * _PAUSE_S)
            attack = self._dice.choice(self._attacks)
            target = self._target()
            self._world.note(f"{self.machine.name} attacks {self._world.truth.name(target)}: {attack.__name__}")
            try:
                await attack(target)
            except MeshError as error:  # what it caught was noise of another liar
                self._world.note(f"{self.machine.name} cannot: {error.code}")

    def _target(self) -> str:
        """Mostly who takes part in a search: there is more to break."""
        spec = self._search() if self._dice.random() < 0.7 else None
        nodes = spec.participants if spec else tuple(self._world.truth.machines)
        return self._dice.choice([node for node in nodes if node != self.machine.id])

    # --- means -------------------------------------------------------------------------------------------------------

    @property
    def _life(self) -> Life:
        assert self.machine.life is not None, "the hostile do not crash"
        return self.machine.life

    async def _send(self, target: str, route: str, record: msgspec.Struct) -> None:
        body = self._life.identity.message(record, audience=target, path=PATH_PREFIX + route)
        self._sent.append((target, route, body))
        await self._raw(target, route, body)

    async def _raw(self, target: str, route: str, body: bytes, *, node: str = "", key: bytes = b"") -> None:
        own = self._life.identity
        client = self._world.network.client(node or own.node, key or own.public_key)
        machine = self._world.truth.machines[target]
        at = PeerAddress(node=target, public_key=self._world.truth.current_key(target), addresses=(machine.address,))
        try:
            await client.call(at, route, body, content_type="")
            said = "accepted"
        except MeshError as error:
            said = error.code
        self._world.note(f"{self.machine.name} hears {said}")

    def _header(self, issuer: str = "") -> envelope.EnvelopeHeader:
        clock = self._life.rooms.clock
        unique = clock.random(envelope.UNIQUE_ID_BYTES)
        issuer = issuer or self.machine.id
        return envelope.EnvelopeHeader(issuer=issuer, issued_s=clock.now_ms() // 1000, unique=unique)

    def _seal(
        self, payload: bytes, kind: str = KIND_DELTA, *, issuer: str = "", key: SigningKey | None = None
    ) -> bytes:
        return envelope.seal(payload, kind=kind, key=key or self._life.identity.key, header=self._header(issuer))

    def _search(self) -> SearchSpec | None:
        found = self._life.rooms.explorer._searches.all()
        return self._dice.choice(found).spec if found else None

    def _delta(self, search: str, *, epoch: int = 0, lease: bool = False) -> Delta:
        """A well-formed first delta of a new epoch, and what it says is invented."""
        self._epoch += 1
        writer = TreeWriter(self._life.identity.genesis_key, search, epoch or self._epoch)
        root = root_key(search)
        action = encode_action(Click(target=Locator(role="link", name=f"Gold {self._dice.random()}")))
        key = node_key(root, action)
        entry = NodeEntry(parent=root, action=action, prior=999_999, risk=1)
        register = Register(visits=self._dice.randrange(1, 1000), value_sum=1, best=1)
        leases = (
            {key: LeaseEntry(worker=self.machine.id, lease="lea-AAAAAAAAAAAAAAAAAAAD2", term=99, live=True)}
            if lease
            else {}
        )
        return writer.flush(make_update({key: entry}, {root: register, key: register}, leases))[0]

    async def _push(self, target: str, search: str, *sealed: bytes) -> None:
        await self._send(target, "deltas/push", DeltaPush(search=search, deltas=sealed))

    # --- attacks -----------------------------------------------------------------------------------------------------

    async def break_signature(self, target: str) -> None:
        """A delta whose signature does not fit."""
        spec = self._search()
        if spec is not None:
            sealed = bytearray(self._seal(encode_delta(self._delta(spec.id))))
            sealed[-1] ^= 1
            await self._push(target, spec.id, bytes(sealed))

    async def sign_as_another(self, target: str) -> None:
        """A delta, an assignment or a search in somebody else's name."""
        spec = self._search()
        if spec is not None:
            other = self._dice.choice(list(spec.participants))
            delta = encode_delta(self._delta(spec.id))
            await self._push(target, spec.id, self._seal(delta, issuer=other))
            await self._push(target, spec.id, self._seal(delta, key=_STRANGER))

    async def push_what_others_wrote(self, target: str) -> None:
        """Deltas of a third node, handed in as its own."""
        for _, route, body in list(self._caught):
            if route == "deltas/push":
                push = cbor.decode_as(envelope.peek(body).payload, DeltaPush)
                await self._push(target, push.search, *push.deltas[:2])
                return

    async def repeat_what_was_heard(self, target: str) -> None:
        """A message that somebody sent here, sent on."""
        if self._caught:
            caller, route, body = self._dice.choice(list(self._caught))
            await self._raw(target, route, body)
            await self._raw(target, route, body, node=caller)

    async def repeat_itself(self, target: str) -> None:
        """Its own old messages, word for word."""
        for there, route, body in list(self._sent)[:3]:
            await self._raw(there, route, body)

    async def skip_a_delta(self, target: str) -> None:
        """A delta without the one before it, and one of an epoch long past."""
        spec = self._search()
        if spec is not None:
            first = self._delta(spec.id)
            gap = msgspec.structs.replace(first, seq=7)
            old = self._delta(spec.id, epoch=1)
            await self._push(target, spec.id, self._seal(encode_delta(gap)))
            await self._push(target, spec.id, self._seal(encode_delta(old)))

    async def write_two_deltas_in_one_place(self, target: str) -> None:
        """Another story to each reader, and then both to one."""
        spec = self._search()
        if spec is not None:
            one = self._delta(spec.id)
            other = self._delta(spec.id, epoch=one.epoch)
            stories = [self._seal(encode_delta(delta)) for delta in (one, other)]
            readers = [node for node in spec.participants if node != self.machine.id]
            for number, reader in enumerate(readers):
                await self._push(reader, spec.id, stories[number % 2])
            await self._push(target, spec.id, *stories)

    async def tell_two_stories(self, target: str) -> None:
        """Another story to each reader, and nobody hears both; each of them is in the log."""
        spec = self._search()
        if spec is not None:
            one = self._delta(spec.id)
            stories = []
            for delta in (one, self._delta(spec.id, epoch=one.epoch)):
                made = await self._life.rooms.witness.artefact(KIND_DELTA, spec.id, encode_delta(delta))
                stories.append(made.envelope)
            readers = [node for node in spec.participants if node != self.machine.id]
            for number, reader in enumerate(readers):
                await self._push(reader, spec.id, stories[number % 2])

    async def write_leases(self, target: str) -> None:
        """Leases in a search that somebody else coordinates."""
        spec = self._search()
        if spec is not None:
            await self._push(target, spec.id, self._seal(encode_delta(self._delta(spec.id, lease=True))))

    def _spec(self, target: str, search: str) -> SearchSpec:
        like = self._search()
        assert like is not None
        return msgspec.structs.replace(
            like, id=search, coordinator=self.machine.id, participants=(self.machine.id, target)
        )

    async def open_a_search_of_its_own(self, target: str) -> None:
        """A search nobody asked for, and one under the id of another."""
        spec = self._search()
        if spec is not None:
            for search in (f"sea-{self._dice.randrange(1000)}", spec.id):
                own = self._spec(target, search)
                sealed = self._seal(cbor.encode(own), KIND_SEARCH)
                await self._send(target, "search/open", SearchOpen(spec=sealed))

    async def close_what_is_not_its_own(self, target: str) -> None:
        """The end of a search it does not coordinate, and of leases it did not give."""
        spec = self._search()
        if spec is not None:
            await self._send(target, "search/close", SearchClose(search=spec.id))
            await self._send(target, "branch/revoke", BranchRevoke(search=spec.id, lease="lea-AAAAAAAAAAAAAAAAAAAB6"))

    async def assign_in_another_s_search(self, target: str) -> None:
        """A branch of a search it does not coordinate, signed by itself and in the coordinator's name."""
        spec = self._search()
        if spec is not None:
            action = encode_action(Click(target=Locator(role="link", name="Shelf  oak")))
            assignment = Assignment(
                search=spec.id,
                lease=f"lea-{self._dice.randrange(1000)}",
                branch=node_key(root_key(spec.id), action),
                prefix=(action,),
                prefix_state=b"",
                limits=BranchLimits(iterations=1, steps=8, milliseconds=60_000),
                expires_ms=self._life.rooms.clock.now_ms() + 60_000,
            )
            for issuer in (self.machine.id, spec.coordinator):
                sealed = self._seal(cbor.encode(assignment), KIND_ASSIGNMENT, issuer=issuer)
                await self._send(target, "branch/assign", BranchAssign(assignment=sealed))

    async def return_a_lie(self, target: str) -> None:
        """Results of leases, its own and others': twice, late, with a claim that does not hold."""
        spec = self._search()
        if spec is None:
            return
        leases = await self.machine.store.leases(spec.id)
        for lease in leases[-2:]:
            result = BranchResult(
                search=spec.id,
                lease=lease.id,
                branch=lease.branch,
                outcome=self._dice.choice(("claim", "closed", "failed")),
                spend=Spend(iterations=1_000_000, steps=1, milliseconds=1),
                claim=(encode_action(Click(target=Locator(role="link", name="nowhere"))),),
            )
            for _ in range(2):
                sealed = self._seal(cbor.encode(result), KIND_RESULT)
                await self._send(spec.coordinator, "branch/return", BranchReturn(search=spec.id, result=sealed))
                await self._send(target, "branch/return", BranchReturn(search=spec.id, result=sealed))

    async def fork_its_keys(self, target: str) -> None:
        """Two rotations in one place, each shown to somebody."""
        own, now_s = self._life.identity, self._life.rooms.clock.now_ms() // 1000
        if self._dice.random() < 0.2:
            for _ in range(2):
                new = SigningKey(self._life.rooms.clock.random(32))
                random = self._life.rooms.clock.random(EVENT_RANDOM_BYTES)
                forked = keylog.rotate(own.log, own.key, new, now_s=now_s, random=random)
                await self._send(target, "keys/push", KeysPush(log=forked.encode()))

    async def forge_keys_of_another(self, target: str) -> None:
        """The key log of a third node, cut short, damaged, or with an event more that its key did not sign."""
        node = self._dice.choice(list(self._world.truth.machines))
        log = self._world.truth.machines[node].key_log.encode()
        damaged = bytearray(log)
        damaged[self._dice.randrange(len(damaged))] ^= 1 << self._dice.randrange(8)
        for data in (bytes(damaged), log[: len(log) // 2], log):
            await self._send(target, "keys/push", KeysPush(log=data))

    async def send_noise(self, target: str) -> None:
        """Anything, anywhere."""
        route = self._dice.choice(("deltas/push", "search/open", "log/checkpoint", "status", "nowhere"))
        await self._raw(target, route, self._dice.randbytes(self._dice.randrange(300)))

    async def call_as_another(self, target: str) -> None:
        """A connection in the name of a node whose key it does not have."""
        spec = self._search()
        other = self._dice.choice(list(self._world.truth.machines))
        if spec is not None:
            own = self._life.identity
            record = DeltaPush(search=spec.id, deltas=())
            body = own.message(record, audience=target, path=f"{PATH_PREFIX}deltas/push")
            await self._raw(target, "deltas/push", body, node=other)

    async def open_another_log(self, target: str) -> None:
        """A new log after each of its histories, as if nothing had been."""
        if self.faces is not None:
            for witness in self.faces.witnesses:
                await witness.renew()
            await self.faces.round()

    async def show_two_faces(self, target: str) -> None:
        """From now on one history of its log to these peers, another one to those."""
        if self.faces is None:
            faces = Faces(self._life)
            await faces.open(self._dice.randrange(1, 4))
            self.faces = faces
        else:
            for witness in self.faces.witnesses[: self._dice.randrange(1, 3)]:
                await witness.artefact(KIND_DELTA, "sea-AAAAAAAAAAAAAAAAAAAJO", self._dice.randbytes(4))
        await self.faces.round()
