"""The browser work of a search on this node: opens the start page, works on leases, replays claims."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec

from adapters.ports import BrowserState, Clock, SessionStore
from node.config import Config
from node.explorer.progress import Progress, Verified
from node.explorer.sharing.replica import Replica
from node.explorer.working.doubts import Counted
from node.explorer.working.mounted import Mounted
from node.explorer.working.worker import Worker, seed_of
from node.live import (
    Asks,
    Browsers,
    Driver,
    Gate,
    Held,
    History,
    Ledger,
    Mount,
    Probes,
    Probing,
    Recording,
    Wish,
    guard_for,
    mounted,
    record,
    with_closed,
)
from node.signing import Witness
from node.verbs import CallerKind, current_caller
from protocol import limits
from protocol.capsule.login import asks_for_login
from protocol.errors import NOT_LOADED, MeshError
from protocol.goal.condition import holds
from protocol.messages import Assignment, BranchResult, SearchSpec, Spend
from protocol.page.action import Action, Goto
from protocol.page.secrets import Secrets
from protocol.risk.requests import GuardPolicy
from protocol.search.entry import decode_action
from protocol.trust.origin import origin_of

AfterIteration = Callable[[Spend], Awaitable[bool]]
_CLAIM_WAIT_S = 10
"""How long a claim waits for a browser context. The wait counts towards the time limit of the replay, so it must be short."""


class PageWork:
    """Pages of one node, always under its own policy, whichever node asked for the work."""

    def __init__(
        self,
        witness: Witness,
        config: Config,
        store: SessionStore,
        clock: Clock,
        browsers: Browsers,
        asks: Asks | None = None,
        history: History | None = None,
    ) -> None:
        """asks: who asks the owner about what a search leaves alone; None where nobody is asked.

        history: what was found out about controls; None where nothing in doubt is tried.
        """
        self._asks = asks
        self._history = history
        self._witness = witness
        self._config = config
        self._store = store
        self._clock = clock
        self._browsers = browsers
        self._gate = Gate(
            report=witness.trail.gate, risk_max=config.policy.risk_class_max, history=history or browsers.history
        )
        # All searches share the limit on concurrent exploring; this node's own leases wait for a place.
        self._places = asyncio.Semaphore(max(1, config.explore.workers))
        self._mounted: dict[str, Mounted] = {}
        """Logins in use, by the id of the search."""

    @contextlib.asynccontextmanager
    async def mounted(self, spec: SearchSpec, capsule: str) -> AsyncIterator[str]:
        """A block in which contexts of the search begin with the login of ``capsule``; its id. An empty text changes nothing.

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
            self._mounted[spec.id] = Mounted(mount)
            await mount.ready()
            try:
                yield mount.capsule
            finally:
                del self._mounted[spec.id]

    @contextlib.asynccontextmanager
    async def _login_for(self, spec: SearchSpec, within: tuple[str, ...] | None) -> AsyncIterator[Mounted]:
        """What the contexts of one lease begin with. Behind a login, a branch for a peer is one use of a login of this node's own.

        So the login is free between two branches, and each use is judged, counted and signed.
        """
        here = self._mounted.get(spec.id)
        if here is not None:
            yield here
            return
        guard = guard_for(self._config.policy, within=within)
        if not spec.login:
            yield Mounted(Mount(guard=guard))
            return
        capsule = await self._browsers.mounts.own(spec.start_url, "explore")
        risk_max = min(self._config.policy.risk_class_max, limits.WORK_CLASS_MAX)
        wish = Wish(task="explore", guard=guard, start_url=spec.start_url, risk_max=risk_max, work=spec.id)
        async with mounted(self._browsers.mounts, capsule, wish) as mount:
            await mount.ready()
            yield Mounted(mount)

    def _gate_of(self, spec: SearchSpec, guard: GuardPolicy, ledger: Ledger) -> Gate:
        """The gate of work in a search: it asks for whoever the work is done for, and knows the answers for this search."""
        asking = Counted(self._asks(current_caller(), spec.id), ledger) if self._asks else None
        history = Held(self._gate.history, guard, wary=True)
        return msgspec.structs.replace(self._gate, asking=asking, history=history)

    async def try_start(self, spec: SearchSpec) -> str:
        """Open the start page once, so that a search that cannot begin fails with the reason. Its origin if it asks for a login.

        Errors: ``search.start_failed``, ``risk.refused``, ``browser.*``.
        """
        mounted = self._mounted.get(spec.id) or Mounted(Mount(guard=guard_for(self._config.policy)))
        async with mounted.opened(self._browsers, spec.profile) as (_, page):
            try:
                driver = Driver(page, mounted.mount.gate(self._gate), mounted.secrets())
                seen = (await driver.act(Goto(url=spec.start_url))).observation
            except MeshError as error:
                if error.code not in NOT_LOADED:
                    raise
                raise MeshError("search.start_failed", f"{spec.start_url}: {error.message}", **error.detail) from error
        return origin_of(seen.url) if asks_for_login(seen) else ""

    async def proposes(self, progress: Progress) -> str:
        """A capsule that a search without a login could have begun with; empty if no page asked for one, or there is none."""
        if progress.capsule or not progress.login_at:
            return ""
        return await self._browsers.mounts.proposes(progress.login_at + "/", "explore")

    async def explore(
        self, replica: Replica, assignment: Assignment, after: AfterIteration, within: tuple[str, ...] | None = None
    ) -> BranchResult:
        """Work on one lease; for a peer, contacting only origins of ``within``.

        Errors: ``browser.*``, ``store.*``, those of ``guard_for``, ``input.not_found`` (the branch is not known here yet); of
        a search behind a login ``work.no_login``, those of ``Mounts.mount``.
        """
        async with (
            self._places,  # before the login, so that none is held by work that waits
            self._login_for(replica.spec, within) as mounted,
            mounted.opened(self._browsers, replica.spec.profile) as (context, page),
        ):
            seed = seed_of(replica.spec.seed, assignment.lease)
            replica.ledger = replica.ledger or Ledger(Probes(), self._clock, replica.spec.seconds)
            gate = mounted.mount.gate(self._gate_of(replica.spec, mounted.mount.guard, replica.ledger))
            if within is not None and mounted.mount.capsule:
                gate = msgspec.structs.replace(gate, risk_max=min(gate.risk_max, limits.WORK_CLASS_MAX))
            secrets, makes = mounted.secrets(), mounted.makes(context)
            probing = self._probing(replica.spec, mounted.mount, context.state, replica.ledger, secrets)
            worker = Worker(replica, page, self._clock, self._config, gate, seed, probing, secrets, makes)
            return await worker.work(assignment, after)

    def _probing(
        self,
        spec: SearchSpec,
        mount: Mount,
        state: Callable[[], Awaitable[BrowserState]],
        ledger: Ledger,
        secrets: Secrets,
    ) -> Probing | None:
        """What finds out about controls in doubt; None where that is off.

        An attached browser is somebody else's: not everything that it sends comes before the guard. A probe has a copy of the
        state: a site that renews a login at each visit may take that for a theft, and end it (``Mount.probes``).
        """
        attached = bool(self._config.browser.cdp_url)
        if self._history is None or not self._config.policy.probe or attached or not mount.probes:
            return None
        return Probing(
            self._browsers,
            spec.profile,
            mount.guard,
            state,
            secrets=secrets,
            history=self._history,
            ledger=ledger,
            clock=self._clock,
        )

    async def replay_claim(
        self, spec: SearchSpec, path: tuple[bytes, ...], peer: str, ledger: Ledger | None = None
    ) -> Verified | None:
        """Replay a claimed path in a fresh context, recording it; None unless the condition holds at its end.

        Errors: ``delta.invalid`` (no path of actions), ``risk.refused``, ``action.*``, ``browser.*``, ``store.*``.
        """
        actions: list[Action] = [Goto(url=spec.start_url), *(decode_action(step) for step in path)]
        mounted = self._mounted.get(spec.id) or Mounted(Mount(guard=guard_for(self._config.policy)))
        guard = mounted.mount.guard
        async with mounted.opened(self._browsers, spec.profile, wait_s=_CLAIM_WAIT_S) as (context, page):
            ledger = ledger or Ledger(Probes(), self._clock, spec.seconds)
            secrets = mounted.secrets()
            probing = self._probing(spec, mounted.mount, context.state, ledger, secrets)
            plan = Recording(
                title=spec.goal,
                start_url=spec.start_url,
                profile=spec.profile,
                browser=await self._browsers.info(),  # of the browser that runs: none is started without a budget of its time
                gate=mounted.mount.gate(self._gate_of(spec, guard, ledger)),
                secrets=secrets,
                makes=mounted.makes(context),
                capsule=mounted.mount.capsule,
                login=mounted.mount.used,
                search=spec.id,
                sites=self._config.policy.sites,
            )
            async with record(self._store, page, self._clock, self._witness, plan) as recorder:
                outcome = await recorder.perform(actions[0])
                for at, action in enumerate(actions[1:], 1):
                    if probing is not None:
                        # What a peer says that a control does, counts for nothing here.
                        # Nothing is dealt meanwhile, and without it a true claim would be refused.
                        await probing.settle(outcome.observation, actions[:at], [action], at_leisure=True)
                    outcome = await recorder.perform(action)
            end = await with_closed(page, outcome.observation, spec.condition)
        # Not the verdict: a request of a third party that went wrong does not make a claim false.
        if not holds(spec.condition, end) or not all(step.ok for step in recorder.steps):
            return None
        return Verified(session=recorder.session.id, path=path, claimed_by=peer)
