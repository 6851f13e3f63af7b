"""Keeps the counts of refusals across restarts, and logs periodically what was refused.

Counting itself writes nothing, so that a caller cannot cause disk writes by being refused often. The counts are stored once in a
while if they have changed, and when the node stops; a crash loses those of the last ``REFUSALS_KEEP_EVERY_S`` at most. The log
lines have the same period, one for each channel, so their number is limited too.
"""

from __future__ import annotations

import logging
from typing import Final

from adapters.ports.clock import Clock
from adapters.ports.store import MetaStore
from protocol import limits
from protocol.errors import MeshError
from protocol.refusals import Channel, Counts, Refusals, caller_label, channel_of, channel_of_caller
from protocol.wire import cbor

log = logging.getLogger(__name__)

_KEY: Final = "refusals"
_NAMED_MAX: Final = 8
"""How many kinds of refusals one log line lists."""


class RefusalBook:
    """The stored counts of one node. ``load`` comes first."""

    def __init__(self, refusals: Refusals, store: MetaStore, clock: Clock) -> None:
        self._refusals, self._store, self._clock = refusals, store, clock
        self._kept = Counts()
        self.since_ms = 0
        """Start of the counting, in milliseconds since 1970."""

    async def load(self) -> None:
        """Load the stored counts; if they cannot be read, start from zero. Errors: ``store.*``."""
        data = await self._store.get_meta(_KEY)
        kept = Counts(since_ms=self._clock.now_ms())
        if data:
            try:
                bounds = {"bytes_max": limits.REFUSALS_BYTES_MAX, "items_max": limits.REFUSALS_ITEMS_MAX}
                kept = cbor.decode_as(data, Counts, **bounds)
            except MeshError as error:
                log.warning("the stored counts of refusals cannot be read and start from zero: %s", error)
        self.since_ms = kept.since_ms
        self._refusals.restore(kept)
        self._kept = self._refusals.counts(self.since_ms)

    async def keep(self) -> None:
        """Store the counts if they have changed, and log what is new. Never raises."""
        now = self._refusals.counts(self.since_ms)
        if now == self._kept:
            return
        for channel in Channel:
            if news := _news(self._kept, now, channel):
                log.warning("refused on the %s channel: %s", channel.value, news)
        try:
            await self._store.put_meta(_KEY, cbor.encode(now))
        except MeshError as error:
            log.warning("the counts of refusals could not be stored: %s", error)
            return
        self._kept = now


def _news(before: Counts, now: Counts, channel: Channel) -> str:
    """The refusals counted on ``channel`` since the last log line, most frequent first, with the callers if known; limited in
    number, and empty if there are none."""
    grown = [
        (count - before.by_place.get(at, {}).get(code, 0), at, code)
        for at, codes in now.by_place.items()
        if channel_of(at) is channel
        for code, count in codes.items()
    ]
    kinds = sorted((new for new in grown if new[0] > 0), reverse=True)
    words = [f"{'once' if count == 1 else f'{count} times'} {code} at {at}" for count, at, code in kinds[:_NAMED_MAX]]
    if len(kinds) > _NAMED_MAX:
        words.append(f"{sum(count for count, _, _ in kinds[_NAMED_MAX:])} of other kinds")
    callers = [who for who, codes in now.by_peer.items() if codes != before.by_peer.get(who, {})]
    whom = [caller_label(who) for who in callers if channel_of_caller(who) is channel]
    return ", ".join(words) + (f" (to {', '.join(sorted(whom)[:_NAMED_MAX])})" if words and whom else "")
