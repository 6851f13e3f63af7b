"""The book of leases as it is kept: what is stored of each change, and what is live again after a restart."""

from __future__ import annotations

import msgspec
import pytest

from adapters.ports.records import LeaseRecord
from adapters.search.writer import TreeWriter
from node.explorer.coordinating.lease_desk import LeaseDesk, latest_end_ms
from node.explorer.sharing.replica import Replica
from protocol import ids
from protocol.errors import MeshError
from protocol.messages import KIND_ASSIGNMENT, Assignment, BranchLimits, Spend
from protocol.search.entry import LeaseEntry
from protocol.search.lease import Event, Lease
from tests.mesh_memory import QuickClock
from tests.trees import node, public_key
from tests.unit.test_explorer_refusals import new_replica

pytestmark = pytest.mark.virtual_time
BRUNO, CARLA = (ids.node_id(public_key(name)) for name in ("bruno", "carla"))


class Desk:
    """A desk over a store, with its clock at hand."""

    def __init__(self, replica: Replica) -> None:
        self.replica, self.store, self.clock = replica, replica._store, QuickClock()
        self.desk = self.again()
        self.one, self.other = node("one", replica.root).key, node("other", replica.root).key

    def again(self) -> LeaseDesk:
        """A desk that knows nothing yet, over the same store."""
        return LeaseDesk(self.replica, self.store, self.clock, caller="agent:helper")

    async def granted(
        self, branch: bytes, worker: str = BRUNO, lifetime_ms: int = 1_000, work_ms: int = 3_000
    ) -> Lease:
        """A lease that is kept."""
        lease = self.desk.grant(branch, worker, lifetime_ms, work_ms)
        assignment = Assignment(
            search=self.replica.spec.id,
            lease=lease.id,
            branch=branch,
            prefix=(),
            prefix_state=b"",
            limits=BranchLimits(iterations=1, steps=1, milliseconds=work_ms),
            expires_ms=lease.expires_ms,
        )
        sealed = self.replica._witness.identity.artefact(KIND_ASSIGNMENT, lease.id, assignment)
        await self.desk.keep(lease, sealed.envelope)
        return lease

    async def stored(self, lease: Lease) -> LeaseRecord:
        """The lease as it is stored."""
        record = await self.store.lease(lease.id)
        assert record is not None
        return record

    async def news(self) -> list[str]:
        """The kinds of all entries of the feed about leases, oldest first."""
        changes = (await self.store.feed(after=0, limit=100)).changes
        return [change.kind.value for change in changes if change.kind.value.startswith("lease.")]

    def in_tree(self, branch: bytes) -> LeaseEntry:
        """What the own share says of a branch."""
        return self.replica.own._leases[branch]


@pytest.fixture
async def desk() -> Desk:
    return Desk(await new_replica())


async def test_a_lease_that_is_kept_is_in_book_tree_store_and_feed(desk: Desk) -> None:
    now_ms = desk.clock.now_ms()
    lease = await desk.granted(desk.one)
    assert (lease.branch, lease.worker, lease.term) == (desk.one, BRUNO, 1)
    assert (lease.expires_ms, lease.latest_ms) == (now_ms + 1_000, now_ms + 4_000)
    assert desk.desk.live() == [lease]
    assert (desk.desk.live_of(BRUNO), desk.desk.live_of(CARLA)) == ([lease], [])
    assert desk.desk.branches == {desk.one}
    record = await desk.stored(lease)
    assert (record.search, record.branch, record.worker) == (desk.replica.spec.id, desk.one, BRUNO)
    assert (record.status, record.expires_ms, record.caller) == ("live", lease.expires_ms, "agent:helper")
    assert (record.result, record.spend) == (b"", Spend())
    assert desk.replica.tree.leases() == {desk.one: LeaseEntry(worker=BRUNO, lease=lease.id, term=1, live=True)}
    assert await desk.news() == ["lease.granted"]
    with pytest.raises(MeshError) as busy:
        desk.desk.grant(desk.one, CARLA, 1, 1)
    assert busy.value.code == "lease.busy"


