"""The node that leads a search: its turns, what it shows of them, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from adapters.ports.records import LeaseRecord, SearchRecord
from adapters.search.writer import TreeWriter
from node.explorer.coordinating.coordinator import AfterIteration, Coordinator
from node.explorer.progress import Progress, VerifiedSuccess
from node.explorer.sharing.log_proofs import LogProofs
from node.explorer.sharing.replica import Replica
from node.explorer.sharing.visit import Visit
from protocol.errors import MeshError
from protocol.goal.heuristics import Candidate
from protocol.messages import KIND_RESULT, KIND_SEARCH, Assignment, BranchResult, Done, Spend
from protocol.page.actions.action import Click, Locator
from protocol.search.lease import Event
from protocol.wire import cbor
from tests.mesh_memory import MemoryNode, memory_mesh, until
from tests.mesh_searches import scripted
from tests.trees import node
from tests.unit.test_explorer_refusals import _spec

pytestmark = pytest.mark.virtual_time


class Lead:
    """A coordinator over a running node, with every part of it at hand; its browser work and replays are told here."""

    def __init__(self, anna: MemoryNode, *others: MemoryNode, seconds: int = 60, state: bytes = b"") -> None:
        self.anna, self.clock, self.spec = anna, anna.mesh.clock, _spec(anna, *others, seconds=seconds)
        self.clock._factor = 1.0
        self.replica = Replica(self.spec, anna.witness, anna.store, TreeWriter)
        self.told: list[dict[str, Any]] = []
        self.demanded: list[str] = []
        self.demand_error = ""
        self.verdict: VerifiedSuccess | str | None = None
        self.replayed: list[tuple[bytes, ...]] = []
        self.work: Callable[[Assignment, AfterIteration], Any] = self._never
        record = SearchRecord(
            id=self.spec.id,
            coordinator=anna.id,
            status="running",
            created_ms=self.clock.now_ms(),
            updated_ms=self.clock.now_ms(),
            spec=anna.identity.artefact(KIND_SEARCH, self.spec.id, self.spec).envelope,
            state=state,
            caller="owner",
        )
        self.coordinator = Coordinator(
            record,
            self.spec,
            self.replica,
            witness=anna.witness,
            calls=anna.calls,
            store=anna.store,
            clock=self.clock,
            config=anna.config,
            verify_claim=self._verify,
            work_locally=self._work,
            proofs=LogProofs(self._demand, self.clock),
            tell=self.told.append,
        )

    @staticmethod
    async def _never(assignment: Assignment, after: AfterIteration) -> None:
        await asyncio.Event().wait()

    async def _work(self, assignment: Assignment, after: AfterIteration) -> BranchResult:
        result: BranchResult = await self.work(assignment, after)
        return result

    async def _verify(self, path: tuple[bytes, ...], worker: str) -> VerifiedSuccess | None:
        self.replayed.append(path)
        if isinstance(self.verdict, str):
            raise MeshError(self.verdict)
        return self.verdict

    async def _demand(self, node: str, digest: bytes) -> None:
        self.demanded.append(node)
        await asyncio.sleep(0.01)
        if self.demand_error:
            raise MeshError(self.demand_error)

    @property
    def progress(self) -> Progress:
        """What it has counted."""
        return self.coordinator.progress

    def begin(self) -> asyncio.Task[SearchRecord]:
        """Let it run."""
        return asyncio.create_task(self.coordinator.run())

    async def lease_of(self, worker: MemoryNode) -> LeaseRecord:
        """The live lease of a worker, once there is one in the store."""

        async def live() -> list[LeaseRecord]:
            leases = await self.anna.store.leases(self.spec.id, status="live")
            return [lease for lease in leases if lease.worker == worker.id]

        (found,) = await until(live, "a lease")
        assert isinstance(found, LeaseRecord)
        return found

    async def stored(self, lease: LeaseRecord) -> LeaseRecord:
        """The lease as it is stored now."""
        found = await self.anna.store.lease(lease.id)
        assert found is not None
        return found

    async def take(self, worker: MemoryNode, held: LeaseRecord, outcome: str = "spent", **fields: Any) -> None:
        """Hand in a result of ``worker`` for a lease."""
        given = {"search": self.spec.id, "branch": held.branch, "spend": Spend(), "lease": held.id} | fields
        result = BranchResult(outcome=outcome, **given)  # type: ignore[arg-type]
        sealed = worker.identity.artefact(KIND_RESULT, held.id, result).envelope
        await self.coordinator.take_result(worker.id, result, sealed)

    def shown(self) -> list[dict[str, Any]]:
        """What was told of its progress."""
        return [event for event in self.told if "of_seconds" in event]

    async def news(self) -> list[str]:
        """The kinds of all entries of the feed, oldest first."""
        return [change.kind.value for change in (await self.anna.store.feed(after=0, limit=200)).changes]


@contextlib.asynccontextmanager
async def lead(*names: str, workers: int = 0, seconds: int = 60, **explore: Any) -> AsyncIterator[Any]:
    """A coordinator that has loaded its tree and does not run yet, and the other nodes, which are scripts."""
    async with memory_mesh("anna", *names, workers=workers, **explore) as (anna, *others):
        for other in others:
            scripted(other)
        leading = Lead(anna, *others, seconds=seconds)
        await leading.replica.load(anna.peers.find_key, anna.peers.genesis_keys())
        yield leading, *others


async def ended(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


# --- turns and end ---------------------------------------------------------------------------------------------------


async def test_the_time_runs_out_and_progress_is_told_every_two_seconds() -> None:
    async with lead("bruno", seconds=10, lease_seconds=600) as (leading, _):
        found = await leading.begin()
        assert [event["seconds"] for event in leading.shown()] == [0, 2, 4, 6, 8, 10]
        assert (found.status, leading.progress.used_ms, leading.progress.error) == (
            "failed",
            10_000,
            "search.not_found_goal",
        )
        stored = await leading.anna.store.search(leading.spec.id)
        assert stored == found
        assert cbor.decode_as(found.state, Progress) == leading.progress
        assert found.updated_ms == leading.clock.now_ms()
        assert [lease.status for lease in await leading.anna.store.leases(leading.spec.id)] == ["revoked"]
        assert await leading.news() == ["lease.granted", "lease.ended", "search.ended"]


async def test_the_snapshot_of_a_search_shows_where_it_stands() -> None:
    async with lead("bruno", seconds=30) as (leading, bruno):
        leading.progress.used_ms, leading.progress.branches, leading.progress.claims = 2_999, 4, 1
        leading.replica.own.record(Visit(path=(), value=0.25, cost_ms=1))
        await leading.replica.flush()
        wanted = {
            "search": leading.spec.id,
            "seconds": 2,
            "of_seconds": 30,
            "branches": 4,
            "live_leases": 0,
            "nodes": 1,
            "visits": {leading.anna.id: 1},
            "best": 0.25,
            "claims": 1,
            "verified": False,
        }
        assert leading.coordinator.snapshot() == wanted
        leading.coordinator._desk.grant(leading.replica.root, bruno.id, 1, 1)
        leading.progress.verified = VerifiedSuccess(session="s", path=(), claimed_by=bruno.id)
        assert leading.coordinator.snapshot() == wanted | {"live_leases": 1, "verified": True}


async def test_a_clock_that_is_set_back_takes_no_time_from_a_search_and_gives_none() -> None:
    async with lead("bruno", seconds=5, lease_seconds=600) as (leading, _):
        task = leading.begin()
        await until(lambda: leading.progress.used_ms >= 1_000, "a second")
        before_ms = leading.progress.used_ms
        leading.clock.ahead_ms -= 100_000
        await until(lambda: leading.progress.used_ms > before_ms, "it goes on")
        assert leading.progress.used_ms <= before_ms + 500
        await task
        assert leading.progress.used_ms < 5_500


async def test_a_search_in_which_nothing_is_left_ends_and_its_peers_are_told() -> None:
    async with lead("bruno", workers=1) as (leading, bruno):
        script = scripted(bruno)

        async def close(assignment: Assignment, after: AfterIteration) -> BranchResult:
            action = Click(target=Locator(role="link", name="one"))
            leading.replica.own.add_children(assignment.branch, [Candidate(action=action, prior=1.0, risk=1)])
            leading.replica.own.close_node(node("one", assignment.branch).key)
            await leading.replica.flush()
            assert await after(Spend(steps=3))
            return BranchResult(
                search=assignment.search,
                lease=assignment.lease,
                branch=assignment.branch,
                outcome="closed",
                spend=Spend(steps=5),
            )

        leading.work = close
        found = await leading.begin()
        assert (found.status, leading.progress.error) == ("failed", "search.exhausted")
        assert leading.progress.used_ms < 1_000
        (lease,) = await leading.anna.store.leases(leading.spec.id)
        assert (lease.status, lease.spend, lease.worker) == ("done", Spend(steps=5), leading.anna.id)
        assert lease.result
        assert [name for name, _ in script.got] == ["search/close"]
        assert leading.demanded == [], "nobody proves anything to itself"
        assert leading.progress.leases_empty == {}


async def test_an_end_that_has_a_reason_keeps_it() -> None:
    async with lead(seconds=1) as (leading,):
        leading.progress.error = "search.full"
        await leading.begin()
        assert leading.progress.error == "search.full"


async def test_a_peer_that_does_not_answer_is_waited_for_five_seconds_at_the_end() -> None:
    async with lead("bruno", seconds=1) as (leading, bruno):

        async def never(caller: str, ask: Any) -> Done:
            await asyncio.Event().wait()
            return Done()

        bruno.api.serve("search/close", never)
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        await leading.begin()
        assert 6.0 <= loop.time() - began_s < 6.5


async def test_work_of_this_node_that_fails_frees_its_branch_and_is_told() -> None:
    async with lead(workers=1) as (leading,):

        async def fail(assignment: Assignment, after: AfterIteration) -> BranchResult:
            await after(Spend(steps=2))
            raise MeshError("browser.crashed")

        leading.work = fail
        task = leading.begin()
        await until(lambda: {"peer": leading.anna.id, "error": "browser.crashed"} in leading.told, "it is told")
        (lease,) = await leading.anna.store.leases(leading.spec.id)
        assert (lease.status, lease.spend) == ("expired", Spend(steps=2))
        assert leading.coordinator._dealing.rests_s(leading.anna.id) > 2
        assert leading.progress.branches == 1
        leading.clock.ahead_ms += 3_000
        await until(lambda: leading.progress.branches == 2, "it is dealt again")
        await ended(task)


async def test_own_work_does_not_expire_and_that_of_a_silent_peer_does() -> None:
    async with lead("bruno", workers=1, lease_seconds=2) as (leading, bruno):
        leading.replica.own.add_children(leading.replica.root, [])
        task = leading.begin()
        mine = await leading.lease_of(leading.anna)
        await leading.coordinator._desk.end(mine.id, Event.EXPIRE)
        leading.coordinator._dealing.rest(leading.anna.id, 1_000)
        theirs = await leading.lease_of(bruno)
        assert leading.progress.reassigned == 0
        leading.clock.ahead_ms += 2_000
        await until(lambda: leading.progress.reassigned == 1, "it is over")
        assert (await leading.stored(theirs)).status == "expired"
        assert {"peer": bruno.id, "lease_expired": theirs.id} in leading.told
        assert leading.coordinator._dealing.rests_s(bruno.id) > 2
        leading.coordinator._dealing.rest(bruno.id, 1_000)
        leading.coordinator._dealing.rest(leading.anna.id, 0)
        again = await leading.lease_of(leading.anna)
        leading.clock.ahead_ms += 20_000
        await leading.clock.sleep(1)
        assert (await leading.stored(again)).status == "live"
        assert leading.progress.reassigned == 1
        await ended(task)
