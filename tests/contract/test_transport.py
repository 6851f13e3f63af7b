"""One suite over both peer transports: real sockets and the network in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from nacl.signing import SigningKey

from adapters.ports.transport import PeerAddress, PeerClient, PeerServer
from adapters.transport.client import MeshClient
from adapters.transport.held import HeldTable
from adapters.transport.server import MeshServer
from adapters.transport.tls.bounds import Bounds
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.routes import INTRODUCE, ROUTES
from protocol.wire.envelope import content_type
from tests.twins.transport import Leg, MemoryNetwork

WAIT_S = 25
"""Less than what is given up by itself takes."""
MEDIA = content_type("probe")
ALICE, BOB, CAROL = (SigningKey(bytes([seed]) * 32) for seed in (1, 2, 3))


def node_of(key: SigningKey) -> str:
    return ids.node_id(bytes(key.verify_key))


def keys_of(*keys: SigningKey) -> dict[str, bytes]:
    return {node_of(key): bytes(key.verify_key) for key in keys}


def peer(key: SigningKey, *addresses: str) -> PeerAddress:
    return PeerAddress(node=node_of(key), public_key=bytes(key.verify_key), addresses=addresses)


async def echo(node: str, route: str, body: bytes) -> bytes:
    return b" ".join((node.encode(), route.encode(), body))


class World:
    """Makes servers and clients of one transport, and closes them."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.made: list[PeerServer | PeerClient] = []
        self.network = MemoryNetwork()
        self.held: dict[bytes, HeldTable] = {}

    def table(self, key: SigningKey) -> HeldTable:
        """What the server and the client of one node share."""
        return self.held.setdefault(bytes(key), HeldTable())

    def server(self, key: SigningKey, *trusted: SigningKey, bounds: Bounds | None = None) -> PeerServer:
        server: PeerServer
        if self.kind == "sockets":
            server = MeshServer(key, bounds=bounds, held=self.table(key))
        else:
            self.network.bounds = bounds or Bounds()
            server = self.network.server(node_of(key), bytes(key.verify_key))
        server.trust(keys_of(*trusted))
        self.made.append(server)
        return server

    def client(self, key: SigningKey, *, bounds: Bounds | None = None) -> PeerClient:
        client: PeerClient
        if self.kind == "sockets":
            client = MeshClient(key, held=self.table(key), bounds=bounds)
        else:
            self.network.bounds = bounds or self.network.bounds
            client = self.network.client(node_of(key), bytes(key.verify_key))
        self.made.append(client)
        return client


@pytest_asyncio.fixture(params=["sockets", "memory"])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    world = World(request.param)
    yield world
    for made in reversed(world.made):
        await made.close()


async def refused(client: PeerClient, at: PeerAddress, body: bytes = b"x", *, timeout_s: float = WAIT_S) -> MeshError:
    with pytest.raises(MeshError) as caught:
        await client.call(at, "status", body, content_type=MEDIA, timeout_s=timeout_s)
    return caught.value


async def test_the_handler_learns_the_node_the_route_and_the_body(world: World) -> None:
    url = await world.server(ALICE, BOB).start(echo)
    answer = await world.client(BOB).call(peer(ALICE, url), "search/deltas", b"\x00body", content_type=MEDIA)
    assert answer == node_of(BOB).encode() + b" search/deltas \x00body"


async def test_a_body_of_the_largest_size_passes_and_comes_back(world: World) -> None:
    async def mirror(node: str, route: str, body: bytes) -> bytes:
        return body

    url = await world.server(ALICE, BOB).start(mirror)
    body = bytes(limits.PEER_BODY_BYTES_MAX)
    assert await world.client(BOB).call(peer(ALICE, url), "deltas/push", body, content_type=MEDIA) == body


async def test_a_body_has_the_size_its_route_needs_and_no_more(world: World) -> None:
    """Guard: adapters/transport/server.py, MeshServer._answer."""

    async def done(node: str, route: str, body: bytes) -> bytes:
        return b""

    server = world.server(ALICE, BOB)
    client, at = world.client(BOB), peer(ALICE, await server.start(done))
    for route, known in ROUTES.items():
        await client.call(at, route, bytes(known.bytes_max), content_type=MEDIA)
        if known.bytes_max < limits.PEER_BODY_BYTES_MAX:
            with pytest.raises(MeshError) as refused:
                await client.call(at, route, bytes(known.bytes_max + 1), content_type=MEDIA)
            assert refused.value.code == "input.too_large"
    assert server.refusals == {"body_size": sum(r.bytes_max < limits.PEER_BODY_BYTES_MAX for r in ROUTES.values())}


