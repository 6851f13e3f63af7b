"""What is shown of a search: its summary, its report, who signed what, and what each verb answers."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from node.base.serving import Serving
from node.explorer import ExploreVerbs, Parts, show_search
from node.explorer.progress import Progress
from node.explorer.showing.report import ReportInput, SearchCost, SearchNode
from node.explorer.showing.show import _name, _report, _signed, _signed_row, _summary, summarise
from node.sessions.serving import Sessions
from node.verbs.searches import explore as verbs
from node.verbs.searches.explore import Freed, ListedSearch, PeerSpend, RemovedSearch, Summary
from protocol import ids
from protocol.errors import MeshError
from protocol.goal.condition import Condition
from protocol.messages import KIND_SEARCH
from protocol.search.entry import SCALE
from protocol.search.share import BEST, VISITS
from protocol.wire import cbor
from tests.mesh_memory import NEVER, ORIGIN, MemoryNode, memory_mesh, shop_site, until
from tests.mesh_searches import leases_of, search_of
from tests.trees import public_key
from tests.twins.browser import MemorySite
from tests.unit.test_explorer_refusals import _spec

LOOP = pytest.mark.virtual_time
WANTED = Condition(url="*/ash/elm")


def _site() -> MemorySite:
    return shop_site(fanout=3, depth=2)


def _parts(node: MemoryNode) -> Parts:
    sessions = Sessions(node.witness, node.config, node.store, node.mesh.clock, node.browsers, node.peers)
    return Parts(node.explorer, sessions, node.peers, node.store, node.mesh.clock, node.name)


async def _report_of(node: MemoryNode, search: str) -> tuple[Summary, ReportInput]:
    parts = _parts(node)
    found, spec, progress, replica, leases = await node.explorer.view(search)
    summary = _summary(parts, found, spec, progress, replica, leases)
    return summary, await _report(parts, summary, spec, progress, replica)


async def _stopped(node: MemoryNode, **more: Any) -> str:
    """A search that was stopped as soon as it had begun."""
    task = asyncio.create_task(node.run(NEVER, **more))
    search = await search_of(node)
    await node.explorer.stop(search)
    await task
    return search


# --- the summary -----------------------------------------------------------------------------------------------------


@LOOP
async def test_a_search_that_reached_its_goal_is_summarised_with_what_it_took() -> None:
    async with memory_mesh("anna", "bruno", site=_site()) as (anna, bruno):
        found = await anna.run(WANTED)
        _, spec, progress, replica, leases = await anna.explorer.view(found.id)
        summary = await summarise(_parts(anna), found.id)
        assert progress.verified is not None
        names = {anna.id: "anna", bruno.id: "bruno"}
        spend = []
        for peer, role in ((anna.id, "coordinator"), (bruno.id, "worker")):
            own = [lease for lease in leases if lease.worker == peer]
            spend.append(
                PeerSpend(
                    node=peer,
                    name=names[peer],
                    role=role,
                    visits=replica.tree.effort(peer).visits,
                    steps=sum(lease.spend.steps for lease in own),
                    cost_ms=sum(lease.spend.milliseconds for lease in own),
                    leases=len(own),
                    claims_false=0,
                )
            )
        assert all(peer.leases and peer.visits for peer in spend)
        assert summary == Summary(
            search=found.id,
            status="done",
            goal="find the page",
            start_url=f"{ORIGIN}/",
            coordinator=anna.id,
            seconds=progress.used_ms / 1000,
            nodes=len(replica.tree),
            branches=progress.branches,
            reassigned=0,
            claims=1,
            verified=True,
            session=progress.verified.session,
            claimed_by=names[progress.verified.claimed_by],
            path=tuple(f"click link “Shelf {words}”" for words in (" ash", "ash elm")),
            spend=tuple(spend),
            caller="owner",
        )
        assert await show_search(_parts(anna), found.id, "") == summary
        assert spec.participants == (anna.id, bruno.id)


@LOOP
async def test_a_search_that_failed_is_shown_with_the_reason_and_as_a_result_it_is_an_error() -> None:
    async with memory_mesh("anna", site=shop_site(fanout=2, depth=1)) as (anna,):
        found = await anna.run(NEVER)
        shown = await show_search(_parts(anna), found.id, "")
        assert (shown.status, shown.verified, shown.reason) == ("failed", False, "search.exhausted")
        assert (shown.session, shown.claimed_by, shown.path) == ("", "", ())
        with pytest.raises(MeshError) as failed:
            await summarise(_parts(anna), found.id)
        assert (failed.value.code, failed.value.detail) == (
            "search.exhausted",
            {"search": found.id, "nodes": 3, "branches": shown.branches, "claims": 0},
        )
        progress = cbor.decode_as(found.state, Progress)
        progress.error = "no.such.code"
        await anna.store.put_search(msgspec.structs.replace(found, state=cbor.encode(progress)))
        with pytest.raises(MeshError) as failed:
            await summarise(_parts(anna), found.id)
        assert failed.value.code == "search.not_found_goal"


@LOOP
async def test_a_search_that_is_removed_while_it_is_summarised_is_not_found() -> None:
    async with memory_mesh("anna") as (anna,):
        search = await _stopped(anna)
        parts = _parts(anna)
        view = anna.explorer.view

        async def and_then_removed(search_id: str) -> Any:
            seen = await view(search_id)
            await anna.store.remove_search(search_id)
            return seen

        anna.explorer.view = and_then_removed  # type: ignore[method-assign]
        with pytest.raises(MeshError) as gone:
            await summarise(parts, search)
        assert (gone.value.code, gone.value.detail) == ("input.not_found", {"search": search})


@LOOP
async def test_a_peer_is_called_by_its_name_and_by_what_became_of_it() -> None:
    async with memory_mesh("anna", "bruno", site=_site()) as (anna, bruno):
        parts, stranger = _parts(anna), ids.node_id(public_key("nobody"))
        assert [_name(parts, each) for each in (anna.id, bruno.id, stranger)] == ["anna", "bruno", ids.short(stranger)]
        search = await _stopped(anna)
        spend = (await show_search(parts, search, "")).spend
        assert [peer.standing for peer in spend] == ["", ""]
        anna.peers.freeze(bruno.id, "log.equivocation")
        assert _name(parts, bruno.id) == "bruno (frozen)"
        spend = (await show_search(parts, search, "")).spend
        assert [(peer.name, peer.standing) for peer in spend] == [("anna", ""), ("bruno (frozen)", "log.equivocation")]


# --- the report ------------------------------------------------------------------------------------------------------


@LOOP
async def test_the_report_of_a_search_that_reached_its_goal_has_session_tree_and_signers() -> None:
    async with memory_mesh("anna", "bruno", site=_site()) as (anna, _):
        found = await anna.run(WANTED)
        replica = await anna.replica(found.id)
        summary, report = await _report_of(anna, found.id)
        assert (report.title, report.goal, report.success) == (f"Search {found.id}", "find the page", True)
        assert report.made_ms == anna.mesh.clock.now_ms()
        assert report.outcome == (
            f"Found by {summary.claimed_by}, replayed and verified by anna in {summary.seconds:.0f} s."
        )
        assert report.nodes == tuple(
            SearchNode(
                name=p.name,
                id=p.node,
                role=p.role,
                spent=SearchCost(visits=p.visits, steps=p.steps, milliseconds=p.cost_ms, leases=p.leases),
            )
            for p in summary.spend
        )
        assert (report.found_by, report.path, report.would_send) == (
            summary.claimed_by,
            summary.path,
            summary.would_send,
        )
        assert report.session is not None and report.session.id == summary.session
        assert [step.index for step in report.steps] == [1, 2, 3]
        wanted = {step.screenshot for step in report.steps if step.screenshot}
        assert set(report.screenshots) == wanted
        assert all(hashlib.sha256(data).digest() == digest for digest, data in report.screenshots.items())
        assert report.replays == ()
        tree = report.tree
        assert tree is not None
        totals = replica.tree.totals[replica.tree.root]
        assert (tree.label, tree.title, tree.winning) == ("start", f"{totals[VISITS]} visits", True)
        assert (tree.visits, tree.value) == (totals[VISITS], totals[BEST] / SCALE)
        assert dict(tree.shares) == {p.name: p.visits for p in summary.spend}
        assert len(tree.children) == 3
        won = []
        while tree.children:
            (tree,) = [child for child in tree.children if child.winning] or [tree.children[0]]
            if not tree.winning:
                break
            won.append(tree.label)
        assert won == list(summary.path)


@LOOP
async def test_in_the_tree_of_a_report_every_node_says_what_is_known_of_it() -> None:
    async with memory_mesh("anna", site=shop_site(fanout=1, depth=1)) as (anna,):
        found = await anna.run(NEVER)
        _, report = await _report_of(anna, found.id)
        assert report.tree is not None
        (child,) = report.tree.children
        assert child.label == "click link “Shelf  oak”"
        assert child.title == "1 visit, best 0.10, prior 1.00, risk class 1, 0 failures, closed"
        assert (child.visits, child.shares, child.winning, child.children) == (1, (("anna", 1),), False, ())
        assert not report.tree.winning


@LOOP
async def test_the_report_of_a_search_without_success_has_no_session_and_says_so() -> None:
    async with memory_mesh("anna") as (anna,):
        search = await _stopped(anna)
        sealed = (await anna.store.searches())[0].spec
        summary, report = await _report_of(anna, search)
        assert (report.success, report.session, list(report.steps), report.screenshots) == (False, None, [], {})
        assert report.outcome == "Not reached: the search is stopped."
        assert [row.artefact for row in report.signed][:1] == ["the search"]
        await anna.store.remove_search(search)
        assert await _signed(_parts(anna), (await anna.explorer._searches.read(sealed)).spec, summary) == ()


@LOOP
async def test_the_report_names_every_signed_artefact_and_whether_its_signature_holds() -> None:
    async with memory_mesh("anna", "bruno", site=_site()) as (anna, bruno):
        found = await anna.run(WANTED)
        summary, report = await _report_of(anna, found.id)
        assert all(row.verified for row in report.signed)
        artefacts = [row.artefact for row in report.signed]
        leases = list(await anna.store.leases(found.id))
        wanted = ["the search", f"session {summary.session}"]
        wanted += [f"lease {lease.id}" for lease in leases for data in (lease.assignment, lease.result) if data]
        assert artefacts[: len(wanted)] == wanted
        last = await anna.store.newest_deltas(found.id)
        assert artefacts[len(wanted) :] == [f"newest delta, epoch {d.epoch} number {d.seq}" for d in last]
        assert len(last) == 2
        first = report.signed[0]
        assert (first.kind, first.signer) == (KIND_SEARCH, "anna")
        assert first.digest == hashlib.sha256(found.spec).digest()
        spec = _spec(bruno)
        sealed = bruno.identity.artefact(KIND_SEARCH, spec.id, spec).envelope
        assert _signed_row(_parts(anna), "it", sealed).verified
        forged = _signed_row(_parts(anna), "it", sealed[:-1] + bytes([sealed[-1] ^ 1]))
        assert (forged.verified, forged.signer, forged.artefact) == (False, "bruno", "it")


async def test_a_report_is_written_where_it_is_wanted_or_refused_with_the_place(tmp_path: Path) -> None:
    async with memory_mesh("anna") as (anna,):
        search = await _stopped(anna)
        file = tmp_path / "report.html"
        shown = await show_search(_parts(anna), search, str(file))
        assert shown.html == str(file)
        assert file.stat().st_mode & 0o777 == 0o600
        assert search in file.read_text()
        nowhere = str(file / "report.html")
        with pytest.raises(MeshError) as refused:
            await show_search(_parts(anna), search, nowhere)
        assert refused.value.code == "input.invalid"
        assert refused.value.message.startswith(f"{nowhere} cannot be written: ")
        assert (await show_search(_parts(anna), search, "")).html == ""


# --- verbs -----------------------------------------------------------------------------------------------------------


class Door:
    """The verbs of a node, as a door calls them."""

    def __init__(self, node: MemoryNode, home: Path) -> None:
        self.node, self.serving = node, Serving(home)
        self.told: list[dict[str, Any]] = []
        self._bound = ExploreVerbs(_parts(node), node.log_exchange, self.serving).bound

    async def ask(self, verb: Any, **given: Any) -> Any:
        """The answer of one verb."""
        return await self._bound[verb](verb.takes(**given), self.told.append)

    async def run(self, until: Any = None, **given: Any) -> Any:
        """Run a search."""
        condition = until or {"url": WANTED.url}
        return await self.ask(verbs.RUN, goal="find the page", start=f"{ORIGIN}/", until=condition, **given)

    @property
    def rounds(self) -> int:
        """Rounds over the logs of peers that have begun and not ended."""
        return len(self.node.log_exchange._tasks._running)


@LOOP
async def test_a_node_that_serves_nobody_searches_alone_and_refuses_to_with_peers(tmp_path: Path) -> None:
    async with memory_mesh("anna", "bruno", site=_site()) as (anna, bruno):
        door = Door(anna, tmp_path)
        with pytest.raises(MeshError) as refused:
            await door.run(peers=["bruno"])
        assert refused.value.code == "node.not_serving"
        assert await anna.store.searches() == []
        task = asyncio.create_task(door.run(seconds=4_000, seed=5))
        search = await search_of(anna)
        assert door.rounds == 0
        summary = await task
        assert (summary.search, summary.status, summary.goal) == (search, "done", "find the page")
        assert await bruno.store.searches() == []
        spec = (await anna.explorer.view(search))[1]
        assert (spec.participants, spec.seconds, spec.seed) == ((anna.id,), 4_000, 5)
        assert door.told[0] == {"search": search, "participants": [anna.id]}


@LOOP
async def test_a_node_that_serves_takes_the_peers_that_are_named_or_all_and_looks_after_their_logs(
    tmp_path: Path,
) -> None:
    async with memory_mesh("anna", "bruno", "carla") as (anna, bruno, carla):
        door = Door(anna, tmp_path)
        door.serving.address = anna.address
        for peers, wanted in (
            (["bruno"], (anna.id, bruno.id)),
            (None, (anna.id, bruno.id, carla.id)),
            ([], (anna.id,)),
        ):
            task = asyncio.create_task(door.run({"url": "*/never"}, peers=peers, seconds=900))
            await asyncio.sleep(0)
            assert door.rounds == 1
            await until(lambda: anna.explorer.running, "it runs")
            (opened,) = anna.explorer._searches.all()
            assert set(opened.spec.participants) == set(wanted)
            summary = await door.ask(verbs.STOP, search=opened.spec.id)
            assert (summary.search, summary.status) == (opened.spec.id, "stopped")
            await task


@LOOP
async def test_a_search_with_peers_is_resumed_by_a_node_that_serves_only(tmp_path: Path) -> None:
    async with memory_mesh("anna", "bruno", site=_site()) as (anna, bruno):
        door = Door(anna, tmp_path)
        shared = await _stopped(anna)
        with pytest.raises(MeshError) as refused:
            await door.ask(verbs.RESUME, search=shared, seconds=5)
        assert refused.value.code == "node.not_serving"
        door.serving.address = anna.address
        task = asyncio.create_task(door.ask(verbs.RESUME, search=shared, seconds=500))
        await until(lambda: leases_of(anna, shared, bruno, "live"), "it goes on")
        await door.ask(verbs.STOP, search=shared)
        assert (await task).status == "stopped"
        assert any(event.get("of_seconds", 0) >= 500 for event in door.told)


@LOOP
async def test_a_search_without_peers_and_one_that_is_done_are_resumed_by_any_node(tmp_path: Path) -> None:
    async with memory_mesh("anna", "bruno", site=_site()) as (anna, _):
        door = Door(anna, tmp_path)
        done = await anna.run(WANTED)
        assert not await anna.explorer.is_shared(done.id)
        assert (await door.ask(verbs.RESUME, search=done.id)).status == "done"
        alone = await anna.run(NEVER, seconds=1, peers=[])
        assert not await anna.explorer.is_shared(alone.id)
        with pytest.raises(MeshError) as ended:
            await door.ask(verbs.RESUME, search=alone.id, seconds=1)
        assert ended.value.code == "search.not_found_goal"
        assert door.rounds == 0


@LOOP
async def test_searches_are_listed_shown_and_removed(tmp_path: Path) -> None:
    async with memory_mesh("anna", "bruno", site=_site()) as (anna, bruno):
        door = Door(anna, tmp_path)
        first = await anna.run(WANTED)
        second = (await anna.run(NEVER, seconds=1, peers=[])).id
        listed = (await door.ask(verbs.LIST)).searches
        assert {each.id for each in listed} == {first.id, second}
        assert len((await door.ask(verbs.LIST, limit=1)).searches) == 1
        one = next(each for each in listed if each.id == first.id)
        assert one == ListedSearch(
            id=first.id, status="done", coordinator=anna.id, created_ms=first.created_ms, caller="owner"
        )
        assert (await door.ask(verbs.SHOW, search=first.id)) == await show_search(_parts(anna), first.id, "")
        assert (await door.ask(verbs.REMOVE, search=second)).freed == []
        used = (await anna.store.usage())[bruno.id]
        removed = await door.ask(verbs.REMOVE, search=first.id)
        left = (await anna.store.usage()).get(bruno.id, 0)
        assert used > left
        assert removed == RemovedSearch(
            search=first.id, status="done", freed=[Freed(node=bruno.id, name="bruno", bytes=used - left)]
        )
        assert (await door.ask(verbs.LIST)).searches == []
