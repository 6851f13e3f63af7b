"""The traffic of deltas with one peer: what is pushed and when, after which pauses, and what is pulled and answered."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from adapters.search.writer import TreeWriter
from node.explorer.sharing.exchange import Exchange, _count
from node.explorer.sharing.log_proofs import LogProofs
from node.explorer.sharing.replica import Replica
from node.explorer.sharing.visit import Visit
from protocol.errors import MeshError
from protocol.messages import DeltaBatch, DeltaHave, DeltaPull, DeltaPush, ShareHead
from protocol.search.delta import decode_delta
from protocol.trust.grants import parse_grants
from protocol.wire import envelope
from tests.mesh_memory import MemoryNode, memory_mesh, until
from tests.tables import each
from tests.unit.test_explorer_refusals import _spec
from tests.unit.test_two_stories import Storyteller

pytestmark = pytest.mark.virtual_time


class Talk:
    """Anna's traffic in a search with peers whose answers are told here; the clock runs as the loop does."""

    def __init__(self, anna: MemoryNode, *others: MemoryNode) -> None:
        self.anna, self.clock, self.spec = anna, anna.mesh.clock, _spec(anna, *others)
        self.clock._factor = 1.0
        self.replica = Replica(self.spec, anna.witness, anna.store, TreeWriter)
        self.demanded: list[str] = []
        proofs = LogProofs(self._demand, self.clock)
        self.exchange = Exchange(self.replica, anna.calls, anna.store, self.clock, proofs)
        self.began_ms = self.clock.now_ms()

    async def _demand(self, node: str, digest: bytes) -> None:
        self.demanded.append(node)

    async def visit(self, count: int = 1) -> None:
        """Write so many deltas of its own."""
        for _ in range(count):
            self.replica.own.record(Visit(path=(), value=0.0, cost_ms=0))
            await self.replica.flush()

    def passed_s(self) -> float:
        """Since the beginning."""
        return round((self.clock.now_ms() - self.began_ms) / 1000, 1)


class Peer:
    """What a peer was sent, and what it answers: a position, or an error as long as there are some."""

    def __init__(self, talk: Talk, node: MemoryNode) -> None:
        self.talk, self.node = talk, node
        self.pushed: list[tuple[float, list[tuple[int, int]]]] = []
        self.errors: list[MeshError] = []
        self.pulled: list[DeltaPull] = []
        self.batches: list[DeltaBatch] = []
        self.has: DeltaHave | None = None
        node.api.serve("deltas/push", self._push)
        node.api.serve("deltas/pull", self._pull)

    async def _push(self, caller: str, ask: DeltaPush) -> DeltaHave:
        assert ask.search == self.talk.spec.id
        deltas = [decode_delta(envelope.peek(sealed).payload) for sealed in ask.deltas]
        self.pushed.append((self.talk.passed_s(), [(delta.epoch, delta.seq) for delta in deltas]))
        if self.errors:
            raise self.errors.pop(0)
        return self.has or DeltaHave(epoch=deltas[-1].epoch, seq=deltas[-1].seq)

    async def _pull(self, caller: str, ask: DeltaPull) -> DeltaBatch:
        self.pulled.append(ask)
        return self.batches.pop(0) if self.batches else DeltaBatch(deltas=())

    @property
    def got(self) -> list[list[int]]:
        """The numbers of the deltas of each push."""
        return [[seq for _, seq in deltas] for _, deltas in self.pushed]


@contextlib.asynccontextmanager
async def _talk(*names: str) -> AsyncIterator[Any]:
    async with memory_mesh("anna", *names) as (anna, *others):
        talk = Talk(anna, *others)
        await talk.replica.load(anna.peers.find_key, anna.peers.genesis_keys())
        yield talk, *(Peer(talk, other) for other in others)
        await talk.exchange.close()


# --- pushing ---------------------------------------------------------------------------------------------------------


