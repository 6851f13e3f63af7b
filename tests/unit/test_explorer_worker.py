"""What the iterations of one lease find and count: rollouts, failures, dead ends, the claim, and the end of the work."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from adapters.ports.browser import ActionOutcome
from node.config import Config
from node.config.settings import ExploreConfig, PolicyConfig
from node.explorer.sharing.replica import Replica
from node.explorer.working.worker import Worker, seed_of
from node.live.acting import Gate
from protocol.errors import MeshError
from protocol.goal.condition import Condition
from protocol.goal.goal import parse_goal
from protocol.goal.heuristics import candidates, value
from protocol.messages import Assignment, BranchLimits, BranchResult, Spend
from protocol.page.actions.action import Action, Press
from protocol.page.seen.observation import Element, Traits
from protocol.search.entry import SCALE, Register, decode_action, encode_action
from tests.mesh_memory import NEVER, ORIGIN
from tests.twins.browser import Control, Document, Effect, MemorySite
from tests.twins.clock import ManualClock
from tests.unit.test_explorer_refusals import new_replica
from tests.unit.test_explorer_walks import STEP_MS, click, keys_of, link, no_report, site_of, timed_page


class Work:
    """A worker on the site, with a clock that moves by its steps only."""

    def __init__(self, replica: Replica, site: MemorySite, seed: int = 1, risk_max: int = 2, **explore: Any) -> None:
        self.replica, self.site, self.clock = replica, site, ManualClock()
        self.page = timed_page(site, self.clock)
        config = Config(explore=ExploreConfig(**explore), policy=PolicyConfig(risk_class_max=risk_max))
        self.worker = Worker(replica, self.page, self.clock, config, Gate(report=no_report, risk_max=risk_max), seed)
        self.told: list[Spend] = []

    async def on(
        self, *names: str, wanted: Callable[[Spend], bool] = lambda spend: True, **bounds: int
    ) -> BranchResult:
        """Work on the branch at the end of these links."""
        keys = [self.replica.root, *keys_of(self.replica.root, *names)]
        prefix = tuple(encode_action(click(name)) for name in names)
        self.replica.adopt(keys[-1], prefix)
        limits = {"iterations": 1, "steps": 100, "milliseconds": 100_000} | bounds
        assignment = Assignment(
            search=self.replica.spec.id,
            lease="lea-AAAAAAAAAAAAAAAAAAAB6",
            branch=keys[-1],
            prefix=prefix,
            prefix_state=b"",
            limits=BranchLimits(**limits),
            expires_ms=self.clock.now_ms() + 1_000_000,
        )

        async def after(spend: Spend) -> bool:
            self.told.append(spend)
            return wanted(spend)

        return await self.worker.work(assignment, after)

    def register(self, *names: str) -> Register:
        """What the worker has counted at the end of these links."""
        return self.replica.own.registers[[self.replica.root, *keys_of(self.replica.root, *names)][-1]]

    def tried(self, *names: str) -> bool:
        """Whether it has counted anything there."""
        return [self.replica.root, *keys_of(self.replica.root, *names)][-1] in self.replica.own.registers


async def _work(
    condition: Condition = NEVER, links: Mapping[str, tuple[str, ...]] | None = None, goal: str = "g", **more: Any
) -> Work:
    replica = await new_replica()
    replica.spec = type(replica.spec)(
        **{name: getattr(replica.spec, name) for name in replica.spec.__struct_fields__}
        | {"condition": condition, "goal": goal}
    )
    return Work(replica, site_of(links), **more)


def _spend(iterations: int, steps: int) -> Spend:
    return Spend(iterations=iterations, steps=steps, milliseconds=steps * STEP_MS)


async def test_reaching_the_goal_ends_the_lease_with_the_path_as_a_claim() -> None:
    work = await _work(Condition(url="*/b/z"), {"/": ("/b",), "/b": ("/b/z",), "/b/z": ()})
    done = await work.on(iterations=9)
    path = tuple(encode_action(click(name)) for name in ("/b", "/b/z"))
    # Two links were opened by their addresses, and then pressed from the start page: a replay presses them.
    assert (done.outcome, done.claim, done.spend) == ("claim", path, _spend(1, 6))
    assert (done.search, done.lease, done.branch) == (
        work.replica.spec.id,
        "lea-AAAAAAAAAAAAAAAAAAAB6",
        work.replica.root,
    )
    assert work.told == [_spend(1, 6)]
    found = work.register("/b", "/b/z")
    assert (found.visits, found.best, found.successes, found.cost_ms) == (1, 960_000, 1, 4 * STEP_MS)
    assert not found.closed
    whole = work.register()
    assert (whole.visits, whole.best, whole.cost_ms, whole.successes) == (3, 960_000, 6 * STEP_MS, 1)
    assert work.replica.view.visits(work.replica.root) == 3, "it is written before it is told"


async def test_each_page_is_in_the_tree_before_the_next_one_is_opened() -> None:
    work = await _work(links={"/": ("/b",), "/b": ("/b/z",), "/b/z": ()})
    perform, known = work.page.perform, list[tuple[int, int]]()

    async def watched(action: Action, **more: Any) -> ActionOutcome:
        view = work.replica.view
        known.append((view.visits(work.replica.root), len(view.choosable(work.replica.root))))
        return await perform(action, **more)

    work.page.perform = watched  # type: ignore[method-assign]
    await work.on()
    assert known == [(0, 0), (1, 1), (2, 1)]


async def test_a_page_that_only_the_address_of_a_link_opens_is_no_claim() -> None:
    """Guard: node/explorer/working/worker.py, Worker._confirmed."""
    work = await _work(Condition(url="*/b"), {"/": ("/a",), "/a": (), "/b": ()})
    taken = link(f"{ORIGIN}/b", "B", effect=Effect(go=f"{ORIGIN}/a"))
    work.site.documents[f"{ORIGIN}/"] = Document(title="Page /", controls=(taken,))
    done = await work.on(iterations=2)
    assert done.outcome != "claim"
    assert {"GET /b", "GET /a"} <= set(work.site.reached), "it was opened, and then pressed as a replay would"
    assert work.register("B").closed
    assert work.register("B").successes == 0


async def test_a_goal_at_the_end_of_a_long_way_is_worth_half_at_least() -> None:
    names = [f"/{'n' * count}" for count in range(1, 31)]
    links = {"/": (names[0],), **{one: (other,) for one, other in pairwise(names)}, names[-1]: ()}
    work = await _work(Condition(url=f"*{names[-1]}"), links)
    assert (await work.on(*names)).outcome == "claim"
    assert work.register().best == 500_000


@pytest.mark.parametrize(
    ("bounds", "iterations"),
    [
        ({"iterations": 3}, 3),
        ({"iterations": 99, "steps": 2}, 2),
        ({"iterations": 99, "milliseconds": 2 * STEP_MS}, 2),
        ({"iterations": 99, "milliseconds": 2 * STEP_MS + 1}, 3),
    ],
    ids=str,
)
async def test_work_ends_with_the_iteration_that_uses_up_a_limit(bounds: dict[str, Any], iterations: int) -> None:
    links = {"/": ("/n",), "/n": ("/nn",), "/nn": ("/nnn",), "/nnn": ("/nnnn",)}
    work = await _work(links=links, rollout_steps=0)
    done = await work.on(**bounds)  # each iteration goes one link further
    assert (done.outcome, done.claim, done.spend) == ("spent", (), _spend(iterations, iterations))
    assert work.told == [_spend(number, number) for number in range(1, iterations + 1)]


async def test_work_ends_when_it_is_wanted_no_more_and_the_next_lease_counts_from_nothing() -> None:
    work = await _work(rollout_steps=0)
    done = await work.on("/b", iterations=9, wanted=lambda spend: spend.iterations < 2)
    assert (done.outcome, done.spend.iterations) == ("spent", 2)
    done = await work.on("/a", iterations=1)
    assert done.spend == _spend(1, 2)


async def test_a_clock_that_is_set_back_costs_nothing() -> None:
    work = await _work()
    work.clock.advance = lambda ms: setattr(work.clock, "_now_ms", work.clock._now_ms - ms)  # type: ignore[method-assign]
    done = await work.on("/a")
    assert (done.spend.milliseconds, done.spend.steps) == (0, 3)
    assert work.register("/a").cost_ms == 0


async def test_a_branch_is_closed_from_its_dead_ends_upwards() -> None:
    links = {"/": ("/b", "/a"), "/b": ("/b/z",), "/b/z": ("/b/z/q",), "/b/z/q": ()}
    work = await _work(links=links)
    done = await work.on("/b", iterations=9)
    assert (done.outcome, done.spend) == ("closed", _spend(2, 4))
    assert [work.register(*way).closed for way in (("/b",), ("/b", "/b/z"), ("/b", "/b/z", "/b/z/q"))] == [True] * 3
    assert not work.register().closed
    assert work.register("/b").visits == 3, "finding a branch exhausted is no visit"
    assert work.replica.view.closed(keys_of(work.replica.root, "/b", "/b/z")[-1])


async def test_the_whole_tree_is_exhausted_without_the_start_page_being_closed() -> None:
    work = await _work(links={"/": ("/a",), "/a": ()})
    done = await work.on(iterations=9)
    assert (done.outcome, done.spend.iterations) == ("closed", 2)
    assert work.register("/a").closed
    assert not work.register().closed


@pytest.mark.parametrize("names", [(), ("/b",)], ids=str)
async def test_a_branch_on_which_nothing_can_be_done_goes_back_at_once(names: tuple[str, ...]) -> None:
    work = await _work(links={"/": ("/b",), "/b": ()} if names else {"/": ()})
    done = await work.on(*names, iterations=9)
    assert (done.outcome, done.spend.iterations) == ("closed", 1)
    assert (work.register(*names).visits, work.register(*names).closed) == (1, True)


@pytest.mark.parametrize(
    ("names", "failed", "closed", "steps"),
    [
        (("/nowhere",), ("/nowhere",), True, 1),
        (("/b", "/nowhere"), ("/b", "/nowhere"), True, 2),
        (("/b", "/nowhere", "/b/z"), ("/b", "/nowhere"), True, 2),
        (("/away",), ("/away",), False, 2),
    ],
    ids=str,
)
async def test_a_way_that_breaks_counts_as_a_failure_of_the_step_that_broke(
    names: tuple[str, ...], failed: tuple[str, ...], closed: bool, steps: int
) -> None:
    work = await _work()
    work.site.documents[f"{ORIGIN}/"] = Document(title="Page /", controls=(link("/b"), link("http://x.test", "/away")))
    done = await work.on(*names)
    outcome = "closed" if closed and failed == names else "spent"
    assert (done.outcome, done.claim, done.spend.iterations) == (outcome, (), 1)
    broken = work.register(*failed)
    assert (broken.visits, broken.failures, broken.closed, broken.best) == (1, 1, closed, 0)
    assert broken.cost_ms == steps * STEP_MS
    for length in range(len(failed)):
        before = work.register(*failed[:length])
        assert (before.visits, before.failures, before.closed) == (1, 0, False)
    assert not work.tried(*names) or names == failed


async def test_a_start_page_that_does_not_open_is_a_visit_without_a_failure() -> None:
    work = await _work()
    work.site.redirects[f"{ORIGIN}/"] = "http://gone.test/"
    await work.on()
    assert work.register() == Register(visits=1, cost_ms=STEP_MS)


@pytest.mark.parametrize("amid", [False, True], ids=["on the way", "in a rollout"])
async def test_a_lost_browser_is_no_finding_about_a_page(amid: bool) -> None:
    work = await _work()
    crash = work.clock.advance

    def crashing(ms: int) -> None:
        crash(ms)
        if not amid or work.clock.now_ms() >= began_ms + 3 * STEP_MS:
            work.page.crash()

    began_ms = work.clock.now_ms()
    work.clock.advance = crashing  # type: ignore[method-assign]
    with pytest.raises(MeshError) as gone:
        await work.on("/b")
    assert gone.value.code == "browser.crashed"
    seen = work.replica.own.registers.values()
    assert [each.failures for each in seen] == [0] * (2 if amid else 0), "what was seen before stays"
    assert work.told == []


@pytest.mark.parametrize(
    ("child", "closed"),
    [(link("/a#more", "/covered", covered=True), True), (link("http://gone.test/", "/away"), False)],
    ids=["covered", "no server"],
)
async def test_a_step_of_a_rollout_that_fails_is_counted_at_its_action_and_ends_the_rollout(
    child: Control, closed: bool
) -> None:
    work = await _work()
    work.site.documents[f"{ORIGIN}/a"] = Document(title="A", controls=(child,))
    done = await work.on("/a")
    assert (done.outcome, done.spend.steps) == ("spent", 3)
    name = child.element.name
    assert work.register("/a", name) == Register(visits=1, failures=1, closed=closed, cost_ms=STEP_MS)
    passed = work.register("/a")
    assert (passed.visits, passed.failures, passed.closed) == (2, 0, False)
    before = len(work.site.reached)
    assert (await work.on("/a")).outcome == ("closed" if closed else "spent")
    again = work.site.reached[before : before + 1]
    assert again == ([] if closed else ["GET /a"]), "nobody knows where the page stands, so it is opened again"


@pytest.mark.parametrize(("rollout", "steps"), [(0, 1), (1, 2), (2, 3), (9, 4)])
async def test_a_rollout_takes_so_many_steps_and_ends_where_nothing_is_left(rollout: int, steps: int) -> None:
    work = await _work(links={"/": ("/b",), "/b": ("/b/z",), "/b/z": ("/b/z/q",), "/b/z/q": ()}, rollout_steps=rollout)
    assert (await work.on()).spend == _spend(1, steps)
    names = ("/b", "/b/z", "/b/z/q")
    assert [work.tried(*names[:length]) for length in range(4)] == [True] * steps + [False] * (4 - steps)
    assert work.register(*names[: steps - 1]).closed is (steps == 4)


@pytest.mark.parametrize(("goal", "third"), [("lamp", 1), ("mug", 3)])
async def test_the_page_of_the_nearest_link_is_left_unless_it_is_worth_more_than_where_it_stands(
    goal: str, third: int
) -> None:
    """Only from there, from what promises most, and from what a press has opened, it looks steps ahead."""
    shelves = [f"/mug-{number}" for number in range(9)]
    links = {"/": tuple(shelves)} | {f"{at}{more}": (f"{at}{more}/n",) for at in shelves for more in ("", "/n", "/n/n")}
    work = await _work(links=links, goal=goal, rollout_steps=2)
    visits = []
    for _ in range(4):
        before = work.replica.view.visits(work.replica.root)
        await work.on(iterations=1)
        visits.append(work.replica.view.visits(work.replica.root) - before)
    assert visits[2] == third, "the third turn is that of a link"


async def test_what_a_rollout_finds_counts_for_all_it_passed_less_with_every_step() -> None:
    goal, links = "mug", {"/": ("/b",), "/b": ("/b/mug",), "/b/mug": ("/more",), "/more": ("/q",)}
    worth = {}
    for names in ((), ("/b",), ("/b", "/b/mug")):
        alone = await _work(links=links, goal=goal, rollout_steps=0)
        await alone.on(*names)
        worth[names] = alone.register(*names).best / SCALE
    assert worth["/b", "/b/mug"] > worth[()] / 0.97**2
    work = await _work(links=links, goal=goal, rollout_steps=2)
    await work.on()
    assert work.register().best == round(worth["/b", "/b/mug"] * 0.97**2 * SCALE)
    assert (work.register().visits, work.register().cost_ms) == (3, 3 * STEP_MS)


async def test_a_state_that_was_seen_before_is_worth_less_each_time() -> None:
    work = await _work(goal="mug", links={"/": ()})
    goal, seen = parse_goal("mug"), list[int]()
    for _ in range(3):
        before = work.register().value_sum if work.tried() else 0
        await work.on()
        seen.append(work.register().value_sum - before)
    page = await work.page.observe()
    wanted = [round(value(goal, page, reached=False, visits_of_state=n) * SCALE) for n in range(3)]
    assert seen == wanted
    assert seen[0] > seen[1] > seen[2]


async def test_a_page_that_stands_as_near_elsewhere_is_a_dead_end_worth_half() -> None:
    links = {"/": ("/a", "/b"), "/a": ("/same",), "/b": ("/same",), "/same": ("/more",), "/more": ()}
    work = await _work(links=links, goal="same", rollout_steps=0)
    await work.on("/a", "/same")
    first = work.register("/a", "/same")
    await work.on("/a", "/same")
    assert not work.register("/a", "/same").closed, "the node itself is not another one"
    await work.on("/b", "/same")
    again = work.register("/b", "/same")
    assert (first.closed, again.closed) == (False, True)
    assert 0 < again.best < 0.6 * first.best
    assert keys_of(work.replica.root, "/b", "/same")[-1] not in work.replica.own.children


async def test_a_page_that_was_seen_further_away_is_none() -> None:
    links = {"/": ("/a", "/b", "/same"), "/a": ("/same",), "/b": ("/same",), "/same": ("/more",), "/more": ()}
    work = await _work(links=links, rollout_steps=0)
    await work.on("/a", "/same")
    await work.on("/same")
    assert not work.register("/same").closed
    await work.on("/b", "/same")
    assert work.register("/b", "/same").closed


async def test_what_the_policy_of_the_node_does_not_allow_is_not_tried() -> None:
    links = {"/": ("/b",), "/b": ("/b/z",), "/b/z": ()}
    work = await _work(links=links, risk_max=1)
    await work.on()
    assert (await _risks(work.replica), work.tried("/b")) == ({1}, True)


async def _risks(replica: Replica) -> set[int]:
    return {entry.risk for entry in replica.own.nodes.values()}


@pytest.mark.parametrize("seed", range(3))
async def test_rollouts_of_one_seed_repeat(seed: int) -> None:
    ways = []
    for _ in range(2):
        work = await _work(seed=seed)
        await work.on(iterations=3)
        ways.append(work.site.reached)
    assert ways[0] == ways[1]


async def test_rollouts_of_other_seeds_go_other_ways() -> None:
    ways = set()
    for seed in range(8):
        work = await _work(seed=seed)
        await work.on()
        ways.add(work.site.reached[1])
    assert ways == {"GET /a", "GET /b"}


def test_the_seed_of_a_worker_follows_from_that_of_the_search_and_its_lease() -> None:
    assert seed_of(0, "a") == 0xCA978112CA1B
    assert seed_of(0xFF, "a") == 0xCA978112CAE4
    assert seed_of(0, "b") == 0x3E23E8160039


async def _enters(method: str) -> int:
    """How often Enter was pressed on a site whose pages all have a field for searches in which it does nothing."""
    below = tuple(f"/{name}" for name in "abcdef")
    work = await _work(goal='find "oak" "elm" "ash"', links={"/": below, **dict.fromkeys(below, ())})
    box = Element(ref="", role="searchbox", name="Find", traits=Traits(tag="input", form_method=method))
    for url, document in work.site.documents.items():
        more = (*document.controls, Control(element=box))
        work.site.documents[url] = msgspec.structs.replace(document, controls=more)
    await work.on(iterations=150)
    presses = {key for key, entry in work.replica.own.nodes.items() if isinstance(decode_action(entry.action), Press)}
    return sum(own.visits > 0 for key, own in work.replica.own.registers.items() if key in presses)


async def test_enter_that_leads_nowhere_outside_of_a_form_is_not_tried_on_every_page_with_every_word() -> None:
    alone, sent = await _enters(""), await _enters("get")
    assert 3 <= alone <= 4 < sent


async def test_pages_are_read_for_the_goal_on_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of 2,000 controls takes half a second, in which the node would answer nobody."""
    threads: dict[str, set[int]] = {"value": set(), "candidates": set()}
    for name, real in (("value", value), ("candidates", candidates)):

        def noted(*args: Any, _name: str = name, _real: Callable[..., Any] = real, **more: Any) -> Any:
            threads[_name].add(threading.get_ident())
            return _real(*args, **more)

        monkeypatch.setattr(f"node.explorer.working.worker.{name}", noted)
    work = await _work(NEVER, {"/": ("/b",), "/b": ()})
    await work.on(iterations=2)
    assert all(found and threading.get_ident() not in found for found in threads.values()), threads
