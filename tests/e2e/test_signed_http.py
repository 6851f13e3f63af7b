"""A node behind a proxy that ends TLS: real sockets, a proxy that forwards bytes, and proxies that do more than that."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from nacl.signing import SigningKey

from adapters.transport.client import MeshClient
from adapters.transport.signed_server import SignedServer
from adapters.transport.tls.bounds import Bounds
from node.config.settings import Listen
from node.process import wiring
from protocol.errors import MeshError
from tests.e2e.channel import ALICE, BOB, CAROL, MEDIA, WAIT_S, Raw, echo, keys_of, node_of, peer, request

Change = Callable[[bytes], bytes]


def same(data: bytes) -> bytes:
    return data


class Proxy:
    """Ends TLS and forwards bytes, changed or not."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self.port, self.target = 0, 0
        self.request: Change = same
        self.answer: Change = same
        self.seen: list[bytes] = []
        self._writers: list[asyncio.StreamWriter] = []
        self._served = asyncio.Semaphore(0)
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._context)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        inner_reader, inner = await asyncio.open_connection("127.0.0.1", self.target)
        self._writers.append(inner)

        async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter, back: bool) -> None:
            with contextlib.suppress(OSError):
                while data := await source.read(65_536):
                    if not back:
                        self.seen.append(data)
                    sink.write((self.answer if back else self.request)(data))
                    await sink.drain()
            sink.transport.abort()

        await asyncio.gather(pump(reader, inner, False), pump(inner_reader, writer, True))
        self._served.release()

    async def close(self) -> None:
        """Drop every connection, and wait until each is served."""
        if self._server is not None:
            self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        async with asyncio.timeout(WAIT_S):
            for _ in range(len(self._writers) // 2):
                await self._served.acquire()
        await asyncio.sleep(0)  # transports say goodbye in the next turn of the loop


def web_certificate(folder: Path) -> tuple[ssl.SSLContext, str]:
    """TLS as the web knows it for 127.0.0.1, and the file of the authority that vouches for it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "proxy of a test")])
    moment = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(moment - datetime.timedelta(days=1))
        .not_valid_after(moment + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "proxy.pem").write_bytes(pem + private)
    (folder / "ca.pem").write_bytes(pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "proxy.pem")
    return context, str(folder / "ca.pem")


class Street:
    """Alice behind a proxy, and her callers."""

    def __init__(self, folder: Path) -> None:
        context, self.ca_file = web_certificate(folder)
        self.proxy = Proxy(context)
        self.server: SignedServer | None = None
        self.url = ""
        self._clients: list[MeshClient] = []

    async def open(self, *, signer: SigningKey = ALICE, bounds: Bounds | None = None) -> SignedServer:
        await self.proxy.start()
        self.url = f"signed+https://127.0.0.1:{self.proxy.port}"
        self.server = SignedServer(
            signer, "127.0.0.1", 0, authorities=[f"127.0.0.1:{self.proxy.port}"], address=self.url, bounds=bounds
        )
        self.server.trust(keys_of(BOB))
        assert await self.server.start(echo) == self.url
        self.proxy.target = self.server.port
        return self.server

    def client(self, key: SigningKey = BOB, *, ca_file: str | None = None) -> MeshClient:
        client = MeshClient(key, ca_file=self.ca_file if ca_file is None else ca_file)
        self._clients.append(client)
        return client

    async def ask(self, client: MeshClient, body: bytes = b"x") -> bytes:
        return await client.call(peer(ALICE, self.url), "status", body, content_type=MEDIA, timeout_s=WAIT_S)

    async def refusal(self, client: MeshClient) -> MeshError:
        with pytest.raises(MeshError) as caught:
            await self.ask(client)
        return caught.value

    async def close(self) -> None:
        for client in self._clients:
            await client.close()
        await self.proxy.close()
        if self.server is not None:
            await self.server.close()


@pytest_asyncio.fixture
async def street(tmp_path: Path) -> AsyncIterator[Street]:
    street = Street(tmp_path)
    yield street
    await street.close()


async def test_a_peer_behind_a_proxy_is_called_and_knows_who_called(street: Street) -> None:
    callers: list[str] = []

    async def note(node: str, route: str, body: bytes) -> bytes:
        callers.append(node)
        return body

    server = await street.open()
    server._handler = note
    client = street.client()
    assert await street.ask(client, b"\x00body") == b"\x00body"
    assert callers == [node_of(BOB)]
    assert client.way(node_of(ALICE)) == street.url


async def test_a_node_that_is_not_trusted_is_refused(street: Street) -> None:
    server = await street.open()
    assert (await street.refusal(street.client(CAROL))).code == "peer.signature"
    assert server.refusals == {"signature": 1}


async def test_a_revoked_node_is_refused_from_its_next_request_on(street: Street) -> None:
    server = await street.open()
    client = street.client()
    await street.ask(client)
    server.trust({})
    assert (await street.refusal(client)).code in ("peer.signature", "peer.unreachable")
    assert (await street.refusal(client)).code == "peer.signature"


async def test_a_request_without_a_signature_is_refused(street: Street) -> None:
    server = await street.open()
    raw = await Raw.open(f"https://127.0.0.1:{server.port}", None)
    assert await raw.ask(request(b"x")) == 401
    assert server.refusals == {"signature": 1}
    raw.close()


async def test_a_request_that_is_sent_twice_is_answered_once(street: Street) -> None:
    """Guard: protocol/wire/http_signature.py, verify."""
    server = await street.open()
    await street.ask(street.client())
    raw = await Raw.open(f"https://127.0.0.1:{server.port}", None)
    assert await raw.ask(b"".join(street.proxy.seen)) == 400
    raw.close()
    assert server.refusals == {"signature": 1}


async def test_a_proxy_that_changes_a_body_is_found_out(street: Street) -> None:
    """Guard: adapters/transport/signed_server.py, SignedServer._answer."""
    server = await street.open()
    street.proxy.request = lambda data: data[:-1] + b"y" if data.endswith(b"x") else data
    assert (await street.refusal(street.client())).code == "peer.signature"
    assert server.refusals == {"signature": 1}


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-1] + b"y" if data.endswith(b"x") else data,
        lambda data: data.replace(b"200 OK", b"400 No"),
        lambda data: data.replace(b"Signature-Input", b"Signature-Inpux"),
    ],
    ids=["body", "status", "signature"],
)
async def test_a_proxy_that_changes_an_answer_is_found_out(street: Street, change: Change) -> None:
    """Guard: adapters/transport/signed_client.py, SignedCalls._check."""
    await street.open()
    street.proxy.answer = change
    assert (await street.refusal(street.client())).code == "peer.identity"


async def test_an_answer_to_another_request_is_not_believed(street: Street) -> None:
    await street.open()
    client, answers = street.client(), []

    def keep(data: bytes) -> bytes:
        answers.append(data)
        return answers[0]

    street.proxy.answer = keep
    await street.ask(client)
    assert (await street.refusal(client)).code == "peer.identity"


async def test_another_node_behind_the_proxy_is_not_mistaken_for_the_peer(street: Street) -> None:
    await street.open(signer=CAROL)
    assert (await street.refusal(street.client())).code == "peer.identity"


async def test_a_proxy_whose_certificate_nobody_vouches_for_is_not_talked_to(street: Street) -> None:
    await street.open()
    error = await street.refusal(street.client(ca_file=""))
    assert (error.code, "ca_file" in error.message) == ("peer.identity", True)
    assert street.proxy.seen == []


async def test_no_connection_is_held_open_through_a_proxy(street: Street) -> None:
    await street.open()
    with pytest.raises(MeshError) as caught:
        await street.client().hold(peer(ALICE, street.url), echo, opened=lambda: None)
    assert "through a proxy" in caught.value.message


async def test_limits_hold_behind_a_proxy_too(street: Street) -> None:
    await street.open(bounds=Bounds(requests_burst=2, requests_per_s=1))
    client = street.client()
    for _ in range(2):
        await street.ask(client)
    assert (await street.refusal(client)).code == "peer.limit"


async def test_signatures_are_no_way_around_mutual_tls(street: Street) -> None:
    """A node without a proxy answers no signed plain HTTP, and one with a proxy no mutual TLS."""
    await street.open()
    url = street.url.removeprefix("signed+")
    client = street.client()
    with pytest.raises(MeshError) as caught:
        await client.call(peer(ALICE, url), "status", b"x", content_type=MEDIA)
    assert caught.value.code in ("peer.identity", "peer.protocol")


@pytest.mark.parametrize(
    "listen",
    [
        Listen(proxy="rfc9421"),
        Listen(proxy="rfc9421", advertise=("https://127.0.0.1:1",)),
        Listen(proxy="rfc9421", host="0.0.0.0", advertise=("signed+https://127.0.0.1:1",)),
    ],
    ids=["no address", "an address for mutual TLS", "plain HTTP beyond loopback"],
)
def test_a_configuration_that_would_weaken_the_channel_is_refused(listen: Listen) -> None:
    from node.signing.identity import Identity
    from tests.village import WrongClock

    with pytest.raises(MeshError) as caught:
        wiring._signed_server(Identity(ALICE, WrongClock()), listen, lambda: 0.0)
    assert caught.value.code == "config.invalid"


def test_signed_http_is_off_by_default() -> None:
    assert Listen().proxy == "none"
