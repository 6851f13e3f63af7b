"""What a coordinator takes from its workers and what it refuses: results, renewals, claims, and what a restart leaves of them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from adapters.ports.records import LeaseRecord
from node.explorer.progress import Progress, VerifiedSuccess
from protocol.errors import MeshError
from protocol.messages import KIND_ASSIGNMENT, Assignment, BranchRenew, BranchRenewed, BranchResult, Spend
from protocol.wire import cbor, envelope
from tests.mesh_memory import MemoryNode, until
from tests.mesh_searches import scripted
from tests.unit.test_explorer_leading import Lead, ended, lead

pytestmark = pytest.mark.virtual_time


async def _refused(call: Any) -> str:
    with pytest.raises(MeshError) as refused:
        await call
    return refused.value.code


# --- results ---


async def test_a_result_ends_its_lease_is_kept_and_the_worker_gets_the_next_branch() -> None:
    async with lead("bruno", lease_seconds=600) as (leading, bruno):
        task = leading.begin()
        lease = await leading.lease_of(bruno)
        spend = Spend(iterations=1, steps=5, milliseconds=7)
        await leading.take(bruno, lease, spend=spend)
        record = await leading.stored(lease)
        assert (record.status, record.spend, bool(record.result)) == ("done", spend, True)
        assert leading.progress.leases_empty == {bruno.id: 1}
        assert leading.demanded == [bruno.id]
        began_ms = leading.clock.now_ms()
        second = await leading.lease_of(bruno)
        assert second.id != lease.id
        assert leading.clock.now_ms() - began_ms < 150, "it does not wait for the next turn"
        assert (leading.progress.claims, leading.replayed) == (0, [])
        before = await leading.stored(lease)
        await leading.take(bruno, lease, spend=Spend(steps=9))
        assert await leading.stored(lease) == before, "once is enough"
        await ended(task)


async def test_a_worker_that_could_not_work_rests() -> None:
    async with lead("bruno", lease_seconds=600) as (leading, bruno):
        task = leading.begin()
        lease = await leading.lease_of(bruno)
        assert leading.coordinator._dealing.rests_s(bruno.id) <= 0
        await leading.take(bruno, lease, outcome="failed", error="browser.launch")
        assert leading.coordinator._dealing.rests_s(bruno.id) > 2.9
        await ended(task)


async def test_the_second_empty_lease_in_a_row_costs_a_pause_that_does_not_shorten_another_and_is_stored() -> None:
    async with lead("bruno", lease_seconds=600) as (leading, bruno):
        task = leading.begin()
        leading.progress.leases_empty[bruno.id] = 1
        lease = await leading.lease_of(bruno)
        await leading.take(bruno, lease)
        assert 2.9 < leading.coordinator._dealing.rests_s(bruno.id) <= 3

        async def kept() -> bool:
            found = await leading.anna.store.search(leading.spec.id)
            return found is not None and cbor.decode_as(found.state, Progress).leases_empty == {bruno.id: 2}

        began_ms = leading.clock.now_ms()
        await until(kept, "it is stored")
        assert leading.clock.now_ms() - began_ms < 400, "before the next branch"
        leading.clock.ahead_ms += 3_000
        lease = await leading.lease_of(bruno)
        leading.coordinator._dealing.rest(bruno.id, 50)
        await leading.take(bruno, lease)
        assert leading.coordinator._dealing.rests_s(bruno.id) > 49
        await ended(task)


@pytest.mark.parametrize(
    "wrong",
    [{"lease": "lea-AAAAAAAAAAAAAAAAAAAB6"}, {"branch": bytes(16)}, {}],
    ids=["no lease", "another branch", "another worker"],
)
async def test_a_result_of_another_lease_branch_or_worker_is_unknown(wrong: dict[str, Any]) -> None:
    async with lead("bruno", "carla", lease_seconds=600) as (leading, bruno, carla):
        task = leading.begin()
        await until(lambda: len(leading.coordinator._desk.live()) == 1, "a lease")
        (live,) = leading.coordinator._desk.live()
        owner, other = (bruno, carla) if live.worker == bruno.id else (carla, bruno)
        lease = await leading.lease_of(owner)
        assert await _refused(leading.take(owner if wrong else other, lease, **wrong)) == "lease.unknown"
        assert await leading.stored(lease) == lease
        assert leading.demanded == []
        await ended(task)


async def test_a_result_without_a_proof_changes_nothing_and_may_come_again() -> None:
    async with lead("bruno", lease_seconds=600) as (leading, bruno):
        task = leading.begin()
        lease = await leading.lease_of(bruno)
        leading.demand_error = "peer.unreachable"
        assert await _refused(leading.take(bruno, lease)) == "log.unproven"
        assert await leading.stored(lease) == lease
        leading.demand_error = ""
        await leading.take(bruno, lease)
        assert (await leading.stored(lease)).status == "done"
        await ended(task)


async def test_of_two_copies_of_a_result_that_are_proved_at_once_one_counts() -> None:
    async with lead("bruno", lease_seconds=600) as (leading, bruno):
        task = leading.begin()
        lease = await leading.lease_of(bruno)
        await asyncio.gather(*(leading.take(bruno, lease, outcome="claim") for _ in range(3)))
        assert len(leading.demanded) == 3
        assert leading.progress.claims == 1
        await ended(task)


async def test_impossible_costs_end_the_lease_and_are_not_counted_but_those_of_a_wrong_claim_are() -> None:
    async with lead("bruno", lease_seconds=600) as (leading, bruno):
        task = leading.begin()
        lease = await leading.lease_of(bruno)
        assert await _refused(leading.take(bruno, lease, spend=Spend(steps=2**40))) == "lease.spend"
        record = await leading.stored(lease)
        assert (record.status, record.spend, record.result) == ("revoked", Spend(), b"")
        assert leading.progress.leases_empty == {bruno.id: 1}
        began_ms = leading.clock.now_ms()
        second = await leading.lease_of(bruno)
        assert leading.clock.now_ms() - began_ms < 150, "it does not wait for the next turn"
        claim = {"outcome": "claim", "claim": (b"\xff",), "spend": Spend(steps=4)}
        assert await _refused(leading.take(bruno, second, **claim)) == "claim.invalid"
        record = await leading.stored(second)
        assert (record.status, record.spend, record.result) == ("revoked", Spend(steps=4), b"")
        assert (leading.progress.claims, leading.progress.claims_false) == (1, {bruno.id: 1})
        assert leading.progress.leases_empty == {bruno.id: 2}
        assert leading.replayed == []
        await ended(task)


async def test_a_worker_that_was_put_out_is_told_so_and_nothing_of_it_is_taken() -> None:
    async with lead("bruno", lease_seconds=600) as (leading, bruno):
        task = leading.begin()
        lease = await leading.lease_of(bruno)
        leading.replica.expelled[bruno.id] = "delta.invalid"
        ask = BranchRenew(search=leading.spec.id, lease=lease.id, spend=Spend())
        assert await _refused(leading.coordinator.renew(bruno.id, ask)) == "delta.invalid"
        assert await _refused(leading.take(bruno, lease)) == "delta.invalid"
        assert await leading.stored(lease) == lease
        await leading.coordinator.dismiss_peer(bruno.id)
        assert (await leading.stored(lease)).status == "revoked"
        await ended(task)


async def _renew(leading: Lead, worker: MemoryNode, lease: LeaseRecord | str, spend: Spend | None = None) -> Any:
    name = lease if isinstance(lease, str) else lease.id
    ask = BranchRenew(search=leading.spec.id, lease=name, spend=spend or Spend())
    return await leading.coordinator.renew(worker.id, ask)


async def test_a_worker_renews_its_own_live_lease_and_no_other() -> None:
    async with lead("bruno", "carla", lease_seconds=7) as (leading, bruno, carla):
        task = leading.begin()
        await until(lambda: leading.coordinator._desk.live(), "a lease")
        (live,) = leading.coordinator._desk.live()
        owner, other = (bruno, carla) if live.worker == bruno.id else (carla, bruno)
        lease = await leading.lease_of(owner)
        leading.clock.ahead_ms += 1_000
        renewed = await _renew(leading, owner, lease, Spend(steps=2))
        assert renewed == BranchRenewed(live=True, expires_ms=leading.clock.now_ms() + 7_000)
        assert (await leading.stored(lease)).spend == Spend(steps=2)
        gone = BranchRenewed(live=False)
        assert await _renew(leading, other, lease, Spend(steps=2**50)) == gone, "whose costs are not its business"
        assert await _renew(leading, owner, "lea-AAAAAAAAAAAAAAAAAAAB6") == gone
        assert await _refused(_renew(leading, owner, lease, Spend(steps=2**50))) == "lease.spend"
        assert (await leading.stored(lease)).spend == Spend(steps=2)
        await leading.coordinator.drop(owner.id)
        assert await _renew(leading, owner, lease) == gone
        await ended(task)


async def test_the_time_that_a_lease_has_cost_is_measured_from_its_signature() -> None:
    async with lead("bruno", lease_seconds=600, seconds=100_000) as (leading, bruno):
        task = leading.begin()
        lease = await leading.lease_of(bruno)
        leading.clock.ahead_ms += 400_000
        assert (await _renew(leading, bruno, lease, Spend(milliseconds=455_000))).live
        assert await _refused(_renew(leading, bruno, lease, Spend(milliseconds=465_000))) == "lease.spend"
        await ended(task)


async def test_after_the_end_of_a_search_no_lease_is_live() -> None:
    async with lead("bruno", seconds=1, lease_seconds=600) as (leading, bruno):
        task = leading.begin()
        lease = await leading.lease_of(bruno)
        leading.coordinator._desk.end = _nothing
        await task
        assert await _renew(leading, bruno, lease) == BranchRenewed(live=False)
        await leading.take(bruno, lease, outcome="claim")
        assert (leading.progress.claims, (await leading.stored(lease)).result) == (0, b"")


async def _nothing(*named: Any, **more: Any) -> None:
    """Keeps a lease as it is."""


async def test_dropping_a_worker_revokes_its_leases_tells_it_and_leaves_the_others_alone() -> None:
    async with lead("bruno", "carla", lease_seconds=600) as (leading, bruno, carla):
        scripts = {each.id: scripted(each) for each in (bruno, carla)}
        root = leading.replica.root
        desk = leading.coordinator._desk
        first = desk.grant(root, bruno.id, 1_000, 1_000)
        second = desk.grant(bytes(16), carla.id, 1_000, 1_000)
        for lease in (first, second):
            await desk.keep(lease, b"")
        assert await leading.coordinator.drop(bruno.id) == [first.id]
        assert [lease.id for lease in desk.live()] == [second.id]
        assert [ask.lease for ask in scripts[bruno.id].of("branch/revoke")] == [first.id]
        assert scripts[carla.id].got == []
        assert await leading.coordinator.drop(bruno.id) == []
        own = desk.grant(root, leading.anna.id, 1_000, 1_000)
        await desk.keep(own, b"")
        await leading.coordinator.dismiss()
        assert desk.live() == []
        assert [(ask.search, ask.lease) for ask in scripts[carla.id].of("branch/revoke")] == [
            (leading.spec.id, second.id)
        ]
        assert len(scripts[bruno.id].got) == 1
        tree = leading.replica.tree
        assert tree.lease_count[tree.root] == 0, "and it is told to all"


async def test_a_peer_that_cannot_be_told_of_the_end_of_its_lease_loses_it_all_the_same() -> None:
    async with lead("bruno", lease_seconds=600) as (leading, bruno):
        desk = leading.coordinator._desk
        lease = desk.grant(leading.replica.root, bruno.id, 1_000, 1_000)
        await desk.keep(lease, b"")
        await bruno.crash()
        await leading.coordinator.dismiss()
        assert desk.live() == []


async def test_a_claim_that_holds_ends_the_search() -> None:
    async with lead("bruno", lease_seconds=600) as (leading, bruno):
        script = scripted(bruno)
        task = leading.begin()
        lease = await leading.lease_of(bruno)
        leading.verdict = VerifiedSuccess(session="ses", path=(), claimed_by=bruno.id)
        await leading.take(bruno, lease, outcome="claim")
        found = await task
        assert (found.status, leading.progress.verified, leading.progress.error) == ("done", leading.verdict, "")
        assert (leading.progress.claims, leading.progress.claims_checked) == (1, [lease.id])
        assert leading.progress.leases_empty == {}, "a claim is worth a delta"
        assert cbor.decode_as(found.state, Progress) == leading.progress
        assert await leading.news() == [
            "lease.granted",
            "lease.ended",
            "claim.verified",
            "search.ended",
        ]
        assert leading.told[-1]["verified"]
        assert [name for name, _ in script.got][-1] == "search/close"


async def test_a_claim_that_does_not_hold_is_stored_at_once_and_the_search_goes_on() -> None:
    async with lead("bruno", lease_seconds=600) as (leading, bruno):
        task = leading.begin()
        lease = await leading.lease_of(bruno)
        await leading.take(bruno, lease, outcome="claim")

        async def kept() -> bool:
            found = await leading.anna.store.search(leading.spec.id)
            return found is not None and cbor.decode_as(found.state, Progress).claims_checked == [lease.id]

        began_ms = leading.clock.now_ms()
        await until(kept, "it is stored")
        assert leading.clock.now_ms() - began_ms < 200
        assert (await leading.lease_of(bruno)).id != lease.id
        assert leading.coordinator._claims.open == 0
        await ended(task)


async def test_a_claim_that_cannot_be_judged_is_judged_later_and_the_search_waits_for_it_even_without_branches() -> (
    None
):
    async with lead("bruno", lease_seconds=600, seconds=1_000) as (leading, bruno):
        task = leading.begin()
        lease = await leading.lease_of(bruno)
        leading.verdict = "store.full"
        leading.replica.own.close_node(leading.replica.root)
        await leading.replica.flush()
        await leading.take(bruno, lease, outcome="claim")
        await until(lambda: leading.coordinator._claims.postponed, "it is put off")
        leading.verdict = VerifiedSuccess(session="ses", path=(), claimed_by=bruno.id)
        assert (await task).status == "done"
        assert len(leading.replayed) == 2


async def test_a_claim_of_a_worker_that_is_put_out_meanwhile_does_not_end_the_search() -> None:
    async with lead("bruno", lease_seconds=600, seconds=20) as (leading, bruno):
        task = leading.begin()
        lease = await leading.lease_of(bruno)
        verify, leading.verdict = leading._verify, VerifiedSuccess(session="ses", path=(), claimed_by=bruno.id)

        async def and_then_put_out(path: tuple[bytes, ...], worker: str) -> VerifiedSuccess | None:
            leading.replica.expelled[worker] = "delta.invalid"
            assert await verify(path, worker) is not None
            return VerifiedSuccess(session="ses", path=(), claimed_by=worker)

        leading.coordinator._claims._verify = and_then_put_out
        await leading.take(bruno, lease, outcome="claim")
        assert ((await task).status, leading.progress.verified) == ("failed", None)
        assert leading.coordinator._claims.open == 0
        assert len(leading.replayed) == 1


async def _again(leading: Lead, *others: MemoryNode) -> Lead:
    """The same search after a restart."""
    found = await leading.anna.store.search(leading.spec.id)
    assert found is not None
    again = Lead(leading.anna, *others, state=found.state)
    await again.replica.load(again.anna.peers.find_key, again.anna.peers.genesis_keys())
    return again


async def test_after_a_restart_own_work_is_lost_and_that_of_peers_goes_on() -> None:
    async with lead("bruno", workers=1, lease_seconds=600, seconds=7) as (leading, bruno):
        task = leading.begin()
        mine = await leading.lease_of(leading.anna)
        await ended(task)
        assert leading.coordinator._finished
        desk = leading.coordinator._desk
        theirs = desk.grant(bytes(16), bruno.id, 600_000, 1_000)
        signed = leading.anna.identity.artefact(KIND_ASSIGNMENT, theirs.id, _assignment_of(mine))
        await desk.keep(theirs, signed.envelope)
        again = await _again(leading, bruno)
        assert again.progress.limit_ms == 7_000
        task = again.begin()
        await until(lambda: again.progress.reassigned, "its leases are read back")
        assert again.progress.reassigned == 1
        assert (await again.stored(mine)).status == "expired"
        assert [lease.id for lease in again.coordinator._desk.live_of(bruno.id)] == [theirs.id]
        await ended(task)


def _assignment_of(lease: LeaseRecord) -> Assignment:
    return cbor.decode_as(envelope.peek(lease.assignment).payload, Assignment)


async def test_of_the_claims_that_were_taken_before_a_restart_those_that_were_not_judged_are() -> None:
    async with lead("bruno", lease_seconds=600, seconds=50) as (leading, bruno):
        task = leading.begin()
        judged = await leading.lease_of(bruno)
        await leading.take(bruno, judged, outcome="claim")
        spent = await leading.lease_of(bruno)
        await leading.take(bruno, spent)
        waits = await leading.lease_of(bruno)
        leading.verdict = "store.full"
        await leading.take(bruno, waits, outcome="claim")
        await until(lambda: leading.coordinator._claims.postponed, "it is put off")
        assert leading.replayed == [(), ()]
        await ended(task)
        again = await _again(leading, bruno)
        again.verdict = VerifiedSuccess(session="ses", path=(), claimed_by=bruno.id)
        assert (await again.begin()).status == "done"
        assert again.replayed == [()]
        assert again.progress.claims_checked == [judged.id, waits.id]


async def test_what_comes_before_the_leases_are_read_back_waits_for_them() -> None:
    async with lead("bruno", lease_seconds=600) as (leading, bruno):
        lease = leading.coordinator._desk.grant(leading.replica.root, bruno.id, 600_000, 1)
        asked = asyncio.create_task(_renew(leading, bruno, lease.id))
        result = _spent(leading)
        given = asyncio.create_task(leading.coordinator.take_result(bruno.id, result, b""))
        await asyncio.sleep(1)
        assert not asked.done()
        assert not given.done()
        task = leading.begin()
        assert (await asked).live
        with pytest.raises(MeshError):
            await given
        await ended(task)


def _spent(leading: Lead) -> BranchResult:
    unknown = "lea-AAAAAAAAAAAAAAAAAAAB6"
    return BranchResult(search=leading.spec.id, lease=unknown, branch=bytes(16), outcome="spent", spend=Spend())
