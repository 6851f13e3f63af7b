"""A login with much state holds nobody up: neither as it is mounted, nor as it is sealed anew, nor as it is proven."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node.capsules.mount import Mounting
from node.capsules.seal import Proving, to_browser
from node.capsules.seal.proving import StateToProve
from node.live.browsers import mounted
from protocol.capsule.state import CapsuleState, Cookie, OriginStorage, StorageItem, encode_state
from protocol.page.seen.observation import Element
from protocol.recording.records.session import Profile
from tests.capsule_nodes import CapsuleNode, two
from tests.capsules import CANARY, SHOP
from tests.mesh_memory import MemoryMesh
from tests.twins.browser import Control, Document, MemorySite
from tests.unit.test_explorer_blocking import BLOCK_S_MAX, _least_block
from tests.unit.test_mounting import wish


@pytest.fixture
async def alice(tmp_path: Path) -> AsyncIterator[CapsuleNode]:
    heading = Control(element=Element(ref="", role="heading", name="Orders"))
    mesh = MemoryMesh(MemorySite({f"{SHOP}/": Document(title="Orders", controls=(heading,))}))
    try:
        yield (await two(mesh, tmp_path))[0]
    finally:
        for node in mesh.nodes:
            await node.stop()


def _much(mark: str) -> CapsuleState:
    items = tuple(
        StorageItem(
            name=str(number),
            value=f'{{"token": "{hashlib.sha512(f"{mark}{number}".encode()).hexdigest()}{"x y" * 600}"}}',
        )
        for number in range(1_500)
    )
    cookie = Cookie(name="sid", value=CANARY, domain="shop.example", secure=True)
    state = CapsuleState(cookies=(cookie,), storage=(OriginStorage(origin=SHOP, local=items),))
    assert len(encode_state(state)) > 2_500_000
    return state


async def test_a_login_of_megabytes_blocks_the_loop_for_less_than_50_ms_from_its_mounting_to_its_seal(
    alice: CapsuleNode,
) -> None:
    kept = await alice.capture()
    marks = iter("abcd")
    await alice.capsules.renew_state(kept.id, _much(next(marks)))

    async def use() -> None:
        async with mounted(Mounting(alice.capsules), "shop", wish()) as mount:
            mount.begin_with(held)

    async def proven() -> None:
        asked = StateToProve(state=state, origins=(SHOP,), page=f"{SHOP}/", until=None, profile=Profile(), whole=False)
        await Proving(alice.capsules.kept, alice.node.browsers, alice.node.config).prove(asked, lambda event: None)

    state = _much("e")
    held = to_browser(state, now_s=0)
    assert await _least_block(use) < BLOCK_S_MAX
    assert await _least_block(proven) < BLOCK_S_MAX
    assert (await alice.capsules.listed()).capsules[0].generation > 2
