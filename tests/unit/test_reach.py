"""Connections that are kept open: when they are opened again, what is told of them, and what a call back reports."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from node.trust.reach import Reach
from node.verbs.nodes.node import Hold, PeerConnections
from protocol import limits
from protocol.errors import MeshError
from protocol.messages import EchoAsk, EchoTell, StatusAsk, StatusTell
from protocol.wire import backoff
from tests.mesh_memory import MemoryNode, memory_mesh
from tests.socket_nodes import SetClock
from tests.unit.test_log_exchange import turn

pytestmark = pytest.mark.virtual_time

STEADY_MS = 60_000
UNREACHABLE = "nothing listens there"


class Holder:
    """A node that keeps its connections open by a clock of its own."""

    def __init__(self, node: MemoryNode, mode: Any = "held") -> None:
        self.node, self.clock = node, SetClock()
        self._draws = SetClock()
        self.reach = Reach(node.calls, node.client, node.server, self.clock, mode=mode)
        self.reach.start(node.api.handle)

    def hold(self, to: MemoryNode) -> Hold:
        return self.reach.holds[to.id]

    def wait_ms(self, failures: int) -> int:
        """How long it waits now; each of its waits has to be asked for once, in their order."""
        return backoff.delay_ms(failures, self._draws.random(backoff.RANDOM_BYTES))

    async def settle(self) -> None:
        """Let everything happen that needs no time of its clock."""
        await asyncio.sleep(0.01)

    async def again(self, to: MemoryNode) -> None:
        """Move its clock to the next try."""
        self.clock.advance(self.hold(to).next_try_ms - self.clock.now_ms())
        await self.settle()


@pytest.fixture
async def two() -> AsyncIterator[list[MemoryNode]]:
    async with memory_mesh("anna", "bruno") as nodes:
        yield nodes


def counted(node: MemoryNode) -> list[str]:
    """The routes on which messages to or from ``node`` are on their way, from now on."""
    seen: list[str] = []

    async def weather(leg: Any) -> None:
        if node.id in (leg.source, leg.target) and not leg.is_answer:
            seen.append(leg.route)

    node.mesh.network.weather = weather
    return seen


# --- held connections ------------------------------------------------------------------------------------------------


async def test_a_node_that_is_reached_directly_keeps_no_connection_open(two: list[MemoryNode]) -> None:
    anna, bruno = two
    holder = Holder(anna, "direct")
    await holder.settle()
    assert holder.reach.holds == {}
    assert bruno.server.held == frozenset()
    nothing = PeerConnections(way="", holds=False, held=None, error="", message="", clock_apart_ms=None)
    assert holder.reach.report(bruno.id) == nothing
    await holder.reach.close()


@pytest.mark.parametrize("mode", ["held", "both"])
async def test_a_connection_is_held_and_the_peer_calls_over_it(two: list[MemoryNode], mode: str) -> None:
    anna, bruno = two
    holder, other = Holder(anna, mode), Holder(bruno, "direct")
    holder.clock.advance(7)
    await holder.settle()
    told = Hold(state="open", since_ms=holder.clock.now_ms(), failures=0)
    assert holder.reach.holds == {bruno.id: told}
    assert holder.reach.report(bruno.id).held == told
    assert (other.reach.report(anna.id).holds, holder.reach.report(bruno.id).holds) == (True, False)
    await anna.server.close()  # what it keeps open itself is all there is
    await bruno.calls.call(anna.id, "status", StatusAsk(), StatusTell)
    assert other.reach.report(anna.id).way == "held"
    assert other.reach.report(anna.id).clock_apart_ms is not None
    for _ in range(2):
        await holder.reach.close()
    await asyncio.sleep(0)
    assert (holder.reach.holds, bruno.server.held) == ({}, frozenset())


async def test_while_nothing_listens_it_tries_again_after_waits_that_are_told(two: list[MemoryNode]) -> None:
    anna, bruno = two
    await bruno.server.close()
    seen = counted(anna)
    holder = Holder(anna)
    for failures in (1, 2, 3):
        await holder.settle()
        now_ms = holder.clock.now_ms()
        hold = holder.hold(bruno)
        assert hold == Hold(
            state="waiting",
            since_ms=now_ms,
            failures=failures,
            error="peer.unreachable",
            message=hold.message,
            next_try_ms=now_ms + holder.wait_ms(failures),
        )
        assert UNREACHABLE in hold.message
        await holder.clock.run(hold.next_try_ms - now_ms - 1)
        assert holder.hold(bruno).since_ms == now_ms, "not before its time"
        await holder.clock.run(1)
    assert seen == [], "a node that does not answer has no new key to show"
    await bruno.server.start(bruno.api.handle)
    await holder.settle()
    await holder.again(bruno)
    assert holder.hold(bruno).state == "open"
    assert holder.hold(bruno).failures == 4
    assert holder.hold(bruno).error == ""
    await holder.reach.close()


async def test_a_try_that_takes_time_shows_why_the_one_before_it_failed(two: list[MemoryNode]) -> None:
    anna, bruno = two
    await bruno.server.close()
    holder = Holder(anna)
    await holder.settle()
    before = holder.hold(bruno)
    shown: list[Hold] = []
    find = anna.client._find

    def watched(peer: Any, address: str) -> Any:
        shown.append(holder.hold(bruno))
        return find(peer, address)

    anna.client._find = watched  # type: ignore[method-assign]
    await holder.again(bruno)
    assert shown == [
        Hold(
            state="connecting",
            since_ms=before.next_try_ms,
            failures=1,
            error="peer.unreachable",
            message=before.message,
        )
    ]
    await holder.reach.close()


@pytest.mark.parametrize(("open_ms", "failures"), [(0, 2), (STEADY_MS - 1, 2), (STEADY_MS, 1), (STEADY_MS + 1, 1)])
async def test_a_connection_that_was_open_for_a_minute_is_no_failure_when_it_ends(
    two: list[MemoryNode], open_ms: int, failures: int
) -> None:
    anna, bruno = two
    await bruno.server.close()
    holder = Holder(anna)
    await holder.settle()
    await bruno.server.start(bruno.api.handle)
    await holder.again(bruno)
    assert (holder.hold(bruno).state, holder.hold(bruno).failures) == ("open", 1)
    await holder.clock.run(open_ms)
    await anna.client.drop(bruno.id)
    await holder.settle()
    assert (holder.hold(bruno).state, holder.hold(bruno).failures) == ("waiting", failures)
    await holder.reach.close()


async def test_a_try_that_takes_a_minute_is_a_failure_all_the_same(two: list[MemoryNode]) -> None:
    anna, bruno = two
    await bruno.server.close()
    holder = Holder(anna)
    await holder.settle()
    find = anna.client._find

    def slow(peer: Any, address: str) -> Any:
        holder.clock.move(STEADY_MS // 1000)
        return find(peer, address)

    anna.client._find = slow  # type: ignore[method-assign]
    await holder.again(bruno)
    assert holder.hold(bruno).failures == 2
    await holder.reach.close()


async def test_a_certificate_that_is_renewed_does_not_make_the_connection_younger(two: list[MemoryNode]) -> None:
    anna, bruno = two
    holder = Holder(anna)
    await holder.settle()
    before = holder.hold(bruno)
    holder.clock.advance(5_000)
    holder.reach._opened(bruno.id)
    assert holder.hold(bruno) == before
    await holder.reach.close()


async def test_a_peer_that_does_not_know_our_key_is_shown_our_key_log(two: list[MemoryNode]) -> None:
    anna, bruno = two
    turn(anna)
    assert bruno.peers.public_key(anna.id) != anna.identity.public_key
    holder = Holder(anna)
    await holder.settle()
    assert (holder.hold(bruno).failures, holder.hold(bruno).error) == (1, "peer.refused_us")
    assert bruno.peers.public_key(anna.id) == anna.identity.public_key
    await holder.again(bruno)
    assert holder.hold(bruno).state == "open"
    await holder.reach.close()


async def test_a_peer_that_refuses_us_for_good_is_tried_again_like_any_other(two: list[MemoryNode]) -> None:
    anna, bruno = two
    bruno.server.trust({})
    holder = Holder(anna)
    for failures in (1, 2):
        await holder.settle()
        assert (holder.hold(bruno).failures, holder.hold(bruno).error) == (failures, "peer.refused_us")
        await holder.again(bruno)
    await holder.reach.close()


async def test_connections_follow_the_peers(two: list[MemoryNode]) -> None:
    anna, bruno = two
    holder = Holder(anna)
    await holder.settle()
    carla = await anna.mesh.add("carla")
    await anna.mesh.pair(anna, carla)
    await holder.settle()
    assert {node: hold.state for node, hold in holder.reach.holds.items()} == {bruno.id: "open", carla.id: "open"}
    since_ms = holder.hold(bruno).since_ms
    holder.clock.advance(1_000)
    record = anna.peers.record(carla.id)
    assert record is not None
    anna.peers.use(msgspec.structs.replace(record, addresses=()))
    await holder.settle()
    assert {node: hold.since_ms for node, hold in holder.reach.holds.items()} == {bruno.id: since_ms}
    assert carla.server.held == frozenset(), "where a peer without an address listens nobody knows"
    await anna.changes.distrust(bruno.id, "")
    await holder.settle()
    assert (holder.reach.holds, bruno.server.held) == ({}, frozenset())
    await anna.changes.trust(bruno.id)
    await holder.settle()
    assert holder.hold(bruno).state == "open"
    await holder.reach.close()
    anna.peers.use(record)
    await holder.settle()
    assert (holder.reach.holds, carla.server.held) == ({}, frozenset()), "not after the end"


# --- a call back -----------------------------------------------------------------------------------------------------


async def echo(holder: Holder, of: MemoryNode) -> EchoTell:
    return await holder.reach.echo(of.id, EchoAsk())


@pytest.mark.parametrize(("each_ms", "told_ms"), [(70, 140), (-70, 0)])
async def test_a_call_back_tells_the_way_and_the_time_it_took(
    two: list[MemoryNode], each_ms: int, told_ms: int
) -> None:
    anna, bruno = two
    holder = Holder(anna, "direct")

    async def weather(leg: Any) -> None:
        holder.clock._now_ms += each_ms

    anna.mesh.network.weather = weather
    assert await echo(holder, bruno) == EchoTell(reached=True, way=bruno.address, milliseconds=told_ms)


async def test_a_call_back_that_is_not_answered_in_time_is_told_as_such(two: list[MemoryNode]) -> None:
    anna, bruno = two
    holder = Holder(anna, "direct")

    async def lost(leg: Any) -> None:
        await asyncio.Event().wait()

    anna.mesh.network.weather = lost
    told = await echo(holder, bruno)
    assert told == EchoTell(
        reached=False, code="peer.unreachable", message=f"no answer within {limits.ECHO_TIMEOUT_S} s"
    )


async def test_a_call_back_that_is_refused_is_told_with_its_code_and_so_much_of_its_message(
    two: list[MemoryNode],
) -> None:
    anna, bruno = two
    holder = Holder(anna, "direct")

    async def refuse(caller: str, ask: StatusAsk) -> StatusTell:
        raise MeshError("input.invalid", "a\u202eb" + "x" * 297 + "yz")

    bruno.api.serve("status", refuse)
    told = await echo(holder, bruno)
    assert told == EchoTell(reached=False, code="input.invalid", message="a b" + "x" * 297)
