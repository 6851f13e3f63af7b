"""What tests ask of a search of explorers in memory, and what a scripted worker of one does."""

from __future__ import annotations

from typing import Any

from adapters.ports.records import LeaseRecord
from protocol.messages import KIND_RESULT, Assignment, BranchResult, BranchReturn, DeltaBatch, DeltaHave, Done, Spend
from protocol.wire import cbor, envelope
from tests.mesh_memory import MemoryNode, Script, until


async def search_of(node: MemoryNode) -> str:
    """The id of the one search ``node`` knows, once it does."""

    async def known() -> str:
        found = await node.store.searches()
        return found[0].id if found else ""

    return str(await until(known, "a search"))


async def has_status(node: MemoryNode, search: str, status: str) -> bool:
    """Whether ``node`` has ``search`` in this status."""
    found = await node.store.search(search)
    return found is not None and found.status == status


async def leases_of(node: MemoryNode, search: str, worker: MemoryNode, status: str = "") -> list[LeaseRecord]:
    """The leases of ``worker`` that ``node`` knows."""
    return [lease for lease in await node.store.leases(search, status=status) if lease.worker == worker.id]


async def lease_has_status(node: MemoryNode, lease: str, status: str) -> bool:
    """Whether ``node`` has ``lease`` in this status."""
    found = await node.store.lease(lease)
    return found is not None and found.status == status


async def have_visited(node: MemoryNode, search: str, nodes: list[MemoryNode]) -> bool:
    """Whether ``node`` has heard that all of ``nodes`` visited something."""
    tree = (await node.replica(search)).tree
    return all(tree.effort(other.id).visits > 0 for other in nodes)


def scripted(node: MemoryNode) -> Script:
    """``node`` as one that takes everything and does nothing."""
    script = Script(node)
    for route in ("search/open", "search/close", "branch/assign", "branch/revoke"):
        script.serve(route, Done())
    script.serve("deltas/push", DeltaHave(epoch=1, seq=10_000))
    script.serve("deltas/pull", DeltaBatch(deltas=()))
    return script


def assigned_more_than(script: Script, count: int) -> bool:
    """Whether more than ``count`` branches were assigned to the script."""
    return len(script.of("branch/assign")) > count


def assignment_of(script: Script, number: int) -> Assignment:
    """The assignment that the script was given as its ``number``-th, from 0."""
    sealed = script.of("branch/assign")[number].assignment
    return cbor.decode_as(envelope.peek(sealed).payload, Assignment)


async def give_back(
    node: MemoryNode, to: MemoryNode, assignment: Assignment, *, spend: Spend | None = None, **fields: Any
) -> None:
    """Send the signed result of an assignment, as the worker ``node``."""
    result = BranchResult(
        search=assignment.search, lease=assignment.lease, branch=assignment.branch, spend=spend or Spend(), **fields
    )
    sealed = (await node.witness.artefact(KIND_RESULT, assignment.lease, result)).envelope
    await node.calls.call(to.id, "branch/return", BranchReturn(search=assignment.search, result=sealed), Done)


async def has_false_claims(node: MemoryNode, search: str, counted: dict[str, int]) -> bool:
    """Whether ``node`` has counted these false claims, by peer, and no others."""
    return (await node.explorer.view(search))[2].claims_false == counted
