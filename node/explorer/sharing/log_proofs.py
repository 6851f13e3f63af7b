"""Inclusion proofs for the artefacts of peers, demanded for samples before these artefacts count.

A node could later deny an artefact that it signed without entering it in its witness log. So the signer is asked for a proof of
inclusion (route ``log/prove``): for a sample of its artefacts, and always for claims of success. The proof must lead to a
checkpoint that is consistent with the one held of its log. If the signer cannot be reached, its artefact has to wait.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from adapters.ports.clock import Clock
from node.base.tasks import Tasks
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.wire.formats import unless_version

log = logging.getLogger(__name__)

Demand = Callable[[str, bytes], Awaitable[None]]
"""Returns once a node has proved that the artefact with this SHA-256 is in its log (``LogExchange.demand``)."""

NOT_LOGGED: Final = frozenset({"log.not_logged", "log.invalid"})
"""The errors that prove that the artefact is in no log. All other errors prove nothing yet."""
_DELTA = "delta"
_TRIES = 3
_PAUSE_S = 1.0
_PAUSE_MAX_S = 8.0


class LogProofs:
    """Decides which proofs to demand, and judges the answers. One for all searches."""

    def __init__(self, demand: Demand, clock: Clock) -> None:
        self._demand, self._clock = demand, clock
        self._proved: set[tuple[str, str, str]] = set()

    def is_due(self, node: str, search: str, what: str) -> bool:
        """True if a proof must be demanded now: always until one was given, then for one in ``LOG_PROOF_ONE_IN``."""
        return (node, search, what) not in self._proved or self.draw(limits.LOG_PROOF_ONE_IN) == 0

    def draw(self, below: int) -> int:
        """An unpredictable number, 0 or greater."""
        return int.from_bytes(self._clock.random(4), "big") % below

    def forget(self, search: str) -> None:
        """Forget a search that has ended here."""
        self._proved = {key for key in self._proved if key[1] != search}

    async def check(self, node: str, search: str, what: str, sealed: bytes) -> None:
        """Check that ``sealed`` is proved to be in the log of ``node``.

        Errors: ``log.not_logged``, which is final; ``log.unproven``, while it cannot be decided.
        """
        try:
            await self._demand(node, hashlib.sha256(sealed).digest())
        except MeshError as error:
            if error.code in NOT_LOGGED:
                raise MeshError("log.not_logged", f"it is not in the log of {ids.short(node)}", node=node) from error
            told = f"no proof that it is in the log of {ids.short(node)}: {error.code}"
            raise unless_version(error, MeshError("log.unproven", told, node=node)) from error
        self._proved.add((node, search, what))

    async def check_patiently(self, node: str, search: str, what: str, sealed: bytes) -> None:
        """As ``check``, tried more than once."""
        for left in reversed(range(_TRIES)):
            try:
                await self.check(node, search, what, sealed)
                return
            except MeshError as error:
                if not left or not error.retryable:
                    raise
            await self._clock.sleep(_PAUSE_S)


class DeltaProofs:
    """The demands for deltas of one search: at most one per peer at a time."""

    def __init__(
        self, proofs: LogProofs, search: str, clock: Clock, expel: Callable[[str, str], Awaitable[None]]
    ) -> None:
        """``expel``: expels a peer from the search, with an error code."""
        self._proofs, self._search, self._clock, self._expel = proofs, search, clock, expel
        self._owed_since_ms: dict[str, int] = {}

    def sample(self, peer: str, deltas: Sequence[bytes], tasks: Tasks) -> None:
        """Perhaps demand the proof of one of ``deltas``, which ``peer`` has just sent and which were stored."""
        if deltas and peer not in self._owed_since_ms and self._proofs.is_due(peer, self._search, _DELTA):
            self._owed_since_ms[peer] = self._clock.now_ms()
            chosen = deltas[self._proofs.draw(len(deltas))]
            tasks.start(self._demand(peer, chosen), f"proof of {ids.short(peer)}")

    def check(self, peer: str) -> None:
        """Refuse data from ``peer`` while a proof of it is overdue. Errors: ``log.unproven``."""
        since_ms = self._owed_since_ms.get(peer)
        if since_ms is not None and self._clock.now_ms() - since_ms > limits.LOG_PROOF_OWED_S_MAX * 1000:
            raise MeshError("log.unproven", "a delta of yours has not been proved to be in your log yet", node=peer)

    def drop(self, peer: str) -> None:
        """``peer`` was expelled from the search: no more proofs are demanded of it."""
        self._owed_since_ms.pop(peer, None)

    async def _demand(self, peer: str, sealed: bytes) -> None:
        pause_s = _PAUSE_S
        while peer in self._owed_since_ms:
            try:
                await self._proofs.check(peer, self._search, _DELTA, sealed)
                self.drop(peer)
                return
            except MeshError as error:
                log.info("%s: %s", self._search, error)
                if not error.retryable:
                    await self._expel(peer, error.code)
                    return
            await self._clock.sleep(pause_s)
            pause_s = min(pause_s * 2, _PAUSE_MAX_S)
