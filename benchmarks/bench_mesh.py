"""Measures the cost of the mutually authenticated channel, and how fast a change of the trust set takes effect."""

from __future__ import annotations

import asyncio
import secrets
import ssl
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

import aiohttp
from aiohttp import web
from nacl.signing import SigningKey

from adapters.ports.transport import PeerAddress
from adapters.transport.client import MeshClient
from adapters.transport.server import MeshServer
from adapters.transport.tls.bounds import Bounds
from adapters.transport.tls.certificates import ChannelIdentity, Credentials, client_context, server_context
from benchmarks.loop import longest_block
from benchmarks.registry import benchmark
from protocol import limits
from protocol.ids import node_id
from protocol.wire import envelope

ROUNDS: Final = 1_500
CONNECT_ROUNDS: Final = 150
CHANGE_ROUNDS: Final = 5
PEERS: Final = limits.PEERS_MAX
PAYLOAD: Final = bytes(range(256)) * 4
ROUTE: Final = "probe"
BINDING: Final = envelope.route_binding("POST", f"/peer/v1/{ROUTE}")
KIND: Final = "message"
BOUNDS: Final = Bounds(requests_per_s=1_000_000, requests_burst=1_000_000)
ALICE, BOB = SigningKey(b"a" * 32), SigningKey(b"b" * 32)
ALICE_ID, BOB_ID = node_id(bytes(ALICE.verify_key)), node_id(bytes(BOB.verify_key))
BOB_ONLY: Final = {BOB_ID: bytes(BOB.verify_key)}
MEDIA: Final = envelope.content_type(KIND)

Call = Callable[[], Awaitable[object]]


def _crowd(count: int) -> dict[str, bytes]:
    """Keys of ``count`` strangers, by node id."""
    keys = [bytes(SigningKey(number.to_bytes(32, "big")).verify_key) for number in range(1, count + 1)]
    return {node_id(key): key for key in keys}


def _message() -> bytes:
    now_s = int(time.time())
    header = envelope.EnvelopeHeader(
        issuer=BOB_ID, issued_s=now_s, unique=secrets.token_bytes(16), audience=ALICE_ID, expires_s=now_s + 60
    )
    return envelope.seal(PAYLOAD, kind=KIND, key=BOB, header=header, binding=BINDING)


def _checked() -> Callable[[str, str, bytes], Awaitable[bytes]]:
    """A handler that checks the envelope as the peer API does, and answers the payload."""
    window = envelope.ReplayWindow(int(time.time()) - 1)
    find_key = envelope.single_key(bytes(BOB.verify_key), BOB_ID)

    async def handle(_node_id: str, _route: str, body: bytes) -> bytes:
        opened = envelope.verify_message(
            body,
            kinds=frozenset({KIND}),
            find_key=find_key,
            binding=BINDING,
            audience=ALICE_ID,
            now_s=int(time.time()),
            window=window,
        )
        return opened.payload

    return handle


async def _echo(_node_id: str, _route: str, body: bytes) -> bytes:
    return body


# --- both sides ------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def _ours(trusted: dict[str, bytes]) -> AsyncIterator[tuple[MeshServer, PeerAddress]]:
    server = MeshServer(ALICE, bounds=BOUNDS)
    server.trust(trusted)
    address = await server.start(_checked())
    try:
        yield server, PeerAddress(node=ALICE_ID, public_key=bytes(ALICE.verify_key), addresses=(address,))
    finally:
        await server.close()


def _credentials(key: SigningKey) -> Credentials:
    return ChannelIdentity(key, node="", now_s=time.time).credentials()


