"""Calls to peers under mutual TLS 1.3. Every failure is raised as a ``MeshError`` that names who has to act."""

from __future__ import annotations

import asyncio
import functools
import re
import time
from collections.abc import Callable
from typing import NoReturn

import aiohttp
from nacl.signing import SigningKey
from yarl import URL

from adapters.ports.transport import PeerAddress, PeerHandler
from adapters.transport.channel import Channel, Channels
from adapters.transport.held import Answering, HeldTable
from adapters.transport.signed_client import SignedCalls
from adapters.transport.tls import answers
from adapters.transport.tls.bounds import Bounds
from adapters.transport.tls.certificates import (
    CERTIFICATE_LIFE_S,
    ChannelIdentity,
    Credentials,
    clock_apart_s,
    signer_of,
)
from adapters.transport.tls.failures import LostError, NotReachedError, may_have_been_acted_on, not_reached, translate
from adapters.transport.tls.leaf import fetch_leaf
from adapters.transport.tls.visitors import visitor
from adapters.transport.ways import HELD, Ways
from adapters.transport.websocket import HOLD_PATH, WebSocketPipe, connect
from protocol import limits
from protocol.errors import MeshError
from protocol.ids import short
from protocol.messages import KIND_MESSAGE
from protocol.refusals import Refusals
from protocol.routes import INTRODUCE
from protocol.wire.address import parse_peer_address
from protocol.wire.clocks import apart_in_words
from protocol.wire.envelope import content_type

