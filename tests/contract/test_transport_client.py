"""What the client makes of servers that do not behave, and the listeners of requests that do not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from adapters.transport.client import MeshClient
from adapters.transport.pairing import TlsPairingClient
from adapters.transport.server import MeshServer
from adapters.transport.tls import answers
from adapters.transport.tls.addresses import ForbiddenAddressError, check_destination
from adapters.transport.tls.certificates import server_context
from protocol.errors import CODES, MeshError
from protocol.wire import cbor
from tests.e2e.channel import (
    ALICE,
    BOB,
    CAROL,
    MEDIA,
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
from tests.tables import each

Speak = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def answer(body: bytes, *, status: str = "200 OK", headers: str = "") -> bytes:
    media = "" if "Content-Type" in headers else "Content-Type: application/cbor\r\n"
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{media}{headers}\r\n".encode() + body


def refusal(**fields: object) -> bytes:
    return answer(cbor.encode(fields), status="400 Bad Request")


@asynccontextmanager
async def rogue(speak: Speak) -> AsyncIterator[str]:
    """A server with Alice's key that says what it likes."""
    context = server_context(credentials(ALICE), keys_of(BOB))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await speak(reader, writer)
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    async with server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def ask(url: str) -> MeshError:
    client = MeshClient(BOB, answer_bytes_max=1000, connect_timeout_s=1, request_timeout_s=1)
    try:
        with pytest.raises(MeshError) as caught:
            await client.call(peer(ALICE, url), "status", b"x", content_type=MEDIA)
        return caught.value
    finally:
        await client.close()


def saying(data: bytes) -> Speak:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(data)
        await writer.drain()
        await reader.read()

    return speak


MISBEHAVIOUR = {
    "an unreadable refusal": (answer(b"oops", status="500 Oops"), "peer.protocol"),
    "a refusal that is not CBOR of the right form": (answer(cbor.encode([1]), status="400 Bad"), "peer.protocol"),
    "a code nobody knows": (refusal(code="peer.invented"), "peer.protocol"),
    "a redirect": (answer(b"", status="302 Found", headers="Location: https://127.0.0.1:1/\r\n"), "peer.protocol"),
    "an answer that is a page": (answer(b"x", headers="Content-Type: text/html\r\n"), "peer.protocol"),
    "a compressed answer": (answer(b"x", headers="Content-Encoding: gzip\r\n"), "peer.protocol"),
    "an answer over the limit": (answer(bytes(1001)), "peer.protocol"),
    "an endless answer": (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/cbor\r\nTransfer-Encoding: chunked\r\n\r\n"
        + b"190\r\n"
        + bytes(400)
        + b"\r\n",
        "",
    ),
    "an answer that is cut off": (answer(bytes(10))[:-5], "peer.unreachable"),
    "no HTTP": (b"SSH-2.0-x\r\n\r\n", "peer.protocol"),
    "nothing": (b"", "peer.unreachable"),
}


@pytest.mark.parametrize(("data", "code"), MISBEHAVIOUR.values(), ids=MISBEHAVIOUR.keys())
async def test_a_server_that_misbehaves_ends_in_one_known_error(data: bytes, code: str) -> None:
    async with rogue(saying(data)) as url:
        error = await ask(url)
    assert error.code == (code or "peer.unreachable")


async def test_what_a_peer_says_is_cut_and_freed_of_control_characters() -> None:
    """Guard: adapters/transport/tls/answers.py, decode_error."""
    told = refusal(code="delta.gap", message="\x1b[2J" + "x" * 500, detail={"self": 1, "code": 2, "a b": 3, "good": 4})
    async with rogue(saying(told)) as url:
        error = await ask(url)
    assert error.code == "delta.gap"
    assert error.message.isprintable()
    assert len(error.message) == 300
    assert error.detail == {"good": 4, "peer": node_of(ALICE)}


async def test_a_server_that_goes_away_during_the_call_is_not_one_that_refuses_us() -> None:
    connections = 0

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await reader.readuntil(b"\r\n\r\n")
        if connections > 1:  # the question why: answered, so this is somebody who trusts us
            writer.write(answer(b"", status="404 Not Found"))
            await writer.drain()

    async with rogue(once) as url:
        error = await ask(url)
    assert (error.code, connections) == ("peer.unreachable", 2)


async def test_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    server, client = MeshServer(ALICE), MeshClient(BOB)
    server.trust(keys_of(BOB))
    try:
        at = peer(ALICE, await server.start(echo))
        assert await client.call(at, "status", b"x", content_type=MEDIA) == b"x"
    finally:
        await client.close()
        await server.close()


@pytest.mark.parametrize("route", ["", "/status", "Status", "a b", "../x", "a?b", "a%2fb"])
async def test_a_route_of_another_form_is_not_sent(route: str) -> None:
    client = MeshClient(BOB)
    with pytest.raises(MeshError) as caught:
        await client.call(peer(ALICE, "https://127.0.0.1:1"), route, b"", content_type=MEDIA)
    assert caught.value.code == "input.invalid"
    await client.close()


