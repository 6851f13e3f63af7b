"""The peers of this node: who they are, how they became peers, and how they are called."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable
from typing import TypeVar

import msgspec
from nacl.signing import VerifyKey

from adapters.ports import (
    Clock,
    InviteRecord,
    PairingClient,
    PairingServer,
    PeerAddress,
    PeerClient,
    PeerRecord,
    PeerServer,
    Store,
)
from node.config import Config
from node.identity import Identity
from protocol import cbor, ids, limits
from protocol.clocks import apart_in_words
from protocol.envelope import content_type, key_id
from protocol.errors import MeshError
from protocol.messages import KIND_DELTA, KIND_MESSAGE, DeltaPush
from protocol.pairing import NONCE_BYTES as PAIRING_NONCE_BYTES
from protocol.pairing import Inviter, Joiner, Paired, make_invite, parse_address, parse_invite, token_hash
from protocol.trust import Scope, TrustedPeer, TrustSet, parse_scopes

log = logging.getLogger(__name__)
T = TypeVar("T", bound=msgspec.Struct)

PATH_PREFIX = "/peer/v1/"
_SEEN_EVERY_MS = 60_000
"""How often the time a peer was last seen is written down."""


class Contact(msgspec.Struct, frozen=True, kw_only=True):
    """How the last call to a peer went."""

    error: str = ""
    """Its code; empty when it was answered."""
    message: str = ""
    apart_ms: int | None = None
    """The peer's clock minus ours, the last time it said."""


