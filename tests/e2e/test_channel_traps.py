"""The traps of TLS, X.509 and aiohttp that the peer channel avoids, each on real sockets.

Every docstring names the line or function that the test protects: without it, the test fails.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable, Sequence

import pytest
import pytest_asyncio
from nacl.signing import SigningKey

from adapters.transport.pairing import TlsPairingClient, TlsPairingServer
from adapters.transport.server import MeshServer
from adapters.transport.tls.bounds import Bounds
from adapters.transport.tls.certificates import Credentials, pairing_client_context, signer_of
from protocol.errors import MeshError
from tests.e2e.channel import (
    ALICE,
    BOB,
    CAROL,
    MEDIA,
    WAIT_S,
    Bench,
    Raw,
    attempt,
    authority_below,
    credentials,
    drip,
    impostor,
    keys_of,
    node_of,
    peer,
    request,
    signed_by_channel_key,
    tls,
    until,
)

SHORT = Bounds(handshake_timeout_s=0.3, header_timeout_s=0.3, body_timeout_s=0.3, keepalive_timeout_s=30)


@pytest_asyncio.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    yield bench
    await bench.close()


# --- trap 1: who is asked for a certificate ------------------------------------------------------------------------


async def test_a_client_without_certificate_is_refused_before_and_after_the_trust_set_changes(bench: Bench) -> None:
    """Protects ``verify_mode = CERT_REQUIRED`` in ``certificates._require``, which holds for every context served.

    Guard: adapters/transport/tls/certificates.py, _require.
    """
    server = await bench.serve(BOB)
    assert await attempt(bench.url, tls(ALICE, None)) == 0
    server.trust(keys_of(BOB, CAROL))
    assert await attempt(bench.url, tls(ALICE, None)) == 0
    assert server.refusals == {"no_certificate": 2}
    assert await attempt(bench.url, tls(ALICE, credentials(BOB))) == 200


async def test_a_context_that_forgets_to_ask_for_a_certificate_still_lets_nobody_in(bench: Bench) -> None:
    """Protects ``MeshServer._admit``: the certificate is looked at again outside of OpenSSL.

    Guard: adapters/transport/server.py, MeshServer._admit.
    """
    server = await bench.serve(BOB, lax=True)
    assert await attempt(bench.url, tls(ALICE, None)) == 0
    assert server.refusals == {"anonymous": 1}


async def test_the_certificate_is_held_against_the_trust_set_with_each_request(bench: Bench) -> None:
    """Protects ``MeshServer._still_trusted``: it does not depend on the connection having been dropped.

    Guard: adapters/transport/server.py, MeshServer._still_trusted.
    """
    server = await bench.serve(BOB)
    raw = await bench.raw()
    assert await raw.ask(request()) == 200
    server._trusted = {}  # as if the sweep over open connections had missed this one
    assert await raw.ask(request()) == 0
    assert server.refusals == {"revoked": 1}


# --- trap 2: tickets ---------------------------------------------------------------------------------------------


def _visit(url: str, context: ssl.SSLContext, session: ssl.SSLSession | None) -> tuple[bool, ssl.SSLSession | None]:
    """One request in blocking TLS, the only kind that can resume: whether it was resumed, and its session."""
    host, _, port = url.removeprefix("https://").rpartition(":")
    sock = socket.create_connection((host, int(port)), timeout=WAIT_S)
    with context.wrap_socket(sock, session=session) as channel:
        channel.sendall(request())
        assert channel.recv(4096).startswith(b"HTTP/1.1 200")
        return bool(channel.session_reused), channel.session


async def test_no_session_can_be_resumed(bench: Bench) -> None:
    """Protects ``num_tickets = 0`` in ``certificates._context``: a resumed session skips the certificate check.

    Guard: adapters/transport/tls/certificates.py, _context.
    """
    await bench.serve(BOB)
    context = tls(ALICE, credentials(BOB))
    _, session = await asyncio.to_thread(_visit, bench.url, context, None)
    resumed, _ = await asyncio.to_thread(_visit, bench.url, context, session)
    assert not resumed
    assert session is not None
    assert not session.has_ticket


# --- trap 3: strangers -------------------------------------------------------------------------------------------


async def test_a_stranger_can_pair_with_or_without_certificate_and_only_at_the_pairing_listener(bench: Bench) -> None:
    """Protects ``pairing_server_context``: CERT_OPTIONAL would refuse the certificate it does not know."""
    server = await bench.serve(BOB)
    pairing = TlsPairingServer(ALICE)

    async def greet(body: bytes, leaf: bytes) -> bytes:
        return body + leaf

    url = await pairing.start(greet)
    bench._closing.append(pairing.close)
    async with TlsPairingClient().connect(url) as connection:
        assert connection.signer == bytes(ALICE.verify_key)
        assert await connection.call(b"hi") == b"hi" + hashlib.sha256(connection.leaf).digest()
    assert await attempt(url, tls(ALICE, credentials(CAROL))) == 403, "let in, and told that this is no route"
    assert await attempt(bench.url, pairing_client_context(None)) == 0
    assert await attempt(bench.url, tls(ALICE, credentials(CAROL))) == 0
    assert server.refusals == {"no_certificate": 1, "certificate": 1}


# --- trap 4: what is an anchor -----------------------------------------------------------------------------------


async def test_renewed_certificates_are_accepted_without_a_new_trust_set(bench: Bench) -> None:
    """Protects ``anchor_certificate``: it pins the key, so that a certificate may come and go."""
    server = await bench.serve(BOB)
    client = bench.client(BOB)
    for _ in range(3):
        assert await client.call(peer(ALICE, bench.url), "status", b"x", content_type=MEDIA) == b"x"
        server.renew()
        client.renew()
    assert server.refusals == {}


async def test_an_open_connection_outlives_the_renewal_of_both_sides(bench: Bench) -> None:
    """Protects ``MeshServer._tls``: renewal is for new connections only."""
    server = await bench.serve(BOB)
    before = await bench.raw()
    assert await before.ask(request()) == 200
    server.renew()
    after = await bench.raw()
    assert (await after.ask(request()), await before.ask(request())) == (200, 200)
    assert after.leaf != before.leaf, "new connections are shown the new certificate"


async def test_certificates_are_renewed_at_half_of_their_life_without_a_restart(bench: Bench) -> None:
    """Protects ``ChannelIdentity.credentials``."""
    late_s = -3.6 * 86_400
    await bench.serve(BOB, now_s=lambda: time.time() + late_s)
    first, second = await bench.raw(), await bench.raw()
    late_s = 0.0
    third = await bench.raw()
    assert first.leaf == second.leaf != third.leaf


async def test_a_peer_that_makes_itself_an_authority_cannot_mint_identities(bench: Bench) -> None:
    """Protects ``path_length=0`` in ``certificates.anchor_certificate``.

    Guard: adapters/transport/tls/certificates.py, anchor_certificate.
    """
    server = await bench.serve(BOB)
    assert await attempt(bench.url, tls(ALICE, authority_below(BOB))) == 0
    assert server.refusals == {"certificate": 1}


# --- trap 5: one session per peer --------------------------------------------------------------------------------


async def test_the_connection_of_one_peer_is_never_used_for_another(bench: Bench) -> None:
    """Protects the channel per peer in ``Channels.to``: pools are keyed by address, and addresses move.

    Guard: adapters/transport/channel.py, Channels.to.
    """
    await bench.serve(BOB)
    client = bench.client(BOB)
    assert await client.call(peer(ALICE, bench.url), "status", b"x", content_type=MEDIA) == b"x"
    with pytest.raises(MeshError) as caught:
        await client.call(peer(CAROL, bench.url), "status", b"x", content_type=MEDIA)
    assert caught.value.code == "peer.identity"


async def test_the_client_certificate_is_presented_on_every_new_connection(bench: Bench) -> None:
    """Protects ``ssl=client_context(…)`` of ``Channel``: ``aiohttp.Fingerprint`` there drops the certificate."""
    server = await bench.serve(BOB)
    for _ in range(2):
        client = bench.client(BOB)
        assert await client.call(peer(ALICE, bench.url), "status", b"x", content_type=MEDIA) == b"x"
    assert server.refusals == {}


# --- trap 6: a disconnect is all that a stranger sees -----------------------------------------------------------


@pytest.mark.parametrize("stranger", [CAROL, BOB], ids=["never known", "revoked"])
async def test_a_client_that_is_not_trusted_is_told_why_the_connection_ended(
    bench: Bench, stranger: SigningKey
) -> None:
    """Protects ``MeshClient._why_lost``."""
    server = await bench.serve(BOB)
    client = bench.client(stranger)
    if stranger is BOB:
        await client.call(peer(ALICE, bench.url), "status", b"x", content_type=MEDIA)
    server.trust({})
    with pytest.raises(MeshError) as caught:
        await client.call(peer(ALICE, bench.url), "status", b"x", content_type=MEDIA)
    assert (caught.value.code, caught.value.retryable) == ("peer.refused_us", False)
    assert "does not know this node's key" in caught.value.message


# --- trap 7: deadlines -------------------------------------------------------------------------------------------


async def _times_out(server: MeshServer, raw: Raw, reason: str, chunk: bytes = b"") -> None:
    dripping = asyncio.create_task(drip(raw, chunk, 0.05)) if chunk else None
    assert await raw.ended()
    assert server.refusals == {reason: 1}
    if dripping is not None:
        dripping.cancel()


async def test_a_client_that_never_shakes_hands_is_dropped(bench: Bench) -> None:
    """Protects ``ssl_handshake_timeout`` in ``Listener._attend``.

    Guard: adapters/transport/tls/listener.py, Listener._attend.
    """
    server = await bench.serve(BOB, bounds=SHORT)
    await _times_out(server, await bench.raw_tcp(), "handshake_timeout")


@pytest.mark.parametrize("chunk", [b"", b"A"], ids=["silent", "dripping"])
async def test_a_header_that_does_not_end_is_dropped(bench: Bench, chunk: bytes) -> None:
    """Protects ``Connection.connection_made`` arming the header timer.

    Guard: adapters/transport/tls/listener.py, Connection.connection_made.
    """
    server = await bench.serve(BOB, bounds=SHORT)
    raw = await bench.raw()
    if chunk:
        raw.writer.write(b"POST /peer/v1/status HTTP/1.1\r\nX: ")
    await _times_out(server, raw, "header_timeout", chunk)


async def test_the_second_header_on_a_connection_has_a_deadline_too(bench: Bench) -> None:
    """Protects ``Connection.data_received`` arming the timer: between requests only the keep-alive timeout runs.

    Guard: adapters/transport/tls/listener.py, Connection.data_received.
    """
    server = await bench.serve(BOB, bounds=SHORT)
    raw = await bench.raw()
    assert await raw.ask(request()) == 200
    raw.writer.write(b"POST /peer/v1/status HTTP/1.1\r\nX: ")
    await _times_out(server, raw, "header_timeout", b"A")


async def test_an_idle_connection_outlives_the_header_deadline(bench: Bench) -> None:
    """Protects ``Connection.request_begins`` disarming the timer."""
    await bench.serve(BOB, bounds=SHORT)
    idle, probe = await bench.raw(), await bench.raw()
    assert await idle.ask(request()) == 200
    assert await probe.ended(), "the deadline of a later connection has passed"
    assert await idle.ask(request()) == 200


async def test_a_body_that_drips_is_refused_and_dropped(bench: Bench) -> None:
    """Protects the timeout in ``Listener.read_body``.

    Guard: adapters/transport/tls/listener.py, Listener.read_body.
    """
    server = await bench.serve(BOB, bounds=SHORT)
    raw = await bench.raw()
    raw.writer.write(request(path="/peer/v1/deltas/push").replace(b"Length: 0", b"Length: 100000"))
    await _times_out(server, raw, "body_timeout", b"A")


async def test_a_peer_that_does_not_read_its_answer_is_dropped(bench: Bench) -> None:
    """Protects the timeout around ``write_eof`` in ``Listener._respond``.

    Guard: adapters/transport/tls/listener.py, Listener._respond.
    """
    server = await bench.serve(BOB, bounds=SHORT)
    raw = await bench.raw()
    raw.writer.transport.pause_reading()  # type: ignore[attr-defined]  # the transport of a stream can
    for _ in range(40):
        raw.writer.write(request(bytes(200_000), path="/peer/v1/deltas/push"))
    await until(lambda: server.refusals.get("answer_timeout") == 1)


# --- trap 8: where connections go --------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "[::ffff:0.0.0.0]"])
async def test_an_address_that_only_looks_like_a_name_is_refused_before_connecting(bench: Bench, host: str) -> None:
    """Protects ``socket_factory=open_socket`` of ``Channel``: a resolver never sees a literal address.

    The unspecified address stands for all that is refused, because it is the one that leads somewhere on every machine.

    Guard: adapters/transport/channel.py, Channel.
    """
    server = await bench.serve(BOB)
    address = bench.url.replace("127.0.0.1", host)
    with pytest.raises(MeshError) as caught:
        await bench.client(BOB).call(peer(ALICE, address), "status", b"x", content_type=MEDIA)
    assert caught.value.code == "peer.unreachable"
    assert "is not allowed as the address of a peer" in caught.value.message
    assert server.refusals == {}


# --- certificates that are refused -------------------------------------------------------------------------------

FORGED: Sequence[tuple[str, Callable[[], Credentials]]] = (
    ("of an unknown node", lambda: credentials(CAROL)),
    ("that has expired", lambda: credentials(BOB, from_s=-7200, until_s=-3600)),
    ("from the future", lambda: credentials(BOB, from_s=3600, until_s=7200)),
    ("in the name of a peer, signed by another key", lambda: credentials(CAROL, node=node_of(BOB))),
    ("that names a peer's key, signed by another key", lambda: impostor(BOB, signer=CAROL)),
    ("signed by the channel key of a peer", lambda: signed_by_channel_key(BOB, named=node_of(BOB))),
)


@pytest.mark.parametrize("make", [make for _, make in FORGED], ids=[name for name, _ in FORGED])
async def test_a_certificate_is_refused(bench: Bench, make: Callable[[], Credentials]) -> None:
    """Protects ``_require`` and what OpenSSL checks for it."""
    server = await bench.serve(BOB)
    assert await attempt(bench.url, tls(ALICE, make())) == 0
    assert server.refusals == {"certificate": 1}


@pytest.mark.parametrize("make", [make for _, make in FORGED], ids=[name for name, _ in FORGED])
def test_a_certificate_is_not_taken_for_that_of_the_peer_without_openssl_either(
    make: Callable[[], Credentials],
) -> None:
    """Protects each check in ``certificates.signer_of``.

    Guard: adapters/transport/tls/certificates.py, _signed.
    """
    signer = None
    with contextlib.suppress(MeshError):
        signer = signer_of(make().leaf, time.time())
    assert signer is None or keys_of(BOB).get(signer.node) != signer.public_key


async def test_tls_1_2_is_refused(bench: Bench) -> None:
    """Protects ``minimum_version`` in ``certificates._context``.

    Guard: adapters/transport/tls/certificates.py, _context.
    """
    server = await bench.serve(BOB)
    context = tls(ALICE, credentials(BOB))
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
    assert await attempt(bench.url, context) == 0
    await until(lambda: server.refusals == {"tls_version": 1})


async def test_a_server_with_an_expired_certificate_is_not_believed(bench: Bench) -> None:
    """Protects the certificate check of ``client_context``; the message sends people to their clocks."""
    await bench.serve(BOB, now_s=lambda: time.time() - 30 * 86_400)
    with pytest.raises(MeshError) as caught:
        await bench.client(BOB).call(peer(ALICE, bench.url), "status", b"x", content_type=MEDIA)
    assert caught.value.code == "peer.clock"
    assert "is at least 26 d 12 h behind ours" in caught.value.message


async def test_a_connection_ends_with_the_certificate_it_was_opened_under(bench: Bench) -> None:
    """Protects the comparison with ``expires_s`` in ``MeshServer._still_trusted``.

    Guard: adapters/transport/server.py, MeshServer._still_trusted.
    """
    late_s = 0.0
    server = await bench.serve(BOB, now_s=lambda: time.time() + late_s)
    raw = await bench.raw()
    assert await raw.ask(request()) == 200
    late_s = 7200.0
    assert await raw.ask(request()) == 0
    assert server.refusals == {"revoked": 1}


# --- floods and revocation ---------------------------------------------------------------------------------------


async def test_connections_over_the_cap_of_an_address_are_closed_before_the_handshake(bench: Bench) -> None:
    """Protects the comparison with ``connections_per_address_max`` in ``Listener._accept``.

    Guard: adapters/transport/tls/listener.py, Listener._accept.
    """
    server = await bench.serve(BOB, bounds=Bounds(connections_per_address_max=4))
    flood = [await bench.raw_tcp() for _ in range(20)]
    await until(lambda: server.refusals == {"connections_per_address": 16})
    for raw in flood:
        raw.close()
    await until(lambda: server._listener is not None and not server._listener._tasks)
    assert await attempt(bench.url, tls(ALICE, credentials(BOB))) == 200, "and the places are given back"


async def test_connections_over_the_total_cap_are_closed(bench: Bench) -> None:
    """Protects the comparison with ``connections_max`` in ``Listener._accept``.

    Guard: adapters/transport/tls/listener.py, Listener._accept.
    """
    server = await bench.serve(BOB, bounds=Bounds(connections_max=3, connections_per_address_max=100))
    for _ in range(5):
        await bench.raw_tcp()
    await until(lambda: server.refusals == {"connections_total": 2})


async def test_revoking_a_peer_ends_its_open_connections_at_once_and_no_others(bench: Bench) -> None:
    """Protects the sweep over open connections in ``MeshServer.trust``.

    Guard: adapters/transport/server.py, MeshServer.trust.
    """
    server = await bench.serve(BOB, CAROL)
    mine, other = await bench.raw(BOB), await bench.raw(CAROL)
    assert (await mine.ask(request()), await other.ask(request())) == (200, 200)
    server.trust(keys_of(CAROL))
    assert await mine.ended()
    assert await other.ask(request()) == 200
    assert server.refusals == {"revoked": 1}
