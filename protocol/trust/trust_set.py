"""The trust set: the peers of this node, their keys and their grants.

The rules, in the order they are applied:

1. Nobody is trusted by default: a node that is not in the set has no key and no scope.
2. A peer is in the set because a person paired with it, never because another peer named it.
3. A peer's keys are those of its key log, each for its time; a connection is made under the current one only. Whoever builds the
   set hands the log in; the set never learns a key from a message. A frozen or revoked log gives no connection and no scope.
4. A key id selects a candidate key of the named issuer only; a key of another peer never verifies for it.
5. A peer may do only what its grants allow, for the origins they name. No scope implies another one.
6. ``status`` is the one exception to rule 5: every peer has it, and it cannot be granted or withdrawn.
7. Grants say what the peer may do *here*. What this node may do at the peer is decided there.
8. A set is immutable: adding, replacing or removing a peer makes a new set, so that no decision is based on a partial change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec
from nacl.signing import VerifyKey

from protocol import ids, limits
from protocol.errors import MeshError
from protocol.keys.keylog import KeyLog
from protocol.trust.grants import Grants, Scope, check_grants
from protocol.trust.origin import fits
from protocol.wire.envelope import key_id as key_id_of

PUBLIC_KEY_BYTES: Final = 32


class TrustedPeer(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the trust set."""

    node: str
    public_key: bytes
    """The current one; 32 bytes, Ed25519."""
    grants: Grants = {}
    log: KeyLog | None = None
    """Its key log; None for a peer that is known by one key only."""


class TrustSet:
    """Node id → key and grants; see the rules of this module."""

    def __init__(self, peers: Iterable[TrustedPeer] = ()) -> None:
        """Errors: ``id.invalid``, ``input.invalid`` (key length, key log, a node named twice), ``message.invalid`` (grants),
        ``input.too_large``.
        """
        self._peers: dict[str, TrustedPeer] = {}
        self._keys: dict[str, VerifyKey] = {}
        for peer in peers:
            # Only the canonical form: two spellings of one id would be two entries.
            if ids.parse_node_id(peer.node) != peer.node or peer.node in self._peers:
                raise MeshError("input.invalid", "each peer must occur once, with its canonical node id")
            if len(peer.public_key) != PUBLIC_KEY_BYTES:
                raise MeshError("input.invalid", f"a key must have {PUBLIC_KEY_BYTES} bytes")
            if peer.log is not None and (peer.log.node, peer.log.key) != (peer.node, peer.public_key):
                raise MeshError("input.invalid", f"the key log is not that of {ids.short(peer.node)}")
            check_grants(peer.grants)
            self._peers[peer.node] = peer
            self._keys[peer.node] = VerifyKey(peer.public_key)
        if len(self._peers) > limits.PEERS_MAX:
            raise MeshError("input.too_large", f"more than {limits.PEERS_MAX} peers")
        # Computed once, because the check is made often and for up to a thousand peers.
        self._active = MappingProxyType(
            {node: peer.public_key for node, peer in self._peers.items() if peer.log is None or peer.log.active}
        )

    @property
    def keys(self) -> Mapping[str, bytes]:
        """Node id → current public key: what a ``PeerServer`` is told to trust (rule 3)."""
        return self._active

    def find_key(self, issuer: str, key_id: bytes, issued_s: int = 0) -> VerifyKey | None:
        """The key of ``issuer`` that ``key_id`` selects, if it was the issuer's at ``issued_s`` (rules 1, 3, 4).

        Fits ``envelope.KeyFinder``.
        """
        peer = self._peers.get(issuer)
        if peer is None:
            return None
        if peer.log is not None:
            return peer.log.find_key(key_id, issued_s)
        return self._keys[issuer] if key_id == key_id_of(peer.public_key) else None

    def require(self, node: str, scope: Scope, origin: str | None = None) -> TrustedPeer:
        """The peer ``node``, once it may do ``scope`` (rules 1, 3, 5, 6), for ``origin`` unless that is None.

        origin: as ``protocol.trust.origin.origin_of`` gives it; an empty one is fitted by a grant for every origin only.
        Errors: ``peer.unknown``, ``keylog.fork``, ``keylog.revoked``, ``peer.scope``.
        """
        peer = self._peers.get(node)
        if peer is None:
            raise MeshError("peer.unknown", node=node)
        if peer.log is not None:
            peer.log.check_active()
        if scope is Scope.STATUS:
            return peer
        if scope not in peer.grants:
            raise MeshError(
                "peer.scope", f"{ids.short(node)} has no scope {scope.value} here", node=node, scope=scope.value
            )
        if origin is not None and not fits(peer.grants[scope], origin):
            where = origin or "an address without a valid origin"
            told = f"{ids.short(node)} has the scope {scope.value} here, not for {where}"
            raise MeshError("peer.scope", told, node=node, scope=scope.value, origin=origin)
        return peer

    def __contains__(self, node: object) -> bool:
        return node in self._peers

    def __len__(self) -> int:
        return len(self._peers)
