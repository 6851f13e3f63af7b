"""The search of a scheduled run, in meshes over the in-memory twins: with whom, as whom, and what came of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapters.audit_records import AuditQuery
from adapters.schedule_records import ScheduleRecord
from node.base.serving import Serving
from node.capsules.mount import Mounting
from node.explorer import Parts
from node.schedules import ScheduledSearches, ScheduledSearchResult
from node.sessions.serving.sessions import Sessions
from node.verbs.capsules.capsule import CaptureParams
from protocol import audit, ids
from protocol.errors import MeshError
from protocol.goal.condition import Condition
from protocol.recording.records.verdict import Verdict
from tests.capsule_nodes import CapsuleNode
from tests.capsules import CANARY
from tests.mesh_memory import NEVER, ORIGIN, MemoryMesh, MemoryNode, memory_mesh, shop_site, until
from tests.schedules import SCHEDULE, schedule

pytestmark = pytest.mark.virtual_time
FOUND = Condition(url="*/oak/elm")
CALLER = f"schedule:{SCHEDULE}"


class Desk:
    """What searches for the schedules of a node."""

    def __init__(self, node: MemoryNode) -> None:
        self.node = node
        clock = node.mesh.clock
        sessions = Sessions(node.witness, node.config, node.store, clock, node.browsers, node.peers)
        parts = Parts(node.explorer, sessions, node.peers, node.store, clock, node.name)
        self.serving = Serving(Path("/nowhere"))
        self.serving.address = node.address
        self.searches = ScheduledSearches(parts, node.witness, node.log_exchange, self.serving, clock)
        self.told: list[dict[str, Any]] = []

    async def search(self, until: Condition = FOUND, search_id: str = "", **changes: Any) -> ScheduledSearchResult:
        return await self.searches.search(
            record(until=until, **changes), search_id or self.searches.new_id(), self.told.append
        )


def record(**changes: Any) -> ScheduleRecord:
    return schedule(**{"goal": "find the page", "start_url": f"{ORIGIN}/", "seconds": 4_000, "peers": None, **changes})


@pytest.fixture
async def two() -> AsyncIterator[list[MemoryNode]]:
    async with memory_mesh("anna", "bruno", site=shop_site(fanout=2, depth=2)) as nodes:
        yield nodes


async def test_a_search_that_finds_its_goal_gives_the_session_and_who_worked(two: list[MemoryNode]) -> None:
    anna, bruno = two
    desk = Desk(anna)
    search_id = desk.searches.new_id()
    assert ids.is_id("sea", search_id) and search_id != desk.searches.new_id()
    ended = await desk.search(search_id=search_id)
    assert ended.reason == ""
    session = await anna.store.session(ended.session)
    assert session is not None
    assert (session.verdict, session.search, session.caller) == (Verdict.PASS, search_id, CALLER)
    stored = await anna.store.search(search_id)
    assert stored is not None and stored.status == "done"
    assert {(one.node, one.name) for one in ended.spend} == {(anna.id, "anna"), (bruno.id, "bruno")}
    assert sum(one.visits for one in ended.spend) > 0 and sum(one.cost_ms for one in ended.spend) > 0
    assert desk.told
    begun, *_, done = [row for row in await anna.store.audit_lines() if row.what == "explore.run"]
    assert (begun.who, done.who) == (CALLER, CALLER)


async def test_a_node_that_does_not_serve_searches_alone_and_not_with_peers_that_were_named(
    two: list[MemoryNode],
) -> None:
    anna, _ = two
    desk = Desk(anna)
    desk.serving.address = ""
    ended = await desk.search()
    assert (ended.reason, [one.name for one in ended.spend]) == ("", ["anna"])
    with pytest.raises(MeshError) as refused:
        await desk.search(peers=("bruno",))
    assert refused.value.code == "node.not_serving"
    assert len(await anna.store.searches()) == 1
    assert (await desk.search(peers=())).reason == ""


async def test_peers_that_were_named_take_part(two: list[MemoryNode]) -> None:
    desk = Desk(two[0])
    ended = await desk.search(peers=("bruno",))
    assert {one.name for one in ended.spend} == {"anna", "bruno"}
    with pytest.raises(MeshError):
        await desk.search(peers=("nobody",))


@pytest.mark.parametrize(
    ("changes", "peers"),
    [({}, "all"), ({"peers": ()}, "none"), ({"peers": ("bruno",)}, "bruno"), ({"origins": (ORIGIN,)}, "none")],
)
async def test_the_audit_trail_says_with_whom_a_run_searches(
    two: list[MemoryNode], changes: dict[str, Any], peers: str
) -> None:
    anna, _ = two
    await Desk(anna).search(**changes)
    begun = next(row for row in await anna.store.audit_lines() if row.what == "explore.run")
    assert audit.read(begun.line).note["peers"] == peers


async def test_a_search_that_finds_nothing_or_is_stopped_says_why(two: list[MemoryNode]) -> None:
    anna, _ = two
    desk = Desk(anna)
    ended = await desk.search(NEVER, peers=(), seconds=30)
    assert (ended.session, ended.reason.startswith("search.")) == ("", True)
    search_id = desk.searches.new_id()
    running = asyncio.create_task(desk.search(NEVER, search_id, peers=()))
    await until(lambda: anna.explorer.running, "it searches")
    await desk.searches.stop(search_id)
    ended = await running
    assert (ended.reason, ended.session) == ("internal.cancelled", "")
    await desk.searches.stop(search_id)
    await desk.searches.stop(desk.searches.new_id())


async def test_a_run_for_which_no_worker_is_free_is_busy_and_not_without_result(two: list[MemoryNode]) -> None:
    anna, _ = two
    desk = Desk(anna)
    places = anna.browsers._places
    taken = [await places.take(0) for _ in range(anna.config.browser.contexts_max)]
    assert (await desk.search(NEVER, peers=(), seconds=200)).reason == "schedule.busy"
    for free in taken:
        free()
    assert (await desk.search(NEVER, peers=(), seconds=30)).reason.startswith("search."), "somebody looked"


async def test_a_run_whose_only_worker_has_no_browser_left_is_busy() -> None:
    mesh = MemoryMesh(shop_site(fanout=2, depth=2))
    anna, bruno = await mesh.add("anna", workers=0), await mesh.add("bruno")
    try:
        await mesh.pair(anna, bruno)
        for _ in range(bruno.config.browser.contexts_max):
            await bruno.browsers._places.take(0)
        ended = await Desk(anna).search(NEVER, peers=("bruno",), seconds=200)
        assert (ended.reason, sum(one.visits for one in ended.spend)) == ("schedule.busy", 0)
    finally:
        for node in mesh.nodes:
            await node.stop()


async def test_a_schedule_without_the_scope_begins_nothing(two: list[MemoryNode]) -> None:
    desk = Desk(two[0])
    with pytest.raises(MeshError) as refused:
        await desk.search(scopes=("read",))
    assert (refused.value.code, refused.value.detail) == ("caller.refused", {"caller": CALLER})
    assert await two[0].store.searches() == []
    assert [row for row in await two[0].store.audit_lines() if row.what == "explore.run"] == []


async def test_a_search_begins_with_the_login_that_its_owner_gave_it_and_without_peers(
    two: list[MemoryNode], tmp_path: Path
) -> None:
    anna, _ = two
    owner = CapsuleNode(anna, tmp_path / "anna")
    await owner.load()
    anna.browsers.mounts = Mounting(owner.capsules)
    file = tmp_path / "state.json"
    file.write_text(json.dumps({"cookies": [{"name": "sid", "value": CANARY, "domain": "shop.test", "path": "/"}]}))
    given = CaptureParams(file=str(file), name="shop", origins=(ORIGIN,), tasks=("schedule",))
    kept = await owner.capturing.capture(given)
    await owner.capturing.capture(msgspec.structs.replace(given, name="other", tasks=("live",)))
    desk = Desk(anna)
    ended = await desk.search(capsule="shop")
    assert ended.session, ended
    session = await anna.store.session(ended.session)
    assert session is not None and session.capsule == kept.id
    assert [spend.name for spend in ended.spend] == ["anna"]
    (row,) = await anna.store.audit_find(AuditQuery(what="capsule.used", limit=10))
    assert audit.read(row.line).note["task"] == "schedule" and audit.read(row.line).who == CALLER
    with pytest.raises(MeshError) as caught:
        await desk.search(capsule="other")
    assert caught.value.code == "capsule.task"
