"""Agents to the millisecond, the call and the token: where each bound lies, and what is said and counted there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest

from node.agents.agents import Agents
from node.agents.tokens import caller_of
from node.verbs import Caller, CallerKind, called_by
from node.verbs.nodes.agent import Added, Agent, NameParams, RemovedAgent
from protocol import limits
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.trust.agent_token import make_token, token_hash
from tests.unit.test_agents import Place, code_of, forever, told, turns

DAY_MS = 24 * 60 * 60 * 1_000


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    yield Place()


async def refusal(work: Any) -> MeshError:
    """The error with which ``work`` fails."""
    with pytest.raises(MeshError) as caught:
        await work
    return caught.value


async def shown(place: Place) -> Agent:
    """The only agent, as it is listed."""
    (agent,) = (await place.agents.listed()).agents
    return agent


async def used_up(place: Place, made: Added, *, calls: int = 0, browser_ms: int = 0) -> None:
    """Use so much of its budgets."""
    for _ in range(calls):
        await place.store.count_agent_call(token_hash(made.token))
    if browser_ms:
        await place.store.charge_agent(token_hash(made.token), browser_ms)


def agent(name: str = "helper", **more: Any) -> Caller:
    return Caller(kind=CallerKind.AGENT, name=name, **more)


def browsing(place: Place, work: Callable[[], Any] | None = None, spent: Any = None) -> Callable[[Caller], Any]:
    """A call that uses a browser while ``work`` runs."""

    async def browse(caller: Caller) -> None:
        with called_by(caller):
            async with place.agents.counted(spent or (lambda error: None)):
                if work is not None:
                    await work()

    return browse


# --- adding, listing, removing ---------------------------------------------------------------------------------------


async def test_an_agent_is_added_with_what_was_asked_for_and_else_with_the_defaults(place: Place) -> None:
    now_ms = place.clock.now_ms()
    usual = Agent(
        name="helper",
        state="valid",
        scopes=("read", "record"),
        origins=(),
        capsules=(),
        created_ms=now_ms,
        expires_ms=now_ms + limits.AGENT_DAYS_USUAL * DAY_MS,
        calls=0,
        calls_max=0,
        browser_seconds=0,
        browser_seconds_max=0,
        running=0,
    )
    made = await place.add(scopes=("record", "read", "record"))
    assert made == Added(**msgspec.structs.asdict(usual), token=made.token)
    assert await shown(place) == usual
    assert await place.agents.remove(NameParams(name="helper")) == RemovedAgent(name="helper", ended=0)
    bounded = await place.add("bounded", calls=3, browser_seconds=7, expires_s=90)
    assert (bounded.calls_max, bounded.browser_seconds_max, bounded.expires_ms) == (3, 7, now_ms + 90_000)
    (kept,) = await place.store.agents()
    assert (kept.browser_ms_max, kept.token_hash) == (7_000, token_hash(bounded.token))


async def test_as_many_agents_as_allowed_and_not_one_more(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "AGENTS_MAX", 2)
    await place.add("a")
    error = await refusal(place.add("a"))
    assert error.message == "the agent a already exists: remove it, or choose another name"
    await place.add("b")
    error = await refusal(place.add("c"))
    assert (error.code, error.message) == ("input.invalid", "there are already 2 agents: remove one first")
    assert [each.name for each in (await place.agents.listed()).agents] == ["a", "b"]
    assert [kind for kind, _, _ in await told(place)] == [FeedKind.AGENT_ADDED] * 2


async def test_removing_nobody_changes_and_tells_nothing(place: Place) -> None:
    await place.add()
    before = await told(place)
    error = await refusal(place.agents.remove(NameParams(name="other")))
    assert (error.code, error.message) == ("input.not_found", "no agent other")
    assert (await told(place), (await shown(place)).name) == (before, "helper")


@pytest.mark.parametrize(
    ("limits_given", "used", "state"),
    [
        ({}, {"calls": 3, "browser_ms": 9_000}, "valid"),
        ({"calls": 1}, {}, "valid"),
        ({"calls": 1}, {"calls": 1}, "used up"),
        ({"calls": 2}, {"calls": 1}, "valid"),
        ({"calls": 2}, {"calls": 2}, "used up"),
        ({"browser_seconds": 1}, {"browser_ms": 999}, "valid"),
        ({"browser_seconds": 1}, {"browser_ms": 1_000}, "used up"),
        ({"calls": 9, "browser_seconds": 1}, {"calls": 1, "browser_ms": 1_000}, "used up"),
    ],
)
async def test_a_budget_is_used_up_when_all_of_it_is(
    place: Place, limits_given: dict[str, Any], used: dict[str, int], state: str
) -> None:
    await used_up(place, await place.add(**limits_given), **used)
    found = await shown(place)
    assert (found.state, found.calls) == (state, used.get("calls", 0))
    assert found.browser_seconds == used.get("browser_ms", 0) // 1_000


async def test_the_first_millisecond_of_a_budget_is_the_last_of_it(place: Place) -> None:
    made = await place.add(browser_seconds=1)
    (kept,) = await place.store.agents()
    place.store._agents.clear()
    await place.store.add_agent(msgspec.structs.replace(kept, browser_ms_max=1, browser_ms=1))
    assert (await shown(place)).state == "used up"
    agent = await place.agents.authenticate(made.token)
    async with place.agents.calling(agent, "session.list") as caller:
        with called_by(caller):
            assert (await refusal(place.agents.check())).code == "agent.budget"


async def test_a_token_ends_at_its_time_and_not_a_millisecond_before(place: Place) -> None:
    made = await place.add(expires_s=90)
    place.clock.advance(89_999)
    assert (await shown(place)).state == "valid"
    assert await code_of(place.call(made.token)) == ""
    place.clock.advance(1)
    assert (await shown(place)).state == "expired"
    error = await refusal(place.call(made.token))
    assert (error.code, error.message) == ("agent.expired", "the token of helper has expired")
    assert error.detail == {"caller": "agent:helper"}


# --- who calls -------------------------------------------------------------------------------------------------------


async def wrong(place: Place, count: int) -> None:
    """So many wrong tokens, none of which waits."""
    for number in range(count):
        assert await code_of(place.agents.authenticate(make_token("x", number.to_bytes(32, "big")))) != "agent.busy"


async def waits(place: Place, token: str) -> asyncio.Task[str]:
    """A call with a token that has to wait."""
    task = asyncio.create_task(code_of(place.agents.authenticate(token)))
    await turns()
    assert not task.done()
    return task


PAUSE_MS = limits.CONTROL_FAILURE_PAUSE_MS


async def test_who_may_be_guessing_waits_so_long_and_within_a_minute_only(place: Place) -> None:
    made = await place.add()
    await wrong(place, limits.CONTROL_FAILURES_PER_MINUTE - 1)
    began_ms = place.clock.now_ms()
    await wrong(place, 1)
    task = await waits(place, made.token)
    assert place.clock.next_due_ms == began_ms + PAUSE_MS
    place.clock.advance(PAUSE_MS - 1)
    await turns()
    assert not task.done()
    place.clock.advance(1)
    assert await asyncio.wait_for(task, 120) == ""
    assert place.agents._tokens._waiting == 0


@pytest.mark.parametrize(("passed_ms", "delayed"), [(60_000, True), (60_001, False)])
async def test_a_minute_after_the_first_wrong_token_nobody_waits(place: Place, passed_ms: int, delayed: bool) -> None:
    made = await place.add()
    await wrong(place, 1)
    place.clock.advance(passed_ms - 1_000)
    await wrong(place, limits.CONTROL_FAILURES_PER_MINUTE - 1)
    place.clock.advance(1_000)
    task = asyncio.create_task(code_of(place.agents.authenticate(made.token)))
    await turns()
    assert task.done() is not delayed
    place.clock.advance(PAUSE_MS)
    assert await asyncio.wait_for(task, 120) == ""


@pytest.mark.parametrize("bad", ["nonsense", make_token("x", bytes(32))], ids=["form", "unknown"])
async def test_each_wrong_token_counts_and_a_right_one_does_not(place: Place, bad: str) -> None:
    made, other = await place.add(), await place.add("other")
    for _ in range(limits.CONTROL_FAILURES_PER_MINUTE + 5):
        await place.agents.authenticate(made.token)
    for _ in range(limits.CONTROL_FAILURES_PER_MINUTE - 1):
        assert await code_of(place.agents.authenticate(bad)) == "control.unauthorised"
    assert await code_of(asyncio.wait_for(place.agents.authenticate(other.token), 120)) == ""
    assert await code_of(place.agents.authenticate(bad)) == "control.unauthorised"
    task = await waits(place, bad)
    assert await code_of(asyncio.wait_for(place.agents.authenticate(made.token), 120)) == "", "it was right before"
    place.clock.advance(PAUSE_MS)
    assert await asyncio.wait_for(task, 120) == "control.unauthorised"


async def test_an_agent_that_the_store_confuses_with_another_is_not_let_in(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await place.add()
    (kept,) = await place.store.agents()

    async def confused(token_hash: bytes) -> Any:
        return msgspec.structs.replace(kept, token_hash=bytes(32))

    monkeypatch.setattr(place.store, "agent", confused)
    assert await code_of(place.agents.authenticate(made.token)) == "control.unauthorised"
    assert place.agents._tokens._known == set()


async def test_a_removed_agent_waits_like_anybody(place: Place) -> None:
    made, second = await place.add(), await place.add("second")
    for each in (made, second):
        await place.agents.authenticate(each.token)
    going_on = asyncio.create_task(code_of(place.call(second.token, forever)))
    await turns()
    for name in ("helper", "second"):
        await place.agents.remove(NameParams(name=name))
    await going_on
    assert token_hash(second.token) not in place.agents._tokens._known
    assert await code_of(place.agents.authenticate(made.token)) == "control.unauthorised"
    await wrong(place, limits.CONTROL_FAILURES_PER_MINUTE - 1)
    waiting = [await waits(place, each.token) for each in (made, second)]
    place.clock.advance(PAUSE_MS)
    assert [await asyncio.wait_for(task, 120) for task in waiting] == ["control.unauthorised"] * 2


async def test_only_so_many_wait_and_the_places_become_free(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CONTROL_FAILURES_WAITING_MAX", 2)
    made = await place.add()
    await wrong(place, limits.CONTROL_FAILURES_PER_MINUTE)
    waiting = [await waits(place, made.token) for _ in range(2)]
    error = await refusal(place.agents.authenticate(made.token))
    assert (error.code, error.message) == ("agent.busy", "too many wrong tokens are being tried")
    assert place.refusals.codes["agent.busy"] == 1
    waiting[0].cancel()
    await asyncio.gather(waiting[0], return_exceptions=True)
    third = await waits(place, made.token)
    place.clock.advance(PAUSE_MS)
    assert [await asyncio.wait_for(task, 120) for task in (waiting[1], third)] == ["", ""]


# --- calls -----------------------------------------------------------------------------------------------------------


async def test_the_caller_of_a_call_is_the_agent_with_all_that_it_may(place: Place) -> None:
    made = await place.add(origins=("https://shop.example",))
    (kept,) = await place.store.agents()
    expected = agent(
        scopes=frozenset({"read", "record"}), origins=("https://shop.example",), since_ms=place.clock.now_ms()
    )
    assert caller_of(kept) == expected == await place.call(made.token)


async def test_one_call_too_many_is_told_as_the_agent_s_and_not_counted_as_a_call(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "AGENT_CALLS_AT_ONCE_MAX", 1)
    made = await place.add()
    first = asyncio.create_task(code_of(place.call(made.token, forever)))
    await turns()
    error = await refusal(place.call(made.token))
    assert (error.message, error.detail) == ("an agent can make at most 1 calls at a time", {"caller": "agent:helper"})
    assert place.refusals.by_peer["agent:helper", "agent.busy"] == 1
    assert ((await shown(place)).running, (await place.used())[0]) == (1, 1)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert (await shown(place)).running == 0 and place.clock.sleepers == 0


@pytest.mark.parametrize(
    ("code", "counted"),
    [("agent.budget", 1), ("agent.busy", 1), ("control.unauthorised", 1), ("input.invalid", 0), ("caller.refused", 0)],
)
async def test_what_ends_an_agent_s_call_is_counted_as_refused_and_its_own_errors_are_not(
    place: Place, code: str, counted: int
) -> None:
    made = await place.add()

    async def fails(caller: Caller) -> None:
        raise MeshError(code)

    assert await code_of(place.call(made.token, fails)) == code
    assert place.refusals.by_peer["agent:helper", code] == counted
    assert place.refusals.codes[code] == counted


async def test_a_store_that_fails_is_no_removed_agent(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    made = await place.add()
    for failure, seen in (("store.full", "store.full"), ("input.not_found", "control.unauthorised")):

        async def fails(token_hash: bytes, *more: int, code: str = failure) -> Any:
            raise MeshError(code)

        for name in ("count_agent_call", "charge_agent"):
            with monkeypatch.context() as patched:
                patched.setattr(place.store, name, fails)
                assert await code_of(place.call(made.token, browsing(place))) == seen


async def test_a_call_is_ended_at_the_millisecond_at_which_its_token_expires(place: Place) -> None:
    made = await place.add(expires_s=2 * 3_600 + 1)
    call = asyncio.create_task(refusal(place.call(made.token, forever)))
    await turns()
    began_ms = place.clock.now_ms()
    assert place.clock.next_due_ms == began_ms + 3_600_000, "timers stop while the machine is suspended"
    await place.clock.run(7_200_999)
    assert not call.done()
    place.clock.advance(1)
    await turns(50)
    assert call.done()
    error = call.result()
    assert (error.code, error.message) == ("agent.expired", "its token expired during the call")


# --- news ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("passed_ms", "count"),
    [(0, 1), (limits.FEED_REFUSAL_EVERY_S * 1_000 - 1, 1), (limits.FEED_REFUSAL_EVERY_S * 1_000, 2), (-1, 2)],
)
async def test_a_refusal_is_news_again_after_its_time_or_if_the_clock_was_set_back(
    place: Place, passed_ms: int, count: int
) -> None:
    for move in (0, passed_ms):
        place.clock._now_ms += move
        await place.agents._tell_refused("agent:helper", MeshError("agent.budget"))
    await place.agents._tell_refused("agent:other", MeshError("agent.expired"))
    spent = (FeedKind.AGENT_SPENT, ("helper",), "agent:helper")
    assert await told(place) == [spent] * count + [(FeedKind.AGENT_EXPIRED, ("other",), "agent:other")]


@pytest.mark.parametrize(
    ("who", "code"), [("schedule:helper", "agent.budget"), ("", "agent.budget"), ("agent:helper", "agent.busy")]
)
async def test_other_callers_and_other_refusals_are_no_news(place: Place, who: str, code: str) -> None:
    await place.agents._tell_refused(who, MeshError(code))
    assert await told(place) == []


async def test_the_verbs_of_agents_do_what_they_are_called(place: Place) -> None:
    assert [verb.name for verb in place.agents.bound] == ["agent.add", "agent.list", "agent.remove"]
    assert isinstance(place.agents, Agents)
