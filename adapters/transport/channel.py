"""The TLS channels over which this node calls its peers: one for each peer and certificate, with a session of its own."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from typing import Final

import aiohttp
from yarl import URL

from adapters.ports.transport import PeerAddress
from adapters.transport.tls import answers
from adapters.transport.tls.addresses import open_socket
from adapters.transport.tls.certificates import Credentials, client_context
from adapters.transport.tls.failures import translate
from protocol import limits
from protocol.errors import MeshError

_IDLE_S: Final = limits.KEEPALIVE_TIMEOUT_S / 2
"""How long an idle connection is kept: shorter than on any server, so that no call uses a connection that is closing."""
_ONE_PIECE_BYTES_MAX: Final = 64 * limits.KIB


async def _follow_nothing(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Follow no redirects: a peer must not choose where this node connects."""
    response = await send(request)
    if 300 <= response.status < 400:
        response.close()
        raise MeshError("peer.protocol", "a redirect")
    return response


class Channel:
    """The connection to one peer under one of our certificates: a TLS context and a session of its own.

    Sessions are not shared between peers: a connection pool would hand one peer's connection to another at the same address.
    """

    def __init__(
        self, peer: PeerAddress, credentials: Credentials, connect_timeout_s: float, answer_bytes_max: int
    ) -> None:
        self.node, self.public_key = peer.node, peer.public_key
        self.credentials = credentials
        self._answer_bytes_max = answer_bytes_max
        self.calls = 0
        self.deadlines: set[asyncio.Timeout] = set()
        """Deadlines of the calls in progress; setting one to now ends its call."""
        self.dropped = False
        self.places = asyncio.Semaphore(limits.PEER_CONCURRENT_REQUESTS_MAX)
        connector = aiohttp.TCPConnector(
            ssl=client_context(credentials, peer.node, peer.public_key),
            socket_factory=open_socket,
            limit=0,  # ``places`` counts, so that waiting for a place is not taken for a slow connect
            keepalive_timeout=_IDLE_S,
            use_dns_cache=False,
        )
        self.session = aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=None, connect=connect_timeout_s),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Accept-Encoding": "identity"},
            auto_decompress=False,
            trust_env=False,
            middlewares=(_follow_nothing,),
        )

    async def exchange(self, method: str, url: URL, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        """Send one request and return the status and body of its answer. Errors: ``NotReachedError``, ``LostError``,
        ``MeshError``."""
        try:
            async with self.session.request(
                method, url, data=_payload(body), headers=headers, allow_redirects=False
            ) as response:
                if "Content-Encoding" in response.headers:
                    raise MeshError("peer.protocol", "a compressed answer", peer=self.node)
                if response.headers.get("Content-Type", "") != answers.MEDIA_TYPE:
                    raise MeshError("peer.protocol", "an answer with the wrong media type", peer=self.node)
                return response.status, await self._read(response)
        except aiohttp.ClientError as error:
            raise translate(error, self.node) from error

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        length = response.content_length
        if length is not None and length <= self._answer_bytes_max and response.content.is_eof():
            return response.content.read_nowait()  # it arrived with its header
        answer = bytearray()
        async for chunk in response.content.iter_any():
            answer += chunk
            if len(answer) > self._answer_bytes_max:
                raise MeshError(
                    "peer.protocol", f"an answer of more than {self._answer_bytes_max} bytes", peer=self.node
                )
        return bytes(answer)


class Channels:
    """The channels to all peers. A replaced one is closed once its last call has ended."""

    def __init__(self, credentials: Callable[[], Credentials], connect_timeout_s: float, answer_bytes_max: int) -> None:
        """credentials: gives the current ones of this node. connect_timeout_s: per address."""
        self._credentials = credentials
        self._connect_timeout_s = connect_timeout_s
        self._answer_bytes_max = answer_bytes_max
        self._of: dict[str, Channel] = {}
        self._retired: set[Channel] = set()

    def _new(self, peer: PeerAddress, credentials: Credentials) -> Channel:
        return Channel(peer, credentials, self._connect_timeout_s, self._answer_bytes_max)

    def to(self, peer: PeerAddress) -> Channel:
        """The channel to ``peer``: a new one if its key or our certificate has changed."""
        credentials = self._credentials()
        known = self._of.pop(peer.node, None)
        if known is None or known.credentials is not credentials or known.public_key != peer.public_key:
            self._retire(known)
            known = self._new(peer, credentials)
        self._of[peer.node] = known  # move to the end: the first entry is the least recently used
        if len(self._of) > limits.PEERS_MAX:
            self._retire(self._of.pop(next(iter(self._of))))
        return known

    def for_once(self, peer: PeerAddress, credentials: Credentials) -> Channel:
        """A channel for one call, already counted as in use. ``close_retired`` closes it once the caller has set its calls to 0."""
        channel = self._new(peer, credentials)
        channel.calls = 1
        self._retire(channel)
        return channel

    def probe(self, peer: PeerAddress, like: Channel) -> Channel:
        """A channel like ``like`` with new connections. The caller closes its session."""
        return self._new(peer, like.credentials)

    def _retire(self, channel: Channel | None) -> None:
        if channel is not None:
            self._retired.add(channel)

    async def close_retired(self) -> None:
        """Close the replaced channels whose last call has ended."""
        for channel in [channel for channel in self._retired if not channel.calls]:
            self._retired.discard(channel)
            await channel.session.close()

    async def drop(self, node: str) -> None:
        """End every connection that was opened to ``node``, at once; running calls fail with ``peer.unreachable``."""
        self._retire(self._of.pop(node, None))
        for channel in [channel for channel in self._retired if channel.node == node]:
            channel.dropped = True
            now_s = asyncio.get_running_loop().time()
            for deadline in channel.deadlines:
                # Not by closing the connections: a call on a closed connection would be retried over a new one.
                if not deadline.expired():
                    deadline.reschedule(now_s)
            self._retired.discard(channel)
            await channel.session.close()

    async def close(self) -> None:
        """Close every connection; running calls fail. A second call does nothing."""
        channels = [*self._of.values(), *self._retired]
        self._of.clear()
        self._retired.clear()
        for channel in channels:
            await channel.session.close()


def _payload(body: bytes) -> bytes | io.BytesIO:
    """Small bodies are sent together with their header; large ones in pieces, so that the event loop keeps running."""
    return body if len(body) <= _ONE_PIECE_BYTES_MAX else io.BytesIO(body)