async def test_a_body_over_the_limit_is_not_sent(world: World) -> None:
    url = await world.server(ALICE, BOB).start(echo)
    error = await refused(world.client(BOB), peer(ALICE, url), bytes(limits.PEER_BODY_BYTES_MAX + 1))
    assert error.code == "input.too_large"


async def test_a_body_over_the_limit_of_the_server_is_refused_by_it(world: World) -> None:
    url = await world.server(ALICE, BOB, bounds=Bounds(body_bytes_max=1000)).start(echo)
    assert (await refused(world.client(BOB), peer(ALICE, url), bytes(1001))).code == "input.too_large"


async def test_an_answer_over_the_limit_is_refused(world: World) -> None:
    async def too_much(node: str, route: str, body: bytes) -> bytes:
        return bytes(limits.PEER_BODY_BYTES_MAX + 1)

    url = await world.server(ALICE, BOB).start(too_much)
    assert (await refused(world.client(BOB), peer(ALICE, url))).code == "peer.protocol"


async def test_the_code_and_detail_of_a_refusal_reach_the_caller(world: World) -> None:
    async def refuse(node: str, route: str, body: bytes) -> bytes:
        raise MeshError("delta.gap", "from 7", expected=7)

    url = await world.server(ALICE, BOB).start(refuse)
    error = await refused(world.client(BOB), peer(ALICE, url))
    assert (error.code, error.message, error.detail["expected"]) == ("delta.gap", "from 7", 7)
    assert error.detail["peer"] == node_of(ALICE)


async def test_an_unknown_peer_is_refused_and_counted(world: World) -> None:
    server = world.server(ALICE, BOB)
    url = await server.start(echo)
    assert (await refused(world.client(CAROL), peer(ALICE, url))).code == "peer.refused_us"
    assert sum(server.refusals.values()) >= 1


async def test_a_server_that_was_told_of_nobody_refuses_everybody(world: World) -> None:
    url = await world.server(ALICE).start(echo)
    assert (await refused(world.client(BOB), peer(ALICE, url))).code == "peer.refused_us"


async def test_a_peer_that_is_added_later_is_let_in_and_a_removed_one_is_not(world: World) -> None:
    server = world.server(ALICE)
    url = await server.start(echo)
    client, at = world.client(BOB), peer(ALICE, url)
    assert (await refused(client, at)).code == "peer.refused_us"
    server.trust(keys_of(BOB, CAROL))
    await client.call(at, "status", b"x", content_type=MEDIA)
    server.trust(keys_of(CAROL))
    assert (await refused(client, at)).code == "peer.refused_us"
    await world.client(CAROL).call(at, "status", b"x", content_type=MEDIA)


async def test_a_revoked_peer_loses_the_call_that_is_running(world: World) -> None:
    entered, release = asyncio.Event(), asyncio.Event()

    async def slow(node: str, route: str, body: bytes) -> bytes:
        entered.set()
        await release.wait()
        return b"too late"

    server = world.server(ALICE, BOB)
    url = await server.start(slow)
    running = asyncio.create_task(refused(world.client(BOB), peer(ALICE, url)))
    async with asyncio.timeout(WAIT_S):
        await entered.wait()
        server.trust({})
        assert (await running).code == "peer.refused_us"
    release.set()
    assert server.refusals["revoked"] == 1


async def test_a_call_to_a_peer_that_is_dropped_ends_and_nothing_more_is_sent_to_it(world: World) -> None:
    entered, release = asyncio.Event(), asyncio.Event()
    seen: list[str] = []

    async def slow(node: str, route: str, body: bytes) -> bytes:
        seen.append(route)
        entered.set()
        await release.wait()
        return b"too late"

    url = await world.server(ALICE, BOB).start(slow)
    other = await world.server(CAROL, BOB).start(echo)
    client = world.client(BOB)
    await client.call(peer(CAROL, other), "status", b"x", content_type=MEDIA)
    # One more than there are places: one of them waits in line.
    calls = [refused(client, peer(ALICE, url)) for _ in range(limits.PEER_CONCURRENT_REQUESTS_MAX + 1)]
    running = [asyncio.create_task(call) for call in calls]
    async with asyncio.timeout(WAIT_S):
        await entered.wait()
        await client.drop(node_of(ALICE))
        ended = await asyncio.gather(*running)
    assert {error.code for error in ended} == {"peer.unreachable"}
    assert len(seen) <= limits.PEER_CONCURRENT_REQUESTS_MAX
    release.set()
    await client.drop(node_of(ALICE))
    await client.call(peer(CAROL, other), "status", b"x", content_type=MEDIA)


