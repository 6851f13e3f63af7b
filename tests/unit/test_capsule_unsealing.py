"""A login given out in clear: by its owner alone, counted, noted, into a new file that nobody else reads."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import msgspec
import pytest

from node.capsules.mount import Unsealing
from node.capsules.mount.unsealing import left_out, pages_of
from node.capsules.seal.browser_state import to_browser
from node.verbs.capsules.capsule_unseal import UNSEAL, UnsealedCapsule, UnsealParams
from node.verbs.capsules.capsule_upkeep import RevokeParams
from node.verbs.verb import OWNER_ONLY
from protocol.capsule.state import CapsuleState, Lost, OriginStorage, StorageItem
from protocol.errors import MeshError
from protocol.feed import FeedKind
from tests.canaries import found_in
from tests.capsule_nodes import CapsuleNode, two
from tests.capsules import CANARY, DAY_MS, SHOP, STATE
from tests.mesh_memory import MemoryMesh

CANARIES = {"login": CANARY.encode()}


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[list[CapsuleNode]]:
    mesh = MemoryMesh()
    try:
        yield await two(mesh, tmp_path)
    finally:
        for node in mesh.nodes:
            await node.stop()


async def unseal(node: CapsuleNode, out: Path, capsule: str = "shop") -> UnsealedCapsule:
    return await Unsealing(node.capsules).unseal(UnsealParams(capsule=capsule, out=str(out)))


async def refusal(waiting: Awaitable[object]) -> MeshError:
    with pytest.raises(MeshError) as caught:
        await waiting
    assert not found_in(f"{caught.value} {caught.value.detail}".encode(), CANARIES)
    return caught.value


async def uses(node: CapsuleNode) -> int:
    (kept,) = (await node.capsules.listed()).capsules
    return kept.uses


async def test_a_login_in_clear_is_a_new_private_file_a_use_a_row_and_news(
    nodes: list[CapsuleNode], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Guard: node/capsules/mount/unsealing.py, Unsealing._written."""
    caplog.set_level(logging.DEBUG)
    alice, _ = nodes
    kept = await alice.capture(cross_installation=False, replays_max=2)
    out = tmp_path / "state.json"
    before = os.umask(0)  # the mode is asked for, and does not come from the umask
    try:
        told = await unseal(alice, out)
    finally:
        os.umask(before)
    assert out.stat().st_mode & 0o777 == 0o600 and out.stat().st_size == told.bytes
    held = json.loads(out.read_text())
    assert [each["value"] for each in held["cookies"]] == [CANARY] and told.origins == (SHOP,)
    assert (told.id, told.generation, told.cookies, told.uses_left, await uses(alice)) == (kept.id, 1, 1, 1, 1)
    rows = [each for each in await alice.node.store.audit_lines() if each.what == "capsule.unsealed"]
    assert [kept.id.encode() in each.line and b"generation" in each.line for each in rows] == [True]
    news = (await alice.node.store.feed(after=0, kind=FeedKind.CAPSULE_UNSEALED)).changes
    assert [tuple(each.ids) for each in news] == [(kept.id,)]
    said = msgspec.json.encode(told) + rows[0].line + caplog.text.encode()
    assert not found_in(said, CANARIES) and "no policy, count, expiry or revocation" in told.warning
    leaves = await alice.node.store.log_leaves(0)
    assert leaves[-1].kind == "capsule-use"


async def test_the_file_is_never_over_another_one_nor_behind_a_link_nor_standard_output(
    nodes: list[CapsuleNode], tmp_path: Path
) -> None:
    """Guard: node/capsules/mount/unsealing.py, _new."""
    alice, _ = nodes
    await alice.capture()
    there, link, aim = tmp_path / "there", tmp_path / "link", tmp_path / "aim"
    there.write_text("mine")
    link.symlink_to(aim)
    for out in (there, link, tmp_path / "-", tmp_path / "none" / "x", tmp_path, Path("/dev/stdout")):
        assert (await refusal(unseal(alice, out))).code == "input.invalid", out
    assert there.read_text() == "mine" and not aim.exists() and not (tmp_path / "-").exists()
    assert await uses(alice) == 0, "no use is spent on what cannot be written"


async def test_the_policy_of_a_peer_is_not_shed(nodes: list[CapsuleNode], tmp_path: Path) -> None:
    """Guard: node/capsules/mount/unsealing.py, Unsealing.unseal."""
    alice, bob = nodes
    await alice.capture()
    await bob.take(await alice.give(bob))
    assert await bob.use() == CANARY
    refused = await refusal(unseal(bob, tmp_path / "out"))
    assert refused.code == "capsule.issuer" and not (tmp_path / "out").exists()


async def test_what_has_ended_or_is_used_up_is_not_unsealed_and_leaves_no_file(
    nodes: list[CapsuleNode], tmp_path: Path
) -> None:
    alice, _ = nodes
    kept = await alice.capture(replays_max=1)
    await unseal(alice, tmp_path / "first")
    assert (await refusal(unseal(alice, tmp_path / "out"))).code == "capsule.replays"
    await alice.exchange.revoke(RevokeParams(capsule="shop"))
    assert (await refusal(unseal(alice, tmp_path / "out", kept.id))).code == "capsule.revoked"
    await alice.capture(expires_s=60)
    alice.node.mesh.clock.ahead_ms += DAY_MS
    assert (await refusal(unseal(alice, tmp_path / "out"))).code == "capsule.expired"
    assert not (tmp_path / "out").exists()


async def test_without_its_row_nothing_leaves(
    nodes: list[CapsuleNode], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, _ = nodes
    await alice.capture()
    written = alice.node.witness.trail.write

    async def full(what: str, **more: object) -> None:
        if what == "capsule.unsealed":
            raise MeshError("store.full")
        await written(what, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(alice.node.witness.trail, "write", full)
    assert (await refusal(unseal(alice, tmp_path / "out"))).code == "store.full"
    assert not (tmp_path / "out").exists()


def test_nobody_but_the_owner_asks_for_it() -> None:
    """Guard: node/verbs/capsules/capsule_unseal.py, UNSEAL."""
    assert UNSEAL.callers == OWNER_ONLY and not UNSEAL.tool and not UNSEAL.scope and UNSEAL.row is not None


def test_what_no_file_gives_is_left_out_and_named() -> None:
    frame = OriginStorage(
        origin="https://f.example", key=f"https://f.example/^0{SHOP}", local=(StorageItem(name="t", value=CANARY),)
    )
    state = CapsuleState(
        cookies=STATE.cookies,
        storage=(*STATE.storage, frame),
        lost=(Lost(origin=SHOP, what="crypto-key in auth/keys"),),
    )
    given = json.loads(to_browser(pages_of(state), now_s=0).storage)
    assert [set(each) for each in given["origins"]] == [{"origin", "localStorage", "indexedDB"}]
    assert list(left_out(state)) == [
        f"sessionStorage: {SHOP}",
        f"storage of a frame: {frame.key}",
        f"not captured: {SHOP}: crypto-key in auth/keys",
    ]
