"""What a search had no time to try is tried when nothing is left to visit. Peers, claims and the owner's answers come first."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from node.config.settings import PolicyConfig
from node.explorer.coordinating.dealing import Dealing
from node.explorer.sharing.left_pages import LeftPages
from node.explorer.sharing.replica import Replica
from node.explorer.working.doubts import Doubts
from node.explorer.working.page_work import PageWork
from node.explorer.working.worker import Worker
from node.live.probe_ledger import Ledger, Probes
from node.live.probing import Probing
from node.verbs.approve import Asked, ListParams
from node.verbs.owner import ChangeParams
from protocol import limits
from protocol.errors import MeshError
from protocol.risk.classes import APPROVAL_CLASS
from tests.mesh_memory import NEVER, ORIGIN, MemoryNode
from tests.owners import ANNA, entry
from tests.twins.browser import Control, Document, Effect, MemorySite
from tests.twins.clock import ManualClock
from tests.unit.test_explorer_doubts import button, link, questions, say
from tests.unit.test_probing import SHELF, field, probes, probing, shop

pytestmark = pytest.mark.virtual_time
WORDS = ("oak", "elm", "ash", "fir", "yew", "bay", "box", "fig")
ODD = ("Gostak", "Wug", "Quux", "Frobnicate", "Blick", "Zorp", "Dax", "Fep")
WRITES = Effect(fetch=(("POST", "/rows"),))


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """While there is something to visit, nothing may be tried."""
    monkeypatch.setattr(Ledger, "room", property(lambda self: 0))


def site_of(pages: dict[str, Iterable[Control]]) -> MemorySite:
    return MemorySite(
        {ORIGIN + path: Document(title=path, controls=tuple(controls)) for path, controls in pages.items()}
    )


def forest() -> MemorySite:
    """73 pages, each with eight controls that write and that nobody understands."""
    paths = ["", *(f"/{a}" for a in WORDS), *(f"/{a}/{b}" for a in WORDS for b in WORDS)]

    def controls(path: str) -> Iterable[Control]:
        if path.count("/") < 2:
            yield from (link(f"Shelf {path} {word}", f"{ORIGIN}{path}/{word}") for word in WORDS)
        yield from (button(f"{name} {path.replace('/', ' ')}", WRITES) for name in ODD)

    return site_of({path or "/": controls(path) for path in paths})


async def every(node: MemoryNode) -> tuple[Asked, ...]:
    return (await node.approvals.listed(ListParams(all=True))).questions


async def test_a_search_returns_to_no_page_while_there_is_one_to_visit(monkeypatch: pytest.MonkeyPatch) -> None:
    unvisited: list[int] = []
    go = Worker._return_to

    async def watched(self: Worker, branch: bytes) -> None:
        own, view = self._replica.own.nodes, self._replica.view
        fresh = [key for key in own if own[key].risk < 4 and not view.visits(key) and not view.closed(key)]
        unvisited.append(len(fresh))
        await go(self, branch)

    monkeypatch.setattr(Worker, "_return_to", watched)
    async with probing(site=forest()) as (anna,):
        await anna.run(NEVER, seconds=600)
    assert unvisited and not any(unvisited)


async def test_a_search_with_nothing_left_to_visit_tries_what_there_was_no_time_for(hurried: None) -> None:
    site = shop(button("Quux", Effect(fetch=(("POST", "/rows"),))))
    async with probing(site=site, asks=True) as (anna,):
        found = await anna.run(NEVER, seconds=600)
        counts = await probes(anna, found.id)
        assert (counts.probed, counts.harmless, counts.writing, counts.asked) == (2, 1, 1, 2)
        assert "GET /shelf" in anna.site.reached
        assert not any("POST" in request for request in anna.site.reached)
        assert ["Quux" in each.does for each in await questions(anna)] == [True], "the other needs no answer any more"


async def test_what_there_was_no_time_for_is_found_on_later_pages_as_well_and_each_is_returned_to_once(
    hurried: None,
) -> None:
    pages = {
        "/": (button("Frobnicate", Effect(go="/hall")),),
        "/hall": (button("Gostak", Effect(go="/yard")), button("Doshes", Effect(fetch=(("POST", "/rows"),)))),
        "/yard": (link("Home", f"{ORIGIN}/"), button("Wug", Effect(go="/shelf"))),
        "/shelf": (link("Home", f"{ORIGIN}/"),),
    }
    site = MemorySite({ORIGIN + path: Document(title=path, controls=controls) for path, controls in pages.items()})
    async with probing(site=site) as (anna,):
        assert (await anna.run(SHELF, seconds=600)).status == "done"
        found = await anna.run(NEVER, seconds=600)
        assert (found.status, (await anna.explorer.view(found.id))[2].error) == ("failed", "search.exhausted")
        assert (await anna.explorer.view(found.id))[2].used_ms < 300_000


async def test_at_leisure_a_search_tries_some_controls_of_a_page_at_a_time_and_all_of_them_in_the_end(
    hurried: None,
) -> None:
    many = [button(f"Wug {letter}", Effect(go=f"/w{letter}")) for letter in "abcdefghijk"]
    site = shop(*many)
    for letter in "abcdefghijk":
        site.documents[f"{ORIGIN}/w{letter}"] = Document(title=letter, controls=(link("Home", f"{ORIGIN}/"),))
    async with probing(site=site) as (anna,):
        found = await anna.run(NEVER, seconds=6_000)
        assert (await probes(anna, found.id)).probed > limits.PROBES_PER_PAGE_MAX
        assert {f"GET /w{letter}" for letter in "abcdefghijk"} <= set(anna.site.reached)


async def test_where_no_control_can_be_tried_a_search_returns_to_each_page_once(
    hurried: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    returned: list[bytes] = []
    go = Worker._return_to

    async def counted(self: Worker, branch: bytes) -> None:
        returned.append(branch)
        await go(self, branch)

    async def nothing(*args: Any) -> bool:
        return False

    monkeypatch.setattr(Worker, "_return_to", counted)
    monkeypatch.setattr(Probing, "_open", nothing)
    async with probing(site=shop()) as (anna,):
        found = await anna.run(NEVER, seconds=600)
        assert (await anna.explorer.view(found.id))[2].error == "search.exhausted"
    assert returned and len(returned) == len(set(returned))


@pytest.mark.parametrize("names", [("anna",), ("anna", "bruno")])
async def test_only_what_could_not_be_chosen_is_opened(monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]) -> None:
    classes: set[int] = set()
    go = Replica.open

    def watched(self: Replica, keys: Iterable[bytes], *, found: bool = False) -> None:
        keys = tuple(keys)
        classes.update(self.own.nodes[key].risk for key in keys)
        go(self, keys, found=found)

    monkeypatch.setattr(Replica, "open", watched)
    monkeypatch.setattr(Ledger, "room", property(lambda self: 0))
    async with probing(*names, site=shop(link("Yard", f"{ORIGIN}/hall"))) as (anna, *_):
        await anna.run(NEVER, seconds=600)
    assert classes == {APPROVAL_CLASS}


async def test_the_bound_of_the_node_holds_for_what_is_opened(hurried: None) -> None:
    async with probing(site=shop(field("Note", Effect())), policy=PolicyConfig(risk_class_max=1)) as (anna,):
        found = await anna.run(NEVER, seconds=600)
        replica = await anna.replica(found.id)
        own = replica.own.nodes
        assert not any(replica.view.visits(key) for key, node in own.items() if 1 < node.risk < APPROVAL_CLASS)


async def test_what_the_owner_said_no_to_stays_closed(hurried: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: node/explorer/working/doubts.py, Doubts.settled."""
    async with probing(site=shop(), asks=True) as (anna,):
        made = entry(anna.approvals.keys.owners, ANNA)
        await anna.approvals.keys.change(ChangeParams(by="first", change=made.change.hex(), signed=made.signed.hex()))
        go = Worker._return_to

        async def later(self: Worker, branch: bytes) -> None:
            for asked in await questions(anna):
                await say(anna, asked.id, yes=False)
            await go(self, branch)

        monkeypatch.setattr(Worker, "_return_to", later)
        await anna.run(NEVER, seconds=600)
        assert [asked.state for asked in await every(anna)] == ["no"]
        assert "GET /shelf" not in anna.site.reached


