"""The leases that a node works on for another: which it accepts, how it renews and ends them, and how results are returned."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from adapters.ports.records import LeaseRecord
from adapters.search.writer import TreeWriter
from node.explorer.sharing.log_proofs import LogProofs
from node.explorer.sharing.replica import Replica
from node.explorer.working.branch_work import AfterIteration, BranchWork
from protocol import limits
from protocol.errors import MeshError
from protocol.messages import (
    KIND_ASSIGNMENT,
    KIND_RESULT,
    Assignment,
    BranchRenewed,
    BranchResult,
    Done,
    Spend,
)
from protocol.wire import cbor, envelope
from tests.mesh_memory import MemoryNode, Script, memory_mesh, until
from tests.unit.test_explorer_refusals import _assignment, _spec

pytestmark = pytest.mark.virtual_time
NEXT = "lea-AAAAAAAAAAAAAAAAAAAEY"


class Worker:
    """Bruno's work in a search of Anna's, who is a script; what comes of the browser work is told here."""

    def __init__(self, anna: MemoryNode, bruno: MemoryNode) -> None:
        self.anna, self.bruno, self.clock = anna, bruno, anna.mesh.clock
        self.clock._factor = 1.0
        self.spec = _spec(anna, bruno)
        self.script = Script(anna)
        self.script.serve("branch/return", Done())
        self.script.serve("branch/renew", BranchRenewed(live=True, expires_ms=1))
        self.replica = Replica(self.spec, bruno.witness, bruno.store, TreeWriter)
        self.begun: list[Assignment] = []
        self.explore: Callable[[Assignment, AfterIteration], Any] = self._never
        self.demands: list[str] = []
        proofs = LogProofs(self._demand, self.clock)
        self.work = BranchWork(
            self.spec,
            bruno.witness,
            bruno.calls,
            bruno.store,
            self.clock,
            bruno.config,
            proofs,
            explore=self._explore,
        )

    @staticmethod
    async def _never(assignment: Assignment, after: AfterIteration) -> None:
        await asyncio.Event().wait()

    async def _explore(self, assignment: Assignment, after: AfterIteration) -> BranchResult:
        self.begun.append(assignment)
        result: BranchResult = await self.explore(assignment, after)
        return result

    async def _demand(self, node: str, digest: bytes) -> None:
        self.demands.append(node)

    async def accept(self, signer: MemoryNode | None = None, **fields: Any) -> Assignment:
        """Have Bruno accept an assignment."""
        given = _assignment(self.spec, self.clock, **fields)
        sealed = (signer or self.anna).identity.artefact(KIND_ASSIGNMENT, given.lease, given).envelope
        await self.work.accept(self.anna.id, sealed, self.replica)
        return given

    async def lease(self, lease: str) -> LeaseRecord:
        """The lease as Bruno has it."""
        found = await self.bruno.store.lease(lease)
        assert found is not None
        return found

    async def news(self) -> list[str]:
        """The kinds of all entries of Bruno's feed, oldest first."""
        return [change.kind.value for change in (await self.bruno.store.feed(after=0, limit=200)).changes]


@contextlib.asynccontextmanager
async def _worker(workers: int = 1) -> AsyncIterator[Worker]:
    async with memory_mesh("anna", "bruno", workers=workers) as (anna, bruno):
        worker = Worker(anna, bruno)
        await worker.replica.load(bruno.peers.find_key, bruno.peers.genesis_keys())
        yield worker
        await worker.work.close()


async def _refused(call: Any) -> tuple[str, str]:
    with pytest.raises(MeshError) as refused:
        await call
    return refused.value.code, refused.value.message


def _result(given: Assignment, **fields: Any) -> BranchResult:
    wanted: dict[str, Any] = {"outcome": "spent", "spend": Spend(steps=4)} | fields
    return BranchResult(search=given.search, lease=given.lease, branch=given.branch, **wanted)


# --- accepting -------------------------------------------------------------------------------------------------------


