"""What one exchange of checkpoints carries, how many calls it takes, and what counts as a refusal."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
import pytest

from adapters.cosigned_records import COSIGNED
from node.log.checkpoints import _share, _size_in
from node.log.log_watch import LogAnswer, LogWatch
from node.log.stored import HEADS
from protocol import limits
from protocol.errors import MeshError
from protocol.log import note, witness_log
from protocol.log.witness_log import TAG_BYTES, acquaintance
from protocol.messages import KeyHead, LogConsistencyAsk, LogProveAsk, LogSync
from tests.key_logs import FIRST, SECOND, THIRD, log_of, revoked, rotated
from tests.mesh_memory import MemoryNode, memory_mesh
from tests.tables import each
from tests.unit.test_log_exchange import code_of, sign
from tests.unit.test_peers import with_log

pytestmark = pytest.mark.virtual_time


@pytest.fixture
async def three() -> AsyncIterator[list[MemoryNode]]:
    async with memory_mesh("anna", "bruno", "carla") as nodes:
        yield nodes


def watch(node: MemoryNode) -> LogWatch:
    return node.log_exchange.peer_logs.watch


# --- one message -----------------------------------------------------------------------------------------------------


@each(
    ("count", "turn", "told"),
    [(0, 0, ""), (3, 5, "abc"), (4, 0, "abc"), (4, 1, "dab"), (4, 2, "cda"), (4, 4, "abc"), (7, 2, "gab")],
)
def test_what_one_message_does_not_carry_comes_with_the_next_ones(count: int, turn: int, told: str) -> None:
    letters = [letter.encode() for letter in "abcdefg"[:count]]
    assert b"".join(_share(letters, 3, turn)).decode() == told


async def test_number_and_size_are_those_of_the_head_that_was_shown(three: list[MemoryNode]) -> None:
    anna, *_ = three
    await sign(anna, 2)
    await anna.witness.renew()
    assert _size_in(LogSync()) == (0, 0)
    assert _size_in(LogSync(head=anna.witness.log.signed.encode())) == (1, 1)


async def test_a_tag_is_found_whole_and_not_across_two_others(three: list[MemoryNode]) -> None:
    anna, bruno, carla = three
    exchange = anna.log_exchange
    tag = acquaintance(anna.id, bruno.id, carla.id)
    half = TAG_BYTES // 2
    across = bytes(half) + tag + bytes(TAG_BYTES - half)
    for tags, known in (
        (b"", False),
        (tag, True),
        (bytes(TAG_BYTES) + tag, True),
        (across, False),
        (across + tag, True),
        (tag[:-1] + b"\0", False),
    ):
        exchange._tags[bruno.id] = tags
        assert exchange.acquainted(carla.id) == ([bruno.id] if known else []), tags
        assert (tag in exchange._tags_of(bruno.id)) is known
    assert exchange.acquainted(bruno.id) == []


async def test_whose_key_log_differs_is_sent_those_that_have_ended_first(
    three: list[MemoryNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    anna, bruno, _ = three
    exchange = anna.log_exchange
    active = rotated(log_of(FIRST), FIRST, SECOND, 2_000)
    ended = revoked(log_of(THIRD), THIRD, 2_000)
    nodes = [active.node, ended.node]
    for number, log in enumerate((active, ended)):
        with_log(anna, f"peer {number}", log)
    heads = exchange._key_heads(bruno.id, nodes)
    assert heads == tuple(
        KeyHead(tag=acquaintance(anna.id, bruno.id, log.node), head=log.head) for log in (active, ended)
    )
    assert exchange._key_logs(bruno.id, nodes) == (), "it has said nothing of them"
    exchange._heads_told[bruno.id] = {head.tag: head.head for head in heads}
    assert exchange._key_logs(bruno.id, nodes) == ()
    exchange._heads_told[bruno.id] = {head.tag: bytes(32) for head in heads}
    assert exchange._key_logs(bruno.id, nodes) == (ended.encode(), active.encode())
    monkeypatch.setattr(limits, "LOG_GOSSIP_KEY_LOGS_MAX", 1)
    assert exchange._key_logs(bruno.id, nodes) == (ended.encode(),)
    monkeypatch.setattr(limits, "KEY_LOG_BYTES_MAX", len(active.encode()))
    monkeypatch.setattr(limits, "LOG_GOSSIP_KEY_LOGS_MAX", 2)
    fitting = [log.encode() for log in (ended, active) if len(log.encode()) <= len(active.encode())]
    assert exchange._key_logs(bruno.id, nodes) == tuple(fitting)
    monkeypatch.setattr(limits, "KEY_LOG_BYTES_MAX", min(len(log.encode()) for log in (active, ended)) - 1)
    assert exchange._key_logs(bruno.id, nodes) == ()
    monkeypatch.setattr(limits, "PEERS_MAX", 1)
    assert exchange._key_heads(bruno.id, nodes) == heads[:1]


async def test_what_a_peer_said_is_forgotten_with_it(three: list[MemoryNode]) -> None:
    anna, bruno, carla = three
    await anna.log_exchange.round()
    exchange = anna.log_exchange
    books = (exchange._holds, exchange._tags, exchange._heads_told, exchange._told)
    assert all(set(book) == {bruno.id, carla.id} for book in books)
    await exchange.forget(bruno.id)
    assert all(set(book) == {carla.id} for book in books)
    assert [cosigned.witness for cosigned in await anna.store.rows(COSIGNED).find()] == [carla.id]
    assert exchange.peer_logs.held(bruno.id) is None
    kept = {head.node for head in await anna.store.rows(HEADS).find()}
    assert kept == {bruno.id, carla.id}, "so that it cannot go back behind it"
    await exchange.forget(bruno.id)


async def test_cosignatures_of_who_may_not_act_are_dropped_at_the_start(three: list[MemoryNode]) -> None:
    anna, bruno, carla = three
    await anna.log_exchange.round()
    await anna.changes.distrust(bruno.id, "")
    anna.peers._records.pop(carla.id)
    await anna.log_exchange.load()
    assert [cosigned.witness for cosigned in await anna.store.rows(COSIGNED).find()] == [carla.id], (
        "of strangers they stay"
    )


async def test_a_round_leaves_out_whom_it_cannot_call(three: list[MemoryNode]) -> None:
    anna, bruno, carla = three
    record = anna.peers.record(bruno.id)
    assert record is not None
    anna.peers.use(msgspec.structs.replace(record, addresses=()))
    asked: list[str] = []
    sync = anna.log_exchange.sync

    async def counted(node: str) -> None:
        asked.append(node)
        await sync(node)

    anna.log_exchange.sync = counted  # type: ignore[method-assign]
    await anna.log_exchange.round()
    assert asked == [carla.id]
    await anna.changes.adopt(revoked(carla.identity.log, carla.identity.key, anna.mesh.clock.now_ms() // 1000).encode())
    await anna.log_exchange.round()
    assert asked == [carla.id]
    anna.peers.use(record)
    anna.log_exchange.peer_logs._proofs[bruno.id] = b"x"
    await anna.log_exchange.round()
    assert asked == [carla.id]


# --- one exchange ----------------------------------------------------------------------------------------------------


def counted_asks(node: MemoryNode, answer: LogSync | None = None) -> list[LogSync]:
    """What ``node`` is asked from now on; it answers as it would, or with ``answer``."""
    heard: list[LogSync] = []

    async def listen(caller: str, ask: LogSync) -> LogSync:
        heard.append(ask)
        return answer or await node.log_exchange.on_sync(caller, ask)

    node.api.serve("log/checkpoint", listen)
    return heard


async def test_the_first_exchange_takes_two_calls_and_later_ones_take_one(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    heard = counted_asks(bruno)
    await anna.log_exchange.sync(bruno.id)
    assert [bool(ask.head) for ask in heard] == [False, True]
    heard.clear()
    await anna.log_exchange.sync(bruno.id)
    assert [bool(ask.head) for ask in heard] == [True]
    heard.clear()
    await sign(anna, 1)
    await anna.log_exchange.sync(bruno.id)
    assert len(heard) == 1, "its answer shows that it holds what it was just shown"


async def test_a_peer_that_shows_nothing_is_asked_three_times(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    heard = counted_asks(bruno, LogSync())
    await anna.log_exchange.sync(bruno.id)
    assert (len(heard), watch(anna).of(bruno.id).shown) == (3, LogAnswer.SILENT)


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("input.invalid", LogAnswer.SILENT),
        ("log.rollback", LogAnswer.SILENT),
        ("keylog.invalid", LogAnswer.NOTHING),
        ("envelope.time", LogAnswer.NOTHING),
        ("peer.quota", LogAnswer.NOTHING),
        ("store.full", LogAnswer.NOTHING),
    ],
)
async def test_what_counts_as_a_refusal_to_show_the_log(three: list[MemoryNode], code: str, shown: LogAnswer) -> None:
    anna, bruno, _ = three

    async def refuse(caller: str, ask: LogSync) -> LogSync:
        raise MeshError(code)

    bruno.api.serve("log/checkpoint", refuse)
    assert await code_of(anna.log_exchange.sync(bruno.id)) == code
    assert watch(anna).of(bruno.id).shown is shown


async def test_an_artefact_of_a_later_log_is_demanded_after_a_sync(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    await anna.log_exchange.sync(bruno.id)
    heard = counted_asks(bruno)
    first = await bruno.witness.artefact("delta", "sea-1", b"x")
    await anna.log_exchange.demand(bruno.id, first.digest)
    assert heard == [], "the log that is held is enough"
    await bruno.witness.renew()
    later = await bruno.witness.artefact("delta", "sea-1", b"y")
    await anna.log_exchange.demand(bruno.id, later.digest)
    assert len(heard) == 1
    held = anna.log_exchange.peer_logs.held(bruno.id)
    assert held is not None
    assert (held[0].number, held[0].size) == (1, 2)
    assert await code_of(anna.log_exchange.demand(bruno.id, bytes(32))) == "log.not_logged"


async def test_after_a_rollback_a_node_proves_and_links_nothing(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    made = await anna.witness.artefact("delta", "sea-1", b"x")
    exchange = anna.log_exchange
    ask = LogConsistencyAsk(log=0, old_size=1, new_size=2)
    link = await exchange.on_consistency(bruno.id, ask)
    assert (link.old_root, link.hashes) == (
        await anna.witness.root_at(0, 1),
        (await anna.witness.link(0, 1, 2)).proof,
    )
    assert await code_of(exchange.on_prove(bruno.id, LogProveAsk(digest=bytes(32)))) == "log.not_logged"
    anna.witness._lost.append(anna.witness.log.signed.encode())
    assert await code_of(exchange.on_consistency(bruno.id, ask)) == "log.rollback"
    assert await code_of(exchange.on_prove(bruno.id, LogProveAsk(digest=bytes(32)))) == "log.rollback"
    assert (await exchange.on_prove(bruno.id, LogProveAsk(digest=made.digest))).proof
    await exchange.sync(bruno.id)
    said = await exchange._composed(bruno.id)
    assert (said.head, bool(said.yours)) == (b"", True), "it shows no head that it could not continue"


async def test_a_message_continues_what_the_peer_holds(three: list[MemoryNode]) -> None:
    anna, bruno, carla = three
    await anna.log_exchange.round()
    await anna.log_exchange.round()
    await sign(anna, 3)
    said = await anna.log_exchange._composed(bruno.id)
    assert witness_log.peek(note.parse(said.head)).size == 4
    assert (said.base_size, said.former_size, said.openings, said.former_hashes) == (1, 0, (), ())
    assert said.tags == (acquaintance(anna.id, bruno.id, carla.id),)
    for _ in range(2):
        await anna.witness.renew()
        await sign(anna, 1)
    said = await anna.log_exchange._composed(bruno.id)
    assert (said.base_size, said.former_size, len(said.openings)) == (1, 1, 1)
    assert said.former_hashes == (await anna.witness.link(0, 1, 4)).proof
    assert witness_log.cosigned_at(note.parse(said.yours), anna.id, anna.identity.public_key) is not None
