"""A search behind a login: who takes part, whose login is used, where it goes, and when that ends."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapters.audit_records import AuditQuery
from node.capsules.mount import Mounting
from node.explorer.behind_login import origins_for
from node.explorer.sharing.replica import Replica
from node.explorer.working import page_work
from node.explorer.working.worker import Worker
from node.live.acting import Gate
from protocol.goal.condition import Condition
from protocol.messages import DeltaBatch, DeltaPull, Done, SearchOpen
from protocol.recording.records.verdict import Verdict
from protocol.trust.grants import Grants, parse_grants
from tests.capsule_nodes import CapsuleNode, code_of
from tests.capsules import CANARY, SHOP
from tests.mesh_memory import GOAL_PATH, NEVER, ORIGIN, MemoryMesh, MemoryNode, shop_site, until
from tests.mesh_searches import leases_of, search_of
from tests.twins.browser import MemorySite
from tests.unit.test_explorer_refusals import _sealed, _spec

FOUND = Condition(url=f"*{GOAL_PATH}")
LENT = parse_grants(["explore", f"login:use={SHOP}", f"login:read={SHOP}"])
READS = parse_grants(["explore", f"login:read={SHOP}"])


def _site() -> MemorySite:
    return MemorySite({url.replace(ORIGIN, SHOP): page for url, page in shop_site().documents.items()})


async def _with_logins(mesh: MemoryMesh, home: Path, *names: str) -> list[CapsuleNode]:
    found = [CapsuleNode(await mesh.add(name), home / name) for name in names]
    for each in found:
        await each.load()
        each.node.browsers.mounts = Mounting(each.capsules, check_s=2.0)
    return found


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[list[CapsuleNode]]:
    mesh = MemoryMesh(_site())
    try:
        anna, bruno = found = await _with_logins(mesh, tmp_path, "anna", "bruno")
        await mesh.pair(anna.node, bruno.node, LENT)
        yield found
    finally:
        for node in mesh.nodes:
            await node.stop()


async def _run(node: CapsuleNode, condition: Condition = FOUND, seconds: int = 4_000, **more: Any) -> Any:
    usual: dict[str, Any] = {"capsule": "shop", "peers": None, "tell": lambda event: None}
    return await node.node.explorer.run(
        goal="find the page", start_url=f"{SHOP}/", condition=condition, seconds=seconds, seed=7, **usual | more
    )


async def _uses(node: CapsuleNode, capsule: str) -> int:
    row = await node.node.store.ledger(capsule)
    return row.used if row else 0


def _states(node: MemoryNode) -> list[str]:
    """What the contexts of its browsers began with, as text."""
    return [
        page._kept.state(whole=True).storage.decode() for browser in node.browsers_opened for page in browser.opened
    ]


@contextlib.asynccontextmanager
async def _searching(node: CapsuleNode, **more: Any) -> AsyncIterator[str]:
    task = asyncio.create_task(_run(node, NEVER, **more))
    try:
        yield await search_of(node.node)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _has_more(node: CapsuleNode, search: str, visits: int) -> bool:
    """Whether ``node`` has explored for long since it had so many visits."""
    return (await node.node.replica(search)).tree.effort(node.node.id).visits > visits + 20


async def _visited(node: CapsuleNode, search: str, by: CapsuleNode) -> bool:
    return (await node.node.replica(search)).tree.effort(by.node.id).visits > 0


async def test_each_node_explores_with_its_own_login(nodes: list[CapsuleNode]) -> None:
    anna, bruno = nodes
    hers, his = await anna.capture(), await bruno.capture(value=f"{CANARY}-of-bruno")
    async with _searching(anna) as search:
        await until(lambda: _visited(anna, search, bruno), "a branch of his")
        await until(lambda: _visited(anna, search, anna), "a branch of hers")
    assert (await _uses(anna, hers.id), await _uses(bruno, his.id) > 0) == (1, True)
    rows = await bruno.node.store.audit_find(AuditQuery(what="capsule.used"))
    assert rows and {each.who for each in rows} == {anna.node.id}, "his audit trail says for whom"
    assert _states(bruno.node) and all(f"{CANARY}-of-bruno" in each for each in _states(bruno.node))
    assert _states(anna.node) and not any("of-bruno" in each for each in _states(anna.node))


async def test_what_he_finds_is_verified_with_her_login(nodes: list[CapsuleNode]) -> None:
    anna, bruno = nodes
    await anna.capture()
    await bruno.capture()
    found = await _run(anna)
    assert found.status == "done"
    sessions = await anna.node.store.sessions()
    assert all(each.capsule.startswith("cap-") and each.node == anna.node.id for each in sessions)
    # A second claim may have been on its way: its replay ends with the search.
    assert [each.verdict for each in sessions if each.verdict is not Verdict.INTERRUPTED] == [Verdict.PASS]


async def test_a_peer_without_a_login_gets_no_branch_for_a_while(nodes: list[CapsuleNode]) -> None:
    """Guard: node/explorer/coordinating/dealing.py, Dealing.failed."""
    anna, bruno = nodes
    await anna.capture()
    told: list[dict[str, Any]] = []
    async with _searching(anna, tell=told.append) as search:
        failed = {"peer": bruno.node.id, "error": "work.no_login"}
        await until(lambda: any(failed.items() <= each.items() for each in told), "it is told")
        await until(lambda: _visited(anna, search, anna), "she goes on")
        told_ms = anna.now_ms
        await until(lambda: anna.now_ms > told_ms + 20_000, "he could have had several")
        leases = await leases_of(anna.node, search, bruno.node)
        given_ms = sorted(each.expires_ms for each in leases)
        assert all(after - before >= 60_000 for before, after in itertools.pairwise(given_ms))
    assert not bruno.node.browsers_opened


async def test_a_capsule_of_a_peer_is_not_lent_on(nodes: list[CapsuleNode]) -> None:
    anna, bruno = nodes
    await anna.capture()
    await anna.node.mesh.pair(
        anna.node, bruno.node, parse_grants([*LENT, f"capsule:offer={SHOP}", f"capsule:import={SHOP}"])
    )
    await bruno.take(await anna.give(bruno))
    assert await code_of(bruno.node.browsers.mounts.own(f"{SHOP}/", "explore")) == "work.no_login"


@pytest.mark.parametrize(
    ("hers", "his"), [(parse_grants("explore"), LENT), (READS, READS), (READS, parse_grants("explore"))]
)
async def test_only_peers_that_lend_and_may_read_take_part(nodes: list[CapsuleNode], hers: Grants, his: Grants) -> None:
    """Guard: node/explorer/behind_login.py, check_lends.

    hers: what Bruno may do at Anna's node; his: what she may do at his.
    """
    anna, bruno = nodes
    await anna.capture()
    await bruno.capture()
    await _grant(anna, bruno, hers, his)
    assert await code_of(_run(anna, peers=["bruno"])) == "peer.scope"
    async with _searching(anna) as search:
        _, spec, *_ = await anna.node.explorer.view(search)
        assert spec.participants == (anna.node.id,) and spec.login
    if his is not LENT:  # whatever she believes: he decides by what he granted
        opens = _sealed(anna.node, _login_spec(anna, bruno))
        assert await code_of(anna.node.calls.call(bruno.node.id, "search/open", opens, Done)) == "peer.scope"


def _login_spec(coordinator: CapsuleNode, *others: CapsuleNode) -> Any:
    return _spec(coordinator.node, *(each.node for each in others), start_url=f"{SHOP}/", login=True)


async def _grant(one: CapsuleNode, other: CapsuleNode, ones: Grants, others: Grants) -> None:
    """Let ``other`` do ``ones`` at ``one``, and ``one`` do ``others`` at ``other``."""
    for here, there, given, got in ((one, other, ones, others), (other, one, others, ones)):
        record = here.node.peers.record(there.node.id)
        assert record is not None
        await here.node.store.put_peer(msgspec.structs.replace(record, grants=given, granted_us=got))
        await here.node.peers.load()


async def test_nobody_takes_part_who_may_not_read_what_another_lends(tmp_path: Path) -> None:
    """Guard: node/explorer/behind_login.py, check_lends. Guard: node/explorer/answers.py, Answers._entered.

    Guard: node/explorer/explorer.py, Explorer._may_go_on.
    """
    mesh = MemoryMesh(_site())
    try:
        anna, bruno, carla = await _with_logins(mesh, tmp_path, "anna", "bruno", "carla")
        for one, other in ((anna, bruno), (anna, carla)):
            await mesh.pair(one.node, other.node, LENT)
        opens: SearchOpen = _sealed(anna.node, _login_spec(anna, bruno, carla))
        call = anna.node.calls.call
        assert await code_of(call(bruno.node.id, "search/open", opens, Done)) == "peer.unknown"
        await mesh.pair(bruno.node, carla.node, parse_grants("explore"))
        assert await code_of(call(bruno.node.id, "search/open", opens, Done)) == "peer.scope"
        await mesh.pair(bruno.node, carla.node, READS)
        await call(bruno.node.id, "search/open", opens, Done)
        search = await search_of(bruno.node)
        pull = DeltaPull(search=search, epoch=0, after_seq=0)
        await carla.node.calls.call(bruno.node.id, "deltas/pull", pull, DeltaBatch)
        # Carla may read no longer: the search ends here, though Anna leads it.
        await _grant(bruno, carla, parse_grants("explore"), READS)
        assert await code_of(carla.node.calls.call(bruno.node.id, "deltas/pull", pull, DeltaBatch)) == "peer.scope"
        assert await bruno.node.explorer.reconsider(carla.node.id) == [search]
    finally:
        for node in mesh.nodes:
            await node.stop()


async def test_a_peer_that_may_read_no_longer_gets_nothing_more(nodes: list[CapsuleNode]) -> None:
    """Guard: node/explorer/sharing/exchange.py, Exchange._may_read."""
    anna, bruno = nodes
    await anna.capture()
    await bruno.capture()
    async with _searching(anna) as search:
        await until(lambda: _visited(anna, search, bruno), "a branch of his")
        await _grant(anna, bruno, parse_grants("explore"), LENT)
        await anna.node.explorer.reconsider(bruno.node.id)
        had = (await bruno.node.replica(search)).tree.effort(anna.node.id).visits
        pull = DeltaPull(search=search, epoch=0, after_seq=0)
        assert await code_of(bruno.node.calls.call(anna.node.id, "deltas/pull", pull, DeltaBatch)) == "peer.scope"
        assert not await leases_of(anna.node, search, bruno.node, "live")
        before = (await anna.node.replica(search)).tree.effort(anna.node.id).visits
        await until(lambda: _has_more(anna, search, before), "she goes on")
        assert (await bruno.node.replica(search)).tree.effort(anna.node.id).visits == had


async def test_his_browser_goes_nowhere_but_where_every_grant_and_the_capsule_lead(nodes: list[CapsuleNode]) -> None:
    anna, bruno = nodes
    await anna.capture()
    await bruno.capture()
    async with _searching(anna) as search:
        await until(lambda: _visited(anna, search, bruno), "a branch of his")
    guards = [page._policy for browser in bruno.node.browsers_opened for page in browser.opened]
    assert guards and {guard.origins for guard in guards} == {(SHOP,)}
    assert all(guard.capsule and guard.read_only for guard in guards)


async def test_the_origins_are_those_of_every_grant(nodes: list[CapsuleNode]) -> None:
    """Guard: node/explorer/behind_login.py, origins_for."""
    anna, bruno = nodes
    bank, help_ = "https://bank.example", "https://help.example"
    given = {"branch:assign": ("*",), "login:use": (bank, SHOP), "login:read": (help_, SHOP)}
    await _grant(bruno, anna, given, LENT)
    assert origins_for(bruno.node.peers, _login_spec(anna, bruno)) == (SHOP,)
    plain = msgspec.structs.replace(_login_spec(anna, bruno), login=False)
    assert origins_for(bruno.node.peers, plain) == ("*",)


async def test_for_a_peer_a_login_performs_class_2_at_most(
    nodes: list[CapsuleNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: node/explorer/working/page_work.py, PageWork.explore."""
    anna, bruno = nodes
    await anna.capture(class_max=7)
    await bruno.capture(class_max=7)
    gates: dict[str, Gate] = {}

    class Watched(Worker):
        def __init__(self, replica: Replica, page: Any, clock: Any, config: Any, gate: Gate, *more: Any) -> None:
            gates[config.name] = gate
            super().__init__(replica, page, clock, config, gate, *more)

    monkeypatch.setattr(page_work, "Worker", Watched)
    async with _searching(anna) as search:
        await until(lambda: _visited(anna, search, bruno), "a branch of his")
    assert (gates["anna"].risk_max, gates["bruno"].risk_max) == (3, 2)
    assert gates["bruno"].class_max == 7, "for more, his owner is asked"


