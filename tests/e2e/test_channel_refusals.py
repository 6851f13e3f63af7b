"""Whatever a connection is refused for is counted, without an echo of what came in; and no peer takes the places of another."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from adapters.transport.listener import Bounds
from tests.e2e.channel import ALICE, BOB, CAROL, MEDIA, Bench, Raw, keys_of, node_of, request, until


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
    """Guard: adapters/transport/listener.py, Connection.handle_error."""
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
    """Guard: adapters/transport/listener.py, Listener.known."""
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