async def test_a_lease_that_ended_before_it_was_kept_is_stored_as_over_and_was_never_granted(desk: Desk) -> None:
    lease = desk.desk.grant(desk.one, BRUNO, 1_000, 3_000)
    await desk.desk.end(lease.id, Event.EXPIRE)
    assert (await desk.desk.keep(lease, b"sealed")).status == "expired"
    assert (await desk.stored(lease)).assignment == b"sealed"
    assert await desk.news() == []
    assert not desk.in_tree(desk.one).live


async def test_a_renewal_moves_the_end_and_counts_the_cost_but_never_beyond_the_latest_end(desk: Desk) -> None:
    lease = await desk.granted(desk.one)
    desk.clock.ahead_ms += 500
    spend = Spend(iterations=1, steps=5, milliseconds=9)
    renewed = await desk.desk.renew(lease.id, BRUNO, 1_000, spend)
    assert renewed.expires_ms == lease.expires_ms + 500
    record = await desk.stored(lease)
    assert (record.status, record.expires_ms, record.spend) == ("live", renewed.expires_ms, spend)
    assert (await desk.desk.renew(lease.id, BRUNO, 60_000, Spend())).expires_ms == lease.latest_ms
    assert (await desk.stored(lease)).spend == spend, "what is counted never falls"
    for worker, late_ms in ((CARLA, 0), (BRUNO, 5_000)):
        desk.clock.ahead_ms += late_ms
        with pytest.raises(MeshError) as refused:
            await desk.desk.renew(lease.id, worker, 1_000, Spend(steps=99))
        assert refused.value.code == "lease.unknown"
    assert (await desk.stored(lease)).spend == spend
    assert await desk.news() == ["lease.granted"]


async def test_of_several_reports_the_largest_of_each_number_is_kept(desk: Desk) -> None:
    lease = await desk.granted(desk.one)
    await desk.desk.renew(lease.id, BRUNO, 1_000, Spend(iterations=3, steps=1, milliseconds=1))
    desk.desk.note_spend(lease.id, Spend(iterations=1, steps=7, milliseconds=1))
    await desk.desk.end(lease.id, Event.RESULT, b"result", Spend(iterations=1, steps=1, milliseconds=9))
    record = await desk.stored(lease)
    assert (record.status, record.result) == ("done", b"result")
    assert record.spend == Spend(iterations=3, steps=7, milliseconds=9)


async def test_what_was_noted_is_stored_with_the_end_of_a_lease_and_once(desk: Desk) -> None:
    lease, second = await desk.granted(desk.one), await desk.granted(desk.other)
    desk.desk.note_spend(lease.id, Spend(steps=7))
    assert (await desk.stored(lease)).spend == Spend()
    await desk.desk.end(lease.id, Event.REVOKE)
    assert (await desk.stored(lease)).spend == Spend(steps=7)
    assert (await desk.stored(second)).spend == Spend()
    assert desk.desk._spend == {}
    assert (await desk.stored(lease)).status == "revoked"
    assert not desk.in_tree(desk.one).live
    assert desk.desk.live() == [second]
    assert await desk.news() == ["lease.granted", "lease.granted", "lease.ended"]


async def test_a_lease_ends_once_and_a_late_result_is_kept_beside_its_end(desk: Desk) -> None:
    lease = await desk.granted(desk.one)
    await desk.desk.end(lease.id, Event.EXPIRE)
    before = await desk.stored(lease)
    await desk.desk.end(lease.id, Event.REVOKE, spend=Spend(steps=1))
    assert await desk.stored(lease) == before
    await desk.desk.end(lease.id, Event.RESULT, b"late", Spend(steps=1))
    assert await desk.stored(lease) == msgspec.structs.replace(before, result=b"late", spend=Spend(steps=1))
    await desk.desk.end(lease.id, Event.RESULT, b"", Spend(steps=5))
    assert (await desk.stored(lease)).result == b"late"
    assert await desk.news() == ["lease.granted", "lease.ended"]


async def test_a_result_for_a_lease_of_an_earlier_process_is_kept_and_its_status_stays(desk: Desk) -> None:
    lease = await desk.granted(desk.one)
    await desk.desk.end(lease.id, Event.EXPIRE)
    again = desk.again()
    await again.end(lease.id, Event.RESULT, b"late", Spend(steps=2))
    record = await desk.stored(lease)
    assert (record.status, record.result, record.spend) == ("expired", b"late", Spend(steps=2))
    await again.end("lea-AAAAAAAAAAAAAAAAAAAB6", Event.RESULT, b"of nobody")
    assert await desk.store.lease("lea-AAAAAAAAAAAAAAAAAAAB6") is None


