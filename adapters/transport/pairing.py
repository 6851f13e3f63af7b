"""The pairing listener and its client. TLS authenticates the listener only; the pairing exchange authenticates the joiner.

It is a separate listener because the peers' listener cannot admit strangers: OpenSSL refuses even an optional certificate if it
is unknown, and an exception for strangers there would also admit revoked peers.
"""

from __future__ import annotations

import asyncio
import hashlib
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

import aiohttp
from aiohttp import web
from nacl.signing import SigningKey
from yarl import URL

from adapters.transport.server import url_of
from adapters.transport.tls import answers
from adapters.transport.tls.addresses import ForbiddenAddressError, open_socket
from adapters.transport.tls.bounds import Bounds
from adapters.transport.tls.certificates import (
    ChannelIdentity,
    pairing_client_context,
    pairing_server_context,
    signer_of,
)
from adapters.transport.tls.leaf import fetch_leaf
from adapters.transport.tls.listener import Connection, Listener
from protocol import limits
from protocol.errors import MeshError
from protocol.refusals import Refusals
from protocol.wire.address import parse_address

PAIRING_PATH: Final = "/pair/v1"
PAIRING_BOUNDS: Final = Bounds(
    body_timeout_s=limits.HEADER_TIMEOUT_S,
    keepalive_timeout_s=limits.HEADER_TIMEOUT_S,
    connections_max=limits.CONNECTIONS_PER_ADDRESS_MAX,
    body_bytes_max=limits.PAIRING_BODY_BYTES_MAX,
)
_REFUSALS: Final = frozenset({"invite.refused", "invite.expired", "pairing.refused", "pairing.expired", "peer.limit"})
"""The valid answers of a node that pairs."""
_IDLE_S: Final = limits.HEADER_TIMEOUT_S / 2
"""How long an idle connection is kept: shorter than the listener keeps it."""


class TlsPairingServer:
    """A ``PairingServer`` on real sockets."""

    def __init__(
        self,
        key: SigningKey,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        node: str = "",
        advertise: str = "",
        bounds: Bounds = PAIRING_BOUNDS,
        now_s: Callable[[], float] = time.time,
        refusals: Refusals | None = None,
    ) -> None:
        """key: the witness key. node: our node id, if it is not that of ``key`` (after a rotation).

        advertise: the host name in the invite, if it is not ``host``.
        """
        self._credentials = ChannelIdentity(key, node=node, now_s=now_s).credentials()
        self._context = pairing_server_context(self._credentials)
        self._leaf_hash = hashlib.sha256(self._credentials.leaf).digest()
        self._host, self._port, self._advertise, self._bounds = host, port, advertise, bounds
        self._handler: Callable[[bytes, bytes], Awaitable[bytes]] | None = None
        self._listener: Listener | None = None
        self._refusals = refusals or Refusals()

    async def start(self, handler: Callable[[bytes, bytes], Awaitable[bytes]]) -> str:
        """Listen. Returns the address for the invite. Errors: ``node.address_in_use``, ``config.invalid``."""
        assert self._listener is None, "one start per server"
        self._handler = handler
        listener = Listener(self._answer, context=self._tls, admit=lambda *_: "", bounds=self._bounds)
        listener.refusals = self._refusals
        port = listener.listen(self._host, self._port)
        self._listener = listener
        return url_of(self._advertise or self._host, port)

    @property
    def refusals(self) -> Mapping[str, int]:
        """How many connections and requests were refused, by reason."""
        return self._refusals.reasons

    async def close(self) -> None:
        """Stop listening and drop every connection. A second call does nothing."""
        if self._listener is not None:
            await self._listener.stop()

    async def _tls(self) -> ssl.SSLContext:
        return self._context

    async def _answer(self, connection: Connection, request: web.BaseRequest) -> bytes:
        assert self._listener is not None
        assert self._handler is not None
        if request.method != "POST" or request.raw_path != PAIRING_PATH or "Content-Encoding" in request.headers:
            raise self._listener.count("route", MeshError("invite.refused"))
        body = await self._listener.read_body(request)
        try:
            return await self._handler(body, self._leaf_hash)
        except MeshError as error:
            # A stranger learns only that it failed. All other codes could tell a stranger how far its attempt got.
            code = error.code if error.code in _REFUSALS else "invite.refused"
            raise self._listener.count("invite", MeshError(code)) from error


