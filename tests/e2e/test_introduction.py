"""The one door that is open to callers nobody knows: what gets through it, and what does not. On real sockets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from nacl.signing import SigningKey

from adapters.transport.tls.bounds import Bounds
from adapters.transport.tls.visitors import VISITOR, VISITOR_KEY, visitor
from node.trust.calls import PATH_PREFIX
from protocol import limits
from protocol.errors import MeshError
from protocol.keys import keylog
from protocol.keys.key_event import EVENT_RANDOM_BYTES
from protocol.messages import KIND_MESSAGE, Done, KeysPush, StatusAsk
from protocol.routes import INTRODUCE
from protocol.trust.trust_set import TrustedPeer, TrustSet
from protocol.wire.envelope import content_type
from tests.e2e.channel import ALICE, BOB, Bench, Raw, drip, request, tls, until
from tests.key_logs import STRANGER
from tests.socket_nodes import SocketNode, socket_nodes

PATH, MEDIA = PATH_PREFIX + INTRODUCE, content_type(KIND_MESSAGE)


@pytest_asyncio.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    yield bench
    await bench.close()


async def knock(bench: Bench) -> Raw:
    """A connection of nobody in particular."""
    visit = await Raw.open(bench.url, tls(ALICE, visitor(time.time).credentials()))
    bench._closing.append(visit.close)
    return visit


# --- the channel -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked",
    [
        request(media=MEDIA),
        request(b"x", path="/peer/v1/deltas/push", media=MEDIA),
        request(path=PATH, method="GET", media=MEDIA),
        request(method="GET", path="/peer/v1/reach/hold"),
        request(path=PATH, media="text/plain"),
    ],
    ids=["status", "deltas/push", "another method", "a connection to hold", "another media type"],
)
async def test_a_visitor_may_do_nothing_but_introduce_itself(bench: Bench, asked: bytes) -> None:
    """Guard: adapters/transport/server.py, MeshServer._hear_visitor."""
    server = await bench.serve(BOB)
    visit = await knock(bench)
    assert await visit.ask(asked) == 0
    assert server.refusals == {"visitor": 1}
    assert server.peers == server.held == frozenset()


async def test_a_visitor_is_heard_once(bench: Bench) -> None:
    """Guard: adapters/transport/tls/listener.py, Listener._respond."""
    await bench.serve(BOB)
    visit = await knock(bench)
    assert await visit.ask(request(b"x", path=PATH, media=MEDIA)) == 200
    assert await visit.ask(request(b"x", path=PATH, media=MEDIA)) == 0


async def test_a_visitor_that_drips_is_dropped(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: adapters/transport/server.py, MeshServer._hear_visitor."""
    monkeypatch.setattr(limits, "VISITOR_TIMEOUT_S", 0.3)
    server = await bench.serve(BOB, bounds=Bounds(body_timeout_s=60))
    visit = await knock(bench)
    visit.writer.write(request(bytes(100), path=PATH, media=MEDIA)[:-50])
    dripping = asyncio.create_task(drip(visit, b"x", 0.1))
    assert await visit.status() == 429
    dripping.cancel()
    assert server.refusals == {"body_timeout": 1}


async def test_a_visitor_that_says_nothing_keeps_its_place_for_seconds_only(bench: Bench) -> None:
    server = await bench.serve(BOB, bounds=Bounds(header_timeout_s=0.3))
    silent = await knock(bench)
    assert await silent.ended()
    assert server.refusals == {"header_timeout": 1}
    assert await (await knock(bench)).ask(request(b"x", path=PATH, media=MEDIA)) == 200


async def test_a_visit_outlives_a_change_of_the_trust_set(bench: Bench) -> None:
    """What a visitor shows changes the trust set: it is told all the same that it was understood."""
    server = await bench.serve(BOB)
    visit = await knock(bench)
    await until(lambda: len(server._visitors._here) == 1)
    server.trust({})
    assert await visit.ask(request(b"x", path=PATH, media=MEDIA)) == 200


def test_nobody_can_be_paired_with_under_the_name_of_visitors() -> None:
    with pytest.raises(MeshError):
        TrustSet([TrustedPeer(node=VISITOR, public_key=VISITOR_KEY)])


# --- the nodes -------------------------------------------------------------------------------------------------------


@pytest_asyncio.fixture
async def three() -> AsyncIterator[list[SocketNode]]:
    async with socket_nodes("anna", "bruno", "carla") as nodes:
        yield nodes


async def turn(node: SocketNode, key: SigningKey) -> None:
    """Another key, of which nobody is told."""
    now_s = node.clock.now_ms() // 1000
    changed = keylog.rotate(node.identity.log, node.key, key, now_s=now_s, random=bytes(EVENT_RANDOM_BYTES))
    node.key = key
    node.identity.become(changed, key)
    node.identity.speak()
    for end in (node.server, node.client):
        end.rekey(key)
    await node.open_api()


