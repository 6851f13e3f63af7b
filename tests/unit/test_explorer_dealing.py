"""Who gets which branch next, how it is told, and who rests for how long."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from adapters.search.writer import TreeWriter
from node.base.tasks import Tasks
from node.explorer.coordinating.claims import Claims
from node.explorer.coordinating.dealing import Dealing
from node.explorer.coordinating.diligence import Diligence
from node.explorer.coordinating.lease_desk import LeaseDesk
from node.explorer.progress import Progress
from node.explorer.sharing.replica import Replica
from node.explorer.sharing.visit import Visit
from protocol import limits
from protocol.errors import MeshError
from protocol.goal.heuristics import Candidate
from protocol.messages import KIND_SEARCH, Assignment, BranchLimits, Done
from protocol.page.actions.action import Click, Locator
from protocol.search.lease import Event, Lease
from protocol.trust.grants import parse_grants
from tests.mesh_memory import MemoryNode, Script, memory_mesh
from tests.mesh_searches import scripted
from tests.trees import node
from tests.unit.test_explorer_refusals import _spec

pytestmark = pytest.mark.virtual_time
STATE = b"\x07" * 16


class Table:
    """What deals, with a hand on every part of it."""

    def __init__(self, anna: MemoryNode, *others: MemoryNode) -> None:
        self.anna, self.clock, self.spec = anna, anna.mesh.clock, _spec(anna, *others)
        self.replica = Replica(self.spec, anna.witness, anna.store, TreeWriter)
        self.progress = Progress(limit_ms=10_000)
        self.desk = LeaseDesk(self.replica, anna.store, self.clock, caller="owner")
        self.diligence = Diligence(self.progress, self.replica)
        self.told: list[dict[str, Any]] = []
        self.worked: list[tuple[Lease, Assignment]] = []
        self.tasks, self.wake = Tasks(), asyncio.Event()
        self.claims = Claims(self.progress, self.clock, self._verify, self.told.append, anna.id, anna.witness.feed)
        self.dealing = Dealing(
            anna.identity.artefact(KIND_SEARCH, self.spec.id, self.spec).envelope,
            self.replica,
            progress=self.progress,
            desk=self.desk,
            claims=self.claims,
            diligence=self.diligence,
            witness=anna.witness,
            calls=anna.calls,
            clock=self.clock,
            config=anna.config,
            tasks=self.tasks,
            wake=self.wake,
            tell=self.told.append,
            work=self._work,
        )

    async def _verify(self, path: tuple[bytes, ...], worker: str) -> None:
        """No claim holds here."""

    async def _work(self, lease: Lease, assignment: Assignment) -> None:
        self.worked.append((lease, assignment))

    async def deal(self) -> list[tuple[str, bytes]]:
        """One turn: who has which branch after it, of those that had none before."""
        before = {lease.id for lease in self.desk.live()}
        await self.dealing.deal(self.clock.now_ms())
        live = [lease for lease in self.desk.live() if lease.id not in before]
        await asyncio.gather(*self.tasks._running)
        return sorted((lease.worker, lease.branch) for lease in live)

    async def name(self, parent: bytes, **priors: float) -> list[bytes]:
        """Name actions below ``parent``, with their priors; their keys."""
        actions = {name: Click(target=Locator(role="link", name=name)) for name in priors}
        found = [Candidate(action=actions[name], prior=prior, risk=1) for name, prior in priors.items()]
        self.replica.own.add_children(parent, found)
        await self.replica.flush()
        return [node(name, parent).key for name in priors]

    async def visit(self, *path: bytes, value: float = 0.1) -> None:
        """Count one visit on this way."""
        self.replica.own.record(Visit(path=path, value=value, cost_ms=0, states=dict.fromkeys(path, STATE)))
        await self.replica.flush()

    async def close(self, key: bytes) -> None:
        """Nothing is left to try there."""
        self.replica.own.close_node(key)
        await self.replica.flush()


@contextlib.asynccontextmanager
async def _table(*names: str, workers: int = 0, **explore: Any) -> AsyncIterator[tuple[Table, list[MemoryNode]]]:
    async with memory_mesh("anna", *names, workers=workers, **explore) as (anna, *others):
        table = Table(anna, *others)
        await table.replica.load(anna.peers.find_key, anna.peers.genesis_keys())
        yield table, others
        await table.tasks.close()


def _refusing(other: MemoryNode, code: str) -> Script:
    script = scripted(other)

    async def refuse(caller: str, ask: Any) -> Done:
        raise MeshError(code)

    other.api.serve("branch/assign", refuse)
    return script


# --- branches --------------------------------------------------------------------------------------------------------


async def test_the_only_worker_of_a_search_gets_the_whole_tree_as_long_as_something_is_left() -> None:
    async with _table(workers=1) as (table, _):
        root = table.replica.root
        (one,) = await table.name(root, one=0.2)
        await table.visit(one)
        assert await table.deal() == [(table.anna.id, root)]
        for lease in table.desk.live():
            await table.desk.end(lease.id, Event.EXPIRE)
        await table.close(one)
        assert await table.deal() == []


async def test_the_start_page_is_dealt_first_and_to_one_worker_only() -> None:
    async with _table("bruno", workers=2) as (table, (bruno,)):
        scripted(bruno)
        root = table.replica.root
        assert await table.deal() == [(table.anna.id, root)]
        assert await table.deal() == []
        assert table.dealing.anything_left()
        await table.visit()
        await table.close(root)
        assert not table.dealing.anything_left()


async def test_in_the_first_half_the_children_of_the_start_page_are_dealt_by_prior_and_visited_ones_not_again() -> None:
    async with _table(workers=3) as (table, _):
        low, high, middle, closed = await table.name(table.replica.root, low=0.1, high=0.6, middle=0.2, closed=0.05)
        await table.close(closed)
        table.progress.used_ms = 4_999
        await table.visit(high)
        assert await table.deal() == sorted([(table.anna.id, middle), (table.anna.id, low), (table.anna.id, high)])
        assert [lease.branch for lease, _ in table.worked] == [middle, low, high]


async def test_in_the_second_half_the_most_promising_is_dealt_also_where_others_were_not_tried() -> None:
    async with _table("bruno", workers=1) as (table, (bruno,)):
        table.dealing.rest(bruno.id, 3_600)
        one, _ = await table.name(table.replica.root, one=0.2, other=0.1)
        (below,) = await table.name(one, below=0.5)
        (deeper,) = await table.name(below, deeper=0.5)
        for _ in range(4):
            await table.visit(one, below, deeper, value=1.0)
        table.progress.used_ms = 5_000
        assert await table.deal() == [(table.anna.id, below)], "two levels down and not deeper"


@pytest.mark.parametrize(
    ("leased", "wanted"),
    [
        ((), 2),
        ((2,), 1),
        ((1,), 2),
        ((1, 2), 3),
        ((1, 2, 3), None),
    ],
    ids=str,
)
async def test_where_the_best_branch_is_leased_the_nearest_on_the_same_way_is_dealt(
    leased: tuple[int, ...], wanted: int | None
) -> None:
    async with _table("bruno", workers=1) as (table, (bruno,)):
        table.dealing.rest(bruno.id, 3_600)
        way = [table.replica.root]
        for name in ("one", "two", "three"):
            way += await table.name(way[-1], **{name: 0.5})
        await table.visit(*way[1:])
        table.progress.used_ms = 9_000
        for depth in leased:
            table.desk.grant(way[depth], "SOMEBODY", 60_000, 60_000)
        assert [branch for _, branch in await table.deal()] == ([way[wanted]] if wanted else [])


async def test_nothing_is_dealt_where_everything_is_closed_and_nothing_is_left_then() -> None:
    async with _table(workers=1) as (table, _):
        (one,) = await table.name(table.replica.root, one=0.2)
        assert table.dealing.anything_left()
        await table.close(one)
        assert (await table.deal(), table.dealing.anything_left()) == ([], False)


async def test_while_a_claim_is_judged_nothing_is_dealt() -> None:
    async with _table(workers=1) as (table, _):
        table.claims.open = 1
        assert await table.deal() == []
        table.claims.open = 0
        assert len(await table.deal()) == 1


async def test_an_assignment_says_where_to_how_long_and_how_far() -> None:
    async with _table("bruno", workers=1, lease_seconds=7, lease_iterations=5) as (table, (bruno,)):
        table.dealing.rest(bruno.id, 3_600)
        (one,) = await table.name(table.replica.root, one=0.2)
        (two,) = await table.name(one, two=0.2)
        await table.visit(one, two)
        table.progress.used_ms = 9_000
        began_ms = table.clock.now_ms()
        await table.deal()
        ((lease, assignment),) = table.worked
        assert assignment == Assignment(
            search=table.spec.id,
            lease=lease.id,
            branch=two,
            prefix=(node("one").action, node("two").action),
            prefix_state=STATE,
            limits=BranchLimits(iterations=5, steps=80, milliseconds=21_000),
            expires_ms=began_ms + 7_000,
        )
        assert (lease.branch, lease.latest_ms) == (two, began_ms + 28_000)
        assert table.progress.branches == 1
        record = await table.anna.store.lease(lease.id)
        assert record is not None
        assert (record.status, record.worker, record.branch, record.expires_ms, record.caller) == (
            "live",
            table.anna.id,
            two,
            began_ms + 7_000,
            "owner",
        )


# --- workers ---------------------------------------------------------------------------------------------------------


async def test_this_node_has_as_many_branches_as_workers_and_every_peer_that_may_one() -> None:
    async with _table("bruno", "carla", workers=2) as (table, (bruno, carla)):
        scripts = [scripted(bruno), scripted(carla)]
        await table.name(table.replica.root, **{f"link {letter}": 0.1 for letter in "abcdef"})
        assert [worker for worker, _ in await table.deal()] == sorted([table.anna.id] * 2 + [bruno.id, carla.id])
        assert [lease.worker for lease, _ in table.worked] == [table.anna.id] * 2
        assert [len(script.of("branch/assign")) for script in scripts] == [1, 1]
        assert await table.deal() == []
        (lease,) = table.desk.live_of(bruno.id)
        await table.desk.end(lease.id, Event.EXPIRE)
        assert [worker for worker, _ in await table.deal()] == [bruno.id]
        assert [len(script.of("search/open")) for script in scripts] == [1, 1], "it is opened once"
        assert table.progress.branches == 5


async def test_who_may_not_accept_is_expelled_lies_or_is_idle_gets_no_branch() -> None:
    async with _table("bruno", "carla", "dora", "emil") as (table, (bruno, carla, dora, emil)):
        scripts = [scripted(each) for each in (bruno, carla, dora, emil)]
        await table.name(table.replica.root, **{f"link {letter}": 0.1 for letter in "abcdef"})
        await table.anna.mesh.pair(table.anna, bruno, parse_grants("deltas:read"))
        table.replica.expelled[carla.id] = "peer.unknown"
        assert table.dealing.others() == [bruno.id, dora.id, emil.id]
        table.progress.claims_false[dora.id] = limits.FALSE_CLAIMS_PER_PEER_MAX
        table.progress.leases_empty[emil.id] = limits.EMPTY_LEASES_PER_PEER_MAX
        assert await table.deal() == []
        assert [script.of("branch/assign") for script in scripts] == [[]] * 4
        table.progress.claims_false[dora.id] -= 1
        table.progress.leases_empty[emil.id] -= 1
        assert [worker for worker, _ in await table.deal()] == sorted([dora.id, emil.id])


async def test_who_rests_gets_no_branch_until_its_rest_is_over() -> None:
    async with _table("bruno") as (table, (bruno,)):
        scripted(bruno)
        await table.name(table.replica.root, one=0.1)
        assert table.dealing.rests_s(bruno.id) <= 0
        table.dealing.rest(bruno.id)
        assert table.dealing.rests_s(bruno.id) == 3.0
        assert await table.deal() == []
        table.clock.ahead_ms += 2_999
        assert await table.deal() == []
        table.clock.ahead_ms += 1
        assert [worker for worker, _ in await table.deal()] == [bruno.id]
        table.dealing.rest(bruno.id, 1.5)
        assert table.dealing.rests_s(bruno.id) == 1.5


@pytest.mark.parametrize(
    ("code", "seconds"),
    [("lease.busy", 3), ("policy.refused", 60), ("peer.scope", 60), ("peer.unknown", 60), ("peer.version", 60)],
)
async def test_a_peer_that_takes_no_branch_rests_and_its_branch_is_free_again(code: str, seconds: int) -> None:
    async with _table("bruno") as (table, (bruno,)):
        script = _refusing(bruno, code)
        (one,) = await table.name(table.replica.root, one=0.1)
        assert await table.deal() == [(bruno.id, one)]
        assert seconds - 1 < table.dealing.rests_s(bruno.id) <= seconds
        assert (table.told, table.wake.is_set()) == ([{"peer": bruno.id, "error": code}], True)
        assert table.desk.live() == []
        assert [lease.status for lease in await table.anna.store.leases(table.spec.id)] == ["expired"]
        table.clock.ahead_ms += seconds * 1000
        await table.deal()
        assert len(script.of("search/open")) == 2, "it is told of the search again"


async def test_a_peer_that_fell_silent_rests_and_is_told_of_the_search_again() -> None:
    async with _table("bruno") as (table, (bruno,)):
        script = scripted(bruno)
        await table.name(table.replica.root, one=0.1)
        ((_, _),) = await table.deal()
        (lease,) = table.desk.live()
        await table.desk.end(lease.id, Event.EXPIRE)
        table.dealing.fell_silent(bruno.id)
        assert table.dealing.rests_s(bruno.id) == 3.0
        table.clock.ahead_ms += 3_000
        await table.deal()
        assert [name for name, _ in script.got] == ["search/open", "branch/assign"] * 2


async def test_a_lease_that_ends_while_it_is_signed_is_not_sent() -> None:
    async with _table("bruno") as (table, (bruno,)):
        script = scripted(bruno)
        await table.name(table.replica.root, one=0.1)
        signs = table.anna.witness.artefact

        async def slowly(*named: Any) -> Any:
            for lease in table.desk.live():
                await table.desk.end(lease.id, Event.REVOKE)
            return await signs(*named)

        table.anna.witness.artefact = slowly  # type: ignore[method-assign, assignment]
        assert await table.deal() == []
        assert (script.got, table.progress.branches) == ([], 1)


# --- diligence -------------------------------------------------------------------------------------------------------


async def test_each_lease_in_a_row_without_a_delta_costs_more_and_a_delta_makes_up_for_all() -> None:
    async with _table() as (table, _):
        me, diligence = table.anna.id, table.diligence
        waits = [diligence.returned(me) for _ in range(5)]
        assert waits == [0.0, 3.0, 6.0, 12.0, 24.0]
        assert table.progress.leases_empty == {me: 5}
        assert diligence.is_idle(me)
        assert not diligence.made_up(me)
        await table.visit()
        assert diligence.made_up(me)
        assert (table.progress.leases_empty, diligence.is_idle(me)) == ({}, False)
        assert table.progress.deltas_seen == {me: table.replica.have(me)}
        table.progress.leases_empty[me] = limits.EMPTY_LEASES_PER_PEER_MAX - 1
        assert not diligence.is_idle(me)
