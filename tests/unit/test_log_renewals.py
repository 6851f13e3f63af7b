"""A log that replaces another: what its openings must name, and what a renewal does not wash away."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator

import msgspec
import pytest

from protocol import limits
from protocol.errors import MeshError
from protocol.log import log_proof, log_renewal, witness_log
from protocol.log.log_proof import Equivocation
from protocol.log.witness_log import KIND_OPENING, Checkpoint, Link, Opening, Standing, origin
from protocol.messages import LogSync
from protocol.wire import cbor, envelope
from tests.key_logs import SECOND, log_of, recovered
from tests.logs import NODE, PUBLIC, tree
from tests.mesh_memory import MemoryNode, memory_mesh
from tests.tables import each
from tests.unit.test_log_exchange import TwoFaced, code_of, sign, size_held, turn
from tests.unit.test_log_standing import audit, restart, room, set_policy

pytestmark = pytest.mark.virtual_time


@pytest.fixture
async def three() -> AsyncIterator[list[MemoryNode]]:
    async with memory_mesh("anna", "bruno", "mallory") as nodes:
        yield nodes


def number_held(node: MemoryNode, of: MemoryNode) -> int:
    """The number of the log that ``node`` holds."""
    held = node.log_exchange.peer_logs.held(of.id)
    return held[0].number if held else -1


def note(number: int, size: int = 3, *, fork_at: int | None = None, count: int = 9) -> bytes:
    """A signed checkpoint of the log ``number`` of the node of these tests."""
    return tree(count, fork_at=fork_at).note(size, number=number)


def opening(number: int, previous: bytes = b"", *others: bytes) -> Opening:
    """The opening of log ``number``."""
    return Opening(log=origin(NODE, number), previous=previous, others=others, opened_ms=1)


# --- what an opening names -------------------------------------------------------------------------------------------


def test_an_opening_names_the_end_of_the_log_before_and_what_was_lost() -> None:
    assert log_renewal.named_by(opening(0), NODE, PUBLIC) == ()
    named = log_renewal.named_by(opening(2, note(1), note(0), note(0, 5)), NODE, PUBLIC)
    assert [(told.number, told.size) for told, _ in named] == [(1, 3), (0, 3), (0, 5)]


@pytest.mark.parametrize(
    "wrong",
    [
        opening(1),
        opening(limits.LOG_NUMBER_MAX),
        opening(0, note(0)),
        opening(0, b"", note(0)),
        opening(2, note(0)),
        opening(1, note(1)),
        opening(limits.LOG_NUMBER_MAX, note(0)),
        opening(2, note(1), note(2)),
        opening(1, note(0)[:-9] + b"AAAAAAA=\n"),
    ],
    ids=lambda said: f"{said.log.rpartition('/')[2]} after {len(said.previous)} and {len(said.others)}",
)
def test_an_opening_that_skips_the_log_before_is_refused(wrong: Opening) -> None:
    """Guard: protocol/log/log_renewal.py, named_by."""
    with pytest.raises(MeshError) as caught:
        log_renewal.named_by(wrong, NODE, PUBLIC)
    assert caught.value.code == "log.invalid"


# --- whether it accounts for what is held ----------------------------------------------------------------------------


def link_from(size: int, to: int) -> Link:
    """How the log went on, by its owner."""
    return Link(base_size=size, base_root=b"", proof=tuple(tree(9).consistency(size, to)))


NOTHING = Link(base_size=0, base_root=b"", proof=())


@each(
    ("named", "link", "standing"),
    [
        ([(0, 4)], NOTHING, Standing.SAME),
        ([(0, 7)], link_from(4, 7), Standing.AHEAD),
        ([(0, 3), (0, 7)], link_from(4, 7), Standing.AHEAD),
        ([(0, 7)], link_from(3, 7), Standing.UNCONNECTED),
        ([(0, 7)], NOTHING, Standing.UNCONNECTED),
        ([(0, 7)], link_from(4, 8), Standing.UNPROVEN),
        ([(0, 3)], link_from(3, 4), Standing.UNPROVEN),
        ([], NOTHING, Standing.UNPROVEN),
    ],
)
def test_what_is_held_is_named_or_continued_by_what_is_named(
    named: list[tuple[int, int]], link: Link, standing: Standing
) -> None:
    told = [tree(9).checkpoint(size, number=number) for number, size in named]
    assert log_renewal.account(tree(9).checkpoint(4), 1, told, link)[0] is standing


def test_every_log_between_is_named() -> None:
    held = tree(9).checkpoint(4)
    whole = [tree(9).checkpoint(4, number=number) for number in range(5)]
    assert log_renewal.account(held, 5, whole, NOTHING)[0] is Standing.SAME
    for missing in range(5):
        rest = [told for told in whole if told.number != missing]
        assert log_renewal.account(held, 5, rest, NOTHING)[0] is Standing.UNPROVEN


def test_a_named_checkpoint_with_another_root_contradicts() -> None:
    forked = tree(9, fork_at=2).checkpoint(4)
    assert log_renewal.account(tree(9).checkpoint(4), 1, [forked], NOTHING) == (Standing.CONTRADICTS, forked)


# --- between nodes ---------------------------------------------------------------------------------------------------


class Forger:
    """A node that opens whatever log it likes."""

    def __init__(self, node: MemoryNode) -> None:
        self.node = node

    async def open(self, number: int, previous: bytes = b"", *others: bytes) -> LogSync:
        """From now on it shows log ``number``, of one entry; what it shows."""
        own = self.node.identity
        name = origin(self.node.id, number)
        sealed = own.artefact(KIND_OPENING, name, Opening(log=name, previous=previous, others=others, opened_ms=1))
        told = Checkpoint(node=self.node.id, number=number, size=1, root=witness_log.artefact_entry(sealed.envelope))
        head = witness_log.sign(told, own.key).encode()
        said = LogSync(head=head, opening=sealed.envelope, base_size=1, base_root=told.root)

        async def handle(caller: str, ask: LogSync) -> msgspec.Struct:
            return said

        self.node.api.serve("log/checkpoint", handle)
        return said


def head_of(node: MemoryNode) -> bytes:
    """Its newest checkpoint, signed."""
    return node.witness.log.signed.encode()


async def test_a_renewed_log_is_taken_up_once_it_continues_what_was_held_of_the_former_one(
    three: list[MemoryNode],
) -> None:
    anna, bruno, carla = three
    await anna.log_exchange.sync(carla.id)
    await sign(carla, 3)
    await bruno.log_exchange.sync(carla.id)
    await sign(carla, 2)
    for number in (1, 2, 3):  # anna hears of the last one only
        await carla.witness.renew()
        await sign(carla, 1)
        assert carla.witness.log.checkpoint.number == number
    for node, was in ((anna, 1), (bruno, 4)):
        assert size_held(node, carla) == was
        found = await audit(node, carla)
        assert (found.sound, found.restored, number_held(node, carla)) == (True, False, 3)
        assert found.renewed_ms > 0
        past = node.log_exchange.peer_logs.past(carla.id)
        assert {(told.number, told.size) for told, _ in past} == {(0, was), (0, 6), (1, 2), (2, 2)}
    rows = [line for line in await anna.store.audit_lines() if b"log.renewed" in line.line]
    assert len(rows) == 1


@pytest.mark.parametrize("number", [1, 2, limits.LOG_NUMBER_MAX])
async def test_a_later_log_that_names_no_former_one_is_refused_also_by_who_held_none(
    three: list[MemoryNode], number: int
) -> None:
    anna, _, mallory = three
    for held in (False, True):
        if held:
            mallory.api.serve("log/checkpoint", mallory.log_exchange.on_sync)
            await anna.log_exchange.sync(mallory.id)
        await Forger(mallory).open(number)
        assert (await audit(anna, mallory)).code == "log.invalid"
        assert size_held(anna, mallory) == held


async def test_a_number_jump_is_not_followed(three: list[MemoryNode]) -> None:
    """Guard: protocol/log/log_renewal.py, account."""
    anna, _, mallory = three
    await anna.log_exchange.sync(mallory.id)
    forger = Forger(mallory)
    before = witness_log.sign(
        Checkpoint(node=mallory.id, number=limits.LOG_NUMBER_MAX - 1, size=1, root=bytes(32)), mallory.identity.key
    )
    await forger.open(limits.LOG_NUMBER_MAX, before.encode(), head_of(mallory))
    found = await audit(anna, mallory)
    assert (found.sound, found.standing, found.code) == (False, "unproven", "log.unproven")
    assert number_held(anna, mallory) == 0


async def test_a_renewal_that_forgets_what_was_held_is_not_followed(three: list[MemoryNode]) -> None:
    """Guard: node/log/peer_logs.py, PeerLogs._account."""
    anna, _, mallory = three
    early = head_of(mallory)
    await sign(mallory, 4)
    await anna.log_exchange.sync(mallory.id)
    await Forger(mallory).open(1, early)
    found = await audit(anna, mallory)
    assert (found.standing, found.code, found.size) == ("unproven", "log.unproven", 5)
    assert anna.peers.frozen == {mallory.id: "log.unproven"}


async def test_another_end_of_the_former_log_is_found_proved_and_frozen(three: list[MemoryNode]) -> None:
    anna, _, mallory = three
    await sign(mallory, 2)
    await anna.log_exchange.sync(mallory.id)
    other = witness_log.sign(Checkpoint(node=mallory.id, number=0, size=3, root=bytes(32)), mallory.identity.key)
    await Forger(mallory).open(1, other.encode())
    assert (await audit(anna, mallory)).standing == "contradicting"
    proof = log_proof.decode(anna.log_exchange.peer_logs.proof(mallory.id))
    assert isinstance(proof, Equivocation)
    assert log_proof.check(proof).node == mallory.id


async def suspended(anna: MemoryNode, bruno: MemoryNode, mallory: MemoryNode) -> TwoFaced:
    """Mallory has shown both another history, and does not say how they are connected."""
    liar = TwoFaced(mallory)
    await liar.show(anna, signed=4)
    await liar.show(bruno, signed=6)
    liar.garbled.add(anna.id)
    await anna.log_exchange.sync(mallory.id)
    await bruno.log_exchange.sync(mallory.id)
    for _ in range(2):
        await anna.log_exchange.sync(bruno.id)
    assert await code_of(anna.log_exchange.sync(mallory.id)) == "log.unproven"
    return liar


@pytest.mark.parametrize("after_restart", [False, True])
async def test_a_suspension_outlives_a_renewal_and_a_restart(three: list[MemoryNode], after_restart: bool) -> None:
    """Guard: node/log/peer_logs.py, PeerLogs.load."""
    anna, bruno, mallory = three
    liar = await suspended(anna, bruno, mallory)
    if after_restart:
        await restart(anna)
    face = liar.witnesses[anna.id]
    await face.renew()
    await sign(face, 2)
    found = await audit(anna, mallory)
    assert (found.sound, found.code) == (False, "log.unproven")
    assert anna.peers.frozen == {mallory.id: "log.unproven"}


async def test_two_histories_of_a_former_log_are_still_found_after_a_renewal(three: list[MemoryNode]) -> None:
    """Guard: node/log/peer_logs.py, PeerLogs.hear_from_others."""
    anna, bruno, mallory = three
    liar = TwoFaced(mallory)
    await liar.show(anna, signed=3)
    await liar.show(bruno, signed=3)
    await bruno.log_exchange.sync(mallory.id)
    await anna.log_exchange.sync(mallory.id)
    await liar.witnesses[anna.id].renew()
    assert (await audit(anna, mallory)).sound
    assert number_held(anna, mallory) == 1
    for _ in range(2):
        await anna.log_exchange.sync(bruno.id)
    assert anna.peers.frozen == {mallory.id: "log.equivocation"}


async def test_a_larger_other_history_of_a_former_log_is_asked_about(three: list[MemoryNode]) -> None:
    anna, bruno, mallory = three
    liar = TwoFaced(mallory)
    await liar.show(anna, signed=3)
    await liar.show(bruno, signed=5)
    await bruno.log_exchange.sync(mallory.id)
    await anna.log_exchange.sync(mallory.id)
    await liar.witnesses[anna.id].renew()
    assert (await audit(anna, mallory)).sound
    for _ in range(2):
        await anna.log_exchange.sync(bruno.id)
    assert (await audit(anna, mallory)).code == "log.unproven"


async def test_a_peer_that_lags_behind_accuses_nobody(three: list[MemoryNode]) -> None:
    anna, bruno, carla = three
    await sign(carla, 2)
    await bruno.log_exchange.sync(carla.id)
    await sign(carla, 2)
    await anna.log_exchange.sync(carla.id)
    await carla.witness.renew()
    await anna.log_exchange.sync(carla.id)
    for _ in range(2):
        await anna.log_exchange.sync(bruno.id)  # who still holds the former log
    assert (await audit(anna, carla)).sound
    assert (await audit(bruno, carla)).sound
    assert not anna.peers.frozen
    assert not bruno.peers.frozen


# --- restored from a copy --------------------------------------------------------------------------------------------


async def lose(node: MemoryNode, *peers: MemoryNode) -> None:
    """``node`` is restored from a copy; each of ``peers`` holds another state of what it lost."""
    copied = copy.deepcopy(node.store)
    for peer in peers:
        await sign(node, 2)
        await peer.log_exchange.sync(node.id)
    await node.stop()
    node.store = copied
    await node.start()


async def test_a_restored_node_names_all_that_its_peers_hold_and_its_owner_is_known_to_have_lost_entries(
    three: list[MemoryNode],
) -> None:
    anna, bruno, carla = three
    await lose(carla, anna, bruno)
    await carla.log_exchange.round()
    said = await carla.witness.renew()
    assert said.number == 1
    names = cbor.decode_as(_payload(carla.witness.log.opening), Opening)
    assert len(names.others) == 2  # the end of its own log, and what anna holds; bruno's is the previous
    for node in (anna, bruno):
        found = await audit(node, carla)
        assert (found.sound, found.restored, number_held(node, carla)) == (True, True, 1)
        assert not node.peers.frozen


def _payload(sealed: bytes) -> bytes:
    return envelope.peek(sealed).payload


async def test_a_peer_that_was_not_asked_before_makes_it_renew_again(three: list[MemoryNode]) -> None:
    anna, bruno, carla = three
    await lose(carla, anna, bruno)
    assert await code_of(carla.log_exchange.sync(anna.id)) == "log.rollback"
    await carla.witness.renew()
    assert await code_of(carla.log_exchange.sync(bruno.id)) == "log.rollback"
    assert (await carla.witness.renew()).number == 2
    await carla.log_exchange.round()
    for node in (anna, bruno):
        assert (await audit(node, carla)).sound
        assert number_held(node, carla) == 2


async def test_a_restored_node_is_not_suspended_while_it_waits_for_its_owner(three: list[MemoryNode]) -> None:
    anna, bruno, carla = three
    await lose(carla, anna, bruno)
    assert await code_of(carla.log_exchange.sync(anna.id)) == "log.rollback"
    for _ in range(2):
        await anna.log_exchange.sync(bruno.id)
    found = await audit(anna, carla)
    assert (found.sound, found.standing) == (False, "silent")
    assert not anna.peers.frozen


async def test_by_policy_who_lost_entries_waits_for_the_owner_of_the_reader(three: list[MemoryNode]) -> None:
    anna, _, carla = three
    set_policy(anna, log_silence="freeze")
    await restart(anna)
    await lose(carla, anna)
    assert await code_of(carla.log_exchange.sync(anna.id)) == "log.rollback"
    await carla.witness.renew()
    assert (await audit(anna, carla)).code == "log.unproven"
    await sign(carla, 1)
    await restart(anna)
    assert (await audit(anna, carla)).code == "log.unproven"
    await anna.ask("node.trust", peer="mallory", notify=False)
    assert (await audit(anna, carla)).sound
    assert not anna.peers.frozen


async def test_no_word_of_a_suspended_peer_lifts_its_suspension_only_the_owner_does(three: list[MemoryNode]) -> None:
    """Guard: node/log/peer_logs.py, PeerLogs._thaw."""
    anna, bruno, mallory = three
    liar = await suspended(anna, bruno, mallory)
    face = liar.witnesses[anna.id]
    held = bruno.log_exchange.peer_logs.held(mallory.id)
    assert held is not None
    face._lost.append(held[1].encode())
    await face.renew()  # it says that it has lost what bruno holds
    liar.garbled.clear()
    assert (await audit(anna, mallory)).code == "log.unproven"
    assert number_held(anna, mallory) == 1
    await anna.ask("node.trust", peer="mallory", notify=False)
    assert (await audit(anna, mallory)).sound
    assert room(anna).describe(mallory.id).restored


async def test_a_log_that_a_thief_opened_is_forgotten_with_its_key(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    now_s = bruno.mesh.clock.now_ms() // 1000
    begun = log_of(bruno.identity.key, now_s=now_s - 1_000)
    bruno.identity.become(begun, bruno.identity.key)
    before = copy.deepcopy(bruno.store)
    turn(bruno)  # a thief changes its key,
    await anna.changes.adopt(bruno.identity.log.encode())
    await sign(bruno, 5)
    await anna.log_exchange.sync(bruno.id)
    await bruno.witness.renew()  # and opens another log
    await sign(bruno, 1)
    assert (await audit(anna, bruno)).sound
    await bruno.witness.renew()
    assert (await audit(anna, bruno)).sound
    bruno.mesh.clock.ahead_ms += 100_000
    taken_back = recovered(begun, SECOND, now_s + 50)
    await bruno.stop()
    bruno.store = before
    bruno.identity.become(taken_back, SECOND)
    bruno.identity.speak()
    await bruno.start()
    await bruno.witness.renew()
    await sign(bruno, 2)
    await anna.changes.adopt(taken_back.encode())
    await restart(anna)
    assert number_held(anna, bruno) == -1
    found = await audit(anna, bruno)
    assert (found.sound, number_held(anna, bruno), dict(anna.peers.frozen)) == (True, 1, {})
    assert all(told.number == 0 for told, _ in anna.log_exchange.peer_logs.past(bruno.id))
