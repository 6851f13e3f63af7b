"""Three nodes and their checkpoints: what they hold, cosign and pass on, and what a node that lies to them cannot hide."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator

import msgspec
import pytest
from nacl.signing import SigningKey

from adapters.cosigned_records import COSIGNED
from node.log.checkpoints import LogExchange
from node.log.stored import EQUIVOCATIONS
from node.signing.witness import Witness
from protocol import limits
from protocol.errors import MeshError
from protocol.keys import keylog
from protocol.keys.key_event import EVENT_RANDOM_BYTES
from protocol.log import log_proof, note, witness_log
from protocol.log.note import Note
from protocol.log.witness_log import Checkpoint
from protocol.messages import Done, LogConsistency, LogConsistencyAsk, LogProveAsk, LogProven, LogSync, SearchClose
from tests.key_logs import SECOND, log_of, recovered
from tests.mesh_memory import MemoryNode, memory_mesh

pytestmark = pytest.mark.virtual_time


@pytest.fixture
async def three() -> AsyncIterator[list[MemoryNode]]:
    async with memory_mesh("anna", "bruno", "mallory") as nodes:
        yield nodes


async def code_of(call: object) -> str:
    """The code a call is refused with."""
    with pytest.raises(MeshError) as caught:
        await call  # type: ignore[misc]
    return caught.value.code


async def sign(node: MemoryNode | Witness, count: int) -> None:
    """Let ``node`` sign some artefacts."""
    witness = node if isinstance(node, Witness) else node.witness
    for number in range(count):
        await witness.artefact("delta", "sea-AAAAAAAAAAAAAAAAAAAB6", bytes([number]))


def size_held(node: MemoryNode, of: MemoryNode) -> int:
    """The size of the checkpoint ``node`` holds."""
    held = node.log_exchange.peer_logs.held(of.id)
    return held[0].size if held else 0


class Shameless(Witness):
    """A signer that does not mind what others hold of its log."""

    async def compare(self, seen: Checkpoint, signed: Note) -> None:
        """Nothing."""


class TwoFaced:
    """A node that goes on with two copies of its log and shows each peer one of them."""

    def __init__(self, node: MemoryNode) -> None:
        self.node = node
        self._faces: dict[str, LogExchange] = {}
        self.witnesses: dict[str, Witness] = {}
        self.garbled: set[str] = set()

    async def show(self, peer: MemoryNode, *, signed: int) -> None:
        """From now on ``peer`` sees a copy of its own, with ``signed`` artefacts that only this copy holds."""
        node = self.node
        store = copy.deepcopy(node.store)
        witness = Shameless(node.identity, store, node.mesh.clock)
        await witness.load()
        await sign(witness, signed)
        self.witnesses[peer.id] = witness
        self._faces[peer.id] = LogExchange(witness, node.calls, store, node.mesh.clock)
        node.api.serve("log/checkpoint", self._sync)
        node.api.serve("log/consistency", self._consistency)

    async def _sync(self, caller: str, ask: LogSync) -> msgspec.Struct:
        return await self._faces[caller].on_sync(caller, msgspec.structs.replace(ask, proofs=(), notes=()))

    async def _consistency(self, caller: str, ask: LogConsistencyAsk) -> msgspec.Struct:
        told = await self._faces[caller].on_consistency(caller, ask)
        return LogConsistency(old_root=bytes(32), hashes=told.hashes) if caller in self.garbled else told


async def test_after_a_sync_both_hold_the_newest_checkpoint_of_the_other_cosigned(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    for size in (1, 4, 9):
        await sign(anna, size - anna.witness.log.checkpoint.size)
        await sign(bruno, size + 3 - bruno.witness.log.checkpoint.size)
        await anna.log_exchange.sync(bruno.id)
        assert (size_held(anna, bruno), size_held(bruno, anna)) == (size + 3, size)
        assert [(c.witness, c.size) for c in await anna.store.rows(COSIGNED).find()] == [(bruno.id, size)]
    await anna.log_exchange.sync(bruno.id)
    assert [(c.witness, c.size) for c in await bruno.store.rows(COSIGNED).find()] == [(anna.id, 12)]


async def test_a_round_syncs_with_every_peer_and_with_few_of_them_at_once(
    three: list[MemoryNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    anna, bruno, carla = three
    under_way, most, synced = 0, 0, list[str]()
    sync = anna.log_exchange.sync

    async def counted(node: str) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await sync(node)
        under_way -= 1
        synced.append(node)
        if len(synced) == 1:
            raise MeshError("peer.unreachable")  # which is no matter of the others

    monkeypatch.setattr(anna.log_exchange, "sync", counted)
    for at_once in (1, 2):
        monkeypatch.setattr(limits, "LOG_SYNCS_AT_ONCE_MAX", at_once)
        most = 0
        await anna.log_exchange.round()
        assert most == at_once
    assert sorted(synced) == sorted([bruno.id, carla.id] * 2)


async def test_a_proof_carries_the_cosignatures_of_peers(three: list[MemoryNode]) -> None:
    anna, bruno, carla = three
    signed = await anna.witness.artefact("session", "ses-1", b"x")
    await anna.log_exchange.round()
    finding = log_proof.check(await anna.witness.prove(signed.digest))
    assert {cosignature.node for cosignature in finding.cosignatures} == {bruno.id, carla.id}
    later = await anna.witness.artefact("session", "ses-2", b"y")
    assert log_proof.check(await anna.witness.prove(later.digest)).cosignatures == ()


async def test_a_peer_proves_an_artefact_on_request(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    signed = await bruno.witness.artefact("session", "ses-1", b"x")
    told = await anna.calls.call(bruno.id, "log/prove", LogProveAsk(digest=signed.digest), LogProven)
    assert log_proof.check(log_proof.decode(told.proof)).node == bruno.id
    ask = LogProveAsk(digest=bytes(32))
    assert await code_of(anna.calls.call(bruno.id, "log/prove", ask, LogProven)) == "log.not_logged"


async def test_heads_survive_a_restart(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    await anna.log_exchange.sync(bruno.id)
    await anna.stop()
    await anna.start()
    assert size_held(anna, bruno) == 1
    await sign(bruno, 2)
    await anna.log_exchange.sync(bruno.id)
    assert size_held(anna, bruno) == 3


async def test_a_peer_is_only_told_of_nodes_it_knows_itself() -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        carla = await anna.mesh.add("carla")
        await anna.mesh.pair(anna, carla)
        await anna.log_exchange.sync(carla.id)
        heard: list[LogSync] = []

        async def listen(caller: str, ask: LogSync) -> msgspec.Struct:
            heard.append(ask)
            return await bruno.log_exchange.on_sync(caller, ask)

        bruno.api.serve("log/checkpoint", listen)
        for _ in range(2):
            await anna.log_exchange.sync(bruno.id)
        assert heard
        assert all(not ask.notes for ask in heard)
        await anna.mesh.pair(bruno, carla)
        for _ in range(2):
            await anna.log_exchange.sync(bruno.id)
        assert len(heard[-1].notes) == 1


async def test_everything_is_told_in_time_also_when_one_message_does_not_carry_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "LOG_GOSSIP_NOTES_MAX", 1)
    monkeypatch.setattr(limits, "LOG_GOSSIP_PROOFS_MAX", 1)
    async with memory_mesh("anna", "bruno", "carla", "dora", "mallory", "malvina", "malik") as nodes:
        anna, bruno = nodes[:2]
        honest, liars = nodes[2:4], nodes[4:]
        for peer in honest:
            await anna.log_exchange.sync(peer.id)
        for peer in liars:
            liar = TwoFaced(peer)
            await liar.show(anna, signed=2)
            await anna.log_exchange.sync(peer.id)
            await liar.show(anna, signed=4)
            assert await code_of(anna.log_exchange.sync(peer.id)) == "log.equivocation"
        heard: set[str] = set()

        async def listen(caller: str, ask: LogSync) -> msgspec.Struct:
            heard.update(witness_log.peek(note.parse(data)).node for data in ask.notes)
            return await bruno.log_exchange.on_sync(caller, ask)

        bruno.api.serve("log/checkpoint", listen)
        for _ in range(4):
            await anna.log_exchange.sync(bruno.id)
        assert heard == {peer.id for peer in honest}
        assert bruno.peers.frozen == {peer.id: "log.equivocation" for peer in liars}


@pytest.mark.parametrize(("to_anna", "to_bruno"), [(3, 3), (2, 5), (5, 2), (3, 6), (4, 8)])
async def test_a_split_view_is_found_proved_and_frozen(three: list[MemoryNode], to_anna: int, to_bruno: int) -> None:
    """Guard: node/log/peer_logs.py, PeerLogs.settle_unconnected."""
    anna, bruno, mallory = three
    liar = TwoFaced(mallory)
    await liar.show(anna, signed=to_anna)
    await liar.show(bruno, signed=to_bruno)
    await anna.log_exchange.sync(mallory.id)
    await bruno.log_exchange.sync(mallory.id)
    assert not anna.peers.frozen
    await anna.log_exchange.sync(bruno.id)  # each hears what the other was shown
    await bruno.log_exchange.sync(anna.id)
    for node in (anna, bruno):
        if mallory.id not in node.peers.frozen:
            # The longer history can be asked for; of the shorter one the liar has no more to show.
            assert await code_of(node.log_exchange.sync(mallory.id)) in ("log.equivocation", "log.unproven")
    await anna.log_exchange.sync(bruno.id)
    for node in (anna, bruno):
        assert node.peers.frozen == {mallory.id: "log.equivocation"}
        finding = log_proof.check(log_proof.decode(node.log_exchange.peer_logs.proof(mallory.id)))
        assert (finding.shows, finding.node) == ("equivocation", mallory.id)
        assert len(await node.store.rows(EQUIVOCATIONS).find()) == 1


async def test_a_proof_reaches_peers_that_saw_no_contradiction_themselves(three: list[MemoryNode]) -> None:
    anna, bruno, mallory = three
    liar = TwoFaced(mallory)
    await liar.show(anna, signed=2)
    await anna.log_exchange.sync(mallory.id)
    await liar.show(anna, signed=4)
    assert await code_of(anna.log_exchange.sync(mallory.id)) == "log.equivocation"
    for _ in range(2):
        await anna.log_exchange.sync(bruno.id)
    assert bruno.peers.frozen == {mallory.id: "log.equivocation"}


async def test_a_frozen_peer_may_do_nothing_and_is_asked_nothing_also_after_a_restart(three: list[MemoryNode]) -> None:
    anna, _, mallory = three
    liar = TwoFaced(mallory)
    for count in (2, 3):
        await liar.show(anna, signed=count)
        with_lies = anna.log_exchange.sync(mallory.id)
        if count == 2:
            await with_lies
        else:
            assert await code_of(with_lies) == "log.equivocation"
    for _ in range(2):
        close = SearchClose(search="sea-AAAAAAAAAAAAAAAAAAAB6")
        assert await code_of(mallory.calls.call(anna.id, "search/close", close, Done)) == "log.equivocation"
        assert await code_of(anna.calls.call(mallory.id, "search/close", close, Done)) == "log.equivocation"
        assert await code_of(mallory.log_exchange.sync(anna.id)) == "log.equivocation"
        await anna.stop()
        await anna.start()
    anna.peers.thaw(mallory.id)
    assert mallory.id in anna.peers.frozen


def turn(node: MemoryNode) -> None:
    """Another key."""
    now_s, new = node.mesh.clock.now_ms() // 1000, SigningKey(bytes(32))
    log = keylog.rotate(node.identity.log, node.identity.key, new, now_s=now_s, random=bytes(EVENT_RANDOM_BYTES))
    node.identity.become(log, new)
    node.identity.speak()
    node.server.rekey(new)
    node.client.rekey(new)


async def test_a_node_is_not_rid_of_what_it_said_by_changing_its_key(three: list[MemoryNode]) -> None:
    """Guard: node/log/peer_logs.py, PeerLogs.hear_from_others."""
    anna, bruno, mallory = three
    liar = TwoFaced(mallory)
    await liar.show(anna, signed=4)
    await anna.log_exchange.sync(mallory.id)
    turn(mallory)
    for node in (anna, bruno):
        await node.changes.adopt(mallory.identity.log.encode())
    await liar.show(bruno, signed=6)
    await bruno.log_exchange.sync(mallory.id)
    for _ in range(2):
        await anna.log_exchange.sync(bruno.id)  # who is shown what anna holds, and asks
    assert await code_of(bruno.log_exchange.sync(mallory.id)) == "log.equivocation"
    assert bruno.peers.frozen == {mallory.id: "log.equivocation"}
    finding = log_proof.check(log_proof.decode(bruno.log_exchange.peer_logs.proof(mallory.id)))
    assert finding.node == mallory.id


async def test_what_a_thief_signed_keeps_nobody_from_starting_nor_from_relying_on_the_owner(
    three: list[MemoryNode],
) -> None:
    """A thief took Bruno over and signed; its owner takes it back, with the recovery key and a log of before."""
    anna, bruno, _ = three
    now_s = bruno.mesh.clock.now_ms() // 1000
    begun = log_of(bruno.identity.key, now_s=now_s - 1_000)
    bruno.identity.become(begun, bruno.identity.key)
    before = copy.deepcopy(bruno.store)
    turn(bruno)
    await anna.changes.adopt(bruno.identity.log.encode())
    await sign(bruno, 5)
    await anna.log_exchange.sync(bruno.id)
    assert size_held(anna, bruno) == 6
    bruno.mesh.clock.ahead_ms += 100_000
    taken_back = recovered(begun, SECOND, now_s + 50)
    await bruno.stop()
    bruno.store = before
    bruno.identity.become(taken_back, SECOND)
    bruno.identity.speak()
    await bruno.start()
    await sign(bruno, 2)
    await anna.changes.adopt(taken_back.encode())
    await anna.stop()
    await anna.start()
    assert size_held(anna, bruno) == 0
    await anna.log_exchange.sync(bruno.id)
    assert (size_held(anna, bruno), anna.peers.frozen) == (3, {})


async def test_a_key_that_is_disowned_while_its_log_is_asked_about_leaves_nothing_to_settle(
    three: list[MemoryNode],
) -> None:
    anna, bruno, carla = three
    now_s = bruno.mesh.clock.now_ms() // 1000
    begun = log_of(bruno.identity.key, now_s=now_s - 1_000)
    bruno.identity.become(begun, bruno.identity.key)
    turn(bruno)
    for node in (anna, carla):
        await node.changes.adopt(bruno.identity.log.encode())
        await sign(bruno, 2)
        await node.log_exchange.sync(bruno.id)
    for _ in range(2):
        await anna.log_exchange.sync(carla.id)
    assert (size_held(anna, bruno), size_held(carla, bruno)) == (3, 5)
    bruno.mesh.clock.ahead_ms += 100_000

    async def disown(caller: str, ask: LogConsistencyAsk) -> msgspec.Struct:
        await anna.changes.adopt(recovered(begun, SECOND, now_s + 50).encode())
        return await bruno.log_exchange.on_consistency(caller, ask)

    bruno.api.serve("log/consistency", disown)
    await anna.log_exchange.peer_logs.settle_unconnected(bruno.id)
    assert (size_held(anna, bruno), anna.peers.frozen) == (0, {})


async def test_a_defect_in_the_sync_with_one_peer_is_logged_and_does_not_concern_the_others(
    three: list[MemoryNode], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    anna, bruno, carla = three
    settle = anna.log_exchange.peer_logs.settle_unconnected

    async def broken(node: str) -> None:
        if node == bruno.id:
            raise KeyError(node)
        await settle(node)

    monkeypatch.setattr(anna.log_exchange.peer_logs, "settle_unconnected", broken)
    await anna.log_exchange.round()
    assert [record.levelname for record in caplog.records if record.exc_info] == ["ERROR"]
    assert size_held(anna, carla) == 1


async def test_a_log_is_held_also_when_others_spoke_of_it_first(three: list[MemoryNode]) -> None:
    anna, bruno, carla = three
    await sign(carla, 3)
    await bruno.log_exchange.sync(carla.id)
    for _ in range(2):
        await anna.log_exchange.sync(bruno.id)  # anna hears of carla's log before she hears from carla
    assert size_held(anna, carla) == 0
    await anna.log_exchange.sync(carla.id)
    assert size_held(anna, carla) == 4


async def test_a_log_that_replaced_another_is_held_also_when_others_spoke_of_it_first(three: list[MemoryNode]) -> None:
    anna, bruno, carla = three
    for node in (anna, bruno):
        await node.log_exchange.sync(carla.id)
    await carla.witness.renew()
    await sign(carla, 3)
    await bruno.log_exchange.sync(carla.id)
    for _ in range(2):
        await anna.log_exchange.sync(bruno.id)
    await anna.log_exchange.sync(carla.id)
    assert size_held(anna, carla) == 4


async def test_a_peer_that_cannot_account_for_what_others_saw_is_suspended_until_it_can(
    three: list[MemoryNode],
) -> None:
    anna, bruno, mallory = three
    liar = TwoFaced(mallory)
    await liar.show(anna, signed=2)
    liar.garbled.add(anna.id)
    await anna.log_exchange.sync(mallory.id)
    mallory.api.serve("log/checkpoint", mallory.log_exchange.on_sync)
    await sign(mallory, 1)
    await bruno.log_exchange.sync(mallory.id)
    mallory.api.serve("log/checkpoint", liar._sync)
    await anna.log_exchange.sync(bruno.id)
    assert await code_of(anna.log_exchange.sync(mallory.id)) == "log.unproven"
    assert anna.peers.frozen == {mallory.id: "log.unproven"}
    liar.garbled.clear()
    assert await code_of(anna.log_exchange.sync(mallory.id)) == "log.equivocation"


async def test_an_honest_peer_that_others_saw_further_on_is_not_suspected(three: list[MemoryNode]) -> None:
    anna, bruno, carla = three
    await sign(carla, 2)
    await anna.log_exchange.sync(carla.id)
    await sign(carla, 3)
    await bruno.log_exchange.sync(carla.id)
    await anna.log_exchange.sync(bruno.id)
    await bruno.log_exchange.sync(anna.id)
    assert (size_held(anna, carla), size_held(bruno, carla)) == (3, 6)
    await anna.log_exchange.sync(carla.id)
    await bruno.log_exchange.sync(carla.id)
    assert (size_held(anna, carla), size_held(bruno, carla)) == (6, 6)
    assert not anna.peers.frozen
    assert not bruno.peers.frozen


async def test_a_node_restored_from_a_copy_hears_of_it_before_it_contradicts_itself(three: list[MemoryNode]) -> None:
    """Guard: node/signing/witness.py, Witness.compare."""
    anna, bruno, carla = three
    copied = copy.deepcopy(anna.store)
    await sign(anna, 3)
    await anna.log_exchange.round()
    await anna.stop()
    anna.store = copied
    await anna.start()
    await sign(anna, 7)  # signed while nobody could say what they hold
    assert await code_of(anna.log_exchange.sync(bruno.id)) == "log.rollback"
    assert await code_of(anna.witness.artefact("delta", "sea-AAAAAAAAAAAAAAAAAAAB6", b"x")) == "log.rollback"
    await anna.witness.renew()
    await sign(anna, 2)
    await anna.log_exchange.round()
    for node in (bruno, carla):
        held = node.log_exchange.peer_logs.held(anna.id)
        assert held is not None
        assert (held[0].number, held[0].size) == (1, 3)
        assert not node.peers.frozen


async def test_a_node_that_was_restored_and_only_answers_hears_of_it_too(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    copied = copy.deepcopy(anna.store)
    await sign(anna, 3)
    await anna.log_exchange.sync(bruno.id)
    await anna.stop()
    anna.store = copied
    await anna.start()
    assert await code_of(bruno.log_exchange.sync(anna.id)) == "log.rollback"
    assert anna.witness.rollback


async def test_a_log_that_was_replaced_is_not_taken_up_again(three: list[MemoryNode]) -> None:
    anna, bruno, carla = three
    copied = copy.deepcopy(anna.store)
    await anna.log_exchange.sync(bruno.id)
    await anna.witness.renew()
    await anna.log_exchange.sync(carla.id)  # only carla has heard of the new log
    await carla.log_exchange.sync(bruno.id)
    await carla.log_exchange.sync(bruno.id)  # and tells bruno
    await anna.stop()
    anna.store = copied
    await anna.start()
    assert await code_of(anna.log_exchange.sync(bruno.id)) == "log.rollback"
    assert (await anna.witness.renew()).number == 2
    await anna.log_exchange.round()
    assert not bruno.peers.frozen
    held = bruno.log_exchange.peer_logs.held(anna.id)
    assert held is not None
    assert held[0].number == 2


async def test_a_forged_checkpoint_is_refused_and_changes_nothing(three: list[MemoryNode]) -> None:
    anna, bruno, mallory = three
    await anna.log_exchange.sync(bruno.id)
    now = bruno.witness.log
    forged = witness_log.sign(now.checkpoint, mallory.identity.key).encode()
    ask = LogSync(head=forged, opening=now.opening, base_size=1)
    assert await code_of(bruno.calls.call(anna.id, "log/checkpoint", ask, LogSync)) == "log.invalid"
    foreign = LogSync(head=now.signed.encode(), opening=mallory.witness.log.opening, base_size=1)
    assert await code_of(bruno.calls.call(anna.id, "log/checkpoint", foreign, LogSync)) == "envelope.issuer"
    assert size_held(anna, bruno) == 1
    assert not anna.peers.frozen


async def test_logs_outlive_a_change_of_key(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    signed = await anna.witness.artefact("session", "ses-1", b"x")
    await anna.log_exchange.sync(bruno.id)
    own, new = anna.identity, SigningKey(bytes([77]) * 32)
    moment_s = anna.mesh.clock.now_ms() // 1000
    own.become(keylog.rotate(own.log, own.key, new, now_s=moment_s, random=bytes(EVENT_RANDOM_BYTES)), new)
    own.speak()
    await bruno.changes.adopt(own.log.encode())
    await anna.stop()
    await anna.start()
    await sign(anna, 2)
    await anna.log_exchange.sync(bruno.id)
    assert size_held(bruno, anna) == 4
    await bruno.log_exchange.sync(anna.id)
    proof = log_proof.decode(log_proof.encode(await anna.witness.prove(signed.digest)))
    finding = log_proof.check(proof)
    assert (finding.node, finding.size) == (anna.id, 4)
    assert [cosignature.node for cosignature in finding.cosignatures] == [bruno.id]
    assert proof.signer.public_key != own.genesis_key
    stripped = msgspec.structs.replace(proof, signer=msgspec.structs.replace(proof.signer, key_log=b""))
    with pytest.raises(MeshError):
        log_proof.check(stripped)


async def test_a_checkpoint_by_a_key_not_heard_of_yet_does_not_show_that_something_is_in_no_log(
    three: list[MemoryNode],
) -> None:
    """Guard: node/log/checkpoints.py, LogExchange.demand. Otherwise the peer is put out of a search for good."""
    anna, bruno, _ = three
    made = await bruno.witness.artefact("delta", "sea-AAAAAAAAAAAAAAAAAAAB6", b"payload")
    composed = bruno.log_exchange._composed

    async def by_a_new_key(node: str) -> LogSync:
        said = await composed(node)
        signed = witness_log.sign(bruno.witness.log.checkpoint, SigningKey(bytes([9]) * 32))
        return msgspec.structs.replace(said, head=signed.encode())

    bruno.log_exchange._composed = by_a_new_key  # type: ignore[method-assign]
    assert await code_of(anna.log_exchange.demand(bruno.id, made.digest)) == "log.unproven"
    bruno.log_exchange._composed = composed  # type: ignore[method-assign]
    await anna.log_exchange.demand(bruno.id, made.digest)
