"""Calls to a node without an address, over a connection that it keeps open; one suite over both peer transports."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from nacl.signing import SigningKey

from adapters.ports.transport import PeerHandler, PeerServer
from adapters.transport.tls.bounds import Bounds
from protocol import limits
from protocol.errors import MeshError
from tests.contract.test_transport import ALICE, BOB, CAROL, MEDIA, WAIT_S, World, echo, keys_of, node_of, peer, refused
from tests.e2e.channel import until


class House(World):
    """Alice listens; Bob has no address and holds a connection to her."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.holding: list[asyncio.Task[MeshError]] = []
        self.url = ""
        self.alice: PeerServer | None = None

    async def listen(self, *trusted: SigningKey, bounds: Bounds | None = None) -> PeerServer:
        """Alice's server."""
        self.alice = self.server(ALICE, *(trusted or (BOB,)), bounds=bounds)
        self.url = await self.alice.start(echo)
        return self.alice

    async def hold(
        self, handler: PeerHandler = echo, *, key: SigningKey = BOB, bounds: Bounds | None = None
    ) -> asyncio.Task[MeshError]:
        """Keep a connection open; the task ends with the reason why it ended."""
        opened = asyncio.Event()
        client = self.client(key, bounds=bounds)

        async def keep() -> MeshError:
            try:
                await client.hold(peer(ALICE, self.url), handler, opened=opened.set)
            except MeshError as error:
                return error

        task = asyncio.create_task(keep())
        self.holding.append(task)
        first = asyncio.create_task(opened.wait())
        async with asyncio.timeout(WAIT_S):
            await asyncio.wait({task, first}, return_when=asyncio.FIRST_COMPLETED)
        first.cancel()
        return task

    async def close(self) -> None:
        """End everything."""
        for task in self.holding:
            task.cancel()
        await asyncio.gather(*self.holding, return_exceptions=True)
        for made in reversed(self.made):
            await made.close()


@pytest_asyncio.fixture(params=["sockets", "memory"])
async def house(request: pytest.FixtureRequest) -> AsyncIterator[House]:
    house = House(request.param)
    yield house
    await house.close()


async def test_a_node_without_an_address_is_called_over_the_connection_it_holds(house: House) -> None:
    server = await house.listen()
    await house.hold()
    assert server.held == {node_of(BOB)}
    client = house.client(ALICE)
    answer = await client.call(peer(BOB), "search/deltas", b"\x00body", content_type=MEDIA)
    assert answer == node_of(ALICE).encode() + b" search/deltas \x00body", "the same handler, told the same"
    assert client.way(node_of(BOB)) == "held"


async def test_a_held_connection_takes_over_when_the_addresses_fail_and_goes_first_from_then_on(house: House) -> None:
    await house.listen()
    await house.hold()
    client, at = house.client(ALICE), peer(BOB, "https://127.0.0.1:1")
    assert client.way(node_of(BOB)) == ""
    for _ in range(2):
        assert await client.call(at, "status", b"x", content_type=MEDIA)
        assert client.way(node_of(BOB)) == "held"


async def test_a_holder_that_drops_the_peer_lets_go_of_the_connection(house: House) -> None:
    server = await house.listen()
    held = await house.hold()
    for made in house.made:
        if made is not server:
            await made.drop(node_of(ALICE))  # type: ignore[union-attr]
    async with asyncio.timeout(WAIT_S):
        assert (await held).code == "peer.unreachable"
    await until(lambda: not server.held)


async def test_an_address_that_answers_is_preferred(house: House) -> None:
    await house.listen()
    await house.hold()
    url = await house.server(BOB, ALICE).start(echo)
    client = house.client(ALICE)
    await client.call(peer(BOB, url), "status", b"x", content_type=MEDIA)
    assert client.way(node_of(BOB)) == url


async def test_the_address_that_was_good_last_time_is_tried_first(house: House) -> None:
    await house.listen()
    client = house.client(BOB)
    await client.call(peer(ALICE, "https://127.0.0.1:1", house.url), "status", b"x", content_type=MEDIA)
    assert client.way(node_of(ALICE)) == house.url
    error = await refused(client, peer(ALICE, "https://127.0.0.1:1"))
    assert (error.code, len(error.detail["tried"])) == ("peer.unreachable", 1), "what is not offered is not tried"


async def test_codes_and_details_of_a_refusal_come_back(house: House) -> None:
    async def refuse(node: str, route: str, body: bytes) -> bytes:
        raise MeshError("delta.gap", "from 7", expected=7)

    await house.listen()
    await house.hold(refuse)
    error = await refused(house.client(ALICE), peer(BOB))
    assert (error.code, error.message) == ("delta.gap", "from 7")
    assert error.detail == {"expected": 7, "peer": node_of(BOB)}


async def test_bodies_of_the_largest_size_pass_in_both_directions(house: House) -> None:
    async def mirror(node: str, route: str, body: bytes) -> bytes:
        return body

    await house.listen()
    await house.hold(mirror)
    body = bytes(limits.PEER_BODY_BYTES_MAX)
    assert await house.client(ALICE).call(peer(BOB), "deltas/push", body, content_type=MEDIA) == body


async def test_a_call_with_more_than_its_route_carries_is_refused_and_the_connection_stays(house: House) -> None:
    server = await house.listen()
    await house.hold()
    client = house.client(ALICE)
    with pytest.raises(MeshError) as caught:
        await client.call(peer(BOB), "status", bytes(limits.MESSAGE_BYTES_MAX + 1), content_type=MEDIA)
    assert caught.value.code == "input.too_large"
    assert server.held == {node_of(BOB)}


