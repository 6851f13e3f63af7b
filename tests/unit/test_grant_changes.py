"""What a peer may do, for which sites, and from which moment on it may no longer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from node.config.settings import Config, PolicyConfig
from node.explorer.new_search import participants
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.keys.keylog import KeyLog
from protocol.messages import (
    KIND_RESULT,
    BranchAssign,
    BranchRenew,
    BranchRenewed,
    BranchResult,
    BranchReturn,
    BranchRevoke,
    DeltaBatch,
    DeltaHave,
    DeltaPull,
    DeltaPush,
    Done,
    Spend,
)
from protocol.pairing.by_invite import Paired
from protocol.trust.grants import Grants, Scope, granted, parse_grants, withdrawn
from tests.key_logs import FIRST, SECOND, START_S, key, log_of, public, rotated
from tests.mesh_memory import EXPLORE, NEVER, ORIGIN, MemoryMesh, MemoryNode, memory_mesh, until
from tests.twins.storage import MemoryStore
from tests.unit.test_explorer_refusals import _assignment, _opened, _refused, _sealed, _spec

pytestmark = pytest.mark.virtual_time

ELSEWHERE = "https://elsewhere.test"


@pytest.fixture
async def two() -> AsyncIterator[list[MemoryNode]]:
    async with memory_mesh("anna", "bruno") as nodes:
        yield nodes


async def allow(here: MemoryNode, there: MemoryNode, grants: Grants) -> None:
    """What ``there`` may do at ``here`` from now on; what it no longer covers is *not* ended."""
    await here.changes.regrant(there.id, lambda before: grants)


async def end_uncovered(here: MemoryNode, there: MemoryNode, *less: str) -> list[str]:
    await here.changes.regrant(there.id, lambda before: withdrawn(before, parse_grants(less)))
    return await here.explorer.reconsider(there.id)


async def searching(node: MemoryNode, seconds: int = 40_000) -> tuple[str, asyncio.Task[Any]]:
    """A search of ``node`` that does not find anything, once it runs."""
    task = asyncio.create_task(node.run(NEVER, seconds=seconds))

    async def known() -> str:
        found = await node.store.searches()
        return found[0].id if found else ""

    return await until(known, "the search"), task


# --- origins: each route on its own; every scope is granted, only not for the site of the search ---------------------


async def test_a_search_that_begins_elsewhere_than_granted_is_not_opened(two: list[MemoryNode]) -> None:
    anna, bruno = two
    await allow(bruno, anna, parse_grants(f"explore={ELSEWHERE}"))
    assert (
        await _refused(anna.calls.call(bruno.id, "search/open", _sealed(anna, _spec(anna, bruno)), Done))
        == "peer.scope"
    )
    assert await bruno.store.searches() == []
    await allow(bruno, anna, parse_grants(f"branch:assign={ELSEWHERE},{ORIGIN}"))
    await anna.calls.call(bruno.id, "search/open", _sealed(anna, _spec(anna, bruno)), Done)


@pytest.mark.parametrize("url", ["http://shop.test@evil.test/", "http://shop.test.evil.test/", "http:\\\\shop.test/"])
async def test_an_address_that_only_looks_like_the_granted_site_is_refused(two: list[MemoryNode], url: str) -> None:
    anna, bruno = two
    await allow(bruno, anna, parse_grants(f"explore={ORIGIN}"))
    call = anna.calls.call(bruno.id, "search/open", _sealed(anna, _spec(anna, bruno, start_url=url)), Done)
    assert await _refused(call) == "peer.scope"


async def test_no_lease_is_taken_and_no_delta_moved_for_a_site_that_is_not_granted(two: list[MemoryNode]) -> None:
    """Guard: protocol/trust/trust_set.py, TrustSet.require."""
    anna, bruno = two
    spec = await _opened(anna, bruno)
    assignment = _assignment(spec, anna.mesh.clock)
    sealed = (await anna.witness.artefact("assignment", assignment.lease, assignment)).envelope

    def ask(route: str, record: Any, answer: Any) -> Callable[[], Any]:
        return lambda: anna.calls.call(bruno.id, route, record, answer)

    calls = {
        "assign": ask("branch/assign", BranchAssign(assignment=sealed), Done),
        "revoke": ask("branch/revoke", BranchRevoke(search=spec.id, lease="lea-AAAAAAAAAAAAAAAAAAAB6"), Done),
        "push": ask("deltas/push", DeltaPush(search=spec.id, deltas=()), DeltaHave),
        "pull": ask("deltas/pull", DeltaPull(search=spec.id, epoch=0, after_seq=0), DeltaBatch),
    }
    await allow(bruno, anna, parse_grants(f"explore={ELSEWHERE}"))
    for name, call in calls.items():
        assert await _refused(call()) == "peer.scope", name
    assert await bruno.store.leases(spec.id) == []
    await allow(bruno, anna, parse_grants(f"explore={ORIGIN}"))
    for call in calls.values():
        await call()


async def test_no_result_is_taken_and_no_lease_renewed_for_a_site_that_is_not_granted(two: list[MemoryNode]) -> None:
    anna, bruno = two
    bruno.step_s = 1_000.0
    search, task = await searching(anna)

    async def leased() -> Any:
        return [lease for lease in await anna.store.leases(search, status="live") if lease.worker == bruno.id]

    (lease,) = await until(leased, "a lease of bruno's")
    result = BranchResult(search=search, lease=lease.id, branch=lease.branch, outcome="spent", spend=Spend())
    signed = await bruno.witness.artefact(KIND_RESULT, lease.id, result)
    returned = BranchReturn(search=search, result=signed.envelope)
    renew = BranchRenew(search=search, lease=lease.id, spend=Spend())
    await allow(anna, bruno, parse_grants(f"explore={ELSEWHERE}"))
    assert await _refused(bruno.calls.call(anna.id, "branch/renew", renew, BranchRenewed)) == "peer.scope"
    assert await _refused(bruno.calls.call(anna.id, "branch/return", returned, Done)) == "peer.scope"
    assert (await anna.store.lease(lease.id)).result == b""  # type: ignore[union-attr]
    await anna.explorer.stop(search)
    await task


async def test_own_deltas_go_only_to_those_who_may_read_them_and_all_of_them_once_they_may(
    two: list[MemoryNode],
) -> None:
    anna, bruno = two
    await allow(anna, bruno, parse_grants(f"branch:accept,deltas:write,deltas:read={ELSEWHERE}"))
    search, task = await searching(anna)

    async def here() -> int:
        return len(await anna.store.deltas(search, peer=anna.id))

    async def there() -> bool:
        has = await bruno.store.deltas(search, peer=anna.id)
        return len(has) >= 5

    await until(lambda: bool(bruno.explorer.running), "bruno takes part")
    await until(lambda: here_is(here, 5), "anna has learned something")
    assert await bruno.store.deltas(search, peer=anna.id) == []
    await allow(anna, bruno, EXPLORE)
    await until(there, "bruno has it")
    await anna.explorer.stop(search)
    await task


async def here_is(count: Callable[[], Any], least: int) -> bool:
    return bool(await count() >= least)


async def test_by_default_a_search_is_shared_with_those_who_let_us_explore_that_site(two: list[MemoryNode]) -> None:
    anna, bruno = two
    await anna.changes.heard_grants(bruno.id, parse_grants(f"explore={ELSEWHERE}"))
    assert participants(anna.peers, None, f"{ORIGIN}/") == []
    assert participants(anna.peers, None, f"{ELSEWHERE}/a") == [bruno.id]


async def test_a_browser_that_works_for_a_peer_contacts_the_granted_origins_and_the_node_s_own_policy_only() -> None:
    mesh = MemoryMesh()
    anna = await mesh.add("anna")
    bruno = MemoryNode(mesh, "bruno", Config(policy=PolicyConfig(origins=("http://*.test", "https://*.example"))))
    mesh.nodes.append(bruno)
    await bruno.start()
    await mesh.pair(anna, bruno, grants=parse_grants(f"explore={ORIGIN},http://*.shop.test,https://other.net"))
    bruno.step_s = 1_000.0
    spec = await _opened(anna, bruno)
    assignment = _assignment(spec, mesh.clock)
    sealed = (await anna.witness.artefact("assignment", assignment.lease, assignment)).envelope
    await anna.calls.call(bruno.id, "branch/assign", BranchAssign(assignment=sealed), Done)
    page = await until(lambda: [page for browser in bruno.browsers_opened for page in browser.opened], "a page")
    assert page[0]._policy.origins == ("http://*.shop.test", ORIGIN)
    for node in mesh.nodes:
        await node.stop()


# --- from which moment on --------------------------------------------------------------------------------------------


async def test_a_search_whose_coordinator_lost_the_scope_ends_here_with_its_leases_and_goes_on_there(
    two: list[MemoryNode],
) -> None:
    """Guard: node/explorer/explorer.py, Explorer.reconsider."""
    anna, bruno = two
    bruno.step_s = 1_000.0
    search, task = await searching(anna)

    async def at_work() -> Any:
        return await bruno.store.leases(search, status="live")

    (lease,) = await until(at_work, "bruno is at work")
    assert await end_uncovered(bruno, anna, "branch:assign") == [search]
    assert bruno.explorer.running == 0
    assert (await bruno.store.lease(lease.id)).status == "revoked"  # type: ignore[union-attr]
    assert (await bruno.store.search(search)).status == "stopped"  # type: ignore[union-attr]
    assert anna.explorer.running == 1
    await anna.explorer.stop(search)
    await task


async def test_taking_back_another_site_ends_nothing(two: list[MemoryNode]) -> None:
    anna, bruno = two
    await allow(bruno, anna, parse_grants(f"explore={ORIGIN},{ELSEWHERE}"))
    await _opened(anna, bruno)
    assert await end_uncovered(bruno, anna, f"explore={ELSEWHERE}") == []
    assert bruno.explorer.running == 1
    assert len(await end_uncovered(bruno, anna, f"explore={ORIGIN}")) == 1
    assert bruno.explorer.running == 0


async def test_a_worker_that_lost_the_scope_loses_its_leases_and_gets_no_others(two: list[MemoryNode]) -> None:
    anna, bruno = two
    bruno.step_s = 1_000.0
    search, task = await searching(anna)

    async def leases() -> Any:
        return [lease for lease in await anna.store.leases(search) if lease.worker == bruno.id]

    (lease,) = await until(leases, "a lease of bruno's")
    assert await end_uncovered(anna, bruno, "branch:accept") == [lease.id]
    assert (await anna.store.lease(lease.id)).status == "revoked"  # type: ignore[union-attr]

    async def gone() -> bool:
        return not await bruno.store.leases(search, status="live")

    await until(gone, "bruno has stopped working")
    dealt = anna.explorer._searches.get(search).coordinator.progress.branches  # type: ignore[union-attr]
    await until(
        lambda: anna.explorer._searches.get(search).coordinator.progress.branches > dealt + 2,  # type: ignore[union-attr]
        "anna goes on alone",
    )
    assert [each.id for each in await leases()] == [lease.id]
    await anna.changes.regrant(bruno.id, lambda before: granted(before, parse_grants("branch:accept")))
    await until(lambda: more_than_one(leases), "bruno gets a branch again")
    await anna.explorer.stop(search)
    await task


async def more_than_one(found: Callable[[], Any]) -> bool:
    return len(await found()) > 1


async def test_a_search_that_lost_its_scope_while_the_node_was_down_is_not_taken_up_again(
    two: list[MemoryNode],
) -> None:
    anna, bruno = two
    spec = await _opened(anna, bruno)
    await bruno.stop()
    (record,) = await bruno.store.peers()
    await bruno.changes.regrant(record.node, lambda before: {})
    await bruno.start()
    assert bruno.explorer.running == 0
    assert (await bruno.store.search(spec.id)).status == "stopped"  # type: ignore[union-attr]


async def test_connections_stay_when_grants_change(two: list[MemoryNode], monkeypatch: pytest.MonkeyPatch) -> None:
    anna, bruno = two
    told: list[object] = []
    monkeypatch.setattr(bruno.server, "trust", told.append)
    await allow(bruno, anna, {})
    assert told == []


async def test_what_a_peer_says_we_may_is_kept_and_leaves_the_trust_set_as_it_is(
    two: list[MemoryNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checking every peer again takes tens of milliseconds in a large mesh, and any peer could have it done."""
    anna, bruno = two
    trust, heard = anna.peers._trust, parse_grants("audit")
    await anna.changes.heard_grants(bruno.id, heard)
    assert anna.peers._trust is trust
    assert [record.granted_us for record in (*anna.peers.records(), *await anna.store.peers())] == [heard, heard]


