"""Calls to peers: one signed message and one answer, on a channel under the peer's current key.

If a peer answers under an unknown key, it is asked for its key log first (``Calls.follow``).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Collection
from typing import TypeVar

import msgspec

from adapters.ports.clock import Clock
from adapters.ports.records import PeerRecord
from adapters.ports.transport import PeerAddress, PeerClient
from node.signing import Witness
from node.trust.contacts import Contacts
from node.trust.trust_changes import TrustChanges
from protocol import ids, limits
from protocol.errors import MeshError, PeerError
from protocol.keys.keylog import KeyLog
from protocol.messages import (
    KIND_DELTA,
    KIND_MESSAGE,
    DeltaPush,
    Done,
    GrantsPush,
    KeysAsk,
    KeysPush,
    KeysTell,
    StatusAsk,
    StatusTell,
)
from protocol.routes import INTRODUCE, VERSIONLESS
from protocol.wire import cbor
from protocol.wire.address import parse_address
from protocol.wire.envelope import content_type

log = logging.getLogger(__name__)
T = TypeVar("T", bound=msgspec.Struct)

PATH_PREFIX = "/peer/v1/"
_ROUTES_OF_FROZEN = frozenset({"status", "log/checkpoint", "log/consistency"})
"""Routes that are still called on a frozen peer: its status, and those by which it proves that its log is in order."""
_SAY_TIME = frozenset({"", "envelope.time", "peer.clock"})
"""Outcomes of a call that give the time on the clock of the peer; empty: success."""
TURNED_AWAY = frozenset(
    {
        "peer.refused_us",
        "peer.unknown",
        "peer.distrusted",
        "peer.scope",
        "keylog.fork",
        "keylog.revoked",
        "log.equivocation",
        "log.unproven",
        "log.silent",
    }
)
"""Codes with which a node refuses a caller for lack of trust or scope, before a handler sees the request."""
_LET_IN = frozenset({"input.not_found", "peer.quota"})
"""Codes with which a node answers a knock after it accepted the caller: no such search, or the disk quota is used up."""
_INTRODUCE_EVERY_MS = 30_000
_AT_ONCE = 8
"""The number of parallel calls when every peer is called."""


class Calls:
    """Calls the peers of this node, one or all of them."""

    def __init__(self, witness: Witness, changes: TrustChanges, client: PeerClient, clock: Clock) -> None:
        self._witness = witness
        self._identity = witness.identity
        self.changes, self.peers = changes, changes.peers
        self._client = client
        self._clock = clock
        self._introduced: dict[str, tuple[tuple[bytes, bytes], int]] = {}
        """For each peer: the entries that it was last shown, the key under which it listened, and the time (milliseconds since
        1970).
        """
        self.contacts = Contacts(clock)

    async def call(self, node: str, route: str, record: msgspec.Struct, answer: type[T]) -> T:
        """The peer's answer to one signed message. A peer that answers under another key is asked for its key log first.

        Errors: ``peer.unknown``, ``peer.distrusted``, ``peer.version``, ``keylog.fork``, ``keylog.revoked``, ``peer.unreachable``,
        ``peer.refused_us``, ``peer.clock``, ``peer.protocol``, or the code the peer answered; ``envelope.time`` says which clock
        is ahead, and by how much.
        """
        self._known(node)
        if route not in VERSIONLESS and not self.peers.is_version_known(node) and node not in self.peers.frozen:
            # A peer that does not answer the version query is still called, and can refuse the call itself.
            with contextlib.suppress(PeerError):
                await self.call(node, "status", StatusAsk(), StatusTell)
        self.peers.check_version(node, route)
        frozen = self.peers.frozen.get(node)
        if frozen is not None and route not in _ROUTES_OF_FROZEN:
            raise MeshError(frozen, node=node)
        if not self._is_active(node):
            with contextlib.suppress(MeshError):
                await self.follow(node)  # its owner may have recovered it in the meantime
        known = self._active(node)
        try:
            raw = await self._send(known, known.public_key, route, record)
        except MeshError as error:
            if not await self._mend(known, error):
                raise
            raw = await self._send(known, self.peers.public_key(node), route, record)
        # Awaited for long, so asked again: it may have been distrusted in the meantime.
        self.peers.check_welcome(node)
        await self.changes.saw(node)
        told = _decode(raw, answer, known.name, route)
        if isinstance(told, StatusTell):
            self.peers.heard_version(node, told.protocol)
            self.contacts.compare_clocks(node, told.now_ms - self._clock.now_ms())
            await self.changes.heard_grants(node, told.grants)
        return told

    async def _mend(self, known: PeerRecord, error: MeshError) -> bool:
        """True if a call that failed with ``error`` should be retried, because one side has since learned the other's new key."""
        if error.code == "peer.identity" and not isinstance(error, PeerError):
            return await self.follow(known.node)
        return _hung_up(error) and await self._introduce(known, known.public_key)

    def _known(self, node: str) -> PeerRecord:
        """The record of a peer that is not distrusted. Errors: ``peer.unknown``, ``peer.distrusted``."""
        self.peers.check_welcome(node)
        record = self.peers.record(node)
        if record is None:
            raise MeshError("peer.unknown", f"{ids.short(node)} is not a peer", node=node)
        return record

    def _is_active(self, node: str) -> bool:
        keys = self.peers.key_log(node)
        return keys is None or keys.active

    def _active(self, node: str) -> PeerRecord:
        """As ``_known``, for a peer whose key log is valid. Errors: ``keylog.*``, ``peer.unknown``, ``peer.distrusted``."""
        keys = self.peers.key_log(node)
        if keys is not None:
            keys.check_active()
        return self._known(node)

    async def _send(self, known: PeerRecord, public_key: bytes, route: str, record: msgspec.Struct) -> bytes:
        body = self._identity.message(record, audience=known.node, path=PATH_PREFIX + route)
        peer = PeerAddress(node=known.node, public_key=public_key, addresses=known.addresses)
        try:
            raw = await self._client.call(peer, route, body, content_type=content_type(KIND_MESSAGE))
        except MeshError as error:
            raise self.contacts.failed(known, error) from error
        self.contacts.answered(known.node)
        return raw

    async def knock(self, address: str, public_key: bytes, node: str = "") -> MeshError | None:
        """Send a signed delta to a node, peer or not. Returns the error it answered, or None if it accepted the delta.

        It refused this node if the error is in ``TURNED_AWAY``; otherwise it processed the message. node: its id; empty if
        ``public_key`` (32 bytes) is the key it began with.
        Errors: those that do not show whether it accepts this node: ``peer.unreachable``, ``peer.identity``, ``peer.protocol``,
        ``peer.clock``, any other answer; before the call ``invite.url``, ``log.rollback``, ``store.*``.
        """
        parse_address(address)
        node = node or ids.node_id(public_key)
        search = ids.make_id("sea", self._clock.random(ids.ID_RANDOM_BYTES))
        # An empty delta of a search that nobody has. A node that accepts the sender answers so, and stores nothing.
        delta = await self._witness.artefact(KIND_DELTA, search, b"")
        push = DeltaPush(search=search, deltas=(delta.envelope,))
        body = self._identity.message(push, audience=node, path=PATH_PREFIX + "deltas/push")
        peer = PeerAddress(node=node, public_key=public_key, addresses=(address,))
        try:
            await self._client.call(peer, "deltas/push", body, content_type=content_type(KIND_MESSAGE))
        except MeshError as error:
            if error.code not in TURNED_AWAY | _LET_IN:
                raise
            return error
        return None

    async def follow(self, node: str) -> bool:
        """Find out under which key a peer listens now; if it is a new one, ask for its key log. Returns whether the log was
        accepted.

        Only the log is trusted, not the node that answers. Errors: ``peer.*``, ``keylog.*``.
        """
        known = self._known(node)
        at = PeerAddress(node=node, public_key=known.public_key, addresses=known.addresses)
        failed: MeshError | None = None
        for shown in await self._client.look(at):
            if shown == known.public_key:
                return False
            try:
                told = _decode(await self._pull(known, shown), KeysTell, known.name, "keys/pull")
                await self.changes.adopt(told.log)
            except MeshError as error:
                failed = error  # any node may listen at one of the peer's addresses
            if self.peers.public_key(node) == shown:
                return True
        if failed is not None:
            raise failed
        return False

    async def _pull(self, known: PeerRecord, shown: bytes) -> bytes:
        """Ask the node that listens with key ``shown`` for its key log. If it refuses us, it may not know our new key either."""
        try:
            return await self._send(known, shown, "keys/pull", KeysAsk())
        except MeshError as error:
            if not _hung_up(error) or not await self._introduce(known, shown):
                raise
            return await self._send(known, shown, "keys/pull", KeysAsk())

    async def _introduce(self, known: PeerRecord, public_key: bytes) -> bool:
        """Show our key log to a peer that refuses our key, if we have changed it. Returns whether the peer accepted it.

        public_key: the key under which it listens. The same log is not shown again within ``_INTRODUCE_EVERY_MS``.
        """
        own, now_ms = self._identity, self._clock.now_ms()
        if len(own.log) == 1 or not own.spoken:
            # It knows our first key; and while a new key is being announced, messages are still signed with the
            # previous one.
            return False
        shown = own.log.head, public_key
        before, at_ms = self._introduced.get(known.node, (None, 0))
        if shown == before and 0 <= now_ms - at_ms < _INTRODUCE_EVERY_MS:
            return False
        # Before it is sent: many calls may fail at once, and one of them is enough.
        self._introduced[known.node] = shown, now_ms
        body = own.message(KeysPush(log=own.log.encode()), audience=known.node, path=PATH_PREFIX + INTRODUCE)
        at = PeerAddress(node=known.node, public_key=public_key, addresses=known.addresses)
        try:
            await self._client.introduce(at, body)
        except MeshError as error:
            log.info("%s was not shown our key log: %s", known.name, error)
            return False
        return True

    async def refresh(self) -> None:
        """Ask every peer for its current key and for our grants there. A peer that does not answer is asked again next time."""
        await self._each(self.follow)
        await self.ask_all()

    async def push_keys(self, own: KeyLog) -> tuple[list[str], list[str]]:
        """Show our key log to every peer that has an address. Returns the names of the peers that took it, and of the others."""
        push = KeysPush(log=own.encode())

        async def show(node: str) -> None:
            try:
                await self.call(node, "keys/push", push, Done)
            except MeshError as error:
                if own.active or not _hung_up(error):
                    raise  # for a revocation, this refusal shows that the peer has accepted it

        return await self._each(show)

    async def push_grants(self, node: str) -> bool:
        """Send a peer its grants here. False if it was not reached; it then receives them with its next request."""
        known = self._known(node)
        try:
            await self.call(node, "grants/push", GrantsPush(grants=known.grants), Done)
        except MeshError as error:
            log.info("%s was not told its grants: %s", known.name, error)
            return False
        return True

    async def ask_all(self) -> tuple[list[str], list[str]]:
        """The names of the peers that accept our current key, and of the others."""
        return await self._each(lambda node: self.call(node, "status", StatusAsk(), StatusTell))

    def clocks_apart_ms(self) -> list[int]:
        """How far each peer's clock is ahead of ours, for the peers that gave their time in the last call."""
        last = [self.contacts.of(record.node) for record in self.peers.records()]
        return [contact.apart_ms for contact in last if contact.said in _SAY_TIME and contact.apart_ms is not None]

    async def tell(self, route: str, record: msgspec.Struct, nodes: Collection[str]) -> tuple[list[str], list[str]]:
        """Send ``record`` to those of ``nodes`` that are peers. Returns the names of those that accepted it, and of the others."""
        return await self._each(lambda node: self.call(node, route, record, Done), nodes)

    async def _each(
        self, act: Callable[[str], Awaitable[object]], nodes: Collection[str] | None = None
    ) -> tuple[list[str], list[str]]:
        places = asyncio.Semaphore(_AT_ONCE)

        async def one(node: str) -> bool:
            async with places:
                try:
                    await act(node)
                except MeshError as error:
                    log.info("%s: %s", self.peers.name_of(node), error)
                    return False
                return True

        records = [record for record in self.peers.records() if nodes is None or record.node in nodes]
        went = await asyncio.gather(*(one(record.node) for record in records))
        named = [(record.name, well) for record, well in zip(records, went, strict=True)]
        return [name for name, well in named if well], [name for name, well in named if not well]

    async def hang_up(self, node: str) -> None:
        """End every connection to ``node`` that this node opened."""
        await self._client.drop(node)

    async def close(self) -> None:
        """End the connections to peers. A second call does nothing."""
        await self._client.close()


def _hung_up(error: MeshError) -> bool:
    """True if the transport itself found that a peer does not know our key. A peer's answer that says so does not count."""
    return error.code == "peer.refused_us" and not isinstance(error, PeerError)


def _decode(raw: bytes, answer: type[T], name: str, route: str) -> T:
    """Errors: ``peer.protocol``."""
    try:
        return cbor.decode_as(raw, answer, bytes_max=limits.PEER_BODY_BYTES_MAX)
    except MeshError as error:
        raise MeshError("peer.protocol", f"{name} gave a malformed answer to {route}") from error
