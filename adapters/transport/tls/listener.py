"""A TLS listener that withstands hostile clients: every wait has a deadline, and every count has a limit.

aiohttp has no such limits between accept and handler, so connections are accepted here. They are counted before the handshake,
the handshake has a deadline, and the certificate is checked. Only then is a connection passed to aiohttp. The TLS context is
chosen for each connection, which makes a change of the trust set one assignment (a context swapped by SNI callback keeps the
``verify_mode`` of the first one, and lets anonymous clients in).
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, cast

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from adapters.transport.tls import answers
from adapters.transport.tls.bounds import Bounds
from adapters.transport.tls.masks import Masks
from protocol.errors import MeshError
from protocol.refusals import Refusals

_ACCEPT_PAUSE_S: Final = 0.2
_TLS_CLOSE_TIMEOUT_S: Final = 1.0
_LINGER_S: Final = 1.0
_GRACE_S: Final = 1.0
_BACKLOG: Final = 128


class _ClosedOnce:
    """The transport given to aiohttp: it closes once, even if told to repeatedly.

    asyncio's TLS transport loses its connection when it is closed again, or closed after the other side has. Its ``abort`` then
    does nothing, and raises ``AttributeError`` on Python 3.11.2; the socket would stay open.
    """

    def __init__(self, link: asyncio.Transport, closing: Callable[[], None]) -> None:
        self._link = link
        self._closing = closing

    def __getattr__(self, name: str) -> Any:
        return getattr(self._link, name)

    def close(self) -> None:
        self._closing()
        if not self._link.is_closing():
            self._link.close()


class Connection(web.RequestHandler):
    """One connection after its handshake. ``admit`` identifies its node."""

    node: str = ""
    key: bytes = b""
    expires_s: float = 0.0
    """Expiry of its certificate."""
    visitor: bool = False
    """True if the caller is unknown; the connection then ends after the first answer."""

    def __init__(self, listener: Listener, origin: str) -> None:
        """origin: the address that counts as its source."""
        super().__init__(
            listener,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=listener.bounds.keepalive_timeout_s,
            lingering_time=_LINGER_S,
            access_log=None,  # type: ignore[arg-type]  # None means no log; the annotation does not say so
            auto_decompress=False,
        )
        self._listener = listener
        self.origin = self.counted = origin
        self.retired = False
        """True if it ends after the current answer."""
        self.masks: Masks | None = None
        """Follows the frames of a held connection."""
        self._header_timer: asyncio.TimerHandle | None = None
        self._end_timer: asyncio.TimerHandle | None = None
        self._in_request = False
        self._refused = False
        self.link: asyncio.Transport | None = None
        self.lost = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.link = transport
        super().connection_made(cast(asyncio.Transport, _ClosedOnce(transport, self._expect_end)))
        self._expect_header()
        reason = self._listener.admit(self, transport.get_extra_info("ssl_object")) or self._listener.known(self)
        if reason:
            self.refuse(reason)

    def data_received(self, data: bytes) -> None:
        if self.masks is not None and not self.masks.follow(data):
            self.refuse("frame")
            return
        # The first byte of a request starts its clock; between requests only the keep-alive timeout runs.
        if not self._in_request and self._header_timer is None:
            self._expect_header()
        super().data_received(data)

    def eof_received(self) -> None:
        super().eof_received()
        self._expect_end()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._stop_timer()
        if self._end_timer is not None:
            self._end_timer.cancel()
        super().connection_lost(exc)
        if not self.lost.done():
            self.lost.set_result(None)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        # Malformed HTTP is counted and gets no answer: the answer and log line of aiohttp would repeat the input.
        if isinstance(exc, HttpProcessingError | ConnectionError):
            self.refuse("http")
            raise ConnectionError("not HTTP as nodes speak it")
        return super().handle_error(request, status, exc, message)

    def request_begins(self) -> None:
        """The header is complete."""
        self._in_request = True
        self._stop_timer()

    def request_ends(self) -> None:
        """The answer is written."""
        self._in_request = False

    def refuse(self, reason: str) -> None:
        """Count ``reason`` and silently drop the connection. A second call does nothing."""
        if self._refused:
            return
        self._refused = True
        self._listener.refusals.count(reason, node=self.node)
        if self.link is not None:
            self.link.abort()

    def retire(self) -> None:
        """Drop the connection, whose peer has a new key; a running answer is still sent.

        It may be the answer to the message that brought the new key.
        """
        if self._in_request and self.masks is None:
            self.retired = True
        else:
            self.refuse("revoked")

    def _expect_header(self) -> None:
        loop = asyncio.get_running_loop()
        self._header_timer = loop.call_later(self._listener.bounds.header_timeout_s, self.refuse, "header_timeout")

    def _expect_end(self) -> None:
        # close() waits until the other side has read all data, perhaps for ever; so abort.
        if self._end_timer is None and not self.lost.done():
            loop = asyncio.get_running_loop()
            self._end_timer = loop.call_later(self._listener.bounds.body_timeout_s, self.refuse, "answer_timeout")

    def _stop_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None


Answer = Callable[[Connection, web.BaseRequest], Awaitable[bytes | web.StreamResponse]]
"""Answers one request: with a body, or with a response that has already been sent. Raises ``MeshError`` to refuse it."""
Finish = Callable[[web.BaseRequest, web.Response], None]
"""Can change an answer before it is sent."""
Admit = Callable[[Connection, ssl.SSLObject], str]
"""Checks a connection after its handshake: returns an empty text to admit it, or the reason to close it."""


class Listener(web.Server):
    """A listening socket and the connections that came in through it."""

    def __init__(
        self,
        answer: Answer,
        *,
        context: Callable[[], Awaitable[ssl.SSLContext | None]],
        admit: Admit,
        bounds: Bounds,
        finish: Finish = lambda *_: None,
    ) -> None:
        """context: called for every new connection; it gives None if a proxy terminates TLS."""
        super().__init__(self._respond)
        self._answer = answer
        self._context = context
        self.admit = admit
        self.bounds = bounds
        self._finish = finish
        self.refusals = Refusals()
        self._per_address: Counter[str] = Counter()
        """Connections by address, or by node id once the peer is identified."""
        self._socket: socket.socket | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._pause: asyncio.TimerHandle | None = None

    def listen(self, host: str, port: int) -> int:
        """Start listening. Returns the port. Errors: ``node.address_in_use``, ``config.invalid``."""
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            both = host == "::" and socket.has_dualstack_ipv6()  # "everywhere" means IPv4 as well
            self._socket = socket.create_server((host, port), family=family, backlog=_BACKLOG, dualstack_ipv6=both)
        except OSError as error:
            taken = error.errno in (errno.EADDRINUSE, errno.EACCES)
            raise MeshError(
                "node.address_in_use" if taken else "config.invalid", f"cannot listen on {host}:{port}"
            ) from error
        self._socket.setblocking(False)
        self._watch()
        return int(self._socket.getsockname()[1])

    async def stop(self) -> None:
        """Stop listening, give running requests a moment, then drop every connection. A second call does nothing."""
        if self._pause is not None:
            self._pause.cancel()
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._socket = None
        self.pre_shutdown()
        await self.shutdown(_GRACE_S)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _watch(self) -> None:
        """Accept waiting connections.

        Not by ``loop.sock_accept``: if it is cancelled just when a connection arrives, it loses the socket.
        """
        asyncio.get_running_loop().add_reader(cast(socket.socket, self._socket), self._accept)

    def _accept(self) -> None:
        assert self._socket is not None
        loop = asyncio.get_running_loop()
        try:
            sock, address = self._socket.accept()
        except BlockingIOError:
            return  # the client went away in the queue
        except OSError:
            # For example, no file descriptors are left. This must neither end the listener nor cause a busy loop.
            self.refusals.count("accept")
            loop.remove_reader(self._socket)
            self._pause = loop.call_later(_ACCEPT_PAUSE_S, self._watch)
            return
        sock.setblocking(False)
        origin = _origin(str(address[0]))
        if len(self._tasks) >= self.bounds.connections_max:
            self.refusals.count("connections_total")
            sock.close()
        elif self._per_address[origin] >= self.bounds.connections_per_address_max:
            self.refusals.count("connections_per_address")
            sock.close()
        else:
            self._per_address[origin] += 1
            connection = Connection(self, origin)
            task = loop.create_task(self._attend(sock, connection))
            self._tasks.add(task)
            task.add_done_callback(partial(self._over, sock, connection))

    async def _attend(self, sock: socket.socket, connection: Connection) -> None:
        """Shake hands on ``sock`` and count the connection until it is closed."""
        try:
            # Also within a deadline: building a context for a large trust set must not keep the place for ever.
            async with asyncio.timeout(self.bounds.handshake_timeout_s):
                context = await self._context()
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: connection,
                sock,
                ssl=context,
                ssl_handshake_timeout=self.bounds.handshake_timeout_s if context else None,
                ssl_shutdown_timeout=_TLS_CLOSE_TIMEOUT_S if context else None,
            )
            await connection.lost
        except OSError as error:
            self.refusals.count(_handshake_failure(error))
        finally:
            if connection.link is not None:
                connection.link.abort()

    def _over(self, sock: socket.socket, connection: Connection, task: asyncio.Task[None]) -> None:
        """Clean up an accepted connection, even if ``task`` was cancelled before its first step."""
        # asyncio calls back in order, so an aborted transport has closed its socket by now. Sockets without a transport
        # are closed here.
        sock.close()
        self._tasks.discard(task)
        self._uncount(connection.counted)

    def known(self, connection: Connection) -> str:
        """Count an admitted connection for its peer instead of its address. Returns the reason to drop it, if there is one.

        So connections of one peer take no place from another at the same address.
        """
        if not connection.node:
            return ""
        self._uncount(connection.counted)
        connection.counted = connection.node
        self._per_address[connection.node] += 1
        return (
            "connections_per_peer" if self._per_address[connection.node] > self.bounds.connections_per_peer_max else ""
        )

    def _uncount(self, whose: str) -> None:
        self._per_address[whose] -= 1
        if not self._per_address[whose]:
            del self._per_address[whose]

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        connection = request.protocol
        assert isinstance(connection, Connection)
        connection.request_begins()
        try:
            try:
                answer = await self._answer(connection, request)
                if isinstance(answer, web.StreamResponse):
                    return answer
                response = web.Response(body=answer, content_type=answers.MEDIA_TYPE)
            except MeshError as error:
                response = web.Response(
                    body=answers.encode_error(error), status=answers.status_of(error), content_type=answers.MEDIA_TYPE
                )
            self._finish(request, response)
            whole = request.content.is_eof()
            if not whole or connection.visitor or connection.retired:
                response.force_close()  # the rest of this body would be parsed as the next request
            loop = asyncio.get_running_loop()
            timer = loop.call_later(self.bounds.body_timeout_s, connection.refuse, "answer_timeout")
            try:
                await response.prepare(request)
                await response.write_eof()
            finally:
                timer.cancel()
        except (web.RequestPayloadError, ConnectionError):
            connection.refuse("request_broken")
            return web.Response()  # the client has gone
        else:
            if whole:
                connection.request_ends()
        return response

    def count(self, reason: str, error: MeshError, node: str = "") -> MeshError:
        """Count ``error`` as ``reason`` and return it. node: the refused peer, if known."""
        self.refusals.count(reason, node=node, code=error.code)
        return error

    async def read_body(
        self, request: web.BaseRequest, *, node: str = "", bytes_max: int = 0, timeout_s: float = 0
    ) -> bytes:
        """The whole body, within its limits of size and time.

        node: its sender, if known. bytes_max, timeout_s: lower limits than the listener's. Errors: ``peer.limit``,
        ``input.too_large``.
        """
        size_max = min(bytes_max or self.bounds.body_bytes_max, self.bounds.body_bytes_max)
        too_large = f"a body can have at most {size_max} bytes"
        if (request.content_length or 0) > size_max:
            raise self.count("body_size", MeshError("input.too_large", too_large), node)
        if request.content_length is not None and request.content.is_eof():
            return request.content.read_nowait()  # it arrived with its header: no need to wait
        body = bytearray()
        try:
            async with asyncio.timeout(timeout_s or self.bounds.body_timeout_s):
                async for chunk in request.content.iter_any():
                    body += chunk
                    if len(body) > size_max:
                        raise self.count("body_size", MeshError("input.too_large", too_large), node)
        except TimeoutError as error:
            raise self.count("body_timeout", MeshError("peer.limit", "the body took too long"), node) from error
        return bytes(body)


def _origin(host: str) -> str:
    """The address unit to count by: an IPv4 address, or the /64 that an IPv6 user owns."""
    address = ipaddress.ip_address(host.partition("%")[0])
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    return str(address.ipv4_mapped or ipaddress.IPv6Network((int(address), 64), strict=False))


def _handshake_failure(error: OSError) -> str:
    """The reason of a failed handshake, for the counts."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return "certificate"
    if isinstance(error, ssl.SSLError):
        known = {"PEER_DID_NOT_RETURN_A_CERTIFICATE": "no_certificate", "UNSUPPORTED_PROTOCOL": "tls_version"}
        return known.get(error.reason or "", "tls")
    return "handshake_timeout" if isinstance(error, ConnectionAbortedError) else "handshake_broken"