class SlowStore(MemoryStore):
    """A store in which every write of a peer takes a moment."""

    async def put_peer(self, peer: Any, *, news: Any = None) -> None:
        """``adapters.ports.Store.put_peer``."""
        await asyncio.sleep(0.01)
        await super().put_peer(peer, news=news)


async def test_changes_of_one_peer_at_once_do_not_undo_each_other(two: list[MemoryNode]) -> None:
    """Guard: one writer at a time. Without it a stored record of a moment ago brings a withdrawn scope back."""
    anna, bruno = two
    slow = SlowStore()
    for record in await bruno.store.peers():
        await slow.put_peer(record)
    bruno.changes._store = slow
    bruno.mesh.clock.ahead_ms += 10 * 60_000
    await asyncio.gather(
        bruno.changes.regrant(anna.id, lambda before: withdrawn(before, parse_grants("branch:assign"))),
        bruno.changes.saw(anna.id),
        bruno.changes.heard_grants(anna.id, parse_grants("audit")),
        bruno.changes.regrant(anna.id, lambda before: granted(before, parse_grants("peers:read"))),
    )
    (stored,) = await slow.peers()
    assert stored == bruno.peers.records()[0]
    assert Scope.BRANCH_ASSIGN not in stored.grants
    assert Scope.PEERS_READ in stored.grants
    assert stored.granted_us == parse_grants("audit")


