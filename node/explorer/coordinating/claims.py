"""Claims of success: a worker's statement that it reached the goal has no effect until this node has replayed it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from adapters.ports import Clock
from node.explorer.progress import Progress, Verified
from node.explorer.working.worker import BROWSER_GONE
from node.feed import Feed
from node.verbs import Tell
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.feed import Kind
from protocol.messages import Assignment, BranchResult
from protocol.search.lease import check_claim

log = logging.getLogger(__name__)

_TRIES = 3
"""How often a claim is replayed when it is this node's own browser that does not start."""
_CRASHES_MAX = 2
"""A browser may crash for another page's sake once; whose replay crashes it again has made a false claim."""
_OURS = ("store.", "agent.", "caller.", "control.")
"""Codes of what is wrong with this node, or with the agent that has it search: none of it is the worker's doing."""
_PAUSE_S = 3.0
_LATER_S = 30.0

VerifyClaim = Callable[[tuple[bytes, ...], str], Awaitable[Verified | None]]
"""Replays a claimed path in a fresh context and records it; None when it did not hold."""


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
        """Claims that have come and are to be judged now: no other work is dealt until they are."""
        self.postponed = 0
        """Claims that are to be judged later."""

    def is_liar(self, worker: str) -> bool:
        """Whether ``worker`` has made so many false claims that its claims are no longer replayed."""
        return self._progress.claims_false.get(worker, 0) >= limits.FALSE_CLAIMS_PER_PEER_MAX

    async def check(self, worker: str, assignment: Assignment, result: BranchResult) -> None:
        """Nothing, if ``result`` claims nothing, or something its lease could give; else it is a false claim.

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

    async def judge(self, worker: str, result: BranchResult) -> Verified | None:
        """What a claim comes to, once its replay has ended. One that does not hold counts against its worker.

        It does not hold if an action of it fails, the condition does not hold at its end, it takes longer than
        ``CLAIM_REPLAY_TIMEOUT_S``, or it crashes the browser twice. Errors: why this node cannot tell, ``browser.*`` or
        ``store.*``: a browser of ours that does not start, or a full disk, decides nothing.
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
        """Wait with a claim that could not be judged, because no browser started or the disk is full. Other work continues."""
        self.open -= 1
        self.postponed += 1
        try:
            await self._clock.sleep(_LATER_S)
        finally:
            self.open += 1
            self.postponed -= 1

    async def _replay(self, worker: str, path: tuple[bytes, ...]) -> Verified | None:
        """None when the claim does not hold. Errors: why this node cannot tell, ``browser.*`` or ``store.*``."""
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
                raise failure  # a full disk of ours says nothing about the claim, nor about a crash before
            crashes += failure.code == "browser.crashed"
            if failure.code not in BROWSER_GONE or crashes == _CRASHES_MAX:
                return None
        if crashes:
            return None  # it crashed a browser that does not start again since
        assert failure is not None, "no try was left out"
        raise failure

    async def _refuse(self, worker: str, result: BranchResult) -> None:
        self._progress.claims_checked.append(result.lease)
        self._progress.claims_false[worker] = self._progress.claims_false.get(worker, 0) + 1
        self._tell({"claim_refused": len(result.claim), "peer": worker})
        await self._feed.tell(Kind.CLAIM_REFUSED, result.lease, result.search, worker)