async def test_an_accepted_lease_is_stored_named_in_the_tree_and_worked_on() -> None:
    async with _worker() as worker:
        given = await worker.accept()
        assert worker.work.working == 1
        record = await worker.lease(given.lease)
        assert (record.search, record.branch, record.worker) == (worker.spec.id, given.branch, worker.bruno.id)
        assert (record.status, record.expires_ms, record.result) == ("live", given.expires_ms, b"")
        assert cbor.decode_as(envelope.peek(record.assignment).payload, Assignment) == given
        assert given.branch in worker.replica.own.nodes
        assert await worker.news() == ["lease.granted"]
        await until(lambda: worker.begun, "the work begins")
        assert worker.begun == [given]
        assert worker.demands == [worker.anna.id]
        await worker.accept()
        assert (worker.work.working, await worker.news()) == (1, ["lease.granted"]), "once is enough"


@pytest.mark.parametrize(
    ("fields", "code", "message"),
    [
        ({"search": "sea-AAAAAAAAAAAAAAAAAAAD2"}, "lease.unknown", "the lease belongs to another search"),
        ({"branch": bytes(16)}, "delta.invalid", "the branch does not follow from its prefix"),
    ],
)
async def test_what_is_no_lease_of_the_search_is_refused_and_not_kept(
    fields: dict[str, Any], code: str, message: str
) -> None:
    async with _worker() as worker:
        assert await _refused(worker.accept(**fields)) == (code, message)
        assert (worker.work.working, worker.begun, await worker.news()) == (0, [], [])
        assert await _refused(worker.accept(signer=worker.bruno)) == (
            "envelope.issuer",
            "an assignment is sent by its coordinator only",
        )


async def test_a_lease_is_expired_once_no_clock_within_the_skew_can_be_before_its_end() -> None:
    async with _worker(workers=2) as worker:
        now_ms = worker.clock.now_ms()
        late_ms = now_ms - limits.CLOCK_SKEW_S * 1000
        assert await _refused(worker.accept(expires_ms=late_ms)) == ("lease.unknown", "the lease has already expired")
        await worker.accept(expires_ms=late_ms + 1)
        assert worker.work.working == 1


async def test_a_node_takes_as_many_leases_as_it_has_workers_and_none_once_it_closes() -> None:
    async with _worker(workers=2) as worker:
        await worker.accept()
        await worker.accept(lease=NEXT)
        assert (await _refused(worker.accept(lease="lea-AAAAAAAAAAAAAAAAAAAFW")))[0] == "lease.busy"
        assert worker.work.working == 2
        await worker.work.close()
        assert worker.work.working == 0
        assert (await _refused(worker.accept(lease="lea-AAAAAAAAAAAAAAAAAAAFW")))[0] == "lease.busy"
        assert [each.status for each in await worker.bruno.store.leases(worker.spec.id)] == ["revoked"] * 2
    async with _worker(workers=0) as worker:
        assert await _refused(worker.accept()) == (
            "policy.refused",
            "this node explores nothing itself (explore.workers is 0)",
        )


# --- ending ----------------------------------------------------------------------------------------------------------


async def test_a_revoked_lease_ends_with_what_it_has_cost_so_far() -> None:
    async with _worker(workers=2) as worker:

        async def one(assignment: Assignment, after: AfterIteration) -> None:
            assert await after(Spend(iterations=1, steps=7))
            await asyncio.Event().wait()

        worker.explore = one
        given, other = await worker.accept(), await worker.accept(lease=NEXT)
        await until(lambda: len(worker.begun) == 2, "both begin")
        await worker.work.revoke("lea-AAAAAAAAAAAAAAAAAAAFW")
        await worker.work.revoke(given.lease)
        record = await worker.lease(given.lease)
        assert (record.status, record.spend) == ("revoked", Spend(iterations=1, steps=7))
        assert (await worker.lease(other.lease)).status == "live"
        assert worker.work.working == 1
        assert await worker.news() == ["lease.granted", "lease.granted", "lease.ended"]
        await worker.work.revoke(given.lease)
        await worker.work.close()
        await worker.work.close()
        assert (await worker.news())[3:] == ["lease.ended"]


