"""Calls to peers behind a proxy that terminates TLS: the signature of the answer authenticates the peer, not a certificate."""

from __future__ import annotations

import io
import os
import ssl
from collections.abc import Callable

import aiohttp
from nacl.signing import SigningKey
from yarl import URL

from adapters.ports.transport import PeerAddress
from adapters.transport.tls.addresses import open_socket
from adapters.transport.tls.failures import LostError, NotReachedError, may_have_been_acted_on, translate
from protocol import limits
from protocol.errors import MeshError
from protocol.wire import http_signature as signed


class SignedCalls:
    """Posts signed requests over ordinary HTTPS, and accepts signed answers only."""

    def __init__(
        self, key: SigningKey, node: str, *, now_s: Callable[[], float], ca_file: str, connect_timeout_s: float
    ) -> None:
        """ca_file: PEM of authorities for proxies, besides those of the system; empty for none."""
        self._key, self._node, self._now_s = key, node, now_s
        self._ca_file, self._connect_timeout_s = ca_file, connect_timeout_s
        self._session: aiohttp.ClientSession | None = None

    def rekey(self, key: SigningKey) -> None:
        """Sign as the same node with another witness key, from the next call on."""
        self._key = key

    async def post(
        self, peer: PeerAddress, host: str, port: int, path: str, body: bytes, media: str
    ) -> tuple[int, bytes]:
        """Status and body of the answer, after checking the signature of ``peer`` for this very request.

        Errors: ``NotReachedError``, ``peer.unreachable``, ``peer.identity``, ``peer.protocol``, ``config.invalid``.
        """
        told = signed.digest(body)
        message = signed.request(signed.authority_of(host, port), path, media, told)
        nonce = os.urandom(signed.NONCE_BYTES)
        headers = {"Content-Type": media, signed.DIGEST_HEADER: told}
        headers |= signed.sign(message, key=self._key, node=self._node, now_s=int(self._now_s()), nonce=nonce)
        url = URL.build(scheme="https", host=host, port=port, path=path)
        try:
            async with self._open().post(
                url, data=io.BytesIO(body), headers=headers, allow_redirects=False
            ) as response:
                answer = bytearray()
                async for chunk in response.content.iter_any():
                    answer += chunk
                    if len(answer) > limits.PEER_BODY_BYTES_MAX:
                        raise MeshError("peer.protocol", "an answer that is too long", peer=peer.node)
                self._check(peer, response, bytes(answer), headers[signed.SIGNATURE_HEADER])
                return response.status, bytes(answer)
        except aiohttp.ClientConnectorCertificateError as error:
            told_why = "the proxy's certificate is not one this machine trusts (`outgoing.ca_file` adds authorities)"
            raise NotReachedError(MeshError("peer.identity", told_why, peer=peer.node)) from error
        except aiohttp.ClientError as error:
            meaning = translate(error, peer.node)
            raise may_have_been_acted_on(peer.node) if isinstance(meaning, LostError) else meaning from error

    def _check(self, peer: PeerAddress, response: aiohttp.ClientResponse, body: bytes, asked: str) -> None:
        told = response.headers.get(signed.DIGEST_HEADER, "")
        message = signed.answer(response.status, response.headers.get("Content-Type", ""), told, asked)
        try:
            signed.verify(
                response.headers,
                [message],
                key_of=lambda node: peer.public_key if node == peer.node else None,
                now_s=int(self._now_s()),
                window=None,  # an answer cannot be replayed, as it is bound to the signature of this very request
            )
        except MeshError as error:
            if error.code == "envelope.time":
                raise
            reason = f"HTTP {response.status} without the peer's signature: {error.message}"
            raise MeshError("peer.identity", reason, peer=peer.node) from error
        if told != signed.digest(body):
            raise MeshError("peer.identity", "the answer differs from the signed one", peer=peer.node)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            context = ssl.create_default_context()
            if self._ca_file:
                try:
                    context.load_verify_locations(cafile=self._ca_file)
                except (OSError, ssl.SSLError) as error:
                    raise MeshError("config.invalid", f"outgoing.ca_file {self._ca_file} cannot be read") from error
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=context, socket_factory=open_socket, limit=0, use_dns_cache=False),
                timeout=aiohttp.ClientTimeout(total=None, connect=self._connect_timeout_s),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"Accept-Encoding": "identity"},
                auto_decompress=False,
                trust_env=False,
            )
        return self._session

    async def close(self) -> None:
        """Close every connection. A second call does nothing."""
        if self._session is not None:
            await self._session.close()
            self._session = None
