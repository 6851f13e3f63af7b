"""Pairing without an invite: the windows that this node opens or joins, and the answers of people who compared the digits.

A ``Meeting`` is a pairing whose digits are shown and not yet confirmed. It is not stored. It ends when the person here answers,
when the person there answers, or when its time is over.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final, Protocol

import msgspec

from adapters.ports.clock import Clock
from adapters.ports.transport import PairingClient, PairingConnection, PairingServer
from node.config import Config
from node.signing import Identity
from node.trust import TrustChanges
from protocol import limits
from protocol.errors import MeshError
from protocol.pairing.by_digits import Party, Pin, SasJoiner, SasWindow, parse_pin
from protocol.pairing.by_invite import NONCE_BYTES, Paired
from protocol.trust.grants import parse_grants

log = logging.getLogger(__name__)

_ASK_EVERY_S: Final = 0.5
_LOST_MAX: Final = 3
"""Number of consecutive polls that may fail while the other person compares the digits."""
_LINGER_S: Final = 5.0
"""How long a window stays open after its end, so that the joiner can learn the result."""


class Meeting(msgspec.Struct, frozen=True, kw_only=True):
    """Two nodes that show the same digits, unless someone intercepts the connection."""

    id: str
    digits: str
    other: Paired
    pinned: bool
    """True if the person here gave the other node's fingerprint, so that this side need not compare digits."""


class _Side(Protocol):
    """One side of a meeting."""

    other: Paired

    async def agree(self) -> None:
        """Confirm, and wait for the other side. Errors: ``pairing.*``, ``peer.*``, ``keylog.*``, ``store.*``."""

    async def finish(self) -> None:
        """After ``agree``: let the other side learn the result, then close. Never raises."""

    async def decline(self) -> None:
        """Decline, tell the other side if possible, and close. Never raises."""


class SasDesk:
    """Every pairing of this node that waits for a joiner or for an answer."""

    def __init__(
        self,
        identity: Identity,
        config: Config,
        clock: Clock,
        changes: TrustChanges,
        new_server: Callable[[], PairingServer],
        client: PairingClient,
    ) -> None:
        self._identity, self._config, self._clock = identity, config, clock
        self._changes, self._peers = changes, changes.peers
        self._new_server, self._client = new_server, client
        self._meetings: dict[str, _Side] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def _party(self, grant: Sequence[str], ask: Sequence[str]) -> Party:
        return Party(
            self._identity.key,
            log=self._identity.log,
            name=self._config.name,
            addresses=self._peers.addresses,
            grants=parse_grants(grant),
            asks=parse_grants(ask),
        )

    async def wait(
        self,
        grant: Sequence[str],
        ask: Sequence[str],
        *,
        fingerprint: str,
        seconds: int,
        waiting: Callable[[str, int], None],
    ) -> Meeting:
        """Open a window and wait for one joiner. ``waiting`` is called with its address and closing time (seconds since 1970).

        Errors: ``input.invalid``, ``id.invalid``, ``node.address_in_use``, ``pairing.refused`` (three tries failed),
        ``pairing.expired``, ``peer.limit``, ``keylog.*``.
        """
        pin = parse_pin(fingerprint) if fingerprint else None
        expires_s = self._clock.now_ms() // 1000 + seconds
        window = SasWindow(self._party(grant, ask), expires_s=expires_s, pin=pin)
        side = _Waiting(window, self._new_server(), self._clock, self._changes)
        try:
            async with asyncio.timeout(seconds):
                waiting(await side.open(), expires_s)
                other = await side.joined()
            self._changes.check(other)
        except TimeoutError:
            await side.decline()
            raise MeshError("pairing.expired", f"no node joined within {seconds} s") from None
        except BaseException:
            await side.decline()
            raise
        return self._register(side, window.digits, pin)

    async def begin(self, address: str, grant: Sequence[str], ask: Sequence[str], *, fingerprint: str) -> Meeting:
        """Join the window at ``address``.

        fingerprint: the node id or public key that must answer there; empty if a person will compare the digits.
        Errors: ``input.invalid``, ``id.invalid``, ``invite.url``, ``peer.unreachable``, ``peer.identity``, ``peer.protocol``,
        ``pairing.refused``, ``pairing.expired``, ``peer.limit``, ``keylog.*``.
        """
        pin = parse_pin(fingerprint) if fingerprint else None
        joiner = SasJoiner(self._party(grant, ask), nonce=self._clock.random(NONCE_BYTES), pin=pin)
        async with AsyncExitStack() as stack:
            connection = await stack.enter_async_context(self._client.connect(address))
            leaf_hash = hashlib.sha256(connection.leaf).digest()
            # Commit before the other nonce is known, so that neither side can choose its nonce to produce certain
            # digits.
            offer = await connection.call(joiner.commit(connection.signer, leaf_hash))
            other, digits = joiner.verify(await connection.call(joiner.reveal(offer)))
            side = _Joining(joiner, other, connection, stack.pop_all(), self._clock, self._changes)
        try:
            self._changes.check(other)
        except MeshError:
            await side.decline()
            raise
        return self._register(side, digits, pin)

    def _register(self, side: _Side, digits: str, pin: Pin | None) -> Meeting:
        meeting = Meeting(id=self._clock.random(8).hex(), digits=digits, other=side.other, pinned=pin is not None)
        self._meetings[meeting.id] = side
        self._begin(self._expire(meeting.id))
        return meeting

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name="pairing")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _expire(self, meeting: str) -> None:
        # A pairing that nobody answers would keep its listener open.
        await self._clock.sleep(limits.PAIRING_WINDOW_S)
        if (side := self._meetings.pop(meeting, None)) is not None:
            await side.decline()

    async def confirm(self, meeting: str, agreed: bool) -> Paired:
        """Confirm or decline a meeting, once. If both people confirm, return the new peer.

        Errors: ``input.not_found``, ``pairing.declined``, ``pairing.expired``, ``peer.*``, ``keylog.*``, ``store.*``.
        """
        # pop: an answer counts only once, even if the command is repeated.
        side = self._meetings.pop(meeting, None)
        if side is None:
            raise MeshError("input.not_found", "this pairing has already ended")
        if not agreed:
            self._begin(side.decline())  # declining does not wait until the other side has been told
            raise MeshError("pairing.declined", "declined on this node")
        try:
            async with asyncio.timeout(limits.PAIRING_WINDOW_S):
                await side.agree()
        except TimeoutError:
            await side.decline()
            raise MeshError("pairing.expired", "the other person did not confirm in time") from None
        except BaseException:
            await side.decline()
            raise
        await side.finish()
        return side.other

    async def close(self) -> None:
        """Decline every open pairing. A second call does nothing."""
        sides = list(self._meetings.values())
        self._meetings.clear()
        # A decline that is cancelled before its first step would close nothing.
        await asyncio.sleep(0)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, *(side.decline() for side in sides), return_exceptions=True)


