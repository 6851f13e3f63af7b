"""How the calls to each peer went, and how far its clock is from ours."""

from __future__ import annotations

import msgspec

from adapters.ports import Clock, PeerRecord
from protocol import limits
from protocol.errors import MeshError, PeerError
from protocol.wire.clocks import apart_in_words


class Contact(msgspec.Struct, frozen=True, kw_only=True):
    """How the last call to a peer went."""

    error: str = ""
    """Its code, as people are told it; empty when it was answered."""
    said: str = ""
    """The same, or the code that the peer answered."""
    message: str = ""
    apart_ms: int | None = None
    """The peer's clock minus ours, the last time it said."""


class Contacts:
    """Remembers the last contact to each peer, in memory only."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: dict[str, Contact] = {}

    def of(self, node: str) -> Contact:
        """How the last call to ``node`` went."""
        return self._last.get(node, Contact())

    def compare_clocks(self, node: str, apart_ms: int) -> None:
        """Remember what a peer said about its clock. apart_ms: its time minus ours."""
        self._last[node] = msgspec.structs.replace(self.of(node), apart_ms=apart_ms)

    def answered(self, node: str) -> None:
        """The peer answered just now."""
        self._last[node] = Contact(apart_ms=self.of(node).apart_ms)

    def failed(self, peer: PeerRecord, error: MeshError) -> MeshError:
        """``error`` of a call to ``peer``, remembered; what the peer answered is under its name.

        Clocks that are too far apart are named with their difference.
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
