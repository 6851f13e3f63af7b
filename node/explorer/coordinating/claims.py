"""Claims of success: a worker's statement that it reached the goal has no effect until this node has replayed it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from adapters.ports.clock import Clock
from node.explorer.progress import Progress, VerifiedSuccess
from node.explorer.working.worker import BROWSER_GONE
from node.signing import Feed
from node.verbs import Tell
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.messages import Assignment, BranchResult
from protocol.search.lease import check_claim

log = logging.getLogger(__name__)

_TRIES = 3
"""How often a replay is tried if this node's own browser does not start."""
_CRASHES_MAX = 2
"""Another page in the same browser may have caused the first crash. If a second replay crashes too, the claim is false."""
_OURS = ("store.", "agent.", "caller.", "control.")
"""Errors of this node, or of the agent that started the search. They say nothing about the worker."""
_PAUSE_S = 3.0
_LATER_S = 30.0

VerifyClaim = Callable[[tuple[bytes, ...], str], Awaitable[VerifiedSuccess | None]]
"""Replays a claimed path in a fresh context and records it; None if the claim did not hold."""


class Claims:
    """The claims of one search, judged one at a time."""

    def __init__(self, progress: Progress, clock: Clock, verify: VerifyClaim, tell: Tell, me: str, feed: Feed) -> None:
        self._progress = progress
        self._clock = clock
        self._verify = verify
        self._tell = tell
        self._me = me
        self._feed = feed
        self._judging = asyncio.Lock()
        self.open = 0
        """Claims to be judged now. No branch is leased until they are."""
        self.postponed = 0
        """Claims that could not be judged yet."""

    def is_liar(self, worker: str) -> bool:
        """True if ``worker`` has made so many false claims that its claims are no longer replayed."""
        return self._progress.claims_false.get(worker, 0) >= limits.FALSE_CLAIMS_PER_PEER_MAX

    async def check(self, worker: str, assignment: Assignment, result: BranchResult) -> None:
        """Check that ``result`` makes no claim, or one that is possible within its lease. An impossible claim counts as false.

        Errors: ``claim.invalid``.
        """
        if result.outcome != "claim":
            return
        try:
            check_claim(assignment.prefix, result.claim)
        except MeshError as error:
            log.warning("claim of %s: %s", ids.short(worker), error)
            self._progress.claims += 1
            await self._refuse(worker, result)
            raise

    async def judge(self, worker: str, result: BranchResult) -> VerifiedSuccess | None:
        """Replay a claim and return the result. An unconfirmed claim counts against its worker.

        A claim is unconfirmed if one of its actions fails, the condition is not met at its end, it takes longer than
        ``CLAIM_REPLAY_TIMEOUT_S``, or it crashes the browser twice. Errors: ``browser.*`` or ``store.*`` if this node cannot
        judge it. A browser of ours that does not start, or a full disk, leaves the claim undecided.
        """
        async with self._judging:
            if result.lease in self._progress.claims_checked or self.is_liar(worker):
                return None
            self._tell({"claim": len(result.claim), "peer": worker})
            try:
                verified = await self._replay(worker, result.claim)
            except MeshError as error:
                self._tell({"peer": self._me, "error": error.code})
                raise
            if verified is None:
                await self._refuse(worker, result)
            else:
                self._progress.claims_checked.append(result.lease)
            return verified

    async def postpone(self) -> None:
        """Delay a claim that could not be judged, because no browser started or the disk is full. Other work continues."""
        self.open -= 1
        self.postponed += 1
        try:
            await self._clock.sleep(_LATER_S)
        finally:
            self.open += 1
            self.postponed -= 1

    async def _replay(self, worker: str, path: tuple[bytes, ...]) -> VerifiedSuccess | None:
        """Replay the claim; None if it is not confirmed. Errors: ``browser.*`` or ``store.*`` if this node cannot judge it."""
        crashes = 0
        failure: MeshError | None = None
        for _ in range(_TRIES):
            if failure is not None:
                await self._clock.sleep(_PAUSE_S)
            try:
                async with asyncio.timeout(limits.CLAIM_REPLAY_TIMEOUT_S):
                    return await self._verify(path, worker)
            except TimeoutError:
                log.warning("claim of %s: no end after %d s", ids.short(worker), limits.CLAIM_REPLAY_TIMEOUT_S)
                return None
            except MeshError as error:
                log.warning("claim of %s could not be replayed: %s", ids.short(worker), error)
                failure = error
            if failure.code.startswith(_OURS):
                raise failure  # a full disk here says nothing about the claim or an earlier crash
            crashes += failure.code == "browser.crashed"
            if failure.code not in BROWSER_GONE or crashes == _CRASHES_MAX:
                return None
        if crashes:
            return None  # its replay crashed the browser, which has not started again since
        assert failure is not None, "no try was left out"
        raise failure

    async def _refuse(self, worker: str, result: BranchResult) -> None:
        self._progress.claims_checked.append(result.lease)
        self._progress.claims_false[worker] = self._progress.claims_false.get(worker, 0) + 1
        self._tell({"claim_refused": len(result.claim), "peer": worker})
        await self._feed.tell(FeedKind.CLAIM_REFUSED, result.lease, result.search, worker)
