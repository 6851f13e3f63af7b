"""What one peer may fill of the store: counted at the door, recounted from the store, the same after a restart."""

from __future__ import annotations

import pytest

from adapters.ports.records import DeltaRecord, LeaseRecord, SearchRecord
from node.config.settings import Config, PolicyConfig
from node.trust.usage import Usage
from protocol import limits
from protocol.errors import MeshError
from protocol.messages import DeltaHave, DeltaPush, Done
from tests.mesh_memory import MemoryMesh, MemoryNode
from tests.twins.clock import ManualClock
from tests.twins.storage import MemoryStore
from tests.unit.test_explorer_refusals import _sealed, _spec


def delta(seq: int, size: int = 1_000, peer: str = "PEER") -> DeltaRecord:
    return DeltaRecord(search="s", peer=peer, epoch=1, seq=seq, envelope=bytes(size))


async def test_a_peer_at_its_limit_is_refused_and_others_are_not() -> None:
    store, clock = MemoryStore(), ManualClock()
    usage = Usage(store, clock, 10_000)
    await usage.load()
    for seq in range(10):
        await usage.admit("PEER", 1_000)
        await store.append_delta(delta(seq))
    with pytest.raises(MeshError) as refused:
        await usage.admit("PEER", 1)
    assert refused.value.code == "peer.quota"
    await usage.admit("OTHER", 10_000)


async def test_the_account_is_the_same_after_a_restart() -> None:
    """Guard: node/trust/usage.py, Usage.load."""
    store, clock = MemoryStore(), ManualClock()
    for seq in range(9):
        await store.append_delta(delta(seq))
    usage = Usage(store, clock, 10_000)
    await usage.load()
    assert usage.by_peer == {"PEER": 9_000}
    await usage.admit("PEER", 1_000)
    with pytest.raises(MeshError):
        await usage.admit("PEER", 1)


async def test_what_was_sent_and_not_kept_is_given_back_before_anybody_is_refused() -> None:
    store, clock = MemoryStore(), ManualClock()
    usage = Usage(store, clock, 10_000)
    await usage.load()
    await store.append_delta(delta(1, 500))
    for _ in range(10):
        await usage.admit("PEER", 1_000)  # the same delta again and again
    with pytest.raises(MeshError):
        await usage.admit("PEER", 1_000)  # counted a moment ago: the store is not asked at every knock
    clock.advance(61_000)
    await usage.admit("PEER", 1_000)
    assert usage.by_peer == {"PEER": 1_500}


async def test_searches_and_leases_are_put_down_to_the_coordinator() -> None:
    store = MemoryStore()
    search = SearchRecord(
        id="s", coordinator="PEER", status="done", created_ms=1, updated_ms=1, spec=bytes(2_000), state=b""
    )
    await store.put_search(search)
    before = (await store.usage())["PEER"]
    lease = LeaseRecord(
        id="l", search="s", branch=bytes(16), worker="ME", status="done", expires_ms=1, assignment=bytes(3_000)
    )
    await store.put_lease(lease)
    assert 2_000 < before < 2_500
    assert 3_000 < (await store.usage())["PEER"] - before < 3_500


async def test_a_peer_that_floods_a_node_is_stopped_at_its_share_of_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: node/trust/usage.py, Usage.admit."""
    mesh = MemoryMesh()
    anna = await mesh.add("anna")
    bruno = MemoryNode(mesh, "bruno", Config(policy=PolicyConfig(peer_disk_mib=1)))
    mesh.nodes.append(bruno)
    await bruno.start()
    await mesh.pair(anna, bruno)
    spec = _spec(anna, bruno)
    await anna.calls.call(bruno.id, "search/open", _sealed(anna, spec), Done)
    push = DeltaPush(search=spec.id, deltas=(bytes(limits.MIB // 2),))
    codes = []
    monkeypatch.setattr(bruno.peers.usage, "_due", lambda: False)
    for _ in range(3):
        with pytest.raises(MeshError) as refused:
            await anna.calls.call(bruno.id, "deltas/push", push, DeltaHave)
        codes.append(refused.value.code)
    assert codes == ["envelope.invalid", "peer.quota", "peer.quota"]
    monkeypatch.setattr(bruno.peers.usage, "_due", lambda: True)
    with pytest.raises(MeshError) as refused:
        await anna.calls.call(bruno.id, "deltas/push", push, DeltaHave)
    assert refused.value.code == "envelope.invalid"  # of all that, nothing was kept: the account was set right
    assert (await bruno.store.usage())[anna.id] < 10_000
    for node in mesh.nodes:
        await node.stop()
