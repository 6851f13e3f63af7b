"""Tasks over the in-memory store: their order, their bounds, how each ends, and what is kept of them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from nacl.signing import SigningKey

from node.live.acting.allowance import navigate, take_picture, waits_of_task
from node.signing.identity import Identity
from node.signing.witness import Witness
from node.tasks.queue import TaskQueue, Work
from node.tasks.stored import TASKS, TaskRecord
from node.verbs.caller import OWNER, Caller, CallerKind
from protocol import limits
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.page.seen.turned_away import TurnedAway
from tests.twins.clock import ManualClock
from tests.twins.storage import MemoryStore

pytestmark = pytest.mark.virtual_time

ANNA = Caller(kind=CallerKind.AGENT, name="anna", scopes=frozenset({"replay"}))
BRUNO = Caller(kind=CallerKind.AGENT, name="bruno", scopes=frozenset({"replay"}))


@contextlib.asynccontextmanager
async def as_itself(caller: Caller, verb: str) -> AsyncIterator[Caller]:
    yield caller


class Bench:
    """A queue whose tasks end when the test says so."""

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.store, self.clock = store or MemoryStore(), ManualClock(seed=1 if store else 0)
        witness = Witness(Identity(SigningKey(bytes(32)), self.clock), self.store, self.clock)
        self.queue = TaskQueue(witness, self.store, self.clock, as_itself)
        self.begun: list[str] = []
        self.left: list[str] = []
        self.ends: dict[str, asyncio.Event] = {}
        self.answers: list[bool] = []
        """The answers that people gave."""

    async def run(self, verb: str, body: bytes, tell: Any, caller: Caller) -> Any:
        """Implements ``Dispatch``: the parameters say what the verb does."""
        asked = msgspec.json.decode(body)
        name = asked["name"]
        self.begun.append(name)
        self.ends[name] = asyncio.Event()
        try:
            for number in range(asked.get("events", 0)):
                tell({"at": number, "page": asked.get("says", "")})
            with contextlib.suppress(MeshError):  # as a recording goes on after a step without a picture
                for _ in range(asked.get("opens", 0)):
                    navigate()
                for _ in range(asked.get("pictures", 0)):
                    take_picture()
            if turned := asked.get("turned"):
                await self.turned_away(TurnedAway(why="a site asks", site="https://a.test", **turned))
            if asked.get("fails"):
                raise MeshError("browser.crashed", "it is gone", session="ses-x")
            await self.ends[name].wait()
        finally:
            self.left.append(name)
        return {"name": name, "much": "x" * asked.get("much", 0)}

    async def turned_away(self, turned: TurnedAway) -> None:
        """Wait as an action of a task does."""
        waits = waits_of_task()
        assert waits is not None
        if turned.kind == "later":
            await waits.later(turned, 0)
        else:
            self.answers.append(await waits.person(turned, b"a picture"))

    async def start(
        self, name: str, by: Caller = OWNER, *, bounds: tuple[int, int, int] = (0, 0, 0), **asked: Any
    ) -> str:
        """The id of a new task."""
        body = msgspec.json.encode({"name": name, **asked})
        seconds, pictures, navigations = bounds
        work = Work(
            verb="session.replay", body=body, shown=name, seconds=seconds, pictures=pictures, navigations=navigations
        )
        return (await self.queue.start(by, work, self.run)).id

    async def over(self, id: str) -> TaskRecord:
        """The task, once it has ended."""
        async with asyncio.timeout(3_600):
            async for _ in self.queue.follow(OWNER, id):
                pass
        return await self.queue.get(OWNER, id)

    async def kinds(self) -> list[FeedKind]:
        """What the feed was told."""
        return [change.kind for change in (await self.store.feed(after=0, limit=1_000)).changes]


async def settled() -> None:
    """Let every task go on as far as it can."""
    for _ in range(50):
        await asyncio.sleep(0)


async def test_tasks_begin_in_their_order_and_no_more_than_the_limit_run_at_a_time() -> None:
    bench = Bench()
    names = [f"t{number}" for number in range(limits.TASKS_RUNNING_MAX + 2)]
    made = [await bench.start(name) for name in names]
    await settled()
    assert bench.begun == names[: limits.TASKS_RUNNING_MAX]
    bench.ends[names[1]].set()
    assert (await bench.over(made[1])).state == "done"
    await settled()
    assert bench.begun == names[: limits.TASKS_RUNNING_MAX + 1]
    assert (await bench.queue.cancel(OWNER, made[-1])).state == "cancelled"
    await settled()
    assert names[-1] not in bench.begun, "it never began"
    await bench.queue.close()


async def test_too_many_tasks_are_refused_with_a_time_to_try_again_in_total_and_for_one_caller() -> None:
    """Guard: node/tasks/queue.py, TaskQueue._enqueued."""
    bench = Bench()
    for number in range(limits.TASKS_PER_CALLER_MAX):
        await bench.start(f"a{number}", ANNA)
    with pytest.raises(MeshError) as caught:
        await bench.start("more", ANNA)
    assert (caught.value.code, caught.value.retryable) == ("node.busy", True)
    assert caught.value.detail["retry_after_s"] == limits.TASK_RETRY_AFTER_S
    await bench.start("b", BRUNO)
    with pytest.raises(MeshError) as caught:
        for number in range(limits.TASKS_QUEUED_MAX):
            await bench.start(f"o{number}")
    assert caught.value.code == "node.busy"
    assert bench.queue.open == limits.TASKS_RUNNING_MAX + limits.TASKS_QUEUED_MAX
    await bench.queue.close()


async def test_a_task_ends_as_done_failed_cancelled_or_interrupted_and_says_why() -> None:
    bench = Bench()
    done, failed = await bench.start("done", ANNA), await bench.start("failed", ANNA, fails=True)
    cancelled, open_ = await bench.start("cancelled", ANNA), await bench.start("open", ANNA)
    await settled()
    bench.ends["done"].set()
    record = await bench.over(done)
    assert (record.state, msgspec.json.decode(record.result)["name"]) == ("done", "done")
    record = await bench.over(failed)
    assert (record.state, record.code, record.message) == ("failed", "browser.crashed", "it is gone")
    assert msgspec.json.decode(record.detail) == {"session": "ses-x"}
    record = await bench.queue.cancel(ANNA, cancelled)
    assert (record.state, "cancelled" in bench.left) == ("cancelled", True), "its work has ended"
    assert await bench.queue.cancel(ANNA, cancelled) == record
    await bench.queue.close()
    assert (await bench.queue.get(OWNER, open_)).state == "interrupted"
    assert (await bench.kinds()).count(FeedKind.TASK_ENDED) == 4
    ended = await bench.queue.listed(ANNA, open_only=False, limit=10)
    assert [each.id for each in ended] == [open_, cancelled, failed, done]
    assert not await bench.queue.listed(ANNA, open_only=True, limit=10)


async def test_a_task_that_was_open_when_the_node_was_killed_is_interrupted_at_the_next_start() -> None:
    first = Bench()
    waits = [await first.start(f"t{number}") for number in range(limits.TASKS_RUNNING_MAX + 1)]
    await settled()
    second = Bench(first.store)
    await second.queue.load()
    found = [await second.queue.get(OWNER, id) for id in waits]
    assert {(each.state, each.code) for each in found} == {("interrupted", "node.stopped")}
    assert all(each.ended_ms for each in found)
    await first.queue.close()


async def test_a_task_that_uses_up_its_time_pictures_or_navigations_is_ended_and_says_which() -> None:
    """Guard: node/live/acting/allowance.py, Allowance._check. A verb goes on after an error of one step, so it is ended from
    outside.
    """
    bench = Bench()
    tries: tuple[tuple[tuple[int, int, int], dict[str, Any], str], ...] = (
        ((5, 0, 0), {}, "seconds"),
        ((0, 2, 0), {"pictures": 3}, "pictures"),
        ((0, 0, 2), {"opens": 3}, "navigations"),
    )
    for bounds, asked, budget in tries:
        record = await bench.over(await bench.start(budget, bounds=bounds, **asked))
        assert (record.state, record.code) == ("failed", "task.budget"), budget
        assert {"seconds": "5 s", "pictures": "2 pictures", "navigations": "2 navigations"}[budget] in record.message
    id = await bench.start("within", bounds=(0, 3, 3), pictures=3, opens=3)
    await settled()
    bench.ends["within"].set()
    record = await bench.over(id)
    assert (record.state, record.pictures, record.navigations) == ("done", 3, 3)


async def test_a_task_says_early_that_a_bound_is_nearly_used_up_with_the_line_that_raises_it_and_that_line_does() -> (
    None
):
    bench = Bench()
    tries: tuple[tuple[str, tuple[int, int, int], dict[str, Any]], ...] = (
        ("seconds", (40, 0, 0), {}),
        ("pictures", (0, 4, 0), {"pictures": 3}),
        ("navigations", (0, 0, 4), {"opens": 3}),
    )
    for what, bounds, asked in tries:
        id = await bench.start(what, bounds=bounds, **asked)
        await asyncio.sleep(31)
        said = [each.said for each in (await bench.queue.get(OWNER, id)).events]
        most = max(bounds)
        told = {
            "used": most * 3 // 4,
            "of": most,
            "what": what,
            "more": f"trailmesh task more {id} --{what} {2 * most}",
        }
        assert [msgspec.json.decode(each) for each in said if '"more"' in each] == [told]
        raised = await bench.queue.more(OWNER, id, **{what: 2 * most})
        assert 2 * most in (raised.seconds, raised.pictures_max, raised.navigations_max)
        await asyncio.sleep(20)
        bench.ends[what].set()
        assert (await bench.over(id)).state == "done"
    id = await bench.start("late", bounds=(40, 0, 0))
    await asyncio.sleep(1)
    await bench.queue.more(OWNER, id, seconds=80)
    record = await bench.over(id)
    assert (record.code, record.message) == ("task.budget", "the task may take 80 s")
    assert await bench.queue.more(OWNER, id, seconds=99) == record
    with pytest.raises(MeshError) as caught:
        await bench.queue.more(ANNA, id, seconds=99)
    assert caught.value.code == "input.not_found"


async def test_a_task_that_waits_for_a_person_lets_others_begin_uses_no_time_and_goes_on_as_the_person_says() -> None:
    bench, person = Bench(), {"kind": "person"}
    made = [
        await bench.start(f"p{number}", bounds=(5, 0, 0), turned=person) for number in range(limits.TASKS_RUNNING_MAX)
    ]
    other = await bench.start("other")
    await settled()
    assert bench.begun[-1] == "other", "those that wait have let it begin"
    assert {(await bench.queue.get(OWNER, each)).state for each in made} == {"paused"}
    await asyncio.sleep(1_000)
    question = await bench.queue.question(OWNER, made[0])
    assert (question and question.why, question and question.picture) == ("a site asks", b"a picture")
    for task, again in ((made[0], True), (made[1], False)):
        await bench.queue.resume(OWNER, task, again=again)
        await settled()
    assert bench.answers == [True, False]
    assert (await bench.queue.get(OWNER, made[0])).state == "running"
    record = await bench.over(made[0])
    assert (record.state, record.code, record.asks) == ("failed", "task.budget", ""), "then its time goes on"
    bench.clock.advance(limits.TASK_PAUSE_S_MAX * 1_000)
    record = await bench.over(made[2])
    assert (record.state, record.code) == ("failed", "site.person"), "nobody answered"
    for task in (made[0], other):
        with pytest.raises(MeshError) as caught:
            await bench.queue.resume(OWNER, task, again=True)
        assert caught.value.code == "task.not_paused"
    with pytest.raises(MeshError) as caught:
        await bench.queue.question(ANNA, made[1])
    assert caught.value.code == "input.not_found"
    assert {FeedKind.TASK_PAUSED, FeedKind.TASK_RESUMED} <= set(await bench.kinds())
    await bench.queue.close()


async def test_a_task_waits_as_long_as_a_site_asks_within_its_time_and_no_longer() -> None:
    """Guard: node/tasks/pausing.py, Pausing.later."""
    bench = Bench()
    ended = {}
    for name, asks, seconds in (
        ("short", "3", 5),
        ("long", "30", 5),
        ("unbounded", "900", 0),
        ("for ever", "99999", 0),
    ):
        id = await bench.start(name, bounds=(seconds, 0, 0), turned={"kind": "later", "retry_after": asks})
        await asyncio.sleep(0.5)
        bench.clock.advance(int(asks) * 1000)
        await settled()
        if not (await bench.queue.get(OWNER, id)).ended_ms:
            bench.ends[name].set()
        record = await bench.over(id)
        ended[name] = (record.state, record.code)
        assert any(f'"waits_s":{asks}' in event.said for event in record.events) == (record.state == "done")
    late = ("failed", "site.busy")
    assert ended == {"short": ("done", ""), "long": late, "unbounded": ("done", ""), "for ever": late}


async def test_events_have_numbers_and_can_be_followed_from_any_of_them() -> None:
    bench = Bench()
    id = await bench.start("told", ANNA, events=3)
    await settled()
    seen: list[tuple[int, str]] = []

    def note(number: int, kind: str) -> None:
        seen.append((number, kind))

    async def follow(after: int) -> None:
        async for event in bench.queue.follow(ANNA, id, after):
            note(event.number, event.kind)

    following = asyncio.create_task(follow(3))
    await settled()
    assert seen == [(4, "progress"), (5, "progress")]
    bench.ends["told"].set()
    await following
    assert seen[-1] == (6, "state")
    seen.clear()
    await follow(0)
    assert [number for number, _ in seen] == [1, 2, 3, 4, 5, 6], "of one that has ended, they are read from its record"
    events, _ = await bench.queue.events(ANNA, id, 6, 60)
    assert events == []


async def test_the_newest_events_of_a_task_are_kept_without_personal_data() -> None:
    bench = Bench()
    many = limits.TASK_EVENTS_MAX + 10
    id = await bench.start("many", events=many, says="write to ann@shop.example")
    await settled()
    bench.ends["many"].set()
    record = await bench.over(id)
    assert len(record.events) == limits.TASK_EVENTS_MAX
    assert [each.number for each in record.events][-1] == many + 3
    assert "ann@shop.example" not in str(record.events)


async def test_a_result_that_is_too_large_is_not_kept_and_the_oldest_tasks_are_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "TASKS_KEPT_MAX", 2)
    bench = Bench()
    made = []
    for name in ("first", "second", "third"):
        made.append(await bench.start(name, much=limits.TASK_RESULT_BYTES_MAX))
        await settled()
        bench.ends[name].set()
        record = await bench.over(made[-1])
        assert (record.state, record.result, record.too_large) == ("done", b"", True)
        await settled()
    assert [each.id for each in await bench.store.rows(TASKS).find()] == made[1:]


async def test_nobody_but_the_owner_sees_the_task_of_another_caller() -> None:
    """Guard: node/tasks/queue.py, TaskQueue.get."""
    bench = Bench()
    id = await bench.start("own", ANNA)
    for call in (bench.queue.get(BRUNO, id), bench.queue.cancel(BRUNO, id), bench.queue.events(BRUNO, id, 0)):
        with pytest.raises(MeshError) as caught:
            await call
        assert caught.value.code == "input.not_found"
    assert await bench.queue.listed(BRUNO, open_only=False, limit=10) == []
    assert [each.id for each in await bench.queue.listed(OWNER, open_only=False, limit=10)] == [id]
    await bench.queue.close()
