"""The checkpoints that are held of peers' logs: what is taken up, kept for later, asked about, and forgotten."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
import pytest

from adapters.cosigned_records import COSIGNED
from node.log.log_watch import LogAnswer
from node.log.peer_logs import PeerLogs
from node.log.stored import EQUIVOCATIONS, HEADS
from protocol import audit, limits
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.log import log_proof, note, witness_log
from protocol.log.witness_log import Checkpoint
from protocol.messages import LogConsistency, LogConsistencyAsk, LogSync
from tests.mesh_memory import MemoryNode, memory_mesh
from tests.unit.test_log_exchange import code_of, sign, turn
from tests.unit.test_log_standing import shown_now

pytestmark = pytest.mark.virtual_time


@pytest.fixture
async def three() -> AsyncIterator[list[MemoryNode]]:
    async with memory_mesh("anna", "bruno", "carla") as nodes:
        yield nodes


def logs(node: MemoryNode) -> PeerLogs:
    return node.log_exchange.peer_logs


def held(node: MemoryNode, of: MemoryNode) -> tuple[int, int] | None:
    """Number and size of what is held."""
    found = logs(node).held(of.id)
    return (found[0].number, found[0].size) if found else None


def head(node: MemoryNode) -> bytes:
    return node.witness.log.signed.encode()


def forged(node: MemoryNode, *, number: int = 0, size: int = 3) -> bytes:
    """A checkpoint that ``node`` signed and its log never had."""
    made = Checkpoint(node=node.id, number=number, size=size, root=bytes(32))
    return witness_log.sign(made, node.identity.key).encode()


def asked(node: MemoryNode) -> list[LogConsistencyAsk]:
    """The proofs that ``node`` is asked for from now on; it gives them."""
    heard: list[LogConsistencyAsk] = []

    async def listen(caller: str, ask: LogConsistencyAsk) -> LogConsistency:
        heard.append(ask)
        return await node.log_exchange.on_consistency(caller, ask)

    node.api.serve("log/consistency", listen)
    return heard


async def trouble(node: MemoryNode) -> list[tuple[str, str]]:
    """The rows about freezes, each with its code."""
    found = [audit.read(line.line) for line in await node.store.audit_lines()]
    return [(row.what, row.code) for row in found if row.what in ("peer.frozen", "peer.thawed")]


async def grown(bruno: MemoryNode, *sizes: int) -> list[bytes]:
    """The signed checkpoints of ``bruno`` at these sizes, the last one its present one."""
    found = []
    for size in sizes:
        await sign(bruno, size - bruno.witness.log.checkpoint.size)
        found.append(head(bruno))
    return found


# --- what is held ----------------------------------------------------------------------------------------------------


async def test_what_is_held_of_one_peer_or_of_all_is_taken_up_again(three: list[MemoryNode]) -> None:
    anna, bruno, carla = three
    await anna.log_exchange.round()
    seen_ms = {h.node: h.seen_ms for h in await anna.store.rows(HEADS).find()}
    for node in (bruno, carla):
        logs(anna).forget(node.id)
    logs(anna).watch.current_ms.clear()
    await logs(anna).recall(bruno.id)
    assert (held(anna, bruno), held(anna, carla)) == ((0, 1), None)
    assert logs(anna).watch.current_ms == {bruno.id: seen_ms[bruno.id]}
    await logs(anna).recall()
    assert held(anna, carla) == (0, 1)
    for node in (bruno, carla):
        logs(anna).forget(node.id)
    await anna.changes.distrust(bruno.id, "")
    await logs(anna).recall()
    assert (held(anna, bruno), held(anna, carla)) == (None, (0, 1)), "nothing of a distrusted node"


async def test_what_is_held_of_a_distrusted_node_stays_until_it_is_forgotten(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    await anna.log_exchange.sync(bruno.id)
    await anna.changes.distrust(bruno.id, "")
    assert held(anna, bruno) == (0, 1)


async def test_of_a_log_that_began_before_it_was_met_the_former_ends_are_kept(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    await sign(bruno, 2)
    former = bruno.witness.log.checkpoint
    await bruno.witness.renew()
    await anna.log_exchange.sync(bruno.id)
    assert held(anna, bruno) == (1, 1)
    assert [one for one, _ in logs(anna).past(bruno.id)] == [former]
    kept = logs(anna).watch.of(bruno.id)
    assert (kept.renewed_ms, kept.restored, kept.suspended) == (0, False, False)


async def test_of_former_logs_the_last_ends_are_kept(three: list[MemoryNode], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LOG_PAST_KEPT_MAX", 2)
    anna, bruno, _ = three
    for size in (1, 2, 3):
        await sign(bruno, size)
        await anna.log_exchange.sync(bruno.id)
        await bruno.witness.renew()
    await anna.log_exchange.sync(bruno.id)
    assert held(anna, bruno) == (3, 1)
    assert [(one.number, one.size) for one, _ in logs(anna).past(bruno.id)] == [(1, 3), (2, 4)]


async def test_a_head_that_belongs_to_another_opening_is_refused(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    first = await shown_now(bruno)
    await bruno.witness.renew()
    wrong = msgspec.structs.replace(first, head=head(bruno))
    with pytest.raises(MeshError, match="belongs to another log") as caught:
        await logs(anna).hear(bruno.id, wrong)
    assert caught.value.code == "log.invalid"
    assert held(anna, bruno) is None


async def test_what_a_node_cannot_continue_from_is_no_contradiction_while_nothing_is_held(
    three: list[MemoryNode],
) -> None:
    anna, bruno, _ = three
    await sign(bruno, 2)
    said = await shown_now(bruno)
    wrong = msgspec.structs.replace(said, base_root=bytes(32))
    assert await logs(anna).hear(bruno.id, wrong) is LogAnswer.UNPROVEN
    assert anna.peers.frozen == {bruno.id: "log.unproven"}
    assert (held(anna, bruno), await trouble(anna)) == (None, [("peer.frozen", "log.unproven")])
    assert await logs(anna).hear(bruno.id, said) is LogAnswer.CURRENT
    assert (anna.peers.frozen, held(anna, bruno)) == ({}, (0, 3))
    assert await trouble(anna) == [("peer.frozen", "log.unproven"), ("peer.thawed", "")]
    told = (await anna.store.feed(after=0, kind="peer")).changes
    assert [(change.kind, change.ids, change.who) for change in told] == [
        (FeedKind.PEER_FROZEN, (bruno.id,), "node"),
        (FeedKind.PEER_UNFROZEN, (bruno.id,), "node"),
    ]


# --- what others show ------------------------------------------------------------------------------------------------


async def test_what_others_show_is_asked_about_and_settled(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    small, middle, large = await grown(bruno, 2, 4, 6)
    await anna.log_exchange.sync(bruno.id)
    heard = asked(bruno)
    await logs(anna).hear_from_others(large)
    await logs(anna).settle_unconnected(bruno.id)
    assert heard == [], "it is the one that is held"
    for shown in (small, middle, small):
        await logs(anna).hear_from_others(shown)
    assert len(logs(anna)._unconnected[bruno.id]) == 2
    await logs(anna).settle_unconnected(bruno.id)
    assert [(ask.log, ask.old_size, ask.new_size) for ask in heard] == [(0, 2, 6), (0, 4, 6)]
    assert (logs(anna)._unconnected[bruno.id], held(anna, bruno)) == ({}, (0, 6))
    (larger,) = await grown(bruno, 9)
    await logs(anna).hear_from_others(larger)
    await logs(anna).settle_unconnected(bruno.id)
    assert (held(anna, bruno), len(heard)) == ((0, 9), 3), "a larger one is held from then on"


async def test_a_later_log_that_others_show_is_asked_for_by_the_next_head(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    await anna.log_exchange.sync(bruno.id)
    before = await shown_now(bruno)
    await bruno.witness.renew()
    heard = asked(bruno)
    first = head(bruno)
    await sign(bruno, 1)
    for shown in (first, head(bruno)):
        await logs(anna).hear_from_others(shown)
    await logs(anna).settle_unconnected(bruno.id)
    assert heard == [], "nothing of that log is held that it could continue"
    later = logs(anna).later(bruno.id, 0)
    assert later is not None
    assert (later[0].number, later[0].size) == (1, 2)
    assert logs(anna).later(bruno.id, 1) is None
    assert await logs(anna).hear(bruno.id, before) is LogAnswer.UNPROVEN, "it hides a log that others have seen"
    assert anna.peers.frozen == {bruno.id: "log.unproven"}
    await anna.log_exchange.sync(bruno.id)
    assert (held(anna, bruno), anna.peers.frozen, logs(anna)._unconnected[bruno.id]) == ((1, 2), {}, {})


async def test_so_many_checkpoints_are_kept_to_be_settled(
    three: list[MemoryNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LOG_UNCONNECTED_PER_NODE_MAX", 2)
    anna, bruno, _ = three
    for shown in await grown(bruno, 2, 3, 4):
        await logs(anna).hear_from_others(shown)
    assert sorted(size for _, size, _ in logs(anna)._unconnected[bruno.id]) == [2, 3]


@pytest.mark.parametrize("who", ["distrusted", "convicted", "another key"])
async def test_what_others_show_of_whom_it_does_not_matter_is_ignored(three: list[MemoryNode], who: str) -> None:
    anna, bruno, _ = three
    await sign(bruno, 2)
    shown = head(bruno)
    if who == "distrusted":
        await anna.changes.distrust(bruno.id, "")
    elif who == "convicted":
        logs(anna)._proofs[bruno.id] = b"x"
    else:
        turn(bruno)
        shown = head(bruno)
    await logs(anna).hear_from_others(shown)
    assert logs(anna)._unconnected == {}


async def test_another_root_at_a_size_that_is_held_is_a_proof_whoever_shows_it(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    await sign(bruno, 2)
    await anna.log_exchange.sync(bruno.id)
    await logs(anna).hear_from_others(forged(bruno))
    assert anna.peers.frozen == {bruno.id: "log.equivocation"}
    found = log_proof.check(log_proof.decode(logs(anna).proof(bruno.id)))
    assert (found.size, found.other_size, found.node) == (3, 3, bruno.id)
    assert (len(await anna.store.rows(EQUIVOCATIONS).find()), await trouble(anna)) == (
        1,
        [("peer.frozen", "log.equivocation")],
    )
    again = PeerLogs(anna.calls, anna.store, anna.mesh.clock)
    anna.peers._frozen.clear()
    await again.load()
    assert (again.proof(bruno.id), anna.peers.frozen) == (logs(anna).proof(bruno.id), {bruno.id: "log.equivocation"})


async def test_a_proof_that_is_passed_on_convicts_a_peer_once(three: list[MemoryNode]) -> None:
    anna, bruno, carla = three
    await sign(bruno, 2)
    await carla.log_exchange.sync(bruno.id)
    await logs(carla).hear_from_others(forged(bruno))
    proof = logs(carla).proof(bruno.id)
    for _ in range(2):
        await logs(anna).hear_proof(proof)
    assert (logs(anna).proof(bruno.id), anna.peers.frozen) == (proof, {bruno.id: "log.equivocation"})
    assert await trouble(anna) == [("peer.frozen", "log.equivocation")]
    inclusion = log_proof.encode(await bruno.witness.prove(_digest(bruno)))
    with pytest.raises(MeshError, match="a proof of equivocation is required") as caught:
        await logs(anna).hear_proof(inclusion)
    assert caught.value.code == "log.invalid"
    dora = await anna.mesh.add("dora")
    await logs(dora).hear_proof(proof)
    assert (logs(dora).proof(bruno.id), dora.peers.frozen) == (b"", {}), "of a stranger nothing is kept"


def _digest(node: MemoryNode) -> bytes:
    return log_proof.artefact_digest(node.witness.log.opening)


# --- proofs that are not given ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "code", "words", "frozen"),
    [
        ("log.rollback", "log.unproven", "the peer reports that entries of its log were lost", False),
        ("input.invalid", "log.unproven", "instead of proving its log the peer answered: input.invalid", True),
        ("store.full", "store.full", "", False),
        ("garbled", "log.unproven", "", True),
    ],
)
async def test_who_does_not_prove_what_others_saw_is_suspended_unless_it_cannot_help_it(
    three: list[MemoryNode], answer: str, code: str, words: str, frozen: bool
) -> None:
    anna, bruno, _ = three
    small, _ = await grown(bruno, 2, 4)
    await anna.log_exchange.sync(bruno.id)
    await logs(anna).hear_from_others(small)
    served = bruno.log_exchange.on_consistency

    async def told(caller: str, ask: LogConsistencyAsk) -> LogConsistency:
        if answer != "garbled":
            raise MeshError(answer)
        return msgspec.structs.replace(await served(caller, ask), old_root=bytes(32))

    bruno.api.serve("log/consistency", told)
    with pytest.raises(MeshError) as caught:
        await logs(anna).settle_unconnected(bruno.id)
    assert caught.value.code == code
    if words:
        assert (caught.value.message, caught.value.detail) == (words, {"node": bruno.id})
    assert anna.peers.frozen == ({bruno.id: "log.unproven"} if frozen else {})
    kept = logs(anna).watch.of(bruno.id)
    assert (kept.suspended, kept.by_owner, kept.unconnected) == (frozen, False, (small,) if frozen else ())
    if frozen:
        await anna.stop()
        await anna.start()
        assert anna.peers.frozen == {bruno.id: "log.unproven"}
        assert len(logs(anna)._unconnected[bruno.id]) == 1, "it is known what is to be settled"
    bruno.api.serve("log/consistency", served)
    await anna.log_exchange.sync(bruno.id)
    assert (anna.peers.frozen, logs(anna)._unconnected[bruno.id]) == ({}, {}), "once it proves it, all is well"
    kept = logs(anna).watch.of(bruno.id)
    assert (kept.suspended, kept.unconnected) == (False, ())


async def test_a_checkpoint_is_connected_with_what_is_held_of_that_log(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    small, large = await grown(bruno, 2, 4)
    with pytest.raises(MeshError, match="this node has no checkpoint of that log") as caught:
        await logs(anna).connect(bruno.id, small)
    assert caught.value.code == "log.unproven"
    await anna.log_exchange.sync(bruno.id)
    heard = asked(bruno)
    await logs(anna).connect(bruno.id, large)
    assert heard == []
    await logs(anna).connect(bruno.id, small)
    assert [(ask.old_size, ask.new_size) for ask in heard] == [(2, 4)]
    assert held(anna, bruno) == (0, 4)
    assert await code_of(logs(anna).connect(bruno.id, forged(bruno, size=4))) == "log.equivocation"
    assert len(heard) == 1, "two roots of one size need no further proof"


# --- the decision of the owner ---------------------------------------------------------------------------------------


async def test_the_owner_ends_a_suspension_and_nothing_else(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    await sign(bruno, 2)
    await anna.log_exchange.sync(bruno.id)
    await logs(anna).accept(bruno.id)
    assert held(anna, bruno) == (0, 3), "there was nothing to end"
    await logs(anna)._suspend(bruno.id, by_owner=True)
    await logs(anna)._suspend(bruno.id)
    assert logs(anna).watch.of(bruno.id).by_owner
    await anna.log_exchange.peer_logs._thaw(bruno.id)
    assert anna.peers.frozen == {bruno.id: "log.unproven"}, "the peer itself cannot end it"
    await logs(anna).accept(bruno.id)
    assert (anna.peers.frozen, held(anna, bruno)) == ({}, None)
    assert [(one.number, one.size) for one, _ in logs(anna).past(bruno.id)] == [(0, 3)]
    kept = logs(anna).watch.of(bruno.id)
    assert (kept.by_owner, kept.suspended) == (False, False)
    assert await trouble(anna) == [("peer.frozen", "log.unproven"), ("peer.thawed", "")]


@pytest.mark.parametrize("key_log_room", [0, -1])
async def test_a_cosignature_is_kept_with_the_key_log_that_it_needs(
    three: list[MemoryNode], key_log_room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    anna, bruno, _ = three
    turn(bruno)
    await anna.changes.adopt(bruno.identity.log.encode())
    data = bruno.identity.log.encode()
    monkeypatch.setattr(limits, "LOG_COSIGNER_KEYS_BYTES_MAX", len(data) + key_log_room)
    await anna.log_exchange.sync(bruno.id)
    await anna.log_exchange.sync(bruno.id)
    assert [each.key_log for each in await anna.store.rows(COSIGNED).find()] == ([data] if key_log_room == 0 else [])
    assert anna.log_exchange._holds[bruno.id].size == 1, "what it holds counts all the same"


async def test_a_checkpoint_without_its_cosignature_is_not_held_by_the_peer(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    await sign(anna, 2)
    await anna.log_exchange._take(bruno.id, LogSync(yours=head(anna)))
    assert (anna.log_exchange._holds[bruno.id].number, await anna.store.rows(COSIGNED).find()) == (-1, [])
    cosigned = note.parse(head(anna)).with_line(bruno.witness.cosign(note.parse(head(anna)))).encode()
    await anna.log_exchange._take(bruno.id, LogSync(yours=cosigned))
    assert anna.log_exchange._holds[bruno.id].size == 3
    (kept,) = await anna.store.rows(COSIGNED).find()
    assert (kept.witness, kept.public_key, kept.key_log, kept.log, kept.size, kept.checkpoint) == (
        bruno.id,
        bruno.identity.public_key,
        b"",
        0,
        3,
        head(anna),
    )
    await anna.log_exchange._take(bruno.id, LogSync())
    assert anna.log_exchange._holds[bruno.id] == Checkpoint(node=anna.id, number=-1, size=1, root=b"")
