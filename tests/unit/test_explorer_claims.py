"""What a coordinator makes of claims of success: false, foreign, endless, crashing, repeated."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from node.explorer.coordinating.claims import Claims
from node.explorer.progress import Progress, VerifiedSuccess
from node.signing import Feed
from protocol import limits
from protocol.errors import MeshError
from protocol.goal.condition import Condition
from protocol.goal.heuristics import Candidate
from protocol.messages import BranchResult, Spend
from protocol.page.actions.action import Click, Fill, Goto, Locator, Secret, Wait
from protocol.risk.requests.requests import GuardPolicy
from protocol.search.entry import decode_action, encode_action
from protocol.wire import cbor
from tests.mesh_memory import ORIGIN, QuickClock, SlowBrowser, memory_mesh, shop_site, until
from tests.mesh_searches import (
    assigned_more_than,
    assignment_of,
    give_back,
    has_false_claims,
    has_status,
    lease_has_status,
    scripted,
    search_of,
)
from tests.twins.browser import Kept, MemoryPage
from tests.twins.storage import MemoryStore

pytestmark = pytest.mark.virtual_time


async def test_a_false_claim_is_refused_and_counted_and_after_three_its_peer_gets_no_more() -> None:
    """Guard: node/explorer/coordinating/claims.py, Claims.is_liar."""
    async with memory_mesh("anna", "liar", workers=0) as (anna, liar):
        script = scripted(liar)
        task = asyncio.create_task(anna.run())
        lie = encode_action(Click(target=Locator(role="link", name="No such link")))
        for number in range(3):
            await until(partial(assigned_more_than, script, number), "an assignment")
            await give_back(liar, anna, assignment_of(script, number), outcome="claim", claim=(lie,))
        search = await search_of(anna)
        await until(partial(has_false_claims, anna, search, {liar.id: 3}), "three refusals")
        await anna.mesh.clock.sleep(8)  # longer than any pause a peer gets
        assert len(script.of("branch/assign")) == 3
        assert (await anna.explorer.view(search))[2].verified is None
        await anna.explorer.stop(search)
        await task


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
    """Guard: protocol/search/lease.py, check_claim."""
    async with memory_mesh("anna", "liar", workers=0) as (anna, liar):
        script = scripted(liar)
        task = asyncio.create_task(anna.run())
        await until(lambda: script.of("branch/assign"), "an assignment")
        search, before = await search_of(anna), list(anna.site.reached)
        with pytest.raises(MeshError) as refused:
            await give_back(liar, anna, assignment_of(script, 0), outcome="claim", claim=(step,))
        assert refused.value.code == "claim.invalid"
        await give_back(
            liar, anna, assignment_of(script, 0), outcome="claim", claim=(step,)
        )  # once more counts no more
        assert await has_false_claims(anna, search, {liar.id: 1})
        assert await lease_has_status(anna, assignment_of(script, 0).lease, "revoked")
        assert anna.site.reached == before
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_claim_of_another_branch_than_the_leased_one_is_refused_and_counted() -> None:
    """Guard: protocol/search/lease.py, check_claim."""
    async with memory_mesh("anna", "liar", workers=0) as (anna, liar):
        script = scripted(liar)
        task = asyncio.create_task(anna.run())
        await until(lambda: script.of("branch/assign"), "an assignment")
        search = await search_of(anna)
        # The liar names what can be done on the start page, so that its next lease is of a branch below it.
        names = [encode_action(Click(target=Locator(role="link", name=f"Shelf  {word}"))) for word in ("oak", "ash")]
        replica = await anna.replica(search)
        replica.own.add_children(replica.root, [Candidate(action=decode_action(n), prior=0.5, risk=1) for n in names])
        await replica.flush()
        await give_back(liar, anna, assignment_of(script, 0), outcome="spent")
        await until(partial(assigned_more_than, script, 1), "a lease below")
        leased = assignment_of(script, 1)
        (other,) = set(names) - set(leased.prefix)
        with pytest.raises(MeshError) as refused:
            await give_back(liar, anna, leased, outcome="claim", claim=(other,))
        assert refused.value.code == "claim.invalid"
        assert await has_false_claims(anna, search, {liar.id: 1})
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_claim_whose_replay_does_not_end_is_a_false_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: node/explorer/coordinating/claims.py, Claims._replay."""
    monkeypatch.setattr(limits, "CLAIM_REPLAY_TIMEOUT_S", 0.3)
    async with memory_mesh("anna", "liar", workers=0) as (anna, liar):
        script = scripted(liar)
        task = asyncio.create_task(anna.run())
        await until(lambda: script.of("branch/assign"), "an assignment")
        anna.step_s = 1_000.0
        anna.crash_browsers()
        await give_back(liar, anna, assignment_of(script, 0), outcome="claim", claim=())
        search = await search_of(anna)
        await until(partial(has_false_claims, anna, search, {liar.id: 1}), "a refusal")
        await until(partial(assigned_more_than, script, 1), "work goes on")
        assert {session.verdict for session in await anna.store.sessions()} == {"interrupted"}
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class _Crashing(SlowBrowser):
    """A browser that every claim brings down, as long as ``crashes`` lasts."""

    crashes = 2

    def new_page(self, guard: GuardPolicy, kept: Kept) -> MemoryPage:
        """A new page of a context."""
        if _Crashing.crashes:
            _Crashing.crashes -= 1
            asyncio.get_running_loop().call_later(0.05, self.crash)
        return super().new_page(guard, kept)


