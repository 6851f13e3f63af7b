"""A writer that tells two participants different things, and what is signed beside a log: both are found out."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator

import msgspec
import pytest

from adapters.search.writer import TreeWriter
from node.explorer.sharing.share_heads import proof_key
from protocol import limits
from protocol.errors import MeshError
from protocol.log import log_proof
from protocol.messages import (
    KIND_ASSIGNMENT,
    BranchAssign,
    DeltaBatch,
    DeltaHave,
    DeltaProof,
    DeltaPush,
    DeltaShow,
    DeltaShown,
    Done,
    LogProveAsk,
    LogProven,
    ShareHead,
)
from protocol.search.delta import KIND, encode_delta
from protocol.search.entry import Register, encode_action, make_update, root_key
from tests.mesh_memory import NEVER, MemoryNode, Script, memory_mesh, until
from tests.mesh_searches import assignment_of, give_back, has_false_claims, leases_of, scripted, search_of
from tests.unit.test_explorer_refusals import _assignment, _click, _opened, _refused
from tests.unit.test_log_exchange import TwoFaced

pytestmark = pytest.mark.virtual_time


class Storyteller:
    """A participant that writes and signs its deltas by hand, and takes part in nothing else."""

    def __init__(self, node: MemoryNode, search: str) -> None:
        self.node, self.search = node, search

    def payloads(self, *visits: int, epoch: int = 1) -> list[bytes]:
        """The payloads of a share of its own: one delta for each count of visits at the root."""
        tree = TreeWriter(self.node.identity.genesis_key, self.search, epoch)
        updates = [make_update(stats={root_key(self.search): Register(visits=count)}) for count in visits]
        return [encode_delta(delta) for update in updates for delta in tree.flush(update)]

    async def signed(self, *visits: int, logged: bool = True) -> list[bytes]:
        """These deltas, signed and, unless told otherwise, in its log."""
        sealed = []
        for payload in self.payloads(*visits):
            if logged:
                sealed.append((await self.node.witness.artefact(KIND, self.search, payload)).envelope)
            else:
                sealed.append(self.node.identity.artefact(KIND, self.search, payload).envelope)
        return sealed

    async def push(self, to: MemoryNode, *sealed: bytes) -> DeltaHave:
        """Hand deltas in."""
        return await self.node.calls.call(to.id, "deltas/push", DeltaPush(search=self.search, deltas=sealed), DeltaHave)


@pytest.fixture
async def four() -> AsyncIterator[tuple[list[MemoryNode], Storyteller, Script]]:
    """Anna coordinates, Bruno and Carla take part; Mallory is a script."""
    async with memory_mesh("anna", "bruno", "carla", "mallory", workers=0) as nodes:
        anna, bruno, carla, mallory = nodes
        script = scripted(mallory)
        task = asyncio.create_task(anna.run(NEVER))
        search = await search_of(anna)
        await until(lambda: bruno.explorer.running and carla.explorer.running, "it is open everywhere")
        yield nodes, Storyteller(mallory, search), script
        task.cancel()
        with contextlib.suppress(MeshError, asyncio.CancelledError):
            await task


async def expelled(node: MemoryNode, search: str) -> dict[str, str]:
    """Who is out of the search, and why."""
    return (await node.replica(search)).expelled


async def visits_of(node: MemoryNode, search: str, writer: MemoryNode) -> int:
    """What ``writer`` says about the root, as ``node`` has it."""
    return (await node.replica(search)).tree.effort(writer.id).visits


# --- two stories -----------------------------------------------------------------------------------------------------


async def test_a_writer_that_tells_two_participants_different_deltas_is_put_out_by_all_with_the_proof(
    four: tuple[list[MemoryNode], Storyteller, Script],
) -> None:
    """Guard: node/explorer/sharing/share_heads.py, ShareHeads.compare."""
    (anna, bruno, carla, mallory), teller, _ = four
    await teller.push(anna, *await teller.signed(3))
    await teller.push(bruno, *await teller.signed(5))
    for node in (anna, bruno, carla):
        await until(functools.partial(expelled, node, teller.search), f"{node.name} knows")
        assert await expelled(node, teller.search) == {mallory.id: "delta.equivocation"}
        assert await visits_of(node, teller.search, mallory) == 0
        kept = await node.store.get_meta(proof_key(teller.search, mallory.id))
        assert kept
        rows = [row.line for row in await node.store.audit_lines() if row.what == "peer.expelled"]
        assert len(rows) == 1
        assert b"delta.equivocation" in rows[0]
    assert await _refused(teller.push(carla, *await teller.signed(3))) == "delta.equivocation"


async def test_it_is_found_also_when_one_of_the_two_heard_more_of_it(
    four: tuple[list[MemoryNode], Storyteller, Script],
) -> None:
    (anna, bruno, _, mallory), teller, _ = four
    await teller.push(anna, *await teller.signed(3, 4, 6))
    await teller.push(bruno, *await teller.signed(5))
    await until(lambda: expelled(anna, teller.search), "anna knows")
    await until(lambda: expelled(bruno, teller.search), "bruno knows")
    assert await expelled(bruno, teller.search) == {mallory.id: "delta.equivocation"}


async def test_who_tells_of_a_delta_and_cannot_show_it_accuses_nobody(
    four: tuple[list[MemoryNode], Storyteller, Script],
) -> None:
    (anna, bruno, _, mallory), teller, script = four
    honest = Storyteller(bruno, teller.search)
    opened = anna.explorer._searches.get(teller.search)
    assert opened is not None
    heads = (ShareHead(writer=bruno.id, epoch=1, seq=1, digest=bytes(32)),)
    script.serve("deltas/pull", DeltaBatch(deltas=(), heads=heads))
    shown = (await teller.signed(9))[0]
    script.serve("deltas/show", DeltaShown(delta=shown))
    await honest.push(anna, *await honest.signed(2))
    await opened.exchange.pull_from(mallory.id)
    assert script.of("deltas/show")
    assert bruno.id not in await expelled(anna, teller.search)
    assert await visits_of(anna, teller.search, bruno) == 2


async def test_a_proof_that_proves_nothing_is_refused(four: tuple[list[MemoryNode], Storyteller, Script]) -> None:
    """Guard: protocol/search/delta.py, check_equivocation."""
    (anna, bruno, _, mallory), teller, _ = four
    one, other = await teller.signed(3), await teller.signed(5)
    again = await teller.signed(3)
    assert again != one
    later = (await teller.signed(3, 4))[1:]
    for first, second in ((one, again), (one, one), (one, later)):
        proof = DeltaProof(search=teller.search, one=first[0], other=second[0])
        assert await _refused(bruno.calls.call(anna.id, "deltas/proof", proof, Done)) == "delta.invalid"
    forged = Storyteller(bruno, teller.search)
    mixed = DeltaProof(search=teller.search, one=one[0], other=(await forged.signed(5))[0])
    assert await _refused(bruno.calls.call(anna.id, "deltas/proof", mixed, Done)) == "delta.invalid"
    assert await expelled(anna, teller.search) == {}
    right = DeltaProof(search=teller.search, one=one[0], other=other[0])
    await bruno.calls.call(anna.id, "deltas/proof", right, Done)
    assert await expelled(anna, teller.search) == {mallory.id: "delta.equivocation"}


async def test_a_delta_is_shown_by_who_holds_it(four: tuple[list[MemoryNode], Storyteller, Script]) -> None:
    (anna, bruno, _, mallory), teller, _ = four
    (sealed, _) = await teller.signed(3, 4)
    await teller.push(anna, sealed)
    ask = DeltaShow(search=teller.search, writer=mallory.id, epoch=1, seq=1)
    assert (await bruno.calls.call(anna.id, "deltas/show", ask, DeltaShown)).delta == sealed
    ask = msgspec.structs.replace(ask, seq=2)
    assert await _refused(bruno.calls.call(anna.id, "deltas/show", ask, DeltaShown)) == "input.not_found"


# --- beside the log --------------------------------------------------------------------------------------------------


async def test_a_delta_that_is_in_no_log_costs_its_writer_its_share(
    four: tuple[list[MemoryNode], Storyteller, Script],
) -> None:
    """Guard: node/explorer/sharing/exchange.py, Exchange.receive."""
    (anna, _, _, mallory), teller, _ = four
    await teller.push(anna, *await teller.signed(3, logged=False))
    await until(lambda: expelled(anna, teller.search), "anna has asked for the proof")
    assert await expelled(anna, teller.search) == {mallory.id: "log.not_logged"}
    assert await visits_of(anna, teller.search, mallory) == 0
    assert await anna.store.deltas(teller.search, peer=mallory.id) == []
    assert await _refused(teller.push(anna, *await teller.signed(3))) == "log.not_logged"


async def test_an_owed_proof_stops_what_its_writer_sends_until_it_comes(
    four: tuple[list[MemoryNode], Storyteller, Script],
) -> None:
    """Guard: node/explorer/sharing/log_proofs.py, DeltaProofs.check."""
    (anna, _, _, mallory), teller, _ = four

    async def later(caller: str, ask: LogProveAsk) -> LogProven:
        raise MeshError("input.invalid", "not now")

    mallory.api.serve("log/prove", later)
    first, second = await teller.signed(3, 4)
    await teller.push(anna, first)
    await teller.push(anna, first)
    anna.mesh.clock.ahead_ms += limits.LOG_PROOF_OWED_S_MAX * 1000 + 1_000
    assert await _refused(teller.push(anna, second)) == "log.unproven"
    mallory.api.serve("log/prove", mallory.log_exchange.on_prove)

    async def taken() -> bool:
        try:
            return (await teller.push(anna, second)).seq == 2
        except MeshError:
            return False

    await until(taken, "the proof has come")
    assert await visits_of(anna, teller.search, mallory) == 4


async def test_a_proof_in_another_history_of_the_log_is_none(
    four: tuple[list[MemoryNode], Storyteller, Script],
) -> None:
    """Guard: node/log/checkpoints.py, LogExchange.demand."""
    (anna, _, _, mallory), teller, _ = four
    liar = TwoFaced(mallory)
    await liar.show(anna, signed=2)
    await anna.log_exchange.sync(mallory.id)
    (payload,) = teller.payloads(3)
    await liar.show(mallory, signed=5)
    side = liar.witnesses[mallory.id]  # a history that nobody else is shown
    sealed = (await side.artefact(KIND, teller.search, payload)).envelope

    async def prove(caller: str, ask: LogProveAsk) -> LogProven:
        return LogProven(proof=log_proof.encode(await side.prove(ask.digest)))

    mallory.api.serve("log/prove", prove)
    await teller.push(anna, sealed)
    await until(lambda: mallory.id in anna.peers.frozen, "anna does not believe it")


async def test_a_claim_that_is_in_no_log_does_not_count_and_one_that_is_does() -> None:
    """Guard: node/explorer/coordinating/coordinator.py, Coordinator.take_result."""
    async with memory_mesh("anna", "bruno", workers=0) as (anna, bruno):
        script = scripted(bruno)
        task = asyncio.create_task(anna.run(NEVER))
        search = await search_of(anna)
        await until(lambda: script.of("branch/assign"), "an assignment")
        logged = bruno.witness.artefact

        async def beside(kind: str, subject: str, record: msgspec.Struct | bytes) -> object:
            return bruno.identity.artefact(kind, subject, record)

        bruno.witness.artefact = beside  # type: ignore[method-assign, assignment]
        given = assignment_of(script, 0)
        claim = (*given.prefix, encode_action(_click("Shelf nowhere")))
        for _ in range(2):
            assert await _refused(give_back(bruno, anna, given, outcome="claim", claim=claim)) == "log.not_logged"
            assert await _refused(give_back(bruno, anna, given, outcome="spent")) == "log.not_logged"
        (lease,) = await leases_of(anna, search, bruno)
        assert (lease.status, lease.result) == ("live", b"")
        assert await has_false_claims(anna, search, {})
        bruno.witness.artefact = logged  # type: ignore[method-assign]
        await give_back(bruno, anna, given, outcome="claim", claim=claim)
        await until(lambda: has_false_claims(anna, search, {bruno.id: 1}), "it was replayed")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_result_whose_proof_cannot_be_had_yet_is_returned_again() -> None:
    async with memory_mesh("anna", "bruno", workers=0) as (anna, bruno):
        script = scripted(bruno)
        task = asyncio.create_task(anna.run(NEVER))
        search = await search_of(anna)
        await until(lambda: script.of("branch/assign"), "an assignment")
        given = assignment_of(script, 0)

        async def later(caller: str, ask: LogProveAsk) -> LogProven:
            raise MeshError("log.rollback")

        bruno.api.serve("log/prove", later)
        with pytest.raises(MeshError) as refused:
            await give_back(bruno, anna, given, outcome="spent")
        assert (refused.value.code, refused.value.retryable) == ("log.unproven", True)
        assert await leases_of(anna, search, bruno, "live")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_an_assignment_that_is_in_no_log_is_not_worked_on() -> None:
    """Guard: node/explorer/working/branch_work.py, BranchWork._work."""
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        spec = await _opened(anna, bruno)
        script = Script(anna)
        script.serve("branch/return", Done())
        assignment = _assignment(spec, anna.mesh.clock)
        sealed = anna.identity.artefact(KIND_ASSIGNMENT, assignment.lease, assignment).envelope
        await anna.calls.call(bruno.id, "branch/assign", BranchAssign(assignment=sealed), Done)
        await until(lambda: script.of("branch/return"), "it was given back")
        (lease,) = await leases_of(bruno, spec.id, bruno)
        assert (lease.status, lease.spend.iterations) == ("done", 0)
        assert bruno.browsers_opened == []
