"""Held connections: calls to a node over a connection that this node itself opened and keeps open.

The *holder* opens the connection, like any other under mutual TLS, and answers; the *acceptor* calls. There is one connection
for each holder. A new one replaces the old one, which ends once its last call is answered, so that a certificate can be renewed
without a gap.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Protocol

from adapters.ports.transport import PeerHandler
from adapters.transport.tls import answers
from adapters.transport.tls.bounds import Bounds
from adapters.transport.tls.failures import LostError, NotReachedError
from adapters.transport.tls.quota import Quota
from protocol import limits
from protocol.errors import MeshError
from protocol.refusals import Refusals
from protocol.routes import request_bytes_max
from protocol.wire import frames
from protocol.wire.frames import AnswerFrame, CallFrame


class EndedError(Exception):
    """The connection has ended, on either side."""


class Pipe(Protocol):
    """One end of an open connection that carries frames and pieces of bodies, whole and in order."""

    async def send(self, data: bytes) -> None:
        """Send ``data``. Errors: ``EndedError``."""

    async def receive(self) -> bytes:
        """The next frame or piece. Errors: ``EndedError``."""

    async def close(self) -> None:
        """End the connection. Never raises; a second call does nothing."""


async def _send_whole(pipe: Pipe, frame: CallFrame | AnswerFrame, body: bytes) -> None:
    """Send a frame and its body; nobody else may send meanwhile. Errors: ``EndedError``."""
    await pipe.send(frames.encode(frame))
    for piece in frames.pieces(body):
        await pipe.send(piece)


async def _receive_body(pipe: Pipe, size: int, timeout_s: float) -> bytes:
    """The ``size`` bytes that follow a frame. Errors: ``EndedError``, ``message.invalid``, ``peer.limit`` (too slow)."""
    body = bytearray()
    try:
        async with asyncio.timeout(timeout_s):
            left = size
            while left:
                piece = await pipe.receive()
                left = frames.check_piece(piece, left)
                body += piece
    except TimeoutError as error:
        raise MeshError("peer.limit", "a body took too long") from error
    return bytes(body)


class HeldLink:
    """The acceptor's end: calls ``node``."""

    def __init__(
        self, node: str, pipe: Pipe, *, abort: Callable[[], None], usable: Callable[[], bool], bounds: Bounds
    ) -> None:
        """abort: drops the connection at once. usable: asked before each call if the holder is still trusted."""
        self.node = node
        self._pipe, self._abort, self._usable, self._bounds = pipe, abort, usable, bounds
        self._places = asyncio.Semaphore(bounds.concurrent_requests_max)
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[tuple[bool, bytes]]] = {}
        self._sending = asyncio.Lock()
        self._retired = self._ended = False

    @property
    def live(self) -> bool:
        """True if it takes calls. Asking drops a connection that is no longer trusted."""
        if not self._ended and not self._usable():
            self.end()
        return not self._ended and not self._retired

    def retire(self) -> None:
        """Take no more calls, and end after the last answer."""
        self._retired = True
        if not self._waiting:
            self.end()

    def end(self) -> None:
        """Drop the connection at once; running calls fail."""
        self._ended = True
        self._abort()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(LostError())

    async def run(self) -> str:
        """Hand answers to their callers until the connection ends. Returns the reason to count if the holder broke the rules."""
        try:
            while True:
                frame = frames.decode_answer(await self._pipe.receive())
                body = await _receive_body(self._pipe, frame.body_bytes, self._bounds.body_timeout_s)
                answer = self._waiting.get(frame.number)
                if answer is not None and not answer.done():  # no caller waits for an answer that is too late
                    answer.set_result((frame.refused, body))
        except EndedError:
            return ""
        except MeshError:
            return "frame"
        finally:
            self.end()

    async def call(self, route: str, media: str, body: bytes) -> bytes:
        """The holder's answer.

        Errors: ``NotReachedError``, ``LostError``, ``input.too_large``, or ``MeshError`` with the code it answered.
        """
        if len(body) > request_bytes_max(route):  # a larger body would make the holder close the connection
            raise MeshError(
                "input.too_large", f"a message over {route} can have at most {request_bytes_max(route)} bytes"
            )
        async with self._places:
            if not self.live:
                raise NotReachedError(MeshError("peer.unreachable", "the held connection has ended"))
            number = next(self._numbers)
            waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
            try:
                frame = CallFrame(number=number, route=route, media=media, body_bytes=len(body))
                # Shielded: cancelling the caller must not leave a partial body on the connection.
                await asyncio.shield(asyncio.ensure_future(self._send(frame, body)))
                refused: bool
                answer: bytes
                refused, answer = await waiting
            finally:
                del self._waiting[number]
                waiting.cancel()
                if self._retired and not self._waiting:
                    self.end()
        if refused:
            raise answers.decode_error(answer, self.node)
        return answer

    async def _send(self, frame: CallFrame, body: bytes) -> None:
        try:
            async with asyncio.timeout(self._bounds.body_timeout_s), self._sending:
                await _send_whole(self._pipe, frame, body)
        except EndedError as error:
            raise LostError from error
        except TimeoutError as error:
            self.end()  # the holder does not read, so a partial frame may have been sent
            raise LostError from error