async def test_what_is_there_is_pushed_at_once_and_then_only_what_is_new() -> None:
    async with _talk("bruno") as (talk, bruno):
        await talk.visit(3)
        talk.exchange.start()
        assert talk.exchange.pushes_to == {bruno.node.id}
        await until(lambda: bruno.pushed, "a push")
        assert bruno.pushed == [(0.0, [(1, 1), (1, 2), (1, 3)])]
        assert bruno.pulled == [DeltaPull(search=talk.spec.id, epoch=0, after_seq=0)]
        await talk.clock.sleep(60)
        assert len(bruno.pushed) == 1
        await talk.visit()
        await until(lambda: len(bruno.pushed) == 2, "another")
        assert bruno.got[1] == [4]
        assert len(bruno.pulled) == 1
        await talk.exchange.close()
        assert talk.exchange.pushes_to == frozenset()
        await talk.visit()
        await talk.clock.sleep(60)
        assert len(bruno.pushed) == 2


async def test_a_message_holds_64_deltas_and_the_next_follows_at_once() -> None:
    async with _talk("bruno") as (talk, bruno):
        await talk.visit(65)
        talk.exchange.start()
        await until(lambda: len(bruno.pushed) == 2, "two messages")
        assert bruno.got == [list(range(1, 65)), [65]]
        assert talk.passed_s() < 0.1


async def test_nothing_goes_to_this_node_itself_to_strangers_to_who_was_expelled_and_to_who_is_dropped() -> None:
    async with _talk("bruno", "carla", "dora") as (talk, bruno, carla, dora):
        talk.replica.expelled[carla.node.id] = "delta.invalid"
        await talk.anna.store.remove_peer(dora.node.id)
        await talk.anna.peers.load()
        await talk.visit()
        talk.exchange.start()
        assert talk.exchange.pushes_to == {bruno.node.id}
        await until(lambda: bruno.pushed, "a push")
        talk.exchange.drop(bruno.node.id)
        talk.exchange.drop(carla.node.id)
        await talk.visit()
        await talk.clock.sleep(30)
        assert (len(bruno.pushed), carla.pushed, dora.pushed) == (1, [], [])
        assert talk.exchange.pushes_to == frozenset()


async def test_who_may_not_read_gets_everything_once_it_may() -> None:
    async with _talk("bruno") as (talk, bruno):
        await talk.anna.mesh.pair(talk.anna, bruno.node, parse_grants("deltas:write"))
        await talk.visit(2)
        talk.exchange.start()
        await talk.clock.sleep(30)
        assert bruno.pushed == []
        await talk.anna.mesh.pair(talk.anna, bruno.node)
        await talk.visit()
        await until(lambda: bruno.pushed, "a push")
        assert bruno.got == [[1, 2, 3]]


@pytest.mark.parametrize(
    ("detail", "again"),
    [
        ({"epoch": 1, "seq": 3}, [3, 4]),
        ({"epoch": 1, "seq": 1}, [1, 2, 3, 4]),
        ({"epoch": 0, "seq": 3}, [1, 2, 3, 4]),
        ({"epoch": 1, "seq": "3"}, [1, 2, 3, 4]),
        ({"epoch": 1, "seq": -9}, [1, 2, 3, 4]),
        ({}, [1, 2, 3, 4]),
    ],
    ids=str,
)
async def test_a_peer_that_misses_some_says_from_where_and_gets_them_after_a_pause(
    detail: dict[str, Any], again: list[int]
) -> None:
    async with _talk("bruno") as (talk, bruno):
        bruno.errors = [MeshError("delta.gap", **detail)]
        await talk.visit(4)
        talk.exchange.start()
        await until(lambda: len(bruno.pushed) == 2, "it comes again")
        assert bruno.got == [[1, 2, 3, 4], again]
        assert [at_s for at_s, _ in bruno.pushed] == [0.0, 0.5]


