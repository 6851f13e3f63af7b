"""The clock mark: the latest time, on this node's clock, at which it accepted a message. It prevents replays across restarts.

Ids of accepted messages are kept only in memory (``protocol.wire.envelope.ReplayWindow``). After a restart a node refuses messages
issued before its start. If the clock was set back meanwhile, the start would seem earlier, and old messages would be accepted
again. So the node stores a mark and refuses messages issued before it. To save writes, the mark is set a few seconds ahead. It is
written before a message is acted on, and exactly when the node stops. A peer whose clock is ahead has a mark of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

import msgspec

from adapters.ports.clock import Clock
from adapters.ports.store import MetaStore
from protocol import limits
from protocol.errors import MeshError
from protocol.wire import cbor
from protocol.wire.envelope import EnvelopeHeader

log = logging.getLogger(__name__)

_KEY = "clock.mark"


class _Mark(msgspec.Struct, frozen=True, kw_only=True):
    """Every accepted message was issued before ``until_s``, or before the time in ``later`` for the issuers named there."""

    until_s: int
    later: dict[str, int] = {}


_NOTHING = _Mark(until_s=0)


class ClockMark:
    """The mark of one node. ``load`` comes first."""

    def __init__(self, store: MetaStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._kept = self._exact = _NOTHING
        self._writing = asyncio.Lock()

    async def load(self) -> None:
        """Read the stored mark. Errors: ``store.corrupt``."""
        data = await self._store.get_meta(_KEY)
        if data:
            self._kept = self._exact = cbor.decode_as(data, _Mark, bytes_max=limits.CLOCK_MARK_BYTES_MAX)

    @property
    def opens_s(self) -> int:
        """A node that starts now refuses messages issued before this time, in seconds since 1970."""
        return max(self._now_s(), self._kept.until_s)

    @property
    def later(self) -> Mapping[str, int]:
        """For peers with a fast clock: the later times before which their messages are refused."""
        return self._kept.later

    @property
    def behind_s(self) -> int:
        """How far the clock is behind the mark, because it was ahead before or is behind now."""
        return max(0, self._kept.until_s - limits.CLOCK_MARK_AHEAD_S - self._now_s())

    async def settle(self) -> None:
        """After a crash, wait until the clock has passed the mark; but do not wait for a clock that was set back."""
        left_s = self._kept.until_s - self._now_s()
        if 0 < left_s <= limits.CLOCK_MARK_AHEAD_S:
            await self._clock.sleep(left_s)

    async def heard(self, header: EnvelopeHeader, now_s: int) -> None:
        """Store that a message was accepted, before it is acted on. Errors: ``store.*``."""
        if self._was_wrong(now_s):
            self._exact = _NOTHING
        if not _covers(self._exact, header):
            self._exact = _including(self._exact, header, now_s)
        if not self._due(header, now_s):
            return
        async with self._writing:
            if self._due(header, now_s):  # another message may have moved it while this one waited
                before = _NOTHING if self._was_wrong(now_s) else self._kept
                await self._keep(_including(before, header, now_s, ahead_s=limits.CLOCK_MARK_AHEAD_S))

    async def close(self) -> None:
        """Store the exact mark, not one set ahead. Never raises. A second call does nothing."""
        if self._kept != self._exact:
            try:
                await self._keep(self._exact)
            except MeshError as error:  # the stored mark stays a few seconds ahead, which only delays messages
                log.warning("the clock mark could not be stored: %s", error)

    def _due(self, header: EnvelopeHeader, now_s: int) -> bool:
        return self._was_wrong(now_s) or not _covers(self._kept, header)

    def _was_wrong(self, now_s: int) -> bool:
        """True if the clock was so far ahead when the mark was made that the mark no longer applies."""
        return now_s + limits.CLOCK_SET_BACK_S_MAX + limits.CLOCK_MARK_AHEAD_S < self._kept.until_s

    async def _keep(self, mark: _Mark) -> None:
        await self._store.put_meta(_KEY, cbor.encode(mark))
        self._kept = mark

    def _now_s(self) -> int:
        return self._clock.now_ms() // 1000


def _covers(mark: _Mark, header: EnvelopeHeader) -> bool:
    return header.issued_s < max(mark.until_s, mark.later.get(header.issuer, 0))


def _including(mark: _Mark, header: EnvelopeHeader, now_s: int, *, ahead_s: int = 1) -> _Mark:
    """``mark`` moved forward to cover a message accepted at ``now_s``, and messages in the ``ahead_s`` after that."""
    until_s = max(mark.until_s, now_s + ahead_s)
    # Drop entries that the common mark covers by now, so that the record stays small.
    later = {issuer: issued_s for issuer, issued_s in mark.later.items() if issued_s > until_s}
    if header.issued_s >= max(until_s, later.get(header.issuer, 0)):
        later[header.issuer] = header.issued_s + ahead_s
    return _Mark(until_s=until_s, later=later)