async def test_what_writes_on_another_page_is_asked_about_though_the_first_of_its_name_only_reads(
    hurried: None,
) -> None:
    site = site_of(
        {
            "/": (button("Frobnicate", Effect(go="/shelf")), link("Hall", f"{ORIGIN}/hall")),
            "/hall": (link("Home", f"{ORIGIN}/"), button("Frobnicate", WRITES)),
            "/shelf": (link("Home", f"{ORIGIN}/"),),
        }
    )
    async with probing(site=site, asks=True) as (anna,):
        await anna.run(NEVER, seconds=600)
        assert [asked.page for asked in await questions(anna)] == [f"{ORIGIN}/hall"]


async def test_what_comes_up_behind_the_first_controls_of_a_page_is_asked_about(hurried: None) -> None:
    writes = ("Tove", "Rath", "Borogove")
    start = [*(button(name, Effect(go="/shelf")) for name in ODD), *(button(name, WRITES) for name in writes)]
    async with probing(site=site_of({"/": start, "/shelf": (link("Home", f"{ORIGIN}/"),)}), asks=True) as (anna,):
        await anna.run(NEVER, seconds=2_000)
        asked = " ".join(each.does for each in await questions(anna))
        assert [name for name in (*ODD, *writes) if name in asked] == list(writes)


