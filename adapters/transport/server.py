"""The listener for peers: answers only ``POST /peer/v1/<route>`` under mutual TLS 1.3."""

from __future__ import annotations

import re
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Final

from aiohttp import web
from nacl.signing import SigningKey

from adapters.ports.transport import PeerHandler
from adapters.transport.held import HeldLink, HeldTable
from adapters.transport.tls import answers
from adapters.transport.tls.bounds import Bounds
from adapters.transport.tls.certificates import CERTIFICATE_LIFE_S, ChannelIdentity, signer_of
from adapters.transport.tls.contexts import Contexts
from adapters.transport.tls.listener import Connection, Listener
from adapters.transport.tls.masks import Masks
from adapters.transport.tls.quota import Quota
from adapters.transport.tls.visitors import VISITOR, VISITOR_KEY, Visitors
from adapters.transport.websocket import HOLD_PATH, accept
from protocol import limits
from protocol.errors import MeshError
from protocol.refusals import Refusals
from protocol.routes import INTRODUCE, request_bytes_max

PATH_PREFIX: Final = "/peer/v1/"
PATH: Final = re.compile(r"/peer/v1/([a-z0-9][a-z0-9/_-]{0,127})")
MEDIA_TYPE_OF_BODY: Final = re.compile(r"application/vnd\.trailmesh\.[a-z0-9._-]{1,64}\+cose")


def url_of(host: str, port: int) -> str:
    """``https://host:port``; an IPv6 host gets brackets."""
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


