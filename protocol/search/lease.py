"""Leases: which worker explores which branch of a search, and for how long.

The coordinator keeps one ``LeaseBook`` per search. A lease is live until its result arrives, its time is over, or it is
revoked. A lease that has ended never becomes live again. A renewal moves its expiry, but never beyond the latest end of its
grant, so that no worker can keep a branch for ever. A branch has at most one live lease, and every new lease of a branch has a
higher *term*. A late or repeated event changes nothing and is not an error.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Final

import msgspec

from protocol import limits
from protocol.errors import MeshError
from protocol.messages import BranchLimits, Spend
from protocol.search.entry import LeaseEntry, decode_action


class State(enum.StrEnum):
    """The states of a lease."""

    GRANTED = "granted"
    RENEWED = "renewed"
    DONE = "done"
    EXPIRED = "expired"
    REVOKED = "revoked"


class Event(enum.StrEnum):
    """The events of a lease."""

    RENEW = "renew"
    RESULT = "result"
    EXPIRE = "expire"
    REVOKE = "revoke"


TRANSITIONS: Final[dict[tuple[State, Event], State]] = {
    (State.GRANTED, Event.RENEW): State.RENEWED,
    (State.GRANTED, Event.RESULT): State.DONE,
    (State.GRANTED, Event.EXPIRE): State.EXPIRED,
    (State.GRANTED, Event.REVOKE): State.REVOKED,
    (State.RENEWED, Event.RENEW): State.RENEWED,
    (State.RENEWED, Event.RESULT): State.DONE,
    (State.RENEWED, Event.EXPIRE): State.EXPIRED,
    (State.RENEWED, Event.REVOKE): State.REVOKED,
}
"""All transitions. An event that is not listed leaves the lease unchanged."""

LIVE: Final = frozenset({State.GRANTED, State.RENEWED})


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """The state of one lease at one moment."""

    id: str
    branch: bytes
    """Key of the node below which the worker searches, 16 bytes."""
    worker: str
    """Node id."""
    term: int
    """The number of this lease among those of its branch, from 1."""
    state: State
    expires_ms: int
    """Milliseconds since 1970."""
    latest_ms: int
    """Latest end; no renewal extends the lease beyond it."""

    @property
    def live(self) -> bool:
        """True if work on it is still wanted."""
        return self.state in LIVE

    def entry(self) -> LeaseEntry:
        """The coordinator's entry about it in its document."""
        return LeaseEntry(worker=self.worker, lease=self.id, term=self.term, live=self.live)


