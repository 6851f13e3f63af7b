"""Three explorers in one process: what they agree on, and what they make of loss, lies and restarts."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from adapters.browser.memory import MemoryPage
from adapters.ports import LeaseRecord
from adapters.storage.memory import MemoryStore
from node.explorer.progress import Progress
from protocol import cbor, envelope, limits
from protocol.action import Click, Fill, Goto, Locator, Secret, Wait
from protocol.condition import Condition
from protocol.entry import decode_action, encode_action
from protocol.errors import MeshError
from protocol.grants import parse_grants
from protocol.heuristics import Candidate
from protocol.messages import (
    KIND_RESULT,
    Assignment,
    BranchResult,
    BranchReturn,
    DeltaBatch,
    DeltaHave,
    Done,
    Spend,
)
from protocol.risk import GuardPolicy
from protocol.session import Profile
from tests.mesh_memory import (
    FOUND,
    GOAL_PATH,
    NEVER,
    ORIGIN,
    MemoryMesh,
    MemoryNode,
    Script,
    SlowBrowser,
    memory_mesh,
    shop_site,
    until,
)


async def _digests(search: str, nodes: list[MemoryNode]) -> set[bytes]:
    return {(await node.replica(search)).tree.digest() for node in nodes}


async def _search_of(node: MemoryNode) -> str:
    """The id of the one search ``node`` knows, once it does."""

    async def known() -> str:
        found = await node.store.searches()
        return found[0].id if found else ""

    return str(await until(known, "a search"))


async def _leases(node: MemoryNode, search: str, worker: MemoryNode, status: str = "") -> list[LeaseRecord]:
    return [lease for lease in await node.store.leases(search, status=status) if lease.worker == worker.id]


async def test_three_nodes_share_a_search_and_end_with_one_tree() -> None:
    async with memory_mesh("anna", "bruno", "carla") as nodes:
        anna = nodes[0]
        found = await anna.run()
        assert found.status == "done"
        _, spec, progress, replica, leases = await anna.explorer.view(found.id)
        assert progress.verified is not None
        assert {lease.worker for lease in leases} == {node.id for node in nodes}
        assert set(replica.tree.peers) == set(spec.participants)
        session = await anna.store.session(progress.verified.session)
        assert session is not None
        assert session.verdict == "pass"
        assert (await anna.store.steps(session.id))[-1].url.endswith(GOAL_PATH)
        assert all("POST" not in line for line in anna.site.reached)


async def test_after_every_node_has_restarted_the_shares_of_all_are_there_again() -> None:
    async with memory_mesh("anna", "bruno", "carla") as nodes:
        anna = nodes[0]
        task = asyncio.create_task(anna.run(NEVER))
        search = await _search_of(anna)
        await until(lambda: _visits(anna, search, nodes), "every node has visited something")
        found = await anna.explorer.stop(search)
        assert found.status == "stopped"
        assert (await task).status == "stopped"
        for node in nodes:
            await node.stop()
            await node.start()  # opens the search again and catches up
        again = asyncio.create_task(anna.explorer.resume(search, seconds=0, tell=lambda event: None))
        await until(lambda: _visits(anna, search, nodes), "the shares of all are there again")
        again.cancel()
        await asyncio.gather(again, return_exceptions=True)


async def _visits(node: MemoryNode, search: str, nodes: list[MemoryNode]) -> bool:
    tree = (await node.replica(search)).tree
    return all(tree.spend(other.id).visits > 0 for other in nodes)


async def test_after_the_work_has_stopped_the_trees_are_the_same_bytes() -> None:
    async with memory_mesh("anna", "bruno", "carla") as nodes:
        anna = nodes[0]
        task = asyncio.create_task(anna.run(NEVER))
        search = await _search_of(anna)
        await until(lambda: _visits(anna, search, nodes), "every node has visited something")
        for node in nodes:
            # Pages that never answer: nothing new is learned, what was learned still travels.
            for browser in node.browsers_opened:
                browser.crash()
            node.site.documents.clear()
        await until(lambda: _converged(search, nodes), "equal digests")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert (await anna.store.search(search)).status == "stopped"  # type: ignore[union-attr]


async def _converged(search: str, nodes: list[MemoryNode]) -> bool:
    before = await _digests(search, nodes)
    await asyncio.sleep(0)
    return len(before) == 1


async def test_what_a_peer_may_not_push_is_not_pulled_either() -> None:
    mesh = MemoryMesh()
    anna, bruno = await mesh.add("anna"), await mesh.add("bruno")
    await mesh.pair(anna, bruno, grants=parse_grants("branch:accept,branch:assign,deltas:read"))
    task = asyncio.create_task(anna.run(NEVER))
    search = await _search_of(bruno)
    await until(lambda: _visits(anna, search, [anna]), "anna has visited something")
    opened = bruno.explorer._searches.get(search)
    assert opened is not None
    await opened.exchange.pull_from(anna.id)
    assert anna.id not in opened.replica.tree.peers
    assert await bruno.store.deltas(search, peer=anna.id) == []
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    for node in mesh.nodes:
        await node.stop()


async def test_deltas_go_on_when_a_peer_that_refused_takes_them_again() -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        task = asyncio.create_task(anna.run(NEVER))
        search = await _search_of(bruno)
        await until(lambda: _visits(bruno, search, [anna]), "bruno has heard of anna")
        bruno.server.trust({})
        await until(lambda: bruno.server.refusals.get("unknown", 0) > 1, "bruno has refused")
        await bruno.peers.load()
        heard = (await bruno.replica(search)).have(anna.id)

        async def more() -> bool:
            return (await bruno.replica(search)).have(anna.id) > heard

        await until(more, "bruno hears of anna again")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


# --- claims ----------------------------------------------------------------------------------------------------------


def _assigned_more_than(script: Script, count: int) -> bool:
    return len(script.of("branch/assign")) > count


def _script(node: MemoryNode) -> Script:
    script = Script(node)
    for route in ("search/open", "search/close", "branch/assign", "branch/revoke"):
        script.serve(route, Done())
    script.serve("deltas/push", DeltaHave(epoch=1, seq=10_000))
    script.serve("deltas/pull", DeltaBatch(deltas=()))
    return script


def _assignment(script: Script, number: int) -> Assignment:
    sealed = script.of("branch/assign")[number].assignment
    return cbor.decode_as(envelope.peek(sealed).payload, Assignment)


async def _return(
    node: MemoryNode, to: MemoryNode, assignment: Assignment, *, spend: Spend | None = None, **fields: Any
) -> None:
    result = BranchResult(
        search=assignment.search, lease=assignment.lease, branch=assignment.branch, spend=spend or Spend(), **fields
    )
    sealed = node.identity.artefact(KIND_RESULT, assignment.lease, result).envelope
    await node.calls.call(to.id, "branch/return", BranchReturn(search=assignment.search, result=sealed), Done)


async def test_a_false_claim_is_refused_and_counted_and_after_three_its_peer_gets_no_more() -> None:
    """Guard: node/explorer/claims.py, Claims.is_liar."""
    async with memory_mesh("anna", "liar", workers=0) as (anna, liar):
        script = _script(liar)
        task = asyncio.create_task(anna.run())
        lie = encode_action(Click(target=Locator(role="link", name="No such link")))
        for number in range(3):
            await until(partial(_assigned_more_than, script, number), "an assignment")
            await _return(liar, anna, _assignment(script, number), outcome="claim", claim=(lie,))
        search = await _search_of(anna)
        await until(partial(_false_claims, anna, search, {liar.id: 3}), "three refusals")
        await anna.mesh.clock.sleep(8)  # longer than any pause a peer gets
        assert len(script.of("branch/assign")) == 3
        assert (await anna.explorer.view(search))[2].verified is None
        await anna.explorer.stop(search)
        await task


async def _false_claims(node: MemoryNode, search: str, counted: dict[str, int]) -> bool:
    return (await node.explorer.view(search))[2].claims_false == counted


@pytest.mark.parametrize(
    "step",
    [
        b"\xff\xff",
        cbor.encode(Goto(url=f"{ORIGIN}/oak")),
        cbor.encode(Wait(timeout_ms=60_000)),
        cbor.encode(Fill(target=Locator(role="textbox", name="Password"), value=Secret(secret="shop"))),
    ],
    ids=["no action", "goto", "wait", "secret"],
)
async def test_a_claim_that_is_no_path_of_a_search_is_refused_counted_and_never_replayed(step: bytes) -> None:
    """Guard: protocol/lease.py, check_claim."""
    async with memory_mesh("anna", "liar", workers=0) as (anna, liar):
        script = _script(liar)
        task = asyncio.create_task(anna.run())
        await until(lambda: script.of("branch/assign"), "an assignment")
        search, before = await _search_of(anna), list(anna.site.reached)
        with pytest.raises(MeshError) as refused:
            await _return(liar, anna, _assignment(script, 0), outcome="claim", claim=(step,))
        assert refused.value.code == "claim.invalid"
        await _return(liar, anna, _assignment(script, 0), outcome="claim", claim=(step,))  # once more counts no more
        assert await _false_claims(anna, search, {liar.id: 1})
        assert await _has_status(anna, _assignment(script, 0).lease, "revoked")
        assert anna.site.reached == before
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_claim_of_another_branch_than_the_leased_one_is_refused_and_counted() -> None:
    """Guard: protocol/lease.py, check_claim."""
    async with memory_mesh("anna", "liar", workers=0) as (anna, liar):
        script = _script(liar)
        task = asyncio.create_task(anna.run())
        await until(lambda: script.of("branch/assign"), "an assignment")
        search = await _search_of(anna)
        # The liar names what can be done on the start page, so that its next lease is of a branch below it.
        names = [encode_action(Click(target=Locator(role="link", name=f"Shelf  {word}"))) for word in ("oak", "ash")]
        replica = await anna.replica(search)
        replica.own.add_children(replica.root, [Candidate(action=decode_action(n), prior=0.5, risk=1) for n in names])
        await replica.flush()
        await _return(liar, anna, _assignment(script, 0), outcome="spent")
        await until(partial(_assigned_more_than, script, 1), "a lease below")
        leased = _assignment(script, 1)
        (other,) = set(names) - set(leased.prefix)
        with pytest.raises(MeshError) as refused:
            await _return(liar, anna, leased, outcome="claim", claim=(other,))
        assert refused.value.code == "claim.invalid"
        assert await _false_claims(anna, search, {liar.id: 1})
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_claim_whose_replay_does_not_end_is_a_false_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: node/explorer/claims.py, Claims._replay."""
    monkeypatch.setattr(limits, "CLAIM_REPLAY_TIMEOUT_S", 0.3)
    async with memory_mesh("anna", "liar", workers=0) as (anna, liar):
        script = _script(liar)
        task = asyncio.create_task(anna.run())
        await until(lambda: script.of("branch/assign"), "an assignment")
        anna.step_s = 1_000.0
        await anna.browsers.close()
        await _return(liar, anna, _assignment(script, 0), outcome="claim", claim=())
        search = await _search_of(anna)
        await until(partial(_false_claims, anna, search, {liar.id: 1}), "a refusal")
        await until(partial(_assigned_more_than, script, 1), "work goes on")
        assert {session.verdict for session in await anna.store.sessions()} == {"interrupted"}
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class _Crashing(SlowBrowser):
    """A browser that every claim brings down, as long as ``crashes`` lasts."""

    crashes = 2

    async def open(self, profile: Profile, guard: GuardPolicy) -> MemoryPage:
        """``adapters.ports.Browser.open``."""
        page = await super().open(profile, guard)
        if _Crashing.crashes:
            _Crashing.crashes -= 1
            asyncio.get_running_loop().call_later(0.05, self.crash)
        return page


