"""The listener of a node behind a proxy that terminates TLS: plain HTTP on loopback, with every message signed (RFC 9421)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

import msgspec
from aiohttp import web
from nacl.signing import SigningKey

from adapters.ports.transport import PeerHandler
from adapters.transport.server import MEDIA_TYPE_OF_BODY, PATH, PATH_PREFIX, MeshServer
from adapters.transport.tls.bounds import Bounds
from adapters.transport.tls.listener import Connection, Listener
from protocol.errors import MeshError
from protocol.refusals import Refusals
from protocol.routes import request_bytes_max
from protocol.wire import http_signature as signed
from protocol.wire.envelope import ReplayWindow


class SignedServer(MeshServer):
    """A ``PeerServer`` that identifies callers by the signatures of their requests. No connection can be held open."""

    def __init__(
        self,
        key: SigningKey,
        host: str,
        port: int,
        *,
        node: str = "",
        authorities: Sequence[str],
        address: str,
        bounds: Bounds | None = None,
        now_s: Callable[[], float] = time.time,
        refusals: Refusals | None = None,
    ) -> None:
        """node: our node id, if it is not that of ``key`` (after a rotation).

        authorities: the ``host:port`` that callers may have addressed. address: the proxy's, which ``start`` returns.
        """
        # Every connection comes from the proxy, so its address does not identify the caller.
        bounds = bounds or Bounds()
        bounds = msgspec.structs.replace(bounds, connections_per_address_max=bounds.connections_max)
        super().__init__(key, host, port, node=node, bounds=bounds, now_s=now_s, refusals=refusals)
        self._key, self._authorities, self._address = key, tuple(authorities), address
        self._window = ReplayWindow(int(now_s()))

    async def start(self, handler: PeerHandler) -> str:
        """Listen. Returns the proxy's address. Errors: ``node.address_in_use``, ``config.invalid``."""
        assert self._listener is None, "one start per server"
        self._handler = handler
        listener = Listener(self._answer, context=_no_tls, admit=lambda *_: "", bounds=self._bounds, finish=self._sign)
        listener.refusals = self._refusals
        self.port = listener.listen(self._host, self._port)
        self._listener = listener
        return self._address

    def rekey(self, key: SigningKey) -> None:
        """Sign as the same node with another witness key, from the next answer on."""
        super().rekey(key)
        self._key = key

    async def _answer(self, connection: Connection, request: web.BaseRequest) -> bytes:
        """Checks, in order: method and path; headers; signature by a trusted key; rate; places; body; its digest."""
        assert self._listener is not None
        count = self._listener.count
        path = PATH.fullmatch(request.raw_path)
        if request.method != "POST" or path is None:
            raise count("route", MeshError("input.not_found", f"only POST {PATH_PREFIX}<route> is answered here"))
        media = request.headers.get("Content-Type", "")
        if not MEDIA_TYPE_OF_BODY.fullmatch(media) or "Content-Encoding" in request.headers:
            raise count(
                "media_type", MeshError("peer.protocol", "the body must be an envelope with its exact media type")
            )
        told = request.headers.get(signed.DIGEST_HEADER, "")
        try:
            node = self._signer(request, media, told)
        except MeshError as error:
            raise count("signature", error) from None
        # One connection of the proxy may carry requests of many peers; it is attributed to the last of them.
        connection.node, connection.key = node, self._trusted[node]
        try:
            place = await self._quota.enter(node)
        except MeshError as error:
            raise count("quota", error, node) from None
        with place:
            body = await self._listener.read_body(request, node=node, bytes_max=request_bytes_max(path[1]))
            if signed.digest(body) != told:
                # The signature covers the digest, and was checked before the body was read.
                raise count("signature", MeshError("peer.signature", "the body differs from the signed one"), node)
            return await self._handle(node, path[1], body)

    def _signer(self, request: web.BaseRequest, media: str, told: str) -> str:
        names = (signed.INPUT_HEADER, signed.SIGNATURE_HEADER, signed.DIGEST_HEADER, "Content-Type")
        if any(len(request.headers.getall(name, [])) != 1 for name in names):
            raise MeshError("peer.signature", "each signed header must occur exactly once")
        return signed.verify(
            request.headers,
            (signed.request(authority, request.raw_path, media, told) for authority in self._authorities),
            key_of=self._trusted.get,
            now_s=int(self._now_s()),
            window=self._window,
        )

    def _sign(self, request: web.BaseRequest, response: web.Response) -> None:
        """Sign an answer. Its signature covers that of the request, if there is one."""
        asked = request.headers.get(signed.SIGNATURE_HEADER, "")
        body = response.body
        assert isinstance(body, bytes)
        told = signed.digest(body)
        message = signed.answer(response.status, response.headers["Content-Type"], told, asked)
        response.headers[signed.DIGEST_HEADER] = told
        response.headers.update(
            signed.sign(
                message,
                key=self._key,
                node=self._identity.node,
                now_s=int(self._now_s()),
                nonce=os.urandom(signed.NONCE_BYTES),
            )
        )


async def _no_tls() -> None:
    """No TLS context: the proxy terminates TLS."""