async def test_an_answer_over_the_limit_is_refused_and_the_connection_stays(house: House) -> None:
    async def much(node: str, route: str, body: bytes) -> bytes:
        return bytes(limits.PEER_BODY_BYTES_MAX + len(body))

    await house.listen()
    await house.hold(much)
    client = house.client(ALICE)
    assert (await refused(client, peer(BOB))).code == "peer.protocol"
    assert len(await client.call(peer(BOB), "status", b"", content_type=MEDIA)) == limits.PEER_BODY_BYTES_MAX


async def test_calls_run_side_by_side_and_find_their_answers(house: House) -> None:
    release = asyncio.Event()

    async def last_first(node: str, route: str, body: bytes) -> bytes:
        if body != b"\x03":
            await release.wait()
        release.set()
        return body

    await house.listen()
    await house.hold(last_first)
    client = house.client(ALICE)
    calls = [client.call(peer(BOB), "status", bytes([n]), content_type=MEDIA) for n in range(10)]
    assert await asyncio.wait_for(asyncio.gather(*calls), WAIT_S) == [bytes([n]) for n in range(10)]


async def test_a_caller_that_is_too_fast_is_told_so(house: House) -> None:
    await house.listen()
    await house.hold(bounds=Bounds(requests_burst=3, requests_per_s=1))
    client = house.client(ALICE)
    for _ in range(3):
        await client.call(peer(BOB), "status", b"x", content_type=MEDIA)
    assert (await refused(client, peer(BOB))).code == "peer.limit"


async def test_a_call_that_nobody_answers_ends_at_its_timeout_and_the_next_one_passes(house: House) -> None:
    async def never_first(node: str, route: str, body: bytes) -> bytes:
        if body == b"x":
            await asyncio.Event().wait()
        return body

    await house.listen()
    await house.hold(never_first)
    client = house.client(ALICE)
    assert (await refused(client, peer(BOB), timeout_s=0.2)).code == "peer.unreachable"
    assert await client.call(peer(BOB), "status", b"y", content_type=MEDIA) == b"y"


async def test_a_stranger_cannot_hold_a_connection(house: House) -> None:
    server = await house.listen()
    assert (await (await house.hold(key=CAROL))).code == "peer.refused_us"
    assert server.held == frozenset()


async def test_revoking_the_holder_ends_the_connection_and_the_calls_on_it_at_once(house: House) -> None:
    entered = asyncio.Event()

    async def never(node: str, route: str, body: bytes) -> bytes:
        entered.set()
        await asyncio.Event().wait()
        return b""

    server = await house.listen()
    held = await house.hold(never)
    client = house.client(ALICE)
    running = asyncio.create_task(refused(client, peer(BOB), timeout_s=60))
    async with asyncio.timeout(WAIT_S):
        await entered.wait()
        server.trust({})
        error = await running
        assert (error.code, "may have been executed" in error.message) == ("peer.unreachable", True)
        assert (await held).code in ("peer.unreachable", "peer.refused_us")
    assert server.held == frozenset()
    assert "keeps no connection open" in (await refused(client, peer(BOB))).message


async def test_a_call_that_was_sent_is_not_sent_again_when_the_connection_breaks(house: House) -> None:
    heard: list[bytes] = []
    entered = asyncio.Event()

    async def hear(node: str, route: str, body: bytes) -> bytes:
        heard.append(body)
        entered.set()
        await asyncio.Event().wait()
        return b""

    await house.listen()
    held = await house.hold(hear)
    calling = asyncio.create_task(refused(house.client(ALICE), peer(BOB), timeout_s=60))
    async with asyncio.timeout(WAIT_S):
        await entered.wait()
        held.cancel()
        assert (await calling).code == "peer.unreachable"
    assert heard == [b"x"]


async def test_a_second_connection_takes_the_place_of_the_first_once_its_calls_are_answered(house: House) -> None:
    entered, release = asyncio.Event(), asyncio.Event()

    async def old(node: str, route: str, body: bytes) -> bytes:
        entered.set()
        await release.wait()
        return b"old"

    async def new(node: str, route: str, body: bytes) -> bytes:
        return b"new"

    server = await house.listen()
    first = await house.hold(old)
    client = house.client(ALICE)
    running = asyncio.create_task(client.call(peer(BOB), "status", b"x", content_type=MEDIA))
    async with asyncio.timeout(WAIT_S):
        await entered.wait()
        await house.hold(new)
        assert await client.call(peer(BOB), "status", b"x", content_type=MEDIA) == b"new"
        assert not first.done()
        release.set()
        assert await running == b"old"
        assert (await first).code == "peer.unreachable"
    assert server.held == {node_of(BOB)}


async def test_a_holder_that_goes_away_is_missed(house: House) -> None:
    server = await house.listen()
    held = await house.hold()
    held.cancel()
    await until(lambda: server.held == frozenset())
    assert (await refused(house.client(ALICE), peer(BOB))).code == "peer.unreachable"


async def test_an_acceptor_that_stops_ends_the_connection_and_says_so(house: House) -> None:
    server = await house.listen()
    held = await house.hold()
    await server.close()
    async with asyncio.timeout(WAIT_S):
        assert (await held).code == "peer.unreachable"


async def test_a_holder_does_not_find_an_acceptor_that_is_another_node(house: House) -> None:
    url = await house.server(CAROL, BOB).start(echo)
    house.url = url
    assert (await (await house.hold())).code == "peer.identity"


async def test_other_peers_keep_their_connections_when_one_is_revoked(house: House) -> None:
    server = await house.listen(BOB, CAROL)
    await house.hold()
    await house.hold(key=CAROL)
    server.trust(keys_of(CAROL))
    await until(lambda: server.held == {node_of(CAROL)})
    assert await house.client(ALICE).call(peer(CAROL), "status", b"x", content_type=MEDIA)
