"""Names, races and late news: what an issuer, a holder, or two requests at once may try with the capsules of a node."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapters.ports.browser import UnexportableState
from node.capsules.mount import Mounting
from node.capsules.seal import Wanted, from_browser, to_browser
from node.live.browsers import mounted
from node.verbs.capsules.capsule import CapsuleParams
from node.verbs.capsules.capsule_upkeep import RevokeParams
from protocol import limits
from protocol.capsule.state import CapsuleState, IndexedDatabase, Lost, ObjectStore, ObjectStoreRecord, OriginStorage
from protocol.errors import MeshError
from tests.capsule_nodes import GRANTS, CapsuleNode, code_of, two
from tests.capsules import SHOP, STATE
from tests.mesh_memory import MemoryMesh
from tests.unit.test_mounting import wish


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[list[CapsuleNode]]:
    mesh = MemoryMesh()
    try:
        yield await two(mesh, tmp_path)
    finally:
        for node in mesh.nodes:
            await node.stop()


def stepping_aside(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, *, turns: int = 3) -> None:
    """Let others run before each call of a method, as they do where a disk takes its time."""
    real = getattr(owner, name)

    async def aside(*given: Any, **more: Any) -> Any:
        for _ in range(turns):
            await asyncio.sleep(0)
        return await real(*given, **more)

    monkeypatch.setattr(owner, name, aside)


# --- names -----------------------------------------------------------------------------------------------------------------


async def test_a_capsule_whose_issuer_is_not_trusted_any_more_hides_no_other(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/seal/kept.py, Kept._holding."""
    alice, bob = nodes
    await alice.capture()
    await bob.take(await alice.give(bob))
    own = await bob.capture(name="own")
    await bob.node.changes.distrust(alice.node.id, "")
    assert await bob.refused("shop") == "input.not_found"
    assert await bob.use("own")
    assert await bob.capsules.kept.id_of("own") == own.id
    assert await bob.capsules.kept.proposed(SHOP, "live") == "own"