async def test_what_a_peer_says_we_may_is_kept_only_in_its_one_form(two: list[MemoryNode]) -> None:
    anna, bruno = two
    with pytest.raises(MeshError) as caught:
        await anna.changes.heard_grants(bruno.id, {"everything": ("*",)})
    assert caught.value.code == "message.invalid"
    assert anna.peers.records()[0].granted_us == EXPLORE


async def test_what_a_stranger_or_a_distrusted_peer_says_we_may_is_not_kept(two: list[MemoryNode]) -> None:
    anna, bruno = two
    heard = parse_grants("audit")
    await anna.changes.heard_grants(ids.node_id(bytes(32)), heard)
    assert [record.node for record in await anna.store.peers()] == [bruno.id]
    await anna.changes.distrust(bruno.id, "")
    await anna.changes.heard_grants(bruno.id, heard)
    assert [record.granted_us for record in await anna.store.peers()] == [EXPLORE]


async def test_what_a_peer_says_again_is_not_written_again(
    two: list[MemoryNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    anna, bruno = two
    written: list[Any] = []
    monkeypatch.setattr(anna.store, "put_peer", collecting(written, anna.store.put_peer))
    await anna.changes.heard_grants(bruno.id, EXPLORE)
    assert written == []
    await anna.changes.heard_grants(bruno.id, parse_grants("audit"))
    assert len(written) == 1


def collecting(written: list[Any], put: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``put``, which notes what it is given."""

    async def noting(record: Any) -> None:
        written.append(record)
        await put(record)

    return noting


# --- pairing again ---------------------------------------------------------------------------------------------------


def shown(log: KeyLog, public_key: bytes) -> Paired:
    """What somebody shows who pairs as the node of ``log``."""
    return Paired(
        node=log.node, public_key=public_key, log=log, name="n", addresses=(), grants={}, granted_us={}, asks={}
    )


async def test_pairing_again_never_takes_a_peer_back_behind_what_is_known_of_its_keys(two: list[MemoryNode]) -> None:
    anna, _ = two
    first = log_of()
    second = rotated(first, FIRST, SECOND, START_S + 60)
    await anna.changes.add(shown(second, public(SECOND)))
    for log, key_shown in ((first, FIRST), (second, FIRST), (first, SECOND)):
        with pytest.raises(MeshError) as caught:
            await anna.changes.add(shown(log, public(key_shown)))
        assert (caught.value.code, caught.value.detail["node"]) == ("keylog.invalid", first.node)
    await anna.changes.add(shown(second, public(SECOND)))


# --- how many --------------------------------------------------------------------------------------------------------


def paired(number: int) -> Paired:
    log = log_of(key(number))
    return Paired(node=log.node, public_key=log.key, log=log, name="n", addresses=(), grants={}, granted_us={}, asks={})


async def test_a_peer_too_many_is_refused_before_it_is_stored(
    two: list[MemoryNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    anna, _ = two
    monkeypatch.setattr(limits, "PEERS_MAX", 2)
    results = await asyncio.gather(*(anna.changes.add(paired(number)) for number in (50, 51)), return_exceptions=True)
    assert [getattr(result, "code", "") for result in results] == ["", "peer.limit"]
    assert len(await anna.store.peers()) == len(anna.peers.records()) == 2
    await anna.changes.add(paired(50))  # pairing again takes no further place
    await anna.peers.load()