class _Waiting:
    """The side that opened the window."""

    def __init__(self, window: SasWindow, server: PairingServer, clock: Clock, changes: TrustChanges) -> None:
        self._window, self._server, self._clock, self._changes = window, server, clock, changes
        self._changed = asyncio.Event()
        self._told = asyncio.Event()
        """Set once the joiner has received the result."""
        self.other: Paired

    async def open(self) -> str:
        """Listen. Returns the address for the joiner. Errors: ``node.address_in_use``."""
        return await self._server.start(self._handle)

    async def _handle(self, request: bytes, leaf_hash: bytes) -> bytes:
        window, now_s = self._window, self._clock.now_ms() // 1000
        ended = window.state != "waiting"
        try:
            answer = window.handle(request, leaf_hash, now_s, self._clock.random(NONCE_BYTES))
        finally:
            self._changed.set()
        if ended:
            self._told.set()
        return answer

    async def joined(self) -> Paired:
        """The node that joined. Errors: ``pairing.refused`` after three failures."""
        while (other := self._window.other) is None:
            if not self._window.is_open:
                raise MeshError(
                    "pairing.refused", f"{limits.PAIRING_FAILURES_MAX} attempts to join failed: the window is closed"
                )
            await self._changed.wait()
            self._changed.clear()
        self.other = other
        return other

    async def agree(self) -> None:
        """As ``_Side.agree``. Stores the peer first, so that it never reports ``agreed`` for a pairing that is not stored."""
        self._window.decide(True)
        while not self._window.settle():
            if self._window.state == "declined":
                raise MeshError("pairing.declined", "the other side declined")
            await self._changed.wait()
            self._changed.clear()
        await self._changes.add(self.other)
        self._window.store()

    async def finish(self) -> None:
        """As ``_Side.finish``."""
        await self._linger()

    async def decline(self) -> None:
        """As ``_Side.decline``."""
        if self._window.other is not None and self._window.state == "waiting":
            self._window.decide(False)
            await self._linger()
        await self._server.close()

    async def _linger(self) -> None:
        try:
            async with asyncio.timeout(_LINGER_S):
                await self._told.wait()
                await self._clock.sleep(_ASK_EVERY_S)  # let the last answer leave
        except TimeoutError:
            log.info("the joiner has not asked how the pairing ended")
        finally:
            await self._server.close()


class _Joining:
    """The side that joined."""

    def __init__(
        self,
        joiner: SasJoiner,
        other: Paired,
        connection: PairingConnection,
        stack: AsyncExitStack,
        clock: Clock,
        changes: TrustChanges,
    ) -> None:
        self._joiner, self.other, self._connection, self._stack = joiner, other, connection, stack
        self._clock, self._changes = clock, changes

    async def agree(self) -> None:
        """As ``_Side.agree``."""
        lost = 0
        while True:
            try:
                answer = await self._connection.call(self._joiner.decide(True))
                lost = 0
            except MeshError as error:
                lost += 1
                if error.code != "peer.unreachable" or lost >= _LOST_MAX:
                    raise
                await self._clock.sleep(_ASK_EVERY_S)
                continue
            state = self._joiner.decided(answer)
            if state == "agreed":
                break
            if state == "declined":
                raise MeshError("pairing.declined", "the other side declined")
            await self._clock.sleep(_ASK_EVERY_S)
        await self._changes.add(self.other)

    async def finish(self) -> None:
        """As ``_Side.finish``."""
        await self._stack.aclose()

    async def decline(self) -> None:
        """As ``_Side.decline``."""
        try:
            await self._connection.call(self._joiner.decide(False))
        except MeshError as error:
            log.info("the other side was not told: %s", error)
        finally:
            await self._stack.aclose()