def key(name: str) -> SigningKey:
    return SigningKey(name.encode().ljust(32))


async def shown(by: SocketNode, to: SocketNode, *, log: bytes = b"", of: SocketNode | None = None) -> str:
    """What ``to`` answers when ``by`` shows a log, its own unless another one is given: empty for done."""
    push = KeysPush(log=log or (of or by).identity.log.encode())
    body = by.identity.message(push, audience=(of if of is not None and log else to).id, path=PATH)
    try:
        await by.client.introduce(to.at, body)
    except MeshError as error:
        return f"{error.code}: {error.message}"
    return ""


async def test_two_that_both_turned_follow_each_other_with_one_call(three: list[SocketNode]) -> None:
    anna, bruno, _ = three
    await turn(anna, key("anna's second"))
    await turn(bruno, key("bruno's second"))
    await anna.calls.call(bruno.id, "status", StatusAsk(), Done)
    await bruno.calls.call(anna.id, "status", StatusAsk(), Done)
    assert (anna.peers.public_key(bruno.id), bruno.peers.public_key(anna.id)) == (
        bruno.identity.public_key,
        anna.identity.public_key,
    )


async def test_one_that_turned_unheard_is_followed_when_it_calls(three: list[SocketNode]) -> None:
    anna, bruno, _ = three
    await turn(anna, key("anna's second"))
    await anna.calls.call(bruno.id, "status", StatusAsk(), Done)
    assert bruno.peers.public_key(anna.id) == anna.identity.public_key


async def test_a_peer_that_refuses_us_for_another_reason_is_not_visited(three: list[SocketNode]) -> None:
    anna, bruno, _ = three
    await bruno.changes.distrust(anna.id, "")
    with pytest.raises(MeshError) as caught:
        await anna.calls.call(bruno.id, "status", StatusAsk(), Done)
    assert (caught.value.code, bruno.server._visitors._lately) == (
        "peer.refused_us",
        type(bruno.server._visitors._lately)(),
    )
    await turn(anna, key("anna's second"))
    for _ in range(3):  # it has another key now, and says so, but not with every call
        with pytest.raises(MeshError):
            await anna.calls.call(bruno.id, "status", StatusAsk(), Done)
    assert len(bruno.server._visitors._lately) == 1


async def test_a_distrusted_peer_and_a_stranger_are_refused_alike_and_nothing_is_learned(
    three: list[SocketNode],
) -> None:
    """Guard: node/doors/federation.py, FederationApi._introduced."""
    anna, bruno, carla = three
    await turn(bruno, key("bruno's second"))
    await anna.changes.distrust(bruno.id, "")
    before = await anna.store.peers()
    answers = [await shown(bruno, anna)]
    carla.key = STRANGER
    await anna.store.remove_peer(carla.id)
    await anna.peers.load()
    turn_log = carla.identity.log
    answers.append(await shown(carla, anna))
    answers.append(await shown(carla, anna, log=bruno.identity.log.encode()))
    answers.append(await shown(carla, anna, log=b"forged"))
    assert set(answers) == {f"peer.unknown: {MeshError('peer.unknown').message}"}
    assert await anna.store.peers() == [record for record in before if record.node != turn_log.node]


async def test_whether_a_node_is_known_is_not_even_looked_up_for_who_is_not_that_node(
    three: list[SocketNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the time of an answer would tell.

    Guard: protocol/introduction.py, open_introduction.
    """
    anna, bruno, carla = three
    asked: list[str] = []
    knows = anna.peers.knows

    def watched(node: str) -> bool:
        asked.append(node)
        return knows(node)

    monkeypatch.setattr(anna.peers, "knows", watched)
    await turn(bruno, key("bruno's second"))
    push = KeysPush(log=bruno.identity.log.encode())
    carla.identity.node, carla_id = bruno.id, carla.identity.node
    body = carla.identity.message(push, audience=anna.id, path=PATH)
    carla.identity.node = carla_id
    with pytest.raises(MeshError) as caught:
        await carla.client.introduce(anna.at, body)
    assert (caught.value.code, asked) == ("peer.unknown", [])


async def test_an_introduction_counts_once(three: list[SocketNode]) -> None:
    anna, bruno, _ = three
    await turn(bruno, key("bruno's second"))
    body = bruno.identity.message(KeysPush(log=bruno.identity.log.encode()), audience=anna.id, path=PATH)
    await bruno.client.introduce(anna.at, body)
    with pytest.raises(MeshError) as caught:
        await bruno.client.introduce(anna.at, body)
    assert caught.value.code == "peer.unknown"
