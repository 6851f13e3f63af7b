"""Whatever a connection is refused for is counted, without an echo of what came in; and no peer takes the places of another."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator

import pytest

from adapters.ports.transport import PeerHandler
from adapters.transport.client import MeshClient
from adapters.transport.server import MeshServer
from adapters.transport.tls.bounds import Bounds
from adapters.transport.tls.masks import Masks
from protocol.errors import MeshError
from tests.e2e.channel import (
    ALICE,
    BOB,
    CAROL,
    MEDIA,
    Bench,
    Raw,
    credentials,
    keys_of,
    node_of,
    peer,
    request,
    tls,
    until,
)


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    yield made
    await made.close()


NOT_HTTP = {
    "a method in lower case": request(method="post"),
    "garbage": b"\x00\x01\xfe<script>echo me</script>\r\n\r\n",
    "a header without a name": b"POST /peer/v1/status HTTP/1.1\r\n: x\r\n\r\n",
    "two lengths": b"POST /peer/v1/status HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
    "a length that is no number": b"POST /peer/v1/status HTTP/1.1\r\nHost: x\r\nContent-Length: echo-me\r\n\r\n",
}


@pytest.mark.parametrize("sent", NOT_HTTP.values(), ids=NOT_HTTP.keys())
async def test_what_is_not_http_is_counted_and_not_repeated(bench: Bench, sent: bytes) -> None:
    """Guard: adapters/transport/tls/listener.py, Connection.handle_error."""
    server = await bench.serve()
    raw = await bench.raw()
    raw.writer.write(sent)
    said = await _all(raw)
    assert said == b"", "nothing is said, and so nothing repeated"
    await until(lambda: server.refusals.get("http", 0) == 1)
    assert server._refusals.by_peer == {(node_of(BOB), "peer.protocol"): 1}


async def _all(raw: Raw) -> bytes:
    """What the server says until it ends the connection."""
    said = b""
    try:
        while piece := await raw.reader.read(4096):
            said += piece
    except OSError:
        pass
    return said


async def test_a_refused_request_with_junk_behind_it_is_counted(bench: Bench) -> None:
    server = await bench.serve()
    raw = await bench.raw()
    raw.writer.write(request(path="/nothing/here") + b"\x00junk\r\n\r\n")
    assert await raw.ended()
    await until(lambda: sum(server.refusals.values()) >= 1)
    assert server.refusals.keys() <= {"http", "route"}


async def test_a_request_without_a_length_is_counted(bench: Bench) -> None:
    server = await bench.serve()
    raw = await bench.raw()
    head = f"POST /peer/v1/status HTTP/1.1\r\nHost: x\r\nContent-Type: {MEDIA}\r\n\r\n"
    assert await raw.ask(head.encode()) == 400
    assert server.refusals == {"length": 1}


async def test_idle_connections_of_one_peer_do_not_shut_out_another_at_the_same_address(bench: Bench) -> None:
    """Guard: adapters/transport/tls/listener.py, Listener.known."""
    bounds = Bounds(connections_per_address_max=3, connections_per_peer_max=3)
    server = await bench.serve(BOB, CAROL, bounds=bounds)
    idle = [await bench.raw() for _ in range(3)]
    assert [await raw.ask(request()) for raw in idle] == [200] * 3
    other = await bench.raw(CAROL)
    assert await other.ask(request()) == 200
    more = await bench.raw()
    assert await more.ask(request()) == 0, "no more for the same peer"
    await until(lambda: server.refusals.get("connections_per_peer", 0) == 1)
    idle[0].close()
    await until(lambda: len(server._connections()) == 3)
    again = await bench.raw()
    assert await again.ask(request()) == 200, "a place that is free again is given"


async def test_the_places_of_an_address_are_all_free_again_once_its_connections_are_gone(bench: Bench) -> None:
    server = await bench.serve(BOB, CAROL)
    raws = [await bench.raw(key) for key in (BOB, CAROL, BOB)]
    assert [await raw.ask(request()) for raw in raws] == [200] * 3
    server.trust(keys_of(ALICE))
    assert all([await raw.ended() for raw in raws])
    assert server._listener is not None
    listener = server._listener
    await until(lambda: not listener._per_address)


async def test_a_request_that_brings_another_key_is_answered_before_its_connection_ends() -> None:
    """Guard: adapters/transport/server.py, MeshServer.trust."""
    server, bob = MeshServer(ALICE), MeshClient(BOB)

    async def learns(node: str, route: str, body: bytes) -> bytes:
        server.trust({node_of(BOB): bytes(CAROL.verify_key)})
        return b"learned"

    server.trust(keys_of(BOB))
    handler: PeerHandler = learns
    url = await server.start(handler)
    try:
        idle = await Raw.open(url, tls(ALICE, credentials(BOB)))
        try:
            answer = await bob.call(peer(ALICE, url), "keys/push", b"log", content_type=MEDIA)
        except MeshError as error:
            raise AssertionError("its connection ended before the answer") from error
        assert answer == b"learned"
        assert await idle.ended(), "what does nothing ends at once"
        with pytest.raises(MeshError):
            await bob.call(peer(ALICE, url), "status", b"", content_type=MEDIA)
        await until(lambda: not server._connections())
    finally:
        await bob.close()
        await server.close()


async def test_a_certificate_that_is_valid_for_longer_than_a_node_makes_them_is_refused(bench: Bench) -> None:
    """Guard: adapters/transport/tls/certificates.py, signer_of."""
    server = await bench.serve()
    for days, status in ((12, 0), (11, 200)):
        shown = credentials(BOB, from_s=-86_400, until_s=(days - 1) * 86_400)
        raw = await Raw.open(bench.url, tls(ALICE, shown))
        assert await raw.ask(request()) == status
        raw.close()
    assert server.refusals == {"signer": 1}


async def test_an_answer_of_another_media_type_is_not_taken(bench: Bench) -> None:
    """Guard: adapters/transport/channel.py, Channel.exchange."""
    server = await bench.serve()
    client = bench.client(BOB)
    assert await client.call(peer(ALICE, bench.url), "status", b"x", content_type=MEDIA) == b"x"
    assert server._listener is not None
    server._listener._finish = lambda request, response: response.headers.update({"Content-Type": "text/html"})
    with pytest.raises(MeshError) as refused:
        await client.call(peer(ALICE, bench.url), "status", b"x", content_type=MEDIA)
    assert refused.value.code == "peer.protocol"


async def test_frames_of_a_client_that_are_not_masked_end_a_held_connection(bench: Bench) -> None:
    """Guard: adapters/transport/tls/masks.py, Masks.follow."""
    server = await bench.serve()
    raw = await bench.raw()
    key = base64.b64encode(bytes(16)).decode()
    upgrade = f"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
    raw.writer.write(f"GET /peer/v1/reach/hold HTTP/1.1\r\nHost: x\r\n{upgrade}\r\n".encode())
    assert b" 101 " in await raw.reader.readuntil(b"\r\n\r\n")
    raw.writer.write(b"\x8a\x80" + bytes(4))  # a masked pong is no offence
    raw.writer.write(b"\x8a\x00")
    assert await raw.ended()
    await until(lambda: server.refusals.get("frame", 0) == 1)


def test_frames_are_followed_however_they_are_cut() -> None:
    def frame(size: int, masked: int = 0x80) -> bytes:
        if size < 126:
            head = bytes([0x82, masked | size])
        elif size < 2**16:
            head = bytes([0x82, masked | 126]) + size.to_bytes(2, "big")
        else:
            head = bytes([0x82, masked | 127]) + size.to_bytes(8, "big")
        return head + bytes(4 if masked else 0) + b"\x01" * size

    right = b"".join(frame(size) for size in (0, 1, 125, 126, 300, 2**16))
    for step in (1, 7, len(right)):
        masks = Masks()
        assert all(masks.follow(right[start : start + step]) for start in range(0, len(right), step))
        assert not masks.follow(frame(5, masked=0))
