"""Live sessions of agents that have a token: their time with a browser is counted, and none outlives its agent's right to it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from node.agents.agents import Agents
from node.config import PolicyConfig
from node.live.sessions.acts import Act
from node.live.sessions.stored import LIVES, LiveRecord
from node.verbs.live.live import Opened
from node.verbs.nodes.agent import AddParams, NameParams
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.page.actions.action import Goto
from protocol.recording.records.verdict import Verdict
from protocol.refusals import Refusals
from protocol.trust.agent_token import token_hash
from tests.twins.browser import Document
from tests.unit.test_live_sessions import ORIGIN, Bench


class Rented(Bench):
    """Live sessions of a node that has agents."""

    def __init__(self, **pool: int) -> None:
        super().__init__(None, None, **pool)
        self.agents = Agents(self.store, self.clock, Refusals(), self.witness.feed)
        self.browsers.metering = self.agents

    async def add(self, **given: Any) -> str:
        """The token of a new agent, always of the same name."""
        return (await self.agents.add(AddParams(name="helper", scopes=("live",), **given))).token

    async def remove(self) -> int:
        """Remove it; how much of what it was doing was ended."""
        return (await self.agents.remove(NameParams(name="helper"))).ended

    async def ask(self, token: str, name: str, session: str = "", /, **params: Any) -> Any:
        """The result of ``live.<name>``, called with ``token``."""
        agent = await self.agents.authenticate(token)
        async with self.agents.calling(agent, f"live.{name}") as caller:
            return await self.call(name, session, by=caller, **params)

    async def opened(self, token: str) -> str:
        """The id of a live session that was opened with ``token``."""
        opened: Opened = await self.ask(token, "open", url=f"{ORIGIN}/")
        return opened.session

    async def denied(self, token: str, name: str, session: str = "", /, **params: Any) -> MeshError:
        """How a call with ``token`` is refused."""
        with pytest.raises(MeshError) as caught:
            await self.ask(token, name, session, **params)
        return caught.value

    async def used_ms(self) -> int:
        """The time with a browser that was counted."""
        (agent,) = await self.store.agents()
        return agent.browser_ms

    async def ended(self, session: str) -> LiveRecord:
        """The record of a live session, once it has ended without being asked, and before it would be idle for too long."""
        began_ms = self.clock.now_ms()
        async with asyncio.timeout(120):
            while (
                not (record := await self.store.rows(LIVES).get(session))
                or not record.ended_ms
                or self.browsers.contexts
            ):
                await self.clock.run(1)
                assert self.clock.now_ms() - began_ms < 60_000, "it ends at once"
        return record


@pytest.fixture
async def bench() -> Rented:
    made = Rented()
    await made.witness.load()
    return made


async def test_the_time_a_live_session_is_open_is_counted_between_calls_too(bench: Rented) -> None:
    """Guard: node/live/sessions/live_session.py, LiveSession.end."""
    token = await bench.add(browser_seconds=60)
    session = await bench.opened(token)
    await bench.clock.run(12_000)
    assert await bench.used_ms() == 15_000, "taken in advance"
    await bench.ask(token, "close", session)
    assert await bench.used_ms() == 12_000
    await bench.clock.run(60_000)
    assert await bench.used_ms() == 12_000
    assert bench.agents._uses == set()


async def test_the_live_sessions_of_the_owner_are_not_counted(bench: Rented) -> None:
    await bench.add(browser_seconds=1)
    opened = await bench.open(ttl=3_600, idle=3_600)
    await bench.clock.run(60_000)
    await bench.call("close", opened.session)
    assert await bench.used_ms() == 0


async def test_an_agent_that_has_no_time_left_opens_nothing(bench: Rented) -> None:
    """Guard: node/live/browsers/browsers.py, Browsers.context."""
    token = await bench.add(browser_seconds=1)
    await bench.store.charge_agent(token_hash(token), 1_000)
    assert (await bench.denied(token, "open", url=f"{ORIGIN}/")).code == "agent.budget"
    assert (bench.started, bench.site.reached, await bench.store.rows(LIVES).find(newest=True)) == ([], [], [])


async def test_waiting_for_a_free_browser_is_not_counted() -> None:
    bench = Rented(contexts_max=1)
    await bench.witness.load()
    token = await bench.add(browser_seconds=60)
    held = await bench.open(ttl=3_600, idle=3_600)
    opening = asyncio.create_task(bench.opened(token))
    async with asyncio.timeout(120):
        while not bench.browsers.waiting:  # noqa: ASYNC110
            await asyncio.sleep(0)
    await bench.clock.run(20_000)
    assert await bench.used_ms() == 0
    await bench.call("close", held.session)
    session = await opening
    await bench.clock.run(3_000)
    await bench.ask(token, "close", session)
    assert await bench.used_ms() == 3_000


async def test_an_agent_whose_time_is_used_up_while_it_waits_opens_nothing_and_keeps_no_place() -> None:
    bench = Rented(contexts_max=1)
    await bench.witness.load()
    token = await bench.add(browser_seconds=1)
    held = await bench.open(ttl=3_600, idle=3_600)
    opening = asyncio.create_task(bench.denied(token, "open", url=f"{ORIGIN}/"))
    async with asyncio.timeout(120):
        while not bench.browsers.waiting:  # noqa: ASYNC110
            await asyncio.sleep(0)
    await bench.store.charge_agent(token_hash(token), 1_000)
    await bench.call("close", held.session)
    assert (await opening).code == "agent.budget"
    assert (bench.browsers.contexts, bench.live._open, bench.agents._uses) == (0, {}, set())
    await bench.open()


async def test_an_address_that_an_agent_is_refused_is_counted_under_its_name_and_told_once(bench: Rented) -> None:
    """Guard: node/agents/agents.py, Agents.refused."""
    token = await bench.add(origins=("http://other.test",))
    for _ in range(3):
        assert (await bench.denied(token, "open", url=f"{ORIGIN}/")).code == "browser.refused"
    assert bench.agents._refusals.by_peer["agent:helper", "browser.refused"] == 3
    told = [change for change in (await bench.store.feed(after=0)).changes if change.kind == FeedKind.AGENT_REFUSED]
    assert [(change.ids, change.who) for change in told] == [(("helper",), "agent:helper")]
    barred = Bench(policy=PolicyConfig(origins=("http://other.test",)))
    await barred.witness.load()
    barred.browsers.metering = bench.agents
    assert (await barred.refused("open", url=f"{ORIGIN}/")).code == "browser.refused"
    assert sum(bench.agents._refusals.codes.values()) == 3, "the owner is not counted"


async def test_what_cannot_be_opened_costs_nothing_more(bench: Rented) -> None:
    token = await bench.add(browser_seconds=60)
    assert (await bench.denied(token, "open", url="http://nowhere.test/")).code == "browser.navigation"
    assert (await bench.denied(token, "open", url=f"{ORIGIN}/", profile={"x": "y"})).code == "input.invalid"
    assert await bench.used_ms() == 0
    assert bench.agents._uses == set()


async def test_a_live_session_ends_when_the_time_of_its_agent_is_used_up(bench: Rented) -> None:
    """Guard: node/live/sessions/live_sessions.py, LiveSessions._watch."""
    token = await bench.add(browser_seconds=6)
    session = await bench.opened(token)
    await bench.clock.run(5_900)
    assert bench.browsers.contexts == 1
    await bench.clock.run(200)
    assert (await bench.ended(session)).reason == "budget"
    assert await bench.used_ms() == 6_000
    assert await bench.verdicts(session) == [(Verdict.PASS, 1)]
    assert await bench.signed(session) == ["agent:helper"]
    refused = await bench.denied(token, "snapshot", session)
    assert (refused.code, refused.detail["reason"]) == ("live.ended", "budget")


async def test_a_live_session_ends_when_the_token_of_its_agent_expires(bench: Rented) -> None:
    """Guard: node/live/sessions/live_session.py, LiveSession.due."""
    session = await bench.opened(await bench.add(expires_s=60))
    await bench.clock.run(60_100)
    assert (await bench.ended(session)).reason == "expired"
    assert await bench.signed(session) == ["agent:helper"]


async def test_a_new_agent_of_the_same_name_does_not_get_what_the_old_one_had_open(bench: Rented) -> None:
    """Guard: node/live/sessions/live_session.py, LiveSession.due."""
    old = await bench.opened(await bench.add())
    assert await bench.remove() == 1
    await bench.clock.run(1)
    token = await bench.add()
    held = bench.live._open.get(old)
    assert held is None or held.due == (0, "removed"), "whoever calls"
    for verb in ("snapshot", "show", "close"):
        assert (await bench.denied(token, verb, old)).code == "live.not_found"
    assert (await bench.ask(token, "list", all=True)).sessions == []
    assert (await bench.ended(old)).reason == "removed"
    assert [each.session for each in (await bench.call("list", all=True)).sessions] == [old]
    assert await bench.signed(old) == ["agent:helper"]


async def test_a_live_session_ends_when_its_agent_is_removed_and_nobody_calls(bench: Rented) -> None:
    """Guard: node/live/sessions/live_sessions.py, LiveSessions._watch."""
    session = await bench.opened(await bench.add())
    await bench.remove()
    assert (await bench.ended(session)).reason == "removed"
    assert await bench.signed(session) == ["agent:helper"]


async def test_an_agent_that_is_removed_while_it_opens_one_leaves_nothing_open(bench: Rented) -> None:
    asked, document = asyncio.Event(), bench.site.document

    def told(url: str) -> Document | None:
        asked.set()
        return document(url)

    bench.site.document = told  # type: ignore[method-assign]
    opening = asyncio.create_task(bench.denied(await bench.add(), "open", url=f"{ORIGIN}/"))
    async with asyncio.timeout(120):
        await asked.wait()
        assert await bench.remove() == 2, "the call, and its time with a browser"
        assert (await opening).code == "control.unauthorised"
    assert (bench.browsers.contexts, bench.live._open, bench.agents._uses) == (0, {}, set())


async def test_no_further_action_is_begun_once_the_agent_may_not_go_on(bench: Rented) -> None:
    """Guard: node/live/sessions/live_session.py, LiveSession._need_room."""
    session = await bench.opened(await bench.add())
    held = bench.live._open[session]
    async with held.turn():
        await bench.remove()
        with pytest.raises(MeshError) as refused:
            await held.act([Act(Goto(url=f"{ORIGIN}/mugs"))])
    assert (refused.value.code, refused.value.detail["reason"]) == ("live.ended", "removed")
    assert bench.site.reached == ["GET /"]


async def test_an_agent_whose_calls_are_used_up_can_still_close_its_live_session(bench: Rented) -> None:
    token = await bench.add(calls=1)
    session = await bench.opened(token)
    assert (await bench.denied(token, "snapshot", session)).code == "agent.budget"
    closed = await bench.ask(token, "close", session)
    assert [each.verdict for each in closed.recorded] == [Verdict.PASS]
    assert bench.browsers.contexts == 0
    assert (await bench.denied(token, "open", url=f"{ORIGIN}/")).code == "agent.budget"