class Peers:
    """Keeps the trust set and the channel in step with the store."""

    def __init__(
        self,
        identity: Identity,
        config: Config,
        store: Store,
        clock: Clock,
        client: PeerClient,
        server: PeerServer,
        new_pairing_server: Callable[[], PairingServer],
        pairing_client: PairingClient,
    ) -> None:
        self._identity = identity
        self._config = config
        self._store = store
        self._clock = clock
        self._client = client
        self._server = server
        self._new_pairing_server = new_pairing_server
        self._pairing_client = pairing_client
        self._records: dict[str, PeerRecord] = {}
        self._trust = TrustSet()
        self._listeners: dict[bytes, asyncio.Task[None]] = {}
        self._contacts: dict[str, Contact] = {}
        self.changed: Callable[[], None] = lambda: None
        """Called after every change of the trust set."""
        self.addresses: tuple[str, ...] = config.listen.advertise
        """Where peers reach us."""

    @property
    def me(self) -> str:
        """This node's id."""
        return self._identity.node

    async def load(self) -> None:
        """Trust what the store says."""
        self._use({record.node: record for record in await self._store.peers()})

    def _use(self, records: dict[str, PeerRecord]) -> None:
        self._records = records
        self._trust = TrustSet(
            TrustedPeer(node=r.node, public_key=r.public_key, scopes=r.scopes) for r in records.values()
        )
        self._server.trust(self._trust.keys)
        self.changed()

    # --- asking ------------------------------------------------------------------------------------------------------

    def records(self) -> list[PeerRecord]:
        """All peers, by pairing time."""
        return sorted(self._records.values(), key=lambda record: record.paired_ms)

    def knows(self, node: str) -> bool:
        """Whether ``node`` is a peer."""
        return node in self._records

    def public_key(self, node: str) -> bytes:
        """Errors: ``peer.unknown``."""
        if node not in self._records:
            raise MeshError("peer.unknown", f"{ids.short(node)} is not a peer", node=node)
        return self._records[node].public_key

    def public_keys(self) -> dict[str, bytes]:
        """Node id to key, of every peer."""
        return dict(self._trust.keys)

    def require(self, node: str, scope: str | None) -> None:
        """Errors: ``peer.unknown``, ``peer.scope``."""
        self._trust.require(node, Scope(scope) if scope else Scope.STATUS)

    def find_key(self, issuer: str, candidate: bytes) -> VerifyKey | None:
        """The key of a peer, or our own; the ``KeyFinder`` of everything this node verifies."""
        if issuer == self._identity.node:
            own = self._identity.public_key
            return self._identity.key.verify_key if candidate == key_id(own) else None
        return self._trust.find_key(issuer, candidate)

    def find(self, text: str) -> PeerRecord:
        """The peer with this name, short id or id. Errors: ``input.not_found``, ``input.invalid`` when several fit."""
        wanted = text.strip()
        found = [r for r in self._records.values() if wanted in (r.name, r.node) or ids.short(r.node) == wanted.upper()]
        if len(found) == 1:
            return found[0]
        if found:
            raise MeshError("input.invalid", f"{len(found)} peers are called {wanted!r}: give the node id")
        raise MeshError("input.not_found", f"no peer is called {wanted!r}")

    # --- calling -----------------------------------------------------------------------------------------------------

    async def call(self, node: str, route: str, record: msgspec.Struct, answer: type[T]) -> T:
        """The peer's answer to one signed message.

        Errors: ``peer.unknown``, ``peer.unreachable``, ``peer.refused_us``, ``peer.clock``, ``peer.protocol``, or the code the peer
        answered; ``envelope.time`` says which clock is ahead, and by how much.
        """
        known = self._records.get(node)
        if known is None:
            raise MeshError("peer.unknown", f"{ids.short(node)} is not a peer", node=node)
        body = self._identity.message(record, audience=node, path=PATH_PREFIX + route)
        peer = PeerAddress(node=node, public_key=known.public_key, addresses=known.addresses)
        try:
            raw = await self._client.call(peer, route, body, content_type=content_type(KIND_MESSAGE))
        except MeshError as error:
            raise self._failed(known, error) from error
        self._contacts[node] = Contact(apart_ms=self.contact(node).apart_ms)
        await self.saw(node)
        try:
            return cbor.decode_as(raw, answer, bytes_max=limits.PEER_BODY_BYTES_MAX)
        except MeshError as error:
            raise MeshError("peer.protocol", f"{known.name} answered {route} with something else") from error

    def contact(self, node: str) -> Contact:
        """How the last call to ``node`` went."""
        return self._contacts.get(node, Contact())

    def compare_clocks(self, node: str, apart_ms: int) -> None:
        """Remember what a peer said about its clock. apart_ms: its time minus ours."""
        self._contacts[node] = msgspec.structs.replace(self.contact(node), apart_ms=apart_ms)

    def _failed(self, peer: PeerRecord, error: MeshError) -> MeshError:
        """``error`` of a call to ``peer``, remembered; clocks that are too far apart are named with their difference."""
        apart_ms = self.contact(peer.node).apart_ms
        theirs_s, least_s = error.detail.get("now_s"), error.detail.get("apart_s")
        if error.code == "envelope.time" and type(theirs_s) is int:
            apart_ms = theirs_s * 1000 - self._clock.now_ms()
            if abs(apart_ms) > limits.CLOCK_SKEW_S * 1000:
                words = f"{peer.name} refuses our messages: {apart_in_words(peer.name, apart_ms)}"
                error = MeshError(error.code, words, **(error.detail | {"apart_s": apart_ms // 1000}))
        elif error.code == "peer.clock" and type(least_s) is int:
            apart_ms = least_s * 1000
        self._contacts[peer.node] = Contact(error=error.code, message=error.message, apart_ms=apart_ms)
        return error

    async def saw(self, node: str) -> None:
        """The peer was heard of just now."""
        record = self._records.get(node)
        now_ms = self._clock.now_ms()
        if record is not None and now_ms - record.seen_ms > _SEEN_EVERY_MS:
            self._records[node] = msgspec.structs.replace(record, seen_ms=now_ms)
            await self._store.put_peer(self._records[node])

    async def knock(self, address: str, public_key: bytes) -> MeshError | None:
        """Send a signed delta to a node, peer or not; its refusal, None if there was none.

        Errors: ``peer.unreachable``, ``invite.url``.
        """
        parse_address(address)
        node = ids.node_id(public_key)
        search = ids.make_id("sea", self._clock.random(ids.ID_RANDOM_BYTES))
        delta = self._identity.artefact(KIND_DELTA, search, b"")
        push = DeltaPush(search=search, deltas=(delta.envelope,))
        body = self._identity.message(push, audience=node, path=PATH_PREFIX + "deltas/push")
        peer = PeerAddress(node=node, public_key=public_key, addresses=(address,))
        try:
            await self._client.call(peer, "deltas/push", body, content_type=content_type(KIND_MESSAGE))
        except MeshError as error:
            if error.code == "peer.unreachable":
                raise
            return error
        return None

    # --- pairing -----------------------------------------------------------------------------------------------------

    async def invite(self, grant: list[str], minutes: int) -> tuple[str, int]:
        """An invite and when it expires (seconds since 1970); its listener is open until then, or until it is used.

        Errors: ``input.invalid``, ``node.address_in_use``.
        """
        scopes = parse_scopes(grant)
        token = self._clock.random(limits.INVITE_TOKEN_BYTES)
        expires_s = self._clock.now_ms() // 1000 + minutes * 60
        await self._store.put_invite(InviteRecord(token_hash=token_hash(token), expires_s=expires_s, scopes=scopes))
        inviter = Inviter(
            self._identity.key,
            token=token,
            expires_s=expires_s,
            name=self._config.name,
            addresses=self.addresses,
            grants=scopes,
        )
        listener = self._new_pairing_server()
        closing = asyncio.Event()

        async def handle(request: bytes, leaf_hash: bytes) -> bytes:
            try:
                answer, paired = inviter.handle(request, leaf_hash, self._clock.now_ms() // 1000)
                if await self._store.take_invite(token_hash(token)) is None:
                    raise MeshError("invite.refused", "the invite was used or withdrawn")
                await self._add(paired)
            finally:
                if not inviter.is_open:
                    closing.set()
            return answer

        address = await listener.start(handle)
        hashed = token_hash(token)
        self._listeners[hashed] = asyncio.create_task(self._close_later(hashed, listener, closing, minutes * 60))
        return make_invite(
            address=address, node=self._identity.node, token=token, expires_s=expires_s, scopes=scopes
        ), expires_s

    async def _close_later(self, hashed: bytes, listener: PairingServer, closing: asyncio.Event, seconds: int) -> None:
        try:
            async with asyncio.timeout(seconds):
                await closing.wait()
                await self._clock.sleep(0.5)  # let the last answer leave
        except TimeoutError:
            pass
        finally:
            await listener.close()
            await self._store.take_invite(hashed)
            self._listeners.pop(hashed, None)

    async def join(self, text: str, grant: list[str]) -> PeerRecord:
        """Pair by an invite. Errors: ``invite.*``, ``peer.identity``, ``peer.unreachable``, ``input.invalid``."""
        scopes = parse_scopes(grant)
        invite = parse_invite(text, self._clock.now_ms() // 1000)
        joiner = Joiner(
            invite,
            self._identity.key,
            name=self._config.name,
            addresses=self.addresses,
            grants=scopes,
            nonce=self._clock.random(PAIRING_NONCE_BYTES),
        )
        async with self._pairing_client.connect(invite.address) as connection:
            leaf_hash = hashlib.sha256(connection.leaf).digest()
            answer = await connection.call(joiner.request(connection.signer, leaf_hash))
        return await self._add(joiner.finish(answer))

    async def _add(self, paired: Paired) -> PeerRecord:
        record = PeerRecord(
            node=paired.node,
            name=paired.name,
            public_key=paired.public_key,
            addresses=paired.addresses,
            scopes=paired.scopes,
            granted_us=paired.granted_us,
            paired_ms=self._clock.now_ms(),
        )
        await self._store.put_peer(record)
        self._use({**self._records, record.node: record})
        log.info("paired with %s (%s)", record.name, ids.short(record.node))
        return record

    async def close(self) -> None:
        """Withdraw every open invite and end the connections to peers. Twice is once."""
        tasks = list(self._listeners.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._client.close()
        await self._client.close()