async def test_what_was_found_to_delete_is_not_asked_about_any_more(hurried: None) -> None:
    async with probing(site=site_of({"/": (button("Wug", Effect(fetch=(("DELETE", "/rows/7"),))),)}), asks=True) as (
        anna,
    ):
        found = await anna.run(NEVER, seconds=200)
        assert (await probes(anna, found.id)).asked == 1
        assert await questions(anna) == ()


async def test_a_search_that_is_resumed_goes_where_what_was_found_leads(
    hurried: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with probing(site=shop(), asks=True) as (anna,):
        reached, go = asyncio.Event(), Doubts.settled

        async def held(self: Doubts, *args: Any) -> None:
            await go(self, *args)
            reached.set()
            await asyncio.sleep(1_000)

        monkeypatch.setattr(Doubts, "settled", held)
        told: list[dict[str, Any]] = []
        searching = asyncio.create_task(anna.run(SHELF, seconds=4_000, tell=told.append))
        await reached.wait()
        search = next(event["search"] for event in told if "search" in event)
        await anna.stop()
        await asyncio.gather(searching, return_exceptions=True)
        monkeypatch.setattr(Doubts, "settled", go)
        await anna.start()
        assert (await anna.explorer.resume(search, seconds=600, tell=lambda event: None)).status == "done"


async def test_a_search_outlives_pages_that_nobody_names_any_more(
    hurried: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = Worker._note_left

    def lost(self: Worker, key: bytes, *args: Any) -> None:
        go(self, key, *args)
        gone = bytes(len(key))
        self._replica.left.note(gone)
        self._replica.open((gone,))

    monkeypatch.setattr(Worker, "_note_left", lost)
    async with probing(site=shop()) as (anna,):
        found = await anna.run(NEVER, seconds=900)
        assert (await anna.explorer.view(found.id))[2].error == "search.exhausted"


async def test_a_browser_that_is_gone_at_a_return_does_not_lose_the_page(
    hurried: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, crashes = Worker._choices, [1, 1]

    async def crashing(self: Worker, *args: Any, at_leisure: bool = False) -> Any:
        if at_leisure and crashes:
            crashes.pop()
            raise MeshError("browser.crashed", "gone")
        return await go(self, *args, at_leisure=at_leisure)

    monkeypatch.setattr(Worker, "_choices", crashing)
    async with probing(site=shop()) as (anna,):
        assert (await anna.run(SHELF, seconds=600)).status == "done"
    assert not crashes


@pytest.mark.parametrize("probed", [0, limits.PROBES_PER_SEARCH_MAX])
async def test_a_claim_of_a_peer_is_checked_whatever_was_tried_before(
    monkeypatch: pytest.MonkeyPatch, probed: int
) -> None:
    go, workers = PageWork.replay_claim, Dealing._workers

    async def spent(self: PageWork, spec: Any, path: Any, peer: str, ledger: Ledger | None = None) -> Any:
        assert ledger is not None
        ledger.counts.probed = probed
        return await go(self, spec, path, peer, ledger)

    def theirs(self: Dealing) -> list[str]:
        # Once it has opened the start page, this node leaves all work to its peer.
        begun = len(self._replica.tree) > 1
        return [each for each in workers(self) if not begun or each != self._me]

    monkeypatch.setattr(PageWork, "replay_claim", spent)
    monkeypatch.setattr(Dealing, "_workers", theirs)
    monkeypatch.setattr(Probing, "left", lambda self, *args: False)
    async with probing("anna", "bruno", site=shop()) as (anna, _):
        found = await anna.run(SHELF, seconds=600)
        assert (found.status, (await anna.explorer.view(found.id))[2].claims_false) == ("done", {})


def test_what_is_tried_at_leisure_takes_nothing_from_what_is_tried_on_the_way() -> None:
    tried = Probes(probed=limits.PROBES_AT_LEISURE_MAX, at_leisure=limits.PROBES_AT_LEISURE_MAX)
    ledger = Ledger(tried, ManualClock(), 600)
    ledger.took(100_000, at_leisure=True)
    assert (ledger.room, ledger.at_leisure) == (limits.PROBES_PER_SEARCH_MAX, limits.PROBES_PER_SEARCH_MAX)
    ledger.took(100_000)
    assert (ledger.room, ledger.at_leisure) == (0, 0)


def test_a_page_is_dealt_for_one_return_and_known_until_it_begins() -> None:
    left = LeftPages()
    left.note(b"a", b"b")
    assert left.take(lambda key: key != b"a") == b"b"
    assert (left.any(lambda key: True), set(left.all())) == (True, {b"a", b"b"})
    assert [left.begin(key) for key in (b"a", b"b", b"b")] == [False, True, False]
    assert tuple(left.all()) == (b"a",)
