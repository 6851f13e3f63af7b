"""Explores one leased branch. An iteration descends, reaches, observes, expands, rolls out and records.

It repeats until the lease is spent."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from adapters.ports import Clock, Page
from node.config import Config
from node.explorer.sharing.replica import Replica
from node.explorer.sharing.visit import Visit, WalkStep
from node.explorer.working.doubts import Doubts
from node.explorer.working.mounted import Makes
from node.explorer.working.walker import Walker
from node.live import Gate, Probing, remembering, with_closed
from protocol import limits
from protocol.capsule.login import asks_for_login
from protocol.errors import MeshError
from protocol.goal.condition import judge
from protocol.goal.goal import parse_goal
from protocol.goal.heuristics import Candidate, candidates, value
from protocol.messages import Assignment, BranchOutcome, BranchResult, Spend
from protocol.page.action import Action
from protocol.page.observation import Element, Observation
from protocol.page.secrets import NO_SECRETS, Secrets
from protocol.risk.classes import Risk, classify
from protocol.search.entry import decode_action
from protocol.trust.origin import origin_of

_LENGTH_COST = 0.02
"""Discount per step of a path, so that of two paths to the goal the shorter one has the higher value."""
BROWSER_GONE = frozenset(
    {"browser.crashed", "browser.missing", "browser.launch", "browser.state", "browser.unreachable", "live.busy"}
)
"""Errors of this node's own browser, which say nothing about a page."""
# Whoever tries again will meet them again, so nothing is left to try there. Other errors may pass.
_LOOKS_CLOSED = frozenset(
    {
        "action.target_missing",
        "action.target_ambiguous",
        "action.target_differs",
        "action.not_possible",
        "page.cut",
        "risk.refused",
    }
)