_ROUTE = re.compile(r"[a-z0-9][a-z0-9/_-]{0,127}")


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
        held: HeldTable | None = None,
        bounds: Bounds | None = None,
        certificate_life_s: float = CERTIFICATE_LIFE_S,
        ca_file: str = "",
        refusals: Refusals | None = None,
    ) -> None:
        """key: the witness key, which signs channel certificates. node: our node id, if it is not that of ``key``.

        connect_timeout_s: per address. request_timeout_s: for a whole call. now_s: seconds since 1970. held: the connections
        that peers keep open to this node's server. bounds: limits of calls over held connections. ca_file: PEM of authorities
        of proxies, for signed HTTP. refusals: counts refused calls over held connections.
        """
        self._identity = ChannelIdentity(key, node=node, now_s=now_s, life_s=certificate_life_s)
        self._visitor = visitor(now_s)
        self._now_s = now_s
        self._held = held or HeldTable()
        self._bounds = bounds or Bounds()
        self._answering = Answering(self._bounds, refusals)
        self._ways = Ways()
        self._signed = SignedCalls(
            key, self._identity.node, now_s=now_s, ca_file=ca_file, connect_timeout_s=connect_timeout_s
        )
        self._connect_timeout_s = connect_timeout_s
        self._request_timeout_s = request_timeout_s
        self._channels = Channels(lambda: self._identity.credentials(), connect_timeout_s, answer_bytes_max)

    def renew(self) -> None:
        """Present a new channel certificate from the next call on.

        Happens by itself at half of a certificate's life.
        """
        self._identity.renew()

    def rekey(self, key: SigningKey) -> None:
        """Call as the same node under another witness key, from the next call on."""
        self._identity = self._identity.under(key)
        self._signed.rekey(key)

    async def look(self, peer: PeerAddress) -> tuple[bytes, ...]:
        """The keys of the nodes that listen as ``peer.node`` at its addresses, in the order of these.

        Errors: ``peer.unreachable`` if no address answers.
        """
        reached, shown = False, list[bytes]()
        for address in peer.addresses[: limits.PEER_ADDRESSES_MAX]:
            try:
                host, port, signed = _parse(address)
                if signed:  # that certificate is the proxy's
                    continue
                async with asyncio.timeout(self._connect_timeout_s):
                    leaf = await fetch_leaf(host, port)
                reached = True
                signer = signer_of(leaf, self._now_s())
            except (OSError, NotReachedError, MeshError):
                continue
            if signer.node == peer.node:
                shown.append(signer.public_key)
                if signer.public_key == peer.public_key:
                    break
        if not reached:
            raise MeshError(
                "peer.unreachable", f"no node answers at the addresses of {short(peer.node)}", peer=peer.node
            )
        return tuple(dict.fromkeys(shown))

    async def introduce(self, peer: PeerAddress, body: bytes) -> None:
        """As ``PeerClient.introduce``: over the first address that accepts it; never through a proxy, which does not know us
        either."""
        channel = self._channels.for_once(peer, self._visitor.credentials())
        missed: list[MeshError] = []
        try:
            async with asyncio.timeout(self._request_timeout_s) as deadline:
                channel.deadlines.add(deadline)
                for address in peer.addresses[: limits.PEER_ADDRESSES_MAX]:
                    try:
                        return await self._show(channel, peer, address, body)
                    except NotReachedError as error:
                        missed.append(error.error)
                    except LostError:
                        missed.append(answers.disconnect_reason(peer.node))
        except TimeoutError as error:
            raise MeshError("peer.unreachable", "no answer in time", peer=peer.node) from error
        finally:
            channel.calls = 0
            await self._channels.close_retired()
        raise not_reached(peer.node, missed)

    async def _show(self, channel: Channel, peer: PeerAddress, address: str, body: bytes) -> None:
        """One try of ``introduce``. Errors: ``NotReachedError``, ``LostError``, ``MeshError``."""
        host, port, signed = _parse(address)
        if signed:
            raise NotReachedError(MeshError("peer.unreachable", "a key log cannot be presented through a proxy"))
        url, headers = _url(host, port, f"/peer/v1/{INTRODUCE}"), {"Content-Type": content_type(KIND_MESSAGE)}
        status, answer = await channel.exchange("POST", url, body, headers)
        if status != 200:
            raise answers.decode_error(answer, peer.node)

    async def call(
        self, peer: PeerAddress, route: str, body: bytes, *, content_type: str, timeout_s: float = 0
    ) -> bytes:
        """POST ``body`` to ``/peer/v1/<route>`` of ``peer``. Returns the body of the answer.

        Ways are tried in order until one takes the request: the one that worked last time, the addresses, then a connection the
        peer keeps open. A request that was sent is never sent again. timeout_s: for the whole call; 0 for the default. Errors:
        ``input.too_large``, ``input.invalid`` (route), ``peer.unreachable``, ``peer.refused_us``, ``peer.identity``,
        ``peer.clock``, ``peer.protocol``, or the code the peer answered.
        """
        if len(body) > limits.PEER_BODY_BYTES_MAX:
            raise MeshError("input.too_large", f"a body can have at most {limits.PEER_BODY_BYTES_MAX} bytes")
        if not _ROUTE.fullmatch(route):
            raise MeshError("input.invalid", "a route may contain only lower-case letters, digits, dashes and slashes")
        limit_s = timeout_s or self._request_timeout_s
        channel = self._channels.to(peer)
        # Counted, so that a replaced channel is closed only once it is unused.
        channel.calls += 1
        deadline = asyncio.timeout(limit_s)
        try:
            async with deadline:
                channel.deadlines.add(deadline)
                async with channel.places:
                    return await self._try_ways(channel, peer, route, body, content_type)
        except TimeoutError as error:
            why = "its connections were dropped" if channel.dropped else f"no answer within {limit_s:g} s"
            raise MeshError("peer.unreachable", why, peer=peer.node) from error
        finally:
            channel.deadlines.discard(deadline)
            channel.calls -= 1
            await self._channels.close_retired()

    def way(self, node: str) -> str:
        """The address that took the last call to ``node``, or ``held``; empty if none did."""
        return self._ways.last(node)

    async def hold(self, peer: PeerAddress, handler: PeerHandler, *, opened: Callable[[], None]) -> NoReturn:
        """Keep a connection to ``peer`` open over which it calls us; ends only with an error, or when cancelled.

        A renewed certificate opens the next connection before the peer closes the last one. opened: called whenever a
        connection is open. handler: answers as for our own listener. Errors: those of ``call``; ``peer.unreachable`` if the
        connection has ended.
        """
        serving: set[asyncio.Task[MeshError]] = set()
        newest: asyncio.Task[MeshError] | None = None
        used: Credentials | None = None
        try:
            while True:
                credentials = self._identity.credentials()
                if credentials is not used:
                    try:
                        newest = await self._open_hold(peer, handler)
                    except MeshError:
                        # A working connection is kept, and the new certificate is tried again later: half of its life is left.
                        if newest is None:
                            raise
                    else:
                        used = credentials
                        serving.add(newest)
                        newest.add_done_callback(serving.discard)
                        opened()
                assert newest is not None
                await asyncio.wait({newest}, timeout=self._bounds.held_keepalive_s)
                if newest.done():
                    raise newest.result()
        finally:
            for task in serving:
                task.cancel()
            await asyncio.gather(*serving, return_exceptions=True)
            await self._channels.close_retired()

    async def drop(self, node: str) -> None:
        """End every connection that was opened to ``node``, at once; running calls fail with ``peer.unreachable``."""
        await self._channels.drop(node)

    async def close(self) -> None:
        """Close every connection; running calls fail. A second call does nothing."""
        await self._answering.close()
        await self._signed.close()
        await self._channels.close()

    async def _try_ways(self, channel: Channel, peer: PeerAddress, route: str, body: bytes, content_type: str) -> bytes:
        missed: list[MeshError] = []
        for way in self._ways.order(peer.node, peer.addresses, held=self._held.has(peer.node)):
            try:
                if way == HELD:
                    answer = await self._held.call(peer.node, route, content_type, body)
                else:
                    answer = await self._post(channel, peer, way, route, body, content_type)
            except NotReachedError as error:
                missed.append(error.error)
                continue
            except LostError as lost:
                # It was sent, so no other way is tried: the peer might act on it twice.
                raise may_have_been_acted_on(peer.node) from lost
            self._ways.took(peer.node, way)
            return answer
        raise not_reached(peer.node, missed)

    async def _post(
        self, channel: Channel, peer: PeerAddress, address: str, route: str, body: bytes, content_type: str
    ) -> bytes:
        host, port, signed = _parse(address)
        path = f"/peer/v1/{route}"
        if signed:
            status, answer = await self._signed.post(peer, host, port, path, body, content_type)
            if status == 200:
                return answer
            raise answers.decode_error(answer, peer.node)
        url = _url(host, port, path)
        try:
            status, answer = await channel.exchange("POST", url, body, {"Content-Type": content_type})
        except NotReachedError as missed:
            raise NotReachedError(
                await self._clock_error(peer, url) or missed.error if missed.clock else missed.error
            ) from missed
        except LostError as lost:
            raise await self._why_lost(channel, peer, url) from lost
        if status == 200:
            return answer
        raise answers.decode_error(answer, peer.node)

    async def _open_hold(self, peer: PeerAddress, handler: PeerHandler) -> asyncio.Task[MeshError]:
        """A connection for calls of ``peer``, over the first address that accepts it, and the task that answers them."""
        channel = self._channels.to(peer)
        channel.calls += 1
        try:
            pipe = await self._connect_hold(channel, peer)
        except BaseException:
            channel.calls -= 1
            raise
        task = asyncio.create_task(self._answering.serve(peer.node, pipe, handler))

        # The connection belongs to the session of its channel, which must not be closed before it has ended.
        def over(_: asyncio.Task[MeshError]) -> None:
            channel.calls -= 1

        task.add_done_callback(over)
        return task

    async def _connect_hold(self, channel: Channel, peer: PeerAddress) -> WebSocketPipe:
        missed: list[MeshError] = []
        for address in self._ways.order(peer.node, peer.addresses, held=False):
            try:
                host, port, signed = _parse(address)
                if signed:
                    missed.append(MeshError("peer.unreachable", "no connection can be held open through a proxy"))
                    continue
                url = URL.build(scheme="https", host=host, port=port, path=HOLD_PATH)
                async with asyncio.timeout(self._request_timeout_s):
                    pipe = await connect(channel.session, url, self._bounds.held_keepalive_s)
            except NotReachedError as error:
                missed.append(error.error)
            except TimeoutError:
                missed.append(MeshError("peer.unreachable", "no answer in time"))
            except aiohttp.ClientError as error:
                meaning = translate(error, peer.node)
                if isinstance(meaning, LostError):
                    meaning = await self._why_lost(channel, peer, url)
                if not isinstance(meaning, NotReachedError):
                    raise meaning from error
                missed.append(await self._clock_error(peer, url) or meaning.error if meaning.clock else meaning.error)
            else:
                self._ways.took(peer.node, address)
                return pipe
        raise not_reached(peer.node, missed)

    async def _why_lost(self, channel: Channel, peer: PeerAddress, url: URL) -> MeshError:
        """Distinguish a peer that no longer trusts this node from a peer that went away.

        Under TLS 1.3 the client's handshake ends before the server has checked its certificate, so both look alike. A
        meaningless request tells them apart: a peer that trusts us answers it, if only to refuse it.
        """
        # On a new connection, because another one from the pool may be dead too.
        probe = self._channels.probe(peer, channel)
        try:
            await probe.exchange("GET", url, b"", {"Connection": "close"})
        except LostError:
            # If the clocks are too far apart, the peer refuses our certificate because of its validity times.
            return await self._clock_error(peer, url) or answers.disconnect_reason(peer.node)
        except NotReachedError as missed:
            return missed.error
        except MeshError:
            pass  # a malformed answer is still an answer, so the peer is reachable
        finally:
            await probe.session.close()
        return may_have_been_acted_on(peer.node)

    async def _clock_error(self, peer: PeerAddress, url: URL) -> MeshError | None:
        """The error of the peer's clock, if the times of its certificate differ by more than the allowed skew."""
        assert url.host is not None
        try:
            async with asyncio.timeout(self._connect_timeout_s):
                leaf = await fetch_leaf(url.host, url.port or 443)
            apart_s = clock_apart_s(leaf, peer.node, peer.public_key, self._now_s())
        except (OSError, MeshError):
            return None
        if abs(apart_s) <= limits.CLOCK_SKEW_S:
            return None
        words = apart_in_words(short(peer.node), apart_s * 1000, at_least=True)
        return MeshError("peer.clock", words, peer=peer.node, apart_s=apart_s)


@functools.lru_cache(maxsize=limits.PEERS_MAX)
def _url(host: str, port: int, path: str) -> URL:
    return URL.build(scheme="https", host=host, port=port, path=path)


@functools.lru_cache(maxsize=limits.PEERS_MAX)
def _parse(address: str) -> tuple[str, int, bool]:
    """Host, port, and True if the address is for signed HTTP. Errors: ``NotReachedError``."""
    try:
        return parse_peer_address(address)
    except MeshError as error:
        raise NotReachedError(MeshError("peer.unreachable", error.message)) from error
