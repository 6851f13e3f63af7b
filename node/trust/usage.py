"""Counts the disk space that each peer uses here, and enforces the configured quota.

The bytes that a peer sends are added up when they arrive, before they are stored. This sum is larger than the real usage, because
some data was stored already and some is refused. So before a peer is refused, the real usage is read from the store. It is read
at every start too, so the sums need not be stored.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from adapters.ports.clock import Clock
from adapters.ports.store import Store
from protocol import ids, limits
from protocol.errors import MeshError

log = logging.getLogger(__name__)

_RECOUNT_EVERY_MS = 60_000
"""Reading the usage from the store is slow. The interval keeps a peer at its limit from occupying the store."""


class Usage:
    """The disk usage of each peer."""

    def __init__(self, store: Store, clock: Clock, bytes_max: int) -> None:
        """bytes_max: for each peer."""
        self._store, self._clock, self.bytes_max = store, clock, bytes_max
        self._bytes: dict[str, int] = {}
        self._counted_ms = 0

    async def load(self) -> None:
        """Read the usage from the store."""
        self._bytes = dict(await self._store.usage())
        self._counted_ms = self._clock.now_ms()

    @property
    def by_peer(self) -> Mapping[str, int]:
        """Bytes by node id; an upper bound of what is stored."""
        return self._bytes

    async def admit(self, node: str, count: int) -> None:
        """Count ``count`` bytes that ``node`` sends to be stored. Errors: ``peer.quota``, ``store.*``."""
        # The sum is an upper bound, so read the real usage before refusing.
        if self._bytes.get(node, 0) + count > self.bytes_max and self._due():
            await self.load()
        if self._bytes.get(node, 0) + count > self.bytes_max:
            log.info("%s has used up its disk here", ids.short(node))
            raise MeshError(
                "peer.quota",
                f"the quota of a peer is {self.bytes_max // limits.MIB} MiB here",
                bytes_max=self.bytes_max,
            )
        self._bytes[node] = self._bytes.get(node, 0) + count

    def _due(self) -> bool:
        # The lower bound matters after the clock was set back: the age is then negative.
        return not 0 <= self._clock.now_ms() - self._counted_ms < _RECOUNT_EVERY_MS