async def test_the_id_of_a_capsule_that_is_gone_is_no_name_of_another(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/seal/kept.py, Kept.find."""
    alice, bob = nodes
    gone = await bob.capture(name="gone")
    await bob.capsules.remove(CapsuleParams(capsule=gone.id))
    named = await alice.capture(name=gone.id)
    await bob.take(await alice.give(bob, named.id))
    assert await bob.refused(gone.id) == "input.not_found"


async def test_the_capsule_of_a_peer_takes_no_name_from_an_own_one(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/seal/kept.py, Kept.find."""
    alice, bob = nodes
    own = await bob.capture(expires_s=60)
    await alice.capture()
    await bob.take(await alice.give(bob))

    async def meant() -> str:
        with contextlib.suppress(MeshError):
            return await bob.capsules.kept.id_of("shop")
        return ""

    assert await meant() == own.id
    assert await code_of(bob.capture()) == "input.invalid", "two of the node's own"
    bob.node.mesh.clock.ahead_ms += 60_000
    assert await meant() == own.id, "also once it has expired"


# --- two requests at once ----------------------------------------------------------------------------------------------------


async def test_two_exports_at_once_are_both_known(
    nodes: list[CapsuleNode], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    alice, bob = nodes
    mesh = alice.node.mesh
    third = await mesh.add("carol")
    await mesh.pair(alice.node, third, GRANTS)
    carol = await CapsuleNode(third, tmp_path / "carol").load()
    kept = await alice.capture()
    stepping_aside(monkeypatch, alice.node.store, "put_capsule")
    await asyncio.gather(alice.give(bob), alice.give(carol, file="carol.capsule"))
    record = await alice.node.store.capsule(kept.id)
    assert record is not None and set(record.exported) == {bob.node.id, third.id}


async def test_an_export_while_newer_state_is_sealed_is_not_forgotten(
    nodes: list[CapsuleNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, bob = nodes
    kept = await alice.capture()
    record = await alice.node.store.capsule(kept.id)
    assert record is not None
    state = await alice.capsules.kept.state(record)
    stepping_aside(monkeypatch, alice.node.store, "put_artefact", turns=1_000)
    await asyncio.gather(alice.capsules.renew_state(kept.id, state), alice.give(bob), return_exceptions=True)
    record = await alice.node.store.capsule(kept.id)
    assert record is not None and (record.generation, record.exported) == (2, (bob.node.id,))


async def test_a_capsule_that_is_removed_while_newer_state_is_sealed_does_not_come_back(
    nodes: list[CapsuleNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: node/capsules/seal/capsules.py, Capsules.remove."""
    alice, _ = nodes
    kept = await alice.capture()
    record = await alice.node.store.capsule(kept.id)
    assert record is not None
    state = await alice.capsules.kept.state(record)
    stepping_aside(monkeypatch, alice.node.store, "put_artefact")
    await asyncio.gather(
        alice.capsules.renew_state(kept.id, state),
        alice.capsules.remove(CapsuleParams(capsule=kept.id)),
        return_exceptions=True,
    )
    assert await alice.node.store.capsule(kept.id) is None


async def test_a_revocation_while_a_capsule_is_being_mounted_ends_the_work_at_once(
    nodes: list[CapsuleNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: node/capsules/mount/mounting.py, Mounting.mount."""
    alice, _ = nodes
    await alice.capture()
    mounting = Mounting(alice.capsules, check_s=1e9)
    real = alice.capsules.kept.state

    async def late(record: Any) -> Any:
        state = await real(record)
        await alice.exchange.revoke(RevokeParams(capsule="shop"))
        return state

    monkeypatch.setattr(alice.capsules.kept, "state", late)
    with pytest.raises(MeshError) as caught:
        async with asyncio.timeout(120), mounted(mounting, "shop", wish()):
            await asyncio.Event().wait()
    assert caught.value.code == "capsule.revoked"
    assert mounting.running == 0


async def test_work_ends_if_its_capsule_cannot_be_judged_again(
    nodes: list[CapsuleNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, _ = nodes
    await alice.capture()

    async def broken(*given: object) -> None:
        raise RuntimeError("nobody expected that")

    monkeypatch.setattr(alice.capsules, "still", broken)
    with pytest.raises(MeshError) as caught:
        async with asyncio.timeout(120), mounted(Mounting(alice.capsules, check_s=0.01), "shop", wish()):
            await asyncio.Event().wait()
    assert caught.value.code.startswith("capsule.")


# --- late news ---------------------------------------------------------------------------------------------------------------


async def test_a_holder_that_does_not_know_a_capsule_confirms_no_revocation(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/exchange/exchange.py, CapsuleExchange.on_revoke."""
    alice, bob = nodes
    await alice.capture()
    file = await alice.give(bob)
    said = await alice.exchange.revoke(RevokeParams(capsule="shop"))
    assert (said.told, said.not_told) == ((), ("bob",)), "it has not imported the file yet, and still can"
    await bob.take(file)
    assert await bob.refused() == "capsule.revoked"


async def test_a_use_that_is_reported_while_the_capsule_is_revoked_does_not_stand(
    nodes: list[CapsuleNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, bob = nodes
    await alice.capture()
    await bob.take(await alice.give(bob))
    real = alice.node.store.ledger
    done: list[bool] = []

    async def ledger(capsule_id: str) -> Any:
        row = await real(capsule_id)
        if not done:
            done.append(True)
            await alice.exchange.revoke(RevokeParams(capsule=capsule_id))
        return row

    await bob.node.store.ledger(capsule_id=(await bob.capsules.listed()).capsules[0].id)
    monkeypatch.setattr(alice.exchange, "_tell", lambda node, sealed: asyncio.sleep(0, result=False))
    monkeypatch.setattr(alice.node.store, "ledger", ledger)
    assert await bob.refused() == "capsule.revoked"


async def test_a_clock_that_is_set_back_after_a_long_use_is_noticed(nodes: list[CapsuleNode]) -> None:
    alice, bob = nodes
    await alice.capture(fresh_s=3_600)
    await bob.take(await alice.give(bob))
    wanted = Wanted(origins=(SHOP,), task="replay", level=2, holder="one", seconds=86_400)
    async with bob.capsules.using("shop", wanted) as used:
        bob.node.mesh.clock.ahead_ms += 7_200_000
        await bob.capsules.still(used, wanted)
        bob.node.mesh.clock.ahead_ms -= 7_200_000
        assert await code_of(bob.capsules.still(used, wanted)) == "capsule.clock"


async def test_a_capsule_from_the_future_is_not_imported(nodes: list[CapsuleNode]) -> None:
    alice, bob = nodes
    alice.node.mesh.clock.ahead_ms += 3_600_000
    await alice.capture()
    file = await alice.give(bob)
    alice.node.mesh.clock.ahead_ms -= 3_600_000
    assert await code_of(bob.take(file)) == "capsule.clock"


# --- what a page leaves behind ------------------------------------------------------------------------------------------------


def _many_records() -> CapsuleState:
    """Within every bound but that of all items together."""
    entries = tuple(ObjectStoreRecord(key=str(number), value="1") for number in range(limits.CAPSULE_ENTRIES_MAX))
    stores = tuple(ObjectStore(name=name, entries=entries) for name in ("one", "two"))
    return CapsuleState(storage=(OriginStorage(origin=SHOP, databases=(IndexedDatabase(name="base", stores=stores),)),))


def _much_lost() -> CapsuleState:
    lost = tuple(Lost(origin=SHOP, what=f"blob in {number}") for number in range(limits.CAPSULE_STORAGES_MAX + 1))
    return msgspec.structs.replace(STATE, lost=lost)


@pytest.mark.parametrize("made", [_many_records, _much_lost])
async def test_no_state_is_sealed_that_could_not_be_opened_again(
    nodes: list[CapsuleNode], made: Callable[[], CapsuleState]
) -> None:
    """Guard: node/capsules/seal/sealing.py, _encoded."""
    alice, _ = nodes
    kept = await alice.capture()
    assert await code_of(alice.capsules.renew_state(kept.id, made())) == "capsule.invalid"
    assert await alice.use()


def test_what_pages_say_that_they_keep_does_not_grow_without_end() -> None:
    before = _much_lost()
    more = tuple(UnexportableState(origin=SHOP, what=f"blob in x{number}") for number in range(32))
    held = to_browser(before, now_s=0)
    state = from_browser(msgspec.structs.replace(held, untaken=more), before)
    assert len(state.lost) == limits.CAPSULE_STORAGES_MAX
