"""Calls to peers under mutual TLS 1.3. Every failure comes out as a ``MeshError`` that says whose move it is."""

from __future__ import annotations

import asyncio
import functools
import io
import re
import ssl
import time
from collections.abc import Callable
from typing import Final

import aiohttp
from nacl.signing import SigningKey
from yarl import URL

from adapters.ports import PeerAddress
from adapters.transport import answers
from adapters.transport.addresses import ForbiddenAddressError, open_socket
from adapters.transport.certificates import ChannelIdentity, Credentials, client_context, signer_of
from adapters.transport.leaf import fetch_leaf
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.pairing import parse_address

_ROUTE = re.compile(r"[a-z0-9][a-z0-9/_-]{0,127}")
_IDLE_S: Final = limits.KEEPALIVE_TIMEOUT_S / 2
"""How long an idle connection is kept: shorter than any server keeps it, so that calls do not meet a closing one."""
_ONE_PIECE_BYTES_MAX: Final = 64 * limits.KIB


class _NotReachedError(Exception):
    """No request left for this address: the next one may be tried."""

    def __init__(self, error: MeshError) -> None:
        super().__init__(error.code)
        self.error = error


class _LostError(Exception):
    """The connection ended after the request was sent and before an answer came."""


class _Channel:
    """The way to one peer under one of our certificates: a TLS context and a session of its own.

    Sessions are not shared between peers: a connection pool would hand one peer's connection to another at the same
    address.
    """

    def __init__(self, peer: PeerAddress, credentials: Credentials, connect_timeout_s: float) -> None:
        self.public_key = peer.public_key
        self.credentials = credentials
        self.calls = 0
        self.retired = False
        self.places = asyncio.Semaphore(limits.PEER_CONCURRENT_REQUESTS_MAX)
        connector = aiohttp.TCPConnector(
            ssl=client_context(credentials, peer.node, peer.public_key),
            socket_factory=open_socket,
            limit=0,  # ``places`` counts, so that waiting in line is not taken for a slow connect
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
        )


