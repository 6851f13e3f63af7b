"""The pairing listener and its client without sockets: same codes, and a weather that a test decides on."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from nacl.signing import SigningKey

from adapters.transport.pairing import _REFUSALS
from protocol.errors import MeshError
from protocol.wire.address import parse_address

Handler = Callable[[bytes, bytes], Awaitable[bytes]]


async def _calm(body: bytes) -> None:
    """Everything arrives, a moment later: whoever can go on meanwhile does so."""
    await asyncio.sleep(0.001)


class PairingNetwork:
    """Where pairing listeners are."""

    def __init__(self) -> None:
        self.listening: dict[str, MemoryPairingServer] = {}
        self.weather: Callable[[bytes], Awaitable[None]] = _calm
        """Awaited before each request arrives; raises ``peer.unreachable`` to lose it."""
        self.made = 0

    def server(self, key: SigningKey) -> MemoryPairingServer:
        """A listener of the node that holds ``key``; not started."""
        self.made += 1
        return MemoryPairingServer(self, key, self.made)


class MemoryPairingServer:
    """A ``PairingServer`` in a ``PairingNetwork``."""

    def __init__(self, network: PairingNetwork, key: SigningKey, number: int) -> None:
        self._network, self.signer = network, bytes(key.verify_key)
        self.address = f"https://pairing-{number}.invalid:443"
        self.leaf = f"leaf {number}".encode()
        self.handler: Handler | None = None

    async def start(self, handler: Handler) -> str:
        """As ``TlsPairingServer.start``."""
        self.handler = handler
        self._network.listening[self.address] = self
        return self.address

    async def close(self) -> None:
        """As ``TlsPairingServer.close``."""
        self._network.listening.pop(self.address, None)


class MemoryPairingConnection:
    """A ``PairingConnection`` in a ``PairingNetwork``."""

    def __init__(self, network: PairingNetwork, server: MemoryPairingServer) -> None:
        self._network, self._server = network, server

    @property
    def leaf(self) -> bytes:
        """What stands for the certificate of the listener."""
        return self._server.leaf

    @property
    def signer(self) -> bytes:
        """The witness key of the listener."""
        return self._server.signer

    async def call(self, body: bytes) -> bytes:
        """As ``TlsPairingConnection.call``."""
        await self._network.weather(body)
        if self._network.listening.get(self._server.address) is not self._server or self._server.handler is None:
            raise MeshError("peer.unreachable", "the connection to the inviter broke")
        try:
            return await self._server.handler(body, hashlib.sha256(self._server.leaf).digest())
        except MeshError as error:
            code = error.code if error.code in _REFUSALS else "invite.refused"
            raise MeshError(code) from None  # a stranger is told no more


class MemoryPairingClient:
    """A ``PairingClient`` in a ``PairingNetwork``."""

    def __init__(self, network: PairingNetwork) -> None:
        self._network = network

    def connect(self, url: str) -> AbstractAsyncContextManager[MemoryPairingConnection]:
        """As ``TlsPairingClient.connect``."""
        return self._connect(url)

    @asynccontextmanager
    async def _connect(self, url: str) -> AsyncIterator[MemoryPairingConnection]:
        parse_address(url)
        server = self._network.listening.get(url)
        if server is None:
            raise MeshError("peer.unreachable", f"no inviter answers at {url}")
        yield MemoryPairingConnection(self._network, server)
