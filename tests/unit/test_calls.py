"""Calls to peers: what is tried again after a change of key, who is not called, and what a call leaves behind."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from nacl.signing import SigningKey

from adapters.ports.records import PeerRecord
from node.trust.calls import TURNED_AWAY
from protocol import ids
from protocol.errors import MeshError
from protocol.keys import keylog
from protocol.messages import DeltaHave, DeltaPush, Done, EchoAsk, KeysAsk, KeysTell, StatusAsk, StatusTell
from protocol.routes import INTRODUCE
from protocol.trust.grants import parse_grants
from protocol.wire import envelope
from tests.key_logs import SECOND, fresh_random, log_of, recovered, revoked
from tests.mesh_memory import MemoryNode, memory_mesh
from tests.socket_nodes import SetClock
from tests.unit.test_log_exchange import code_of

pytestmark = pytest.mark.virtual_time


@pytest.fixture
async def two() -> AsyncIterator[list[MemoryNode]]:
    async with memory_mesh("anna", "bruno") as nodes:
        for node in nodes:
            serve_keys(node)
        yield nodes


def serve_keys(node: MemoryNode, log: bytes = b"") -> None:
    """Answer whoever asks ``node`` for its key log, with ``log`` if it is given."""

    async def told(caller: str, ask: KeysAsk) -> KeysTell:
        return KeysTell(log=log or node.identity.log.encode())

    node.api.serve("keys/pull", told)


def turn(node: MemoryNode, *, spoken: bool = True) -> None:
    """Another key, of which nobody is told."""
    new = SigningKey(hashlib.sha256(node.identity.key.encode()).digest())
    now_s = node.mesh.clock.now_ms() // 1000
    log = keylog.rotate(node.identity.log, node.identity.key, new, now_s=now_s, random=fresh_random())
    become(node, log, new)
    if spoken:
        node.identity.speak()


def become(node: MemoryNode, log: keylog.KeyLog, key: SigningKey) -> None:
    node.identity.become(log, key)
    node.server.rekey(key)
    node.client.rekey(key)


def watched(node: MemoryNode) -> list[str]:
    """The routes of what ``node`` sends from now on."""
    sent: list[str] = []

    async def weather(leg: Any) -> None:
        if leg.source == node.id and not leg.is_answer:
            sent.append(leg.route)

    node.mesh.network.weather = weather
    return sent


async def status(of: MemoryNode, at: MemoryNode) -> StatusTell:
    return await of.calls.call(at.id, "status", StatusAsk(), StatusTell)


# --- after a change of key -------------------------------------------------------------------------------------------


async def test_a_peer_that_does_not_know_our_new_key_is_shown_it_and_asked_again(two: list[MemoryNode]) -> None:
    anna, bruno = two
    turn(anna)
    sent = watched(anna)
    assert (await status(anna, bruno)).name == "bruno"
    assert sent == ["status", INTRODUCE, "status"]
    assert bruno.peers.public_key(anna.id) == anna.identity.public_key


async def test_a_peer_with_a_new_key_is_asked_for_its_log_and_called_under_the_new_one(two: list[MemoryNode]) -> None:
    anna, bruno = two
    turn(bruno)
    sent = watched(anna)
    assert (await status(anna, bruno)).name == "bruno"
    assert sent == ["keys/pull", "status"]
    assert anna.peers.public_key(bruno.id) == bruno.identity.public_key
    assert not await anna.calls.follow(bruno.id), "there is nothing new"


async def test_two_that_have_both_changed_their_key_find_each_other_with_one_call(two: list[MemoryNode]) -> None:
    anna, bruno = two
    turn(anna)
    turn(bruno)
    sent = watched(anna)
    assert (await status(anna, bruno)).name == "bruno"
    assert sent == ["keys/pull", INTRODUCE, "keys/pull", "status"]


async def test_a_key_log_that_does_not_name_the_key_that_listens_is_not_followed(two: list[MemoryNode]) -> None:
    anna, bruno = two
    old = bruno.identity.log.encode()
    turn(bruno)
    serve_keys(bruno, old)
    assert not await anna.calls.follow(bruno.id)
    assert await code_of(status(anna, bruno)) == "peer.identity"
    serve_keys(bruno, b"x")
    assert await code_of(anna.calls.follow(bruno.id)) == "keylog.invalid"
    assert anna.peers.public_key(bruno.id) == bruno.identity.genesis_key


async def test_where_another_node_listens_there_is_nobody_to_follow(two: list[MemoryNode]) -> None:
    anna, bruno = two
    turn(bruno)
    bruno.server.node = "another"
    assert not await anna.calls.follow(bruno.id)


async def test_a_peer_that_refuses_our_introduction_refuses_the_call(two: list[MemoryNode]) -> None:
    anna, bruno = two
    await bruno.ask("node.distrust", peer="anna")
    turn(anna)
    sent = watched(anna)
    assert await code_of(status(anna, bruno)) == "peer.refused_us"
    assert sent == ["status", INTRODUCE]


@pytest.mark.parametrize("spoken", [True, False])
async def test_without_another_key_in_use_there_is_nothing_to_introduce(two: list[MemoryNode], spoken: bool) -> None:
    anna, bruno = two
    bruno.server.trust({})
    if not spoken:
        turn(anna, spoken=False)
    sent = watched(anna)
    assert await code_of(status(anna, bruno)) == "peer.refused_us"
    assert sent == ["status"]


async def test_a_key_log_is_not_shown_again_within_half_a_minute(two: list[MemoryNode]) -> None:
    anna, bruno = two
    clock = anna.calls._clock = SetClock()
    await bruno.ask("node.distrust", peer="anna")
    turn(anna)
    sent = watched(anna)
    for passed_ms, shown in ((0, True), (0, False), (29_999, False), (1, True), (29_999, False), (-40_000, True)):
        clock._now_ms += passed_ms
        sent.clear()
        assert await code_of(status(anna, bruno)) == "peer.refused_us"
        assert (INTRODUCE in sent) is shown, passed_ms
    turn(anna)
    sent.clear()
    assert await code_of(status(anna, bruno)) == "peer.refused_us"
    assert INTRODUCE in sent, "another log is another matter"


async def test_a_peer_whose_log_has_ended_is_asked_whether_it_was_recovered(two: list[MemoryNode]) -> None:
    anna, bruno = two
    now_s = bruno.mesh.clock.now_ms() // 1000
    begun = log_of(bruno.identity.key, now_s=now_s - 1_000)
    bruno.identity.become(begun, bruno.identity.key)
    await anna.changes.adopt(revoked(begun, bruno.identity.key, now_s - 10).encode())
    anna.peers.thaw(bruno.id)
    assert await code_of(status(anna, bruno)) == "keylog.revoked"
    become(bruno, recovered(begun, SECOND, now_s), SECOND)
    bruno.identity.speak()
    assert (await status(anna, bruno)).name == "bruno"
    assert anna.peers.acts(bruno.id)


# --- whom it calls ---------------------------------------------------------------------------------------------------


async def test_only_peers_are_called(two: list[MemoryNode]) -> None:
    anna, bruno = two
    stranger = ids.node_id(bytes(32))
    sent = watched(anna)
    with pytest.raises(MeshError, match="is not a peer") as caught:
        await anna.calls.call(stranger, "status", StatusAsk(), StatusTell)
    assert (caught.value.code, caught.value.detail) == ("peer.unknown", {"node": stranger})
    await anna.ask("node.distrust", peer="bruno")
    anna.peers.freeze(bruno.id, "log.unproven")
    for route in ("status", "reach/echo"):
        assert await code_of(anna.calls.call(bruno.id, route, StatusAsk(), Done)) == "peer.distrusted"
    assert sent == []


async def test_the_version_of_a_peer_is_asked_once_and_decides_what_it_is_asked(two: list[MemoryNode]) -> None:
    anna, bruno = two
    sent = watched(anna)
    for _ in range(2):
        await code_of(anna.calls.call(bruno.id, "reach/echo", EchoAsk(), Done))
    assert sent == ["status", "reach/echo", "reach/echo"]
    bruno.protocol += 1
    await status(anna, bruno)
    sent.clear()
    with pytest.raises(MeshError) as caught:
        await anna.calls.call(bruno.id, "reach/echo", EchoAsk(), Done)
    assert (caught.value.code, caught.value.detail) == (
        "peer.version",
        {"node": bruno.id, "protocol": bruno.protocol},
    )
    assert caught.value.message == (
        f"{ids.short(bruno.id)} speaks protocol {bruno.protocol}, this node protocol {bruno.protocol - 1}: upgrade this node"
    )
    assert sent == []
    await status(anna, bruno)


async def test_a_frozen_peer_is_asked_for_what_it_takes_to_prove_its_log_and_nothing_else(
    two: list[MemoryNode],
) -> None:
    anna, bruno = two
    anna.peers.freeze(bruno.id, "log.unproven")
    sent = watched(anna)
    for route in ("reach/echo", "log/prove", "keys/push", "deltas/push"):
        with pytest.raises(MeshError) as caught:
            await anna.calls.call(bruno.id, route, EchoAsk(), Done)
        assert (caught.value.code, caught.value.detail) == ("log.unproven", {"node": bruno.id})
    assert sent == []
    for route in ("log/checkpoint", "log/consistency", "status"):
        await code_of(anna.calls.call(bruno.id, route, EchoAsk(), KeysTell))
    assert sent == ["log/checkpoint", "log/consistency", "status"]


async def test_the_answer_of_a_peer_that_was_distrusted_meanwhile_is_not_taken(two: list[MemoryNode]) -> None:
    anna, bruno = two
    answer = bruno._on_status

    async def meanwhile(caller: str, ask: StatusAsk) -> StatusTell:
        await anna.changes.distrust(bruno.id, "")
        return await answer(caller, ask)

    bruno.api.serve("status", meanwhile)
    assert await code_of(status(anna, bruno)) == "peer.distrusted"
    assert not anna.peers.is_version_known(bruno.id)


async def test_an_answer_of_another_form_is_a_fault_of_the_peer(two: list[MemoryNode]) -> None:
    anna, bruno = two
    with pytest.raises(MeshError) as caught:
        await anna.calls.call(bruno.id, "status", StatusAsk(), KeysTell)
    assert (caught.value.code, caught.value.message) == (
        "peer.protocol",
        "bruno gave a malformed answer to status",
    )


# --- what a call leaves behind ---------------------------------------------------------------------------------------


async def test_a_status_tells_the_clock_the_version_and_our_grants_there(two: list[MemoryNode]) -> None:
    anna, bruno = two
    clock = anna.calls._clock = SetClock()
    clock.move(-5)
    grants = parse_grants(["deltas:read"])
    await bruno.changes.regrant(anna.id, lambda before: grants)
    assert anna.calls.clocks_apart_ms() == []
    assert not anna.peers.is_version_known(bruno.id)
    await status(anna, bruno)
    assert anna.peers.is_version_known(bruno.id)
    assert anna.calls.clocks_apart_ms() == [5_000]
    record = anna.peers.record(bruno.id)
    assert record is not None
    assert record.granted_us == grants
    contact = anna.calls.contacts.of(bruno.id)
    assert (contact.error, contact.said, contact.apart_ms) == ("", "", 5_000)
    await bruno.stop()
    assert await code_of(status(anna, bruno)) == "peer.unreachable"
    contact = anna.calls.contacts.of(bruno.id)
    assert (contact.error, contact.said, contact.apart_ms) == ("peer.unreachable", "peer.unreachable", 5_000)
    assert anna.calls.clocks_apart_ms() == [], "it says nothing of its clock now"


async def test_a_call_leaves_the_time_of_the_contact(two: list[MemoryNode]) -> None:
    anna, bruno = two
    anna.mesh.clock.ahead_ms += 60_001
    now_ms = anna.mesh.clock.now_ms()
    await status(anna, bruno)
    stored = {record.node: record.seen_ms for record in await anna.store.peers()}
    assert stored == {bruno.id: now_ms}


async def test_grants_are_pushed_or_told_not_to_have_arrived(two: list[MemoryNode]) -> None:
    anna, bruno = two
    heard: list[Any] = []

    async def hear(caller: str, push: msgspec.Struct) -> Done:
        heard.append(push)
        return Done()

    bruno.api.serve("grants/push", hear)
    assert await anna.calls.push_grants(bruno.id)
    assert [push.grants for push in heard] == [anna.peers.find("bruno").grants]
    await bruno.stop()
    assert not await anna.calls.push_grants(bruno.id)


async def test_what_all_are_told_is_told_to_few_at_once_and_the_names_come_back_by_pairing(
    two: list[MemoryNode],
) -> None:
    anna, bruno = two
    names = [f"peer {number:02d}" for number in range(20)]
    for number, name in enumerate(names):
        key = bytes(SigningKey(bytes([number + 1]) * 32).verify_key)
        anna.peers.use(
            PeerRecord(
                node=ids.node_id(key), name=name, public_key=key, addresses=(), grants={}, paired_ms=100 - number
            )
        )
    under_way = most = 0

    async def act(node: str) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        if anna.peers.name_of(node) in ("peer 03", "peer 07"):
            raise MeshError("peer.unreachable")

    went, missed = await anna.calls._each(act)
    assert most == 8
    assert missed == ["peer 07", "peer 03"]
    assert went == [name for name in reversed(names) if name not in missed] + ["bruno"]
    assert await anna.calls.tell("status", StatusAsk(), [bruno.id]) == ([], ["bruno"]), "a status is not a Done"
    assert await anna.calls.tell("status", StatusAsk(), []) == ([], [])


async def test_a_refresh_follows_every_peer_and_asks_it_for_our_grants(two: list[MemoryNode]) -> None:
    anna, bruno = two
    grants = parse_grants(["deltas:read"])
    await bruno.changes.regrant(anna.id, lambda before: grants)
    turn(bruno)
    sent = watched(anna)
    await anna.calls.refresh()
    assert sent == ["keys/pull", "status"]
    assert anna.peers.find("bruno").granted_us == grants
    await bruno.stop()
    await anna.calls.refresh()


# --- a knock ---------------------------------------------------------------------------------------------------------


async def knock(of: MemoryNode, at: MemoryNode, node: str = "") -> str:
    """The code with which it was answered; empty if it was let in."""
    found = await of.calls.knock(at.address, at.identity.public_key, node)
    return found.code if found else ""


async def test_a_knock_tells_a_refusal_from_an_answer_and_from_no_answer(two: list[MemoryNode]) -> None:
    anna, bruno = two
    stranger = await anna.mesh.add("stranger")
    assert await knock(stranger, bruno) == "peer.refused_us"
    assert await knock(anna, bruno) == "input.not_found", "it is heard, and there is no such search"
    await bruno.changes.regrant(anna.id, lambda before: {})
    assert await knock(anna, bruno) == "peer.scope"
    await bruno.changes.regrant(anna.id, lambda before: parse_grants(["explore"]))
    pushed: list[DeltaPush] = []

    async def take(caller: str, push: DeltaPush) -> DeltaHave:
        pushed.append(push)
        raise MeshError("peer.limit")

    bruno.api.serve("deltas/push", take)
    assert await code_of(knock(anna, bruno)) == "peer.limit"
    (delta,) = pushed[0].deltas
    assert envelope.peek(delta).header.issuer == anna.id
    assert await anna.store.log_leaf(hashlib.sha256(delta).digest()) is not None
    turn(bruno)
    assert await code_of(knock(stranger, bruno)) == "peer.identity", "the id is that of the first key"
    assert await knock(stranger, bruno, bruno.id) == "peer.refused_us"
    await bruno.stop()
    assert await code_of(knock(anna, bruno)) == "peer.unreachable"
    assert await code_of(anna.calls.knock("bruno", bytes(32))) == "invite.url"
    assert "peer.unreachable" not in TURNED_AWAY


async def test_a_knock_that_is_answered_as_wished_was_let_in(two: list[MemoryNode]) -> None:
    anna, bruno = two

    async def take(caller: str, push: DeltaPush) -> DeltaHave:
        return DeltaHave(epoch=0, seq=0)

    bruno.api.serve("deltas/push", take)
    assert await anna.calls.knock(bruno.address, bruno.identity.public_key) is None
