"""Ports: calls to peers, calls from peers, and pairing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import NoReturn, Protocol

import msgspec
from nacl.signing import SigningKey


class PeerAddress(msgspec.Struct, frozen=True, kw_only=True):
    """The addresses of a peer, and the key it must hold there."""

    node: str
    public_key: bytes
    addresses: tuple[str, ...]


class PeerClient(Protocol):
    """Calls other nodes over the authenticated channel."""

    async def call(
        self, peer: PeerAddress, route: str, body: bytes, *, content_type: str, timeout_s: float = 0
    ) -> bytes:
        """POST ``body`` to ``/peer/v1/<route>``. Returns the body of the answer.

        It uses the way that worked last time, else the peer's addresses in order, else a connection that the peer keeps open.
        Errors: ``peer.unreachable``, ``peer.refused_us``, ``peer.identity``, ``peer.clock``, ``peer.protocol``, or the code the
        peer answered.
        """

    async def look(self, peer: PeerAddress) -> tuple[bytes, ...]:
        """The keys (32 bytes) of the nodes that listen as ``peer.node`` at its addresses, in the order of these.

        It does not prove whose keys they are. Errors: ``peer.unreachable``.
        """

    async def introduce(self, peer: PeerAddress, body: bytes) -> None:
        """Show ``body`` to ``peer``, which need not know our key: anonymously, over ``keys/introduce``.

        Errors: ``peer.unreachable``, ``peer.identity``, ``peer.clock``, ``peer.refused_us`` (too many visitors),
        ``peer.unknown`` (it refused, for any reason), ``peer.protocol``.
        """

    def rekey(self, key: SigningKey) -> None:
        """Call as the same node under another witness key, from the next call on."""

    def way(self, node: str) -> str:
        """The address that took the last call to ``node``, or ``held``; empty if none did."""

    async def hold(self, peer: PeerAddress, handler: PeerHandler, *, opened: Callable[[], None]) -> NoReturn:
        """Keep a connection to ``peer`` open over which it calls us, until cancelled or until an error (as of ``call``) ends it."""

    async def drop(self, node: str) -> None:
        """End every connection that was opened to ``node``, at once; running calls fail with ``peer.unreachable``."""

    async def close(self) -> None: ...


PeerHandler = Callable[[str, str, bytes], Awaitable[bytes]]
"""``(node id the channel authenticated, route, body) -> answer``. Raises ``MeshError`` to refuse.

The node id is empty for an unknown caller over ``keys/introduce``; such a caller is not told why it was refused.
"""


class PeerServer(Protocol):
    """The authenticated listener of a node."""

    async def start(self, handler: PeerHandler) -> str:
        """Listen. Returns the address for peers. Errors: ``node.address_in_use``."""

    def trust(self, keys: Mapping[str, bytes]) -> None:
        """Replace the set of peers (node id to public key) whose connections are accepted; also ends open ones."""

    def rekey(self, key: SigningKey) -> None:
        """Answer as the same node under another witness key, from the next connection on."""

    @property
    def held(self) -> frozenset[str]:
        """The peers that keep open a connection over which this node can call them."""

    @property
    def peers(self) -> frozenset[str]:
        """The peers with an open connection to this listener."""

    @property
    def refusals(self) -> Mapping[str, int]:
        """How many connections and requests were refused, by reason."""

    async def close(self) -> None: ...


class PairingServer(Protocol):
    """The separate listener that is open only during an invite or a pairing window."""

    async def start(self, handler: Callable[[bytes, bytes], Awaitable[bytes]]) -> str:
        """Listen; ``handler(request body, SHA-256 of our TLS leaf) -> answer``. Returns the address for the invite."""

    async def close(self) -> None: ...


class PairingClient(Protocol):
    """Reaches another node's pairing listener."""

    def connect(self, url: str) -> AbstractAsyncContextManager[PairingConnection]:
        """Open a connection. Errors: ``invite.url``, ``peer.unreachable``, ``peer.identity`` (no witness key signed the
        listener's leaf)."""


class PairingConnection(Protocol):
    """One TLS connection to a pairing listener, not yet trusted."""

    @property
    def leaf(self) -> bytes:
        """The TLS leaf certificate (DER) of the listener."""

    @property
    def signer(self) -> bytes:
        """The witness key (32 bytes) whose signature the leaf carries; the pairing exchange decides whose key it is."""

    async def call(self, body: bytes) -> bytes:
        """Send ``body`` and return the answer. Errors: ``peer.unreachable``, ``invite.refused``, ``invite.expired``,
        ``pairing.refused``, ``pairing.expired``, ``peer.limit``, ``peer.protocol``.
        """
