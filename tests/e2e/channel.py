"""Hostile and half-right clients for the tests of the channel: raw TLS with any certificate."""

from __future__ import annotations

import asyncio
import datetime
import ssl
import time
from collections.abc import Callable
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from nacl.signing import SigningKey

from adapters.ports.transport import PeerAddress
from adapters.transport.client import MeshClient
from adapters.transport.server import MeshServer
from adapters.transport.tls.bounds import Bounds
from adapters.transport.tls.certificates import Credentials, channel_certificate, client_context
from adapters.transport.tls.contexts import Contexts
from protocol import ids
from protocol.wire.envelope import content_type

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
    return body


def credentials(key: SigningKey, *, node: str = "", from_s: float = -60, until_s: float = 3600) -> Credentials:
    """A channel certificate that ``key`` signs.

    node: whom it names as its issuer. from_s, until_s: relative to now.
    """
    channel = Ed25519PrivateKey.generate()
    now_s = time.time()
    certificate = channel_certificate(
        bytes(key), node or node_of(key), channel.public_key(), from_s=now_s + from_s, until_s=now_s + until_s
    )
    return Credentials(certificate, channel, now_s)


def signed_by_channel_key(key: SigningKey, *, named: str) -> Credentials:
    """A leaf that the *channel* key of ``key`` signs, in the name of ``named``; the real certificate is sent along."""
    middle = Ed25519PrivateKey.generate()
    now_s = time.time()
    issued = channel_certificate(bytes(key), node_of(key), middle.public_key(), from_s=now_s - 60, until_s=now_s + 3600)
    return _below(issued, middle, named)


def authority_below(key: SigningKey) -> Credentials:
    """A leaf under an authority that ``key`` makes, with everything right but that a peer may make no authorities."""
    middle = Ed25519PrivateKey.generate()
    witness = Ed25519PrivateKey.from_private_bytes(bytes(key))
    name = x509.load_der_x509_certificate(credentials(key).leaf).issuer
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])
    usage = x509.KeyUsage(True, False, False, False, False, True, False, False, False)
    issued = (
        _certificate(subject, name, middle.public_key(), witness.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(middle.public_key()), critical=False)
        .sign(witness, None)
    )
    return _below(issued, middle, "anybody")


def impostor(key: SigningKey, *, signer: SigningKey) -> Credentials:
    """A certificate that names ``key`` and its node as its issuer, and is signed by ``signer``."""
    name = x509.load_der_x509_certificate(credentials(key).leaf).issuer
    leaf_key, forger = Ed25519PrivateKey.generate(), Ed25519PrivateKey.from_private_bytes(bytes(signer))
    claimed = Ed25519PublicKey.from_public_bytes(bytes(key.verify_key))
    usage = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "channel")])
    leaf = (
        _certificate(subject, name, leaf_key.public_key(), claimed)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("channel.trailmesh.invalid")]), critical=False)
        .sign(forger, None)
    )
    return Credentials(leaf, leaf_key, 0)


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: Ed25519PublicKey, signer: Ed25519PublicKey
) -> x509.CertificateBuilder:
    moment, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(7)
        .not_valid_before(moment - day)
        .not_valid_after(moment + day)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer), critical=False)
    )


def _below(issued: x509.Certificate, middle: Ed25519PrivateKey, named: str) -> Credentials:
    leaf_key = Ed25519PrivateKey.generate()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, named)])
    usage = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
    leaf = (
        _certificate(subject, issued.subject, leaf_key.public_key(), middle.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("channel.trailmesh.invalid")]), critical=False)
        .sign(middle, None)
    )
    return Chain(leaf, leaf_key, issued)


class Chain(Credentials):
    """A leaf that is sent together with its issuer's certificate."""

    def __init__(self, leaf: x509.Certificate, key: Ed25519PrivateKey, issuer: x509.Certificate) -> None:
        super().__init__(leaf, key, 0)
        self._issuer = issuer

    @property
    def chain(self) -> bytes:
        return super().chain + self._issuer.public_bytes(Encoding.PEM)


def tls(server_key: SigningKey, presented: Credentials | None) -> ssl.SSLContext:
    """A client's context that expects ``server_key``; without a certificate of its own if ``presented`` is None."""
    context = client_context(presented or credentials(CAROL), node_of(server_key), bytes(server_key.verify_key))
    if presented is None:
        anonymous = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        anonymous.check_hostname = False
        anonymous.verify_mode = ssl.CERT_NONE
        return anonymous
    return context


