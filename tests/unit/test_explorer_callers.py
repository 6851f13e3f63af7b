"""Searches and leases say for whom they are, and keep to the origins of an agent that has them run."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import msgspec
import pytest

from node.config import PolicyConfig
from node.live.browsers import guard_for, may_open
from node.verbs import NODE, OWNER, Caller, CallerKind, called_by
from node.verbs.searches.explore import RUN, RunParams
from protocol.errors import MeshError
from protocol.recording.records.session import Profile
from protocol.risk.requests.destinations import THIS_MACHINE
from protocol.risk.requests.requests import GuardPolicy
from tests.mesh_memory import FOUND, NEVER, ORIGIN, memory_mesh, until
from tests.mesh_searches import has_status, leases_of, search_of
from tests.tables import each

pytestmark = pytest.mark.virtual_time


def agent(*origins: str, name: str = "helper") -> Caller:
    """An agent that may explore."""
    return Caller(kind=CallerKind.AGENT, name=name, scopes=frozenset({"explore"}), origins=origins)


async def test_a_search_and_its_leases_name_who_asked_on_either_side() -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        with called_by(agent()):
            task = asyncio.create_task(anna.run(NEVER, seconds=400, peers=["bruno"]))
        search = await search_of(anna)
        await until(lambda: leases_of(bruno, search, bruno), "a lease at the worker")
        await anna.explorer.stop(search)
        await task
        found, there = await anna.store.search(search), await bruno.store.search(search)
        assert found is not None and there is not None
        assert (found.caller, there.caller) == ("agent:helper", anna.id)
        assert {lease.caller for lease in await anna.store.leases(search)} == {"agent:helper"}
        assert {lease.caller for lease in await bruno.store.leases(search)} == {anna.id}
        again = asyncio.create_task(anna.explorer.resume(search, seconds=400, tell=lambda event: None))
        await until(lambda: has_status(anna, search, "running"), "the search goes on")
        found = await anna.store.search(search)
        assert found is not None and found.caller == "owner", "whoever takes it up answers for it"
        await anna.explorer.stop(search)
        await again


@each(
    ("caller", "named", "row"),
    [
        (OWNER, None, "all"),
        (OWNER, [], "none"),
        (OWNER, ["bruno", "carla"], "bruno, carla"),
        (agent(), None, "none"),
        (agent(), ["bruno"], "bruno"),
        (agent(ORIGIN), None, "none"),
    ],
)
def test_the_audit_trail_tells_all_peers_from_none(caller: Caller, named: list[str] | None, row: str) -> None:
    given = RunParams(goal="g", start=f"{ORIGIN}/", until={"title": "x"}, peers=named)
    assert RUN.row is not None
    with called_by(caller):
        assert RUN.row.note(given)["peers"] == row


async def test_who_may_visit_some_origins_only_searches_without_peers() -> None:
    """Guard: node/explorer/new_search.py, _alone."""
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        with called_by(agent(ORIGIN)):
            found = await anna.run(FOUND)
            assert found.status == "done"
            with pytest.raises(MeshError) as refused:
                await anna.explorer.run(
                    goal="g",
                    start_url=f"{ORIGIN}/",
                    condition=FOUND,
                    peers=["bruno"],
                    seconds=10,
                    seed=0,
                    tell=lambda event: None,
                )
        assert refused.value.code == "caller.refused"
        assert await bruno.store.searches() == []


async def test_who_may_visit_some_origins_only_takes_up_no_search_with_peers() -> None:
    """Guard: node/explorer/explorer.py, Explorer.resume."""
    async with memory_mesh("anna", "bruno") as (anna, _):
        with called_by(agent()):
            task = asyncio.create_task(anna.run(NEVER, seconds=400, peers=["bruno"]))
        search = await search_of(anna)
        await anna.explorer.stop(search)
        await task
        with called_by(agent(ORIGIN)), pytest.raises(MeshError) as refused:
            await anna.explorer.resume(search, seconds=10, tell=lambda event: None)
        assert refused.value.code == "caller.refused"


async def test_an_agent_takes_the_peers_that_it_names_and_nobody_by_default() -> None:
    """Guard: node/explorer/new_search.py, _alone."""
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        with called_by(agent()):
            assert (await anna.run(FOUND)).status == "done"
        assert await bruno.store.searches() == []
        assert (await anna.run(FOUND)).status == "done"
        assert len(await bruno.store.searches()) == 1, "the owner takes every peer"


async def test_every_page_of_a_search_keeps_to_the_origins_of_its_agent() -> None:
    """Guard: node/live/browsers/policy.py, guard_for."""
    guards: list[GuardPolicy] = []
    async with memory_mesh("anna") as (anna,):
        open_page = anna.browsers.opened

        def watched(profile: Profile, guard: GuardPolicy, **more: Any) -> Any:
            guards.append(guard)
            return open_page(profile, guard, **more)

        anna.browsers.opened = watched  # type: ignore[method-assign]
        with called_by(agent("https://elsewhere.test")), pytest.raises(MeshError) as refused:
            await anna.run(FOUND)
        assert refused.value.code == "browser.refused"
        assert refused.value.detail == {"origin": ORIGIN, "rule": "origin"}
        with called_by(agent(ORIGIN)):
            assert (await anna.run(FOUND)).status == "done"
        assert {guard.origins for guard in guards[1:]} == {(ORIGIN,)}
        assert len(guards) == 3, "the refused start, the work, the replay of the claim"


async def test_what_an_agent_has_run_is_not_taken_up_by_itself_after_a_restart() -> None:
    """Guard: node/explorer/explorer.py, Explorer.start."""
    async with memory_mesh("anna") as (anna,):
        with called_by(agent()):
            task = asyncio.create_task(anna.run(NEVER, seconds=400))
        search = await search_of(anna)
        await anna.crash()
        await asyncio.gather(task, return_exceptions=True)
        found = await anna.store.search(search)
        assert found is not None and found.status == "running", "as a crash leaves it"
        await anna.start()
        assert await has_status(anna, search, "stopped")
        assert anna.explorer.running == 0


async def test_an_agent_ends_and_takes_up_its_own_searches_only() -> None:
    """Guard: node/explorer/explorer.py, _owned. Guard: node/verbs/caller.py, Caller.owns."""
    async with memory_mesh("anna") as (anna,):
        task = asyncio.create_task(anna.run(NEVER, seconds=400))
        search = await search_of(anna)
        for act in (anna.explorer.stop(search), anna.explorer.resume(search, seconds=9, tell=lambda event: None)):
            with called_by(agent()), pytest.raises(MeshError) as refused:
                await act
            assert refused.value.code == "caller.refused"
        assert await has_status(anna, search, "running")
        await anna.explorer.stop(search)
        assert (await task).caller == "owner"
        await anna.store.remove_search(search)
        with called_by(agent()):
            task = asyncio.create_task(anna.run(NEVER, seconds=400))
            search = await search_of(anna)
            assert (await anna.explorer.stop(search)).status == "stopped"
            await task
        found = await anna.store.search(search)
        assert found is not None
        later = msgspec.structs.replace(agent(), since_ms=found.created_ms + 1)
        with called_by(later), pytest.raises(MeshError) as refused:
            await anna.explorer.resume(search, seconds=9, tell=lambda event: None)
        assert refused.value.code == "caller.refused", "one that had this name before ran it"
        with called_by(agent()):
            await anna.explorer.resume(search, seconds=1, tell=lambda event: None)


async def test_only_the_owner_lifts_that_the_owner_left_a_search_of_a_peer() -> None:
    """Guard: node/explorer/explorer.py, _owned."""
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        task = asyncio.create_task(anna.run(NEVER, seconds=400))
        search = await search_of(bruno)
        await bruno.explorer.stop(search)
        with called_by(agent()), pytest.raises(MeshError) as refused:
            await bruno.explorer.resume(search, seconds=0, tell=lambda event: None)
        assert refused.value.code == "caller.refused"
        assert await has_status(bruno, search, "declined")
        with called_by(OWNER):
            await bruno.explorer.resume(search, seconds=0, tell=lambda event: None)
        assert await has_status(bruno, search, "stopped") or await has_status(bruno, search, "running")
        await anna.explorer.stop(search)
        await task


@each(
    ("policy", "caller", "within", "left"),
    [
        ((), (), ("*",), ()),
        (("https://a.test",), (), ("*",), ("https://a.test",)),
        ((), ("https://a.test",), ("*",), ("https://a.test",)),
        (("https://*.test",), ("https://a.test", "https://b.example"), ("*",), ("https://a.test",)),
        (("https://a.test",), ("https://*.test",), ("https://a.test", "https://c.test"), ("https://a.test",)),
    ],
)
def test_what_is_allowed_is_what_all_allow(
    policy: tuple[str, ...], caller: tuple[str, ...], within: tuple[str, ...], left: tuple[str, ...]
) -> None:
    with called_by(agent(*caller)):
        assert guard_for(PolicyConfig(origins=policy), within=within).origins == left


NAMED: Final = ("http://127.0.0.1:8080", "http://169.254.169.254")


@pytest.mark.parametrize(
    ("caller", "policy", "within", "private"),
    [
        (OWNER, (), None, ("*",)),
        (OWNER, NAMED, None, ("*", *NAMED)),
        (agent(), (), None, ()),
        (agent("*"), ("*",), None, ()),
        (agent("https://a.test"), (), None, ("https://a.test",)),
        (agent(), NAMED, None, NAMED),
        (NODE, NAMED, ("*",), ("*",)),
        (NODE, NAMED, NAMED, ("*",)),
    ],
    ids=["owner", "owner, named", "agent", "agent, everything", "agent, named", "agent, policy", "peer", "peer, named"],
)
def test_an_agent_reaches_private_networks_where_they_are_named_and_a_peer_never_what_no_site_is(
    caller: Caller, policy: tuple[str, ...], within: tuple[str, ...] | None, private: tuple[str, ...]
) -> None:
    """Guard: node/live/browsers/policy.py, _private."""
    with called_by(caller):
        assert guard_for(PolicyConfig(origins=policy), within=within).private == private


def test_an_agent_with_the_scope_local_reaches_this_machine_in_work_that_begins_there() -> None:
    """Guard: node/live/browsers/policy.py, _private."""
    local = msgspec.structs.replace(agent(), scopes=frozenset({"live", "local"}))
    for caller, begins, private in (
        (local, "http://localhost:3000/", (THIS_MACHINE,)),
        (local, "https://shop.example/", ()),
        (local, "http://192.168.1.7/", ()),
        (agent(), "http://localhost:3000/", ()),
    ):
        with called_by(caller):
            assert guard_for(PolicyConfig(), begins=begins).private == private, (caller, begins)


def test_nothing_in_common_is_refused_and_never_everything() -> None:
    """Guard: node/live/browsers/policy.py, guard_for."""
    with called_by(agent("https://b.test")), pytest.raises(MeshError) as refused:
        guard_for(PolicyConfig(origins=("https://a.test",)))
    assert refused.value.code == "caller.refused"
    with pytest.raises(MeshError) as refused:
        guard_for(PolicyConfig(origins=("https://a.test",)), within=("https://b.test",))
    assert refused.value.code == "policy.refused"


@each(
    ("caller", "policy", "url", "may"),
    [
        (agent(), (), "https://shop.example/", True),
        (agent(), (), "http://10.0.0.7/", False),
        (agent(), ("http://10.0.0.7",), "http://10.0.0.7/", True),
        (agent(), ("https://shop.example",), "https://else.example/", False),
        (agent("https://shop.example"), ("https://else.example",), "https://shop.example/", False),
        (OWNER, (), "http://10.0.0.7/", True),
    ],
)
def test_who_may_open_an_address_is_who_the_guard_lets_go_there(
    caller: Caller, policy: tuple[str, ...], url: str, may: bool
) -> None:
    with called_by(caller):
        assert may_open(PolicyConfig(origins=policy), url) is may