@pytest.mark.parametrize("has", [(1, 1), (0, 2), (2, 2)], ids=str)
async def test_what_was_accepted_and_not_kept_is_sent_again_with_pauses_and_not_without_end(
    has: tuple[int, int],
) -> None:
    async with _talk("bruno") as (talk, bruno):
        bruno.has = DeltaHave(epoch=has[0], seq=has[1])
        await talk.visit(2)
        talk.exchange.start()
        await until(lambda: len(bruno.pushed) == 4, "it comes again")
        assert [at_s for at_s, _ in bruno.pushed] == [0.0, 0.5, 1.5, 3.5]


@pytest.mark.parametrize("code", ["delta.invalid", "delta.equivocation", "log.not_logged", "peer.unknown"])
async def test_a_refusal_for_good_ends_the_pushing(code: str) -> None:
    async with _talk("bruno") as (talk, bruno):
        bruno.errors = [MeshError(code)]
        await talk.visit()
        talk.exchange.start()
        await until(lambda: not talk.exchange.pushes_to, "it ends")
        await talk.visit()
        await talk.clock.sleep(100)
        assert len(bruno.pushed) == 1


@pytest.mark.parametrize(
    ("code", "times"),
    [
        ("store.full", [0.0, 0.5, 1.5, 3.5, 7.5, 15.5, 23.5]),
        ("input.not_found", [0.0, 0.5, 1.5, 3.5, 7.5, 15.5, 23.5]),
        ("peer.scope", [0.0, 30.0, 60.0]),
    ],
)
async def test_a_refusal_that_may_pass_costs_pauses_that_double_and_one_that_a_person_must_lift_a_long_one(
    code: str, times: list[float]
) -> None:
    async with _talk("bruno") as (talk, bruno):
        bruno.errors = [MeshError(code) for _ in times[1:]]
        await talk.visit()
        talk.exchange.start()
        await until(lambda: len(bruno.pushed) == len(times), "it comes again", seconds=100)
        assert [at_s for at_s, _ in bruno.pushed] == times
        bruno.errors = [MeshError("store.full")]
        await talk.visit()
        await until(lambda: len(bruno.pushed) == len(times) + 2, "and again")
        assert bruno.pushed[-1][0] - bruno.pushed[-2][0] == pytest.approx(0.5), "after a success pauses begin anew"
        assert bruno.got[-1] == [2]


@each(("value", "wanted"), [(7, 7), (5, 5), (4, 5), (None, 5), ("7", 5), (7.5, 5)])
def test_what_a_peer_says_is_wanted_is_a_number_that_is_high_enough_or_none(value: Any, wanted: int) -> None:
    assert _count(value, 5) == wanted


# --- pulling ---------------------------------------------------------------------------------------------------------


async def _mine(talk: Talk, peer: Peer, *visits: int) -> list[bytes]:
    return await Storyteller(peer.node, talk.spec.id).signed(*visits)


async def test_what_a_peer_has_is_pulled_until_it_has_no_more() -> None:
    async with _talk("bruno") as (talk, bruno):
        first, second, third = await _mine(talk, bruno, 1, 2, 3)
        bruno.batches = [
            DeltaBatch(deltas=(first,), more=True),
            DeltaBatch(deltas=(second,), more=True),
            DeltaBatch(deltas=(third,)),
        ]
        await talk.exchange.pull_from(bruno.node.id)
        assert [(ask.epoch, ask.after_seq) for ask in bruno.pulled] == [(0, 0), (1, 1), (1, 2)]
        assert talk.replica.have(bruno.node.id) == (1, 3)
        assert talk.replica.tree.effort(bruno.node.id).visits == 3
        assert (await talk.anna.store.usage())[bruno.node.id] > 0


async def test_a_peer_that_says_there_is_more_and_sends_nothing_new_is_not_asked_without_end() -> None:
    async with _talk("bruno") as (talk, bruno):
        (first,) = await _mine(talk, bruno, 1)
        bruno.batches = [DeltaBatch(deltas=(first,), more=True)] * 5
        await talk.exchange.pull_from(bruno.node.id)
        assert len(bruno.pulled) == 2


