"""Time with a browser, which agents take from their budget by the slice."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from node.agents.browser_time import BrowserTime  # noqa: F401 (held)
from node.verbs import NODE, OWNER, Caller, called_by
from node.verbs.nodes.agent import NameParams
from protocol import limits
from protocol.errors import MeshError
from protocol.feed import FeedKind
from tests.unit.test_agents import Place, code_of, forever, told, turns
from tests.unit.test_agents_exact import agent, browsing, refusal, shown, used_up

SLICE_MS = limits.AGENT_BROWSER_SLICE_MS


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    yield Place()


async def test_time_is_taken_by_the_slice_and_the_rest_of_the_last_is_given_back(place: Place) -> None:
    made = await place.add()
    seen: list[int] = []

    async def work() -> None:
        for ms in (0, SLICE_MS - 1, 1, SLICE_MS, 1):
            await place.clock.run(ms)
            await turns()
            seen.append((await place.used())[1] // SLICE_MS)

    await place.call(made.token, browsing(place, work))
    assert seen == [1, 1, 2, 3, 3]
    assert (await place.used())[1] == 2 * SLICE_MS + 1
    assert place.clock.sleepers == 0


async def test_a_run_that_takes_no_time_costs_nothing_nor_does_a_clock_that_is_set_back(place: Place) -> None:
    made = await place.add()
    await place.call(made.token, browsing(place))
    assert (await place.used())[1] == 0

    async def back() -> None:
        place.clock._now_ms -= 60_000

    await place.call(made.token, browsing(place, back))
    assert (await place.used())[1] == 0, "and nothing is given that was not taken"


async def test_the_end_of_the_budget_ends_the_run_and_the_call_with_one_error(place: Place) -> None:
    made = await place.add(browser_seconds=2)
    ended: list[MeshError] = []
    call = asyncio.create_task(refusal(place.call(made.token, browsing(place, asyncio.Event().wait, ended.append))))
    await turns()
    assert place.clock.next_due_ms == place.clock.now_ms() + 2_000, "no more is taken than is left"
    assert ((await shown(place)).running, len(place.agents._uses)) == (1, 2), "a run is no call"
    await place.clock.run(2_000)
    error = await asyncio.wait_for(call, 120)
    assert [each.code for each in (error, *ended)] == ["agent.budget"] * 2
    assert place.agents._uses == set()
    assert (await place.used())[1] == 2_000


async def test_a_clock_that_is_set_back_as_the_budget_ends_gives_nothing_back(place: Place) -> None:
    made = await place.add(browser_seconds=2)

    def spent(error: MeshError) -> None:
        place.clock._now_ms -= 60_000

    call = asyncio.create_task(code_of(place.call(made.token, browsing(place, asyncio.Event().wait, spent))))
    await turns()
    await place.clock.run(2_000)
    assert await asyncio.wait_for(call, 120) == "agent.budget"
    assert (await place.used())[1] == 2_000


async def test_a_removed_agent_loses_its_call_and_its_run(place: Place) -> None:
    made = await place.add()
    ended: list[MeshError] = []
    call = asyncio.create_task(refusal(place.call(made.token, browsing(place, asyncio.Event().wait, ended.append))))
    await turns()
    assert (await place.agents.remove(NameParams(name="helper"))).ended == 2
    error = await asyncio.wait_for(call, 120)
    assert {each.code for each in (error, *ended)} == {"control.unauthorised"}
    assert error.message == "the owner of the node has removed this agent"
    assert await told(place) == [
        (FeedKind.AGENT_ADDED, ("helper",), "owner"),
        (FeedKind.AGENT_REMOVED, ("helper",), "owner"),
    ]


async def test_only_agents_are_checked_and_they_while_they_may_go_on(place: Place) -> None:
    made = await place.add(browser_seconds=1)
    for who in (OWNER, NODE):
        with called_by(who):
            await place.agents.check()

    async def checked(caller: Caller) -> list[str]:
        codes = []
        with called_by(caller):
            for ms in (999, 1):
                await used_up(place, made, browser_ms=ms)
                codes.append(await code_of(place.agents.check()))
            await place.store.remove_agent("helper")
            codes.append(await code_of(place.agents.check()))
        return codes

    assert await place.call(made.token, checked) == ["", "agent.budget", "control.unauthorised"]


async def test_work_of_an_agent_outside_its_calls_is_metered_while_one_goes_on(place: Place) -> None:
    made = await place.add()
    with called_by(agent()):
        error = await refusal(place.agents.check())
        assert (error.code, error.detail) == ("control.unauthorised", {"caller": "agent:helper"})
        assert error.message == "the call that this work belongs to has ended"
    ended: list[str] = []

    async def elsewhere(caller: Caller) -> None:
        await browsing(place, asyncio.Event().wait, lambda error: ended.append(error.code))(caller)

    calls = [asyncio.create_task(code_of(place.call(made.token, forever))) for _ in range(2)]
    await turns()
    run = asyncio.create_task(elsewhere(agent()))
    await turns()
    assert (await place.used())[1] == SLICE_MS
    await place.agents.remove(NameParams(name="helper"))
    assert await asyncio.gather(*calls) == ["control.unauthorised"] * 2
    assert ended == ["control.unauthorised"], "who does the work is told, and ends it"
    run.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await run


async def test_only_the_call_that_does_the_work_is_ended_by_it(place: Place) -> None:
    made = await place.add(browser_seconds=1)
    other = asyncio.create_task(code_of(place.call(made.token, forever)))
    await turns()
    call = asyncio.create_task(code_of(place.call(made.token, browsing(place, asyncio.Event().wait))))
    await turns()
    await place.clock.run(1_001)
    assert await asyncio.wait_for(call, 120) == "agent.budget"
    assert not other.done()
    other.cancel()
    await asyncio.gather(other, return_exceptions=True)
