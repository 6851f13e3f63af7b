"""The limits of a listener and of held connections."""

from __future__ import annotations

import msgspec

from protocol import limits


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a listener. Only tests change them, to shorten the waits."""

    handshake_timeout_s: float = limits.HANDSHAKE_TIMEOUT_S
    header_timeout_s: float = limits.HEADER_TIMEOUT_S
    body_timeout_s: float = limits.BODY_TIMEOUT_S
    """For reading a body, and separately for writing an answer."""
    keepalive_timeout_s: float = limits.KEEPALIVE_TIMEOUT_S
    connections_max: int = limits.CONNECTIONS_TOTAL_MAX
    connections_per_address_max: int = limits.CONNECTIONS_PER_ADDRESS_MAX
    """Limit per address for unidentified callers; connections of peers count towards the peer's limit instead."""
    connections_per_peer_max: int = limits.CONNECTIONS_PER_PEER_MAX
    body_bytes_max: int = limits.PEER_BODY_BYTES_MAX
    requests_per_s: int = limits.PEER_REQUESTS_PER_S
    requests_burst: int = limits.PEER_REQUESTS_BURST
    concurrent_requests_max: int = limits.PEER_CONCURRENT_REQUESTS_MAX
    held_keepalive_s: float = limits.HELD_KEEPALIVE_S
    """How often a held connection is pinged."""
