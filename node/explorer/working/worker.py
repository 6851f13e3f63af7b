"""Explores one leased branch. An iteration descends, reaches, observes, expands, rolls out and records.

It repeats until the lease is spent.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, NamedTuple

import msgspec

from adapters.ports.browser import ActionOutcome, Page
from adapters.ports.choosing import Chooser
from adapters.ports.clock import Clock
from node.config import Config
from node.explorer.sharing.replica import Replica
from node.explorer.sharing.visit import Visit, WalkStep
from node.explorer.working.choosing import preferred
from node.explorer.working.frontier import Frontier, Kind
from node.explorer.working.walker import Walker
from node.live.acting import Gate, Makes
from node.live.finding import with_closed
from protocol import limits
from protocol.capsule.flows.login import asks_for_login
from protocol.errors import MeshError
from protocol.goal.condition import judge
from protocol.goal.goal import parse_goal
from protocol.goal.heuristics import Candidate, candidates, value
from protocol.messages import Assignment, BranchOutcome, BranchResult, Spend
from protocol.page.actions.action import Action, Click, Fill, Press
from protocol.page.secrets.secrets import NO_SECRETS, Secrets
from protocol.page.seen.observation import Element, Observation
from protocol.risk.pressing.classes import WRITE_CLASS, Risk, classify
from protocol.risk.pressing.pressing import raised
from protocol.search.entry import decode_action
from protocol.search.places import place_of
from protocol.trust.origin import origin_of

_LENGTH_COST = 0.02
"""Discount per step of a path, so that of two paths to the goal the shorter one has the higher value."""
BROWSER_GONE = frozenset(
    {"browser.crashed", "browser.missing", "browser.launch", "browser.state", "browser.unreachable", "live.busy"}
)
"""Errors of this node's own browser, which say nothing about a page."""
# A retry will meet them again, so nothing is left to try there. Other errors may pass.
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


_TURNS: Final[tuple[Kind | None, ...]] = ("link", "press", "link", None)
"""The targets in turn: the nearest link that nobody has followed, the nearest other control that nobody has pressed, the most
promising node. So a target two clicks away is met early, whatever its name."""


