"""Ways around the channel: under a name, after a revocation, through resolvers, redirects and proxies; on real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio

from adapters.transport.pairing import TlsPairingClient, TlsPairingServer
from adapters.transport.tls.certificates import pairing_server_context
from protocol.errors import MeshError
from tests.e2e.channel import ALICE, BOB, MEDIA, WAIT_S, Bench, credentials, peer, request, tls

NAMES = ("localhost", "channel", "channel.trailmesh.invalid", "xn--", "a" * 63)
"""What a client may ask for by SNI."""


@pytest_asyncio.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    yield bench
    await bench.close()


# --- who gets in -----------------------------------------------------------------------------------------------------


def _answered(url: str, context: ssl.SSLContext, name: str, session: ssl.SSLSession | None = None) -> tuple[bytes, Any]:
    """What one request under ``context`` is answered, and the TLS session; nothing if the connection ends instead."""
    host, _, port = url.removeprefix("https://").rpartition(":")
    sock = socket.create_connection((host, int(port)), timeout=WAIT_S)
    with contextlib.suppress(OSError), context.wrap_socket(sock, server_hostname=name or None, session=session) as end:
        end.sendall(request())
        return end.recv(4096), end.session
    return b"", None


@pytest.mark.parametrize("name", NAMES)
async def test_an_anonymous_client_gets_in_under_no_name(bench: Bench, name: str) -> None:
    """Guard: adapters/transport/tls/certificates.py, _require."""
    server = await bench.serve(BOB)
    answer, _ = await asyncio.to_thread(_answered, bench.url, tls(ALICE, None), name)
    assert answer == b""
    assert server.refusals == {"no_certificate": 1}


async def test_a_session_of_before_the_revocation_is_worth_nothing(bench: Bench) -> None:
    """Guard: adapters/transport/server.py, MeshServer.trust."""
    server = await bench.serve(BOB)
    context = tls(ALICE, credentials(BOB))
    answer, session = await asyncio.to_thread(_answered, bench.url, context, "")
    assert answer.startswith(b"HTTP/1.1 200")
    server.trust({})
    answer, _ = await asyncio.to_thread(_answered, bench.url, context, "", session)
    assert answer == b""
    assert server.refusals["certificate"] == 1, "it shook hands anew, and was refused by its certificate"


# --- where we are led ------------------------------------------------------------------------------------------------


class Canary:
    """Listens where nobody may be led, and says who came."""

    def __init__(self) -> None:
        self.visits: list[bytes] = []

    async def _visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.visits.append(b"")
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
            async with asyncio.timeout(1):
                self.visits[-1] = await reader.readuntil(b"\r\n\r\n")
        writer.transport.abort()

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[int]:
        """The port."""
        server = await asyncio.start_server(self._visit, "127.0.0.1", 0)
        async with server:
            yield server.sockets[0].getsockname()[1]


@contextlib.contextmanager
def resolver(*answers: str) -> Any:
    """Whoever is asked for answers of ``getaddrinfo`` for a host ending in .test gets the next of these; the last one stays."""
    left, real = list(answers), socket.getaddrinfo

    def resolve(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        text = host.decode() if isinstance(host, bytes) else host
        if not str(text).endswith(".test"):
            return real(host, port, *rest, **more)
        return real(left.pop(0) if len(left) > 1 else left[0], port, *rest, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", resolve)
        yield


async def test_a_name_that_resolves_elsewhere_the_second_time_is_not_followed(bench: Bench) -> None:
    """The answer that counts is the one a socket is made for: a peer's name is good once, and unspecified ever after.

    Guard: adapters/transport/channel.py, Channel.
    """
    server = await bench.serve(BOB)
    port = bench.url.rpartition(":")[2]
    at = peer(ALICE, f"https://rebind.test:{port}")
    client = bench.client(BOB)
    with resolver("127.0.0.1", "0.0.0.0"):
        assert await client.call(at, "status", b"x", content_type=MEDIA) == b"x"
        server.renew()
        client.renew()  # the next call needs a new connection
        with pytest.raises(MeshError) as caught:
            await client.call(at, "status", b"x", content_type=MEDIA)
    assert "is not allowed as the address of a peer" in caught.value.message


async def test_an_invite_s_name_that_resolves_elsewhere_the_second_time_is_not_followed() -> None:
    """Pairing connects twice, to look and to speak: between the two, the name may change.

    Guard: adapters/transport/pairing.py, TlsPairingClient._connect.
    """
    server = TlsPairingServer(ALICE)

    async def greet(body: bytes, leaf: bytes) -> bytes:
        return body

    url = await server.start(greet)
    try:
        with resolver("127.0.0.1", "0.0.0.0"):
            async with TlsPairingClient().connect(f"https://rebind.test:{url.rpartition(':')[2]}") as connection:
                with pytest.raises(MeshError) as caught:
                    await connection.call(b"proof")
        assert caught.value.code == "peer.unreachable"
    finally:
        await server.close()


@pytest.mark.parametrize("address", ["0.0.0.0", "::ffff:0.0.0.0", "::"])
async def test_the_first_look_at_an_inviter_goes_to_no_address_where_no_peer_can_be(address: str) -> None:
    """Guard: protocol/wire/destination.py, _embedded.
    Guard: adapters/transport/tls/leaf.py, fetch_leaf.
    """
    canary = Canary()
    async with canary.listening() as port:
        host = f"[{address}]" if ":" in address else address
        with pytest.raises(MeshError) as caught:
            async with TlsPairingClient().connect(f"https://{host}:{port}"):
                raise AssertionError("connected")
    assert (caught.value.code, canary.visits) == ("invite.url", [])


@contextlib.asynccontextmanager
async def redirecting(context: ssl.SSLContext, target: str) -> AsyncIterator[str]:
    """A TLS listener that answers everything with a redirect that keeps method and body."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(f"HTTP/1.1 307 There\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode())
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    async with server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_an_inviter_does_not_redirect_the_proof_elsewhere() -> None:
    """Guard: adapters/transport/pairing.py, TlsPairingConnection.call."""
    canary = Canary()
    async with (
        canary.listening() as port,
        redirecting(pairing_server_context(credentials(ALICE)), f"http://127.0.0.1:{port}/") as url,
        TlsPairingClient().connect(url) as connection,
    ):
        with pytest.raises(MeshError) as caught:
            await connection.call(b"proof")
    assert (caught.value.code, canary.visits) == ("peer.protocol", [])


Through = Callable[[Bench], Awaitable[None]]


async def _call(bench: Bench) -> None:
    await bench.serve(BOB)
    assert await bench.client(BOB).call(peer(ALICE, bench.url), "status", b"x", content_type=MEDIA) == b"x"


async def _pair(bench: Bench) -> None:
    server = TlsPairingServer(ALICE)

    async def greet(body: bytes, leaf: bytes) -> bytes:
        return body

    bench._closing.append(server.close)
    async with TlsPairingClient().connect(await server.start(greet)) as connection:
        assert await connection.call(b"proof") == b"proof"


@pytest.mark.parametrize("through", [_call, _pair], ids=["call", "pair"])
async def test_no_proxy_of_the_environment_sees_a_connection(
    bench: Bench, through: Through, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: adapters/transport/channel.py, Channel.
    Guard: adapters/transport/pairing.py, TlsPairingClient._connect.
    """
    canary = Canary()
    async with canary.listening() as port:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "WSS_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        failed = None
        try:
            await through(bench)
        except MeshError as error:
            failed = error
    assert canary.visits == []
    assert failed is None
