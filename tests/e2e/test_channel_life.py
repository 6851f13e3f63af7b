"""What happens to the channel while it is in use: certificates are renewed, frames are broken, ends fall silent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
import pytest

from adapters.transport.client import MeshClient
from adapters.transport.held import Answering, HeldLink, HeldTable
from adapters.transport.server import MeshServer
from adapters.transport.tls.bounds import Bounds
from adapters.transport.tls.certificates import ChannelIdentity, client_context, server_context
from adapters.transport.tls.failures import LostError
from protocol import limits
from protocol.errors import MeshError
from protocol.refusals import Refusals
from protocol.routes import request_bytes_max
from protocol.wire import frames
from protocol.wire.frames import AnswerFrame, CallFrame
from tests.e2e.channel import (
    ALICE,
    BOB,
    MEDIA,
    WAIT_S,
    Raw,
    credentials,
    echo,
    keys_of,
    node_of,
    peer,
    request,
    tls,
    until,
)

LIFE_S = 4.0
"""Of a certificate, in the test of renewal: X.509 counts whole seconds, so that this is as fast as time can be made to run."""
RENEWALS = 3


class Counting(MeshServer):
    """A server that counts the certificates it has shown."""

    shown: set[bytes]

    def _admit(self, connection: object, channel: object) -> str:
        self.shown.add(self._identity.credentials().leaf)
        return super()._admit(connection, channel)  # type: ignore[arg-type]


async def test_requests_go_on_without_a_failure_while_certificates_are_renewed_on_both_sides() -> None:
    """Protects ``Channels.to``, ``MeshServer._tls`` and the second connection of ``MeshClient.hold``."""
    held = HeldTable()
    bounds = Bounds(requests_per_s=100_000, requests_burst=100_000, concurrent_requests_max=64, held_keepalive_s=0.2)
    server = Counting(ALICE, bounds=bounds, held=held, certificate_life_s=LIFE_S)
    server.shown = set()
    server.trust(keys_of(BOB))
    url = await server.start(echo)
    bob = MeshClient(BOB, bounds=bounds, certificate_life_s=LIFE_S)
    alice = MeshClient(ALICE, held=held)
    opened: list[None] = []
    holding = asyncio.create_task(bob.hold(peer(ALICE, url), echo, opened=lambda: opened.append(None)))
    answered = {"out": 0, "in": 0}

    async def load(client: MeshClient, name: str, *addresses: str) -> None:
        target = peer(ALICE if client is bob else BOB, *addresses)
        while len(opened) <= RENEWALS or len(server.shown) <= RENEWALS:
            assert await client.call(target, "status", b"x", content_type=MEDIA) == b"x"
            answered[name] += 1

    try:
        await until(lambda: bool(opened))
        async with asyncio.timeout(LIFE_S * RENEWALS * 4):
            await asyncio.gather(
                *(load(bob, "out", url) for _ in range(2)),
                *(load(alice, "in") for _ in range(2)),
            )
        assert not holding.done()
        assert min(answered.values()) > 20 * RENEWALS, "this was load"
        assert set(server.refusals) <= {"request_broken"}, server.refusals
    finally:
        holding.cancel()
        await asyncio.gather(holding, return_exceptions=True)
        for end in (bob, alice, server):
            await end.close()


def test_a_clock_that_is_set_back_leads_to_a_new_certificate() -> None:
    """Protects the bound from above in ``ChannelIdentity.credentials``."""
    now_s = 2_000_000_000.0
    identity = ChannelIdentity(ALICE, node="", now_s=lambda: now_s)
    first = identity.credentials()
    assert identity.credentials() is first
    now_s -= 3600
    assert identity.credentials() is not first


# --- broken ends of a held connection -----------------------------------------------------------------------------


@asynccontextmanager
async def acceptor(bounds: Bounds | None = None) -> AsyncIterator[tuple[MeshServer, MeshClient, str]]:
    """Alice's server and client, and where she listens."""
    held = HeldTable()
    server, client = MeshServer(ALICE, held=held, bounds=bounds), MeshClient(ALICE, held=held)
    server.trust(keys_of(BOB))
    try:
        yield server, client, await server.start(echo)
    finally:
        await client.close()
        await server.close()