async def test_a_lease_that_is_revoked_while_its_result_is_on_the_way_stays_done() -> None:
    async with _worker() as worker:

        async def never(caller: str, ask: Any) -> Done:
            await asyncio.Event().wait()
            return Done()

        async def at_once(assignment: Assignment, after: AfterIteration) -> BranchResult:
            return _result(assignment)

        worker.explore = at_once
        worker.anna.api.serve("branch/return", never)
        given = await worker.accept()

        async def done() -> bool:
            return (await worker.lease(given.lease)).status == "done"

        await until(done, "the result is stored")
        assert worker.work.working == 0, "its place is free already"
        record = await worker.lease(given.lease)
        await worker.work.revoke(given.lease)
        assert await worker.lease(given.lease) == record
        assert record.spend == Spend(steps=4)
        assert await worker.news() == ["lease.granted", "lease.ended"]


async def test_a_disk_that_is_full_at_the_end_does_not_keep_work_from_ending() -> None:
    async with _worker(workers=2) as worker:
        await worker.accept()
        await worker.accept(lease=NEXT)
        await until(lambda: len(worker.begun) == 2, "both begin")
        put = worker.bruno.store.put_lease

        async def full(lease: LeaseRecord, **more: Any) -> None:
            if lease.id == NEXT:
                raise MeshError("store.full")
            await put(lease, **more)

        worker.bruno.store.put_lease = full  # type: ignore[method-assign]
        await worker.work.close()
        assert worker.work.working == 0
        statuses = {each.id: each.status for each in await worker.bruno.store.leases(worker.spec.id)}
        assert sorted(statuses.values()) == ["live", "revoked"]


# --- returning -------------------------------------------------------------------------------------------------------


async def test_a_result_is_signed_stored_and_returned() -> None:
    async with _worker() as worker:

        async def at_once(assignment: Assignment, after: AfterIteration) -> BranchResult:
            return _result(assignment, outcome="closed")

        worker.explore = at_once
        given = await worker.accept()
        await until(lambda: worker.script.of("branch/return"), "it is returned")
        (told,) = worker.script.of("branch/return")
        opened = envelope.verify(told.result, kinds=frozenset({KIND_RESULT}), find_key=worker.anna.peers.find_key)
        assert opened.header.issuer == worker.bruno.id
        assert cbor.decode_as(opened.payload, BranchResult) == _result(given, outcome="closed")
        record = await worker.lease(given.lease)
        assert (record.status, record.result, record.spend) == ("done", told.result, Spend(steps=4))
        assert told.search == worker.spec.id
        await until(lambda: not worker.work._tasks, "the work has ended")
        assert (worker.work._keepers, worker.work.working) == ({}, 0)


async def test_work_that_fails_is_returned_as_failed_with_code_and_cost() -> None:
    async with _worker() as worker:

        async def fail(assignment: Assignment, after: AfterIteration) -> BranchResult:
            await after(Spend(iterations=2, steps=3))
            raise MeshError("browser.crashed")

        worker.explore = fail
        given = await worker.accept()
        await until(lambda: worker.script.of("branch/return"), "it is returned")
        sealed = worker.script.of("branch/return")[0].result
        assert cbor.decode_as(envelope.peek(sealed).payload, BranchResult) == _result(
            given, outcome="failed", error="browser.crashed", spend=Spend(iterations=2, steps=3)
        )


async def test_a_coordinator_that_cannot_take_a_result_yet_gets_it_again_after_pauses_that_double() -> None:
    async with _worker() as worker:
        tries: list[int] = []

        async def later(caller: str, ask: Any) -> Done:
            tries.append(worker.clock.now_ms())
            if len(tries) < 7:
                raise MeshError("log.unproven")
            return Done()

        async def at_once(assignment: Assignment, after: AfterIteration) -> BranchResult:
            return _result(assignment)

        worker.anna.api.serve("branch/return", later)
        worker.explore = at_once
        await worker.accept()
        await until(lambda: len(tries) == 7, "it is taken", seconds=60)
        pauses = [round((after - before) / 1000) for before, after in pairwise(tries)]
        assert pauses == [1, 2, 4, 8, 8, 8]
        await until(lambda: not worker.work._tasks, "and that was all")


