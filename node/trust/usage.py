"""How much disk this node spends on each peer, and that it is no more than the configuration says.

What a peer sent is added up at the door, before it is stored. That is more than what is kept: some of it was there already, some
is refused. So before a peer is turned away the store is asked what it really holds; and so it is at every start, which is why
nothing about it is written down.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from adapters.ports import Clock, Store
from protocol import ids, limits
from protocol.errors import MeshError

log = logging.getLogger(__name__)

_RECOUNT_EVERY_MS = 60_000
"""Asking the store takes it a while: a peer at its limit must not make it do little else."""


class Usage:
    """The account of each peer."""

    def __init__(self, store: Store, clock: Clock, bytes_max: int) -> None:
        """bytes_max: for each peer."""
        self._store, self._clock, self.bytes_max = store, clock, bytes_max
        self._bytes: dict[str, int] = {}
        self._counted_ms = 0

    async def load(self) -> None:
        """Take the figures from the store."""
        self._bytes = dict(await self._store.usage())
        self._counted_ms = self._clock.now_ms()

    @property
    def by_peer(self) -> Mapping[str, int]:
        """Bytes by node id; at least what is kept."""
        return self._bytes

    async def admit(self, node: str, count: int) -> None:
        """Count ``count`` bytes that ``node`` wants kept. Errors: ``peer.quota``, ``store.*``."""
        if self._bytes.get(node, 0) + count > self.bytes_max and self._due():
            await self.load()
        if self._bytes.get(node, 0) + count > self.bytes_max:
            log.info("%s has used up its disk here", ids.short(node))
            raise MeshError(
                "peer.quota", f"a peer is given {self.bytes_max // limits.MIB} MiB here", bytes_max=self.bytes_max
            )
        self._bytes[node] = self._bytes.get(node, 0) + count

    def _due(self) -> bool:
        return not 0 <= self._clock.now_ms() - self._counted_ms < _RECOUNT_EVERY_MS