async def test_leases_whose_time_is_over_end_but_for_those_of_one_worker(desk: Desk) -> None:
    mine, theirs = await desk.granted(desk.one, CARLA), await desk.granted(desk.other, BRUNO)
    later = await desk.granted(desk.replica.root, BRUNO, lifetime_ms=1_001)
    desk.clock.ahead_ms += 999
    assert await desk.desk.expire_due(but=CARLA) == []
    desk.clock.ahead_ms += 1
    (over,) = await desk.desk.expire_due(but=CARLA)
    assert (over.id, over.live) == (theirs.id, False)
    assert (await desk.stored(theirs)).status == "expired"
    assert not desk.in_tree(desk.other).live
    assert {lease.id for lease in desk.desk.live()} == {mine.id, later.id}
    assert [(await desk.stored(lease)).status for lease in (mine, later)] == ["live", "live"]


async def test_after_a_restart_the_live_leases_are_live_again_until_the_same_time(desk: Desk) -> None:
    over = await desk.granted(desk.one)
    await desk.desk.end(over.id, Event.REVOKE)
    lease = await desk.granted(desk.one, lifetime_ms=2_000)
    desk.clock.ahead_ms += 500
    again = desk.again()
    (found,) = await again.recall()
    assert (found.id, found.branch, found.worker) == (lease.id, desk.one, BRUNO)
    assert (found.expires_ms, found.latest_ms) == (lease.expires_ms, lease.expires_ms + 3_000)
    assert again.live() == [found]
    assert (await again.renew(lease.id, BRUNO, 60_000, Spend())).expires_ms == lease.expires_ms + 3_000


async def test_a_lease_that_ran_out_while_the_node_was_away_ends_at_once(desk: Desk) -> None:
    lease = await desk.granted(desk.one)
    desk.clock.ahead_ms += 5_000
    again = desk.again()
    (found,) = await again.recall()
    assert found.expires_ms == lease.expires_ms + 3_000, "its latest end is over too"
    assert [each.id for each in await again.expire_due(but="")] == [lease.id]


async def test_of_two_live_leases_for_one_branch_the_newer_one_stays(desk: Desk) -> None:
    older = await desk.granted(desk.one)
    desk.desk = desk.again()
    newer = await desk.granted(desk.one, CARLA)
    again = desk.again()
    assert [lease.id for lease in await again.recall()] == [newer.id]
    assert [(await desk.stored(lease)).status for lease in (older, newer)] == ["expired", "live"]
    assert await desk.news() == ["lease.granted", "lease.granted", "lease.ended"]


async def test_a_lease_that_is_live_in_the_tree_alone_ends_there(desk: Desk) -> None:
    lease = await desk.granted(desk.one)
    lost = LeaseEntry(worker=BRUNO, lease="lea-AAAAAAAAAAAAAAAAAAAB6", term=3, live=True)
    desk.replica.own.note_lease(desk.other, lost)
    await desk.again().recall()
    assert desk.in_tree(desk.other) == msgspec.structs.replace(lost, live=False)
    assert desk.in_tree(desk.one) == lease.entry()


async def test_a_tree_is_told_of_a_lease_before_anybody_else_is(desk: Desk) -> None:
    replica = desk.replica
    await desk.granted(desk.one)
    read = Replica(replica.spec, replica._witness, replica._store, TreeWriter)
    await read.read(lambda *named: replica._witness.identity.key.verify_key, {})
    assert set(read.tree.leases()) == {desk.one}


def test_the_latest_end_is_the_first_expiry_and_the_time_of_the_work() -> None:
    assignment = Assignment(
        search="sea-AAAAAAAAAAAAAAAAAAAAA",
        lease="lea-AAAAAAAAAAAAAAAAAAAB6",
        branch=bytes(16),
        prefix=(),
        prefix_state=b"",
        limits=BranchLimits(iterations=1, steps=1, milliseconds=300),
        expires_ms=1_000,
    )
    assert latest_end_ms(assignment) == 1_300