async def test_a_peer_whose_key_was_replaced_is_refused_under_the_old_one(world: World) -> None:
    server = world.server(ALICE, BOB)
    url = await server.start(echo)
    client = world.client(BOB)
    await client.call(peer(ALICE, url), "status", b"x", content_type=MEDIA)
    server.trust({node_of(BOB): bytes(CAROL.verify_key)})
    assert (await refused(client, peer(ALICE, url))).code == "peer.refused_us"


async def test_another_node_at_the_address_is_not_mistaken_for_the_peer(world: World) -> None:
    """Guard: adapters/transport/tls/certificates.py, client_context."""
    url = await world.server(CAROL, BOB).start(echo)
    assert (await refused(world.client(BOB), peer(ALICE, url))).code == "peer.identity"


async def test_the_next_address_is_tried_when_nobody_listens_at_the_first(world: World) -> None:
    url = await world.server(ALICE, BOB).start(echo)
    at = peer(ALICE, "https://127.0.0.1:1", url)
    assert await world.client(BOB).call(at, "status", b"x", content_type=MEDIA)


async def test_a_peer_without_an_address_is_unreachable(world: World) -> None:
    assert (await refused(world.client(BOB), peer(ALICE))).code == "peer.unreachable"


async def test_a_closed_server_is_unreachable(world: World) -> None:
    server = world.server(ALICE, BOB)
    url = await server.start(echo)
    await server.close()
    assert (await refused(world.client(BOB), peer(ALICE, url))).code == "peer.unreachable"


async def test_a_handler_that_never_answers_ends_at_the_callers_timeout(world: World) -> None:
    async def never(node: str, route: str, body: bytes) -> bytes:
        await asyncio.Event().wait()
        return b""

    url = await world.server(ALICE, BOB).start(never)
    assert (await refused(world.client(BOB), peer(ALICE, url), timeout_s=0.2)).code == "peer.unreachable"


async def test_a_peer_that_is_too_fast_is_told_so(world: World) -> None:
    """Guard: adapters/transport/tls/quota.py, Quota.enter."""
    server = world.server(ALICE, BOB, bounds=Bounds(requests_burst=3, requests_per_s=1))
    url = await server.start(echo)
    client = world.client(BOB)
    for _ in range(3):
        await client.call(peer(ALICE, url), "status", b"x", content_type=MEDIA)
    error = await refused(client, peer(ALICE, url))
    assert (error.code, error.retryable) == ("peer.limit", True)
    assert server.refusals["quota"] == 1


async def test_a_peer_has_only_so_many_requests_at_a_time(world: World) -> None:
    """Guard: adapters/transport/tls/quota.py, Quota.enter."""
    entered, release = asyncio.Event(), asyncio.Event()

    async def slow(node: str, route: str, body: bytes) -> bytes:
        entered.set()
        await release.wait()
        return body

    url = await world.server(ALICE, BOB, bounds=Bounds(concurrent_requests_max=1)).start(slow)
    client = world.client(BOB)
    first = asyncio.create_task(client.call(peer(ALICE, url), "status", b"1", content_type=MEDIA))
    async with asyncio.timeout(WAIT_S):
        await entered.wait()
        assert (await refused(client, peer(ALICE, url))).code == "peer.limit"
        release.set()
        assert await first == b"1"


async def test_calls_of_one_client_run_side_by_side(world: World) -> None:
    url = await world.server(ALICE, BOB).start(echo)
    client = world.client(BOB)
    calls = [client.call(peer(ALICE, url), "status", bytes([n]), content_type=MEDIA) for n in range(20)]
    answers = await asyncio.wait_for(asyncio.gather(*calls), WAIT_S)
    assert [answer[-1] for answer in answers] == list(range(20))


async def test_the_weather_of_the_memory_network_loses_requests_and_answers() -> None:
    lost: list[bool] = []

    async def storm(leg: Leg) -> None:
        if leg.is_answer is not bool(lost):
            return
        lost.append(leg.is_answer)
        raise MeshError("peer.unreachable", "lost")

    network = MemoryNetwork(storm)
    server = network.server(node_of(ALICE), bytes(ALICE.verify_key))
    server.trust(keys_of(BOB))
    heard: list[bytes] = []

    async def hear(node: str, route: str, body: bytes) -> bytes:
        heard.append(body)
        return body

    at = peer(ALICE, await server.start(hear))
    client = network.client(node_of(BOB), bytes(BOB.verify_key))
    assert (await refused(client, at)).code == "peer.unreachable"
    assert (await refused(client, at)).code == "peer.unreachable"
    assert (lost, heard) == ([False, True], [b"x"]), "a lost request was never heard, a lost answer was"


