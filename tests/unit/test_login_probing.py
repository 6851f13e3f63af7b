"""A search with a login tries what is in doubt with a copy of it, where its policy and what the site was seen to take let it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from node.capsules import Mounting
from node.capsules.proving import Asked, Shown
from protocol.capsule.probe import Probe
from protocol.goal.condition import Condition
from protocol.page.observation import Element
from tests.capsule_nodes import CapsuleNode
from tests.capsules import CANARY, SHOP
from tests.mesh_memory import MemoryMesh
from tests.twins.browser import Control, Document, Effect, MemorySite
from tests.unit.test_explorer_doubts import button, link

pytestmark = pytest.mark.virtual_time

SHELF = Condition(url="*/shelf")


def _site() -> MemorySite:
    """Behind a button that nobody understands and that only reads lies the goal. Another one writes. A heading shows the login."""
    heading = Control(element=Element(ref="", role="heading", name=f"You are {CANARY}"))
    pages = {
        "/": (button("Frobnicate", Effect(go="/shelf")), button("Defrobnicate", Effect(post="/orders")), heading),
        "/shelf": (link("Home", f"{SHOP}/"),),
    }
    return MemorySite({SHOP + path: Document(title=path, controls=controls) for path, controls in pages.items()})


def _shown(*, minimal: bool) -> Any:
    async def prove(asked: Asked, tell: Any) -> Shown:
        looks = {"page": f"{SHOP}/", "shows": "", "probe": Probe(), "minimal": minimal}
        return Shown(state=asked.state, proven="proven", proof=(), looks=looks)

    return prove


@pytest.mark.parametrize(
    ("minimal", "policy", "tried"),
    [(True, {}, 2), (True, {"no_probes": True}, 0), (False, {}, 0)],
    ids=["the site takes copies", "the policy forbids it", "it is not known whether the site takes copies"],
)
async def test_a_search_tries_controls_with_a_copy_of_a_login_that_the_site_takes_twice(
    tmp_path: Path, minimal: bool, policy: dict[str, Any], tried: int
) -> None:
    """Guard: node/capsules/mounting.py, _takes_copies. Guard: node/explorer/working/page_work.py, PageWork._probing."""
    mesh = MemoryMesh(_site())
    mesh.probes = True
    anna = await CapsuleNode(await mesh.add("anna"), tmp_path / "anna").load()
    try:
        anna.node.browsers.mounts = Mounting(anna.capsules)
        anna.capsules.prove = _shown(minimal=minimal)
        kept = await anna.capture(**policy)
        found = await anna.node.explorer.run(
            goal="find the shelf",
            start_url=f"{SHOP}/",
            condition=SHELF,
            seconds=600,
            seed=7,
            capsule="shop",
            peers=None,
            tell=lambda event: None,
        )
        counts = (await anna.node.explorer.view(found.id))[2].probes
        assert (counts.probed, counts.harmless, counts.writing) == (tried, tried // 2, tried // 2)
        assert found.status == ("done" if tried else "failed")
        opened = [page for browser in anna.node.browsers_opened for page in browser.opened]
        probes = [page for page in opened if page._policy.probe]
        assert bool(probes) == bool(tried)
        assert all(page._policy.origins == (SHOP,) and page._policy.capsule for page in opened), "nowhere else"
        assert all(CANARY in page._kept.state(whole=True).storage.decode() for page in opened), "each has the login"
        assert not any(request.startswith("POST") for request in mesh.site.reached)
        row = await anna.node.store.ledger(kept.id)
        assert row is not None and row.used == 1, "a copy is no use of its own"
    finally:
        await anna.node.stop()