def request(body: bytes = b"", *, method: str = "POST", path: str = "/peer/v1/status", media: str = MEDIA) -> bytes:
    """One HTTP/1.1 request, byte for byte."""
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {media}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Raw:
    """One TLS connection that sends what it is told."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, url: str, context: ssl.SSLContext | None) -> Raw:
        host, _, port = url.removeprefix("https://").rpartition(":")
        name = "" if context is not None else None
        async with asyncio.timeout(WAIT_S):
            return cls(*await asyncio.open_connection(host, int(port), ssl=context, server_hostname=name))

    @property
    def leaf(self) -> bytes:
        """The certificate the server showed (DER)."""
        channel: ssl.SSLObject = self.writer.get_extra_info("ssl_object")
        return channel.getpeercert(True) or b""

    async def status(self) -> int:
        """Status of the next answer, its body read; 0 if the connection ended instead."""
        try:
            async with asyncio.timeout(WAIT_S):
                head = await self.reader.readuntil(b"\r\n\r\n")
                lines = head.decode().lower().split("\r\n")
                length = next(int(line.split(":")[1]) for line in lines if line.startswith("content-length:"))
                await self.reader.readexactly(length)
        except (OSError, asyncio.IncompleteReadError):
            return 0
        return int(head.split()[1])

    async def ask(self, data: bytes) -> int:
        """Send ``data``; the status of the answer, or 0 if the connection ended."""
        self.writer.write(data)
        return await self.status()

    async def ended(self) -> bool:
        """Whether the server ends the connection within the bound."""
        try:
            async with asyncio.timeout(WAIT_S):
                while await self.reader.read(4096):
                    pass
        except OSError:
            return True
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        self.writer.transport.abort()


async def attempt(url: str, context: ssl.SSLContext) -> int:
    """One request under ``context``: its status, or 0 if the server did not let it in."""
    try:
        raw = await Raw.open(url, context)
    except OSError:
        return 0
    try:
        return await raw.ask(request())
    finally:
        raw.close()


async def drip(raw: Raw, chunk: bytes, pause_s: float) -> None:
    """Send ``chunk`` again and again, slowly, until the connection ends or the task is cancelled."""
    while not raw.writer.transport.is_closing():
        raw.writer.write(chunk)
        await asyncio.sleep(pause_s)


async def until(condition: Callable[[], bool]) -> None:
    """Yield to the loop until ``condition`` holds, within the bound."""
    async with asyncio.timeout(WAIT_S):
        while not condition():  # noqa: ASYNC110  (a counter has no event to wait for)
            await asyncio.sleep(0.005)


class LaxContexts(Contexts):
    """TLS contexts that forgot to ask for a certificate."""

    async def get(self) -> ssl.SSLContext:
        context = await super().get()
        context.verify_mode = ssl.CERT_NONE
        return context


class LaxServer(MeshServer):
    """A server that lets everybody shake hands."""

    def __init__(self, key: SigningKey, **options: Any) -> None:
        super().__init__(key, **options)
        self._contexts = LaxContexts(self._identity)


class Bench:
    """Alice's server and its visitors; Bob is her peer."""

    def __init__(self) -> None:
        self._closing: list[Callable[[], object]] = []
        self.url = ""

    async def serve(
        self,
        *trusted: SigningKey,
        bounds: Bounds | None = None,
        lax: bool = False,
        now_s: Callable[[], float] = time.time,
    ) -> MeshServer:
        server = (LaxServer if lax else MeshServer)(ALICE, bounds=bounds, now_s=now_s)
        server.trust(keys_of(*(trusted or (BOB,))))
        self.url = await server.start(echo)
        self._closing.append(server.close)
        return server

    def client(self, key: SigningKey) -> MeshClient:
        client = MeshClient(key)
        self._closing.append(client.close)
        return client

    async def raw(self, key: SigningKey = BOB) -> Raw:
        connection = await Raw.open(self.url, tls(ALICE, credentials(key)))
        self._closing.append(connection.close)
        return connection

    async def raw_tcp(self) -> Raw:
        connection = await Raw.open(self.url, None)
        self._closing.append(connection.close)
        return connection

    async def close(self) -> None:
        for close in reversed(self._closing):
            result = close()
            if result is not None:
                assert asyncio.iscoroutine(result)
                await result
