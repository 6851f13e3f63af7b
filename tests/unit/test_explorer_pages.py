"""The browser work of a search: opening its start page, places for leases, and replays of claims that are recorded."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from adapters.search.writer import TreeWriter
from node.config.settings import Config, ExploreConfig
from node.explorer.progress import VerifiedSuccess
from node.explorer.sharing.replica import Replica
from node.explorer.working.kept_pages import IDLE_S
from node.explorer.working.page_work import PageWork
from node.live.browsers import Browsers
from node.verbs import called_by
from protocol.errors import MeshError
from protocol.goal.condition import Condition, ElementTest
from protocol.messages import BranchResult, Spend
from protocol.page.actions.action import Click, Locator
from protocol.page.seen.observation import Element
from protocol.recording.records.session import Profile
from protocol.recording.records.verdict import Verdict
from protocol.risk.requests.requests import GuardPolicy
from protocol.search.entry import encode_action
from tests.mesh_memory import ORIGIN, MemoryNode, memory_mesh, shop_site
from tests.twins.browser import Control, Document, Effect
from tests.unit.test_explorer_callers import agent
from tests.unit.test_explorer_refusals import _assignment, _spec

pytestmark = pytest.mark.virtual_time
OAK = encode_action(Click(target=Locator(role="link", name="Shelf  oak")))
NOWHERE = encode_action(Click(target=Locator(role="link", name="Shelf  nowhere")))


def _pages(anna: MemoryNode, workers: int = 1, **limits: Any) -> PageWork:
    """The pages of Anna. limits: of her browsers."""
    if limits:
        anna.browsers = Browsers(anna._open_browser, **limits)
    config = Config(explore=ExploreConfig(workers=workers))
    return PageWork(anna.witness, config, anna.store, anna.mesh.clock, anna.browsers)


@pytest.mark.parametrize(
    ("url", "code", "message"),
    [
        ("http://nowhere.test/", "search.start_failed", "http://nowhere.test/: no server answers"),
        (f"{ORIGIN}/", "", ""),
    ],
)
async def test_a_start_page_that_does_not_open_fails_the_search_with_the_reason(
    url: str, code: str, message: str
) -> None:
    async with memory_mesh("anna") as (anna,):
        opening = _pages(anna).try_start(_spec(anna, start_url=url))
        if not code:
            await opening
            assert anna.site.reached == ["GET /"]
            return
        with pytest.raises(MeshError) as failed:
            await opening
        assert (failed.value.code, failed.value.message) == (code, message)


async def test_a_browser_that_does_not_start_is_not_taken_for_a_page_that_does_not_open() -> None:
    async with memory_mesh("anna") as (anna,):

        async def broken() -> Any:
            raise MeshError("browser.launch")

        anna.browsers._open_browser = broken
        with pytest.raises(MeshError) as failed:
            await _pages(anna).try_start(_spec(anna))
        assert failed.value.code == "browser.launch"


@pytest.mark.parametrize(("workers", "at_once"), [(0, 1), (1, 1), (2, 2)])
async def test_as_many_leases_are_explored_at_once_as_there_are_workers_and_one_at_least(
    workers: int, at_once: int
) -> None:
    async with memory_mesh("anna") as (anna,):
        spec = _spec(anna)
        replica = Replica(spec, anna.witness, anna.store, TreeWriter)
        await replica.load(anna.peers.find_key, {})
        pages, go_on, working = _pages(anna, workers), asyncio.Event(), list[str]()

        async def explore(lease: str) -> BranchResult:
            async def after(spend: Spend) -> bool:
                working.append(lease)
                await go_on.wait()
                return False

            given = _assignment(spec, anna.mesh.clock, lease=lease, branch=replica.root, prefix=())
            return await pages.explore(replica, given, after)

        leases = ["lea-AAAAAAAAAAAAAAAAAAAB6", "lea-AAAAAAAAAAAAAAAAAAAEY", "lea-AAAAAAAAAAAAAAAAAAAFW"]
        tasks = [asyncio.create_task(explore(lease)) for lease in leases]
        await asyncio.sleep(5)
        assert len(working) == at_once
        go_on.set()
        results = await asyncio.gather(*tasks)
        assert [(result.lease, result.outcome) for result in results] == [(lease, "spent") for lease in leases]


async def test_for_a_peer_only_the_origins_that_it_was_granted_are_opened() -> None:
    async with memory_mesh("anna") as (anna,):
        spec = _spec(anna)
        replica = Replica(spec, anna.witness, anna.store, TreeWriter)
        await replica.load(anna.peers.find_key, {})

        async def once(spend: Spend) -> bool:
            return False

        given = _assignment(spec, anna.mesh.clock, branch=replica.root, prefix=())
        await _pages(anna).explore(replica, given, once, within=("https://other.test",))
        assert anna.site.reached == []
        assert replica.own.registers[replica.root].best == 0
        await _pages(anna).explore(replica, given, once, within=(ORIGIN,))
        assert anna.site.reached[0] == "GET /"


async def test_the_page_that_was_opened_first_serves_every_lease_of_its_search_and_is_closed_in_the_end() -> None:
    async with memory_mesh("anna", site=shop_site(fanout=2, depth=3)) as (anna,):
        spec, pages, opened = _spec(anna), _pages(anna), list[GuardPolicy]()
        open_page = anna.browsers.opened

        def watched(profile: Profile, guard: GuardPolicy, **more: Any) -> Any:
            opened.append(guard)
            return open_page(profile, guard, **more)

        anna.browsers.opened = watched  # type: ignore[method-assign]
        replica = Replica(spec, anna.witness, anna.store, TreeWriter)
        await replica.load(anna.peers.find_key, {})
        await pages.try_start(spec)

        async def once(spend: Spend) -> bool:
            return False

        for lease in ("lea-AAAAAAAAAAAAAAAAAAAB6", "lea-AAAAAAAAAAAAAAAAAAAEY"):
            given = _assignment(spec, anna.mesh.clock, lease=lease, branch=replica.root, prefix=())
            await pages.explore(replica, given, once)
        assert (len(opened), anna.browsers.contexts) == (1, 1)
        assert anna.site.reached.count("GET /") == 1, "the first visit goes on from the page that was opened to try it"
        await pages.leave(spec.id)
        assert anna.browsers.contexts == 0
        await pages.try_start(spec)
        await asyncio.sleep(IDLE_S + 1)
        assert anna.browsers.contexts == 0, "a page that nobody uses holds no place"


async def test_a_claim_of_what_a_page_shows_after_a_refused_write_does_not_count() -> None:
    """Guard: node/explorer/working/page_work.py, PageWork.replay_claim."""
    async with memory_mesh("anna", site=shop_site(fanout=2, depth=2)) as (anna,):
        thanks = Control(element=Element(ref="", role="heading", name="Thanks, ordered"))
        order = Control(
            element=Element(ref="", role="button", name="Zorp"),
            effect=Effect(fetch=(("POST", "/orders"),), shows=(thanks,)),
        )
        lasting = Control(element=Element(ref="", role="heading", name="All of it"))
        anna.site.documents[f"{ORIGIN}/"] = Document(title="Shop", controls=(order, lasting))
        step = encode_action(Click(target=Locator(role="button", name="Zorp")))
        for name, holds in (("Thanks, ordered", False), ("All of it", True)):
            spec = _spec(anna, condition=Condition(element=ElementTest(role="heading", name=name)))
            found = await _pages(anna).replay_claim(spec, (step,), "BRUNO")
            assert (found is not None) is holds, name


@pytest.mark.parametrize(
    ("path", "condition", "holds"),
    [
        ((OAK,), "*/oak", True),
        ((), "*/", True),
        ((OAK,), "*/elm", False),
    ],
    ids=["it holds", "at the start", "elsewhere"],
)
async def test_a_replayed_claim_is_recorded_and_counts_if_the_condition_holds_at_its_end(
    path: tuple[bytes, ...], condition: str, holds: bool
) -> None:
    async with memory_mesh("anna", site=shop_site(fanout=2, depth=2)) as (anna,):
        spec = _spec(anna, condition=Condition(url=condition), goal="find it")
        found = await _pages(anna).replay_claim(spec, path, "BRUNO")
        (session,) = await anna.store.sessions()
        assert found == (VerifiedSuccess(session=session.id, path=path, claimed_by="BRUNO") if holds else None)
        assert (session.title, session.start_url, session.search) == ("find it", f"{ORIGIN}/", spec.id)
        assert session.verdict is Verdict.PASS
        assert len(await anna.store.steps(session.id)) == 1 + len(path)


async def test_a_claim_with_a_step_that_cannot_be_done_does_not_count() -> None:
    async with memory_mesh("anna", site=shop_site(fanout=2, depth=2)) as (anna,):
        spec = _spec(anna, condition=Condition(url="*/"))
        with pytest.raises(MeshError) as failed:
            await _pages(anna).replay_claim(spec, (NOWHERE,), "BRUNO")
        assert failed.value.code == "action.target_missing"
        before = list(anna.site.reached)
        with pytest.raises(MeshError) as invalid:
            await _pages(anna).replay_claim(spec, (b"\xff",), "BRUNO")
        assert invalid.value.code == "delta.invalid"
        assert anna.site.reached == before


async def test_a_claim_waits_ten_seconds_for_a_place_in_a_browser() -> None:
    async with memory_mesh("anna") as (anna,):
        spec = _spec(anna)
        pages = _pages(anna, contexts_max=2, contexts_for_owner=1)
        with called_by(agent()):
            await anna.browsers.context(spec.profile, GuardPolicy())
            loop = asyncio.get_running_loop()
            began_s = loop.time()
            with pytest.raises(MeshError) as busy:
                await pages.replay_claim(spec, (), "BRUNO")
        assert busy.value.code == "live.busy"
        assert loop.time() - began_s == pytest.approx(10, abs=0.5)