@pytest.mark.parametrize(("crashes", "false_claims"), [(1, 0), (2, 1)])
async def test_a_claim_that_crashes_the_browser_twice_is_a_false_one_and_one_crash_may_have_another_reason(
    crashes: int, false_claims: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: node/explorer/coordinating/claims.py, Claims._replay."""
    async with memory_mesh("anna", "bruno", workers=0) as (anna, bruno):
        script = scripted(bruno)
        task = asyncio.create_task(anna.run(Condition(url=f"{ORIGIN}/")))
        await until(lambda: script.of("branch/assign"), "an assignment")
        anna.step_s = 4.0  # so that it is in the middle of a step when the browser goes

        async def crashing() -> Any:
            return _Crashing(anna.site, anna.mesh.clock, anna.step_s)

        monkeypatch.setattr(_Crashing, "crashes", crashes)
        anna.browsers._open_browser = crashing
        anna.crash_browsers()
        await give_back(bruno, anna, assignment_of(script, 0), outcome="claim", claim=())
        search = await search_of(anna)
        if false_claims:
            await until(partial(has_false_claims, anna, search, {bruno.id: 1}), "a refusal")
            task.cancel()
        else:
            assert (await task).status == "done"
        await asyncio.gather(task, return_exceptions=True)
        assert _Crashing.crashes == 0


async def test_a_claim_that_crashes_a_browser_which_does_not_start_again_is_a_false_one() -> None:
    async with memory_mesh("anna", "liar", workers=0) as (anna, liar):
        script = scripted(liar)
        task = asyncio.create_task(anna.run())
        await until(lambda: script.of("branch/assign"), "an assignment")
        anna.step_s = 10.0  # so that it is in the middle of a step when the browser goes
        anna.crash_browsers()
        opened = len(anna.browsers_opened)
        await give_back(liar, anna, assignment_of(script, 0), outcome="claim", claim=())
        browser = await until(
            lambda: [one for one in anna.browsers_opened[opened:] if one.opened], "a page of the replay"
        )

        async def broken() -> Any:
            raise MeshError("browser.unreachable")

        anna.browsers._open_browser = broken
        browser[0].crash()
        await until(partial(has_false_claims, anna, await search_of(anna), {liar.id: 1}), "a refusal")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_after_three_false_claims_those_that_a_peer_has_saved_up_are_not_replayed() -> None:
    """Guard: node/explorer/coordinating/claims.py, Claims.is_liar."""
    async with memory_mesh("anna", "liar", workers=0, lease_seconds=2) as (anna, liar):
        script = scripted(liar)
        task = asyncio.create_task(anna.run())
        search = await search_of(anna)
        await until(partial(assigned_more_than, script, 3), "four leases, of which three are over")
        lie = encode_action(Click(target=Locator(role="link", name="No such link")))
        for number in range(4):
            await give_back(liar, anna, assignment_of(script, number), outcome="claim", claim=(lie,))
        await until(partial(has_false_claims, anna, search, {liar.id: 3}), "three refusals")
        await until(lambda: not anna.explorer._searches.all()[0].coordinator._claims.open, "all are judged")  # type: ignore[union-attr]
        assert await has_false_claims(anna, search, {liar.id: 3})
        assert len(await anna.store.sessions()) == 3
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_claim_that_cannot_be_checked_for_want_of_a_browser_is_not_held_against_its_peer() -> None:
    async with memory_mesh("anna", "bruno", workers=0) as (anna, bruno):
        script = scripted(bruno)
        task = asyncio.create_task(anna.run())
        await until(lambda: script.of("branch/assign"), "an assignment")

        async def broken() -> Any:
            raise MeshError("browser.missing")

        anna.browsers._open_browser = broken
        anna.crash_browsers()
        await give_back(bruno, anna, assignment_of(script, 0), outcome="claim", claim=())
        search = await search_of(anna)
        await until(lambda: len(script.of("branch/assign")) > 1, "work goes on")
        assert (await anna.explorer.view(search))[2].claims_false == {}
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_claim_that_could_not_be_checked_is_checked_once_the_browser_starts_again() -> None:
    """Also when nothing else is left to try: the search is not over before."""
    site = shop_site(fanout=1, depth=1)
    async with memory_mesh("anna", "bruno", workers=0, site=site) as (anna, bruno):
        script = scripted(bruno)
        task = asyncio.create_task(anna.run(Condition(url=f"{ORIGIN}/")))
        await until(lambda: script.of("branch/assign"), "an assignment")
        tries: list[int] = []

        async def broken() -> Any:
            tries.append(1)
            raise MeshError("browser.launch")

        starts, anna.browsers._open_browser = anna.browsers._open_browser, broken
        anna.crash_browsers()
        await give_back(bruno, anna, assignment_of(script, 0), outcome="claim", claim=())
        await until(lambda: len(tries) > 3, "it is tried again after it was given up")
        anna.browsers._open_browser = starts
        assert (await task).status == "done"


async def test_a_claim_from_the_very_last_branch_is_still_judged() -> None:
    site = shop_site(fanout=1, depth=1)
    async with memory_mesh("anna", site=site) as (anna,):
        found = await anna.run(Condition(url=f"{ORIGIN}/oak"))
        assert found.status == "done"


async def test_a_repeated_claim_is_judged_once() -> None:
    """Also while the first is being judged: a false one must not count three times.

    Guard: node/explorer/coordinating/coordinator.py, Coordinator._has_come.
    """
    async with memory_mesh("anna", "liar", workers=0) as (anna, liar):
        script = scripted(liar)
        task = asyncio.create_task(anna.run())
        await until(lambda: script.of("branch/assign"), "an assignment")
        lie = encode_action(Click(target=Locator(role="link", name="No such link")))
        for _ in range(3):
            await give_back(liar, anna, assignment_of(script, 0), outcome="claim", claim=(lie,))
        search = await search_of(anna)
        await until(lambda: len(script.of("branch/assign")) > 1, "the next assignment: all claims are judged")
        progress = (await anna.explorer.view(search))[2]
        assert (progress.claims, progress.claims_false) == (1, {liar.id: 1})
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_claim_that_was_taken_before_a_crash_is_judged_after_it() -> None:
    async with memory_mesh("anna", "bruno", workers=0) as (anna, bruno):
        script = scripted(bruno)
        task = asyncio.create_task(anna.run(Condition(url=f"{ORIGIN}/"), seconds=4_000))
        await until(lambda: script.of("branch/assign"), "an assignment")
        anna.step_s = 1_000.0  # its own replay would take for ever
        anna.crash_browsers()
        await give_back(bruno, anna, assignment_of(script, 0), outcome="claim", claim=())
        await anna.crash()
        await asyncio.gather(task, return_exceptions=True)
        anna.step_s = 0.1
        await anna.start()
        search = await search_of(anna)
        await until(lambda: has_status(anna, search, "done"), "the claim was judged")
        assert len(script.of("branch/assign")) == 1


@pytest.mark.parametrize(
    "codes", [("store.full",), ("browser.launch", "store.full"), ("browser.crashed", "store.full")], ids=" then ".join
)
async def test_a_claim_that_a_full_disk_keeps_from_being_checked_is_not_held_against_its_peer(
    codes: tuple[str, ...],
) -> None:
    left = list(codes)
    progress, clock, told = Progress(), QuickClock(), list[Any]()

    async def verify(path: tuple[bytes, ...], worker: str) -> VerifiedSuccess | None:
        if left:
            raise MeshError(left.pop(0))
        return VerifiedSuccess(path=path, claimed_by=worker, session="s")

    claims = Claims(progress, clock, verify, told.append, "anna", Feed(MemoryStore(), clock, lambda: "node"))
    result = BranchResult(search="s", lease="l", branch=b"", outcome="claim", spend=Spend(), claim=(b"step",))
    began_ms = clock.now_ms()
    with pytest.raises(MeshError) as caught:
        await claims.judge("bruno", result)
    assert (caught.value.code, left) == ("store.full", [])
    assert clock.now_ms() - began_ms == 3_000 * (len(codes) - 1), "a browser has a moment to come back"
    assert (progress.claims_false, progress.claims_checked) == ({}, [])
    assert await claims.judge("bruno", result) is not None, "it is judged once there is room"
    assert progress.claims_checked == ["l"]


async def test_a_claim_whose_lease_cannot_be_ended_is_taken_when_it_comes_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A claim that is not taken is not waited for either: otherwise no branch would ever be dealt again."""
    async with memory_mesh("anna", "liar", workers=0) as (anna, liar):
        script = scripted(liar)
        task = asyncio.create_task(anna.run())
        await until(lambda: script.of("branch/assign"), "an assignment")

        async def full(*named: Any, **more: Any) -> None:
            raise MeshError("store.full")

        with monkeypatch.context() as patch:
            patch.setattr(anna.store, "put_lease", full)
            with pytest.raises(MeshError):
                await give_back(liar, anna, assignment_of(script, 0), outcome="claim", claim=())
        search = await search_of(anna)
        await give_back(liar, anna, assignment_of(script, 0), outcome="claim", claim=())
        await until(partial(has_false_claims, anna, search, {liar.id: 1}), "it is judged")
        await until(partial(assigned_more_than, script, 1), "work goes on")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