REQUESTS = {
    "another method": (request(method="PUT"), 404, "route"),
    "another path": (request(path="/peer/v2/status"), 404, "route"),
    "a query": (request(path="/peer/v1/status?x=1"), 404, "route"),
    "a path that climbs": (request(path="/peer/v1/../v1/status"), 404, "route"),
    "an escaped path": (request(path="/peer/v1/%73tatus"), 404, "route"),
    "another media type": (request(media="text/plain"), 400, "media_type"),
    "a compressed body": (request().replace(b"Host: x", b"Host: x\r\nContent-Encoding: gzip"), 400, "media_type"),
    "a body over the limit": (request().replace(b"Length: 0", b"Length: 99999999"), 413, "body_size"),
}


@pytest.mark.parametrize(("data", "status", "reason"), REQUESTS.values(), ids=REQUESTS.keys())
async def test_a_request_of_another_form_is_refused_and_counted(data: bytes, status: int, reason: str) -> None:
    server = MeshServer(ALICE)
    server.trust(keys_of(BOB))
    raw = await Raw.open(await server.start(echo), tls(ALICE, credentials(BOB)))
    try:
        assert await raw.ask(data) == status
        assert server.refusals == {reason: 1}
    finally:
        raw.close()
        await server.close()


CHUNKED = request().replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")


@pytest.mark.parametrize("rest", [b"xyz\r\n", None], ids=["malformed", "cut off"])
async def test_a_body_that_breaks_ends_its_connection_and_logs_nothing(
    rest: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    server = MeshServer(ALICE)
    server.trust(keys_of(BOB))
    url = await server.start(echo)
    raw = await Raw.open(url, tls(ALICE, credentials(BOB)))
    try:
        if rest is None:
            entered = await Raw.open(url, tls(ALICE, credentials(BOB)))
            raw.writer.write(CHUNKED + b"5\r\nab")
            assert await entered.ask(request()) == 200, "the server has read what came before"
            raw.close()
            await until(lambda: server.refusals == {"request_broken": 1})
            entered.close()
        else:
            assert await raw.ask(CHUNKED + rest) in (0, 400)
        assert caplog.text == ""
    finally:
        raw.close()
        await server.close()


async def test_a_defect_of_the_handler_is_answered_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(node: str, route: str, body: bytes) -> bytes:
        raise RuntimeError("secret of the inside")

    server, client = MeshServer(ALICE), MeshClient(BOB)
    server.trust(keys_of(BOB))
    try:
        at = peer(ALICE, await server.start(broken))
        with pytest.raises(MeshError) as caught:
            await client.call(at, "status", b"x", content_type=MEDIA)
        assert caught.value.code == "internal.fault"
        assert "secret" not in str(caught.value.to_dict())
        assert "handler of status failed" in caplog.text
    finally:
        await client.close()
        await server.close()


async def test_two_servers_do_not_share_a_port() -> None:
    first = MeshServer(ALICE)
    port = int((await first.start(echo)).rpartition(":")[2])
    with pytest.raises(MeshError) as caught:
        await MeshServer(CAROL, port=port).start(echo)
    assert caught.value.code == "node.address_in_use"
    await first.close()
    await first.close()


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "fe80::1",
        "fe80::1%eth0",
        "224.0.0.1",
        "ff02::1",
        "0.0.0.0",
        "::",
        "0.1.2.3",
        "255.255.255.255",
        "240.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "fd00:ec2::254",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "fd20:ce::254",
        "::169.254.169.254",
        "::ffff:0:169.254.169.254",
        "64:ff9b:1::a9fe:a9fe",
        "64:ff9b:1:a9fe:a9:fe00::",
        "2001:0:a9fe:a9fe::",
        "2001:db8::5efe:a9fe:a9fe",
    ],
)
def test_addresses_where_no_peer_can_be_are_refused(host: str) -> None:
    """Guard: protocol/wire/destination.py, _embedded.
    Guard: protocol/wire/destination.py, _place.
    """
    with pytest.raises(ForbiddenAddressError):
        check_destination(host)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "::1", "10.0.0.7", "192.168.1.7", "fd00::7", "203.0.113.9", "100.64.0.1"]
)
def test_loopback_private_and_public_addresses_are_fine(host: str) -> None:
    check_destination(host)


async def test_an_invite_to_an_address_where_no_peer_can_be_is_refused() -> None:
    """Guard: protocol/wire/destination.py, _place."""
    with pytest.raises(MeshError) as caught:
        async with TlsPairingClient().connect("https://169.254.169.254:443"):
            raise AssertionError("connected")
    assert caught.value.code == "invite.url"


@each("code", CODES)
def test_every_code_has_a_status_and_survives_the_wire(code: str) -> None:
    error = MeshError(code, "words", count=3)
    assert 400 <= answers.status_of(error) < 600
    back = answers.decode_error(answers.encode_error(error), "somebody")
    if code.startswith("store."):  # its words name directories of this machine
        assert (back.code, back.message, back.detail) == (code, CODES[code].meaning, {"peer": "somebody"})
    else:
        assert (back.code, back.message, back.detail) == (code, "words", {"count": 3, "peer": "somebody"})


def test_details_that_are_not_plain_are_left_out() -> None:
    for detail in (1.5, object(), "x" * 100_000):
        back = answers.decode_error(answers.encode_error(MeshError("delta.gap", "words", odd=detail)), "n")
        assert (back.code, back.detail) == ("delta.gap", {"peer": "n"})