class Worker:
    """Explores with one page. One lease at a time."""

    def __init__(
        self,
        replica: Replica,
        page: Page,
        clock: Clock,
        config: Config,
        gate: Gate,
        seed: int,
        probing: Probing | None = None,
        secrets: Secrets = NO_SECRETS,
        makes: Makes | None = None,
    ) -> None:
        """probing: finds out what controls do that are in doubt; None where nothing is tried. secrets: what no page may show.
        makes: what of a login is added to them after each step.
        """
        self._doubts = Doubts(replica, gate)
        self._known = gate.history
        self._replica = replica
        self._clock = clock
        self._config = config
        self._goal = parse_goal(replica.spec.goal)
        self._random = random.Random(seed)  # noqa: S311 (reproducible exploration, nothing secret)
        self._visits_of: Counter[bytes] = Counter()
        self._steps = 0
        self._walker = Walker(
            page,
            replica.spec.start_url,
            gate,
            self._count_step,
            probing,
            secrets,
            makes,
        )

    def _count_step(self) -> None:
        self._steps += 1

    async def work(self, assignment: Assignment, after_iteration: Callable[[Spend], Awaitable[bool]]) -> BranchResult:
        """Explore below the assignment's branch until its limits, a claim, or ``after_iteration`` says that it is enough.

        Errors: ``browser.crashed`` and its like; everything else that goes wrong on a page is a finding about that page.
        """
        began_ms, began_steps = self._clock.now_ms(), self._steps
        spend = Spend()
        outcome: BranchOutcome = "spent"
        claim: tuple[bytes, ...] = ()
        if self._replica.left.begin(assignment.branch):
            await self._return_to(assignment.branch)
        while True:
            found, exhausted = await self._iterate(assignment.branch)
            spend = Spend(
                iterations=spend.iterations + 1,
                steps=self._steps - began_steps,
                milliseconds=max(0, self._clock.now_ms() - began_ms),  # the clock may have been set back
            )
            # After every iteration: a crash loses one of them, and peers choose by what is known now.
            await self._replica.flush()
            wanted = await after_iteration(spend)
            if found is not None:
                outcome, claim = "claim", found
                break
            if exhausted:
                outcome = "closed"
                break
            if not wanted or not _within(spend, assignment):
                break
        return BranchResult(
            search=assignment.search,
            lease=assignment.lease,
            branch=assignment.branch,
            outcome=outcome,
            spend=spend,
            claim=claim,
        )

    async def _return_to(self, branch: bytes) -> None:
        """Try the controls on the page at ``branch`` that there was no time for; what only reads can be chosen from now on."""
        replica = self._replica
        try:
            page = await self._walker.reach(replica.view.steps_to(branch))
            if page.state != replica.view.state(branch) or replica.ledger is None:
                return  # the site shows something else there now
            tried = len(replica.ledger.tried)
            choices = await self._choices(page, at_leisure=True)
        except MeshError as error:
            if error.code in BROWSER_GONE:
                replica.left.note(branch)
                raise
            self._walker.forget()
            return
        before = frozenset(replica.view.choosable(branch))
        replica.own.add_children(branch, choices)
        await replica.flush()
        await self._doubts.settled(branch, choices, before)
        self._doubts.note(branch, page, choices)
        await self._doubts.ask()
        # The rest after what can be visited now.
        if len(replica.ledger.tried) > tried:
            self._note_left(branch, choices)

    def _note_left(self, key: bytes, choices: Sequence[Candidate]) -> None:
        """The page at hand may have controls that there was no time to try. A lease of a peer's search is too short for them."""
        doubtful = [each.action for each in choices if not each.selectable]
        if self._replica.leads and self._walker.left(doubtful):
            self._replica.left.note(key)

    async def _target(self, branch: bytes) -> bytes | None:
        """Where the next iteration goes: the end of the most promising way down; None when the branch is exhausted.

        A node whose children are all closed is closed itself, which may close its parent, and so on up to the branch.
        """
        replica = self._replica
        for _ in range(limits.TREE_NODES_MAX):
            below = replica.view.descend(branch)
            target = below[-1] if below else branch
            if not replica.view.expanded(target):
                return target
            if target == branch:
                return None
            replica.own.close_node(target)
            await replica.flush()
        return None

    async def _iterate(self, branch: bytes) -> tuple[tuple[bytes, ...] | None, bool]:
        """One iteration; the claimed path of actions, if the goal was reached, and whether the branch is exhausted."""
        replica = self._replica
        target = await self._target(branch)
        if target is None:
            if branch != replica.root:
                replica.own.close_node(branch)
            return None, True
        steps = replica.view.steps_to(target)
        path = [step.key for step in steps]
        began_ms = self._clock.now_ms()
        states: dict[bytes, bytes] = {}
        try:
            page = await self._walker.reach(steps)
        except MeshError as error:
            if error.code in BROWSER_GONE:
                raise
            # Count the failure at the step that failed, not at the branch that was the destination.
            broken = tuple(path[: self._walker.forget() + 1])
            replica.own.record(
                Visit(
                    path=broken,
                    value=0.0,
                    cost_ms=self._clock.now_ms() - began_ms,
                    failed=True,
                    closed=error.code in _LOOKS_CLOSED,
                )
            )
            return None, False
        best, reached, dead = await self._look(path, page, states)
        rolled = 0
        while not reached and not dead and rolled < self._config.explore.rollout_steps:
            step = self._choose(path[-1] if path else replica.root)
            if step is None:
                break
            rolled += 1
            try:
                page = (await self._walker.advance(step)).observation
            except MeshError as error:
                if error.code in BROWSER_GONE:
                    raise
                self._walker.forget()
                self._fail_child(path, step.key, closed=error.code in _LOOKS_CLOSED)
                break
            path.append(step.key)
            seen, reached, dead = await self._look(path, page, states)
            # What lies further ahead counts for less: the way to it is not known to be the shortest.
            best = max(best, seen * 0.97**rolled)
        if reached:
            best = max(0.5, 1.0 - _LENGTH_COST * len(path))
        replica.own.record(
            Visit(
                path=tuple(path),
                value=best,
                cost_ms=self._clock.now_ms() - began_ms,
                success=reached,
                closed=dead,
                states=states,
            )
        )
        await self._doubts.ask()
        claim = tuple(replica.view.action(key) for key in path) if reached else None
        return claim, False

    async def _look(self, path: list[bytes], page: Observation, states: dict[bytes, bytes]) -> tuple[float, bool, bool]:
        """Value of the page at the end of ``path``, whether it meets the condition, and whether it leads nowhere new."""
        replica = self._replica
        if not replica.login_at and asks_for_login(page):
            replica.login_at = origin_of(page.url)
        key = path[-1] if path else replica.root
        state = page.state
        states[key] = state
        # What a page that is cut may hold behind its end is no success.
        page = await with_closed(self._walker.page, page, replica.spec.condition)
        reached = await asyncio.to_thread(judge, replica.spec.condition, page) is True
        # Reading a page of 1 MiB takes longer than the event loop may stand still.
        visits = self._visits_of[state]
        worth = await asyncio.to_thread(value, self._goal, page, reached=reached, visits_of_state=visits)
        self._visits_of[state] += 1
        if reached:
            return worth, True, False
        nearer = key != replica.root and self._seen_nearer(path, state)
        # What this iteration has passed is not in the tree yet.
        if nearer or any(states.get(each) == state for each in path[:-1]):
            replica.idle.in_vain(decode_action(replica.view.action(key)))
        if nearer:
            # Half: the page may be good, but there is a shorter way to it, which is to be chosen.
            return worth * 0.5, False, True
        if not replica.view.expanded(key):
            choices = await self._choices(page)
            if not choices:
                replica.own.close_node(key)
                return worth, False, True
            replica.own.add_children(key, choices)
            self._doubts.note(key, page, choices)
            self._note_left(key, choices)
        return worth, False, False

    async def _choices(self, page: Observation, *, at_leisure: bool = False) -> tuple[Candidate, ...]:
        """What to try on ``page``, where the walker stands; what of it was in doubt may be settled.

        at_leisure: there is nothing else to do, so some of what is in doubt are tried whatever time that takes.
        """

        def judge(action: Action, element: Element | None, page: Observation) -> Risk:
            if element is None:
                return classify(action, element, page)
            return remembering(action, element, page, self._known)

        await self._known.about(page.url)
        while True:
            # As ``value`` is.
            rated = await asyncio.to_thread(candidates, self._goal, page, classify=judge)
            found = self._replica.idle.without(rated, page)
            doubtful = [each.action for each in found if not each.selectable]
            # What is settled makes room among those that are shown only; each control is tried once.
            if not doubtful or not await self._walker.settle(doubtful, at_leisure=at_leisure):
                return found
            at_leisure = False

    def _seen_nearer(self, path: list[bytes], state: bytes) -> bool:
        """Whether the same state stands at another node that is at least as near to the start: then this way adds nothing."""
        known = self._replica.view.nearest_with_state(state)
        return known is not None and known != path[-1] and self._replica.view.depth(known) <= len(path)

    def _choose(self, key: bytes) -> WalkStep | None:
        """An untried child of ``key``, drawn by prior; None if there is none that may be performed."""
        open_children = self._replica.view.untried(
            key, risk_class_max=self._config.policy.risk_class_max, opened=self._replica.opened
        )
        if not open_children:
            return None
        weights = [
            entry.prior + 1 for _, entry in open_children
        ]  # priors come from a softmax, so no action has probability 0
        child, entry = self._random.choices(open_children, weights=weights)[0]
        return WalkStep(key=child, action=decode_action(entry.action))

    def _fail_child(self, path: list[bytes], child: bytes, *, closed: bool) -> None:
        self._replica.own.record(Visit(path=(*path, child), value=0.0, cost_ms=0, failed=True, closed=closed))


def _within(spend: Spend, assignment: Assignment) -> bool:
    bounds = assignment.limits
    return (
        spend.iterations < bounds.iterations and spend.steps < bounds.steps and spend.milliseconds < bounds.milliseconds
    )


def seed_of(spec_seed: int, node: str) -> int:
    """A worker's own seed: peers roll out differently, runs repeat."""
    return spec_seed ^ int.from_bytes(hashlib.sha256(node.encode()).digest()[:6], "big")
