"""What an explorer refuses: strangers to a search, foreign artefacts, broken chains, other people's ids."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from nacl.signing import SigningKey

from adapters.ports.records import DeltaRecord, SearchRecord
from adapters.search.writer import TreeWriter
from node.config.settings import Config, PolicyConfig
from node.explorer.sharing.replica import Replica
from node.explorer.sharing.visit import Visit
from node.signing.identity import Identity
from node.signing.witness import Witness
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.feed import News
from protocol.goal.heuristics import Candidate
from protocol.messages import (
    KIND_ASSIGNMENT,
    KIND_SEARCH,
    Assignment,
    BranchAssign,
    BranchLimits,
    BranchRenew,
    BranchRenewed,
    BranchRevoke,
    DeltaBatch,
    DeltaHave,
    DeltaPull,
    DeltaPush,
    Done,
    SearchClose,
    SearchOpen,
    SearchSpec,
    Spend,
)
from protocol.page.actions.action import Click, Locator
from protocol.recording.records.session import Profile
from protocol.search.delta import KIND, encode_delta
from protocol.search.entry import Register, encode_action, make_update, node_key, root_key
from protocol.wire.envelope import key_id
from tests import trees
from tests.mesh_memory import NEVER, ORIGIN, MemoryMesh, MemoryNode, QuickClock, memory_mesh, until
from tests.twins.storage import MemoryStore

pytestmark = pytest.mark.virtual_time


def _click(name: str) -> Click:
    return Click(target=Locator(role="link", name=name))


def _spec(coordinator: MemoryNode, *others: MemoryNode, **fields: Any) -> SearchSpec:
    given: dict[str, Any] = {
        "id": "sea-AAAAAAAAAAAAAAAAAAAAA",
        "coordinator": coordinator.id,
        "goal": "g",
        "start_url": f"{ORIGIN}/",
        "condition": NEVER,
        "profile": Profile(),
        "participants": (coordinator.id, *(node.id for node in others)),
        "seconds": 60,
        "created_ms": coordinator.mesh.clock.now_ms(),
        "seed": 1,
    }
    return SearchSpec(**(given | fields))


def _sealed(node: MemoryNode, spec: SearchSpec) -> SearchOpen:
    return SearchOpen(spec=node.identity.artefact(KIND_SEARCH, spec.id, spec).envelope)


async def _refused(call: Any) -> str:
    with pytest.raises(MeshError) as refused:
        await call
    return refused.value.code


@pytest.fixture
async def three() -> AsyncIterator[list[MemoryNode]]:
    async with memory_mesh("anna", "bruno", "carla") as nodes:
        yield nodes


async def _opened(anna: MemoryNode, bruno: MemoryNode) -> SearchSpec:
    """A search of anna's in which bruno takes part and carla does not."""
    spec = _spec(anna, bruno)
    await anna.calls.call(bruno.id, "search/open", _sealed(anna, spec), Done)
    return spec


async def test_a_peer_without_the_scope_may_not_open_a_search() -> None:
    mesh = MemoryMesh()
    anna, bruno = await mesh.add("anna"), await mesh.add("bruno")
    await mesh.pair(anna, bruno, grants={"deltas:read": ("*",)})
    assert (
        await _refused(anna.calls.call(bruno.id, "search/open", _sealed(anna, _spec(anna, bruno)), Done))
        == "peer.scope"
    )
    assert await bruno.store.searches() == []
    for node in mesh.nodes:
        await node.stop()


async def test_who_takes_no_part_may_neither_push_nor_pull_nor_assign_nor_revoke(three: list[MemoryNode]) -> None:
    """Guard: node/explorer/answers.py, Answers._entered."""
    anna, bruno, carla = three
    spec = await _opened(anna, bruno)
    assert (
        await _refused(
            carla.calls.call(bruno.id, "deltas/pull", DeltaPull(search=spec.id, epoch=0, after_seq=0), DeltaBatch)
        )
        == "peer.scope"
    )
    assert (
        await _refused(carla.calls.call(bruno.id, "deltas/push", DeltaPush(search=spec.id, deltas=()), DeltaHave))
        == "peer.scope"
    )
    assert (
        await _refused(
            carla.calls.call(
                bruno.id, "branch/revoke", BranchRevoke(search=spec.id, lease="lea-AAAAAAAAAAAAAAAAAAAD2"), Done
            )
        )
        == "peer.scope"
    )
    assert (
        await _refused(carla.calls.call(bruno.id, "search/close", SearchClose(search=spec.id), Done))
        == "input.not_found"
    )