async def test_a_revocation_ends_his_branch(nodes: list[CapsuleNode]) -> None:
    anna, bruno = nodes
    await anna.capture()
    his = await bruno.capture()
    mounting = bruno.node.browsers.mounts
    assert isinstance(mounting, Mounting)
    told: list[dict[str, Any]] = []
    async with _searching(anna, tell=told.append):
        await until(lambda: mounting.running, "his login is in use")
        await mounting.ended(his.id)
        failed = {"peer": bruno.node.id, "error": "capsule.revoked"}
        await until(lambda: any(failed.items() <= each.items() for each in told), "it is told")
    assert not mounting.running


async def test_two_branches_do_not_share_a_login(nodes: list[CapsuleNode]) -> None:
    anna, bruno = nodes
    await anna.capture()
    his = await bruno.capture()
    now_ms = bruno.now_ms
    async with _searching(anna) as search:
        await until(lambda: _visited(anna, search, bruno), "a branch of his")

    async def given_back() -> bool:
        row = await bruno.node.store.ledger(his.id)
        return row is not None and not (row.holder and row.held_until_ms > now_ms)

    await until(given_back, "no branch keeps it once the search is over")


async def test_a_search_without_a_login_uses_none(nodes: list[CapsuleNode]) -> None:
    """Guard: node/explorer/working/page_work.py, PageWork._login_for."""
    anna, bruno = nodes
    his = await bruno.capture()
    async with _searching(anna, capsule="") as search:
        await until(lambda: _visited(anna, search, bruno), "a branch of his")
    assert await _uses(bruno, his.id) == 0 and not any(CANARY in each for each in _states(bruno.node))