async def test_a_peer_that_may_not_write_is_not_asked() -> None:
    async with _talk("bruno") as (talk, bruno):
        await talk.anna.mesh.pair(talk.anna, bruno.node, parse_grants("deltas:read"))
        await talk.exchange.pull_from(bruno.node.id)
        assert bruno.pulled == []


async def test_what_comes_is_sampled_for_a_proof_and_refused_while_one_is_owed_too_long() -> None:
    async with _talk("bruno") as (talk, bruno):
        first, second = await _mine(talk, bruno, 1, 2)
        await talk.exchange.receive(bruno.node.id, (first,))
        await until(lambda: talk.demanded, "a proof is demanded")
        assert talk.demanded == [bruno.node.id]
        talk.exchange._proofs._owed_since_ms[bruno.node.id] = talk.clock.now_ms() - 60_001
        with pytest.raises(MeshError) as owed:
            await talk.exchange.receive(bruno.node.id, (second,))
        assert (owed.value.code, talk.replica.have(bruno.node.id)) == ("log.unproven", (1, 1))
        talk.exchange.drop(bruno.node.id)
        await talk.exchange.receive(bruno.node.id, (second,))
        assert talk.replica.have(bruno.node.id) == (1, 2)


async def test_who_asks_gets_what_it_lacks_of_the_current_epoch_and_whether_there_is_more() -> None:
    async with _talk("bruno") as (talk, bruno):
        await talk.visit(66)

        async def numbers(epoch: int, after: int) -> tuple[list[int], bool]:
            ask = DeltaPull(search=talk.spec.id, epoch=epoch, after_seq=after)
            batch = await talk.exchange.answer_pull(bruno.node.id, ask)
            return [decode_delta(envelope.peek(each).payload).seq for each in batch.deltas], batch.more

        assert await numbers(1, 0) == (list(range(1, 65)), True)
        assert await numbers(1, 2) == (list(range(3, 67)), False)
        assert await numbers(1, 65) == ([66], False)
        assert await numbers(1, 66) == ([], False)
        assert (await numbers(0, 5))[0][0] == 1, "of another epoch nothing counts"
        assert (await numbers(7, 5))[0][0] == 1


# --- heads -----------------------------------------------------------------------------------------------------------


async def test_heads_are_exchanged_every_ten_seconds_if_they_are_news_to_the_reader() -> None:
    async with _talk("bruno", "carla") as (talk, bruno, carla):
        talk.exchange.start()
        await until(lambda: bruno.pulled and carla.pulled, "the first pull")
        await talk.clock.sleep(25)
        assert (len(bruno.pulled), len(carla.pulled)) == (1, 1)
        (sealed,) = await _mine(talk, carla, 1)
        await talk.exchange.receive(carla.node.id, (sealed,))
        assert talk.exchange.heads.are_news(bruno.node.id)
        assert not talk.exchange.heads.are_news(carla.node.id), "its own share is no news to it"
        await talk.clock.sleep(25)
        assert (len(bruno.pulled), len(carla.pulled)) == (2, 1)
        (head,) = bruno.pulled[-1].heads
        digest = talk.replica._readers[carla.node.id].digest(1, 1)
        assert head == ShareHead(writer=carla.node.id, epoch=1, seq=1, digest=digest or b"")
        assert talk.exchange.heads.tell(bruno.node.id) == (head,)
        assert not talk.replica.contradicts(head)
        other = ShareHead(writer=carla.node.id, epoch=1, seq=1, digest=bytes(32))
        assert talk.replica.contradicts(other)
        later = ShareHead(writer=carla.node.id, epoch=1, seq=2, digest=bytes(32))
        assert not talk.replica.contradicts(later)
        unknown = ShareHead(writer=bruno.node.id, epoch=1, seq=1, digest=bytes(32))
        assert not talk.replica.contradicts(unknown)
        talk.replica.expelled[carla.node.id] = "delta.invalid"
        assert talk.exchange.heads.tell(bruno.node.id) == ()