class TlsPairingConnection:
    """A ``PairingConnection`` on a real socket."""

    def __init__(self, session: aiohttp.ClientSession, url: URL, leaf: bytes, signer: bytes, timeout_s: float) -> None:
        self._session, self._url, self._timeout_s = session, url, timeout_s
        self._leaf, self._signer = leaf, signer

    @property
    def leaf(self) -> bytes:
        """The TLS leaf certificate (DER) of the listener."""
        return self._leaf

    @property
    def signer(self) -> bytes:
        """The witness key that signed the leaf."""
        return self._signer

    async def call(self, body: bytes) -> bytes:
        """POST ``body`` on this very connection. Returns the answer.

        Errors: those of ``PairingConnection.call``.
        """
        try:
            async with (
                asyncio.timeout(self._timeout_s),
                self._session.post(self._url, data=body, allow_redirects=False) as response,
            ):
                answer = bytearray()
                async for chunk in response.content.iter_any():
                    answer += chunk
                    if len(answer) > limits.PAIRING_BODY_BYTES_MAX:
                        raise MeshError("peer.protocol", "the inviter's answer is too long")
                status = response.status
        except (aiohttp.ClientError, TimeoutError) as error:
            raise MeshError("peer.unreachable", "the connection to the inviter broke") from error
        if status == 200:
            return bytes(answer)
        refusal = answers.decode_error(bytes(answer), "")
        if refusal.code not in _REFUSALS:
            raise MeshError("peer.protocol", "the listener at this address is not an inviting node")
        raise MeshError(refusal.code)


class TlsPairingClient:
    """A ``PairingClient`` on real sockets."""

    def __init__(
        self,
        *,
        now_s: Callable[[], float] = time.time,
        connect_timeout_s: float = limits.CONNECT_TIMEOUT_S,
        request_timeout_s: float = limits.REQUEST_TIMEOUT_S,
    ) -> None:
        self._now_s, self._connect_timeout_s, self._request_timeout_s = now_s, connect_timeout_s, request_timeout_s

    def connect(self, url: str) -> AbstractAsyncContextManager[TlsPairingConnection]:
        """Fetch the listener's leaf, then connect again under that leaf's signer only.

        Errors: ``invite.url``, ``peer.unreachable``, ``peer.identity`` (the leaf is not signed by a witness key).
        """
        return self._connect(url)

    @asynccontextmanager
    async def _connect(self, url: str) -> AsyncIterator[TlsPairingConnection]:
        host, port = parse_address(url)
        try:
            async with asyncio.timeout(self._connect_timeout_s):
                leaf = await fetch_leaf(host, port)
        except ForbiddenAddressError as error:
            raise MeshError("invite.url", str(error)) from error
        except (OSError, TimeoutError) as error:
            raise MeshError("peer.unreachable", f"no inviter answers at {url}") from error
        signer = signer_of(leaf, self._now_s())
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                ssl=pairing_client_context(signer), socket_factory=open_socket, keepalive_timeout=_IDLE_S
            ),
            timeout=aiohttp.ClientTimeout(total=None, connect=self._connect_timeout_s),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Accept-Encoding": "identity"},
            auto_decompress=False,
            trust_env=False,
        )
        async with session:
            target = URL.build(scheme="https", host=host, port=port, path=PAIRING_PATH)
            yield TlsPairingConnection(session, target, leaf, signer.public_key, self._request_timeout_s)