# --- callers nobody knows --------------------------------------------------------------------------------------------


async def test_a_caller_nobody_knows_is_heard_over_one_route(world: World) -> None:
    heard: list[tuple[str, str, bytes]] = []

    async def hear(node: str, route: str, body: bytes) -> bytes:
        heard.append((node, route, body))
        return b""

    server = world.server(ALICE, BOB)
    url = await server.start(hear)
    await world.client(CAROL).introduce(peer(ALICE, "https://127.0.0.1:1", url), b"it is me")
    assert heard == [("", INTRODUCE, b"it is me")]
    assert server.peers == frozenset()


async def test_a_caller_nobody_knows_is_not_told_why_it_is_refused(world: World) -> None:
    """Guard: adapters/transport/tls/answers.py, introduced."""

    async def tell(node: str, route: str, body: bytes) -> bytes:
        raise MeshError("peer.distrusted", "bob is distrusted here", node=node_of(BOB))

    at = peer(ALICE, await world.server(ALICE, BOB).start(tell))
    with pytest.raises(MeshError) as caught:
        await world.client(CAROL).introduce(at, b"x")
    assert (caught.value.code, caught.value.message) == ("peer.unknown", MeshError("peer.unknown").message)


async def test_callers_nobody_knows_are_heard_so_often_from_one_address_and_peers_all_the_same(world: World) -> None:
    """Guard: adapters/transport/tls/visitors.py, Visitors.enter."""
    server = world.server(ALICE, BOB)
    at = peer(ALICE, await server.start(echo))
    stranger = world.client(CAROL)
    for _ in range(limits.VISITORS_PER_MINUTE_PER_ADDRESS):
        await stranger.introduce(at, b"x")
    with pytest.raises(MeshError) as caught:
        await stranger.introduce(at, b"x")
    assert caught.value.code == "peer.refused_us"
    assert server.refusals == {"visitors": 1}
    assert await world.client(BOB).call(at, "status", b"x", content_type=MEDIA)


async def test_one_caller_nobody_knows_is_heard_at_a_time_from_one_address(world: World) -> None:
    """Guard: adapters/transport/tls/visitors.py, Visitors.enter."""
    arrived, leave, heard = asyncio.Event(), asyncio.Event(), list[bytes]()

    async def linger(node: str, route: str, body: bytes) -> bytes:
        heard.append(body)
        arrived.set()
        if body == b"first":
            await leave.wait()
        return b""

    at = peer(ALICE, await world.server(ALICE).start(linger))
    stranger = world.client(CAROL)
    first = asyncio.create_task(stranger.introduce(at, b"first"))
    async with asyncio.timeout(WAIT_S):
        await arrived.wait()
    with pytest.raises(MeshError) as caught:
        await stranger.introduce(at, b"second")
    leave.set()
    await first
    assert (caught.value.code, heard) == ("peer.refused_us", [b"first"])


async def test_what_a_caller_nobody_knows_sends_is_bounded(world: World) -> None:
    """Guard: adapters/transport/server.py, MeshServer._hear_visitor."""
    at = peer(ALICE, await world.server(ALICE).start(echo))
    await world.client(CAROL).introduce(at, bytes(limits.KEYS_MESSAGE_BYTES_MAX))
    with pytest.raises(MeshError) as caught:
        await world.client(CAROL).introduce(at, bytes(limits.KEYS_MESSAGE_BYTES_MAX + 1))
    assert caught.value.code == "input.too_large"


async def test_a_look_shows_every_key_under_which_somebody_takes_the_name(world: World) -> None:
    urls = [await world.server(ALICE).start(echo)]
    if world.kind == "sockets":
        impostor = MeshServer(CAROL, node=node_of(ALICE))
    else:
        impostor = world.network.server(node_of(ALICE), bytes(CAROL.verify_key))  # type: ignore[assignment]
    world.made.append(impostor)
    urls.append(await impostor.start(echo))
    urls.append(await world.server(BOB).start(echo))
    keys = [bytes(key.verify_key) for key in (CAROL, ALICE)]
    old = PeerAddress(node=node_of(ALICE), public_key=bytes(32), addresses=(urls[1], urls[2], urls[0]))
    assert await world.client(BOB).look(old) == tuple(keys)