class HeldTable:
    """The connections that peers keep open to this node. Shared by its server, which fills it, and its client."""

    def __init__(self) -> None:
        self._links: dict[str, HeldLink] = {}

    @property
    def nodes(self) -> frozenset[str]:
        """The nodes that hold a connection open now."""
        return frozenset(node for node in list(self._links) if self.has(node))

    def has(self, node: str) -> bool:
        """True if ``node`` can be called this way now."""
        link = self._links.get(node)
        return link is not None and link.live

    def sweep(self) -> None:
        """Drop the connections of nodes that are no longer trusted."""
        for node in list(self._links):
            self.has(node)

    async def attend(self, link: HeldLink) -> str:
        """Offer ``link`` for calls, replacing an older one, until it ends. Returns the reason to count, if any."""
        older = self._links.get(link.node)
        # The new one first, so that the peer can be called at any moment.
        self._links[link.node] = link
        if older is not None:
            older.retire()
        try:
            return await link.run()
        finally:
            if self._links.get(link.node) is link:  # a newer one may have taken its place
                del self._links[link.node]

    async def call(self, node: str, route: str, media: str, body: bytes) -> bytes:
        """The answer of ``node``. Errors: those of ``HeldLink.call``."""
        while True:
            link = self._links.get(node)
            if link is None:
                raise NotReachedError(MeshError("peer.unreachable", "the held connection has ended"))
            try:
                return await link.call(route, media, body)
            except NotReachedError:
                # The connection was replaced while the call waited, so use the new one.
                if self._links.get(node) in (link, None):
                    raise

    def close(self) -> None:
        """Drop every connection."""
        for link in list(self._links.values()):
            link.end()


class Answering:
    """The holder's end: answers calls as if they had come in through its own listener."""

    def __init__(self, bounds: Bounds, refusals: Refusals | None = None) -> None:
        """refusals: counts refusals made here, not by the handler."""
        self._bounds = bounds
        self._refusals = refusals or Refusals()
        self._quota = Quota(bounds)
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, node: str, pipe: Pipe, handler: PeerHandler) -> MeshError:
        """Answer the calls of ``node`` until the connection ends. Returns why it ended.

        Checks, in order: form of the frame; size of the body for its route; the body; rate; places. Then the handler decides. A
        call that runs when the connection ends continues, as over the caller's own connection, but its answer is dropped.
        """
        sending = asyncio.Lock()
        running: set[asyncio.Task[None]] = set()  # only this task waits for a peer that does not read its answers
        try:
            while True:
                call = frames.decode_call(await pipe.receive())
                if call.body_bytes > request_bytes_max(call.route):
                    raise MeshError("input.too_large", f"{call.body_bytes} bytes over {call.route}")
                body = await _receive_body(pipe, call.body_bytes, self._bounds.body_timeout_s)
                # Not awaited: a slow call must not delay those behind it.
                task = asyncio.create_task(self._answer(node, pipe, sending, handler, call, body))
                for tasks in (running, self._tasks):
                    tasks.add(task)
                    task.add_done_callback(tasks.discard)
                # Calls beyond the limit are refused; far beyond it, reading stops.
                while len(running) > 2 * self._bounds.concurrent_requests_max:
                    await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        except EndedError:
            return MeshError("peer.unreachable", "the held connection ended", peer=node)
        except MeshError as error:
            self._refusals.count("frame", node=node)
            return MeshError("peer.protocol", f"not a call: {error.message}", peer=node)
        finally:
            await pipe.close()

    async def _answer(
        self, node: str, pipe: Pipe, sending: asyncio.Lock, handler: PeerHandler, call: CallFrame, asked: bytes
    ) -> None:
        try:
            try:
                place = await self._quota.enter(node)
            except MeshError:
                self._refusals.count("quota", node=node)
                raise
            with place:
                body, refused = await answers.guarded(handler, node, call.route, asked), False
                if len(body) > limits.PEER_BODY_BYTES_MAX:
                    raise MeshError("peer.protocol", f"an answer of more than {limits.PEER_BODY_BYTES_MAX} bytes")
        except MeshError as error:
            body, refused = answers.encode_error(error), True
        try:
            async with asyncio.timeout(self._bounds.body_timeout_s), sending:
                frame = AnswerFrame(number=call.number, refused=refused, body_bytes=len(body))
                await _send_whole(pipe, frame, body)
        except EndedError:
            pass  # the caller has gone
        except TimeoutError:
            await pipe.close()

    async def close(self) -> None:
        """Cancel the running calls."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
