"""Remembers the result of the last call to each peer and the difference between its clock and ours."""

from __future__ import annotations

import msgspec

from adapters.ports.clock import Clock
from adapters.ports.records import PeerRecord
from protocol import limits
from protocol.errors import MeshError, PeerError
from protocol.wire.clocks import apart_in_words


class Contact(msgspec.Struct, frozen=True, kw_only=True):
    """Result of the last call to a peer."""

    error: str = ""
    """Error code as shown to people; empty if the call was answered."""
    said: str = ""
    """The same code, or the one that the peer answered."""
    message: str = ""
    apart_ms: int | None = None
    """The peer's clock minus ours, when it last reported its time."""


class Contacts:
    """Remembers the last contact to each peer, in memory only."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: dict[str, Contact] = {}

    def of(self, node: str) -> Contact:
        """Result of the last call to ``node``."""
        return self._last.get(node, Contact())

    def compare_clocks(self, node: str, apart_ms: int) -> None:
        """Record the time that a peer reported. apart_ms: its time minus ours."""
        self._last[node] = msgspec.structs.replace(self.of(node), apart_ms=apart_ms)

    def answered(self, node: str) -> None:
        """Record that the peer answered."""
        self._last[node] = Contact(apart_ms=self.of(node).apart_ms)

    def failed(self, peer: PeerRecord, error: MeshError) -> MeshError:
        """Record ``error`` of a call to ``peer``; an error that the peer answered names the peer.

        If the clocks are too far apart, the message gives the difference.
        """
        if isinstance(error, PeerError):
            error = error.called(peer.name)
        apart_ms = self.of(peer.node).apart_ms
        theirs_s, least_s = error.detail.get("now_s"), error.detail.get("apart_s")
        if error.code == "envelope.time" and type(theirs_s) is int:
            apart_ms = theirs_s * 1000 - self._clock.now_ms()
            if abs(apart_ms) > limits.CLOCK_SKEW_S * 1000:
                words = f"{peer.name} refuses our messages: {apart_in_words(peer.name, apart_ms)}"
                detail = error.detail | {"peer": peer.node, "apart_s": apart_ms // 1000}
                error = PeerError(error.code, words, name=peer.name, **detail)
        elif error.code == "peer.clock" and type(least_s) is int:
            apart_ms = least_s * 1000
        self._last[peer.node] = Contact(
            error=error.shown.code, said=error.code, message=error.shown.message, apart_ms=apart_ms
        )
        return error
