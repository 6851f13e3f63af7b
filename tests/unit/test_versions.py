"""Two nodes that speak different versions of the protocol tell each other their status and nothing else."""

from __future__ import annotations

import asyncio

import pytest

from protocol.errors import MeshError, PeerError
from protocol.messages import PROTOCOL_VERSION, KeysAsk, KeysTell, LogSync, SearchClose, StatusAsk, StatusTell
from protocol.messages import Done as DoneAnswer
from tests.mesh_memory import NEVER, MemoryNode, memory_mesh, until
from tests.mesh_searches import leases_of, scripted, search_of

pytestmark = pytest.mark.virtual_time


async def _refused(node: MemoryNode, other: MemoryNode, route: str, record: object, answer: type) -> MeshError:
    with pytest.raises(MeshError) as refused:
        await node.calls.call(other.id, route, record, answer)  # type: ignore[arg-type]
    return refused.value


async def test_a_peer_of_another_version_gets_no_search_and_no_answer_but_status() -> None:
    """Guard: node/trust/peers.py, Peers.check_version."""
    async with memory_mesh("anna", "later", workers=0) as (anna, later):
        script = scripted(later)
        later.protocol = 99
        task = asyncio.create_task(anna.run(NEVER))
        search = await search_of(anna)
        await until(lambda: leases_of(anna, search, later), "anna tried it")
        await until(lambda: leases_of(anna, search, later, "expired"), "and the branch is open again")
        assert script.got == [], "it was told of no search, and got no lease"
        ask = SearchClose(search="sea-AAAAAAAAAAAAAAAAAAAAA")
        answered = await _refused(later, anna, "search/close", ask, DoneAnswer)
        assert (answered.code, type(answered)) == ("peer.version", PeerError)
        assert (await _refused(later, anna, "log/checkpoint", LogSync(), LogSync)).code == "peer.version"
        own = await _refused(anna, later, "keys/pull", KeysAsk(), KeysTell)
        assert (own.code, type(own), own.detail["protocol"]) == ("peer.version", MeshError, 99)
        assert (await later.calls.call(anna.id, "status", StatusAsk(), StatusTell)).protocol == PROTOCOL_VERSION
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_peer_that_was_upgraded_is_heard_again() -> None:
    async with memory_mesh("anna", "later") as (anna, later):
        later.protocol = 99
        await anna.calls.call(later.id, "status", StatusAsk(), StatusTell)
        assert (await _refused(later, anna, "log/checkpoint", LogSync(), LogSync)).code == "peer.version"
        later.protocol = PROTOCOL_VERSION
        await anna.calls.ask_all()
        await later.calls.call(anna.id, "log/checkpoint", LogSync(), LogSync)
