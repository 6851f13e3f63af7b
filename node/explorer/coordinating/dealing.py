"""Decides which worker gets which branch of a search next, and delivers the lease."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from adapters.ports.clock import Clock
from adapters.ports.records import LeaseRecord
from node.base.tasks import Tasks
from node.config import Config
from node.explorer.behind_login import reads
from node.explorer.coordinating.claims import Claims
from node.explorer.coordinating.diligence import Diligence
from node.explorer.coordinating.lease_desk import LeaseDesk
from node.explorer.progress import Progress
from node.explorer.sharing.replica import Replica
from node.signing import Witness
from node.trust import Calls
from node.verbs import Tell
from protocol import ids
from protocol.errors import MeshError
from protocol.messages import KIND_ASSIGNMENT, Assignment, BranchAssign, BranchLimits, Done, SearchOpen
from protocol.search.lease import Event, Lease
from protocol.trust.grants import Scope

log = logging.getLogger(__name__)

_PEER_PAUSE_S = 3.0
_UNWILLING_PAUSE_S = 60.0
_UNWILLING = frozenset(
    {"policy.refused", "peer.scope", "peer.unknown", "peer.refused_us", "peer.version", "work.no_login"}
)
"""Answers that only a person can change. A peer that gives one is asked rarely."""

Work = Callable[[Lease, Assignment], Coroutine[Any, Any, None]]
"""Works on a lease in this node's own browser."""