Speak = Callable[[aiohttp.ClientWebSocketResponse], Awaitable[None]]


@asynccontextmanager
async def holder(url: str, speak: Speak, *, autoping: bool = True) -> AsyncIterator[None]:
    """Bob's end of a held connection, which says what it likes."""
    context = client_context(credentials(BOB), node_of(ALICE), bytes(ALICE.verify_key))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:
        timeout = aiohttp.ClientWSTimeout(ws_close=0.1)
        socket = await session.ws_connect(
            url + "/peer/v1/reach/hold", max_msg_size=2**24, autoping=autoping, timeout=timeout, compress=0
        )
        speaking = asyncio.ensure_future(speak(socket))
        try:
            yield
        finally:
            speaking.cancel()
            await asyncio.gather(speaking, return_exceptions=True)
            await socket.close()


async def call_of(socket: aiohttp.ClientWebSocketResponse) -> CallFrame:
    call = frames.decode_call(await socket.receive_bytes())
    for _ in frames.pieces(bytes(call.body_bytes)):
        await socket.receive_bytes()
    return call


def answering(make: Callable[[CallFrame], bytes | str]) -> Speak:
    async def speak(socket: aiohttp.ClientWebSocketResponse) -> None:
        made = make(await call_of(socket))
        await (socket.send_str(made) if isinstance(made, str) else socket.send_bytes(made))
        await socket.receive()

    return speak


BROKEN: dict[str, Callable[[CallFrame], bytes | str]] = {
    "bytes that are no frame": lambda call: b"\xff",
    "nothing": lambda call: b"",
    "text": lambda call: "hello",
    "a call": lambda call: frames.encode(call),
    "a frame over the limit": lambda call: bytes(limits.FRAME_BYTES_MAX + 1),
    "a message over every limit": lambda call: bytes(2 * limits.FRAME_PIECE_BYTES_MAX),
    "a number below one": lambda call: frames.encode(AnswerFrame(number=0, refused=False, body_bytes=0)),
}


@pytest.mark.parametrize("make", BROKEN.values(), ids=BROKEN.keys())
async def test_a_holder_that_breaks_the_form_loses_the_connection_and_the_call_ends(
    make: Callable[[CallFrame], bytes | str],
) -> None:
    async with acceptor() as (server, client, url), holder(url, answering(make)):
        await until(lambda: server.held == {node_of(BOB)})
        with pytest.raises(MeshError) as caught:
            await client.call(peer(BOB), "status", b"x", content_type=MEDIA)
        assert caught.value.code == "peer.unreachable"
        await until(lambda: server.held == frozenset())


@pytest.mark.parametrize("pieces", [(b"",), (b"abc",), (b"ab", b"c"), (b"abcde",)])
async def test_a_body_that_is_not_as_announced_ends_the_connection(pieces: tuple[bytes, ...]) -> None:
    async def speak(socket: aiohttp.ClientWebSocketResponse) -> None:
        call = await call_of(socket)
        await socket.send_bytes(frames.encode(AnswerFrame(number=call.number, refused=False, body_bytes=4)))
        for piece in pieces:
            await socket.send_bytes(piece)
        await socket.receive()

    async with acceptor() as (server, client, url), holder(url, speak):
        await until(lambda: server.held == {node_of(BOB)})
        with pytest.raises(MeshError) as caught:
            await client.call(peer(BOB), "status", b"x", content_type=MEDIA)
        assert caught.value.code == "peer.unreachable"
        await until(lambda: server.held == frozenset())
        assert server.refusals == {"frame": 1}


