"""Limits the requests of one peer: a rate with a burst, and a number of concurrent requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from aiolimiter import AsyncLimiter

from adapters.transport.tls.bounds import Bounds
from protocol.errors import MeshError


class Quota:
    """Counts the requests of each peer."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._rates: dict[str, AsyncLimiter] = {}
        self._running: Counter[str] = Counter()

    def keep(self, nodes: Iterable[str]) -> None:
        """Forget all other nodes, so that the counts are no larger than the trust set."""
        kept = set(nodes)
        self._rates = {node: rate for node, rate in self._rates.items() if node in kept}

    async def enter(self, node: str) -> AbstractContextManager[None]:
        """Count one request of ``node``, and hold one of its places until the context ends.

        Never waits: a node that is too fast gets an error. Errors: ``peer.limit``.
        """
        bounds = self._bounds
        rate = self._rates.get(node)
        if rate is None:
            rate = self._rates[node] = AsyncLimiter(
                bounds.requests_burst, bounds.requests_burst / bounds.requests_per_s
            )
        # Refused instead of delayed: waiting requests would use memory for a peer that is too fast.
        if not rate.has_capacity():
            raise MeshError("peer.limit", f"more than {bounds.requests_per_s} requests per second")
        await rate.acquire()  # returns at once: there is capacity
        if self._running[node] >= bounds.concurrent_requests_max:
            raise MeshError("peer.limit", f"more than {bounds.concurrent_requests_max} requests at a time")
        self._running[node] += 1
        return self._place(node)

    @contextmanager
    def _place(self, node: str) -> Iterator[None]:
        try:
            yield
        finally:
            self._running[node] -= 1
            if not self._running[node]:
                # Remove the zero, so that the counter does not grow with every peer that ever called.
                del self._running[node]
