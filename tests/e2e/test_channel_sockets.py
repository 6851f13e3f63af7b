"""No accepted socket outlives its connection or its listener, in whatever state it is when either ends."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import socket
import ssl
import struct
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from adapters.transport.tls.bounds import Bounds
from tests.e2e.channel import ALICE, BOB, CAROL, Bench, credentials, request, tls, until

RESET: Final = struct.pack("ii", 1, 0)  # SO_LINGER: a close sends a reset
SHORT: Final = Bounds(handshake_timeout_s=0.3, header_timeout_s=0.3, body_timeout_s=0.3, keepalive_timeout_s=0.3)


@pytest_asyncio.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    yield bench
    await bench.close()


@pytest.fixture
def clients() -> contextlib.ExitStack:
    """Where clients are kept open until the listener has been looked at."""
    return contextlib.ExitStack()


def open_at(url: str) -> int:
    """How many sockets of this process are bound to the port of ``url``: the listener's own and all it accepted."""
    port, found = urlsplit(url).port, 0
    for entry in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # it may have been closed since
            if os.readlink(f"/proc/self/fd/{entry}").startswith("socket:"):
                with socket.socket(fileno=os.dup(int(entry))) as copy:
                    found += copy.family == socket.AF_INET and copy.getsockname()[1] == port
    return found


@contextlib.contextmanager
def nothing_left(url: str) -> Iterator[None]:
    """At the end no socket is bound to the port of ``url``, and the collector finds none to close."""
    with warnings.catch_warnings(record=True) as unclosed:
        warnings.simplefilter("always", ResourceWarning)
        yield
        assert open_at(url) == 0
        gc.collect()
    assert [str(warning.message) for warning in unclosed] == []


def connect(url: str) -> socket.socket:
    parts = urlsplit(url)
    assert parts.hostname and parts.port
    made = socket.socket()
    made.settimeout(5)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    made.connect((parts.hostname, parts.port))
    return made


async def secure(url: str, context: ssl.SSLContext) -> ssl.SSLSocket:
    plain = connect(url)
    try:
        return await asyncio.to_thread(context.wrap_socket, plain)
    except BaseException:
        plain.close()
        raise


def hello() -> bytes:
    """The first message of a TLS client."""
    sent = ssl.MemoryBIO()
    client = tls(ALICE, credentials(BOB)).wrap_bio(ssl.MemoryBIO(), sent)
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()


async def turn(times: int) -> None:
    """Let the loop look ``times`` times for what there is to do."""
    for _ in range(times):
        await asyncio.sleep(0)


async def silent(url: str) -> socket.socket:
    return connect(url)


async def half_hello(url: str) -> socket.socket:
    client = connect(url)
    client.sendall(hello()[:20])
    return client


async def half_handshake(url: str) -> socket.socket:
    client = connect(url)
    client.sendall(hello())
    await asyncio.to_thread(client.recv, 1)  # the server has answered, and waits for our certificate
    return client


async def no_tls(url: str) -> socket.socket:
    client = connect(url)
    client.sendall(b"GET / HTTP/1.1\r\n\r\n")
    return client


async def unknown_key(url: str) -> socket.socket:
    return await secure(url, tls(ALICE, credentials(CAROL)))


async def no_certificate(url: str) -> socket.socket:
    return await secure(url, tls(ALICE, None))


async def reset(url: str) -> socket.socket:
    client = await half_handshake(url)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    client.close()
    return client


async def idle(url: str) -> ssl.SSLSocket:
    return await secure(url, tls(ALICE, credentials(BOB)))


async def half_header(url: str) -> socket.socket:
    client = await idle(url)
    client.sendall(request()[:30])
    return client


async def half_body(url: str) -> socket.socket:
    client = await idle(url)
    client.sendall(request(bytes(1000))[:-500])
    return client


async def not_reading(url: str) -> socket.socket:
    """A client that asks for more than the buffers hold, and takes nothing of it."""
    client = await idle(url)
    client.settimeout(0.3)
    with contextlib.suppress(OSError):
        while True:
            await asyncio.to_thread(client.sendall, request(bytes(200_000), path="/peer/v1/deltas/push"))
    return client


async def left(url: str) -> socket.socket:
    """A client that has its answer and goes as TLS wants it."""
    client = await idle(url)
    client.sendall(request())
    await asyncio.to_thread(client.recv, 1)
    client.settimeout(0.3)
    with contextlib.suppress(OSError):
        await asyncio.to_thread(client.unwrap)
    client.close()
    return client


async def said_goodbye(url: str) -> socket.socket:
    """A client that ends TLS, leaves its answer unread and keeps the connection."""
    client = await idle(url)
    client.sendall(request(bytes(50_000), path="/peer/v1/deltas/push"))
    await asyncio.to_thread(client.recv, 1)
    client.setblocking(False)
    with contextlib.suppress(OSError):
        client.unwrap()
    await turn(5)  # the server has heard it
    return client


State = Callable[[str], Awaitable[socket.socket]]
WAITING: Final[tuple[State, ...]] = (silent, half_hello, half_handshake, idle, half_header, half_body, not_reading)
OVER: Final[tuple[State, ...]] = (no_tls, unknown_key, no_certificate, reset, left, said_goodbye)


@pytest.fixture(autouse=True)
def small_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a few kilobytes fill the way to a client that does not read."""
    create = socket.create_server

    def create_small(*args: Any, **options: Any) -> socket.socket:
        made = create(*args, **options)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        return made

    monkeypatch.setattr(socket, "create_server", create_small)


@pytest.fixture(autouse=True)
def silent_log(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing that asyncio would report, such as a task that raised, may have happened, nor be left to the collector."""
    yield
    gc.collect()  # a socket that it closes becomes a warning, and so an error
    assert [record.getMessage() for record in caplog.get_records("call") if record.name == "asyncio"] == []


@pytest.mark.parametrize("state", [*WAITING, *OVER], ids=lambda state: state.__name__)
async def test_a_listener_that_closes_closes_every_socket_it_accepted(
    bench: Bench, clients: contextlib.ExitStack, state: State
) -> None:
    server = await bench.serve(BOB)
    with clients, nothing_left(bench.url):
        clients.enter_context(contextlib.closing(await state(bench.url)))
        await server.close()


@pytest.mark.parametrize("state", [*WAITING, *OVER], ids=lambda state: state.__name__)
async def test_a_connection_that_is_refused_or_too_slow_is_closed_while_the_listener_goes_on(
    bench: Bench, clients: contextlib.ExitStack, state: State
) -> None:
    """Some clients leave without reading.

    Guard: adapters/transport/tls/listener.py, Connection._expect_end.
    Guard: adapters/transport/tls/listener.py, _ClosedOnce.
    """
    await bench.serve(BOB, bounds=SHORT)
    with clients:
        clients.enter_context(contextlib.closing(await state(bench.url)))
        await until(lambda: open_at(bench.url) == 1)


@pytest.mark.parametrize("turns", range(8))
async def test_a_connection_that_comes_as_the_listener_closes_is_closed(
    bench: Bench, clients: contextlib.ExitStack, turns: int
) -> None:
    """Guard: adapters/transport/tls/listener.py, Listener._over."""
    server = await bench.serve(BOB)
    await turn(5)  # a listener that waits already
    with clients, nothing_left(bench.url):
        clients.enter_context(connect(bench.url))
        await turn(turns)
        await server.close()