class _Seen(NamedTuple):
    """The evaluation of a page."""

    worth: float
    reached: bool = False
    dead: bool = False
    """True if it leads nowhere new."""

    @property
    def over(self) -> bool:
        return self.reached or self.dead


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
        secrets: Secrets = NO_SECRETS,
        makes: Makes | None = None,
        begun: ActionOutcome | None = None,
        frontier: Frontier | None = None,
        chooser: Chooser | None = None,
    ) -> None:
        """secrets: hidden from pages. makes: adds a login's renewed values to them after each step. begun: as ``Walker``.

        frontier: the pages seen by this node's work in the search; several workers share it.
        chooser: prefers one of the actions of each page.
        """
        self._gate = gate
        self._replica = replica
        self._clock = clock
        self._config = config
        self._goal = parse_goal(replica.spec.goal)
        self._random = random.Random(seed)  # noqa: S311 (reproducible exploration, nothing secret)
        self._chooser, self._secrets = chooser, secrets
        self._visits_of: Counter[bytes] = Counter()
        self._worth: dict[bytes, float] = {}
        """By node that an iteration visited, the worth of its page."""
        self._steps = self._turns = 0
        self._frontier = frontier or Frontier()
        self._walker = Walker(
            page,
            replica.spec.start_url,
            gate,
            self._count_step,
            secrets,
            makes,
            self._frontier.addresses,
            begun,
            replica.would_send,
        )

    def _count_step(self) -> None:
        self._steps += 1

    async def work(self, assignment: Assignment, after_iteration: Callable[[Spend], Awaitable[bool]]) -> BranchResult:
        """Explore below the assignment's branch until its limits, a claim, or ``after_iteration`` returns False.

        Errors: ``browser.crashed`` and its like; any other failure on a page is a finding about that page.
        """
        began_ms, began_steps = self._clock.now_ms(), self._steps
        spend = Spend()
        outcome: BranchOutcome = "spent"
        claim: tuple[bytes, ...] = ()
        while True:
            found, exhausted = await self._iterate(assignment.branch)
            spend = Spend(
                iterations=spend.iterations + 1,
                steps=self._steps - began_steps,
                milliseconds=max(0, self._clock.now_ms() - began_ms),  # the clock may have been set back
            )
            await self._replica.flush()
            wanted = await after_iteration(spend)
            if found is not None:
                outcome, claim = "claim", found
                break
            if exhausted or self._replica.view.closed(assignment.branch):
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

    async def _target(self, branch: bytes) -> tuple[bytes | None, bool]:
        """The target of the next iteration: the nearest untried node, or the end of the most promising way down; None if the
        branch is exhausted. Also True if it is the nearest link.

        A node whose children are all closed is closed itself, which may close its parent, and so on up to the branch.
        """
        replica = self._replica
        kind = _TURNS[self._turns % len(_TURNS)]
        self._turns += 1
        if kind is not None and (near := self._nearest(kind, branch)) is not None:
            return near, kind == "link"
        for _ in range(limits.TREE_NODES_MAX):
            below = replica.view.descend(branch)
            target = below[-1] if below else branch
            if not replica.view.expanded(target):
                return target, False
            if target == branch:
                break
            replica.own.close_node(target)
            await replica.flush()
        return None, False

    def _nearest(self, kind: Kind, branch: bytes) -> bytes | None:
        """The nearest node of that kind below ``branch`` that nobody has tried and nobody else has leased."""
        view = self._replica.view
        return self._frontier.nearest(
            kind,
            lambda key: view.is_below(key, branch) and not view.leased(key),
            lambda key: not view.visits(key) and key not in self._replica.own.registers,
        )

    async def _iterate(self, branch: bytes) -> tuple[tuple[bytes, ...] | None, bool]:
        """Run one iteration. Returns the claimed path of actions, if the goal was reached, and True if the branch is exhausted.

        Each page is added to the tree, for everybody, before the next one is opened.
        """
        replica = self._replica
        target, near = await self._target(branch)
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
            # Attribute the failure to the step that failed, not to the branch that was the destination.
            self._fail(path[: self._walker.forget() + 1], error, self._clock.now_ms() - began_ms)
            return None, False
        seen = await self._look(path, page, states)
        if not seen.over and steps and isinstance(steps[-1].action, Fill):
            seen = await self._send(path, steps[-1].action, states) or seen
        rolled, ahead = 0, self._ahead(path, seen, near=near)
        while True:
            if seen.reached:
                claim = await self._confirmed(path)
                confirmed = claim is not None  # for the start page it is empty
                worth = max(0.5, 1.0 - _LENGTH_COST * len(path)) if confirmed else 0.0
                seen = _Seen(worth, reached=confirmed, dead=not confirmed)
            # Pages further ahead count for less: the way to them may not be the shortest.
            worth = seen.worth if seen.reached else seen.worth * 0.97**rolled
            now_ms = self._clock.now_ms()
            replica.own.record(
                Visit(
                    path=tuple(path),
                    value=worth,
                    cost_ms=now_ms - began_ms,
                    success=seen.reached,
                    closed=seen.dead,
                    states=states,
                )
            )
            began_ms = now_ms
            if seen.reached:
                return claim, False
            await replica.flush()
            step = None if seen.dead or rolled >= ahead else self._choose(path, None)
            if step is None or (after := await self._advance(path, step)) is None:
                return None, False
            rolled += 1
            seen = await self._look(path, after, states)

    def _ahead(self, path: list[bytes], seen: _Seen, *, near: bool) -> int:
        """How many steps to look ahead from the page at the end of ``path``.

        The page of the nearest link is left again, unless it is worth more than the page with the link. The effect of a press,
        such as an open menu, is followed at once: it may be gone later.
        """
        before = self._worth.get(path[-2] if len(path) > 1 else self._replica.root, 0.0)
        self._worth[path[-1] if path else self._replica.root] = seen.worth
        return 0 if near and seen.worth <= before else self._config.explore.rollout_steps

    async def _send(self, path: list[bytes], typed: Fill, states: dict[bytes, bytes]) -> _Seen | None:
        """Press Enter in the field that was just filled: both are one visit. None if that leads nowhere."""
        step = self._choose(path, typed)
        if step is None or (page := await self._advance(path, step)) is None:
            return None
        return await self._look(path, page, states)

    async def _advance(self, path: list[bytes], step: WalkStep) -> Observation | None:
        """Perform one more step from the page at the end of ``path``, and append it to the path; None if it failed."""
        began_ms = self._clock.now_ms()
        try:
            page = await self._walker.advance(step)
        except MeshError as error:
            self._walker.forget()
            self._fail([*path, step.key], error, self._clock.now_ms() - began_ms)
            return None
        path.append(step.key)
        return page

    async def _confirmed(self, path: list[bytes]) -> tuple[bytes, ...] | None:
        """The claim that the goal is at the end of ``path``; None if it does not hold after each link on the way is pressed.

        A link was followed by its address, but a replay presses it, and scripts can handle a press differently.
        """
        view = self._replica.view
        steps = view.steps_to(path[-1]) if path else []
        if not self._walker.was_pressed(steps):
            try:
                page = await self._walker.press(steps)
            except MeshError as error:
                if error.code in BROWSER_GONE:
                    raise
                self._walker.forget()
                return None
            if not await self._reaches(await with_closed(self._walker.page, page, self._replica.spec.condition)):
                return None
        return tuple(view.action(key) for key in path)

    async def _reaches(self, page: Observation) -> bool:
        """True if the current page meets the condition. The unread end of a cut page proves nothing, nor does a document after
        a refused write.
        """
        met = await asyncio.to_thread(judge, self._replica.spec.condition, page)
        return met is True and not self._walker.unconfirmed

    async def _look(self, path: list[bytes], page: Observation, states: dict[bytes, bytes]) -> _Seen:
        """Evaluate the page at the end of ``path``, and name its children."""
        replica = self._replica
        if not replica.login_at and asks_for_login(page):
            replica.login_at = origin_of(page.url)
        key = path[-1] if path else replica.root
        place = place_of(page)
        states[key] = place
        page = await with_closed(self._walker.page, page, replica.spec.condition)
        reached = await self._reaches(page)
        # Reading a page of 1 MiB would block the event loop for too long.
        visits = self._visits_of[place]
        worth = await asyncio.to_thread(value, self._goal, page, reached=reached, visits_of_state=visits)
        self._visits_of[place] += 1
        if reached:
            return _Seen(worth, reached=True)
        nearer = key != replica.root and self._seen_nearer(path, place)
        # The nodes that this iteration has passed are not in the tree yet.
        if key != replica.root:
            vain = nearer or any(states.get(each) == place for each in path[:-1])
            (replica.idle.in_vain if vain else replica.idle.led_on)(decode_action(replica.view.action(key)))
        if nearer:
            # Half: the page may be good, but there is a shorter way to it, which should be chosen.
            return _Seen(worth * 0.5, dead=True)
        if not replica.view.expanded(key):
            choices = await self._choices(page, len(path))
            self._frontier.take((replica.root, *path), page, choices)
            if not choices:
                replica.own.close_node(key)
                return _Seen(worth, dead=True)
            replica.own.add_children(key, choices)
        return _Seen(worth)

    async def _choices(self, page: Observation, depth: int) -> tuple[Candidate, ...]:
        """The actions to try on ``page``, which is ``depth`` steps from the start.

        Each request is judged by itself as it leaves, so a class only orders the choices. For a link it means nothing: “Add a
        document” opens a form, and the guard decides if the address is a command.
        """
        class_max = min(WRITE_CLASS - 1, self._config.policy.risk_class_max)

        def weigh(action: Action, element: Element | None, page: Observation) -> Risk:
            risk = classify(action, element, page)
            why = self._gate.needs_yes(action, element, risk, page.url)
            if why:
                return raised(risk, why)
            follows = isinstance(action, Click) and element is not None and bool(element.link)
            return msgspec.structs.replace(risk, level=1 if follows else min(risk.level, class_max))

        # As in ``value``.
        met = partial(self._frontier.knows, depth=depth, page=page)
        rated = await asyncio.to_thread(candidates, self._goal, page, classify=weigh, known=met)
        choices = self._replica.idle.without(rated, page)
        return await preferred(self._chooser, choices, page, self._goal, self._secrets) if self._chooser else choices

    def _seen_nearer(self, path: list[bytes], place: bytes) -> bool:
        """True if the same page stands at another node at least as near to the start: then this way adds nothing."""
        known = self._replica.view.nearest_with_state(place)
        return known is not None and known != path[-1] and self._replica.view.depth(known) <= len(path)

    def _choose(self, path: list[bytes], typed: Fill | None) -> WalkStep | None:
        """An untried child of the node at the end of ``path``, drawn by prior; None if there is none that may be performed.

        typed: only children that submit the text typed into its field.
        """
        open_children = self._replica.view.untried(
            path[-1] if path else self._replica.root,
            risk_class_max=self._config.policy.risk_class_max,
        )
        if typed is not None:
            open_children = [(key, entry) for key, entry in open_children if _sends(decode_action(entry.action), typed)]
        else:
            idle = self._replica.idle
            open_children = [each for each in open_children if not idle.tires(decode_action(each[1].action))]
        if not open_children:
            return None
        weights = [
            entry.prior + 1 for _, entry in open_children
        ]  # priors come from a softmax, so no action has probability 0
        if self._chooser is not None:  # what it prefers is tried, and not only more likely
            child, entry = max(open_children, key=lambda each: each[1].prior)
        else:
            child, entry = self._random.choices(open_children, weights=weights)[0]
        return WalkStep(key=child, action=decode_action(entry.action))

    def _fail(self, path: list[bytes], error: MeshError, cost_ms: int) -> None:
        """Record that the last step of ``path`` failed. Errors: ``error``, if it says nothing about a page."""
        if error.code in BROWSER_GONE:
            raise error
        closed = error.code in _LOOKS_CLOSED
        if error.code in ("risk.refused", "action.not_possible") and path:
            self._replica.idle.in_vain(decode_action(self._replica.view.action(path[-1])), failed=True)
        visit = Visit(path=tuple(path), value=0.0, cost_ms=cost_ms, failed=True, closed=closed)
        self._replica.own.record(visit)


def _sends(action: Action, typed: Fill) -> bool:
    return isinstance(action, Press) and action.key == "Enter" and action.target == typed.target


def _within(spend: Spend, assignment: Assignment) -> bool:
    bounds = assignment.limits
    return (
        spend.iterations < bounds.iterations and spend.steps < bounds.steps and spend.milliseconds < bounds.milliseconds
    )


def seed_of(spec_seed: int, node: str) -> int:
    """A worker's own seed: peers roll out differently, and runs are repeatable."""
    return spec_seed ^ int.from_bytes(hashlib.sha256(node.encode()).digest()[:6], "big")