class Dealing:
    """Gives the branches of one search to idle workers. A worker that refused one, or lost one, is paused for a while."""

    def __init__(
        self,
        sealed_spec: bytes,
        replica: Replica,
        *,
        progress: Progress,
        desk: LeaseDesk,
        claims: Claims,
        diligence: Diligence,
        witness: Witness,
        calls: Calls,
        clock: Clock,
        config: Config,
        tasks: Tasks,
        wake: asyncio.Event,
        tell: Tell,
        work: Work,
    ) -> None:
        """wake: set when a lease has ended, since its branch can be leased again."""
        self._sealed_spec = sealed_spec
        self._replica = replica
        self._progress = progress
        self._desk = desk
        self._claims = claims
        self._diligence = diligence
        self._witness, self._me = witness, witness.node
        self._calls, self._peers = calls, calls.peers
        self._clock = clock
        self._explore = config.explore
        self._tasks = tasks
        self._wake = wake
        self._tell = tell
        self._work = work
        self._opened: set[str] = set()
        """Peers that have accepted the search."""
        self._paused_until_ms: dict[str, int] = {}

    def rest(self, worker: str, seconds: float = _PEER_PAUSE_S) -> None:
        """Give ``worker`` no branch for the next ``seconds``."""
        self._paused_until_ms[worker] = self._clock.now_ms() + int(seconds * 1000)

    def rests_s(self, worker: str) -> float:
        """How long ``worker`` still gets no branch, in seconds; 0 or less if it may get one now."""
        return (self._paused_until_ms.get(worker, 0) - self._clock.now_ms()) / 1000

    def failed(self, worker: str, code: str) -> None:
        """A lease of ``worker`` failed with ``code``: pause it, longer if only a person can remove the cause."""
        self.rest(worker, _UNWILLING_PAUSE_S if code in _UNWILLING or code.startswith("capsule.") else _PEER_PAUSE_S)
        self._tell({"peer": worker, "error": code})

    def fell_silent(self, worker: str) -> None:
        """A lease of ``worker`` has expired: pause it, and announce the search to it again before its next branch."""
        self._opened.discard(worker)
        self.rest(worker)

    def _workers(self) -> list[str]:
        """The workers, this node first: a silent peer that holds the only branches would delay the search."""
        spec = self._replica.spec
        able = [node for node in self.others() if self._peers.may(node, Scope.BRANCH_ACCEPT, spec.start_url)]
        able = [node for node in able if reads(self._peers, node, spec)]
        return [*[self._me] * self._explore.workers, *able]

    def others(self) -> list[str]:
        """The participating peers."""
        without = {self._me, *self._replica.expelled}
        return [node for node in self._replica.spec.participants if node not in without]

    async def deal(self, now_ms: int) -> None:
        """Give every idle worker a branch."""
        if self._claims.open:
            return  # a claim is being replayed, and the search may be finished
        busy = [lease.worker for lease in self._desk.live()]
        for worker in self._workers():
            if worker in busy:
                busy.remove(worker)
                continue
            if worker != self._me and self._diligence.is_idle(worker) and not self._diligence.made_up(worker):
                continue
            if self._paused_until_ms.get(worker, 0) > now_ms:
                continue
            if self._claims.is_liar(worker) or worker in self._replica.expelled:
                continue
            branch = (self._whole() if worker == self._me else None) or self._promising()
            if branch is None:
                continue
            await self._grant(worker, branch)

    def _whole(self) -> bytes | None:
        """The root, if no peer takes part: a single worker explores the whole tree."""
        view, root = self._replica.view, self._replica.root
        if self.others() or self._explore.workers > 1 or view.closed(root):
            return None
        return root if not view.expanded(root) or view.descend(root) else None

    def _promising(self) -> bytes | None:
        """First the children of the start page by prior, then the most promising branch by UCT.

        Leases count as losses in the scores, so workers spread over the tree.
        """
        leased = self._desk.branches
        # Priors are guesses from labels. Later, results say more than a guess about an untried branch.
        first_half = self._progress.used_ms * 2 < self._progress.limit_ms
        if first_half:
            for child in self._replica.view.choosable(self._replica.root):
                if child not in leased and not self._replica.view.visits(child):
                    return child
        way = self._replica.view.descend(self._replica.root)
        # Prefer a branch two levels down: a deeper one leaves its worker too little to explore.
        for depth in range(min(2, len(way)), 0, -1):
            if way[depth - 1] not in leased:
                return way[depth - 1]
        root = self._replica.root
        # A start page without possible actions is closed and has no children: another visit would end the same way.
        if (
            not way
            and root not in leased
            and not (self._replica.view.expanded(root) or self._replica.view.closed(root))
        ):
            return root
        return next((key for key in way if key not in leased), None)

    def anything_left(self) -> bool:
        """True if some branch is not exhausted, leased or not."""
        root = self._replica.root
        return not self._replica.view.closed(root) and (
            not self._replica.view.expanded(root) or bool(self._replica.view.descend(root))
        )

    async def _grant(self, worker: str, branch: bytes) -> None:
        explore = self._explore
        lifetime_ms = explore.lease_seconds * 1000
        # Renewals end after three lifetimes, so that a worker cannot keep a branch for ever.
        work_ms = lifetime_ms * 3
        # Recorded before anything is awaited, so that no other worker gets the branch.
        lease = self._desk.grant(branch, worker, lifetime_ms, work_ms)
        assignment = Assignment(
            search=self._replica.spec.id,
            lease=lease.id,
            branch=branch,
            prefix=tuple(self._replica.view.action(step.key) for step in self._replica.view.steps_to(branch)),
            prefix_state=self._replica.view.state(branch),
            limits=BranchLimits(
                iterations=explore.lease_iterations, steps=explore.lease_iterations * 16, milliseconds=work_ms
            ),
            expires_ms=lease.expires_ms,
        )
        signed = await self._witness.artefact(KIND_ASSIGNMENT, lease.id, assignment)
        record = await self._desk.keep(lease, signed.envelope)
        self._progress.branches += 1
        if record.status != "live":
            return  # the lease was ended before it was sent
        work = self._assign(record) if worker != self._me else self._work(lease, assignment)
        self._tasks.start(work, f"lease {lease.id}")

    async def _assign(self, lease: LeaseRecord) -> None:
        """Send a lease to a peer. If the peer cannot accept it, the peer is paused, and the branch can be leased again."""
        try:
            if lease.worker not in self._opened:
                await self._calls.call(lease.worker, "search/open", SearchOpen(spec=self._sealed_spec), Done)
                self._opened.add(lease.worker)
            await self._calls.call(lease.worker, "branch/assign", BranchAssign(assignment=lease.assignment), Done)
        except MeshError as error:
            log.info("%s took no branch: %s", ids.short(lease.worker), error)
            self._opened.discard(lease.worker)
            self.rest(lease.worker, _UNWILLING_PAUSE_S if error.code in _UNWILLING else _PEER_PAUSE_S)
            self._tell({"peer": lease.worker, "error": error.code})
            await self._desk.end(lease.id, Event.EXPIRE)
            self._wake.set()
