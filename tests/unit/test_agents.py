"""Agents: their tokens, what they may use, and when what they do ends."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from node.agents.agents import Agents
from node.signing import Feed
from node.verbs import Caller, CallerKind, called_by
from node.verbs.capsules.capsule import CapsuleParams
from node.verbs.nodes.agent import Added, AddParams, NameParams
from protocol import limits
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.refusals import Refusals
from protocol.trust.agent_token import make_token, token_hash
from tests.capsule_nodes import two
from tests.mesh_memory import MemoryMesh, until
from tests.twins.clock import ManualClock
from tests.twins.storage import MemoryStore


class Place:
    """A room of agents, its store, its clock and what it refused."""

    def __init__(self) -> None:
        self.store, self.clock, self.refusals = MemoryStore(), ManualClock(), Refusals()
        self.feed = Feed(self.store, self.clock, lambda: "owner")
        self.agents = Agents(self.store, self.clock, self.refusals, self.feed)

    async def add(self, name: str = "helper", **given: Any) -> Added:
        """A new agent that may read and record."""
        return await self.agents.add(AddParams(name=name, **{"scopes": ("read", "record"), **given}))

    async def call(self, token: str, work: Callable[[Caller], Any] | None = None, *, verb: str = "session.list") -> Any:
        """One call of ``verb`` under ``token``, which does ``work``."""
        agent = await self.agents.authenticate(token)
        async with self.agents.calling(agent, verb) as caller:
            return await work(caller) if work else caller

    async def used(self) -> tuple[int, int]:
        """Calls and milliseconds with a browser that the only agent has used."""
        (agent,) = await self.store.agents()
        return agent.calls, agent.browser_ms


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    yield Place()


async def code_of(work: Any) -> str:
    """The code with which ``work`` fails; empty if it does not."""
    try:
        await work
    except MeshError as error:
        return error.code
    return ""


async def forever(caller: Caller) -> None:
    """A call that never ends by itself."""
    await asyncio.Event().wait()


async def turns(count: int = 20) -> None:
    """Let other tasks go on."""
    for _ in range(count):
        await asyncio.sleep(0)


# --- tokens ----------------------------------------------------------------------------------------------------------


async def test_a_token_is_told_by_its_form_and_only_its_hash_is_kept(place: Place) -> None:
    made = await place.add("shop-2")
    assert re.fullmatch(r"tma_shop-2_[A-Za-z0-9_-]{49}", made.token)
    (kept,) = await place.store.agents()
    assert kept.token_hash == token_hash(made.token)
    assert made.token not in repr(kept) and made.token not in repr(made)
    assert made.token.encode() not in b"".join(place.store._agents.values())
    assert "token" not in (await place.agents.listed()).agents[0].__struct_fields__
    caller = await place.call(made.token)
    made_ms = kept.created_ms
    assert caller == Caller(
        kind=CallerKind.AGENT, name="shop-2", scopes=frozenset({"read", "record"}), since_ms=made_ms
    )
    assert str(caller) == "agent:shop-2"


def test_every_changed_character_of_a_token_is_seen_before_anything_is_looked_up() -> None:
    """Guard: protocol/trust/agent_token.py, token_hash."""
    token = make_token("helper", bytes(range(32)))
    assert token_hash(token)
    for place in range(len(token)):
        changed = token[:place] + ("A" if token[place] != "A" else "B") + token[place + 1 :]
        with pytest.raises(MeshError) as refused:
            token_hash(changed)
        assert refused.value.code == "control.unauthorised"
        assert changed not in str(refused.value.to_dict())


@pytest.mark.parametrize(
    "cut", ["", " ", "tma_", "tma__", "tma_helper", "x" * 5_000, "tma_helper_" + "\u0661" * 49, "\udcff"]
)
async def test_what_is_no_token_is_refused(place: Place, cut: str) -> None:
    await place.add()
    assert await code_of(place.call(cut)) == "control.unauthorised"


async def test_a_token_of_another_node_or_name_is_unknown_and_counted(place: Place) -> None:
    """Guard: node/agents/tokens.py, AgentTokens.agent."""
    await place.add()
    assert await code_of(place.call(make_token("helper", bytes(32)))) == "control.unauthorised"
    assert place.refusals.codes["control.unauthorised"] == 1
    assert await place.used() == (0, 0)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "A",
        "1a",
        "-a",
        "a_b",
        "a b",
        "a/b",
        "../x",
        "a\n",
        "é",
        "a" * 33,
        "owner:x",
        "agent;rm",
        "a\x00",
        "a\u202eb",
    ],
)
async def test_names_that_would_need_quoting_are_refused(name: str) -> None:
    import msgspec

    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(msgspec.json.encode({"name": name, "scopes": ["read"]}), type=AddParams)


async def test_an_agent_is_shown_with_the_names_that_its_capsules_have_now(place: Place, tmp_path: Path) -> None:
    mesh = MemoryMesh()
    alice, _ = await two(mesh, tmp_path)
    try:
        place.agents = Agents(place.store, place.clock, place.refusals, place.feed, alice.capsules.kept)
        kept = await alice.capture()
        added = await place.add(capsules=("shop=record",))
        assert (added.capsules, added.capsule_names) == ((f"{kept.id}=record",), {kept.id: "shop"})
        assert added.capsules_ended == ()
        await alice.capsules.remove(CapsuleParams(capsule="shop"))
        (shown,) = (await place.agents.listed()).agents
        assert (shown.capsules, shown.capsule_names, shown.capsules_ended) == ((f"{kept.id}=record",), {}, (kept.id,))
    finally:
        for node in mesh.nodes:
            await node.stop()


async def test_a_name_is_given_once_and_agents_are_bounded(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    first = await place.add()
    assert await code_of(place.add()) == "input.invalid"
    assert (await place.call(first.token)).name == "helper"
    monkeypatch.setattr(limits, "AGENTS_MAX", 2)
    codes = await asyncio.gather(*(code_of(place.add(f"a{number}")) for number in range(4)))
    assert sorted(codes) == ["", "input.invalid", "input.invalid", "input.invalid"]


async def test_origins_are_patterns_in_one_form_or_refused(place: Place) -> None:
    made = await place.add("one", origins=("HTTPS://Shop.Example/", "https://*.shop.example", "https://a.shop.example"))
    assert made.origins == ("https://*.shop.example", "https://shop.example")
    assert (await place.call(made.token)).origins == made.origins
    assert (await place.add("all", origins=("*", "https://shop.example"))).origins == ()
    for wrong in ("shop.example", "https://", "file:///etc", "https://u:p@shop.example", "https://shop.example/path"):
        assert await code_of(place.add("wrong", origins=(wrong,))) == "input.invalid", wrong


# --- guessing --------------------------------------------------------------------------------------------------------


async def test_ten_thousand_wrong_tokens_are_slowed_counted_and_keep_nobody_out(place: Place) -> None:
    """Guard: node/agents/tokens.py, AgentTokens._pause."""
    made = await place.add()
    await place.call(made.token)
    looked_up: list[bytes] = []
    find = place.store.agent

    async def watched(token_hash: bytes) -> Any:
        looked_up.append(token_hash)
        return await find(token_hash)

    place.store.agent = watched  # type: ignore[method-assign]
    wrong = [make_token("helper", number.to_bytes(32, "big")) for number in range(10_000)]
    tried = [asyncio.create_task(code_of(place.agents.authenticate(token))) for token in wrong]
    answered = len(tried) - limits.CONTROL_FAILURES_WAITING_MAX
    await until(lambda: sum(task.done() for task in tried) >= answered, "all are answered but those that wait")
    done = [task for task in tried if task.done()]
    waiting = [task for task in tried if not task.done()]
    assert len(waiting) == limits.CONTROL_FAILURES_WAITING_MAX
    assert len(looked_up) == limits.CONTROL_FAILURES_PER_MINUTE
    codes = [task.result() for task in done]
    assert codes.count("control.unauthorised") == limits.CONTROL_FAILURES_PER_MINUTE
    assert codes.count("agent.busy") == len(done) - limits.CONTROL_FAILURES_PER_MINUTE
    assert (await place.call(made.token)).name == "helper", "who was right before does not wait"
    assert sum(place.refusals.codes.values()) == len(done)
    place.clock.advance(limits.CONTROL_FAILURE_PAUSE_MS)
    assert [await task for task in waiting] == ["control.unauthorised"] * len(waiting)
    place.clock.advance(61_000)
    assert await code_of(place.agents.authenticate(wrong[0])) == "control.unauthorised", "a minute later nobody waits"


# --- budgets ---------------------------------------------------------------------------------------------------------


async def test_an_agent_without_calls_can_still_close_its_live_sessions_and_do_nothing_else(place: Place) -> None:
    made = await place.add(calls=2)
    for verb in ("live.open", "live.close"):
        await place.call(made.token, verb=verb)
    assert (await place.used())[0] == 2, "closing counts as long as there is something to count"
    for verb in ("live.open", "live.act", "live.pages", "live.list", "node.whoami"):
        assert await code_of(place.call(made.token, verb=verb)) == "agent.budget"
    assert await place.call(made.token, verb="live.close")
    assert (await place.used())[0] == 2
    await place.agents.remove(NameParams(name=made.name))
    assert await code_of(place.call(made.token, verb="live.close")) == "control.unauthorised"


async def test_a_call_is_counted_before_it_is_made_and_not_given_back(place: Place) -> None:
    """Guard: node/agents/agents.py, Agents.calling."""
    made = await place.add(calls=2)
    seen: list[tuple[int, int]] = []

    async def fails(caller: Caller) -> None:
        seen.append(await place.used())
        raise MeshError("input.invalid")

    assert await code_of(place.call(made.token, fails)) == "input.invalid"
    assert seen == [(1, 0)]
    await place.call(made.token)
    assert await code_of(place.call(made.token)) == "agent.budget"
    assert place.refusals.by_peer["agent:helper", "agent.budget"] == 1
    again = Agents(place.store, place.clock, place.refusals, place.feed)  # the node was killed, and started again
    agent = await again.authenticate(made.token)
    with pytest.raises(MeshError) as refused:
        async with again.calling(agent, "session.list"):
            pass
    assert refused.value.code == "agent.budget"
    assert (await place.agents.listed()).agents[0].state == "used up"


async def test_an_agent_makes_so_many_calls_at_a_time(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "AGENT_CALLS_AT_ONCE_MAX", 3)
    made, other = await place.add(), await place.add("other")
    calls = [asyncio.create_task(code_of(place.call(made.token, forever))) for _ in range(5)]
    await until(lambda: sum(task.done() for task in calls) >= 2, "two are refused")
    done = [task for task in calls if task.done()]
    going_on = [task for task in calls if not task.done()]
    assert [task.result() for task in done] == ["agent.busy"] * 2
    assert len(going_on) == 3
    assert (await place.agents.listed()).agents[0].running == 3
    assert (await place.call(other.token)).name == "other"
    for task in going_on:
        task.cancel()
    await asyncio.gather(*going_on, return_exceptions=True)
    assert (await place.call(made.token)).name == "helper"


async def test_browser_time_is_taken_in_advance_and_the_rest_is_given_back(place: Place) -> None:
    """Guard: node/agents/agents.py, Agents.counted."""
    made = await place.add(browser_seconds=60)

    async def browse(caller: Caller) -> tuple[int, int]:
        with called_by(caller):
            async with place.agents.counted(lambda error: None):
                before = await place.used()
                await place.clock.run(7_000)
                return before

    assert await place.call(made.token, browse) == (1, limits.AGENT_BROWSER_SLICE_MS)
    assert await place.used() == (1, 7_000)


async def test_a_run_ends_with_its_call_when_the_browser_time_is_used_up(place: Place) -> None:
    """Guard: node/agents/browser_time.py, BrowserTime.go_on."""
    made = await place.add(browser_seconds=6)
    ended: list[str] = []

    async def browse(caller: Caller) -> None:
        with called_by(caller):
            async with place.agents.counted(lambda error: ended.append(error.code)):
                await asyncio.Event().wait()

    call = asyncio.create_task(code_of(place.call(made.token, browse)))
    await turns()
    await place.clock.run(5_900)
    assert not call.done()
    await place.clock.run(200)
    assert await asyncio.wait_for(call, 120) == "agent.budget"
    assert ended == ["agent.budget"]
    assert await place.used() == (1, 6_000)
    assert await code_of(place.call(made.token, browse)) == "agent.budget"
    assert await code_of(place.call(made.token)) == "", "what needs no browser still works"


async def test_the_owner_and_the_node_are_not_metered(place: Place) -> None:
    made = await place.add(browser_seconds=1)
    async with place.agents.counted(lambda error: None):
        await place.clock.run(60_000)
    assert made.state == "valid"
    assert await place.used() == (0, 0)


# --- how it ends -----------------------------------------------------------------------------------------------------


async def test_removing_an_agent_ends_its_calls_that_are_going_on_and_no_others(place: Place) -> None:
    """Guard: node/agents/agents.py, Agents.remove."""
    made, other = await place.add(), await place.add("other")
    mine = [asyncio.create_task(code_of(place.call(made.token, forever))) for _ in range(3)]
    others = asyncio.create_task(code_of(place.call(other.token, forever)))
    await turns()
    removed = await place.agents.remove(NameParams(name="helper"))
    assert removed.ended == 3
    assert await asyncio.wait_for(asyncio.gather(*mine), 120) == ["control.unauthorised"] * 3
    assert not others.done()
    assert await code_of(place.call(made.token)) == "control.unauthorised"
    assert await code_of(place.agents.remove(NameParams(name="helper"))) == "input.not_found"
    again = await place.add()
    assert await code_of(place.call(made.token)) == "control.unauthorised", "the old token of the name stays worthless"
    assert await code_of(place.call(again.token)) == ""
    others.cancel()
    await asyncio.gather(others, return_exceptions=True)


async def test_a_call_that_was_let_in_as_its_agent_was_removed_does_nothing(place: Place) -> None:
    made = await place.add()
    agent = await place.agents.authenticate(made.token)
    await place.agents.remove(NameParams(name="helper"))
    with pytest.raises(MeshError) as refused:
        async with place.agents.calling(agent, "session.list"):
            pytest.fail("it was let in")
    assert refused.value.code == "control.unauthorised"


async def test_an_expired_token_is_refused_and_ends_a_call_in_its_middle(place: Place) -> None:
    """Guard: node/agents/agents.py, Agents._watch."""
    made = await place.add(expires_s=90)
    cleaned_up = asyncio.Event()

    async def long(caller: Caller) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned_up.set()

    call = asyncio.create_task(code_of(place.call(made.token, long)))
    await turns()
    await place.clock.run(89_000)
    assert not call.done()
    await place.clock.run(1_500)
    assert await asyncio.wait_for(call, 120) == "agent.expired"
    assert cleaned_up.is_set()
    assert (await place.agents.listed()).agents[0].state == "expired"


async def test_a_token_that_expired_is_refused_before_its_call_is_counted(place: Place) -> None:
    """Guard: node/agents/tokens.py, AgentTokens._check_time."""
    made = await place.add(expires_s=90)
    place.clock.advance(90_000)
    assert await code_of(place.call(made.token)) == "agent.expired"
    assert await place.used() == (0, 0)
    assert place.refusals.by_peer["agent:helper", "agent.expired"] == 1


async def test_who_goes_away_is_not_mistaken_for_one_who_was_ended(place: Place) -> None:
    made = await place.add()
    call = asyncio.create_task(place.call(made.token, forever))
    await turns()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (await place.agents.listed()).agents[0].running == 0


# --- what the feed tells ---------------------------------------------------------------------------------------------


async def told(place: Place) -> list[tuple[FeedKind, tuple[str, ...], str]]:
    return [(change.kind, change.ids, change.who) for change in (await place.store.feed(after=0, limit=100)).changes]


async def test_the_feed_tells_that_an_agent_was_added_refused_and_removed(place: Place) -> None:
    made = await place.add(calls=2, expires_s=60)

    async def beyond(caller: Caller) -> None:
        raise MeshError("caller.refused", "what its scopes do not cover", caller=str(caller))

    assert await code_of(place.call(made.token, beyond)) == "caller.refused"
    await place.call(made.token)
    assert await code_of(place.call(made.token)) == "agent.budget"
    await place.clock.run(61_000)
    assert await code_of(place.call(made.token)) == "agent.expired"
    await place.agents.remove(NameParams(name="helper"))
    assert await told(place) == [
        (FeedKind.AGENT_ADDED, ("helper",), "owner"),
        (FeedKind.AGENT_REFUSED, ("helper",), "agent:helper"),
        (FeedKind.AGENT_SPENT, ("helper",), "agent:helper"),
        (FeedKind.AGENT_EXPIRED, ("helper",), "agent:helper"),
        (FeedKind.AGENT_REMOVED, ("helper",), "owner"),
    ]


async def test_an_agent_that_is_refused_on_and_on_does_not_crowd_the_feed(place: Place) -> None:
    """Guard: node/agents/agents.py, Agents._tell_refused."""
    made = await place.add(calls=1)
    await place.call(made.token)

    async def refusals() -> int:
        for _ in range(5):
            assert await code_of(place.call(made.token)) == "agent.budget"
        return [kind for kind, _, _ in await told(place)].count(FeedKind.AGENT_SPENT)

    assert await refusals() == 1
    await place.clock.run(limits.FEED_REFUSAL_EVERY_S * 1_000)
    assert await refusals() == 2
    await place.agents.remove(NameParams(name="helper"))
    made = await place.add(calls=1)
    await place.call(made.token)
    assert await refusals() == 3, "another agent of the same name"


async def test_an_ordinary_error_of_an_agent_and_a_wrong_token_are_no_news(place: Place) -> None:
    made = await place.add()

    async def fails(caller: Caller) -> None:
        raise MeshError("input.invalid")

    assert await code_of(place.call(made.token, fails)) == "input.invalid"
    assert await code_of(place.call(make_token("helper", bytes(limits.AGENT_TOKEN_BYTES)))) == "control.unauthorised"
    assert [kind for kind, _, _ in await told(place)] == [FeedKind.AGENT_ADDED]