@pytest.mark.parametrize(("crashes", "false_claims"), [(1, 0), (2, 1)])
async def test_a_claim_that_crashes_the_browser_twice_is_a_false_one_and_one_crash_may_have_another_reason(
    crashes: int, false_claims: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: node/explorer/claims.py, Claims._replay."""
    async with memory_mesh("anna", "bruno", workers=0) as (anna, bruno):
        script = _script(bruno)
        task = asyncio.create_task(anna.run(Condition(url=f"{ORIGIN}/")))
        await until(lambda: script.of("branch/assign"), "an assignment")
        anna.step_s = 4.0  # so that it is in the middle of a step when the browser goes

        async def crashing() -> Any:
            return _Crashing(anna.site, anna.mesh.clock, anna.step_s)

        monkeypatch.setattr(_Crashing, "crashes", crashes)
        anna.browsers._open_browser = crashing
        await anna.browsers.close()
        await _return(bruno, anna, _assignment(script, 0), outcome="claim", claim=())
        search = await _search_of(anna)
        if false_claims:
            await until(partial(_false_claims, anna, search, {bruno.id: 1}), "a refusal")
            task.cancel()
        else:
            assert (await task).status == "done"
        await asyncio.gather(task, return_exceptions=True)
        assert _Crashing.crashes == 0


async def test_a_claim_that_crashes_a_browser_which_does_not_start_again_is_a_false_one() -> None:
    async with memory_mesh("anna", "liar", workers=0) as (anna, liar):
        script = _script(liar)
        task = asyncio.create_task(anna.run())
        await until(lambda: script.of("branch/assign"), "an assignment")
        anna.step_s = 10.0  # so that it is in the middle of a step when the browser goes
        await anna.browsers.close()
        opened = len(anna.browsers_opened)
        await _return(liar, anna, _assignment(script, 0), outcome="claim", claim=())
        browser = await until(lambda: anna.browsers_opened[opened:], "the replay has begun")

        async def broken() -> Any:
            raise MeshError("browser.unreachable")

        anna.browsers._open_browser = broken
        browser[0].crash()
        await until(partial(_false_claims, anna, await _search_of(anna), {liar.id: 1}), "a refusal")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_after_three_false_claims_those_that_a_peer_has_saved_up_are_not_replayed() -> None:
    """Guard: node/explorer/claims.py, Claims.is_liar."""
    async with memory_mesh("anna", "liar", workers=0, lease_seconds=2) as (anna, liar):
        script = _script(liar)
        task = asyncio.create_task(anna.run())
        search = await _search_of(anna)
        await until(partial(_assigned_more_than, script, 3), "four leases, of which three are over")
        lie = encode_action(Click(target=Locator(role="link", name="No such link")))
        for number in range(4):
            await _return(liar, anna, _assignment(script, number), outcome="claim", claim=(lie,))
        await until(partial(_false_claims, anna, search, {liar.id: 3}), "three refusals")
        await until(lambda: not anna.explorer._searches.all()[0].coordinator._claims.open, "all are judged")  # type: ignore[union-attr]
        assert await _false_claims(anna, search, {liar.id: 3})
        assert len(await anna.store.sessions()) == 3
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_claim_that_cannot_be_checked_for_want_of_a_browser_is_not_held_against_its_peer() -> None:
    async with memory_mesh("anna", "bruno", workers=0) as (anna, bruno):
        script = _script(bruno)
        task = asyncio.create_task(anna.run())
        await until(lambda: script.of("branch/assign"), "an assignment")

        async def broken() -> Any:
            raise MeshError("browser.missing")

        anna.browsers._open_browser = broken
        await anna.browsers.close()
        await _return(bruno, anna, _assignment(script, 0), outcome="claim", claim=())
        search = await _search_of(anna)
        await until(lambda: len(script.of("branch/assign")) > 1, "work goes on")
        assert (await anna.explorer.view(search))[2].claims_false == {}
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_claim_from_the_very_last_branch_is_still_judged() -> None:
    site = shop_site(fanout=1, depth=1)
    async with memory_mesh("anna", site=site) as (anna,):
        found = await anna.run(Condition(url=f"{ORIGIN}/oak"))
        assert found.status == "done"


async def test_a_search_that_has_tried_everything_ends_before_its_time() -> None:
    async with memory_mesh("anna", site=shop_site(fanout=2, depth=1)) as (anna,):
        found = await anna.run(NEVER)
        assert found.status == "failed"
        assert (await anna.explorer.view(found.id))[2].error == "search.exhausted"


async def test_a_search_whose_time_is_up_does_not_say_that_all_was_tried() -> None:
    async with memory_mesh("anna") as (anna,):
        found = await anna.run(NEVER, seconds=1)
        assert (await anna.explorer.view(found.id))[2].error == "search.not_found_goal"


# --- loss ------------------------------------------------------------------------------------------------------------


async def test_the_lease_of_a_lost_worker_expires_and_its_branch_is_dealt_again() -> None:
    async with memory_mesh("anna", "bruno", "carla", lease_seconds=2) as (anna, bruno, _):
        bruno.step_s = 5.0  # bruno is in the middle of a branch when it is lost
        task = asyncio.create_task(anna.run(NEVER))
        search = await _search_of(anna)
        (lost,) = await until(lambda: _leases(anna, search, bruno, "live"), "a lease of bruno's")
        await until(lambda: _leases(bruno, search, bruno, "live"), "bruno has taken it")
        coordinator = anna.explorer._searches.all()[0].coordinator
        assert coordinator is not None
        handing = f"lease {lost.id}"
        await until(lambda: handing not in {t.get_name() for t in coordinator._tasks._running}, "and has said so")
        await bruno.crash()
        await until(lambda: _has_status(anna, lost.id, "expired"), "the lease is over")

        async def dealt_again() -> bool:
            leases = await anna.store.leases(search)
            return any(lease.branch == lost.branch and lease.id != lost.id for lease in leases)

        await until(dealt_again, "its branch is dealt again")
        assert (await anna.explorer.view(search))[2].reassigned >= 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_late_result_and_a_repeated_one_do_no_harm() -> None:
    """Guard: protocol/lease.py, LeaseBook.expire_due."""
    async with memory_mesh("anna", "bruno", workers=0, lease_seconds=2) as (anna, bruno):
        script = _script(bruno)
        task = asyncio.create_task(anna.run(NEVER))
        search = await _search_of(anna)
        await until(lambda: script.of("branch/assign"), "an assignment")
        late = _assignment(script, 0)
        await until(lambda: _leases(anna, search, bruno, "expired"), "the lease is over")
        for _ in range(2):
            await _return(bruno, anna, late, outcome="spent")
        record = await anna.store.lease(late.lease)
        assert record is not None
        assert record.status == "expired"
        assert record.result
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await _return(bruno, anna, late, outcome="spent")  # the search has ended: still no harm


async def test_a_result_for_the_lease_of_another_is_refused() -> None:
    """Guard: node/explorer/coordinator.py, Coordinator.take_result."""
    async with memory_mesh("anna", "bruno", "carla", workers=0) as (anna, bruno, carla):
        script, _ = _script(bruno), _script(carla)
        task = asyncio.create_task(anna.run(NEVER))
        await until(lambda: script.of("branch/assign"), "an assignment")
        with pytest.raises(MeshError) as refused:
            await _return(carla, anna, _assignment(script, 0), outcome="claim", claim=())
        assert refused.value.code == "lease.unknown"
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_result_is_taken_from_its_worker_only() -> None:
    """Guard: node/explorer/answers.py, Answers.on_return."""
    async with memory_mesh("anna", "bruno", "carla", workers=0) as (anna, bruno, carla):
        script, _ = _script(bruno), _script(carla)
        task = asyncio.create_task(anna.run(NEVER))
        await until(lambda: script.of("branch/assign"), "an assignment")
        given = _assignment(script, 0)
        result = BranchResult(
            search=given.search, lease=given.lease, branch=given.branch, spend=Spend(), outcome="spent"
        )
        sealed = bruno.identity.artefact(KIND_RESULT, given.lease, result).envelope
        with pytest.raises(MeshError) as refused:
            await carla.calls.call(anna.id, "branch/return", BranchReturn(search=given.search, result=sealed), Done)
        assert refused.value.code == "envelope.issuer"
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_repeated_claim_is_judged_once() -> None:
    """Also while the first is being judged: a false one must not count three times.

    Guard: node/explorer/coordinator.py, Coordinator.take_result.
    """
    async with memory_mesh("anna", "liar", workers=0) as (anna, liar):
        script = _script(liar)
        task = asyncio.create_task(anna.run())
        await until(lambda: script.of("branch/assign"), "an assignment")
        lie = encode_action(Click(target=Locator(role="link", name="No such link")))
        for _ in range(3):
            await _return(liar, anna, _assignment(script, 0), outcome="claim", claim=(lie,))
        search = await _search_of(anna)
        await until(lambda: len(script.of("branch/assign")) > 1, "the next assignment: all claims are judged")
        progress = (await anna.explorer.view(search))[2]
        assert (progress.claims, progress.claims_false) == (1, {liar.id: 1})
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_stopping_a_search_revokes_its_leases_and_the_work_ends() -> None:
    async with memory_mesh("anna", "bruno", lease_seconds=60, lease_iterations=100) as (anna, bruno):
        task = asyncio.create_task(anna.run(NEVER))
        search = await _search_of(anna)
        await until(lambda: _leases(bruno, search, bruno, "live"), "bruno works")
        (await anna.explorer.stop(search))
        assert (await task).status == "stopped"
        assert await _leases(anna, search, bruno, "live") == []
        assert [lease.status for lease in await _leases(bruno, search, bruno)] == ["revoked"]
        assert bruno.explorer.running == 1  # it can be resumed, so bruno keeps it open


# --- restarts --------------------------------------------------------------------------------------------------------


async def test_a_coordinator_that_starts_again_over_its_store_goes_on_by_itself() -> None:
    async with memory_mesh("anna", "bruno", "carla") as (anna, bruno, _):
        task = asyncio.create_task(anna.run(seconds=4_000))
        search = await _search_of(anna)
        await until(lambda: _leases(anna, search, bruno), "work was dealt")
        await until(lambda: anna.store.deltas(search, peer=anna.id), "anna has said so")
        await anna.crash()
        with pytest.raises(MeshError) as ended:
            await task
        assert ended.value.code == "node.stopped"
        assert (await anna.store.search(search)).status == "running"  # type: ignore[union-attr]
        before = {delta.epoch for delta in await anna.store.deltas(search, peer=anna.id)}
        await anna.start()
        await until(lambda: _status(anna, search, "done"), "the search is done")
        after = {delta.epoch for delta in await anna.store.deltas(search, peer=anna.id)}
        assert before < after, "what was said before stays, and an epoch of its own follows"


async def _status(node: MemoryNode, search: str, status: str) -> bool:
    found = await node.store.search(search)
    return found is not None and found.status == status


async def test_a_claim_that_was_taken_before_a_crash_is_judged_after_it() -> None:
    async with memory_mesh("anna", "bruno", workers=0) as (anna, bruno):
        script = _script(bruno)
        task = asyncio.create_task(anna.run(Condition(url=f"{ORIGIN}/"), seconds=4_000))
        await until(lambda: script.of("branch/assign"), "an assignment")
        anna.step_s = 1_000.0  # its own replay would take for ever
        await anna.browsers.close()
        await _return(bruno, anna, _assignment(script, 0), outcome="claim", claim=())
        await anna.crash()
        await asyncio.gather(task, return_exceptions=True)
        anna.step_s = 0.1
        await anna.start()
        search = await _search_of(anna)
        await until(lambda: _status(anna, search, "done"), "the claim was judged")
        assert len(script.of("branch/assign")) == 1


async def test_a_worker_that_starts_again_opens_a_new_epoch_and_counts_nothing_twice() -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        task = asyncio.create_task(anna.run(NEVER))
        search = await _search_of(anna)
        await until(lambda: _visits(anna, search, [bruno]), "bruno has visited something")
        await bruno.crash()
        own = (await bruno.explorer._searches.read((await bruno.store.search(search)).spec)).tree  # type: ignore[union-attr]
        before = own.spend(bruno.id).visits
        bruno.site = shop_site(fanout=0, depth=0)  # from now on it learns nothing new
        bruno.site.documents.clear()
        await bruno.start()
        replica = await bruno.replica(search)
        assert replica.epoch == 2
        assert replica.tree.spend(bruno.id).visits == before

        async def seen() -> bool:
            return (await anna.replica(search)).have(bruno.id)[0] == 2

        await until(seen, "anna follows the new epoch")
        await until(lambda: _at_least(anna, search, bruno, before), "the whole share has come again")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _at_least(node: MemoryNode, search: str, of: MemoryNode, visits: int) -> bool:
    return (await node.replica(search)).tree.spend(of.id).visits >= visits


async def test_two_live_leases_of_one_branch_left_by_a_crash_do_not_keep_a_search_from_going_on() -> None:
    async with memory_mesh("anna", "bruno", workers=0) as (anna, bruno):
        _script(bruno)
        task = asyncio.create_task(anna.run(NEVER))
        search = await _search_of(anna)
        (lease,) = await until(lambda: _leases(anna, search, bruno, "live"), "a lease")
        await anna.crash()
        await asyncio.gather(task, return_exceptions=True)
        older = LeaseRecord(
            id="lea-older",
            search=search,
            branch=lease.branch,
            worker=bruno.id,
            status="live",
            expires_ms=lease.expires_ms,
            assignment=lease.assignment,
        )
        kept = await anna.store.lease(lease.id)
        assert kept is not None
        anna.store = await _reordered(anna.store, search, [older, kept])
        await anna.start()
        await until(lambda: _has_status(anna, "lea-older", "expired"), "the older one is over")
        assert await _status(anna, search, "running")


async def _has_status(node: MemoryNode, lease: str, status: str) -> bool:
    found = await node.store.lease(lease)
    return found is not None and found.status == status


async def _reordered(store: MemoryStore, search: str, leases: list[LeaseRecord]) -> MemoryStore:
    """A copy of a store whose leases are these."""
    copy = MemoryStore()
    for peer in await store.peers():
        await copy.put_peer(peer)
    for found in await store.searches():
        await copy.put_search(found)
    for delta in await store.deltas(search):
        await copy.append_delta(delta)
    for lease in leases:
        await copy.put_lease(lease)
    return copy


# --- following -------------------------------------------------------------------------------------------------------


async def test_whoever_follows_a_search_that_another_command_stops_is_told_so() -> None:
    async with memory_mesh("anna") as (anna,):
        task = asyncio.create_task(anna.run(NEVER))
        search = await _search_of(anna)
        follower = asyncio.create_task(anna.explorer.resume(search, seconds=0, tell=lambda event: None))
        await until(lambda: len(anna.explorer._searches.all()[0].watchers) == 2, "both follow")
        await anna.explorer.stop(search)
        assert [(await task).status, (await follower).status] == ["stopped", "stopped"]


async def test_the_end_of_a_follower_does_not_end_the_search_but_that_of_its_starter_does() -> None:
    async with memory_mesh("anna") as (anna,):
        task = asyncio.create_task(anna.run(NEVER))
        search = await _search_of(anna)
        follower = asyncio.create_task(anna.explorer.resume(search, seconds=0, tell=lambda event: None))
        await until(lambda: len(anna.explorer._searches.all()[0].watchers) == 2, "both follow")
        follower.cancel()
        await asyncio.gather(follower, return_exceptions=True)
        assert anna.explorer.running == 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert anna.explorer.running == 0
        assert await _status(anna, search, "stopped")


async def test_a_stopped_search_is_resumed_and_finishes() -> None:
    async with memory_mesh("anna", "bruno") as (anna, _):
        task = asyncio.create_task(anna.run(seconds=4_000))
        search = await _search_of(anna)
        await anna.explorer.stop(search)
        await task
        found = await anna.explorer.resume(search, seconds=400, tell=lambda event: None)
        assert found.status == "done"


async def test_a_resumed_search_has_the_seconds_it_is_given_however_long_it_ran_before() -> None:
    async with memory_mesh("anna") as (anna,):
        found = await anna.run(NEVER, seconds=5)
        for seconds in (50, 5):
            used_ms = cbor.decode_as(found.state, Progress).used_ms
            said: list[dict[str, Any]] = []
            found = await anna.explorer.resume(found.id, seconds=seconds, tell=said.append)
            after = cbor.decode_as(found.state, Progress)
            assert found.status == "failed"
            assert after.limit_ms == used_ms + seconds * 1000 <= after.used_ms
            first = next(event for event in said if "of_seconds" in event)
            assert seconds - 1 <= first["of_seconds"] - first["seconds"] <= seconds + 1


async def test_nothing_is_kept_of_a_search_whose_start_page_does_not_open() -> None:
    async with memory_mesh("anna") as (anna,):
        with pytest.raises(MeshError) as refused:
            await anna.explorer.run(
                goal="g",
                start_url="http://nowhere.test/",
                condition=FOUND,
                peers=[],
                seconds=10,
                seed=0,
                tell=lambda event: None,
            )
        assert refused.value.code == "search.start_failed"
        assert await anna.store.searches() == []


async def test_a_silent_coordinator_s_search_is_left_and_one_that_speaks_is_kept() -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        task = asyncio.create_task(anna.run(NEVER))
        search = await _search_of(bruno)
        await until(lambda: bruno.explorer.running, "bruno takes part")
        await bruno.explorer.sweep()
        assert bruno.explorer.running == 1
        await anna.crash()
        await asyncio.gather(task, return_exceptions=True)
        bruno.mesh.clock.ahead_ms += 10_000_000
        await bruno.explorer.sweep()
        assert bruno.explorer.running == 0
        assert await _status(bruno, search, "stopped")