async def test_a_result_that_is_refused_for_good_or_that_cannot_be_stored_is_given_up() -> None:
    async with _worker(workers=2) as worker:
        tries: list[str] = []

        async def never(caller: str, ask: Any) -> Done:
            tries.append(caller)
            raise MeshError("lease.unknown")

        async def at_once(assignment: Assignment, after: AfterIteration) -> BranchResult:
            return _result(assignment)

        worker.anna.api.serve("branch/return", never)
        worker.explore = at_once
        await worker.accept()
        await until(lambda: not worker.work._tasks, "it is given up")
        assert tries == [worker.bruno.id]

        async def full(*named: Any) -> None:
            raise MeshError("store.full")

        worker.bruno.witness.artefact = full  # type: ignore[method-assign, assignment]
        lost = await worker.accept(lease=NEXT)
        await until(lambda: not worker.work._tasks, "it is lost")
        assert len(tries) == 1
        assert (await worker.lease(lost.lease)).status == "live"


# --- renewing --------------------------------------------------------------------------------------------------------


async def test_a_lease_is_renewed_at_a_third_of_its_time_and_after_every_iteration_with_its_cost() -> None:
    async with _worker() as worker:
        asked: list[tuple[int, int]] = []
        go_on = asyncio.Event()
        began_ms = worker.clock.now_ms()

        async def renew(caller: str, ask: Any) -> BranchRenewed:
            asked.append((worker.clock.now_ms() - began_ms, ask.spend.steps))
            return BranchRenewed(live=len(asked) < 4, expires_ms=1)

        answers: list[bool] = []

        async def steps(assignment: Assignment, after: AfterIteration) -> BranchResult:
            await worker.clock.sleep(4.6)
            answers.append(await after(Spend(steps=5)))
            await go_on.wait()
            answers.append(await after(Spend(steps=6)))
            return _result(assignment)

        worker.anna.api.serve("branch/renew", renew)
        worker.explore = steps
        given = _assignment(worker.spec, worker.clock)
        work = msgspec.structs.replace(given.limits, milliseconds=18_000)
        await worker.accept(limits=work)
        await until(lambda: len(asked) == 4, "four renewals")
        assert [(round(at_ms / 1000, 1), steps) for at_ms, steps in asked] == [(2.0, 0), (4.0, 0), (4.6, 5), (6.6, 5)]
        await worker.clock.sleep(10)
        assert len(asked) == 4, "what is wanted no more is not renewed"
        go_on.set()
        await until(lambda: worker.script.of("branch/return"), "it is returned")
        assert answers == [True, False]


@pytest.mark.parametrize(("expires_in_ms", "first_s"), [(3_000, 1.0), (100, 0.5), (-5_000, 0.5)])
async def test_a_short_lease_is_renewed_in_time_but_not_without_pause(expires_in_ms: int, first_s: float) -> None:
    async with _worker() as worker:
        began_ms = worker.clock.now_ms()
        await worker.accept(expires_ms=began_ms + expires_in_ms)
        await until(lambda: worker.script.of("branch/renew"), "a renewal")
        assert first_s <= (worker.clock.now_ms() - began_ms) / 1000 < first_s + 0.1


async def test_a_coordinator_that_does_not_answer_a_renewal_is_asked_again() -> None:
    async with _worker() as worker:
        asked: list[str] = []

        async def busy(caller: str, ask: Any) -> BranchRenewed:
            asked.append(ask.lease)
            raise MeshError("store.full")

        worker.anna.api.serve("branch/renew", busy)
        given = await worker.accept(expires_ms=worker.clock.now_ms() + 3_000)
        await until(lambda: len(asked) == 3, "three of them")
        assert set(asked) == {given.lease}
        assert worker.work.working == 1
