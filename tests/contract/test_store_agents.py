"""What every store promises about agents and what they may use."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from adapters.ports.records import AgentRecord
from adapters.ports.store import Store
from adapters.storage.sqlite import SqliteStore
from protocol.errors import MeshError
from tests.twins.storage import MemoryStore


@pytest.fixture(params=("sqlite", "memory"))
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened: Store = await SqliteStore.open(tmp_path) if request.param == "sqlite" else MemoryStore()
    yield opened
    await opened.close()


def agent(
    name: str = "helper", token: bytes = b"t" * 32, *, calls_max: int = 0, browser_ms_max: int = 0
) -> AgentRecord:
    """An agent that has used nothing yet."""
    return AgentRecord(
        name=name,
        token_hash=token,
        scopes=("read", "record"),
        origins=("https://shop.example",),
        created_ms=1,
        expires_ms=2**45,
        calls_max=calls_max,
        browser_ms_max=browser_ms_max,
    )


async def test_an_agent_is_found_by_its_token_alone(store: Store) -> None:
    assert await store.add_agent(agent())
    assert await store.agent(b"t" * 32) == agent()
    assert await store.agent(b"T" * 32) is None
    assert await store.agent(b"") is None


async def test_agents_come_by_name_and_neither_name_nor_token_is_taken_twice(store: Store) -> None:
    assert await store.add_agent(agent("zoe", b"1"))
    assert await store.add_agent(agent("adam", b"2"))
    assert not await store.add_agent(agent("zoe", b"3"))
    assert not await store.add_agent(agent("other", b"1"))
    assert await store.agents() == [agent("adam", b"2"), agent("zoe", b"1")]


async def test_calls_are_counted_to_their_limit_and_not_beyond_however_many_come_at_once(store: Store) -> None:
    """Guard: adapters/storage/files/records.py, with_call."""
    await store.add_agent(agent(calls_max=3))
    made = await asyncio.gather(*(store.count_agent_call(b"t" * 32) for _ in range(8)), return_exceptions=True)
    assert sorted(one.calls for one in made if isinstance(one, AgentRecord)) == [1, 2, 3]
    assert {one.code for one in made if isinstance(one, MeshError)} == {"agent.budget"}
    assert await store.agents() == [msgspec.structs.replace(agent(calls_max=3), calls=3)]


async def test_browser_time_is_given_as_far_as_it_goes(store: Store) -> None:
    """Guard: adapters/storage/files/records.py, with_browser_ms."""
    await store.add_agent(agent(browser_ms_max=12_000))
    given = await asyncio.gather(*(store.charge_agent(b"t" * 32, 5_000) for _ in range(3)))
    assert sorted(given) == [2_000, 5_000, 5_000]
    with pytest.raises(MeshError) as refused:
        await store.charge_agent(b"t" * 32, 1)
    assert refused.value.code == "agent.budget"
    assert await store.charge_agent(b"t" * 32, -3_000) == -3_000
    assert await store.charge_agent(b"t" * 32, 5_000) == 3_000
    assert await store.charge_agent(b"t" * 32, -99_000) == -12_000, "less than nothing was never used"


async def test_what_has_no_limit_is_counted_all_the_same(store: Store) -> None:
    await store.add_agent(agent())
    for _ in range(2):
        await store.count_agent_call(b"t" * 32)
        assert await store.charge_agent(b"t" * 32, 5_000) == 5_000
    (kept,) = await store.agents()
    assert (kept.calls, kept.browser_ms) == (2, 10_000)


async def test_an_agent_that_was_removed_is_known_no_more(store: Store) -> None:
    await store.add_agent(agent())
    assert await store.remove_agent("helper")
    assert not await store.remove_agent("helper")
    assert await store.agent(b"t" * 32) is None
    for refused in (store.count_agent_call(b"t" * 32), store.charge_agent(b"t" * 32, 5)):
        with pytest.raises(MeshError) as unknown:
            await refused
        assert unknown.value.code == "input.not_found"
    assert await store.add_agent(agent())


async def test_counts_survive_a_restart_and_the_token_is_looked_up_by_an_index(tmp_path: Path) -> None:
    first = await SqliteStore.open(tmp_path)
    await first.add_agent(agent(calls_max=2))
    await first.count_agent_call(b"t" * 32)
    await first.close()
    again = await SqliteStore.open(tmp_path)
    try:
        assert (await again.count_agent_call(b"t" * 32)).calls == 2
        plan = await again._database.read(
            lambda db: db.execute("EXPLAIN QUERY PLAN SELECT body FROM agents WHERE token_hash = x''").fetchall()
        )
        assert "USING INDEX" in str(plan)
    finally:
        await again.close()