class MeshServer:
    """A ``PeerServer`` on real sockets. Trusts nobody until ``trust`` is called."""

    def __init__(
        self,
        key: SigningKey,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        node: str = "",
        advertise: str = "",
        bounds: Bounds | None = None,
        now_s: Callable[[], float] = time.time,
        held: HeldTable | None = None,
        certificate_life_s: float = CERTIFICATE_LIFE_S,
        refusals: Refusals | None = None,
    ) -> None:
        """key: the witness key, which signs channel certificates. port: 0 for any free one.

        node: our node id, if it is not that of ``key`` (after a rotation). advertise: the host name for peers, if it is not
        ``host``. now_s: seconds since 1970. held: shares the connections that peers keep open with this node's client.
        refusals: counts refusals.
        """
        self._identity = ChannelIdentity(key, node=node, now_s=now_s, life_s=certificate_life_s)
        self._held = held or HeldTable()
        self._host, self._port, self._advertise = host, port, advertise
        self._now_s = now_s
        self._trusted: dict[str, bytes] = {}
        self._contexts = Contexts(self._identity)
        self._quota = Quota(bounds or Bounds())
        self._visitors = Visitors()
        self._bounds = bounds or Bounds()
        self._handler: PeerHandler | None = None
        self._listener: Listener | None = None
        self._refusals = refusals or Refusals()

    async def start(self, handler: PeerHandler) -> str:
        """Listen. Returns the address for peers. Errors: ``node.address_in_use``, ``config.invalid``."""
        assert self._listener is None, "one start per server"
        self._handler = handler
        listener = Listener(self._answer, context=self._contexts.get, admit=self._admit, bounds=self._bounds)
        listener.refusals = self._refusals
        port = listener.listen(self._host, self._port)
        self._listener = listener
        return url_of(self._advertise or self._host, port)

    def trust(self, keys: Mapping[str, bytes]) -> None:
        """Replace the trust set (node id → public key).

        Connections of removed peers are dropped at once. Connections of peers with a new key may first finish a running answer.
        """
        self._trusted = dict(keys)
        self._contexts.trust(self._trusted)
        self._quota.keep(self._trusted)
        for connection in self._connections():
            if self._trusted.get(connection.node) != connection.key:
                if connection.node in self._trusted:
                    connection.retire()
                else:
                    connection.refuse("revoked")

    def renew(self) -> None:
        """Present a new channel certificate from the next connection on.

        Happens by itself at half of a certificate's life.
        """
        self._identity.renew()

    def rekey(self, key: SigningKey) -> None:
        """Answer as the same node under another witness key, from the next connection on."""
        self._identity = self._identity.under(key)
        self._contexts.rekey(self._identity)

    @property
    def peers(self) -> frozenset[str]:
        """The peers with an open connection to this listener."""
        return frozenset(connection.node for connection in self._connections() if connection.node)

    @property
    def refusals(self) -> Mapping[str, int]:
        """How many connections and requests were refused, by reason."""
        return self._refusals.reasons

    @property
    def held(self) -> frozenset[str]:
        """The peers that keep open a connection over which this node can call them."""
        return self._held.nodes

    async def close(self) -> None:
        """Stop listening and drop every connection. A second call does nothing."""
        self._held.close()
        if self._listener is not None:
            await self._listener.stop()
        await self._contexts.close()

    def _connections(self) -> list[Connection]:
        """The open connections of peers, without visitors."""
        if self._listener is None:
            return []
        open_now = [connection for connection in self._listener.connections if isinstance(connection, Connection)]
        return [connection for connection in open_now if not connection.visitor]

    def _admit(self, connection: Connection, channel: ssl.SSLObject) -> str:
        """Identify the peer of a connection. Returns the reason to drop it, or an empty text.

        OpenSSL verified it against the earlier trust set; this checks the current one.
        """
        leaf = channel.getpeercert(True)
        if not leaf:
            return "anonymous"
        try:
            signer = signer_of(leaf, self._now_s())
        except MeshError:
            return "signer"
        if (signer.node, signer.public_key) == (VISITOR, VISITOR_KEY):
            return self._let_in(connection)
        if self._trusted.get(signer.node) != signer.public_key:
            return "unknown"
        connection.node, connection.key, connection.expires_s = signer.node, signer.public_key, signer.expires_s
        return ""

    def _let_in(self, connection: Connection) -> str:
        """Admit an unknown caller if there are few of them. Returns the reason to drop it, or an empty text."""
        if not self._visitors.enter(connection.origin):
            return "visitors"
        connection.visitor = True
        # However the connection ends: a place that is not given back would be lost until the node restarts.
        connection.lost.add_done_callback(lambda _: self._visitors.leave(connection.origin))
        return ""

    def _still_trusted(self, connection: Connection) -> bool:
        return (
            connection.key != b""
            and self._trusted.get(connection.node) == connection.key
            and self._now_s() < connection.expires_s
        )

    async def _answer(self, connection: Connection, request: web.BaseRequest) -> bytes | web.StreamResponse:
        """Checks, in order: still trusted; method and path; headers; rate; places; body. Then the handler decides."""
        assert self._listener is not None
        if connection.visitor:
            return await self._hear_visitor(connection, request)
        # Checked again for every request: the connection may be older than the last change of the trust set.
        if not self._still_trusted(connection):
            connection.refuse("revoked")
            raise MeshError("peer.unknown")
        count, node = self._listener.count, connection.node
        if request.method == "GET" and request.raw_path == HOLD_PATH:
            return await self._hold(connection, request)
        path = PATH.fullmatch(request.raw_path)
        if request.method != "POST" or path is None:
            raise count("route", MeshError("input.not_found", f"only POST {PATH_PREFIX}<route> is answered here"), node)
        if (
            not MEDIA_TYPE_OF_BODY.fullmatch(request.headers.get("Content-Type", ""))
            or "Content-Encoding" in request.headers
        ):
            raise count(
                "media_type",
                MeshError("peer.protocol", "the body must be an uncompressed envelope with its exact media type"),
                node,
            )
        if not request.body_exists and "Content-Length" not in request.headers:
            raise count("length", MeshError("peer.protocol", "a request must have a Content-Length"), node)
        try:
            place = await self._quota.enter(node)
        except MeshError as error:
            raise count("quota", error, node) from None
        with place:
            return await self._handle(
                node, path[1], await self._listener.read_body(request, node=node, bytes_max=request_bytes_max(path[1]))
            )

    async def _hear_visitor(self, connection: Connection, request: web.BaseRequest) -> bytes:
        """Checks, in order: method, path and headers; body. Then the handler decides, and the caller learns only if it accepted."""
        assert self._listener is not None and self._handler is not None
        if (
            (request.method, request.raw_path) != ("POST", PATH_PREFIX + INTRODUCE)
            or not MEDIA_TYPE_OF_BODY.fullmatch(request.headers.get("Content-Type", ""))
            or "Content-Encoding" in request.headers
        ):
            connection.refuse("visitor")
            raise MeshError("peer.unknown")
        body = await self._listener.read_body(
            request, bytes_max=limits.KEYS_MESSAGE_BYTES_MAX, timeout_s=limits.VISITOR_TIMEOUT_S
        )
        return await answers.introduced(self._handler, body)

    async def _handle(self, node: str, route: str, body: bytes) -> bytes:
        assert self._handler is not None
        return await answers.guarded(self._handler, node, route, body)

    async def _hold(self, connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        """Keep this connection for calls to the peer, until either side ends it.

        Checks, in order: rate; the handshake of a WebSocket. A held connection takes no place among concurrent requests.
        """
        assert self._listener is not None
        count, node = self._listener.count, connection.node
        try:
            # It counts towards the rate only: a connection that stays open for days would keep its place for as long.
            with await self._quota.enter(node):
                pass
        except MeshError as error:
            raise count("quota", error, node) from None
        # Before the handshake is answered, because frames may already follow.
        connection.masks = Masks()
        try:
            pipe, response = await accept(request, self._bounds.held_keepalive_s)
        except MeshError as error:
            raise count("route", error, node) from None
        assert connection.link is not None
        link = HeldLink(
            node,
            pipe,
            abort=connection.link.abort,
            usable=lambda: self._still_trusted(connection),
            bounds=self._bounds,
        )
        if reason := await self._held.attend(link):
            self._refusals.count(reason, node=node)
        return response