@asynccontextmanager
async def _bare(*, mutual: bool) -> AsyncIterator[str]:
    """The address of a plain aiohttp server that answers what it is sent."""

    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=await request.read())

    app = web.Application()
    app.router.add_post("/probe", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    context = server_context(_credentials(ALICE), BOB_ONLY)
    if not mutual:
        context.verify_mode = ssl.CERT_NONE
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    try:
        port = runner.addresses[0][1]
        yield f"https://127.0.0.1:{port}/probe"
    finally:
        await runner.cleanup()


async def _post(session: aiohttp.ClientSession, url: str, context: ssl.SSLContext) -> None:
    async with session.post(url, data=PAYLOAD, ssl=context) as response:
        assert await response.read() == PAYLOAD


def _client_context() -> ssl.SSLContext:
    return client_context(_credentials(BOB), ALICE_ID, bytes(ALICE.verify_key))


async def _timed(call: Call) -> float:
    began = time.perf_counter()
    await call()
    return time.perf_counter() - began


async def _in_turn(bare: Call, ours: Call, rounds: int) -> float:
    """Median seconds of ``bare`` over those of ``ours``."""
    pairs = [(await _timed(bare), await _timed(ours)) for _ in range(rounds)]
    bare_s, ours_s = zip(*pairs[rounds // 10 :], strict=True)
    ratio: float = statistics.median(bare_s) / statistics.median(ours_s)
    return ratio


# --- requests --------------------------------------------------------------------------------------------------------


async def _keepalive() -> float:
    client = MeshClient(BOB)
    context = _client_context()
    try:
        async with _ours(BOB_ONLY) as (_, alice), _bare(mutual=False) as url, aiohttp.ClientSession() as session:

            async def ours() -> None:
                answer = await client.call(alice, ROUTE, _message(), content_type=MEDIA)
                assert answer == PAYLOAD

            return await _in_turn(lambda: _post(session, url, context), ours, ROUNDS)
    finally:
        await client.close()


@benchmark("mesh.keepalive_ratio", unit="ratio", target=0.5, direction="at least")
def keepalive_ratio() -> float:
    """Requests per second of signed 1 KB messages over one connection of the channel, over those of bare TLS 1.3.

    Ours signs every message and checks it whole (form, signature, audience, time, replay); the bare side posts 1 KB.
    """
    return asyncio.run(_keepalive())


async def _connect() -> float:
    context = _client_context()
    async with _ours(BOB_ONLY) as (_, alice), _bare(mutual=True) as url:

        async def bare() -> None:
            async with aiohttp.ClientSession() as session:
                await _post(session, url, context)

        # A client for each round: it has no connection yet. Its channel certificate lasts days and is not part of it.
        clients = iter([MeshClient(BOB) for _ in range(CONNECT_ROUNDS)])

        async def ours() -> None:
            client = next(clients)
            assert await client.call(alice, ROUTE, _message(), content_type=MEDIA) == PAYLOAD
            await client.close()

        return await _in_turn(bare, ours, CONNECT_ROUNDS)


@benchmark("mesh.connect_ratio", unit="ratio", target=0.5, direction="at least")
def connect_ratio() -> float:
    """New connections with one request each per second, over those of bare aiohttp with certificates on both sides.

    Ours begins without a TLS context for the peer and builds it; the bare side keeps one.
    """
    return asyncio.run(_connect())


# --- changes of the trust set ----------------------------------------------------------------------------------------


async def _change() -> tuple[float, float]:
    """Milliseconds of a change among ``PEERS`` peers until Bob, who is new, is answered; and of the longest block."""
    crowd = _crowd(PEERS)
    times, blocks = [], []
    async with _ours(crowd) as (server, alice):
        for number in range(CHANGE_ROUNDS):
            client = MeshClient(BOB)
            # One peer leaves, Bob comes: no certificate of the others has to be minted, as in a running node.
            trusted = {node: key for place, (node, key) in enumerate(crowd.items()) if place != number} | BOB_ONLY
            with longest_block() as longest:
                began = time.perf_counter()
                server.trust(trusted)
                await client.call(alice, ROUTE, _message(), content_type=MEDIA)
                times.append(time.perf_counter() - began)
            blocks.append(longest[0])
            await client.close()
    return statistics.median(times) * 1_000, max(blocks) * 1_000


@benchmark("mesh.trust_change_ms_1000", unit="ms", target=1_000, direction="at most")
def trust_change() -> float:
    """Time from a change of the trust set with 1,000 peers until a peer that is new in it is answered."""
    return asyncio.run(_change())[0]


@benchmark("mesh.trust_change_block_ms_1000", unit="ms", target=50, direction="at most")
def trust_change_block() -> float:
    """The longest time the event loop stands still during such a change; the worst of all rounds."""
    return asyncio.run(_change())[1]