class LeaseBook:
    """All leases of one search. Pure: time is passed in, and every decision is returned.

    Remembers ``LEASES_KEPT_MAX`` leases; the oldest ended ones are forgotten first.
    """

    def __init__(self) -> None:
        self._leases: dict[str, Lease] = {}
        self._live: dict[bytes, str] = {}
        self._terms: dict[bytes, int] = {}

    def grant(
        self, lease_id: str, *, branch: bytes, worker: str, now_ms: int, lifetime_ms: int, latest_ms: int
    ) -> Lease:
        """A new lease of ``branch`` for ``worker`` that can be renewed until ``latest_ms``; a repeated call with the same id,
        branch and worker returns the same lease.

        Errors: ``lease.busy`` (the branch has a live lease); ``input.invalid`` (the id belongs to another lease).
        """
        known = self._leases.get(lease_id)
        # A repeated call with the same id returns the same lease, so that a retry after a lost answer is safe.
        if known is not None:
            if (known.branch, known.worker) != (branch, worker):
                raise MeshError("input.invalid", "the lease id belongs to another lease")
            return known
        if branch in self._live:
            raise MeshError("lease.busy", "the branch has a live lease", lease=self._live[branch])
        # The term orders the leases of a branch, so that a delayed entry of an old lease cannot replace a newer one.
        term = self._terms.get(branch, 0) + 1
        lease = Lease(
            id=lease_id,
            branch=branch,
            worker=worker,
            term=term,
            state=State.GRANTED,
            expires_ms=min(now_ms + lifetime_ms, latest_ms),
            latest_ms=latest_ms,
        )
        self._forget_ended()
        self._leases[lease_id] = lease
        self._live[branch], self._terms[branch] = lease_id, term
        return lease

    def renew(self, lease_id: str, *, worker: str, now_ms: int, lifetime_ms: int) -> Lease:
        """The lease with a new expiry: never an earlier one, and never after its latest end.

        Errors: ``lease.unknown``: not live, or of another worker.
        """
        lease = self._leases.get(lease_id)
        if lease is None or not lease.live or lease.worker != worker or lease.expires_ms <= now_ms:
            raise MeshError("lease.unknown", lease=lease_id)
        # max: a renewal never shortens a lease, also after the clock was set back.
        wanted_ms = max(lease.expires_ms, now_ms + lifetime_ms)
        return self._move(lease, Event.RENEW, min(wanted_ms, lease.latest_ms))

    def close(self, lease_id: str, event: Event) -> Lease:
        """The lease after ``event`` (a result or a revocation); an ended lease stays as it is.

        So a result that comes after expiry never revives a lease, and a second one changes nothing. Errors: ``lease.unknown``:
        no such lease, live or ended.
        """
        lease = self.get(lease_id)
        return self._move(lease, event, lease.expires_ms)

    def expire_due(self, now_ms: int, *, but: str = "") -> list[Lease]:
        """End the live leases that have expired, and return them by branch. Their branches can be granted again.

        ``but``: a worker whose leases stay: the book's owner, which knows if it still works.
        """
        live = self.live_by_branch().values()
        due = [lease for lease in live if lease.expires_ms <= now_ms and lease.worker != but]
        return [self._move(lease, Event.EXPIRE, lease.expires_ms) for lease in due]

    def get(self, lease_id: str) -> Lease:
        """The current state of the lease. Errors: ``lease.unknown``."""
        lease = self._leases.get(lease_id)
        if lease is None:
            raise MeshError("lease.unknown", lease=lease_id)
        return lease

    def live_by_branch(self) -> dict[bytes, Lease]:
        """Live leases by branch key, sorted by key."""
        return {branch: self._leases[self._live[branch]] for branch in sorted(self._live)}

    def live_of(self, worker: str) -> list[Lease]:
        """Live leases of one worker, by branch."""
        return [lease for lease in self.live_by_branch().values() if lease.worker == worker]

    def _move(self, lease: Lease, event: Event, expires_ms: int) -> Lease:
        state = TRANSITIONS.get((lease.state, event))
        # No such transition: the event came late or twice, and the lease stays as it is.
        if state is None:
            return lease
        moved = msgspec.structs.replace(lease, state=state, expires_ms=expires_ms)
        self._leases[lease.id] = moved
        if not moved.live:
            del self._live[lease.branch]
        return moved

    def _forget_ended(self) -> None:
        if len(self._leases) < limits.LEASES_KEPT_MAX:
            return
        # Dictionaries keep insertion order, so the first ended lease is the oldest one.
        oldest = next((lease for lease in self._leases.values() if not lease.live), None)
        if oldest is None:
            raise MeshError("lease.busy", f"more than {limits.LEASES_KEPT_MAX} live leases")
        del self._leases[oldest.id]


def check_spend(allowed: BranchLimits, spend: Spend, *, passed_ms: int) -> None:
    """Check that ``spend`` is possible for a lease with these limits, ``passed_ms`` milliseconds after it was signed.

    A worker stops after the iteration that used up its limits, so its last iteration may exceed the steps; clocks may differ.
    Checks, in order: iterations, steps, milliseconds. Errors: ``lease.spend``.
    """
    most = Spend(
        iterations=allowed.iterations,
        steps=allowed.steps + limits.LEASE_STEPS_OVER_MAX,
        milliseconds=max(0, passed_ms) + limits.CLOCK_SKEW_S * 1000,
    )
    for name in ("iterations", "steps", "milliseconds"):
        if getattr(spend, name) > getattr(most, name):
            raise MeshError("lease.spend", f"{getattr(spend, name)} {name} where {getattr(most, name)} are the most")


def check_claim(prefix: Sequence[bytes], claim: Sequence[bytes]) -> None:
    """Check that ``claim`` is possible for a lease of the branch at ``prefix`` (both: encoded actions from the start page).

    Checks, in order: it passes through the branch; a search may perform every step. Errors: ``claim.invalid``.
    """
    # Otherwise a worker could make the coordinator's browser replay actions outside its branch.
    if tuple(claim[: len(prefix)]) != tuple(prefix):
        raise MeshError("claim.invalid", "the claim does not go through the leased branch")
    for number, step in enumerate(claim, 1):
        try:
            decode_action(step)
        except MeshError as error:
            raise MeshError("claim.invalid", f"step {number}: {error.message}", step=number) from error
