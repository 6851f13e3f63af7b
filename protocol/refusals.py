"""Counts refusals on both channels of the node, by place, error code and caller.

``node.trust.refusal_book`` keeps the counts over restarts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import msgspec

from protocol import ids, limits

OTHERS: Final = "others"
"""Label for every caller beyond the first ``REFUSALS_PEERS_MAX``, so that the counts cannot grow without end."""
CONTROL: Final = "control"
"""The place of what the control API refuses; every other place belongs to the peer channel."""


class Channel(StrEnum):
    """Where a refused call came in."""

    CONTROL = "control"
    """The control API: the owner, and agents."""
    PEER = "peer"
    """The channel of other nodes, pairing included."""


_CODES: Final[Mapping[str, str]] = MappingProxyType(
    {
        # before it is known who calls
        "accept": "peer.limit",
        "connections_total": "peer.limit",
        "connections_per_address": "peer.limit",
        "handshake_timeout": "peer.limit",
        "handshake_broken": "peer.protocol",
        "tls": "peer.protocol",
        "tls_version": "peer.protocol",
        "certificate": "peer.unknown",
        "no_certificate": "peer.unknown",
        "anonymous": "peer.unknown",
        "signer": "peer.identity",
        "unknown": "peer.unknown",
        "visitors": "peer.limit",
        "visitor": "peer.unknown",
        # of a connection
        "revoked": "peer.unknown",
        "header_timeout": "peer.limit",
        "answer_timeout": "peer.limit",
        "http": "peer.protocol",
        "request_broken": "peer.protocol",
        "frame": "peer.protocol",
        "connections_per_peer": "peer.limit",
        # of a request
        "route": "input.not_found",
        "media_type": "peer.protocol",
        "length": "peer.protocol",
        "signature": "peer.signature",
        "quota": "peer.limit",
        "body_size": "input.too_large",
        "body_timeout": "peer.limit",
        "invite": "invite.refused",
    }
)
"""The error code for each refusal reason of the transport, even if the caller gets no answer."""


def channel_of(at: str) -> Channel:
    """The channel of a place."""
    return Channel.CONTROL if at == CONTROL else Channel.PEER


def channel_of_caller(who: str) -> Channel:
    """The channel of a caller in the book by caller: only peers call by their bare node id. ``OTHERS`` counts as peers."""
    return Channel.CONTROL if ":" in who else Channel.PEER


def caller_label(who: str) -> str:
    """``who`` as a label: the short form of a node id. ``OTHERS`` and ``agent:NAME`` are not shortened: two agent names may
    begin alike."""
    return who if who == OTHERS or channel_of_caller(who) is Channel.CONTROL else ids.short(who)


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Both books at one moment, as they are stored."""

    since_ms: int = 0
    """Start of the counting, in milliseconds since 1970."""
    by_place: dict[str, dict[str, int]] = {}
    """Place, code, count."""
    by_peer: dict[str, dict[str, int]] = {}
    """Node id, ``agent:NAME`` or ``OTHERS``; code; count."""


class Refusals:
    """Two books of bounded size: by place and code, and by caller and code."""

    def __init__(self) -> None:
        self._by_place: Counter[tuple[str, str]] = Counter()
        self._by_peer: Counter[tuple[str, str]] = Counter()
        self._peers: set[str] = set()

    def count(self, at: str, *, node: str = "", code: str = "") -> None:
        """Count one. at: a reason of the transport, a route or ``CONTROL``. node: the caller; empty for a stranger. code: if ``at``
        does not say."""
        code = code or _CODES.get(at, "peer.protocol")
        self._by_place[at, code] += 1
        if not node:
            return
        if node not in self._peers and len(self._peers) >= limits.REFUSALS_PEERS_MAX:
            node = OTHERS
        else:
            self._peers.add(node)
        self._by_peer[node, code] += 1

    def counts(self, since_ms: int) -> Counts:
        """Both books as they stand. since_ms: when counting began."""
        return Counts(since_ms=since_ms, by_place=_nested(self._by_place), by_peer=_nested(self._by_peer))

    def restore(self, counts: Counts) -> None:
        """Add what was counted before this process began."""
        for at, codes in counts.by_place.items():
            for code, count in codes.items():
                self._by_place[at, code] += count
        for node, codes in counts.by_peer.items():
            if node != OTHERS:
                self._peers.add(node)
            for code, count in codes.items():
                self._by_peer[node, code] += count

    @property
    def by_place(self) -> Mapping[tuple[str, str], int]:
        """Place and code to count."""
        return MappingProxyType(self._by_place)

    @property
    def by_peer(self) -> Mapping[tuple[str, str], int]:
        """Node id, ``agent:NAME`` or ``OTHERS``, and code to count; strangers are in ``by_place`` only."""
        return MappingProxyType(self._by_peer)

    @property
    def reasons(self) -> Mapping[str, int]:
        """Count by place."""
        found: Counter[str] = Counter()
        for (at, _), count in self._by_place.items():
            found[at] += count
        return found

    @property
    def codes(self) -> Mapping[str, int]:
        """Count by code."""
        found: Counter[str] = Counter()
        for (_, code), count in self._by_place.items():
            found[code] += count
        return found


def _nested(counted: Mapping[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (name, code), count in counted.items():
        found.setdefault(name, {})[code] = count
    return found
