"""The browser work of a search on this node: opens the start page, works on leases, replays claims."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

import msgspec

from adapters.ports.browser import ActionOutcome, Page
from adapters.ports.choosing import Chooser
from adapters.ports.clock import Clock
from adapters.ports.store import SessionStore
from node.config import Config
from node.explorer.progress import Progress, VerifiedSuccess
from node.explorer.sharing.replica import Replica
from node.explorer.working.frontier import Frontier
from node.explorer.working.kept_pages import KeptPage, KeptPages
from node.explorer.working.mounted import SharedMount
from node.explorer.working.worker import Worker, seed_of
from node.live.acting import Driver, Gate
from node.live.browsers import Browsers, Lent, Mount, Wish, guard_for, mounted
from node.live.finding import with_closed
from node.live.recording import Recording, record
from node.signing import Witness
from node.verbs import CallerKind, current_caller
from protocol import limits
from protocol.capsule.flows.login import asks_for_login
from protocol.errors import NOT_LOADED, MeshError
from protocol.goal.condition import holds
from protocol.messages import Assignment, BranchResult, SearchSpec, Spend
from protocol.page.actions.action import Action, Goto, Reload
from protocol.risk.requests.refused import may_change
from protocol.risk.requests.requests import GuardPolicy
from protocol.search.entry import decode_action
from protocol.trust.origin import origin_of

AfterIteration = Callable[[Spend], Awaitable[bool]]
_CLAIM_WAIT_S = 10
"""How long a claim waits for a browser context. The wait counts towards the time limit of the replay, so it must be short."""


class PageWork:
    """Pages of one node, always under its own policy, no matter which node asked for the work."""

    def __init__(
        self,
        witness: Witness,
        config: Config,
        store: SessionStore,
        clock: Clock,
        browsers: Browsers,
    ) -> None:
        self._kept = KeptPages(browsers)
        self._frontiers: dict[str, Frontier] = {}
        """The frontier of this node's work in each search, by search id."""
        self._witness = witness
        self._config = config
        self._store = store
        self._clock = clock
        self._browsers = browsers
        self._gate = Gate(report=witness.trail.gate, risk_max=config.policy.risk_class_max)
        # All searches share the limit on concurrent exploring; this node's own leases wait for a place.
        self._places = asyncio.Semaphore(max(1, config.explore.workers))
        self.choosers: dict[str, Chooser] = {}
        """Choosers in use, by the id of the search."""
        self._mounted: dict[str, SharedMount] = {}
        """Logins in use, by the id of the search."""

    @contextlib.asynccontextmanager
    async def mounted(self, spec: SearchSpec, capsule: str) -> AsyncIterator[str]:
        """A block in which contexts of the search begin with the login of ``capsule``; yields its id. An empty text changes
        nothing.

        Errors: those of ``Mounts.mount``, ``input.invalid`` (it is in use already).
        """
        if not capsule:
            yield ""
            return
        wish = Wish(
            task="schedule" if current_caller().kind is CallerKind.SCHEDULE else "explore",
            guard=guard_for(self._config.policy),
            start_url=spec.start_url,
            risk_max=self._config.policy.risk_class_max,
            work=spec.id,
        )
        async with mounted(self._browsers.mounts, capsule, wish) as mount:
            self._mounted[spec.id] = SharedMount(mount)
            await mount.ready()
            try:
                yield mount.capsule
            finally:
                del self._mounted[spec.id]

    @contextlib.asynccontextmanager
    async def _login_for(self, spec: SearchSpec, within: tuple[str, ...] | None) -> AsyncIterator[SharedMount]:
        """The mount for the contexts of one lease. Behind a login, a branch for a peer is one use of a login of this node's own.

        So the login is free between two branches, and each use is judged, counted and signed.
        """
        here = self._mounted.get(spec.id)
        if here is not None:
            yield here
            return
        guard = guard_for(self._config.policy, within=within)
        if not spec.login:
            yield SharedMount(Mount(guard=guard))
            return
        capsule = await self._browsers.mounts.own(spec.start_url, "explore")
        risk_max = min(self._config.policy.risk_class_max, limits.WORK_CLASS_MAX)
        wish = Wish(task="explore", guard=guard, start_url=spec.start_url, risk_max=risk_max, work=spec.id)
        async with mounted(self._browsers.mounts, capsule, wish) as mount:
            await mount.ready()
            yield SharedMount(mount)

    def _gate_of(self, guard: GuardPolicy) -> Gate:
        """The gate of work in a search. It asks nobody: refusals are noted, and the search continues elsewhere."""
        wall = self._browsers.wall(guard) if self._config.policy.probe else None
        return msgspec.structs.replace(self._gate, wall=wall, chooses=True)

    async def try_start(self, spec: SearchSpec) -> str:
        """Open the start page, so that a search that cannot begin fails with the reason. Returns its origin if it asks for a login.

        The first lease here continues from there.

        Errors: ``search.start_failed``, ``risk.refused``, ``browser.*``.
        """
        mounted = self._mounted.get(spec.id) or SharedMount(Mount(guard=guard_for(self._config.policy)))
        kept = self._kept.take(spec.id, spec.profile, mounted)

        async def begin(_: Lent, page: Page) -> ActionOutcome:
            return await Driver(page, mounted.mount.gate(self._gate), kept.secrets).act(Goto(url=spec.start_url))

        try:
            kept.begun = await kept.run(begin)
        except MeshError as error:
            if error.code not in NOT_LOADED:
                raise
            raise MeshError("search.start_failed", f"{spec.start_url}: {error.message}", **error.detail) from error
        seen = kept.begun.observation
        return origin_of(seen.url) if asks_for_login(seen) else ""

    async def proposes(self, progress: Progress) -> str:
        """A capsule that a search without a login could have used; empty if no page asked for one, or none fits."""
        if progress.capsule or not progress.login_at:
            return ""
        return await self._browsers.mounts.proposes(progress.login_at + "/", "explore")

    async def explore(
        self, replica: Replica, assignment: Assignment, after: AfterIteration, within: tuple[str, ...] | None = None
    ) -> BranchResult:
        """Work on one lease; for a peer, contacting only origins of ``within``.

        The page stays open for the next lease, unless it holds a login of this node's own for a peer. Errors: ``browser.*``,
        ``store.*``, those of ``guard_for``, ``input.not_found`` (the branch is not known here yet); of a search behind a login
        ``work.no_login``, those of ``Mounts.mount``.
        """
        spec = replica.spec
        async with (
            self._places,  # before the login, so that no waiting work holds one
            self._login_for(spec, within) as mounted,
        ):
            page = self._kept.take(spec.id, spec.profile, mounted)
            try:
                return await page.run(partial(self._explore, page, replica, assignment, after, within))
            finally:
                if page.mounted.mount.capsule and (spec.id not in self._mounted or page.mounted.wanted):
                    await page.close()

    async def _explore(
        self,
        kept: KeptPage,
        replica: Replica,
        assignment: Assignment,
        after: AfterIteration,
        within: tuple[str, ...] | None,
        context: Lent,
        page: Page,
    ) -> BranchResult:
        if kept.worker is None:
            mount, spec = kept.mounted.mount, replica.spec
            gate = mount.gate(self._gate_of(mount.guard))
            if within is not None and mount.capsule:
                gate = msgspec.structs.replace(gate, risk_max=min(gate.risk_max, limits.WORK_CLASS_MAX))
            seed, makes = seed_of(spec.seed, assignment.lease), kept.mounted.makes(context)
            frontier = self._frontiers.setdefault(spec.id, Frontier())
            kept.worker = Worker(
                replica,
                page,
                self._clock,
                self._config,
                gate,
                seed,
                kept.secrets,
                makes,
                kept.begun,
                frontier,
                self.choosers.get(spec.id),
            )
        return await kept.worker.work(assignment, after)

    async def leave(self, search: str) -> None:
        """Close the pages of a search that has ended here."""
        self._frontiers.pop(search, None)
        self.choosers.pop(search, None)
        await self._kept.leave(search)

    async def replay_claim(self, spec: SearchSpec, path: tuple[bytes, ...], peer: str) -> VerifiedSuccess | None:
        """Replay a claimed path in a fresh context, and record it; None unless the condition holds at its end.

        If an action was refused because it would change something, the condition must also hold after the page is opened again
        by its address: a page may look as if the change had been made. Errors: ``delta.invalid`` (no path of actions),
        ``risk.refused``, ``action.*``, ``browser.*``, ``store.*``.
        """
        actions: list[Action] = [Goto(url=spec.start_url), *(decode_action(step) for step in path)]
        mounted = self._mounted.get(spec.id) or SharedMount(Mount(guard=guard_for(self._config.policy)))
        await self._kept.rest(spec.id)
        async with mounted.opened(self._browsers, spec.profile, wait_s=_CLAIM_WAIT_S) as (context, page):
            secrets = mounted.secrets()
            gate = mounted.mount.gate(self._gate_of(mounted.mount.guard))
            plan = Recording(
                title=spec.goal,
                start_url=spec.start_url,
                profile=spec.profile,
                browser=await self._browsers.info(),  # of the running browser: none is started without a time budget
                gate=gate,
                secrets=secrets,
                makes=mounted.makes(context),
                capsule=mounted.mount.capsule,
                login=mounted.mount.used,
                search=spec.id,
                goes_on=True,
                sites=self._config.policy.sites,
            )
            doubtful = False
            async with record(self._store, page, self._clock, self._witness, plan) as recorder:
                outcome = await recorder.perform(actions[0])
                for action in actions[1:]:
                    outcome = await recorder.perform(action)
                    doubtful = doubtful or any(map(may_change, outcome.blocked_by))
            end = await with_closed(page, outcome.observation, spec.condition)
            # Not the verdict: a failed request of a third party does not make a claim false.
            done = all(step.ok or step.error == "risk.refused" for step in recorder.steps)
            if not holds(spec.condition, end) or not done:
                return None
            if doubtful:
                anew = (await Driver(page, gate, secrets).act(Reload())).observation
                if not holds(spec.condition, await with_closed(page, anew, spec.condition)):
                    return None
        return VerifiedSuccess(session=recorder.session.id, path=path, claimed_by=peer)