async def test_a_search_that_is_not_open_is_not_found(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    pull = DeltaPull(search="sea-AAAAAAAAAAAAAAAAAAAD2", epoch=0, after_seq=0)
    assert await _refused(anna.calls.call(bruno.id, "deltas/pull", pull, DeltaBatch)) == "input.not_found"
    renewed = await anna.calls.call(
        bruno.id,
        "branch/renew",
        BranchRenew(search="sea-AAAAAAAAAAAAAAAAAAAD2", lease="lea-AAAAAAAAAAAAAAAAAAAD2", spend=Spend()),
        BranchRenewed,
    )
    assert not renewed.live


async def test_a_search_names_its_coordinator_and_nobody_twice_among_its_participants(three: list[MemoryNode]) -> None:
    """Guard: node/explorer/open_searches.py, OpenSearches.spec_of."""
    anna, bruno, carla = three
    for participants in ((bruno.id, carla.id), (anna.id, bruno.id, bruno.id)):
        sealed = _sealed(anna, _spec(anna, participants=participants))
        assert await _refused(anna.calls.call(bruno.id, "search/open", sealed, Done)) == "message.invalid"


async def test_a_search_is_opened_by_its_own_coordinator_only(three: list[MemoryNode]) -> None:
    anna, bruno, carla = three
    assert (
        await _refused(carla.calls.call(bruno.id, "search/open", _sealed(anna, _spec(anna, bruno)), Done))
        == "envelope.issuer"
    )
    assert (
        await _refused(anna.calls.call(bruno.id, "search/open", _sealed(anna, _spec(anna, carla)), Done))
        == "envelope.issuer"
    )


async def test_a_search_under_the_id_of_another_does_not_take_its_place(three: list[MemoryNode]) -> None:
    _, bruno, carla = three
    task = asyncio.create_task(bruno.run(NEVER, seconds=600))

    async def known() -> str:
        found = await bruno.store.searches()
        return found[0].id if found else ""

    search = await until(known, "bruno's search")
    stolen = _spec(carla, bruno, id=search)
    assert await _refused(carla.calls.call(bruno.id, "search/open", _sealed(carla, stolen), Done)) == "peer.scope"
    await bruno.explorer.stop(search)
    await task
    assert await _refused(carla.calls.call(bruno.id, "search/open", _sealed(carla, stolen), Done)) == "peer.scope"
    assert (await bruno.store.search(search)).coordinator == bruno.id  # type: ignore[union-attr]


async def test_a_search_does_not_change_under_its_id(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    spec = await _opened(anna, bruno)
    (known,) = await bruno.store.searches()
    other = _spec(anna, bruno, id=spec.id, goal="something else")
    assert await _refused(anna.calls.call(bruno.id, "search/open", _sealed(anna, other), Done)) == "peer.scope"
    assert (await bruno.store.searches())[0].spec == known.spec
    again = SearchOpen(spec=known.spec)  # the very same, as after a lost answer
    await anna.calls.call(bruno.id, "search/open", again, Done)


def _assignment(spec: SearchSpec, clock: QuickClock, **fields: Any) -> Assignment:
    action = encode_action(_click("Shelf  oak"))
    given: dict[str, Any] = {
        "search": spec.id,
        "lease": "lea-AAAAAAAAAAAAAAAAAAAB6",
        "branch": node_key(root_key(spec.id), action),
        "prefix": (action,),
        "prefix_state": b"",
        "limits": BranchLimits(iterations=1, steps=8, milliseconds=60_000),
        "expires_ms": clock.now_ms() + 1_000_000,
    }
    return Assignment(**(given | fields))


async def _assign(
    anna: MemoryNode, bruno: MemoryNode, assignment: Assignment, signer: MemoryNode | None = None
) -> Done:
    sealed = (await (signer or anna).witness.artefact(KIND_ASSIGNMENT, assignment.lease, assignment)).envelope
    return await anna.calls.call(bruno.id, "branch/assign", BranchAssign(assignment=sealed), Done)


async def test_foreign_expired_and_impossible_assignments_are_refused(three: list[MemoryNode]) -> None:
    """Guard: node/explorer/working/branch_work.py, BranchWork.accept."""
    anna, bruno, carla = three
    spec = await _opened(anna, bruno)
    clock = anna.mesh.clock
    assert await _refused(_assign(carla, bruno, _assignment(spec, clock))) == "peer.scope"
    assert await _refused(_assign(anna, bruno, _assignment(spec, clock), signer=carla)) == "envelope.issuer"
    assert await _refused(_assign(anna, bruno, _assignment(spec, clock, expires_ms=1))) == "lease.unknown"
    assert await _refused(_assign(anna, bruno, _assignment(spec, clock, branch=bytes(16)))) == "delta.invalid"
    assert await _refused(_assign(anna, bruno, _assignment(spec, clock, prefix=(b"junk",)))) == "delta.invalid"
    assert await bruno.store.leases(spec.id) == []


async def test_one_assignment_that_comes_twice_at_once_is_taken_once_and_a_second_one_finds_no_place(
    three: list[MemoryNode],
) -> None:
    anna, bruno, _ = three
    bruno.step_s = 30.0
    spec = await _opened(anna, bruno)
    first = _assignment(spec, anna.mesh.clock)
    await asyncio.gather(_assign(anna, bruno, first), _assign(anna, bruno, first))
    assert len(await bruno.store.leases(spec.id)) == 1
    assert len(bruno.explorer._searches.all()[0].work._tasks) == 1  # type: ignore[union-attr]
    assert (
        await _refused(_assign(anna, bruno, _assignment(spec, anna.mesh.clock, lease="lea-AAAAAAAAAAAAAAAAAAAEY")))
        == "lease.busy"
    )


async def test_revoking_a_lease_stops_its_work_at_once(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    bruno.step_s = 1_000.0
    spec = await _opened(anna, bruno)
    await _assign(anna, bruno, _assignment(spec, anna.mesh.clock))
    await anna.calls.call(
        bruno.id, "branch/revoke", BranchRevoke(search=spec.id, lease="lea-AAAAAAAAAAAAAAAAAAAB6"), Done
    )
    assert (await bruno.store.lease("lea-AAAAAAAAAAAAAAAAAAAB6")).status == "revoked"  # type: ignore[union-attr]
    assert bruno.explorer._searches.all()[0].work._tasks == {}  # type: ignore[union-attr]


async def test_a_start_address_outside_the_worker_s_origins_is_refused() -> None:
    """Guard: node/explorer/answers.py, Answers._permit."""
    mesh = MemoryMesh()
    anna = await mesh.add("anna")
    bruno = MemoryNode(mesh, "bruno", Config(policy=PolicyConfig(origins=("https://allowed.test",))))
    mesh.nodes.append(bruno)
    await bruno.start()
    await mesh.pair(anna, bruno)
    call = anna.calls.call(bruno.id, "search/open", _sealed(anna, _spec(anna, bruno)), Done)
    assert await _refused(call) == "policy.refused"
    for node in mesh.nodes:
        await node.stop()


@pytest.mark.parametrize("address", ["/?token=abc", "/#access_token=abc", "/x;jsessionid=1"])
async def test_a_search_does_not_begin_at_an_address_that_holds_a_secret(address: str) -> None:
    """Guard: node/explorer/new_search.py, check_told."""
    async with memory_mesh("anna") as (anna,):
        call = anna.explorer.run(
            goal="g", start_url=ORIGIN + address, condition=NEVER, peers=[], seconds=9, seed=0, tell=lambda event: None
        )
        assert await _refused(call) == "input.invalid"
        assert await anna.store.searches() == []


async def test_a_node_takes_part_in_a_bounded_number_of_searches_of_one_coordinator_and_of_all(
    three: list[MemoryNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: node/explorer/answers.py, Answers._permit."""
    anna, bruno, carla = three
    monkeypatch.setattr(limits, "SEARCHES_OPEN_MAX", limits.SEARCHES_OPEN_PER_PEER_MAX + 1)

    def open_one(node: MemoryNode, name: str) -> Any:
        return node.calls.call(bruno.id, "search/open", _sealed(node, _spec(node, bruno, id=name)), Done)

    first = _sealed(anna, _spec(anna, bruno, id="sea-AAAAAAAAAAAAAAAAAAAEY"))
    await anna.calls.call(bruno.id, "search/open", first, Done)
    for number in range(limits.SEARCHES_OPEN_PER_PEER_MAX - 1):
        await open_one(anna, ids.make_id("sea", bytes([number + 1] * ids.ID_RANDOM_BYTES)))
    assert await _refused(open_one(anna, "sea-AAAAAAAAAAAAAAAAAAAFW")) == "peer.limit"
    await anna.calls.call(bruno.id, "search/open", first, Done)  # what is open already takes no further place
    await open_one(carla, "sea-AAAAAAAAAAAAAAAAAAAGU")
    assert await _refused(open_one(carla, "sea-AAAAAAAAAAAAAAAAAAAHS")) == "peer.limit"


class SlowStore(MemoryStore):
    """A store that takes its time to write down a search."""

    async def put_search(self, search: SearchRecord, *, news: News | None = None) -> None:
        """``adapters.ports.Store.put_search``."""
        await asyncio.sleep(0.02)
        await super().put_search(search, news=news)


async def test_several_searches_that_are_opened_at_once_find_no_more_places_than_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "SEARCHES_OPEN_PER_PEER_MAX", 1)
    mesh = MemoryMesh()
    anna, bruno = await mesh.add("anna"), MemoryNode(mesh, "bruno", Config())
    bruno.store = SlowStore()
    mesh.nodes.append(bruno)
    await bruno.start()
    await mesh.pair(anna, bruno)
    asks = [
        _sealed(anna, _spec(anna, bruno, id=ids.make_id("sea", bytes([number] * ids.ID_RANDOM_BYTES))))
        for number in range(3)
    ]
    calls = [anna.calls.call(bruno.id, "search/open", ask, Done) for ask in asks]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(isinstance(answer, Done) for answer in answers) == 1
    assert bruno.explorer.running == 1
    for node in mesh.nodes:
        await node.stop()


# --- deltas ----------------------------------------------------------------------------------------------------------


class Writer:
    """A peer that writes deltas by hand."""

    def __init__(self, search: str, seed: int = 9) -> None:
        self.identity = Identity(SigningKey(bytes([seed] * 32)), QuickClock())
        self.search = search
        self.tree = TreeWriter(self.identity.public_key, search, 1)

    def deltas(self, *visits: int) -> list[bytes]:
        """One sealed delta for each count of visits at the root."""
        sealed = []
        for count in visits:
            register = Register(visits=count, value_sum=0, best=0)
            deltas = self.tree.flush(make_update(stats={root_key(self.search): register}))
            sealed += [self.seal(encode_delta(delta)) for delta in deltas]
        return sealed

    def seal(self, payload: bytes) -> bytes:
        """A signed delta."""
        return self.identity.artefact(KIND, self.search, payload).envelope


@pytest.fixture
async def replica() -> Replica:
    return await new_replica()


async def new_replica() -> Replica:
    me = Identity(SigningKey(bytes([1] * 32)), QuickClock())
    mesh = MemoryMesh()
    spec = SearchSpec(
        id="sea-AAAAAAAAAAAAAAAAAAAAA",
        coordinator=me.node,
        goal="g",
        start_url=f"{ORIGIN}/",
        condition=NEVER,
        profile=Profile(),
        participants=(me.node,),
        seconds=60,
        created_ms=mesh.clock.now_ms(),
        seed=1,
    )
    store = MemoryStore()
    witness = Witness(me, store, mesh.clock)
    await witness.load()
    made = Replica(spec, witness, store, TreeWriter)
    await made.load(_finder(Writer(spec.id), me), {})
    return made


def _finder(*who: Any) -> Any:
    identities = [getattr(one, "identity", one) for one in who]
    keys = {(one.node, key_id(one.public_key)): one.key.verify_key for one in identities}
    return lambda issuer, candidate, issued_s: keys.get((issuer, candidate))


async def _receive(replica: Replica, writer: Writer, sealed: bytes) -> None:
    await replica.receive(writer.identity.node, writer.identity.public_key, sealed, _finder(writer))


async def test_a_delta_the_tree_refuses_leaves_no_trace_and_costs_its_writer_the_share(replica: Replica) -> None:
    writer = Writer(replica.spec.id)
    first, fallen = writer.deltas(5, 3)  # a count that falls within an epoch
    await _receive(replica, writer, first)
    assert replica.tree.effort(writer.identity.node).visits == 5
    assert await _refused(_receive(replica, writer, fallen)) == "delta.invalid"
    assert writer.identity.node not in replica.tree.peers
    assert replica.have(writer.identity.node) == (0, 0)
    assert await replica._store.deltas(replica.spec.id, peer=writer.identity.node) == []
    assert await _refused(_receive(replica, writer, first)) == "delta.invalid", "the share stays dropped"


async def test_a_peer_that_says_two_things_under_one_number_loses_its_share(replica: Replica) -> None:
    """Guard: protocol/search/delta.py, DeltaReader.wants."""
    one, other = Writer(replica.spec.id), Writer(replica.spec.id)
    (said,), (denied,) = one.deltas(1), other.deltas(2)
    await _receive(replica, one, said)
    await _receive(replica, one, said)  # a repetition is harmless
    assert await _refused(_receive(replica, one, denied)) == "delta.equivocation"
    assert one.identity.node not in replica.tree.peers


async def test_a_gap_is_nobody_s_fault_and_names_what_is_wanted(replica: Replica) -> None:
    writer = Writer(replica.spec.id)
    first, second = writer.deltas(1, 2)
    with pytest.raises(MeshError) as refused:
        await _receive(replica, writer, second)
    assert (refused.value.code, refused.value.detail) == ("delta.gap", {"epoch": 1, "seq": 1})
    await _receive(replica, writer, first)
    await _receive(replica, writer, second)
    assert replica.have(writer.identity.node) == (1, 2)


async def test_a_delta_of_another_sender_is_refused(replica: Replica) -> None:
    writer = Writer(replica.spec.id)
    (sealed,) = writer.deltas(1)
    call = replica.receive("SOMEBODY", writer.identity.public_key, sealed, _finder(writer))
    assert await _refused(call) == "envelope.issuer"


async def test_stored_deltas_of_a_peer_that_do_not_hold_cost_that_peer_s_share_and_not_the_search(
    replica: Replica,
) -> None:
    writer = Writer(replica.spec.id)
    first, fallen = writer.deltas(5, 3)
    store, node = replica._store, writer.identity.node
    for seq, sealed in enumerate((first, fallen), 1):
        await store.append_delta(DeltaRecord(search=replica.spec.id, peer=node, epoch=1, seq=seq, envelope=sealed))
    again = Replica(replica.spec, replica._witness, store, TreeWriter)
    await again.load(_finder(writer, replica._witness.identity), {node: writer.identity.public_key})
    assert node not in again.tree.peers


async def test_a_stored_share_with_a_gap_is_nobody_s_fault_and_goes_on_from_there(replica: Replica) -> None:
    writer = Writer(replica.spec.id)
    first, second, third = writer.deltas(1, 2, 3)
    store, node = replica._store, writer.identity.node
    for seq, sealed in ((1, first), (3, third)):
        await store.append_delta(DeltaRecord(search=replica.spec.id, peer=node, epoch=1, seq=seq, envelope=sealed))
    again = Replica(replica.spec, replica._witness, store, TreeWriter)
    await again.load(_finder(writer, replica._witness.identity), {node: writer.identity.public_key})
    assert (again.expelled, again.have(node)) == ({}, (1, 1))
    await _receive(again, writer, second)
    assert again.have(node) == (1, 2)


async def test_a_search_whose_own_share_is_damaged_is_not_opened(replica: Replica) -> None:
    me = replica._witness.identity
    sealed = me.artefact(KIND, replica.spec.id, b"no delta").envelope
    await replica._store.append_delta(
        DeltaRecord(search=replica.spec.id, peer=me.node, epoch=1, seq=1, envelope=sealed)
    )
    again = Replica(replica.spec, replica._witness, replica._store, TreeWriter)
    assert await _refused(again.load(_finder(me), {})) == "delta.invalid"
    assert again.expelled == {}


class FullOnce(MemoryStore):
    """A store whose disk is full for one moment."""

    full = False

    async def append_delta(self, delta: DeltaRecord) -> bool:
        """``adapters.ports.Store.append_delta``."""
        if self.full:
            self.full = False
            raise MeshError("store.full")
        return await super().append_delta(delta)


async def test_after_a_full_disk_the_whole_share_is_written_again_as_a_new_epoch(replica: Replica) -> None:
    store = FullOnce()
    own = Replica(replica.spec, replica._witness, store, TreeWriter)
    await own.load(_finder(replica._witness.identity), {})
    candidates = [Candidate(action=_click(name), prior=0.5, risk=1) for name in ("one", "two")]
    own.own.add_children(own.root, candidates)
    store.full = True
    assert await _refused(own.flush()) == "store.full"
    key = node_key(own.root, encode_action(_click("one")))
    own.own.record(Visit(path=(key,), value=0.5, cost_ms=3))
    await own.flush()
    assert (own.epoch, len(own.view.children(own.root)), own.view.visits(key)) == (2, 2, 1)
    reopened = Replica(replica.spec, replica._witness, store, TreeWriter)
    await reopened.load(_finder(replica._witness.identity), {})
    assert reopened.view.visits(key) == 1


async def test_a_delta_that_found_no_room_is_wanted_again(replica: Replica) -> None:
    """What a peer is told we have is never more than what a restart finds."""
    store, writer = FullOnce(), Writer(replica.spec.id)
    own = Replica(replica.spec, replica._witness, store, TreeWriter)
    await own.load(_finder(writer), {})
    first, second = writer.deltas(1, 2)
    await _receive(own, writer, first)
    store.full = True
    assert await _refused(_receive(own, writer, second)) == "store.full"
    assert own.have(writer.identity.node) == (1, 1)
    await _receive(own, writer, second)
    assert own.have(writer.identity.node) == (1, 2)
    assert [record.seq for record in await store.deltas(own.spec.id)] == [1, 2]


async def test_more_children_than_one_peer_may_name_and_too_large_actions_are_left_out(replica: Replica) -> None:
    names = ["x" * 3_000, *map(str, range(50))]
    replica.own.add_children(replica.root, [Candidate(action=_click(name), prior=0.01, risk=1) for name in names])
    await replica.flush()
    assert len(replica.view.children(replica.root)) == 40
    action = encode_action(_click("adopted"))
    replica.adopt(node_key(replica.root, action), (action,))
    await replica.flush()
    assert len(replica.view.children(replica.root)) == 40


async def test_a_delta_for_which_a_node_has_no_room_costs_its_writer_nothing_and_is_taken_later(
    replica: Replica,
) -> None:
    """Neither as it comes nor as it is read back."""
    writer = Writer(replica.spec.id)
    entry = trees.node("link", replica.root)
    (delta,) = writer.tree.flush(make_update({entry.key: entry}))
    sealed = writer.seal(encode_delta(delta))
    peer, key, find_key = writer.identity.node, writer.identity.public_key, _finder(writer, replica._witness.identity)

    def no_room(count: int) -> None:
        if count:
            raise MeshError("search.full")

    replica.tree._check_room = no_room
    assert await _refused(replica.receive(peer, key, sealed, find_key)) == "search.full"
    assert (replica.have(peer)[1], replica.expelled) == (0, {})
    replica.tree._check_room = lambda count: None
    await replica.receive(peer, key, sealed, find_key)
    assert replica.have(peer) == (1, 1)
    again = Replica(replica.spec, replica._witness, replica._store, TreeWriter, no_room)
    assert await _refused(again.load(find_key, {peer: key})) == "search.full"
    assert again.expelled == {}