class MeshClient:
    """A ``PeerClient`` on real sockets."""

    def __init__(
        self,
        key: SigningKey,
        *,
        node: str = "",
        now_s: Callable[[], float] = time.time,
        connect_timeout_s: float = limits.CONNECT_TIMEOUT_S,
        request_timeout_s: float = limits.REQUEST_TIMEOUT_S,
        answer_bytes_max: int = limits.PEER_BODY_BYTES_MAX,
    ) -> None:
        """key: the witness key, it signs channel certificates. node: our node id, if it is not that of ``key``.

        connect_timeout_s: per address. request_timeout_s: for a whole call. now_s: seconds since 1970.
        """
        self._identity = ChannelIdentity(key, node=node, now_s=now_s)
        self._now_s = now_s
        self._connect_timeout_s = connect_timeout_s
        self._request_timeout_s = request_timeout_s
        self._answer_bytes_max = answer_bytes_max
        self._channels: dict[str, _Channel] = {}
        self._retired: set[_Channel] = set()

    def renew(self) -> None:
        """Present a new channel certificate from the next call on.

        Done without asking at half of a certificate's life.
        """
        self._identity.renew()

    def rekey(self, key: SigningKey) -> None:
        """Call as the same node under another witness key, from the next call on."""
        self._identity = ChannelIdentity(key, node=self._identity.node, now_s=self._now_s)

    async def look(self, peer: PeerAddress) -> bytes | None:
        """The key under which a node that calls itself ``peer.node`` listens at its addresses; None if there is none.

        Errors: ``peer.unreachable`` when nothing answers at any address.
        """
        reached = False
        for address in peer.addresses[: limits.PEER_ADDRESSES_MAX]:
            try:
                host, port = parse_address(address)
                async with asyncio.timeout(self._connect_timeout_s):
                    leaf = await fetch_leaf(host, port)
                reached = True
                signer = signer_of(leaf, self._now_s())
            except (OSError, TimeoutError, MeshError):
                continue
            if signer.node == peer.node:
                return signer.public_key
        if not reached:
            raise MeshError("peer.unreachable", f"no node answers for {ids.short(peer.node)}", peer=peer.node)
        return None

    async def call(
        self, peer: PeerAddress, route: str, body: bytes, *, content_type: str, timeout_s: float = 0
    ) -> bytes:
        """POST ``body`` to ``/peer/v1/<route>`` of ``peer``; the answer's body.

        Addresses are tried in order until one takes the request; a request that was sent is never sent again.
        timeout_s: for the whole call; 0 for the default.
        Errors: ``input.too_large``, ``input.invalid`` (route), ``peer.unreachable``, ``peer.refused_us``,
        ``peer.identity``, ``peer.protocol``, or the code the peer answered.
        """
        if len(body) > limits.PEER_BODY_BYTES_MAX:
            raise MeshError("input.too_large", f"a body has at most {limits.PEER_BODY_BYTES_MAX} bytes")
        if not _ROUTE.fullmatch(route):
            raise MeshError("input.invalid", "a route has lower case letters, digits, dashes and slashes")
        limit_s = timeout_s or self._request_timeout_s
        channel = await self._channel(peer)
        channel.calls += 1
        try:
            async with asyncio.timeout(limit_s), channel.places:
                return await self._try_addresses(channel, peer, route, body, content_type)
        except TimeoutError as error:
            raise MeshError("peer.unreachable", f"no answer within {limit_s:g} s", peer=peer.node) from error
        finally:
            channel.calls -= 1
            await self._close_retired()

    async def close(self) -> None:
        """Close every connection; calls that run fail. Twice is once."""
        channels = [*self._channels.values(), *self._retired]
        self._channels.clear()
        self._retired.clear()
        for channel in channels:
            await channel.session.close()

    async def _channel(self, peer: PeerAddress) -> _Channel:
        """The channel to ``peer``: a new one if its key or our certificate has changed."""
        credentials = self._identity.credentials()
        known = self._channels.pop(peer.node, None)
        if known is None or known.credentials is not credentials or known.public_key != peer.public_key:
            self._retire(known)
            known = _Channel(peer, credentials, self._connect_timeout_s)
        self._channels[peer.node] = known  # last in order: the first is the one that was not used for longest
        if len(self._channels) > limits.PEERS_MAX:
            self._retire(self._channels.pop(next(iter(self._channels))))
        return known

    def _retire(self, channel: _Channel | None) -> None:
        if channel is not None:
            self._retired.add(channel)

    async def _close_retired(self) -> None:
        """Close the channels that were replaced, once their last call has ended."""
        for channel in [channel for channel in self._retired if not channel.calls]:
            self._retired.discard(channel)
            await channel.session.close()

    async def _try_addresses(
        self, channel: _Channel, peer: PeerAddress, route: str, body: bytes, content_type: str
    ) -> bytes:
        failures: list[MeshError] = []
        for address in peer.addresses[: limits.PEER_ADDRESSES_MAX]:
            try:
                url = _url(address, f"/peer/v1/{route}")
                status, answer = await self._exchange(channel, peer, "POST", url, body, {"Content-Type": content_type})
            except _NotReachedError as missed:
                failures.append(missed.error)
                continue
            except _LostError as lost:
                raise await self._why_lost(channel, peer, url) from lost
            if status == 200:
                return answer
            raise answers.decode_error(answer, peer.node)
        reasons = [f"{error.code}: {error.message}" for error in failures]
        told = next((error for error in failures if error.code != "peer.unreachable"), None)
        if told is not None:
            raise MeshError(told.code, told.message, peer=peer.node, tried=reasons) from told
        message = failures[0].message if failures else f"no address of {ids.short(peer.node)} is known"
        raise MeshError("peer.unreachable", message, peer=peer.node, tried=reasons)

    async def _exchange(
        self, channel: _Channel, peer: PeerAddress, method: str, url: URL, body: bytes, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        """One request, one answer: status and body. Errors: ``_NotReachedError``, ``_LostError``, ``MeshError``."""
        try:
            async with channel.session.request(
                method, url, data=_payload(body), headers=headers, allow_redirects=False
            ) as response:
                if "Content-Encoding" in response.headers:
                    raise MeshError("peer.protocol", "a compressed answer", peer=peer.node)
                return response.status, await self._read(response, peer.node)
        except aiohttp.ClientError as error:
            raise _translate(error, peer.node) from error

    async def _read(self, response: aiohttp.ClientResponse, node: str) -> bytes:
        length = response.content_length
        if length is not None and length <= self._answer_bytes_max and response.content.is_eof():
            return response.content.read_nowait()  # it came along with its header
        answer = bytearray()
        async for chunk in response.content.iter_any():
            answer += chunk
            if len(answer) > self._answer_bytes_max:
                raise MeshError("peer.protocol", f"an answer of more than {self._answer_bytes_max} bytes", peer=node)
        return bytes(answer)

    async def _why_lost(self, channel: _Channel, peer: PeerAddress, url: URL) -> MeshError:
        """Tell a peer that stopped trusting us from one that went away.

        Under TLS 1.3 the client is done before the server has looked at its certificate, so both look alike. A
        request without meaning shows which it is: whoever trusts us answers it, if only to refuse it.
        """
        # On a connection of its own: one from the pool may be as dead as the one that was lost.
        probe = _Channel(peer, channel.credentials, self._connect_timeout_s)
        try:
            await self._exchange(probe, peer, "GET", url, b"", {"Connection": "close"})
        except _LostError:
            return answers.disconnect_reason(peer.node)
        except _NotReachedError as missed:
            return missed.error
        except MeshError:
            pass  # an answer of a wrong form is an answer
        finally:
            await probe.session.close()
        return MeshError(
            "peer.unreachable", "the connection broke during the call; it may have been acted on", peer=peer.node
        )


def _payload(body: bytes) -> bytes | io.BytesIO:
    """Small bodies leave in one piece with their header; large ones are sent in pieces that let the loop turn."""
    return body if len(body) <= _ONE_PIECE_BYTES_MAX else io.BytesIO(body)


@functools.lru_cache(maxsize=limits.PEERS_MAX)
def _url(address: str, path: str) -> URL:
    """Errors: ``_NotReachedError``."""
    try:
        host, port = parse_address(address)
    except MeshError as error:
        raise _NotReachedError(MeshError("peer.unreachable", error.message)) from error
    return URL.build(scheme="https", host=host, port=port, path=path)


def _translate(error: aiohttp.ClientError, node: str) -> Exception:
    """What a failure of aiohttp means. The order matters: its classes derive from each other."""
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return _NotReachedError(_identity_error(error.certificate_error, node))
        case aiohttp.ClientSSLError():
            if isinstance(error.os_error, ssl.SSLEOFError):
                return _NotReachedError(MeshError("peer.unreachable", "the connection ended during the handshake"))
            return _NotReachedError(
                MeshError("peer.protocol", "what listens there does not speak TLS 1.3 as a node does")
            )
        case aiohttp.ClientConnectorError():
            forbidden = isinstance(error.os_error, ForbiddenAddressError)
            reason = str(error.os_error) if forbidden else f"cannot connect to {error.host}:{error.port}"
            return _NotReachedError(MeshError("peer.unreachable", reason))
        case aiohttp.ConnectionTimeoutError():
            return _NotReachedError(MeshError("peer.unreachable", "no connection in time"))
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientOSError() | aiohttp.ClientConnectionResetError():
            return _LostError()
        case aiohttp.ClientPayloadError():
            return MeshError(
                "peer.unreachable", "the answer was cut off; the request may have been acted on", peer=node
            )
        case _:
            return MeshError("peer.protocol", "the answer is not HTTP as a node speaks it", peer=node)


def _identity_error(error: Exception, node: str) -> MeshError:
    code = error.verify_code if isinstance(error, ssl.SSLCertVerificationError) else 0
    if code in (9, 10):  # X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED
        return MeshError(
            "peer.identity", "the peer's certificate is not valid at this time: compare the clocks", peer=node
        )
    return MeshError("peer.identity", f"the node at this address does not hold the key of {ids.short(node)}", peer=node)
