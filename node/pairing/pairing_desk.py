"""Pairing by invite: the invites that this node makes, and those that it uses."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from adapters.ports.clock import Clock
from adapters.ports.store import Store
from adapters.ports.transport import PairingClient, PairingConnection, PairingServer
from node.config import Config
from node.pairing.sas_desk import SasDesk
from node.pairing.stored import INVITES, InviteRecord
from node.signing import Identity
from node.trust import TrustChanges
from protocol import limits
from protocol.errors import MeshError
from protocol.pairing.by_invite import NONCE_BYTES, Inviter, Joiner, Paired
from protocol.pairing.invite import Invite, make_invite, parse_invite, token_hash
from protocol.trust.grants import parse_grants


class PairingDesk:
    """Opens a listener for each invite of this node, and joins by invites of other nodes."""

    def __init__(
        self,
        identity: Identity,
        config: Config,
        store: Store,
        clock: Clock,
        changes: TrustChanges,
        new_server: Callable[[], PairingServer],
        client: PairingClient,
    ) -> None:
        self._identity, self._config, self._store, self._clock = identity, config, store, clock
        self._changes, self._peers = changes, changes.peers
        self._new_server, self._client = new_server, client
        self.sas = SasDesk(identity, config, clock, changes, new_server, client)
        """Pairing without an invite."""
        self._open: dict[bytes, asyncio.Task[None]] = {}
        """The listeners of open invites, by hash of their token."""

    async def invite(self, grant: Sequence[str], ask: Sequence[str], minutes: int) -> tuple[str, int]:
        """Make an invite. Returns it with its expiry (seconds since 1970). Its listener is open until then, or until it is used.

        Errors: ``input.invalid``, ``input.too_large``, ``node.address_in_use``.
        """
        grants = parse_grants(grant)
        if len(self._open) >= limits.INVITES_OPEN_MAX:
            raise MeshError("input.invalid", f"{limits.INVITES_OPEN_MAX} invites are open: wait until one has expired")
        token = self._clock.random(limits.INVITE_TOKEN_BYTES)
        expires_s = self._clock.now_ms() // 1000 + minutes * 60
        # Only the hash is stored, so that a copy of the store cannot be used to pair.
        await self._store.rows(INVITES).put(
            InviteRecord(token_hash=token_hash(token), expires_s=expires_s, grants=grants)
        )
        inviter = Inviter(
            self._identity.key,
            log=self._identity.log,
            token=token,
            expires_s=expires_s,
            name=self._config.name,
            addresses=self._peers.addresses,
            grants=grants,
            asks=parse_grants(ask),
            check_welcome=self._peers.check_welcome,
        )
        listener = self._new_server()
        closing = asyncio.Event()

        async def handle(request: bytes, leaf_hash: bytes) -> bytes:
            try:
                answer, paired = inviter.handle(request, leaf_hash, self._clock.now_ms() // 1000)
                # The store removes it atomically, so an invite works once even if two joiners arrive together.
                if await self._store.rows(INVITES).take(token_hash(token)) is None:
                    raise MeshError("invite.refused", "the invite was used or withdrawn")
                await self._changes.add(paired)
            finally:
                if not inviter.is_open:
                    closing.set()
            return answer

        address = await listener.start(handle)
        hashed = token_hash(token)
        self._open[hashed] = asyncio.create_task(self._close_later(hashed, listener, closing, minutes * 60))
        own = self._identity
        # The node id is the hash of the first key, so the invite needs the key itself only after a rotation.
        key = own.public_key if own.public_key != own.genesis_key else b""
        try:
            text = make_invite(address=address, node=own.node, token=token, expires_s=expires_s, grants=grants, key=key)
        except MeshError:
            closing.set()
            raise
        return text, expires_s

    async def _close_later(self, hashed: bytes, listener: PairingServer, closing: asyncio.Event, seconds: int) -> None:
        try:
            async with asyncio.timeout(seconds):
                await closing.wait()
                await self._clock.sleep(0.5)  # give the last answer time to be sent
        except TimeoutError:
            pass
        finally:
            await listener.close()
            await self._store.rows(INVITES).take(hashed)
            self._open.pop(hashed, None)

    async def join(
        self, text: str, grant: Sequence[str], ask: Sequence[str], found: Callable[[Invite], None]
    ) -> Paired:
        """Pair by an invite. ``found`` is called with its content before anything is sent.

        Errors: ``invite.*``, ``peer.distrusted``, ``peer.identity``, ``peer.unreachable``, ``peer.limit``, ``keylog.*``,
        ``input.invalid``.
        """
        grants = parse_grants(grant)
        invite = parse_invite(text, self._clock.now_ms() // 1000)
        # Before any connection, so that a distrusted node learns nothing.
        self._peers.check_welcome(invite.node)
        joiner = Joiner(
            invite,
            self._identity.key,
            log=self._identity.log,
            name=self._config.name,
            addresses=self._peers.addresses,
            grants=grants,
            asks=parse_grants(ask),
            nonce=self._clock.random(NONCE_BYTES),
        )
        found(invite)
        async with self._connected(invite) as connection:
            # Binds the proof to this TLS connection: a man in the middle has another certificate.
            leaf_hash = hashlib.sha256(connection.leaf).digest()
            answer = await connection.call(joiner.request(connection.signer, leaf_hash))
        paired = joiner.finish(answer)
        await self._changes.add(paired)
        return paired

    @asynccontextmanager
    async def _connected(self, invite: Invite) -> AsyncIterator[PairingConnection]:
        """A connection to the node that made ``invite``. Errors: those of ``PairingClient.connect``."""
        async with AsyncExitStack() as stack:
            try:
                connection = await stack.enter_async_context(self._client.connect(invite.address))
            except MeshError as error:
                if error.code != "peer.unreachable":
                    raise
                # The listener of an invite closes when the invite ends, so nobody is left who could answer ``invite.refused``.
                why = "the invite was used, withdrawn or has expired, or the inviter is not running"
                raise MeshError(error.code, f"{error.message}: {why}", **error.detail) from error
            yield connection

    async def close(self) -> None:
        """Withdraw every open invite, decline every open pairing. A second call does nothing."""
        await self.sas.close()
        # A task that is cancelled before its first step never comes to its ``finally``: the listener would stay open.
        await asyncio.sleep(0)
        tasks = list(self._open.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