async def test_an_answer_nobody_asked_for_is_ignored() -> None:
    async def speak(socket: aiohttp.ClientWebSocketResponse) -> None:
        call = await call_of(socket)
        for number in (call.number + 7, call.number, call.number):
            await socket.send_bytes(frames.encode(AnswerFrame(number=number, refused=False, body_bytes=1)))
            await socket.send_bytes(bytes([number]))
        await socket.receive()

    async with acceptor() as (server, client, url), holder(url, speak):
        await until(lambda: server.held == {node_of(BOB)})
        assert await client.call(peer(BOB), "status", b"x", content_type=MEDIA) == b"\x01"
        assert server.held == {node_of(BOB)}


async def test_a_refusal_over_a_held_connection_is_read_as_strictly_as_any() -> None:
    async def refusing(socket: aiohttp.ClientWebSocketResponse) -> None:
        call = await call_of(socket)
        await socket.send_bytes(frames.encode(AnswerFrame(number=call.number, refused=True, body_bytes=4)))
        await socket.send_bytes(b"oops")
        await socket.receive()

    async with acceptor() as (server, client, url), holder(url, refusing):
        await until(lambda: server.held == {node_of(BOB)})
        with pytest.raises(MeshError) as caught:
            await client.call(peer(BOB), "status", b"x", content_type=MEDIA)
        assert (caught.value.code, "unreadable refusal" in caught.value.message) == ("peer.protocol", True)


async def test_a_holder_that_falls_silent_is_dropped_after_a_keep_alive() -> None:
    async def silent(socket: aiohttp.ClientWebSocketResponse) -> None:
        await asyncio.Event().wait()

    async with acceptor(Bounds(held_keepalive_s=0.2)) as (server, _, url), holder(url, silent, autoping=False):
        await until(lambda: server.held == {node_of(BOB)})
        await until(lambda: server.held == frozenset())


class StuckPipe:
    """The pipe to a holder that does not read: buffers are full, and nothing comes back."""

    async def send(self, data: bytes) -> None:
        await asyncio.Event().wait()

    async def receive(self) -> bytes:
        await asyncio.Event().wait()
        return b""

    async def close(self) -> None:
        pass


async def test_a_holder_that_does_not_read_is_dropped() -> None:
    dropped = asyncio.Event()
    link = HeldLink(
        node_of(BOB), StuckPipe(), abort=dropped.set, usable=lambda: True, bounds=Bounds(body_timeout_s=0.1)
    )
    async with asyncio.timeout(WAIT_S):
        with pytest.raises(LostError):
            await link.call("status", MEDIA, b"x")
    assert (dropped.is_set(), link.live) == (True, False)


class ToldPipe:
    """The pipe to an acceptor that says what it was told to, and then waits; ``taken`` counts what was read of it."""

    def __init__(self, *said: bytes) -> None:
        self._said = list(said)
        self.taken = 0
        self.closed = False

    async def send(self, data: bytes) -> None:
        raise AssertionError("nothing is to be answered")

    async def receive(self) -> bytes:
        if not self._said:
            await asyncio.Event().wait()
        self.taken += 1
        return self._said.pop(0)

    async def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("route", ["status", "search/open", "branch/assign", "log/checkpoint"])
async def test_a_call_with_more_than_its_route_carries_ends_the_connection_before_the_body_is_taken(route: str) -> None:
    """Guard: adapters/transport/held.py, Answering.serve."""
    refusals = Refusals()
    call = CallFrame(number=1, route=route, media=MEDIA, body_bytes=request_bytes_max(route) + 1)
    pipe = ToldPipe(frames.encode(call), *frames.pieces(bytes(call.body_bytes)))
    async with asyncio.timeout(WAIT_S):
        ended = await Answering(Bounds(), refusals).serve(node_of(ALICE), pipe, echo)
    assert (ended.code, pipe.taken, pipe.closed, refusals.reasons) == ("peer.protocol", 1, True, {"frame": 1})


class Calling(StuckPipe):
    """The pipe to an acceptor that calls ``calls`` times, and reads the answers if it ``reads``; ``read`` counts what came."""

    def __init__(self, calls: int, *, reads: bool) -> None:
        self._left = calls
        self._reads = reads
        self.read = 0

    async def send(self, data: bytes) -> None:
        if not self._reads:
            await super().send(data)
        self.read += 1

    async def receive(self) -> bytes:
        if not self._left:
            await super().receive()
        self._left -= 1
        return frames.encode(CallFrame(number=self._left + 1, route="status", media=MEDIA, body_bytes=0))


async def test_a_peer_that_does_not_read_its_answers_keeps_no_other_waiting() -> None:
    """Guard: adapters/transport/held.py, Answering.serve."""
    answering = Answering(Bounds(concurrent_requests_max=2))
    slow, other = Calling(20, reads=False), Calling(20, reads=True)
    serving = [
        asyncio.create_task(answering.serve(node, pipe, echo))
        for node, pipe in ((node_of(ALICE), slow), (node_of(BOB), other))
    ]
    await until(lambda: other.read >= 20)
    for task in serving:
        task.cancel()
    await asyncio.gather(*serving, return_exceptions=True)
    await answering.close()


async def test_a_body_that_does_not_come_ends_the_connection() -> None:
    pipe = ToldPipe(frames.encode(CallFrame(number=1, route="status", media=MEDIA, body_bytes=9)))
    async with asyncio.timeout(WAIT_S):
        ended = await Answering(Bounds(body_timeout_s=0.1)).serve(node_of(ALICE), pipe, echo)
    assert (ended.code, pipe.closed) == ("peer.protocol", True)


async def test_a_caller_that_gives_up_while_its_body_is_sent_leaves_no_half_of_it_behind() -> None:
    sent: list[bytes] = []
    go_on = asyncio.Event()

    class Slow(StuckPipe):
        async def send(self, data: bytes) -> None:
            await go_on.wait()
            sent.append(data)

    link = HeldLink(node_of(BOB), Slow(), abort=lambda: None, usable=lambda: True, bounds=Bounds())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await link.call("deltas/push", MEDIA, bytes(200_000))
    go_on.set()
    await until(lambda: len(sent) == 5)
    assert (len(b"".join(sent[1:])), link.live) == (200_000, True)


async def test_a_plain_request_is_no_held_connection() -> None:
    async with acceptor() as (server, _, url):
        raw = await Raw.open(url, tls(ALICE, credentials(BOB)))
        assert await raw.ask(request(method="GET", path="/peer/v1/reach/hold")) == 400
        assert server.refusals == {"route": 1}
        raw.close()


async def test_held_connections_count_against_the_rate() -> None:
    async with acceptor(Bounds(requests_burst=2, requests_per_s=1)) as (_server, _, url):
        raw = await Raw.open(url, tls(ALICE, credentials(BOB)))
        assert [await raw.ask(request()) for _ in range(2)] == [200, 200]
        raw.close()
        bob = MeshClient(BOB)
        with pytest.raises(MeshError) as caught:
            await bob.hold(peer(ALICE, url), echo, opened=lambda: None)
        assert caught.value.code == "peer.limit"
        await bob.close()


async def test_a_redirect_does_not_lead_a_holder_anywhere() -> None:
    """Protects ``_follow_nothing``: a WebSocket handshake of aiohttp follows redirects.

    Guard: adapters/transport/channel.py, _follow_nothing.
    """
    visits = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal visits
        visits += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 302 Found\r\nLocation: {url}/x\r\nContent-Length: 0\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=server_context(credentials(ALICE), keys_of(BOB)))
    async with listening:
        url = f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        bob = MeshClient(BOB)
        with pytest.raises(MeshError) as caught:
            await bob.hold(peer(ALICE, url), echo, opened=lambda: None)
        await bob.close()
    assert (caught.value.code, visits) == ("peer.protocol", 1)
